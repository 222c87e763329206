"""The events of a log: stamped, read, checked; and how a compression made its view."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeGuard, cast

from context_compression.conversation.formats import may_be_message
from context_compression.conversation.messages import is_array, is_object, strings_in
from context_compression.plurals import MOST

if TYPE_CHECKING:
    from context_compression.session.state import State


def timestamp() -> str:
    """The current time in UTC, ISO 8601 to the second: `2026-03-01T09:30:00Z`."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def is_timestamp(text: str) -> bool:
    """Whether a text is an ISO 8601 time with an offset from UTC."""
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def age_of(event: Mapping[str, Any]) -> float:
    """Seconds since an event; infinite if it has no valid time."""
    try:
        at = datetime.fromisoformat(event["created_at"])
        return (datetime.now(UTC) - at).total_seconds()
    except (KeyError, TypeError, ValueError):
        return math.inf


def undo_of(compression: Mapping[str, Any], now: str) -> dict[str, Any]:
    """The event that undoes a compression."""
    covered = {key: compression[key] for key in ("n", "messages_in")}
    return {"type": "undo", "created_at": now, **covered}


def has_rewind(events: Iterable[Mapping[str, Any]]) -> bool:
    """Whether one of the events removes recorded messages."""
    return any(event["type"] == "rewind" for event in events)


