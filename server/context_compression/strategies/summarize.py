"""`summarize`: head, a summary of the middle written by a model, and the recent messages.

A second summary updates the first with what is new since. What code can know is not left to the
model: the ledger, the file lists, the user's last request. Claims without a source are struck.
"""

import re
import sys
from collections.abc import Generator, Sequence
from dataclasses import replace
from functools import cached_property
from importlib.resources import files

from context_compression.edits import Edit
from context_compression.errors import SummaryError
from context_compression.evidence import user_words
from context_compression.grounding import struck, ungrounded
from context_compression.ledger import Entry, Kind, entries, file_lists, file_tags, merge, render
from context_compression.messages import COMPRESSED, Message, Text, texts_of
from context_compression.plan import Plan, ref_of
from context_compression.redaction import redact
from context_compression.result import SummaryRecord
from context_compression.selection import clip
from context_compression.serialization import serialize
from context_compression.strategies.base import Proposal
from context_compression.strategies.floor import anchored
from context_compression.strategies.keep import cost, keep_only
from context_compression.strategies.window import units
from context_compression.summarizer import SummaryReply, SummaryRequest

OPENING = f"{COMPRESSED} Summary of the conversation so far, written by a program, not by the user."
SUMMARY = re.compile(r"<summary>\n(.*?)\n</summary>", re.S)
FILES = re.compile(r"<(read|modified)-files>\n(.*?)\n</\1-files>", re.S)
SUMMARY_SHARE, LEDGER_SHARE = 0.3, 0.1
HALVINGS = 4
Asking = Generator[SummaryRequest, SummaryReply, str]


def propose(plan: Plan) -> Proposal:
    """Edits that put a summary in the place of the middle.

    Raises:
        SummaryError: no usable summary was given; nothing is proposed.
    """
    return (yield from Summary(plan).edits())


def prompt(name: str, plan: Plan, target_tokens: int) -> str:
    """An instruction: the user's own of that name, else ours, with the target filled in."""
    text = plan.archive.prompts.get(name)
    if text is None:
        folder = files("context_compression.strategies") / "prompts"
        text = (folder / f"{name}.md").read_text(encoding="utf-8")
    return text.replace("{target_tokens}", str(target_tokens)).strip()


def previous_summary(message: Message) -> str | None:
    """The summary in a message of ours, without what code added to it."""
    text = message.text
    found = SUMMARY.search(text) if text.startswith(COMPRESSED) else None
    return found[1] if found else None


