# The framework is an extra, and not installed where this is checked:
# pyright: reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUntypedBaseClass=false
"""Google ADK: a plugin that changes what is sent, and leaves the events of the session.

    app = App(name="builds", root_agent=agent, plugins=[ContextCompression()])

Who speaks in the contents of a request is told by the session's events, which name their authors.
ADK puts what other agents did into the user's role, and what a person said with a confirmation is
in an event alone, except for what the confirmed tool returns of it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Unpack

from context_compression.conversation.authors import BY_USER
from context_compression.conversation.formats import plain
from context_compression.conversation.labels import unmarked
from context_compression.conversation.messages import as_object, strings_in
from context_compression.extras import extra
from context_compression.integrations.sessions import SessionOptions, Sessions
from context_compression.integrations.translation import Translation, afit
from context_compression.session import Session
from context_compression.session.restoring import restore_tool

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


with extra("google-adk"):
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.models.llm_request import LlmRequest
    from google.adk.plugins.base_plugin import BasePlugin
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.tool_context import ToolContext
    from google.genai.types import Content, FunctionDeclaration, GenerateContentConfig


class ContextCompression(BasePlugin):
    """Fits the contents of each request of an app's agents into the context window.

    Each agent has a session of its own in each session of ADK, and so has each of its branches.

    Args:
        name: the name of the plugin.
        options: `store`, `settings`, `model`, `counter`, `summarizer`; see `SessionOptions`.
    """

    def __init__(
        self, name: str = "context_compression", **options: Unpack[SessionOptions]
    ) -> None:
        super().__init__(name)
        self.sessions = Sessions.of(self, "google-adk", options)

    def session_of(self, context: CallbackContext) -> Session:
        """The session of the agent that a callback or a tool call is for."""
        return self.sessions[_id_of(context)]

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> None:
        """Offer our tool with a request, and fit its contents."""
        if llm_request.previous_interaction_id:
            return  # the service keeps the history; these contents are only the new ones
        session = self.sessions.open(_id_of(callback_context), model=llm_request.model)
        config = llm_request.config
        if _takes_functions(config):
            llm_request.append_tools([RestoreInADK(session)])
        history, added = _without_added(llm_request.contents)
        speakers = Speakers(callback_context.session.events)
        view = await afit(
            session, history, Translation(partial(_read, speakers=speakers), _write),
            system=[config.system_instruction, *map(_read, added)], tools=plain(config.tools),
        )  # fmt: skip
        llm_request.contents = [*view, *added]

    async def on_model_error_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest, error: Exception
    ) -> None:
        """Compress what was refused as too long, so that the next run sends less."""
        await self.session_of(callback_context).arecover(error)


def _id_of(context: CallbackContext) -> str:
    of, branch = context.session, context.get_invocation_context().branch
    return json.dumps([of.app_name, of.user_id, of.id, context.agent_name, branch])


class RestoreInADK(BaseTool):
    """`context_restore` as a tool of ADK, for one session."""

    def __init__(self, session: Session) -> None:
        self._tool = restore_tool(session)
        super().__init__(name=self._tool.name, description=self._tool.description)

    def _get_declaration(self) -> FunctionDeclaration:
        return FunctionDeclaration.model_validate(self._tool.gemini)

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """The answer to a call."""
        return {"result": await self._tool.aanswer(args)}


def _without_added(contents: list[Content]) -> tuple[list[Content], list[Content]]:
    """The history, and what follows its last response of a tool for this request alone.

    ADK puts there the instruction of an agent that has a static one, too, and what plugins and
    tools add. The next request has it behind the next response. What other agents did is history:
    ADK quotes it in each later request at the same place.
    """
    end = len(contents)
    while end and contents[end - 1].role == "user" and not _is_history(contents[end - 1]):
        end -= 1
    if end and _is_history(contents[end - 1]):
        return contents[:end], contents[end:]
    return contents, []


def _is_history(content: Content) -> bool:
    """Whether a content of role user is a response, or quotes another agent."""
    first = next((part.text for part in content.parts or () if part.text), "")
    return _responds(content) or first.startswith(OTHER_AGENT)


def _responds(content: Content) -> bool:
    return any(part.function_response for part in content.parts or ())


def _takes_functions(config: GenerateContentConfig) -> bool:
    """Whether a request may declare functions.

    Gemini refuses functions together with a schema for its answer, and most of its models refuse
    them together with tools of its own, such as the search. Then the model is not offered our tool.
    """
    if config.response_schema or config.response_json_schema:
        return False
    tools = config.tools or ()
    return not tools or any(getattr(tool, "function_declarations", None) for tool in tools)


def _read(content: Content, speakers: Speakers | None = None) -> dict[str, Any]:
    """A content as the JSON of Gemini's API, with marks of who speaks."""
    read = content.model_dump(mode="json", by_alias=True, exclude_none=True, fallback=str)
    return speakers.marked(read) if speakers else read


def _write(content: Mapping[str, Any]) -> Content:
    """The JSON as a content; bytes, such as signatures, are base64 only in JSON."""
    parts = [*map(unmarked, content.get("parts") or ())]
    return Content.model_validate_json(json.dumps({**content, "parts": parts}))


CONTENTS = Translation(_read, _write)
