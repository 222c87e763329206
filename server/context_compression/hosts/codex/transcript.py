"""Codex's transcripts: threads of several files, and the rows that one goes on from in others.

The files of Codex's threads, called rollouts: a thread may have several.

    sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl
    sessions/YYYY/MM/DD/rollout-<time>-<thread>_<rollout>.jsonl   goes on after an edited prompt
    archived_sessions/rollout-….jsonl                             of threads that the user archived
    ….jsonl.zst                                                   packed (Zstandard)

The last id in a name is the rollout's own; a thread's first rollout has the thread's id. Seen in
version 0.169.0.

The rows that a rollout goes on from, in other files. A fork's file holds only its own rows, and so
does the file in which a thread goes on after an edited prompt. The first row's `history_base
{thread_id, end_ordinal_exclusive, end_byte_offset}` names the file with the rows before them, and
where it was left; that file may have a base, too. `thread_id` is the id of a rollout, as in the
file's name. Seen in version 0.169.0.

Codex's transcripts: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<thread id>.jsonl`. Each line is a
row: `{"timestamp": …, "type": …, "payload": …}`. The payload by type:

session_meta        id (of the thread), cwd, cli_version, base_instructions.text: the system prompt.
                    A fork also has its parent's row, after its own. history_base: see above.
turn_context        model, cwd
response_item       an item sent to the model or received from it, as in the Responses API
compacted           replacement_history: items that replace everything before
event_msg           task_started {model_context_window}; thread_rolled_back {num_turns};
                    token_count {info: {last_token_usage, total_token_usage, model_context_window}},
                    written once the response's tools have run; after a compaction with zeros
token_usage_record  usage, thread_token_usage: the same, directly after the response (0.169)

Items become Anthropic messages. All items of the model between two inputs are one message, and the
outputs of its calls are the next. Reasoning becomes a thinking block. Encrypted reasoning becomes
the block's signature, next to `summary` if there is one. Seen in versions 0.139 to 0.169.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from context_compression.conversation.messages import as_object, is_array, is_object
from context_compression.errors import TranscriptError
from context_compression.hosts.codex.messages import (
    NAME,
    SHAPES,
    TITLE,
    Item,
    Messages,
    begins_turn,
    is_repeated,
    is_the_models,
)
from context_compression.transcripts.exporter import unread
from context_compression.transcripts.lines import At, Lines, Rows, first_row, opened, string
from context_compression.transcripts.opening import check_packed, is_packed
from context_compression.transcripts.reading import Later
from context_compression.transcripts.sessions import seconds
from context_compression.transcripts.transcript import (
    AnsweredRequest,
    Compaction,
    CompactionLog,
    Generations,
    Load,
    Row,
    RowFormat,
    Transcript,
    counted,
    folder_name,
    id_from_name,
    named,
    within,
)

SESSIONS, ARCHIVED = "sessions", "archived_sessions"
FOLDERS = (f"{SESSIONS}/*/*/*", ARCHIVED)
ID = r"[0-9A-Za-z]{8}(?:-[0-9A-Za-z]{4}){3}-[0-9A-Za-z]{12}"
ROLLOUT_NAME = re.compile(rf"rollout-.*?(?P<thread>{ID})(?:_(?P<rollout>{ID}))?\.jsonl(?:\.zst)?")
SAFE = re.compile(r"[A-Za-z0-9-]+")
SORTED = "7"
"""The version of an id that begins with the time it was made (RFC 9562)."""


@dataclass(frozen=True)
class Rollout:
    """One file of a thread."""

    path: Path
    thread: str
    id: str
    """The rollout's own id."""

    @property
    def is_packed(self) -> bool:
        """Whether the file is packed."""
        return self.path.suffix == ".zst"


def rollout(path: Path) -> Rollout | None:
    """The rollout that a file's name tells; `None` for other files."""
    if found := ROLLOUT_NAME.fullmatch(path.name):
        return Rollout(path, found["thread"], found["rollout"] or found["thread"])
    return None


