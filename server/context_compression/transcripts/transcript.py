"""`Transcript` and `History`, and the interface of a host's module that reads them.

A `Transcript` is what the model is sent now. A history is how it came to be: stages, each of which
only grew, with a compaction between two of them.

The generations of a host's format, and the warning about one that its reader has not seen. A host
names the generation of its files itself, by a number of the format or by its own version. A newer
one may keep parts of a conversation in a way that a reader takes for nothing.

The shapes of what a host's rows hold, as far as its reader takes text from them. A reader passes
over a value that is not of the type it expects. A newer host may keep parts of a conversation in
such a value. So each row is compared with the shapes that are known, before it is read, and what
has another shape is told by its name.

A cache of rows up to a size; other rows are read from the file again when needed. Only the end of a
file shows which rows are live, because a rewind may bring back the oldest ones. So a reader keeps
an outline of each row, and the rows themselves as long as there is room.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from context_compression.conversation.formats import Conversation
from context_compression.conversation.messages import as_object, is_array, is_object, objects
from context_compression.strings import one_line
from context_compression.transcripts.limits import LargestUse
from context_compression.transcripts.lines import At, string

OURS = "context-compression"
"""What `Compaction.by` says of this package's own."""
PROXY = "proxy"
"""The host of a session whose requests go through our proxy; begins its id."""


@dataclass(frozen=True)
class Compaction:
    """A compaction of the context, by its host or by this package.

    Attributes:
        time: when it ended, in seconds since 1970; `None` if that is not recorded.
        trigger: `auto` or `manual`; empty if that is not recorded.
        by: the host's name, or `context-compression`.
        tokens_before: the size of the context before it; `None` if that is not recorded.
        tokens_after: the size of the context after it, or else of the first request after it;
            `None` if neither is recorded.
        cleared: whether it only removed the content of old tool results, and no message.
        place: a number by which the host's reader finds it in the file; `None` outside files.
    """

    time: float | None = None
    trigger: str = ""
    by: str = ""
    tokens_before: int | None = None
    tokens_after: int | None = None
    cleared: bool = False
    place: int | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class AnsweredRequest:
    """A request that the model answered, in the tokens that its provider charged.

    Attributes:
        messages: how many messages of the stage it sent, from the first on. The answer is the next,
            unless it was interrupted before a word.
        time: when it was answered, in seconds since 1970; `None` if that is not recorded.
        model: the model that answered; empty if that is not recorded.
        input_tokens: of the whole input, cached or not; `None` if the host records no usage.
        cache_read_tokens: of the input, those that came from the provider's cache.
        cache_write_tokens: of the input, those that were written into it.
        output_tokens: of the answer.
    """

    messages: int
    time: float | None = None
    model: str = ""
    input_tokens: int | None = None
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True)
class Stage:
    """A part of a conversation in which its context only grew.

    Attributes:
        messages: the context at its end, in a dialect of `formats`.
        carried: how many of the messages, from the first on, were there when it began, the last
            one perhaps not as a whole; 0 in the first stage.
        times: when each message was written, in seconds since 1970; `None` where it is unknown.
        requests: the answered requests, in their order.
        began: the compaction that it began with; `None` in the first stage, unless the file holds
            nothing from before its first compaction.
    """

    messages: Sequence[dict[str, Any]]
    carried: int = 0
    times: Sequence[float | None] = ()
    requests: Sequence[AnsweredRequest] = ()
    began: Compaction | None = None


@dataclass(frozen=True)
class History:
    """A whole conversation.

    Attributes:
        path: the file that it was read from.
        host: the host that wrote the file, as in `Transcript`.
        session_id: as in `Transcript`.
        stages: at least one; the last one ends with the live context.
        project: the folder that the agent worked in; empty if that is not recorded.
        title: the session's title, or the user's first words.
        model: the model of the last request; `None` if that is not recorded.
        window: the size of the model's context window in tokens, if the host records it.
        warnings: the parts that could not be read, in sentences for the user.
        cleared: the results that the host cleared in the live context.
    """

    path: Path
    host: str
    session_id: str
    stages: Sequence[Stage]
    project: str = ""
    title: str = ""
    model: str | None = None
    window: int | None = None
    warnings: Sequence[str] = field(default_factory=list[str])
    cleared: "Sequence[ClearedResult]" = field(default=(), repr=False)

    @property
    def compactions(self) -> list[Compaction]:
        """All compactions, the oldest first."""
        return [stage.began for stage in self.stages if stage.began]


