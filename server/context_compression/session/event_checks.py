"""Whether an event of a log makes sense: it is complete, and fits the events before it.

A log may be damaged, or written by another program. An event that makes no sense is skipped.
"""

import math
from collections.abc import Mapping
from typing import Any

from context_compression.conversation.formats import may_be_message
from context_compression.conversation.messages import is_object
from context_compression.session.layouts import is_valid_layout
from context_compression.session.log_events import is_timestamp
from context_compression.session.state import State

OPTIONS = frozenset(("target_tokens", "strategy", "pins", "focus", "force", "settings"))
"""Options of a compression that a plan may contain."""


def makes_sense(event: Mapping[str, Any], state: State) -> bool:
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


def base_of(state: State) -> dict[str, Any]:
    """The fields in a compression's event that describe the state it is made in.

    Positions in the event count messages. If an event before it was lost, a reader sees that from
    these fields and does not apply the positions to other messages.
    """
    return {"over": _last_number(state), "of": len(state.view), "after": state.number}


def _is_compression(event: Mapping[str, Any], state: State, covered: int) -> bool:
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


def _last_number(state: State) -> int:
    """The number of the last compression that counts; 0 if there is none."""
    return state.compressions[-1]["n"] if state.compressions else 0


def _nothing_is_missing(event: Mapping[str, Any], state: State, length: int) -> bool:
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