def rollouts(home: Path, id: str = "") -> Iterator[Rollout]:
    """The rollouts below Codex's folder; with `id`, only those of that thread or rollout."""
    name = f"rollout-*{id}*.jsonl*" if id else "rollout-*.jsonl*"
    for folder in FOLDERS:
        paths = home.glob(f"{folder}/{name}")
        yield from (each for each in map(rollout, paths) if each)


def by_thread(found: Iterable[Rollout]) -> dict[str, list[Rollout]]:
    """Rollouts by their thread."""
    threads: dict[str, list[Rollout]] = {}
    for each in found:
        threads.setdefault(each.thread, []).append(each)
    return threads


def newest(found: Iterable[Rollout]) -> Rollout:
    """The rollout with which a thread goes on: the one begun last.

    Every edited prompt begins a file, so the one written last may be an older one that was copied,
    packed or touched. A file that another one goes on from is never the newest.
    """
    plain = _one_each(found)
    if len(plain) == 1:
        return plain[0]
    metas = {each: meta(each.path) for each in plain}
    bases = {string(as_object(about.get("history_base")), "thread_id") for about in metas.values()}
    leaves = [each for each in plain if each.id not in bases] or plain
    return max(leaves, key=lambda each: _began(each, metas[each]))


def _one_each(found: Iterable[Rollout]) -> list[Rollout]:
    """The rollouts, each once: the plain file, if it is there packed and plain."""
    found = sorted(found, key=lambda each: (each.is_packed, each.path))
    return [*{each.id: each for each in reversed(found)}.values()]


def _began(each: Rollout, about: Mapping[str, Any]) -> tuple[str, str, float]:
    """When a rollout was begun: as it says, by its id, by its file."""
    by_id = each.id if each.id[14:15] == SORTED else ""
    try:
        written = each.path.stat().st_mtime
    except OSError:  # deleted since it was found
        written = 0.0
    return string(about, "timestamp"), by_id, written


def home_of(path: Path) -> Path | None:
    """Codex's folder, from the path of a rollout in it; `None` for a file that lies elsewhere."""
    for folder in path.parents:
        if folder.name in (SESSIONS, ARCHIVED):
            return folder.parent
    return None


def rollout_named(id: str, near: Path) -> Rollout | None:
    """The rollout with an id, beside another one or anywhere in the same folder of Codex's."""
    home = home_of(near)
    beside = (each for each in map(rollout, near.parent.glob(f"rollout-*{id}.jsonl*")) if each)
    everywhere = rollouts(home, id) if home else iter(())
    named = [each for found in (beside, everywhere) for each in found if each.id == id]
    return next(iter(_one_each(named)), None)


def meta(path: Path) -> Mapping[str, Any]:
    """The payload of a rollout's first line, which describes the thread."""
    return as_object(first_row(path).get("payload"))


SPAN = 1 << 42
"""The places of one file's rows in a conversation: more than any file has bytes."""
META = "session_meta"


@dataclass(frozen=True)
class FilePart:
    """The first rows of a file, up to where another file goes on from it.

    Attributes:
        path: the file.
        ordinal: the number of the first row that is no longer of it; `None` if that is not known.
        offset: the same row's first byte; `None` if that is not known.
    """

    path: Path
    ordinal: int | None
    offset: int | None

    def holds(self, row: Row, at: At) -> bool:
        """Whether a row is before the end of the part."""
        number = row.get("ordinal")
        if isinstance(number, int) and self.ordinal is not None:
            return number < self.ordinal
        return self.offset is None or at.offset < self.offset

    def is_cut_off(self) -> bool:
        """Whether a file that is not packed ends before the rows of this part do."""
        try:
            size = self.path.stat().st_size
        except OSError:
            return True
        return self.path.suffix == ".jsonl" and self.offset is not None and size < self.offset