class CompactionLog:
    """Takes compactions and answered requests in their order."""

    def __init__(self) -> None:
        self.compactions: list[Compaction] = []
        self.largest = LargestUse()
        self._size: int | None = None  # of the newest request with its answer

    def add(self, compaction: Compaction) -> None:
        """Add a compaction. If the host records no size before it, the last request tells it."""
        if compaction.tokens_before is None:
            compaction = replace(compaction, tokens_before=self._size)
        self.compactions.append(compaction)
        self._size = None

    def answered(self, input_tokens: int, output_tokens: int, model: str | None = "") -> None:
        """Add a request. The first after a compaction tells the size after it, if nobody did."""
        self.measured(input_tokens)
        self.largest.add(input_tokens, model)
        self._size = input_tokens + output_tokens

    def measured(self, tokens: int) -> None:
        """Take the size of the context as it is now; that before the last compaction is known."""
        if self.compactions and self.compactions[-1].tokens_after is None and tokens > 0:
            self.compactions[-1] = replace(self.compactions[-1], tokens_after=tokens)


AnyRow = Mapping[str, Any]


@dataclass(frozen=True)
class Generations:
    """The generations that a reader knows.

    Attributes:
        title: the name of the host for people.
        what: what names a generation: `format`, `history_mode`, `version`.
        known: the generations it was seen with.
        of: the generation that a row names; empty if it names none.
    """

    title: str
    what: str
    known: frozenset[str]
    of: Callable[[AnyRow], str]

    def warnings(self, rows: Iterable[AnyRow]) -> list[str]:
        """The warning, if rows name a generation that is not known."""
        named = (generation for row in rows if (generation := self.of(row)))
        return [self.unknown(name) for name in named if name not in self.known][:1]

    def unknown(self, generation: str) -> str:
        """The warning about a generation that is not known."""
        return (
            f"{self.title} wrote this with {self.what} {one_line(generation)}, which is not known "
            f"here (seen: {', '.join(sorted(self.known))}); parts of the conversation may be "
            "missing."
        )


def named(value: Any) -> str:
    """A generation as a text: `3` -> `"3"`; empty if there is none."""
    return "" if value is None or isinstance(value, bool) else str(value)


def major(version: Any) -> str:
    """The first number of a program's version: `"2.1.329"` -> `"2"`; empty if there is none."""
    return version.partition(".")[0] if isinstance(version, str) else ""


def within(row: AnyRow, kind: str, part: str) -> AnyRow:
    """A part of a row of one type; empty if it is of another type."""
    return as_object(row.get(part)) if row.get("type") == kind else as_object(None)


LONGEST_NAME = 120  # characters; most file systems end at 255 bytes

Row: TypeAlias = dict[str, Any]
Load: TypeAlias = Callable[[At], Row]
"""Reads a row that was passed before from the file again; empty if it is no longer there."""


@dataclass(frozen=True)
class ClearedResult:
    """A tool's result that the host took out of the context, but not out of its file.

    Attributes:
        tool: the name of the tool.
        text: all of it; a result with pictures is the JSON of its blocks.
    """

    tool: str
    text: str = field(repr=False)