def origin_of(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """The origin of a conversation, as an event records it, without impossible values.

    Returns:
        `host`, `window`, `model` and `beside` (tokens outside the messages of each request), or an
        empty mapping. `asked` is the size, with `beside`, that the user named to the host, if any.
    """
    match event.get("origin"):
        case {"host": str(host), "window": window, "model": model, "beside": overhead} as origin:
            asked = origin.get("asked")
            return {
                "host": host,
                "window": window if _is_count(window) and window > 0 else None,
                "model": model if isinstance(model, str) else None,
                "beside": overhead if _is_count(overhead) else 0,
                **({"asked": asked} if _is_count(asked) else {}),
            }
        case _:
            return {}


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST


# Whether an event of a log makes sense: it is complete, and fits the events before it.
#
# A log may be damaged, or written by another program. An event that makes no sense is skipped.


OPTIONS = frozenset(("target_tokens", "strategy", "pins", "focus", "force", "settings"))
"""Options of a compression that a plan may contain."""


def makes_sense(event: Mapping[str, Any], state: "State") -> bool:
    """Whether an event has the fields of its type and fits the events before it.

    Args:
        event: the next event of a log. An unknown type always makes sense.
        state: the state after the events before it.
    """
    match event:
        case {"type": "message", "message": message}:
            return may_be_message(message)
        case {"type": "compression", "n": int(), "messages_in": int(covered), "layout": list(),
              "tokens_before": int(), "tokens_after": int(), "compressed": list()}:  # fmt: skip
            return _is_compression(event, state, covered)
        case {"type": "compression" | "message"}:
            return False
        case {"type": "undo"}:
            fits = bool(state.compressions) and isinstance(event.get("messages_in"), int)
            return fits and event.get("n", _last_number(state)) == _last_number(state)
        case {"type": "rewind"}:
            to = event.get("to")
            fits = isinstance(to, int) and 0 <= to <= len(state.recorded)
            return fits and _nothing_is_missing(event, state, len(state.recorded))
        case {"type": "restore"}:
            complete = isinstance(event.get("ref"), str) and isinstance(event.get("tokens"), int)
            share = event.get("share", 1)
            return complete and isinstance(share, int | float) and 0 <= share < math.inf
        case {"type": "offload"}:
            return _are_refs(event)
        case {"type": "shortened"}:
            index, message = event.get("index"), event.get("message")
            fits = isinstance(index, int) and 0 <= index < len(state.recorded)
            return fits and may_be_message(message)
        case {"type": "plan"}:
            return _is_plan(event)
        case {"type": "answer"}:
            return isinstance(event.get("plan_id"), str) and isinstance(event.get("text"), str)
        case _:
            return isinstance(event.get("type"), str)


def base_of(state: "State") -> dict[str, Any]:
    """The fields in a compression's event that describe the state it is made in.

    Positions in the event count messages. If an event before it was lost, a reader sees that from
    these fields and does not apply the positions to other messages.
    """
    return {"over": _last_number(state), "of": len(state.view), "after": state.number}


def _is_compression(event: Mapping[str, Any], state: "State", covered: int) -> bool:
    system = event.get("system", {})
    if not (is_object(system) and all(isinstance(text, str) for text in system.values())):
        return False
    if not (0 <= covered <= len(state.view) and is_valid_layout(event["layout"], covered)):
        return False
    last = _last_number(state)
    over_this = event.get("over", last) == last
    if not (over_this and _nothing_is_missing(event, state, len(state.view))):
        return False
    return _are_refs(event) and isinstance(event.get("originals", ""), str)


def _last_number(state: "State") -> int:
    """The number of the last compression that counts; 0 if there is none."""
    return state.compressions[-1]["n"] if state.compressions else 0


def _nothing_is_missing(event: Mapping[str, Any], state: "State", length: int) -> bool:
    """Whether no event is missing since the state that this event was written in.

    Another process may have recorded messages between the two.

    Args:
        event: contains how many messages (`of`) and events (`after`) there were.
        state: before the event.
        length: how many messages there are now.
    """
    of, after = event.get("of", length), event.get("after", state.number)
    if not (isinstance(of, int) and isinstance(after, int)):
        return False
    return after <= state.number and of <= length <= of + state.number - after


def _are_refs(event: Mapping[str, Any]) -> bool:
    refs = event.get("refs", {})
    return is_object(refs) and all(
        is_object(about)
        and isinstance(about.get("what"), str)
        and all(isinstance(about.get(name, ""), int | None) for name in ("message", "block"))
        for about in refs.values()
    )


def _is_plan(event: Mapping[str, Any]) -> bool:
    match event:
        case {"plan_id": str(), "created_at": str(at), "covered": str(), "messages_in": int(),
              "options": options}:  # fmt: skip
            known = is_timestamp(at) and is_object(options) and options.keys() <= OPTIONS
            valid = known and is_object(options.get("settings", {}))
            return valid and isinstance(options.get("focus", ""), str | None)
        case _:
            return False


# Layouts of views, as the log has them: quotations from the view are written as positions.
#
# A layout describes how a compression made a view from the view before it: `(start, stop)` for
# messages that stay, and each new message. New messages consist mostly of quotations from messages
# that left. In the log such a message is
#
#   {"quoting": [3, 9], "message": {"role": "user", "content": {"of": ["[bash] ls\n", [120, 58]]}}}
#
# where `[120, 58]` stands for 58 characters from character 120 on. They are taken from all texts
# in the messages 3 to 8 of the view of that time, joined by newlines.


SHORTEST_TEXT = 160
"""Only texts of at least this many characters are searched for quotations."""
SHORTEST_QUOTATION = 32
"""Only quotations of at least this many characters are written as positions."""
PROBED = 64
"""How many characters of a quotation are searched for; the rest is compared."""
MOST_SEARCHED = 10**8
"""How many characters are searched without a match for one text; then its rest is written
literally.
"""

Pieces = list["str | list[int]"]
"""A text in pieces: literal ones, and `[start, length]` in a source."""


def encode_layout(layout: Sequence[Any], view: Sequence[Mapping[str, Any]]) -> list[Any]:
    """A layout as the log has it: quotations from the view are written as positions.

    Args:
        layout: ranges of messages, and new messages, as in `Result.layout`.
        view: the messages before the compression.
    """
    encoded: list[Any] = []
    for number, part in enumerate(layout):
        if not is_object(part):
            encoded.append(part)
            continue
        before = [each for each in layout[:number] if not is_object(each)]
        behind = [each for each in layout[number:] if not is_object(each)]
        start = before[-1][1] if before else 0
        stop = behind[0][0] if behind else len(view)
        encoded.append(_encode_message(part, start, stop, view))
    return encoded


def decode_message(part: Mapping[str, Any], view: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A new message of a layout, with the texts it quotes from the view."""
    if not is_quoting(part):
        return dict(part)
    start, stop = part["quoting"]
    return _decode(part["message"], source_of(view[start:stop]))


def apply_layout(layout: Sequence[Any], view: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The view that a layout of the log makes from the view before it."""
    messages: list[dict[str, Any]] = []
    for part in layout:
        if is_object(part):
            messages.append(decode_message(part, view))
        else:
            messages += view[part[0] : part[1]]
    return messages


def apply_to_origins(
    layout: Sequence[Any], origins: Sequence[int | None], covered: int
) -> list[int | None]:
    """For each message of the view that a layout makes, the index of its original.

    `None` stands for a new message. As many new messages as left at a place are shortened ones.

    Args:
        layout: as the log has it.
        origins: for each message of the view before, the index of its original.
        covered: how many messages of that view the layout is for.
    """
    made: list[int | None] = []
    new = at = 0
    for part in (*layout, (covered, covered)):
        if is_object(part):
            new += 1
            continue
        left = origins[at : part[0]]
        made += left if len(left) == new else [None] * new
        made += origins[part[0] : part[1]]
        new, at = 0, part[1]
    return made


def is_valid_layout(layout: Sequence[Any], covered: int) -> bool:
    """Whether all positions in a layout are within the first `covered` messages of the view."""
    for part in layout:
        if is_object(part) and is_valid_message(part, covered):
            continue
        if not (is_array(part) and len(part) == 2 and all(isinstance(n, int) for n in part)):
            return False
        if not 0 <= part[0] <= part[1] <= covered:
            return False
    return True


def is_quoting(part: Mapping[str, Any]) -> bool:
    """Whether a message of a layout contains positions; messages of providers have other keys."""
    return set(part) == {"quoting", "message"}


def is_valid_message(part: Mapping[str, Any], covered: int) -> bool:
    """Whether the positions in a new message, if any, are well-formed."""
    if not is_quoting(part):
        return True
    match part["quoting"]:
        case [int(start), int(stop)] if 0 <= start <= stop <= covered:
            return is_object(part["message"]) and all(
                map(_are_pieces, _encoded_texts(part["message"]))
            )
        case _:
            return False


def source_of(messages: Sequence[Mapping[str, Any]]) -> str:
    """All texts of messages, joined by newlines. Positions are offsets in this text."""
    return "\n".join(strings_in(messages))


def _encode_message(
    message: Mapping[str, Any], start: int, stop: int, view: Sequence[Mapping[str, Any]]
) -> Mapping[str, Any]:
    """The message with positions in `view[start:stop]`; unchanged if that could not be undone."""
    source = source_of(view[start:stop])
    looks_encoded = any(True for _ in _encoded_texts(message))
    if not source or _has_surrogates(source) or looks_encoded:
        return message
    encoded = {"quoting": [start, stop], "message": _encode(message, source)}
    return encoded if decode_message(encoded, view) == message else message


def _encode(value: Any, source: str) -> Any:
    if isinstance(value, str):
        pieces = _pieces(value, source) if len(value) >= SHORTEST_TEXT else [value]
        return value if pieces == [value] else {"of": pieces}
    if is_object(value):
        return {key: _encode(item, source) for key, item in value.items()}
    return [_encode(item, source) for item in value] if is_array(value) else value


def _decode(value: Any, source: str) -> Any:
    if _is_encoded_text(value):
        return "".join(
            each if isinstance(each, str) else source[each[0] : each[0] + each[1]]
            for each in cast("Pieces", value["of"])
        )
    if is_object(value):
        return {key: _decode(item, source) for key, item in value.items()}
    return [_decode(item, source) for item in value] if is_array(value) else value


def _encoded_texts(value: Any) -> Iterator[Any]:
    """The pieces of every text in a value that contains positions."""
    if _is_encoded_text(value):
        yield value["of"]
    elif is_object(value):
        for item in value.values():
            yield from _encoded_texts(item)
    elif is_array(value):
        for item in value:
            yield from _encoded_texts(item)


def _is_encoded_text(value: Any) -> TypeGuard[Mapping[str, Any]]:
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
    """A text as literal pieces and positions in a source.

    Its longest line stays literal, because `naming` recognises a conversation by that line.
    """
    longest = max(text.splitlines(), key=len)
    literal_line = text.find(longest)
    pieces: Pieces = []
    literal = at = end_of_last = searched = 0
    while at < len(text) and searched < MOST_SEARCHED:
        line_end = text.find("\n", at) + 1 or len(text)
        stop = len(text) if at > literal_line else literal_line
        for begin in (at, text.find("] ", at, line_end) + 2):  # also after a label
            place, length = (0, 0)
            if begin >= at:
                place, length = _quotation(text, begin, stop, source, end_of_last)
            if length:
                pieces += ([text[literal:begin]] if literal < begin else []) + [[place, length]]
                literal = at = begin + length
                end_of_last = place + length
                break
        else:
            at = line_end
            searched += len(source)
    return pieces + ([text[literal:]] if literal < len(text) else [])


def _quotation(text: str, begin: int, stop: int, source: str, likely: int) -> tuple[int, int]:
    """The offset and length of a quotation in the source; `(0, 0)` if it is absent or too short.

    Args:
        text: the text that may quote.
        begin: where the quotation would begin in the text.
        stop: where it must end, exclusive.
        source: the text that may be quoted.
        likely: where to search the source first, because quotations usually follow each other.
    """
    line_end = text.find("\n", begin) + 1 or len(text)
    if min(line_end, stop) - begin < SHORTEST_QUOTATION:
        return 0, 0
    probe = text[begin : min(line_end - 1, stop, begin + PROBED)]
    place = source.find(probe, likely)
    place = source.find(probe) if place < 0 else place
    if place < 0:
        return 0, 0
    length, step = len(probe), len(probe)
    while step:  # doubled while it matches, halved while it does not
        more = min(length + step, stop - begin)
        if text[begin + length : begin + more] == source[place + length : place + more]:
            if more == length:
                break
            length, step = more, 2 * step
        else:
            step //= 2
    return place, length


def _has_surrogates(text: str) -> bool:
    """Whether a text has surrogates; JSON could join two of them and shift all positions."""
    return re.search("[\ud800-\udfff]", text) is not None
