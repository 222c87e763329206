"""Entries of the ledger: read from messages, merged, and the part that a view shows."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import Any, Literal, NamedTuple, TypeAlias, cast, get_args
from unicodedata import normalize

from context_compression.conversation import authors
from context_compression.conversation.messages import (
    Message,
    Text,
    ToolCall,
    ToolResult,
    is_object,
    strings_in,
)
from context_compression.conversation.refs import REF
from context_compression.errors import StoreDamaged
from context_compression.evidence import constraints
from context_compression.evidence import facts as evidence
from context_compression.evidence.ledger import actions as file_actions
from context_compression.evidence.ledger.actions import FileAction
from context_compression.evidence.ledger.changes import Undoing
from context_compression.evidence.ledger.tasks import reported_errors, test_counts
from context_compression.evidence.names import EXTENSION, Names, candidates, caseless
from context_compression.evidence.redaction import beginning
from context_compression.evidence.sentences import LONGEST_LINE
from context_compression.evidence.words import kind_of, trimmed
from context_compression.plurals import how_many
from context_compression.strings import in_words, one_line

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


URL = re.compile(r"https?://[^\s<>\"'`\\|{}\[\]），。]+")
NO_ID = ("UTF-", "SHA-", "ISO-")
ID_NAME = re.compile(r"(?:^|_)id$|[a-z]Id$")
OUR_TOOL = re.compile(r"(?:^|_)context_(?:status|compress|config|summary|offload|restore)$")
NAMED_REF = re.compile(
    rf"(?:(?:; |: |^)ref |restore\(ref=\"|/offloaded/)({REF})(?=[\];,\".]|$)", re.M
)
"""A ref in a receipt or note of this package, which is not an id of the conversation."""
REFUSED = "tool use was rejected"
"""Marks the result of a call that the user did not allow, in Claude Code (seen in 2.1)."""
REFUSED_CHARS, STATUS_CHARS, NEW_FILE_CHARS = 400, 60, 300
"""How many characters at the beginning of a result are searched for `REFUSED`, for the exit status
of a call without commands, and for words that say that a file is new."""
MOST_WORDS = 20
"""How many URLs, and how many ids, are taken from one text."""
GIT_FAILED = re.compile(
    r"^(?:fatal: |error: (?:pathspec|your local|unable|cannot|entry|the following"
    r"|could not (?!compile)))",
    re.IGNORECASE | re.MULTILINE,
)
"""What git prints if it did nothing."""
LONGEST_ARGUMENT = 2000
"""How many characters an argument may have to be searched for ids; longer ones are file texts."""


A_PATH = re.compile(rf"(?=\S*(?:[/\\]|{EXTENSION}\Z))\S{{1,400}}\Z")
"""A path, as one word."""


class CallEffects(NamedTuple):
    """The effects of one call.

    Attributes:
        commands: the shell commands in its arguments.
        ran: the commands that ran, at least in part: all, or none if the user refused the call.
        meant: the actions on files that its other arguments request.
        actions: the actions on files that it took.
        status: the exit status of its commands, if the result has one.
        failed: whether it failed; its commands may have had effects before they failed.
    """

    commands: Sequence[str]
    ran: Sequence[str]
    meant: Sequence[FileAction]
    actions: Sequence[FileAction]
    status: str | None
    failed: bool


def effects_of(call: ToolCall, result: ToolResult | None) -> CallEffects:
    """The effects of a call, by its arguments and its result."""
    answer = result.text if result else ""
    commands = [c for c in evidence.commands_of(call) if c not in file_actions.EDITOR_COMMANDS]
    status = evidence.exit_status(answer if commands else answer[:STATUS_CHARS])
    failed = result is not None and (result.is_error or status not in (None, "0"))
    ran = [] if failed and REFUSED in answer[:REFUSED_CHARS] else commands
    meant = file_actions.of_call(call, answer[:NEW_FILE_CHARS])
    folder = file_actions.folder_of(call)
    by_commands = [action for command in ran for action in file_actions.of_command(command, folder)]
    if GIT_FAILED.search(answer) or (failed and any(map(_ends_with_git, ran))):
        by_commands = [action for action in by_commands if action.deed not in file_actions.OF_GIT]
    actions = [*(meant if ran or not failed else ()), *by_commands]
    return CallEffects(commands, ran, meant, actions, status, failed)


def _ends_with_git(command: str) -> bool:
    """Whether the last program in a command is git, which then has the status of the command."""
    *_, last = ("", *(step.verb for step in file_actions.steps(command)))
    return last == "git"


def actions_of(
    calls: Iterable[ToolCall], results: Mapping[str, ToolResult]
) -> Iterator[tuple[str, FileAction]]:
    """The actions on files by some calls, in order, each with the id of its call.

    Calls of our own tools do not count. `results` are theirs, by call id.
    """
    for call in calls:
        if not OUR_TOOL.search(call.name):
            for action in effects_of(call, results.get(call.id)).actions:
                yield call.id, action


def names_in_calls(messages: Iterable[Message]) -> Names:
    """The files that calls name, if their names hold caseless letters, in their composed form too.

    In a sentence without blanks, nothing else tells which words before `/` are a part of the path.
    """
    paths: set[str] = set()
    for call in (call for message in messages for call in message.calls):
        if not all(map(str.isascii, strings_in(call.arguments))):
            actions = file_actions.of_call(call)
            folder = file_actions.folder_of(call)
            for command in evidence.commands_of(call):
                actions += file_actions.of_command(command, folder)
            paths |= {trimmed(path) for _, *ends in actions for path in ends}
    named = {path for path in paths if caseless().search(path) and A_PATH.match(path)}
    return Names(form for path in named for form in (path, normalize("NFC", path)))


def entries(messages: Sequence[Message]) -> list[Entry]:
    """The evidence in some messages, in order; each `at` is an index into these messages."""
    reader = _EntryReader({r.call_id: r for message in messages for r in message.results})
    read = chain.from_iterable(reader.read(message, at) for at, message in enumerate(messages))
    merged = merge((), list(read))
    return [reader.without_undone(entry) for entry in merged]


class _EntryReader:
    """Reads messages in order, and remembers which files exist."""

    def __init__(self, results: dict[str, ToolResult]) -> None:
        self._results = results
        self._ids: dict[str, str] = {}
        self._files: set[str] = set()
        self._undoing = Undoing()

    def read(self, message: Message, at: int) -> Iterator[Entry]:
        if message.role in ("user", "assistant"):
            for block in message.blocks:
                if isinstance(block, Text) and not authors.is_note(block.text):
                    yield from self._of_text(block.text, message.role == "user", at)
        for call in message.calls:
            if not OUR_TOOL.search(call.name):  # their results were read before
                yield from self._of_call(call, at)

    def without_undone(self, entry: Entry) -> Entry:
        """The entry; for a file all of whose changes were taken back, as one that was read."""
        undone = entry.kind in ("created", "modified") and entry.text in self._undoing.paths
        return replace(entry, kind="read") if undone else entry

    def _of_text(self, text: str, by_user: bool, at: int) -> Iterator[Entry]:
        if by_user:
            yield from (Entry("constraint", line, at=at) for line in constraints.constraints(text))
        yield from (Entry("decision", line, at=at) for line in evidence.decisions(text))
        yield from self._named(text, at)

    def _of_call(self, call: ToolCall, at: int) -> Iterator[Entry]:
        result = self._results.get(call.id)
        effects = effects_of(call, result)
        if effects.commands:
            quiet = all(map(file_actions.only_looks, effects.commands))
            subject = _clipped(effects.commands[0])
        else:
            quiet = file_actions.searches(call) or {a.deed for a in effects.meant} == {"read"}
            subject = _subject(call, effects.meant)

        outcome = f"exit {effects.status}" if effects.status else "failed" if effects.failed else ""
        yield from (Entry("command", _clipped(command), outcome, at) for command in effects.ran)
        for action in effects.actions:
            self._undoing.follow(call.id, action)
            if action.deed not in file_actions.OF_GIT:
                yield self._of_action(action, at)
        yield from self._of_arguments(call, at)
        if effects.failed or not quiet:
            answer = result.text if result else ""
            yield from self._of_result(answer, subject, effects.failed, bool(effects.ran), at)

    def _of_action(self, action: FileAction, at: int) -> Entry:
        exists = action.path in self._files
        kind: Kind
        match action.deed:
            case "written":
                kind = "modified" if exists else "created"
            case deed:
                kind = cast(Kind, deed)
        self._files.discard(action.path)
        if kind != "deleted":
            self._files.add(action.to or action.path)
        return Entry(kind, action.path, action.to, at)

    def _of_arguments(self, call: ToolCall, at: int) -> Iterator[Entry]:
        """The addresses and ids in arguments; long arguments are texts of files and are skipped."""
        texts = [s for s in strings_in(call.arguments) if len(s) <= LONGEST_ARGUMENT]
        yield from self._named("\n".join(texts), at)
        if is_object(call.arguments):
            for name, value in call.arguments.items():
                if isinstance(value, str) and ID_NAME.search(name) and len(value) > 3:
                    yield Entry("id", beginning(value, constraints.LONGEST_LINE), at=at)

    def _of_result(
        self, answer: str, subject: str, failed: bool, by_command: bool, at: int
    ) -> Iterator[Entry]:
        if counts := test_counts(answer):
            yield Entry("test", subject, counts, at)
        if failed or by_command:
            lines = reported_errors(answer, failed)
            if failed and not lines and not by_command:
                lines = answer.strip().split("\n", 1)[:1]
            for line in lines:
                yield Entry("error", _clipped(line), "" if by_command else subject, at)
        yield from self._named(answer, at)

    def _named(self, text: str, at: int) -> Iterator[Entry]:
        """The addresses and ids in a text."""
        if "://" in text:
            urls = (url.rstrip(".,;:!?)*") for url in URL.findall(text))
            yield from (Entry("url", url, at=at) for url in [*dict.fromkeys(urls)][-MOST_WORDS:])
        words = dict.fromkeys(candidates(text))
        ids = [word for raw in words if not raw.isalpha() and (word := self._id(raw))]
        refs = set(NAMED_REF.findall(text)) if ids else ()
        ids = [word for word in ids if word not in refs]
        yield from (Entry("id", word, at=at) for word in ids[-MOST_WORDS:])

    def _id(self, raw: str) -> str:
        """The word without punctuation if it is an id, else `""`."""
        known = self._ids.get(raw)
        if known is None:
            word = trimmed(raw)
            known = word if kind_of(word) == "id" and not word.startswith(NO_ID) else ""
            self._ids[raw] = known
        return known


def _subject(call: ToolCall, actions: Sequence[FileAction]) -> str:
    """A call in a few words: `"Edit src/app.py"`."""
    return f"{call.name} {actions[0].path}" if actions else call.name


def _clipped(text: str) -> str:
    text = text.strip()
    limit = constraints.LONGEST_LINE
    return text if len(text) <= limit else beginning(text, limit - 1) + "…"


TITLE = "Ledger, found by code in what was compressed (newest first):"
SECTIONS: tuple[tuple[str, tuple[Kind, ...]], ...] = (
    ("Constraints of the user:", ("constraint",)),
    ("Files changed:", ("created", "modified", "deleted", "renamed")),
    ("Errors:", ("error",)),
    ("Tests:", ("test",)),
    ("Commands:", ("command",)),
    ("Files read:", ("read",)),
    ("Decisions:", ("decision",)),
    ("Addresses:", ("url",)),
    ("Ids:", ("id",)),
)
"""The sections in order of importance; the last one is left out first."""
LONGEST_SHOWN = 240
"""The most characters of an entry's text; constraints are shown up to `LONGEST_LINE`."""
LONGEST_PATH = 1_000
"""The most characters of a path in a list of files."""
SHORTEST_LINE = 5
"""The least room for a line, in the unit of the limit; with less, no line is tried."""