@dataclass(frozen=True)
class Transcript:
    """A conversation in a file: the messages in the live context, and no older ones."""

    path: Path
    host: str
    """The host that wrote the file: `claude-code`, ...; `messages` for plain message files."""
    session_id: str
    """The host's own id of the conversation, else the file's name; safe as a folder name."""
    messages: list[dict[str, Any]]
    """Messages in a dialect of `formats`; texts and blocks are the objects that were read."""
    usage: tuple[int, int] | None = None
    """`(tokens, messages)` of the last request: the tokens that the provider counted, system prompt
    and tools included, and how many of `messages`, from the first on, they cover. Both include the
    answer if the host records its tokens faithfully."""
    window: int | None = None
    """The size of the model's context window in tokens, if the host records it."""
    largest: int = 0
    """Tokens of the largest request that the same model answered, before compactions too, as far as
    it is known."""
    model: str | None = None
    system: Any = None
    """The system prompt, with other texts that the host sent outside the messages."""
    tools: Any = None
    rows: list[list[str]] = field(default_factory=list[list[str]])
    """For each message, the host's ids of the rows it was made of; empty without such ids."""
    warnings: list[str] = field(default_factory=list[str])
    """The parts that could not be read or were left out, in sentences for the user."""
    missing: Sequence[str] = ()
    """The warnings that say what of the conversation is in no file that could be read."""
    conversation: Conversation | None = field(default=None, compare=False, repr=False)
    """The parsed messages, if reading the file required parsing them."""
    project: str = ""
    """The folder that the agent worked in; empty if the host does not record it."""
    title: str = ""
    """The session's title; empty if the host records none."""
    compactions: Sequence[Compaction] = ()
    """The compactions that led to the live context, the oldest first."""
    carried: int = 0
    """How many of the messages, from the first on, the last compaction left or wrote."""
    times: Sequence[float | None] = field(default=(), repr=False)
    """When each message was written, in seconds since 1970; empty if the host records no times."""
    requests: Sequence[AnsweredRequest] = field(default=(), repr=False)
    """The requests since the last compaction that the model answered."""
    replaced: "Sequence[Transcript]" = field(default=(), compare=False, repr=False)
    """The contexts before its compactions, the oldest first, where no request was charged since."""
    cleared: Sequence[ClearedResult] = field(default=(), repr=False)
    """The results that the host cleared; `messages` only say so in their places."""

    def read_to_the_end(self) -> "Transcript":
        """The same without rows that only its `times` and `requests` still need."""
        return replace(self, times=[*self.times], requests=[*self.requests])


class Reader(Protocol):
    """Reads one transcript: takes row after row, and can give the conversation at any time.

    It keeps the rows that may be in the context, not all rows.
    """

    def add(self, row: Row, at: At) -> None:
        """Add the next row of the file. The reader may drop parts of it that it does not need."""
        ...

    def transcript(self, path: Path, load: Load) -> Transcript:
        """The live conversation; its warnings are about the rows added so far."""
        ...

    def before(self, row: Row, path: Path, load: Load) -> Transcript | None:
        """The conversation before a row that may take something out of the context.

        Args:
            row: the next row, not yet added.
            path: as for `transcript`.
            load: as for `transcript`.

        Returns:
            `None` for all other rows.
        """
        ...


class EarlierRows(Protocol):
    """The rows of other files that a conversation goes through before its own file."""

    @property
    def missing(self) -> Sequence[str]:
        """Rows that are in no file, in sentences for the user; complete after `rows`."""
        ...

    @property
    def warnings(self) -> Sequence[str]:
        """The parts of those files that could not be read; complete after `rows`."""
        ...

    @property
    def ends(self) -> Sequence[tuple[Path, int | None]]:
        """The files, and the byte before which the rows of each end; `None` for the file's end."""
        ...

    def missing_at_a_glance(self) -> Sequence[str]:
        """What is missing, as far as it can be told without reading the rows."""
        ...

    def rows(self, max_bytes: int) -> Iterator[tuple[Row, At]]:
        """The rows, the oldest first; their places are below zero."""
        ...


def told(transcript: Transcript, missing: Sequence[str]) -> Transcript:
    """The same with what else is missing of the conversation, in sentences."""
    return replace(
        transcript,
        warnings=[*missing, *transcript.warnings],
        missing=[*missing, *transcript.missing],
    )


def folder_name(name: str) -> str:
    """A name that is safe for a folder: `"a1-b2"` -> itself; `"my chat"` -> `"my-chat-<8 hex>"`.

    It does not begin with a hyphen, because commands would take it for an option.
    """
    safe = re.sub(r"[^A-Za-z0-9._-]", "-", name).lstrip(".-")[:LONGEST_NAME]
    if safe == name and safe:
        return safe
    return f"{safe or 'conversation'}-{sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"


