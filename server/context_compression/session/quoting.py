r"""What a view quotes of the messages before it, written down as places in these messages.

A message that a compression made is mostly quotations. In the log such a message is

    {"quoting": [3, 9], "message": {"role": "user", "content": {"of": ["[bash] ls\n", [120, 58]]}}}

where `[120, 58]` are 58 characters from the 120th on of all texts in the messages 3 to 8 of the
view of that time, a line each.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard, cast

from context_compression.conversation.messages import is_array, is_object, strings_in

SHORTEST_TEXT, SHORTEST_PIECE = 160, 32
"""Characters from which on a text is taken apart, and something is a quotation."""
PROBED = 64
"""Characters by which the place of a quotation is found; the rest is compared."""

MOST_LOOKED_THROUGH = 10**8
"""Characters, in vain, for one text: then the rest of it is taken to be our own."""

Pieces = list["str | list[int]"]


def told(layout: Sequence[Any], view: Sequence[Mapping[str, Any]]) -> list[Any]:
    """A layout as it is written down: what is quoted from the view is not repeated."""
    found: list[Any] = []
    for at, part in enumerate(layout):
        if not is_object(part):
            found.append(part)
            continue
        ranges = [each for each in layout[:at] if not is_object(each)]
        later = [each for each in layout[at:] if not is_object(each)]
        start = ranges[-1][1] if ranges else 0
        stop = later[0][0] if later else len(view)
        found.append(_shortened(part, start, stop, view))
    return found


def whole(part: Mapping[str, Any], view: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A message of a layout, with what it quotes."""
    if not is_quoting(part):
        return dict(part)
    start, stop = part["quoting"]
    return _joined(part["message"], source_of(view[start:stop]))


def is_quoting(part: Mapping[str, Any]) -> bool:
    """Whether it quotes; every message of a provider has other keys."""
    return set(part) == {"quoting", "message"}


def is_sound(part: Mapping[str, Any], covered: int) -> bool:
    """Whether a message of a layout quotes, if at all, in a way that can be read."""
    if not is_quoting(part):
        return True
    match part["quoting"]:
        case [int(start), int(stop)] if 0 <= start <= stop <= covered:
            return is_object(part["message"]) and all(map(_are_pieces, _of(part["message"])))
        case _:
            return False


def source_of(messages: Sequence[Mapping[str, Any]]) -> str:
    """All texts of messages, a line each: what is quoted from."""
    return "\n".join(strings_in(messages))


def _shortened(
    message: Mapping[str, Any], start: int, stop: int, view: Sequence[Mapping[str, Any]]
) -> Mapping[str, Any]:
    source = source_of(view[start:stop])
    if not source or _has_surrogates(source) or any(True for _ in _of(message)):
        return message  # the last: it would be taken for one of ours
    quoting = {"quoting": [start, stop], "message": _apart(message, source)}
    return quoting if whole(quoting, view) == message else message


def _apart(value: Any, source: str) -> Any:
    if isinstance(value, str):
        pieces = _pieces(value, source) if len(value) >= SHORTEST_TEXT else [value]
        return value if pieces == [value] else {"of": pieces}
    if is_object(value):
        return {key: _apart(item, source) for key, item in value.items()}
    return [_apart(item, source) for item in value] if is_array(value) else value


def _joined(value: Any, source: str) -> Any:
    if _is_apart(value):
        return "".join(
            each if isinstance(each, str) else source[each[0] : each[0] + each[1]]
            for each in cast("Pieces", value["of"])
        )
    if is_object(value):
        return {key: _joined(item, source) for key, item in value.items()}
    return [_joined(item, source) for item in value] if is_array(value) else value


def _of(value: Any) -> Iterator[Any]:
    """All that texts were taken apart into."""
    if _is_apart(value):
        yield value["of"]
    elif is_object(value):
        for item in value.values():
            yield from _of(item)
    elif is_array(value):
        for item in value:
            yield from _of(item)


def _is_apart(value: Any) -> TypeGuard[Mapping[str, Any]]:
    return is_object(value) and set(value) == {"of"}


def _are_pieces(value: Any) -> bool:
    if not is_array(value):
        return False
    for piece in value:
        match piece:
            case str():
                pass
            case [int(start), int(length)] if start >= 0 and length >= 0:
                pass
            case _:
                return False
    return True


def _pieces(text: str, source: str) -> Pieces:
    """A text as literal pieces and places in a source.

    Its longest line stays whole: by that line a conversation is known again (`naming`).
    """
    longest = max(text.splitlines(), key=len)
    kept = text.find(longest)
    found: Pieces = []
    literal = at = last = looked = 0
    while at < len(text) and looked < MOST_LOOKED_THROUGH:
        line = text.find("\n", at) + 1 or len(text)
        stop = len(text) if at > kept else kept
        for begin in (at, text.find("] ", at, line) + 2):
            place, length = (0, 0) if begin < at else _place(text, begin, stop, source, last)
            if length:
                found += ([text[literal:begin]] if literal < begin else []) + [[place, length]]
                literal = at = begin + length
                last = place + length
                break
        else:
            at = line
            looked += len(source)
    return found + ([text[literal:]] if literal < len(text) else [])


def _place(text: str, begin: int, stop: int, source: str, last: int) -> tuple[int, int]:
    """Where a text stands in a source from `begin` on, and how far; nothing for too little.

    What is quoted goes on mostly behind `last`, the quotation before.
    """
    end = text.find("\n", begin) + 1 or len(text)
    if min(end, stop) - begin < SHORTEST_PIECE:
        return 0, 0
    probe = text[begin : min(end - 1, stop, begin + PROBED)]
    place = source.find(probe, last)
    place = source.find(probe) if place < 0 else place
    if place < 0:
        return 0, 0
    length, step = len(probe), len(probe)
    while step:
        more = min(length + step, stop - begin)
        if text[begin + length : begin + more] == source[place + length : place + more]:
            if more == length:
                break
            length, step = more, 2 * step
        else:
            step //= 2
    return place, length


def _has_surrogates(text: str) -> bool:
    """Two that make a pair are one character once JSON was read, and all places are others."""
    return re.search("[\ud800-\udfff]", text) is not None