@dataclass
class Earlier:
    """The rows of other files before those of a rollout; `rows` gives them once.

    Attributes:
        parts: the files, the oldest first.
        missing: rows that are in no file, in sentences for the user; complete after `rows`.
        warnings: what of the files could not be read; complete after `rows`.
    """

    parts: list[FilePart]
    missing: list[str]
    warnings: list[str] = field(default_factory=list[str])

    @property
    def ends(self) -> list[tuple[Path, int | None]]:
        """The files, and where the rows of each end."""
        return [(part.path, part.offset) for part in self.parts]

    def missing_at_a_glance(self) -> list[str]:
        """What is missing, as far as the sizes of the files tell it; no row is read."""
        return [*self.missing, *(_shorter(part) for part in self.parts if part.is_cut_off())]

    def rows(self, max_bytes: int) -> Iterator[tuple[Row, At]]:
        """The rows, with places before those of the rollout itself: below zero."""
        for number, part in enumerate(self.parts):
            first = (number - len(self.parts)) * SPAN
            for row, at in self._of(part, max_bytes):
                max_bytes -= at.length
                if string(row, "type") != META:
                    yield row, At(first + at.offset, at.length)

    def _of(self, part: FilePart, max_bytes: int) -> Iterator[tuple[Row, At]]:
        newest, end = None, 0
        try:
            with opened(part.path, max(max_bytes, 0)) as stream:
                if is_packed(stream):
                    check_packed(stream, part.path, max_bytes)
                rows = Rows(Lines(stream, part.path, max_bytes))
                for row, at in rows:
                    if not part.holds(row, at):
                        break
                    if newest is None and part is self.parts[0]:
                        self._check_beginning(row, part)
                    newest, end = row.get("ordinal", newest), at.offset + at.length
                    yield row, at
        except TranscriptError as error:
            self.missing.append(f"The conversation begins in a file that cannot be read: {error}")
            return
        self.warnings += [f"In {part.path.name}: {warning}" for warning in rows.warnings]
        if isinstance(newest, int) and part.ordinal is not None:
            if newest < part.ordinal - 1:
                self.missing.append(
                    f"The conversation goes on from row {part.ordinal} of {part.path.name}, which "
                    f"now ends at row {newest}; what was between them is missing."
                )
        elif not end or (part.offset is not None and end < part.offset):
            self.missing.append(_shorter(part))

    def _check_beginning(self, row: Row, part: FilePart) -> None:
        """Whether the oldest file that was found begins a conversation."""
        number = row.get("ordinal")
        if isinstance(number, int) and number > 0 and not self.missing:
            self.missing.append(
                f"{part.path.name} begins with row {number}, and does not say with what."
            )


def earlier(rows: Iterable[Row], path: Path) -> Earlier | None:
    """The rows before those of a rollout; `None` if it has its own beginning.

    Args:
        rows: the first rows of the file.
        path: of the file.
    """
    rows = [*rows]
    metas = (as_object(row.get("payload")) for row in rows if string(row, "type") == META)
    about = next(metas, as_object(None))
    if "history_base" not in about:
        begins = rows[0].get("ordinal") if rows else 0
        if isinstance(begins, int) and begins > 0 and not about:
            return Earlier([], [f"The file begins with row {begins}, and does not say with what."])
        return None
    return _lineage(about, path)


def _lineage(about: Mapping[str, Any], path: Path) -> Earlier:
    """The files that lead to one whose first row is `about`."""
    own = rollout(path)
    seen = {own.id if own else string(about, "id")}
    parts: list[FilePart] = []
    missing: list[str] = []
    ordinal: int | None = None
    while (base := about.get("history_base")) is not None:
        id = string(as_object(base), "thread_id")
        if not SAFE.fullmatch(id):
            missing.append(
                "It goes on from another conversation, and says which in a way not known."
            )
            break
        if id in seen:
            missing.append(f"The rollout {id} goes on from itself; where it begins is not known.")
            break
        found = rollout_named(id, path)
        if found is None:
            missing.append(_not_found(id, path))
            break
        seen.add(id)
        end, offset = (
            _number(as_object(base), key) for key in ("end_ordinal_exclusive", "end_byte_offset")
        )
        if end is None and offset is None:
            missing.append(
                f"It goes on from a row of the rollout {id}, and says which in a way not known; "
                "all rows of that rollout are given."
            )
        ordinal = end if ordinal is None or end is None else min(end, ordinal)
        parts.append(FilePart(found.path, ordinal, offset))
        about, path = meta(found.path), found.path
    return Earlier(parts[::-1], missing)