def render(
    entries: Sequence[Entry],
    limit: int,
    ref: str | None = None,
    *,
    measure: Callable[[str], int] = len,
) -> str:
    """The ledger as a text of at most `limit`; `""` if not even one entry fits.

    Constraints take all the room they need, and other entries are shown only if all constraints
    are. Then each section in turn takes at most half of the remaining room, so that a long section
    leaves room for others. The rest is filled in the same order.

    Args:
        entries: merged entries, the oldest first.
        limit: the size limit in the unit of `measure`: characters, or tokens with `Counter.text`.
        ref: the ref of the full ledger, shown if entries are left out.
        measure: returns the size of a line. The size of a text is the sum of its lines plus 1 for
            each newline.
    """
    sections = [(title, _lines(entries, kinds)) for title, kinds in SECTIONS]
    total = sum(len(lines) for _, lines in sections)
    room = limit - measure(TITLE) - measure(_rest(total, ref)) - 2
    chosen: list[set[int]] = [set() for _ in sections]
    for share in (2, 1):
        for number, (title, lines) in enumerate(sections):
            if number and len(chosen[0]) < len(sections[0][1]):
                break
            allowed = room // share if number else room
            for index, line in enumerate(lines):
                if allowed < SHORTEST_LINE:
                    break
                if index in chosen[number]:
                    continue
                cost = measure(line) + 1 + (0 if chosen[number] else measure(title) + 1)
                if cost <= allowed:
                    chosen[number].add(index)
                    allowed -= cost
                    room -= cost
    left_out = total - sum(map(len, chosen))
    if left_out == total:
        return ""
    shown = [TITLE]
    for (title, lines), indices in zip(sections, chosen, strict=True):
        if indices:
            shown += [title, *(lines[index] for index in sorted(indices))]
    if left_out:
        shown.append(_rest(left_out, ref))
    return "\n".join(shown)


