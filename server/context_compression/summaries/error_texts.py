"""What an error of a provider says: its texts, the objects of its body, its statuses.

Nothing here raises: a body may be nested without end, hold itself, or be no JSON at all, and an
exception of a client may fail when it is read.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeAlias

from context_compression.conversation.messages import is_array, is_object, strings_in

Error: TypeAlias = BaseException | Mapping[str, Any] | str
"""An exception, the body of an answer, or its text."""
DEEPEST, MOST_PARTS = 60, 10_000
"""How deep a body is read, and how many of its parts: providers may echo the request."""
LARGEST_NUMBER = 1 << 63
"""A larger number is none of tokens, and too long for Python to write."""
FIELDS = ("message", "body", "type", "code")
STATUSES = ("status_code", "status", "code")


def texts_of_error(error: Error) -> Iterator[str]:
    """The texts of an error; for an exception also those of its body, its answer and its causes."""
    if not isinstance(error, BaseException):
        yield from strings_in(plain(error))
        return
    for link in _chain(error):
        yield type(link).__name__
        yield _as_text(link)
        for name in FIELDS:
            yield from strings_in(plain(_field(link, name)))
        answer = _field(_field(link, "response"), "text")
        if isinstance(answer, str):
            yield answer


def objects_of_error(error: Error) -> Iterator[str]:
    """The objects of an error's bodies as JSON: llama.cpp names its window in a field."""
    if isinstance(error, BaseException):
        bodies = [_field(link, "body") for link in _chain(error)]
    else:
        bodies = [error]
    for body in filter(is_object, map(plain, bodies)):
        yield json.dumps(body)


def statuses_of(error: Error) -> set[int]:
    """The HTTP statuses of an error, and the codes that may be one."""
    values: list[Any] = []
    if isinstance(error, BaseException):
        for link in _chain(error):
            for holder in (link, _field(link, "response")):
                values += [_field(holder, name) for name in STATUSES]
    elif is_object(body := plain(error)):
        for holder in (body, body.get("error")):
            if is_object(holder):
                values += [holder.get(name) for name in STATUSES]
    return {value for value in values if isinstance(value, int)}


def plain(body: Any) -> Any:
    """A body as JSON values, as deep and as much of it as is read; what cannot be read is left out.

    `plain({1: b"too long"})` -> `{"1": "too long"}`
    """
    return _Copy().of(body, ())


class _Copy:
    """Copies a body while parts of it may be read."""

    def __init__(self) -> None:
        self._left = MOST_PARTS

    def of(self, value: Any, inside: tuple[int, ...]) -> Any:
        """The copy of a value that is in others, given by their identities."""
        if value is None or isinstance(value, bool | float):
            return value
        if isinstance(value, int) and abs(value) < LARGEST_NUMBER:
            return int(value)
        try:
            holds = is_object(value) or is_array(value)
            if not holds or isinstance(value, bytearray):
                return _as_text(value)
            if id(value) in inside or len(inside) >= DEEPEST:
                return None
            inside = (*inside, id(value))
            if is_object(value):
                return {_as_text(key): self.of(item, inside) for key, item in self._some(value)}
            return [self.of(item, inside) for item in self._some(value)]
        except Exception:  # a mapping or a list of its own kind may fail as it likes
            return None

    def _some(self, value: Any) -> Iterator[Any]:
        parts: Iterable[Any] = value.items() if is_object(value) else value
        for part in islice(parts, self._left):
            self._left -= 1
            if self._left < 0:
                return
            yield part


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An exception and those it was raised from; frameworks wrap the provider's exception."""
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        yield at
        at = at.__cause__ or (None if at.__suppress_context__ else at.__context__)


def _field(holder: Any, name: str) -> Any:
    """An attribute; `None` if there is none, or if it cannot be read, as that of an open stream."""
    try:
        return getattr(holder, name, None)
    except Exception:
        return None


def _as_text(value: Any) -> str:
    """A value as a text; "" for one that has none."""
    try:
        if isinstance(value, bytes | bytearray):
            return bytes(value).decode(errors="replace")
        return str(value)
    except Exception:
        return ""