def _shorter(part: FilePart) -> str:
    whole = "another row" if part.offset is None else f"byte {part.offset:,}"
    return (
        f"The conversation goes on from {whole} of {part.path.name}, which is damaged or cut off "
        "before; what was between them is missing."
    )


def _not_found(id: str, path: Path) -> str:
    folder = home_of(path) or path.parent
    return (
        f"The conversation begins in the rollout {id}, which is not in {folder}; all that was said "
        "there is missing. Put that file beside this one, if there is a copy."
    )


def _number(about: Mapping[str, Any], key: str) -> int | None:
    value = about.get(key)
    whole = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if whole else None


KNOWN = {
    "session_meta", "turn_context", "response_item", "compacted", "event_msg", "token_usage_record",
    "world_state", "inter_agent_communication",
}  # fmt: skip
CHARGED = ("input_tokens", "cached_input_tokens", "output_tokens")
GENERATIONS = Generations(
    TITLE,
    "history_mode",
    frozenset({"legacy", "paginated"}),
    lambda row: named(within(row, "session_meta", "payload").get("history_mode")),
)
NOT_SENT = {"ghost_snapshot", "compaction_trigger", "other"}


def recognises(row: Mapping[str, Any]) -> bool:
    """Whether the row is one of Codex's."""
    return string(row, "type") in KNOWN and is_object(row.get("payload")) and "role" not in row


@dataclass(frozen=True)
class Charged:
    """A request that was answered.

    Attributes:
        tokens: of the request and its answer.
        items: the number of items that they cover.
        answer: the first item of the answer.
        request: what is known of it; its `messages` are set later.
    """

    tokens: int
    items: int
    answer: int
    request: AnsweredRequest


