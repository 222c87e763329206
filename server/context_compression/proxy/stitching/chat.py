"""One answer out of several of OpenAI's Chat Completions.

A request for several choices (`n` > 1) is not stitched.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from context_compression.conversation.messages import as_object, is_array, objects
from context_compression.integrations.apis import CHAT, Json, name_of
from context_compression.proxy.events import ServerEvent
from context_compression.proxy.stitching.fields import merged, read, sum_of, with_fields, written
from context_compression.proxy.stitching.stitcher import DONE, Reply, Stitcher, with_usage
from context_compression.session.restoring import RESTORE

ONCE = ("id", "created", "system_fingerprint")
"""The fields that are the same in all chunks of a response."""
CALLING = frozenset({"tool_calls", "stop"})
"""The reasons to finish with which results of calls are waited for; some providers say `stop`."""

_TELLS = re.compile(
    rb'"(?:tool_calls|usage|function_call)"\s*:\s*[\[{]|"finish_reason"\s*:\s*"'
    rb'|"choices"\s*:\s*\[\s*\{\s*"index"\s*:\s*[1-9]'
)
"""In a chunk that is more than a piece of the one answer."""


def _is_ours(call: Any) -> bool:
    return name_of(call) == RESTORE


def _ended(choice: Json) -> Json:
    """The end of an answer from which our calls are left out, and that has no others."""
    ends = choice.get("finish_reason") == "tool_calls"
    return {**choice, "finish_reason": "stop"} if ends else choice


def _is_one(choices: Sequence[Mapping[str, Any]]) -> TypeGuard[Sequence[Json]]:
    return len(choices) == 1 and not choices[0].get("index")


class ChatStitcher(Stitcher):
    """Calls get the indices that the client expects; the end tells the usage of all."""

    api = CHAT

    def __init__(self) -> None:
        super().__init__()
        self._counts: Counter[str] = Counter()
        """How many parts of each list of a message the client has."""
        self._once: Json = {}
        self._is_one = True

    def _begin(self) -> None:
        super()._begin()
        self._places: dict[Any, int | None] = {}
        """The index for the client of each part of a list; `None` if it is a call of ours."""

    def next(self) -> None:
        """A further response of the provider begins."""
        if self._is_first and self._reply:
            said = self._reply.message
            self._once = {name: said[name] for name in ONCE if name in said}
            for name, parts in said["choices"][0]["message"].items():
                if name != "tool_calls":
                    self._counts[name] = len(objects(parts))
        super().next()

    def _shown(self, event: ServerEvent) -> bytes:
        data = event.data
        if data == DONE:
            return self._hold(event.raw) if self._held else event.raw
        if self._held or _TELLS.search(data):
            return self._told(event, read(data)) if self._is_one else event.raw
        if self._is_first:
            return event.raw
        if b'"role"' in data or data.count(b'"index"') > 1:
            return self._told(event, read(data))
        return event.with_data(with_fields(data, self._once))

    def _told(self, event: ServerEvent, came: Json) -> bytes:
        chunk = {**came, **{name: value for name, value in self._once.items() if name in came}}
        choices, choice = objects(came.get("choices")), {}
        if choices and not _is_one(choices):
            self._is_one = self._has_calls = False
            held, self._held = self._held, []
            return b"".join([*held, event.raw])
        if choices:
            choice = self._chosen(dict(choices[0]))
            chunk["choices"] = [choice] if choice else []
            if not choice and not chunk.get("usage"):
                return b""
        if self._spent is not None and chunk.get("usage"):
            chunk["usage"] = sum_of(self._spent, chunk["usage"])
        is_end = choice.get("finish_reason") is not None
        self._is_complete |= is_end
        if self._held or (is_end and self._goes_on):
            return self._last(event, chunk, choice)
        return event.raw if chunk == came else event.with_data(written(chunk))

    def _last(self, event: ServerEvent, chunk: Json, choice: Json) -> bytes:
        """What goes out now of a chunk at the end: all but the end."""
        end: Json = {**chunk, "choices": [{**_ended(choice), "delta": {}}] if choice else []}
        self._hold(event.with_data(written(end)))
        if not choice.get("delta"):
            return b""
        begun = {name: value for name, value in chunk.items() if name != "usage"}
        begun["choices"] = [{**choice, "finish_reason": None}]
        return event.with_data(written(begun))

    def _chosen(self, choice: Json) -> Json:
        """A choice without calls of ours; an empty one if nothing is left of it."""
        delta = dict(as_object(choice.get("delta")))
        if not self._is_first:
            delta.pop("role", None)
        self._has_others |= bool(delta.get("function_call"))
        for name, parts in list(delta.items()):
            if is_array(parts) and (name == "tool_calls" or not self._is_first):
                delta[name] = [moved for part in parts for moved in self._moved(name, part)]
                if parts and not delta[name]:
                    del delta[name]
        if "delta" not in choice or delta == choice["delta"]:
            return choice
        is_left = any(delta.values()) or choice.get("finish_reason") is not None
        return {**choice, "delta": delta} if is_left else {}

    def _moved(self, name: str, part: Any) -> list[Any]:
        """The part of a list at its place for the client; nothing if it is of a call of ours."""
        fields = as_object(part)
        index = fields.get("index")
        key = name, str(fields.get("id") if index is None else index)
        if key not in self._places and name == "tool_calls" and _is_ours(part):
            self._has_calls, self._places[key] = True, None
        elif key not in self._places:
            self._has_others |= name == "tool_calls"
            self._places[key] = self._counts[name]
            self._counts[name] += 1
        place = self._places[key]
        if place is None:
            return []
        return [part if index is None else {**fields, "index": place}]

    @classmethod
    def whole(cls, seen: Sequence[bytes]) -> Json:
        """The completion, from the data of its chunks."""
        completion: Json = {}
        message: Json = {"role": "assistant"}
        end: Json = {"index": 0}
        for chunk in map(read, seen):
            completion |= {name: value for name, value in chunk.items() if value is not None}
            for choice in objects(chunk.get("choices")):
                message = merged(message, as_object(choice.get("delta")))
                end |= {name: value for name, value in choice.items() if value is not None}
        message = {name: value for name, value in message.items() if value is not None}
        if calls := message.get("tool_calls"):
            message["tool_calls"] = [
                {name: call[name] for name in call if name != "index"} for call in objects(calls)
            ]
        choice = {name: end[name] for name in end if name != "delta"} | {"message": message}
        return completion | {"object": "chat.completion", "choices": [choice]}

    @classmethod
    def reply_of(cls, response: Json) -> Reply:
        """What a completion says."""
        choices = objects(response.get("choices"))
        if not _is_one(choices):
            return Reply([], has_others=False, complete=True, _message=lambda: response)
        message, reason = as_object(choices[0].get("message")), choices[0].get("finish_reason")
        others = [call for call in message.get("tool_calls") or () if not _is_ours(call)]
        return Reply(
            calls=CHAT.calls(response) if reason in CALLING else [],
            has_others=bool(others or message.get("function_call")),
            complete=reason is not None,
            _message=lambda: response,
        )

    @classmethod
    def joined(cls, responses: Sequence[Json]) -> Json:
        """One completion out of several, without calls of ours."""
        first, last = responses[0], responses[-1]
        if first is last and not _ours_in(first):
            return first
        message: Json = {}
        for response in responses:
            said = dict(response["choices"][0]["message"])
            if calls := [call for call in said.pop("tool_calls", None) or () if not _is_ours(call)]:
                said["tool_calls"] = calls
            lists = {name: said.pop(name) for name in [*said] if is_array(said[name])}
            message = merged(message, said)
            message |= {name: [*(message.get(name) or ()), *lists[name]] for name in lists}
        choice = {**last["choices"][0], "message": message}
        choice = _ended(choice) if cls.reply_of(last).goes_on else choice
        once = {name: first[name] for name in ONCE if name in first}
        return with_usage({**last, **once, "choices": [choice]}, responses)


def _ours_in(response: Json) -> bool:
    choices = objects(response.get("choices"))
    calls = as_object(choices[0].get("message")).get("tool_calls") if _is_one(choices) else ()
    return any(map(_is_ours, calls or ()))