def id_from_name(path: Path) -> str:
    """A session id from a file's name: `chat.jsonl.gz` -> `chat`."""
    return folder_name(re.sub(r"(\.jsonl?)?(\.gz|\.zst)?$", "", path.name))


def whole_text(content: Any) -> str:
    """The content of a result as one text: the JSON of its blocks if they are not only text."""
    blocks = objects(content)
    if blocks and any(block.get("type") != "text" for block in blocks):
        return json.dumps(content, ensure_ascii=False)
    texts = [content] if isinstance(content, str) else [string(block, "text") for block in blocks]
    return "\n".join(filter(None, texts))


def counted(what: str, counts: Mapping[str, int]) -> list[str]:
    """`["Rows were skipped: 3 (mode 2, tag 1)."]`; an empty list if all counts are 0."""
    most = sorted(counts.items(), key=lambda item: -item[1])[:5]
    listed = ", ".join(f"{name} {count}" for name, count in most if count)
    total = sum(counts.values())
    return [f"{what}: {total:,} ({listed})."] if total else []


LONGEST_SHOWN = 60
DEEPEST, LONGEST_LOOK = 5, 400
"""Levels of a value and characters of a text that are looked at for words."""
WORDS = re.compile(r"\S \S+ \S+ \S|[^\x00-\u2e7f]{4}")
"""Words of a text, by their spaces or by their script; a path, an id or a time has none."""
NUMBER = re.compile(r"\d{1,9}", re.ASCII)


@dataclass(frozen=True)
class KnownText:
    """A text that is one of some names, such as that of a role."""

    names: frozenset[str]


@dataclass(frozen=True)
class Each:
    """An object whose values, under any keys, have one shape."""

    shape: "Shape"


@dataclass(frozen=True)
class Maybe:
    """An object that may have none of the keys that are named."""

    shape: "Mapping[str, Shape]"


Simple: TypeAlias = "type[str] | KnownText | Each | Maybe | None"
Shape: TypeAlias = "Simple | Mapping[str, Shape] | list[Shape] | tuple[Shape, ...]"
"""`None`: any; `str`; one of some names; an object by its keys, at least one of which it has; a
list of one shape; or one of several shapes. A value that is missing, null or empty has any shape,
and so has what is under a key that is not named."""


BLOCKS = ("content", "output")
"""The fields in which hosts keep lists of blocks."""
ANY_BLOCK: Shape = [Maybe({})]


@dataclass(frozen=True)
class Seen:
    """The fields in which a host was seen to keep words, beside those that the shapes name.

    Attributes:
        fields: their names, between spaces.
        version: up to which version of the host; other fields are told of newer ones alone. Empty
            if its rows name none: then they are always told.
        version_of: gives the version that a row names; empty if it names none.
    """

    fields: str
    version: str = ""
    version_of: Callable[[Mapping[str, Any]], str] = lambda _: ""

    def is_before(self, version: str) -> bool:
        """Whether a version is newer than the one that was seen."""
        return _numbers(version) > _numbers(self.version)


@dataclass(frozen=True)
class Shapes:
    """The shapes of a host's rows.

    Attributes:
        title: the name of the host for people.
        rows: by the type of a row; "" for those without one. Rows of other types have any shape.
        seen: the other fields that are known.
    """

    title: str
    rows: Mapping[str, Shape]
    seen: Seen

    @cached_property
    def _looks(self) -> Mapping[str, "Look"]:
        return {kind: looking_for(shape) for kind, shape in self.rows.items()}

    def strange(self, row: Mapping[str, Any]) -> list[str]:
        """The names of what in a row has none of the shapes: `data.content of user.message`."""
        kind, found = row.get("type"), list[str]()
        if look := self._looks.get(kind if isinstance(kind, str) else ""):
            look(row, found)
        return [f"{place} of {kind}" for place in found] if isinstance(kind, str) else found

    @cached_property
    def _known(self) -> AbstractSet[str]:
        return frozenset(self.seen.fields.split())

    def unseen(self, row: Mapping[str, Any]) -> Iterator[str]:
        """The names of fields with words in a row that stand beside known ones and are unknown."""
        kind = row.get("type")
        shape = self.rows.get(kind if isinstance(kind, str) else "")
        for place in {*_beside(row, shape, self._known)}:
            yield f"{place} of {kind}" if isinstance(kind, str) else place

    def warnings(self, places: Mapping[str, int]) -> list[str]:
        """The warning about places in rows; none if there are none."""
        what = f"{self.title} wrote parts in a form that is not known here, so text may be missing"
        return counted(what, places)


