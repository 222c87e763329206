"""One answer out of several of OpenAI's Responses.

The events are those of platform.openai.com/docs/api-reference/responses-streaming.
"""

import re
from collections.abc import Sequence
from typing import Any

from context_compression.conversation.formats.responses import CALLS, RESULTS
from context_compression.conversation.messages import as_object
from context_compression.integrations.apis import RESPONSES, Json, name_of
from context_compression.proxy.events import ServerEvent
from context_compression.proxy.stitching.fields import read, scalar, with_fields, written
from context_compression.proxy.stitching.stitcher import Reply, Stitcher, with_usage
from context_compression.session.restoring import RESTORE

_KIND = re.compile(rb'"type"\s*:\s*"(response\.[\w.]+)"')
BEGINNINGS = frozenset({b"response.created", b"response.queued", b"response.in_progress"})
ENDS = frozenset({b"response.completed", b"response.incomplete", b"response.failed"})
ITEMS = frozenset({b"response.output_item.added", b"response.output_item.done"})
ONCE = ("created_at",)
"""The fields that the answer has from the first response. A whole answer has the id of the last
one, which a client names to go on, if OpenAI's server keeps the responses. A stream has begun with
the id of the first, and OpenAI's SDK takes no other behind it."""


def _is_ours(item: Any) -> bool:
    return as_object(item).get("type") == "function_call" and name_of(item) == RESTORE


def _waiting(items: Sequence[Any], before: frozenset[Any] = frozenset()) -> frozenset[Any]:
    """The ids of the items that the client must answer; not those that the provider answered."""
    waiting = set(before)
    for item in map(as_object, items):
        kind, id = item.get("type"), str(item.get("call_id") or item.get("id"))
        is_client = kind == "tool_search_call" and item.get("execution") == "client"
        if kind == "mcp_approval_request" or is_client or (kind in CALLS and not _is_ours(item)):
            waiting.add(id)
        elif kind in RESULTS:
            waiting.discard(id)
    return frozenset(waiting)


class ResponsesStitcher(Stitcher):
    """Items and events get the numbers that the client expects; the end tells all of them."""

    api = RESPONSES

    def __init__(self) -> None:
        super().__init__()
        self._responses: list[Json] = []
        self._items = 0
        self._number: Any = None
        """The next sequence number, from the first event on that was left out."""

    def _begin(self) -> None:
        super()._begin()
        self._waiting: frozenset[Any] = frozenset()
        self._places: dict[Any, int | None] = {}
        """The index for the client of each item; `None` if it is a call of ours."""

    def next(self) -> None:
        """A further response of the provider begins."""
        if self._reply:
            self._responses.append(self._reply.message)
        super().next()

    def _shown(self, event: ServerEvent) -> bytes:
        kind = found[1] if (found := _KIND.search(event.data)) else b""
        if kind in ITEMS:
            self._place(read(event.data))
        if kind in ENDS:
            return self._end(event, kind)
        if not self._is_moved:
            return event.raw
        if self._held:
            return self._hold(event.raw)
        if kind in BEGINNINGS and not self._is_first:
            return b""
        index = scalar(event.data, "output_index")
        place = self._places.get(index, self._items)
        if place is None:
            return b""
        moved = {} if index is None else {"output_index": place}
        return event.with_data(self._numbered(with_fields(event.data, moved)))

    def _numbered(self, data: bytes) -> bytes:
        number = scalar(data, "sequence_number")
        if number is None or self._number is None:
            return data
        self._number += 1
        return with_fields(data, {"sequence_number": self._number - 1})

    def _place(self, event: Json) -> None:
        index, item = event.get("output_index"), event.get("item")
        self._waiting = _waiting([item], self._waiting)
        self._has_others = bool(self._waiting)
        if index in self._places:
            return
        if _is_ours(item):
            if not self._is_moved:
                self._number = event.get("sequence_number")
            self._has_calls, self._places[index] = True, None
        else:
            self._places[index], self._items = self._items, self._items + 1

    def _end(self, event: ServerEvent, kind: bytes) -> bytes:
        self._is_complete = True
        if not self._is_moved:
            return event.raw
        end = read(event.data)
        came = as_object(end.get("response"))
        response = self.joined([*self._responses, self.whole(self._seen)])
        if "output" not in came:
            del response["output"]
        if self._responses and "id" in response:
            response["id"] = self._responses[0].get("id")
        number = self._number
        shown = event.with_data(self._numbered(written({**end, "response": response})))
        if self._goes_on and kind == b"response.completed":
            self._number = number  # the next response goes on with it
        return self._hold(shown)  # until it is kept what a next request goes on from

    @classmethod
    def whole(cls, seen: Sequence[bytes]) -> Json:
        """The response, from the data of its events; some providers do not repeat its items."""
        response: Json = {}
        items: dict[Any, Any] = {}
        for data in seen:
            kind = found[1] if (found := _KIND.search(data)) else b""
            if kind in ENDS or kind in BEGINNINGS:
                response = dict(as_object(read(data).get("response")))
            elif kind == b"response.output_item.done":
                event = read(data)
                items[event.get("output_index")] = event.get("item")
        return response if response.get("output") else {**response, "output": [*items.values()]}

    @classmethod
    def reply_of(cls, response: Json) -> Reply:
        """What a response says."""
        status = response.get("status", "completed")
        return Reply(
            calls=RESPONSES.calls(response) if status == "completed" else [],
            has_others=bool(_waiting(response.get("output") or ())),
            complete=status in ("completed", "incomplete", "failed"),
            _message=lambda: response,
        )

    @classmethod
    def joined(cls, responses: Sequence[Json]) -> Json:
        """One response out of several, without calls of ours."""
        first, last = responses[0], responses[-1]
        items = [item for response in responses for item in response.get("output") or ()]
        output = [item for item in items if not _is_ours(item)]
        if first is last and len(items) == len(output):
            return first
        once = {name: first[name] for name in ONCE if name in first}
        return with_usage({**last, **once, "output": output}, responses)
