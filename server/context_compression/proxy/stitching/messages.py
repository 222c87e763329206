"""One answer out of several of Anthropic's Messages.

The events are those of docs.anthropic.com/en/api/messages-streaming.
"""

import re
from collections.abc import Sequence
from typing import Any

from context_compression.conversation.messages import as_object, objects
from context_compression.integrations.apis import MESSAGES, Json, name_of
from context_compression.proxy.events import ServerEvent
from context_compression.proxy.stitching.fields import (
    merged,
    read,
    scalar,
    sum_of,
    with_fields,
    written,
)
from context_compression.proxy.stitching.stitcher import Reply, Stitcher, with_usage
from context_compression.session.restoring import RESTORE

_KIND = re.compile(rb'"type"\s*:\s*"(message_\w+|content_block_\w+)"')
CUT_OFF = frozenset({"max_tokens", "model_context_window_exceeded", "refusal", "pause_turn"})
"""The reasons to stop after which nobody waits for the result of a call."""


def _is_ours(block: Any) -> bool:
    return _is_call(block) and name_of(block) == RESTORE


def _is_call(block: Any) -> bool:
    return as_object(block).get("type") == "tool_use"


def _ended(delta: Json) -> Json:
    """The end of a message from which our calls are left out, and that has no others."""
    ends = delta.get("stop_reason") == "tool_use"
    return {**delta, "stop_reason": "end_turn"} if ends else delta


class MessagesStitcher(Stitcher):
    """Blocks get the indices that the client expects; the end tells the usage of all."""

    api = MESSAGES

    def __init__(self) -> None:
        super().__init__()
        self._blocks = 0

    def _begin(self) -> None:
        super()._begin()
        self._started = b""
        self._places: dict[Any, int | None] = {}
        """The index for the client of each block; `None` if it is a call of ours."""

    def _shown(self, event: ServerEvent) -> bytes:
        kind = found[1] if (found := _KIND.search(event.data)) else b""
        if kind == b"message_start":
            self._started = event.data
            return event.raw if self._is_first else b""
        if kind == b"content_block_start":
            self._place(event.data)
        if kind.startswith(b"content_block_") and self._is_moved:
            place = self._places.get(scalar(event.data, "index"), self._blocks)
            moved = with_fields(event.data, {"index": place})
            return b"" if place is None else event.with_data(moved)
        if kind == b"message_delta":
            return self._end(event)
        return self._hold(event.raw) if kind == b"message_stop" and self._held else event.raw

    def _place(self, data: bytes) -> None:
        block, place = read(data).get("content_block"), None
        if _is_ours(block):
            self._has_calls = True
        else:
            self._has_others |= _is_call(block)
            place, self._blocks = self._blocks, self._blocks + 1
        self._places[scalar(data, "index")] = place

    def _end(self, event: ServerEvent) -> bytes:
        is_end = scalar(event.data, "stop_reason") is not None
        self._is_complete |= is_end
        if not self._is_moved:
            return event.raw
        end = read(event.data)
        if self._spent is not None:
            usage = self.whole([self._started, event.data]).get("usage")
            end["usage"] = sum_of(self._spent, usage)
        if is_end and self._goes_on:
            return self._hold(event.with_data(written({**end, "delta": _ended(end["delta"])})))
        return event.raw if self._spent is None else event.with_data(written(end))

    @classmethod
    def whole(cls, seen: Sequence[bytes]) -> Json:
        """The message, from the data of its events."""
        message: Json = {}
        blocks: dict[Any, Json] = {}
        for event in map(read, seen):
            match event:
                case {"type": "message_start", "message": start}:
                    message = dict(start)
                case {"type": "content_block_start", "index": index, "content_block": block}:
                    blocks[index] = dict(block)
                case {"type": "content_block_delta", "index": index, "delta": delta}:
                    blocks[index] = _merged(blocks.get(index, {}), delta)
                case {"type": "message_delta", "delta": delta}:
                    usage = {**as_object(message.get("usage")), **as_object(event.get("usage"))}
                    message = {**message, **delta, "usage": usage}
                case _:
                    pass
        return {**message, "content": [_with_input(block) for block in blocks.values()]}

    @classmethod
    def reply_of(cls, response: Json) -> Reply:
        """What a message says."""
        content, reason = objects(response.get("content")), response.get("stop_reason")
        return Reply(
            calls=[] if reason in CUT_OFF else MESSAGES.calls(response),
            has_others=any(_is_call(block) and not _is_ours(block) for block in content),
            complete=reason is not None,
            _message=lambda: response,
        )

    @classmethod
    def joined(cls, responses: Sequence[Json]) -> Json:
        """One message out of several, without calls of ours."""
        first, last = responses[0], responses[-1]
        blocks = [block for response in responses for block in response.get("content") or ()]
        content = [block for block in blocks if not _is_ours(block)]
        if first is last and len(content) == len(blocks):
            return first
        whole = with_usage({**last, "id": first.get("id"), "content": content}, responses)
        return _ended(whole) if cls.reply_of(last).goes_on else whole


def _merged(block: Json, delta: Json) -> Json:
    """A block with what came next; the JSON of an input is kept as text."""
    said = {name: value for name, value in delta.items() if name != "type"}
    if "citation" in said:
        said["citations"] = [said.pop("citation")]
    return merged(block, said)


def _with_input(block: Json) -> Json:
    """A block with its input as an object; with an empty one if the model wrote no JSON."""
    if "partial_json" not in block:
        return block
    whole = {name: value for name, value in block.items() if name != "partial_json"}
    return {**whole, "input": read(block["partial_json"].encode("utf-8", "surrogatepass"))}