@dataclass
class Strange:
    """What in the rows of one file has a shape that is not known."""

    shapes: Shapes | None = None
    places: Counter[str] = field(default_factory=Counter[str])
    version: str = ""
    is_newer: bool = False

    def look(self, row: Mapping[str, Any]) -> None:
        """Compare a row."""
        if not self.shapes:
            return
        if found := self.shapes.strange(row):
            self.places.update(found)
        seen = self.shapes.seen
        version = seen.version_of(row)
        if version and version != self.version:
            self.version, self.is_newer = version, seen.is_before(version)
        if self.is_newer or not seen.version:
            self.places.update(self.shapes.unseen(row))

    @property
    def warnings(self) -> list[str]:
        """What is told of the rows so far."""
        return self.shapes.warnings(self.places) if self.shapes else []


@dataclass(frozen=True)
class RowFormat:
    """How a host writes a conversation into a file, a JSON object in each line.

    Attributes:
        recognises: whether only this host writes such a row.
        reader: gives a reader for one transcript, from its first row on.
        generations: those that the reader knows, if rows name one.
        shapes: the forms of what the rows hold, so that others are told.
        earlier: gives the rows before those of a file that begins with some rows, for a
            conversation of several files; `None` if there are none.
    """

    recognises: Callable[[Row], bool]
    reader: Callable[[], Reader]
    generations: Generations | None = None
    shapes: Shapes | None = None
    earlier: Callable[[Iterable[Row], Path], EarlierRows | None] = lambda rows, path: None

    def newer(self, rows: Iterable[Row]) -> list[str]:
        """The warning, if first rows of a file are of a generation its reader has not seen."""
        return self.generations.warnings(rows) if self.generations else []


@dataclass(frozen=True)
class DocumentFormat:
    """How a host writes a conversation into a file that is one JSON value.

    Attributes:
        recognises: whether only this host writes such a value.
        read: the conversation in the value, for the path of the file.
        before_compactions: the conversation before each compaction, by the compaction's place.
        shapes: as in `RowFormat`.
    """

    recognises: Callable[[Any], bool]
    read: Callable[[Path, Any], Transcript]
    before_compactions: Callable[[Path, Any], Mapping[int | None, Transcript]] = (
        lambda path, value: {}
    )
    shapes: Shapes | None = None


TranscriptFormat: TypeAlias = RowFormat | DocumentFormat


Look: TypeAlias = Callable[[Any, list[str]], None]
"""Adds the names of the places in a value that have another shape to a list."""


def looking_for(shape: Shape, place: str = "") -> Look:
    """What looks for places of another shape in values, at a place that has a name.

    A shape is taken apart once, because a file has many rows and its rows have few shapes.
    """
    if shape is None:
        return lambda value, found: None
    if isinstance(shape, tuple):
        return _one_of([(_kind_of(one), looking_for(one, place)) for one in shape], place)
    if isinstance(shape, list):
        return _each(is_array, iter, looking_for(shape[0], place), place)
    if isinstance(shape, Each):
        return _each(is_object, _values, looking_for(shape.shape, f"{place}.*"), place)
    if isinstance(shape, Maybe | Mapping):
        return _by_key(shape, place)
    names = shape.names if isinstance(shape, KnownText) else None

    def look(value: Any, found: list[str]) -> None:
        if value and not isinstance(value, str):
            found.append(place)
        elif value and names is not None and value not in names:
            found.append(f"{place} {one_line(value, LONGEST_SHOWN)}".strip())

    return look


def _by_key(shape: "Maybe | Mapping[str, Shape]", place: str) -> Look:
    """For an object by its keys."""
    named = shape.shape if isinstance(shape, Maybe) else shape
    under = f"{place}." if place else ""
    parts = [(key, looking_for(one, under + key)) for key, one in named.items() if one is not None]
    required = frozenset[str]() if isinstance(shape, Maybe) else frozenset(named)

    def look(value: Any, found: list[str]) -> None:
        if not value:
            return
        if not is_object(value) or (required and required.isdisjoint(value)):
            found.append(place)
            return
        for key, inside in parts:
            if part := value.get(key):
                inside(part, found)

    return look


