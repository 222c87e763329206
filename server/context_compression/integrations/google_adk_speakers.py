# ADK is an extra, so it is not installed where this is checked:
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
"""Who speaks in the contents of a request of ADK, by the events of its session.

The events name their authors; the contents that ADK makes of them do not. It puts what other agents
did into the user's role. What a person said with a confirmation is in an event alone, except for
what the confirmed tool returns of it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from context_compression.conversation.authors import BY_USER
from context_compression.conversation.messages import as_object, strings_in

OTHER_AGENT = "For context:"
"""ADK begins a content that quotes another agent with this text (seen in `flows/llm_flows`)."""
CONFIRMATION, ORIGINAL = "adk_request_confirmation", "originalFunctionCall"
"""The call with which ADK asks for a confirmation, and its argument with the call to confirm."""
USER = "user"
"""The author of what the user typed or answered."""


class Speakers:
    """What the events of a session tell of the contents that ADK makes of them.

    Args:
        events: of the session.
    """

    def __init__(self, events: Sequence[Any]) -> None:
        self._events = events

    def marked(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """A content as JSON, in whose parts is marked what the user said, as far as it is known."""
        parts = content.get("parts") or []
        if content.get("role") != USER or not parts:
            return dict(content)
        if _text_of(parts).startswith(OTHER_AGENT) and _text_of(parts) not in self._typed:
            parts = [part | {BY_USER: False} if "text" in part else part for part in parts]
        return {**content, "parts": [*map(self._with_answer, parts)]}

    def _with_answer(self, part: dict[str, Any]) -> dict[str, Any]:
        response = part.get("functionResponse")
        words = self._confirmed.get(_key(response)) if response else None
        return part | {BY_USER: words} if words else part

    @cached_property
    def _typed(self) -> set[str]:
        """The first texts of the messages that the user wrote."""
        return {
            part.text
            for event in self._events
            if event.author == USER and event.content
            for part in event.content.parts or ()
            if part.text
        }

    @cached_property
    def _confirmed(self) -> Mapping[str, str]:
        """What a person said with the confirmation of a call, by the response to that call."""
        words = {
            response.id: "\n".join(strings_in(_payload(response.response)))
            for event in self._events
            if event.author == USER
            for response in event.get_function_responses()
            if response.name == CONFIRMATION
        }
        if not any(words.values()):
            return {}
        asked = {
            as_object(as_object(call.args).get(ORIGINAL)).get("id"): words[call.id]
            for event in self._events
            for call in event.get_function_calls()
            if call.name == CONFIRMATION and words.get(call.id)
        }
        return dict(self._responses(asked))

    def _responses(self, asked: Mapping[Any, str]) -> Iterator[tuple[str, str]]:
        for event in self._events:
            for response in event.get_function_responses():
                if response.id in asked:
                    yield (
                        _key({"name": response.name, "response": response.response}),
                        asked[response.id],
                    )


def _text_of(parts: Sequence[Mapping[str, Any]]) -> str:
    """The first text of a content."""
    return next((part["text"] for part in parts if part.get("text")), "")


def _payload(response: Any) -> Any:
    """The payload of a confirmation; clients of ADK put the JSON of all of it into `response`."""
    given = as_object(response)
    inner = given.get("response")
    if len(given) == 1 and isinstance(inner, str):
        try:
            given = as_object(json.loads(inner))
        except (ValueError, RecursionError):
            return None
    return given.get("payload")


def _key(response: Any) -> str:
    """The name and content of a response; ADK takes the ids off that it made itself."""
    of = [response.get("name"), response.get("response")]
    return json.dumps(of, sort_keys=True, default=str)
