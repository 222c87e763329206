"""Entries from messages: what was said, what was called, what came back."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

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
from context_compression.evidence.redaction import beginning
from context_compression.evidence.words import WORD, kind_of, trimmed

URL = re.compile(r"https?://[^\s<>\"'`\\|{}\[\]），。]+")
NO_ID = ("UTF-", "SHA-", "ISO-")
ID_NAME = re.compile(r"(?:^|_)id$|[a-z]Id$")
OUR_TOOL = re.compile(r"(?:^|_)context_(?:status|compress|config|summary|offload|restore)$")
NAMED_REF = re.compile(
    rf"(?:(?:; |: |^)ref |restore\(ref=\"|/offloaded/)({REF})(?=[\];,\".]|$)", re.M
)
"""As our receipts and notes name what is archived: no ids of the conversation's own."""
REFUSED = "tool use was rejected"
"""What Claude Code answers to a call that the user did not allow (seen in 2.1)."""
MOST_WORDS = 20
"""URLs and ids taken from one result."""
LONGEST_ARGUMENT = 2000
"""Characters up to which an argument is looked through; longer ones are texts of files."""


class Deeds(NamedTuple):
    """What a call did.

    Attributes:
        commands: the shell commands it was to run.
        ran: those of them that ran, if only in part: all, or none where the user did not allow it.
        meant: what it was to do to files by its other arguments.
        actions: what it did to files.
        status: the exit status of its commands, if it is told.
        failed: whether it failed; of what its commands did before nothing is known.
    """

    commands: Sequence[str]
    ran: Sequence[str]
    meant: Sequence[FileAction]
    actions: Sequence[FileAction]
    status: str | None
    failed: bool


def deeds(call: ToolCall, result: ToolResult | None) -> Deeds:
    """What a call did, by its arguments and its result."""
    answer = result.text if result else ""
    commands = [c for c in evidence.commands_of(call) if c not in file_actions.EDITOR_COMMANDS]
    status = evidence.exit_status(answer if commands else answer[:60])
    failed = result is not None and (result.is_error or status not in (None, "0"))
    ran = [] if failed and REFUSED in answer[:400] else commands
    meant = file_actions.of_call(call, answer[:300])
    folder = file_actions.folder_of(call)
    by_commands = (action for command in ran for action in shell.of_command(command, folder))
    actions = [*(meant if ran or not failed else ()), *by_commands]
    return Deeds(commands, ran, meant, actions, status, failed)


def actions_in(messages: Iterable[Message]) -> Iterator[FileAction]:
    """What the calls in some messages did to files, in order; our own tools do nothing to them."""
    messages = [*messages]
    results = {result.call_id: result for message in messages for result in message.results}
    for call in (call for message in messages for call in message.calls):
        if not OUR_TOOL.search(call.name):
            yield from deeds(call, results.get(call.id)).actions


def entries(messages: Sequence[Message]) -> list[Entry]:
    """The evidence in some messages, in order; `at` counts from the first of them."""
    reader = _Reader({r.call_id: r for message in messages for r in message.results})
    found = (entry for at, message in enumerate(messages) for entry in reader.read(message, at))
    return merge((), list(found))


class _Reader:
    """Reads messages one after the other; knows what became of each call, and of each file."""

    def __init__(self, results: dict[str, ToolResult]) -> None:
        self._results = results
        self._ids: dict[str, str] = {}
        self._there: set[str] = set()

    def read(self, message: Message, at: int) -> Iterator[Entry]:
        if message.role in ("user", "assistant"):
            for block in message.blocks:
                if isinstance(block, Text) and not authors.is_note(block.text):
                    yield from self._said(block.text, message.role == "user", at)
        for call in message.calls:
            if not OUR_TOOL.search(call.name):  # what they bring back was taken before
                yield from self._called(call, at)

    def _said(self, text: str, by_user: bool, at: int) -> Iterator[Entry]:
        if by_user:
            yield from (Entry("constraint", line, at=at) for line in constraints.constraints(text))
        yield from (Entry("decision", line, at=at) for line in evidence.decisions(text))
        yield from self._named(text, at)

    def _called(self, call: ToolCall, at: int) -> Iterator[Entry]:
        result = self._results.get(call.id)
        done = deeds(call, result)
        if done.commands:
            quiet = all(map(shell.only_looks, done.commands))
            subject = _clipped(done.commands[0])
        else:
            quiet = file_actions.searches(call) or {a.deed for a in done.meant} == {"read"}
            subject = _subject(call, done.meant)

        outcome = f"exit {done.status}" if done.status else "failed" if done.failed else ""
        yield from (Entry("command", _clipped(command), outcome, at) for command in done.ran)
        yield from (self._done(action, at) for action in done.actions)
        yield from self._asked(call, at)
        if done.failed or not quiet:
            answer = result.text if result else ""
            yield from self._answered(answer, subject, done.failed, bool(done.ran), at)

    def _done(self, action: FileAction, at: int) -> Entry:
        there = action.path in self._there
        kind: Kind
        match action.deed:
            case "written":
                kind = "modified" if there else "created"
            case deed:
                kind = deed
        self._there.discard(action.path)
        if kind != "deleted":
            self._there.add(action.to or action.path)
        return Entry(kind, action.path, action.to, at)

    def _asked(self, call: ToolCall, at: int) -> Iterator[Entry]:
        """What the arguments name; long ones are the texts of files."""
        texts = [s for s in strings_in(call.arguments) if len(s) <= LONGEST_ARGUMENT]
        yield from self._named("\n".join(texts), at)
        if is_object(call.arguments):
            for name, value in call.arguments.items():
                if isinstance(value, str) and ID_NAME.search(name) and len(value) > 3:
                    yield Entry("id", beginning(value, constraints.LONGEST_LINE), at=at)

    def _answered(
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
    """`"Edit src/app.py"`: a call in a few words."""
    return f"{call.name} {actions[0].path}" if actions else call.name


def _clipped(text: str) -> str:
    text = text.strip()
    limit = constraints.LONGEST_LINE
    return text if len(text) <= limit else beginning(text, limit - 1) + "…"
