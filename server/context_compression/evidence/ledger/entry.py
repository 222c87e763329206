"""`Entry`, one piece of evidence; merging of entries from several compressions; their JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import Any, Literal, TypeAlias, get_args

from context_compression.errors import StoreDamaged

Kind: TypeAlias = Literal[
    "read", "created", "modified", "deleted", "renamed",
    "command", "error", "test", "url", "id", "constraint", "decision",
]  # fmt: skip
STATES = frozenset({"read", "created", "modified", "deleted"})
"""The states of a file, which has one state at a time. A renaming keeps both names instead."""
EVENTS = frozenset({"command", "error", "test"})
"""Events that may be repeated; the latest one counts."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One piece of evidence.

    Attributes:
        kind: its kind; for a file its latest state.
        text: the path, command, error line, address, id or sentence, verbatim.
        detail: for a command `exit 1`, for a test `3 failed, 12 passed`, for a renamed file its new
            name, for an error the call that it stopped.
        at: the index of its message among the messages that were read.
    """

    kind: Kind
    text: str
    detail: str = ""
    at: int = 0


def merge(old: Sequence[Entry], new: Sequence[Entry]) -> list[Entry]:
    """Two ledgers merged into one, without duplicates and with each file in its latest state.

    A repeated event, such as a command with the same outcome, moves to the end, as does a file in a
    new state. The newest entry is therefore last. Other entries keep their place.
    """
    kept: dict[tuple[str, ...], Entry] = {}
    for entry in chain(old, new):
        if entry.kind in STATES:
            key = ("file", _name(entry.text))
            before = kept.get(key)
            kind = _state(before.kind if before else None, entry.kind)
            if before and before.kind == kind:
                continue
            entry = replace(entry, kind=kind)
        else:
            key = (entry.kind, entry.text, entry.detail)
            if key in kept and entry.kind not in EVENTS:
                continue
        if entry.kind == "renamed":
            kept.pop(("file", _name(entry.text)), None)
            target = ("file", _name(entry.detail))
            if target in kept and kept[target].kind == "deleted":
                del kept[target]
        kept.pop(key, None)
        kept[key] = entry
    return list(kept.values())


def _name(path: str) -> str:
    """The path without a final `/`, which makes no difference for a folder."""
    return path.rstrip("/") or path


def _state(before: Kind | None, now: Kind) -> Kind:
    """`_state("created", "modified")` -> `"created"`: it was created in this conversation."""
    match before, now:
        case None, _:
            return now
        case _, "read":
            return before
        case (("created" | "deleted"), ("created" | "modified")):
            return "created"
        case _, "created":
            return "modified"
        case _:
            return now


def to_json(entry: Entry) -> dict[str, Any]:
    """An entry as an object for a line of `ledger.jsonl`."""
    return asdict(entry)


def from_json(value: Mapping[str, Any]) -> Entry:
    """The entry that `to_json` wrote; unknown keys are ignored.

    Raises:
        StoreDamaged: the value is not an entry.
    """
    match value:
        case {"kind": kind, "text": str(text), "detail": str(detail), "at": int(at)} if (
            kind in get_args(Kind)
        ):
            return Entry(kind, text, detail, at)
        case _:
            raise StoreDamaged(
                f"{str(value)[:100]} is no ledger entry. Remove the line: the ledger can be built "
                "again from the originals."
            )
