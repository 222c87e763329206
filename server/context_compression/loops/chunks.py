"""An answer of an `openai` client, joined from the chunks of its stream."""

from collections.abc import Awaitable, Callable
from inspect import isawaitable
from types import SimpleNamespace
from typing import Any

from context_compression.conversation.messages import is_array, is_object

ONCE = frozenset({"role", "id", "type", "name", "index"})
"""Texts that a later chunk repeats or leaves out; all other texts are continued."""


class Part(SimpleNamespace):
    """A piece of an answer, read like the client's own: by attribute, or as a dict."""

    def model_dump(self, **_: Any) -> dict[str, Any]:
        """As a dict, without missing values."""
        return {name: _plain(value) for name, value in vars(self).items() if value is not None}


class Chunks:
    """Joins the chunks of a stream into its answer."""

    def __init__(self) -> None:
        self._message: dict[str, Any] = {}
        self._choice: dict[str, Any] = {"index": 0, "finish_reason": None}
        self._about: dict[str, Any] = {"id": None, "model": None, "usage": None}

    def add(self, chunk: Any) -> None:
        """Add the next chunk; one of the last chunks may have no choices, but the usage."""
        for name, known in self._about.items():
            self._about[name] = getattr(chunk, name, None) or known
        for choice in getattr(chunk, "choices", None) or ():
            if getattr(choice, "index", 0):
                continue
            reason = getattr(choice, "finish_reason", None)
            self._choice["finish_reason"] = reason or self._choice["finish_reason"]
            if (delta := getattr(choice, "delta", None)) is not None:
                new = delta.model_dump(mode="json", exclude_none=True)
                self._message = _joined(self._message, new)

    @property
    def answer(self) -> Part:
        """The answer in the form that the client returns without a stream."""
        message: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": None}
        message |= {name: value for name, value in self._message.items() if value != ""}
        for call in message["tool_calls"] or ():
            call.pop("index", None)
        choice = {**self._choice, "message": message}
        return Part(**self._about, choices=[_part(choice)])


def gathered(stream: Any, take: Callable[[Any], object]) -> Part:
    """The answer of a stream, which is closed at the end; each chunk is passed to `take`."""
    chunks = Chunks()
    try:
        for chunk in stream:
            chunks.add(chunk)
            take(chunk)
    finally:
        getattr(stream, "close", int)()
    return chunks.answer


async def agathered(stream: Any, take: Callable[[Any], Awaitable[object]]) -> Part:
    """`gathered` for an event loop."""
    from anyio import CancelScope

    chunks = Chunks()
    try:
        async for chunk in stream:
            chunks.add(chunk)
            await take(chunk)
    finally:
        closing = getattr(stream, "close", getattr(stream, "aclose", int))()
        if isawaitable(closing):
            with CancelScope(shield=True):
                await closing
    return chunks.answer


def _joined(old: Any, new: Any, name: str = "") -> Any:
    """A message so far with the next chunk: `{"content": "Do"}`, `{"content": "ne"}` -> `Done`."""
    if is_object(new):
        known: dict[str, Any] = dict(old or {})
        return known | {key: _joined(known.get(key), value, key) for key, value in new.items()}
    if is_array(new):
        parts: list[Any] = list(old or ())
        for item in new:
            at = item.get("index") if is_object(item) else None
            place = next((n for n, part in enumerate(parts) if _is_at(part, at)), len(parts))
            earlier = parts[place] if place < len(parts) else None
            parts[place:] = [_joined(earlier, item), *parts[place + 1 :]]
        return parts
    if isinstance(new, str) and isinstance(old, str) and name not in ONCE:
        return old + new
    return new if new not in (None, "") or old is None else old


def _is_at(part: Any, index: Any) -> bool:
    return index is not None and is_object(part) and part.get("index") == index


def _part(value: Any) -> Any:
    if is_object(value):
        return Part(**{name: _part(inner) for name, inner in value.items()})
    return [_part(inner) for inner in value] if is_array(value) else value


def _plain(value: Any) -> Any:
    if isinstance(value, Part):
        return value.model_dump()
    return [_plain(inner) for inner in value] if is_array(value) else value
