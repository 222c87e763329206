"""What was computed, in parts that are hashed each by itself: so a difference says where it is.

view      the messages
objects   which of them are the very objects that went in
counts    all numbers and flags of a result
refs      the keys of what was archived, the bytes of originals, hashes of previews
layout    how the view is made of the input
system    the system prompt
summary   what a model wrote and was asked
words     reasons, notes, repairs: what only people read
error     its type and numbers, not its sentence
files     the bytes of every file in the store
"""

import hashlib
import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

from still import placeless

Parts: TypeAlias = dict[str, str]
Runs: TypeAlias = Iterator[tuple[str, Parts]]
"""Names of runs, and what was computed in each."""

APART = ("messages", "system", "refs", "originals", "previews", "layout", "summary")
WORDS = ("reasons", "notes", "repairs", "method")
SIZES = (
    "messages_out", "messages_compressed", "messages_kept", "tokens_freed", "ratio", "loss",
    "user_sentences", "missing_rules",
)  # fmt: skip
NUMBERS = (bool, int, float, type(None))
NUMBERED = re.compile(r"[0-9a-f]{6,}|\d+")
"""What differs in the names of files of one kind."""
STAMPS = ("time", "stamp")
"""Columns of a search index that tell when a file was written."""
WRITTEN = re.compile(rb"\b1[789]\d{17}\b")
"""When a file was written, in nanoseconds, as the list of own folders has it."""


def digest(value: Any) -> str:
    """The SHA-256 of a value as JSON, keys in the order they have."""
    return _hash(json.dumps(value, default=_plain).encode())


def _hash(data: bytes) -> str:
    return hashlib.sha256(placeless(data)).hexdigest()


def _plain(value: Any) -> Any:
    """What JSON does not know, by its content alone: names of classes and modules may change."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Any]", value))
    if isinstance(value, set | frozenset):
        return sorted(cast("set[str]", value))
    if isinstance(value, Sequence):
        return list(cast("Sequence[Any]", value))
    if isinstance(value, bytes):
        return value.hex()
    # no run ends with this: it would hide what was computed, in all runs alike
    raise SystemExit(f"{type(value)} has no content that is known here")


def parts(**values: Any) -> Parts:
    """The hash of each part by name."""
    return {name: digest(value) for name, value in values.items()}


def of_result(result: Any, given: Sequence[Any]) -> Parts:
    """The parts of a `Result`, made from the messages that were given."""
    own = {id(message): at for at, message in enumerate(given)}
    refs: Mapping[str, Any] = result.refs
    names = [field.name for field in fields(result) if field.compare]  # others make what is told
    facts = {name: getattr(result, name) for name in names if name not in (*APART, *WORDS)}
    return parts(
        view=result.messages,
        objects=[own.get(id(message)) for message in result.messages],
        counts={**facts, **{name: getattr(result, name) for name in SIZES}},
        refs=[
            {ref: (about.indices, about.block, about.sha256) for ref, about in refs.items()},
            result.originals,
            result.previews,
        ],
        layout=result.layout,
        system=result.system,
        summary=result.summary,
        words=[
            {name: getattr(result, name) for name in WORDS},
            {ref: about.what for ref, about in refs.items()},
        ],
    )


def caught(run: Callable[[], Parts]) -> Parts:
    """The parts of a run, or those of the error it ends with."""
    try:
        return run()
    except Exception as error:
        return of_error(error)


def of_error(error: BaseException) -> Parts:
    """The part `error`: which one it is, and what programs read of it."""
    return parts(error=[type(error).__name__, _numbers(vars(error))])


def _numbers(values: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers among values, those in mappings too."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, NUMBERS):
            found[name] = value
        elif isinstance(value, Mapping):
            found[name] = _numbers(cast("Mapping[str, Any]", value))
    return found


def of_count(count: Any) -> list[Any]:
    """A count of tokens with its upper bound and method, which JSON would leave out."""
    return [int(count), count.upper, count.method]


def of_usage(usage: Any) -> list[Any]:
    """How full a context is."""
    derived = ("usage_percent", "remaining", "over_threshold", "total_budget", "threshold_tokens")
    return [of_count(usage.used_tokens), [getattr(usage, name) for name in derived]]


def of_files(folder: Path) -> Parts:
    """The part `files`, and one for each kind of file, which says more of a difference."""
    kinds: dict[str, dict[str, str]] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            kind = NUMBERED.sub("*", path.name)
            kinds.setdefault(kind, {})[path.relative_to(folder).as_posix()] = _file(path)
    return parts(files=kinds, **{f"files {kind}": found for kind, found in kinds.items()})


def _file(path: Path) -> str:
    if path.suffix != ".sqlite":
        return _hash(WRITTEN.sub(b"then", path.read_bytes()))
    address = f"{path.resolve().as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, uri=True)) as connection:
        return digest(_rows(connection))


def _rows(connection: sqlite3.Connection) -> list[Any]:
    """All that a database holds, but for when files were written."""
    found: list[Any] = []
    tables = "SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name"
    for name, made in connection.execute(tables).fetchall():
        if "VIRTUAL" in made:  # its rows are in tables of their own
            continue
        names = [row[1] for row in connection.execute(f"PRAGMA table_info({name})")]
        kept = ", ".join(column for column in names if column not in STAMPS)
        found.append([name, made, connection.execute(f"SELECT {kept} FROM {name}").fetchall()])
    return found