def _each(
    is_kind: Callable[[Any], bool], parts: Callable[[Any], Iterable[Any]], inside: Look, place: str
) -> Look:
    """For all parts of a list, or all values of an object."""

    def look(value: Any, found: list[str]) -> None:
        if value and not is_kind(value):
            found.append(place)
        elif value:
            for part in parts(value):
                inside(part, found)

    return look


def _one_of(shapes: Sequence[tuple[Callable[[Any], bool], Look]], place: str) -> Look:
    """For one of several shapes: the first whose type a value has."""

    def look(value: Any, found: list[str]) -> None:
        for is_kind, inside in shapes if value else ():
            if is_kind(value):
                inside(value, found)
                return
        if value:
            found.append(place)

    return look


def _kind_of(shape: Shape) -> Callable[[Any], bool]:
    """Whether a value is of the type that a shape begins with."""
    if shape is str or isinstance(shape, KnownText):
        return _is_text
    return is_array if isinstance(shape, list) else is_object


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _values(value: Mapping[str, Any]) -> Iterable[Any]:
    return value.values()


def _beside(value: Any, shape: Shape, known: AbstractSet[str], place: str = "") -> Iterator[str]:
    """The names of fields with words in a value that neither its shape names nor `known`."""
    if isinstance(shape, tuple):
        shape = next((one for one in shape if _kind_of(one)(value)), None)
    if isinstance(shape, list) and is_array(value):
        for part in value:
            yield from _beside(part, shape[0], known, place)
    named = shape.shape if isinstance(shape, Maybe) else shape
    if not isinstance(named, Mapping) or not is_object(value):
        return
    for key, part in value.items():
        inner = f"{place}.{key}" if place else key
        if key in named:
            yield from _beside(part, named[key], known, inner)
        elif key in BLOCKS and is_array(part):
            yield from _beside(
                [block for block in part if is_object(block)], ANY_BLOCK, known, inner
            )
        elif key not in known and _has_words(part):
            yield one_line(inner, LONGEST_SHOWN)


def _has_words(value: Any, depth: int = DEEPEST) -> bool:
    """Whether there is a text of several words in a value."""
    if isinstance(value, str):
        return WORDS.search(value, 0, LONGEST_LOOK) is not None
    if not depth or not (is_object(value) or is_array(value)):
        return False
    parts = value.values() if is_object(value) else value
    return any(_has_words(part, depth - 1) for part in parts)


def _numbers(version: str) -> list[int]:
    """`"2.1.329"` -> `[2, 1, 329]`."""
    return [int(number) for number in NUMBER.findall(version[:LONGEST_SHOWN])]


ROOM = 64 * 1024 * 1024
"""The most bytes of rows in a cache, measured in the file."""


class RowCache:
    """Holds the newest rows; after `only`, just the rows that it names."""

    def __init__(self, room: int = ROOM) -> None:
        self._rows: dict[At, tuple[Row, int]] = {}  # with the bytes that it takes
        self._left = room

    def put(self, at: At, row: Row, size: int | None = None) -> None:
        """Add a row; the oldest rows are dropped if there is no room.

        Args:
            at: its place.
            row: the row.
            size: its bytes, without those of parts that the reader took out; default: all.
        """
        size = at.length if size is None else size
        self._rows[at] = row, size
        self._left -= size
        while self._left < 0:
            self._drop(next(iter(self._rows)))

    def row(self, at: At, load: Load) -> Row:
        """The row at a place: from memory, or through `load` from the file."""
        known = self._rows.get(at)
        if known is None:
            self.put(at, row := load(at))
            return row
        return known[0]

    def only(self, places: Iterable[At]) -> None:
        """Drop all rows except those at `places`."""
        for at in self._rows.keys() - set(places):
            self._drop(at)

    def _drop(self, at: At) -> None:
        _, size = self._rows.pop(at)
        self._left += size