@dataclass
class CodexReader:
    """The live history, kept as Codex keeps it."""

    items: list[Item] = field(default_factory=list[Item])
    """The items with which the next request would begin."""
    _log: CompactionLog = field(default_factory=CompactionLog)
    _written: list[Any] = field(default_factory=list[Any])  # when each of the items was
    _carried: int = 0  # items that the last compaction left
    _time: Any = None  # of the newest row, as the file says it
    _charged: list[Charged] = field(default_factory=list[Charged])
    _answer: int | None = None  # the first item of the answer whose usage is not known yet
    _total: Any = None  # the thread's total: the same usage is written more than once
    _meta: Mapping[str, Any] = field(default_factory=dict[str, Any])
    _model: str | None = None
    _window: int | None = None
    _turns: int = 0  # since the last compaction
    _guessed: int = 0
    _unknown: Counter[str] = field(default_factory=Counter[str])

    def add(self, row: Row, at: At) -> None:
        """Add the next row of the file."""
        kind, payload = string(row, "type"), as_object(row.get("payload"))
        self._time = row.get("timestamp")
        match kind:
            case "session_meta":
                self._meta = self._meta or payload
            case "turn_context":
                self._model = string(payload, "model") or self._model
            case "response_item":
                self._add_item(payload)
            case "compacted":
                self._compact(payload, at)
            case "token_usage_record":
                self._charge(payload.get("usage"), payload.get("thread_token_usage"))
            case "event_msg":
                self._add_event(payload)
            case _ if kind not in KNOWN:
                self._unknown[kind or "none"] += 1
            case _:
                pass

    def before(self, row: Row, path: Path, load: Load) -> Transcript | None:
        """The conversation before a compaction."""
        return self.transcript(path, load) if row.get("type") == "compacted" else None

    def _add_item(self, item: Item) -> None:
        if string(item, "type") in NOT_SENT or item.get("role") == "system":
            return
        if is_the_models(item) and self._answer is None:
            self._answer = len(self.items)
        self._turns += begins_turn(item)
        self.items.append(item)
        self._written.append(self._time)

    def _compact(self, payload: Mapping[str, Any], at: At) -> None:
        history = payload.get("replacement_history")
        if history is None:  # before late 2025
            message = {"type": "message", "role": "user", "content": payload.get("message", "")}
            self.items = [*filter(begins_turn, self.items), message]
        else:
            items = history if is_array(history) else [history]
            self.items = [item if is_object(item) else unread(item) for item in items]
        self._log.add(Compaction(time=seconds(self._time), by=NAME, place=at.offset))
        self._written, self._carried = [None] * len(self.items), len(self.items)
        self._charged, self._answer, self._turns = [], None, 0

    def _add_event(self, event: Mapping[str, Any]) -> None:
        match string(event, "type"):
            case "task_started":
                self._see_window(event)
            case "token_count":
                info = as_object(event.get("info"))
                self._see_window(info)
                self._charge(info.get("last_token_usage"), info.get("total_token_usage"))
            case "thread_rolled_back":
                self._roll_back(event.get("num_turns"))
            case _:
                pass

    def _see_window(self, about: Mapping[str, Any]) -> None:
        window = about.get("model_context_window")
        self._window = window if isinstance(window, int) and window > 0 else self._window

    def _charge(self, usage: Any, total: Any) -> None:
        about = as_object(usage)
        prompt, cached, answer = (_count(about, part) for part in CHARGED)
        if not prompt:  # an estimate that follows a compaction
            self._log.measured(_count(about, "total_tokens"))
        if total == self._total or prompt <= 0:
            return
        self._total = total
        self._log.answered(prompt, answer, self._model)
        items = first = len(self.items) if self._answer is None else self._answer
        while items < len(self.items) and is_the_models(self.items[items]):
            items += 1  # outputs of its calls may already follow it
        request = AnsweredRequest(
            0, seconds(self._time), self._model or "", prompt, cached, 0, answer
        )
        self._charged.append(Charged(prompt + answer, items, first, request))
        self._answer = None

    def _roll_back(self, turns: Any) -> None:
        """Remove the last turns, and the texts that Codex put just before them."""
        begins = [index for index, item in enumerate(self.items) if begins_turn(item)]
        if not isinstance(turns, int) or turns <= 0 or not begins:
            return
        self._guessed += turns > self._turns
        self._turns = max(0, self._turns - turns)
        cut = begins[max(0, len(begins) - turns)]
        while cut > begins[0] and is_repeated(self.items[cut - 1]):
            cut -= 1
        del self.items[cut:], self._written[cut:]
        self._carried = min(self._carried, cut)
        self._charged = [charged for charged in self._charged if charged.items <= cut]
        self._answer = None

    def transcript(self, path: Path, load: Load) -> Transcript:
        """The live conversation, as of the last row added."""
        messages = Messages(self.items)
        usage = None
        if self._charged:
            newest = self._charged[-1]
            usage = (newest.tokens, messages.holding(newest.items))
        instructions = string(as_object(self._meta.get("base_instructions")), "text")
        charged, written = [*self._charged], [*self._written]
        thread = string(self._meta, "id")
        return Transcript(
            path=path,
            host=NAME,
            session_id=folder_name(thread) if thread else id_from_name(path),
            messages=messages.made,
            usage=usage,
            window=self._window,
            largest=self._log.largest.of(self._model),
            model=self._model,
            system=instructions or None,
            project=string(self._meta, "cwd"),
            compactions=[*self._log.compactions],
            carried=messages.holding(self._carried),
            times=Later(lambda: [*map(seconds, messages.first_of(written))]),
            requests=Later(
                lambda: [
                    replace(each.request, messages=messages.answered_at(each.answer))
                    for each in charged
                ]
            ),
            warnings=[
                *counted("Rows of types we do not know were skipped", self._unknown),
                *counted(
                    "Items of types we do not know are carried along as they are", messages.unknown
                ),
                *counted(
                    "Outputs of calls that are no longer in the context were left out",
                    {"outputs": messages.orphans},
                ),
                *counted(
                    "Turns were taken back that began before the last compaction; what is left is "
                    "a guess",
                    {"times": self._guessed},
                ),
            ],
        )


def _count(about: Mapping[str, Any], name: str) -> int:
    number = about.get(name)
    return number if isinstance(number, int) else 0


FORMATS = (RowFormat(recognises, CodexReader, GENERATIONS, SHAPES, earlier),)
