"""Ledger entries, read from the texts, calls and results of messages."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple, cast

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
from context_compression.evidence import constraints
from context_compression.evidence import facts as evidence
from context_compression.evidence.ledger import file_actions, shell
from context_compression.evidence.ledger.entry import Entry, Kind, merge
from context_compression.evidence.ledger.file_actions import FileAction
from context_compression.evidence.ledger.outcomes import reported_errors, test_counts
from context_compression.evidence.ledger.undoing import Undoing
from context_compression.evidence.redaction import beginning
from context_compression.evidence.words import WORD, kind_of, trimmed

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
    by_commands = [action for command in ran for action in shell.of_command(command, folder)]
    if GIT_FAILED.search(answer) or (failed and any(map(_ends_with_git, ran))):
        by_commands = [action for action in by_commands if action.deed not in file_actions.OF_GIT]
    actions = [*(meant if ran or not failed else ()), *by_commands]
    return CallEffects(commands, ran, meant, actions, status, failed)


def _ends_with_git(command: str) -> bool:
    """Whether the last program in a command is git, which then has the status of the command."""
    *_, last = ("", *(step.verb for step in shell.steps(command)))
    return last == "git"


def actions_in(messages: Iterable[Message]) -> Iterator[tuple[str, FileAction]]:
    """The actions on files by the calls of some messages, in order, each with the id of its call.

    Calls of our own tools do not count.
    """
    messages = [*messages]
    results = {result.call_id: result for message in messages for result in message.results}
    calls = (call for message in messages for call in message.calls)
    return actions_of_calls(calls, results)


def actions_of_calls(
    calls: Iterable[ToolCall], results: Mapping[str, ToolResult]
) -> Iterator[tuple[str, FileAction]]:
    """The actions on files of some calls with their results by call id; see `actions_in`."""
    for call in calls:
        if not OUR_TOOL.search(call.name):
            for action in effects_of(call, results.get(call.id)).actions:
                yield call.id, action


def entries(messages: Sequence[Message]) -> list[Entry]:
    """The evidence in some messages, in order; each `at` is an index into these messages."""
    reader = _Reader({r.call_id: r for message in messages for r in message.results})
    read = chain.from_iterable(reader.read(message, at) for at, message in enumerate(messages))
    merged = merge((), list(read))
    return [reader.without_undone(entry) for entry in merged]


class _Reader:
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
            quiet = all(map(shell.only_looks, effects.commands))
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
        words = dict.fromkeys(WORD.findall(text))
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
