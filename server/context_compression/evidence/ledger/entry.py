"""Entries, how they are joined over compressions, and how they are kept as JSON."""

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
"""What is known of a file: one of them at a time. A renaming is an event and keeps both names."""
EVENTS = frozenset({"command", "error", "test"})
"""What happens again and again; the latest time counts."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that later work may refer back to.

    Attributes:
        kind: what it is; of a file, its latest state.
        text: the path, command, error line, address, id or sentence, as it was found.
        detail: `exit 1` of a command, `3 failed, 12 passed` of a test, the new name of a renamed
            file, the call that an error stopped.
        at: index of the message, among the messages it was found in.
    """

    kind: Kind
    text: str
    detail: str = ""
    at: int = 0


def merge(old: Sequence[Entry], new: Sequence[Entry]) -> list[Entry]:
    """Two ledgers as one: nothing twice, nothing lost, each file in its latest state.

    What is repeated (a command with the same outcome, a file in a new state) moves to the end, so
    that the newest is last; all else stays where it is.
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
    """A folder is the same with and without `/` behind it."""
    return path.rstrip("/") or path


def _state(before: Kind | None, now: Kind) -> Kind:
    """`_state("created", "modified")` -> `"created"`: it was not there before our time."""
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
    """An entry as a line of `ledger.jsonl` keeps it."""
    return asdict(entry)


def from_json(value: Mapping[str, Any]) -> Entry:
    """The entry that `to_json` wrote; other keys are passed over.

    Raises:
        StoreDamaged: it is no entry.
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