class Summary:
    """One run of the strategy over one plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.room = plan.total if plan.room is None else plan.room
        self.replies: list[SummaryReply] = []

    @cached_property
    def middle(self) -> list[int]:
        """Indices of what is summarised."""
        plan = self.plan
        return [i for i in range(plan.head, plan.tail) if i not in plan.anchored]

    @cached_property
    def earlier(self) -> str | None:
        """The newest earlier summary among what is summarised."""
        found = (previous_summary(self.plan.messages[i]) for i in reversed(self.middle))
        return next((text for text in found if text), None)

    @cached_property
    def target_tokens(self) -> int:
        """How long the summary should be."""
        return max(1, min(self.plan.settings.summary_tokens, int(SUMMARY_SHARE * self.room)))

    def edits(self) -> Proposal:
        """Ask for the summary and propose the edits."""
        if not self.middle:
            return []
        history, prefix = self.split()
        text = yield from self.summary(history, prefix)
        source = (t for i in self.middle for b in self.plan.messages[i].blocks for t in texts_of(b))
        doubtful = ungrounded(text, [*source, *self.user_texts(), self.earlier or ""])
        text = struck(text, doubtful)
        if self.plan.counter.text(text) >= sum(self.plan.tokens[i] for i in self.middle):
            raise SummaryError("The summary is not smaller than what it summarises.")
        new = entries([self.plan.messages[i] for i in self.middle])
        ledger = merge(self.plan.archive.ledger or self.listed(), new)
        read, modified = file_lists(ledger)
        whole = redact(render(ledger, sys.maxsize))
        record = SummaryRecord(
            text, self.plan.tail, tuple(self.replies), tuple(doubtful), tuple(new), whole,
            tuple(read), tuple(modified),
        )  # fmt: skip
        return self.assembled(text, ledger, record)

    def listed(self) -> list[Entry]:
        """The files an earlier summary lists: all that is left of its ledger without a store."""
        found: list[Entry] = []
        for index in self.middle:
            message = self.plan.messages[index]
            if previous_summary(message):
                for tag, paths in FILES.findall(message.text):
                    kind: Kind = "read" if tag == "read" else "modified"
                    found += (Entry(kind, path) for path in paths.split("\n"))
        return found

    def split(self) -> tuple[list[int], list[int]]:
        """The middle as history, and the beginning of the turn the tail is in the midst of."""
        start = next((t.start for t in self.plan.turns if t.start < self.plan.tail < t.stop), None)
        if start is None:
            return self.middle, []
        return [i for i in self.middle if i < start], [i for i in self.middle if i >= start]

    def summary(self, history: Sequence[int], prefix: Sequence[int]) -> Asking:
        """The text of the summary, asked for in as many requests as it takes."""
        said = [i for i in history if previous_summary(self.plan.messages[i]) is None]
        if said or not prefix:
            name = "technical" if self.plan.settings.summary_template == "technical" else "summary"
            text = yield from self.asked(said, name, self.earlier)
        else:
            text = self.earlier or ""
        if not prefix:
            return text
        begun = yield from self.asked(prefix, "turn-prefix", None)
        heading = "## The Current Task So Far"
        return f"{text}\n\n---\n\n{heading}\n\n{begun}" if text else f"{heading}\n\n{begun}"

    def asked(self, indices: Sequence[int], name: str, earlier: str | None) -> Asking:
        """One summary, in parts where the record is too long, each updating the one before."""
        messages = [self.plan.messages[i] for i in indices]
        settings = self.plan.settings
        budget = max(500, int(0.7 * settings.token_budget) - settings.summary_limit)
        for _ in range(HALVINGS):
            parts = serialize(messages, budget, self.plan.counter.text, self.plan.archive.original)
            text = earlier
            try:
                for part in parts:
                    text = yield from self.reply(part, name, text)
            except SummaryError as error:
                if not error.too_long:
                    raise
                budget //= 2
            else:
                return text or ""
        raise SummaryError(f"The record is too long for the model, even at {budget:,} tokens.")

    def reply(self, record: str, name: str, earlier: str | None) -> Asking:
        """The answer to one request, asked again while that may help."""
        request = self.request(record, name, earlier)
        attempts = self.plan.settings.summary_attempts
        for attempt in range(1, attempts + 1):
            try:
                reply = yield request
                self.replies.append(reply)
                if text := reply.text.strip():
                    return text
                raise SummaryError("The summary is empty.")
            except SummaryError as error:
                if not error.retryable or error.too_long or attempt == attempts:
                    raise
        raise SummaryError("No attempts are allowed.")

    def request(self, record: str, name: str, earlier: str | None) -> SummaryRequest:
        """The request: the record, the earlier summary, the instructions."""
        plan = self.plan
        parts = [f"<conversation>\n{_sealed(record, 'conversation')}\n</conversation>"]
        if earlier:
            sealed = _sealed(earlier, "previous-summary")
            parts.append(f"<previous-summary>\n{sealed}\n</previous-summary>")
        instructions = prompt("update" if earlier else name, plan, self.target_tokens)
        if plan.focus:
            instructions += f"\n\nAdditional focus: {plan.focus}"
        return SummaryRequest(
            system=prompt("system", plan, self.target_tokens),
            prompt="\n\n".join([*parts, instructions]),
            instructions=instructions,
            max_tokens=plan.settings.summary_limit,
            model=plan.settings.summary_model,
            attempts=plan.settings.summary_attempts,
        )

    def user_texts(self) -> list[str]:
        """What the user says outside the middle: a summary may rest on it, too."""
        return [user_words(message) for message in self.plan.messages]

    def assembled(
        self, text: str, ledger: Sequence[Entry], record: SummaryRecord
    ) -> Sequence[Edit]:
        """Head, summary, anchored messages, and as much of the tail as fits."""
        plan = self.plan
        kept = anchored(plan, self.room)
        note = self.message(text, ledger, ref_of(record.whole_ledger))
        start = self.middle[0]
        left = self.room - cost(plan, kept, {start: note})
        tail = range(plan.tail, len(plan.messages))
        for unit in reversed(units(plan, tail)):
            added = {i: plan.messages[i] for i in unit if i not in kept}
            tokens = sum(plan.tokens[i] for i in added)
            if tokens > left:
                break
            kept |= added
            left -= tokens
        dropped = next(i for i in range(plan.head, len(plan.messages)) if i not in kept)
        edits = keep_only(plan, kept, {dropped: note}, "summarize")
        return [replace(e, record=record) if e.start == dropped else e for e in edits]

    def message(self, text: str, ledger: Sequence[Entry], ref: str) -> Message:
        """The summary as the view shows it: fenced, and with what code knows appended."""
        parts = [OPENING, f"<summary>\n{_sealed(text, 'summary')}\n</summary>"]
        if asked := self.last_request():
            parts.append(f"The last request summarised, verbatim:\n<quote>\n{asked}\n</quote>")
        if tags := file_tags(ledger):
            parts.append(tags)
        most = int(LEDGER_SHARE * self.room)
        if shown := redact(render(ledger, most, ref, measure=self.plan.counter.text)):
            parts.append(f"<ledger>\n{shown}\n</ledger>")
        # Anthropic has no system message inside a conversation: there the label must do
        role = "user" if self.plan.user_first else self.plan.settings.summary_role
        return Message(role, (Text("\n\n".join(parts)),))

    def last_request(self) -> str:
        """The last thing the user asked in the middle, if it is not too long to repeat."""
        for index in reversed(self.middle):
            if words := user_words(self.plan.messages[index]).strip():
                return "" if words.startswith(COMPRESSED) else clip(words, 4_000)
        return ""


def _sealed(text: str, tag: str) -> str:
    """A text that cannot close the tag it stands in."""
    return text.replace(f"</{tag}", f"<\\/{tag}")