def _rest(left_out: int, ref: str | None) -> str:
    return f"[… {how_many(left_out, 'more entry')}{f'; ref {ref}' if ref else ''}]"


def _lines(entries: Iterable[Entry], kinds: Sequence[Kind]) -> list[str]:
    lines = [_line(entry) for entry in entries if entry.kind in kinds]
    return lines[::-1]


def _line(entry: Entry) -> str:
    text, detail = in_words(entry.text, LONGEST_LINE), in_words(entry.detail, LONGEST_LINE)
    if entry.kind != "constraint" and len(text) > LONGEST_SHOWN:
        text = beginning(text, LONGEST_SHOWN - 1) + "…"
    match entry.kind:
        case "renamed":
            return f"- renamed {text} -> {detail}"
        case "created" | "modified" | "deleted":
            return f"- {entry.kind} {text}"
        case "test":
            return f"- {text}: {detail}"
        case _:
            return f"- {text} ({detail})" if detail else f"- {text}"


def file_lists(entries: Iterable[Entry]) -> tuple[list[str], list[str]]:
    """The files that were only read and the files that were changed, both sorted.

    A deleted file is `a.py (deleted)`, a renamed one `b.py (renamed from a.py)`.
    """
    read: set[str] = set()
    changed: dict[str, str] = {}
    names: dict[str, str] = {}
    for entry in entries:
        path = entry.text
        match entry.kind:
            case "read":
                read.add(path)
            case "created" | "modified":
                if path not in names:
                    changed[path] = path
            case "deleted":
                changed[path] = f"{path} (deleted)"
            case "renamed":
                changed.pop(path, None)
                first = names[entry.detail] = names.pop(path, path)
                changed[entry.detail] = f"{entry.detail} (renamed from {first})"
            case _:
                pass
    relative = {path for path in changed if not path.startswith(("/", "~"))}
    read -= changed.keys()
    only_read = (path for path in read if relative.isdisjoint(_endings(path)))
    return sorted(only_read), sorted(changed.values())


def _endings(path: str) -> list[str]:
    """`_endings("/a/b/c")` -> `["a/b/c", "b/c", "c"]`."""
    parts = path.split("/")
    return ["/".join(parts[start:]) for start in range(1, len(parts))]


def file_tags(entries: Iterable[Entry]) -> str:
    """`<read-files>` and `<modified-files>` with one path per line; `""` if there are no files."""
    read, changed = file_lists(entries)
    tags = [
        f"<{tag}>\n{chr(10).join(map(_path, paths))}\n</{tag}>"
        for tag, paths in (("read-files", read), ("modified-files", changed))
        if paths
    ]
    return "\n\n".join(tags)


def _path(path: str) -> str:
    """A path as one line that cannot be read as a closing tag."""
    return one_line(path, LONGEST_PATH).replace("</", "<\\/")
