"""`summarize`: head, a summary of the middle written by a model, and the recent messages.

A second summary updates the first with what is new since. What code can know is not left to the
model: the ledger, the file lists, the user's last request. Claims without a source are struck.
"""

import logging
import re
import sys
from collections.abc import Generator, Sequence
from dataclasses import replace
from functools import cached_property
from importlib.resources import files

from context_compression.conversation.authors import user_words
from context_compression.conversation.messages import COMPRESSED, Message, Text, texts_of
from context_compression.conversation.system_prompt import MARK
from context_compression.display.fences import sealed
from context_compression.display.plurals import how_many
from context_compression.display.strings import in_words
from context_compression.errors import SummaryError
from context_compression.evidence.grounding import struck, ungrounded
from context_compression.evidence.ledger import (
    Entry,
    Kind,
    entries,
    file_lists,
    file_tags,
    merge,
    render,
)
from context_compression.evidence.redaction import redact
from context_compression.planning.edits import Edit
from context_compression.planning.plan import Plan
from context_compression.planning.selection import clip_redacted
from context_compression.strategies.base import Proposal
from context_compression.strategies.floor import anchored
from context_compression.strategies.keep import cost, keep_only
from context_compression.strategies.window import units
from context_compression.summaries.record import SummaryRecord
from context_compression.summaries.serialization import serialize, with_originals
from context_compression.summaries.summarizer import SummaryReply, SummaryRequest

logger = logging.getLogger(__name__)
OPENING = f"{MARK} of the conversation so far, written by a program, not by the user."
SUMMARY = re.compile(rf"{re.escape(OPENING)}\n\n<summary>\n(.*?)\n</summary>", re.S)
FILES = re.compile(r"<(read|modified)-files>\n(.*?)\n</\1-files>", re.S)
CURRENT_TASK = "## The Current Task So Far"
FILE_KINDS = {"read", "created", "modified", "deleted", "renamed"}
FOCUS = 4_000
"""Characters of what the remaining work is said to be about."""
ROUNDS = 3
"""How often recent messages may be taken into a summary that turned out too long."""
SUMMARY_SHARE, LEDGER_SHARE = 0.3, 0.1
HALVINGS = 4
TOO_LARGE = "The summary is not smaller than what it summarises."
Asking = Generator[SummaryRequest, SummaryReply, str]


def propose(plan: Plan) -> Proposal:
    """Edits that put a summary in the place of the middle.

    Raises:
        SummaryError: no usable summary was given; nothing is proposed.
    """
    return (yield from Summary(plan).edits())


def prompt(name: str, plan: Plan, target_tokens: int) -> str:
    """An instruction: the user's own of that name, else ours, with the target filled in."""
    text = plan.archive.prompt(name)
    if text is None:
        folder = files("context_compression.summaries") / "prompts"
        text = (folder / f"{name}.md").read_text(encoding="utf-8")
    return text.replace("{target_tokens}", str(target_tokens)).strip()


def previous_summary(message: Message) -> str | None:
    """The summary in a message of ours, without what code added to it."""
    texts = (block.text for block in message.blocks if isinstance(block, Text))
    found = next(filter(None, map(SUMMARY.match, texts)), None)
    return found[1] if found else None


class Summary:
    """One run of the strategy over one plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.room = plan.total if plan.room is None else plan.room
        self.replies: list[SummaryReply] = []
        self.first = plan.tail
        self.middle = [i for i in range(plan.head, plan.tail) if i not in plan.anchored]

    @cached_property
    def earlier_at(self) -> int | None:
        """Where the newest earlier summary stands among what is summarised."""
        messages = self.plan.messages
        return next((i for i in reversed(self.middle) if previous_summary(messages[i])), None)

    @cached_property
    def earlier(self) -> str | None:
        """The text of that summary."""
        return (
            None
            if self.earlier_at is None
            else previous_summary(self.plan.messages[self.earlier_at])
        )

    @cached_property
    def target_tokens(self) -> int:
        """How long the summary should be."""
        return max(1, min(self.plan.settings.summary_tokens, int(SUMMARY_SHARE * self.room)))

    def edits(self) -> Proposal:
        """Ask for the summary and propose the edits."""
        if not self.middle:
            return []
        text = yield from self.summary(*self.split())
        for _ in range(ROUNDS):
            proposed, skipped = self.settled(text)
            if not skipped:
                return proposed
            # a long answer left no room for the oldest recent messages: they are taken in, too
            text = yield from self.asked(skipped, self.template, text)
            self.middle += skipped
            self.first = skipped[-1] + 1
        return self.settled(text)[0]

    def settled(self, text: str) -> tuple[Sequence[Edit], list[int]]:
        """The edits a summary leads to, and the recent messages that do not fit beside it."""
        original = self.plan.archive.original
        middle = [with_originals(self.plan.messages[i], original) for i in self.middle]
        source = (text for message in middle for b in message.blocks for text in texts_of(b))
        doubtful = ungrounded(text, [*source, *self.user_texts(), self.earlier or ""])
        text = struck(text, doubtful)
        if self.plan.counter.text(text) >= sum(self.plan.tokens[i] for i in self.middle):
            raise SummaryError(TOO_LARGE)
        new = entries(middle)
        ledger = merge(self.plan.archive.ledger or self.listed(), new)
        read, modified = file_lists(ledger)
        record = SummaryRecord(
            text=text,
            first_kept=self.first,
            replies=tuple(self.replies),
            unverified=tuple(doubtful),
            ledger=tuple(new),
            whole_ledger=redact(render(ledger, sys.maxsize)),
            read_files=tuple(read),
            modified_files=tuple(modified),
        )
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
        """The middle as history, and the beginning of the turn the tail is in the midst of.

        Earlier summaries are in neither: they are updated. Where one covers the beginning of this
        very turn already, nothing is split, or it would be told in two places.
        """
        said = [i for i in self.middle if previous_summary(self.plan.messages[i]) is None]
        start = next((t.start for t in self.plan.turns if t.start < self.first < t.stop), None)
        if start is None or (self.earlier_at is not None and self.earlier_at >= start):
            return said, []
        if self.earlier and CURRENT_TASK in self.earlier:
            return said, []
        return [i for i in said if i < start], [i for i in said if i >= start]

    @property
    def template(self) -> str:
        """The name of the instructions for a first summary."""
        return "technical" if self.plan.settings.summary_template == "technical" else "summary"

    def summary(self, history: Sequence[int], prefix: Sequence[int]) -> Asking:
        """The text of the summary, asked for in as many requests as it takes."""
        text = self.earlier or ""
        if history or not prefix:
            text = yield from self.asked(history, self.template, self.earlier)
        if not prefix:
            return text
        begun = yield from self.asked(prefix, "turn-prefix", None)
        return (
            f"{text}\n\n---\n\n{CURRENT_TASK}\n\n{begun}" if text else f"{CURRENT_TASK}\n\n{begun}"
        )

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
        """The answer to one request, asked again while that may help.

        A summarizer that tries again by itself says how often it did; all tries count together.
        """
        request = self.request(record, name, earlier)
        source = sum(self.plan.tokens[i] for i in self.middle)
        while True:
            try:
                reply = yield request
                self.replies.append(reply)
                text = reply.text.strip()
                if not text:
                    raise SummaryError("The summary is empty.")
                if self.plan.counter.text(text) >= source:
                    raise SummaryError(TOO_LARGE)
                return text
            except SummaryError as error:
                left = request.attempts - error.attempts
                if not error.retryable or error.too_long or left < 1:
                    raise
                logger.info("asking again for a summary: %s", error)
                request = replace(request, attempts=left)

    def request(self, record: str, name: str, earlier: str | None) -> SummaryRequest:
        """The request: the record, the earlier summary, the instructions."""
        plan = self.plan
        parts = [f"<conversation>\n{sealed(record, 'conversation')}\n</conversation>"]
        if earlier:
            before = sealed(redact(earlier), "previous-summary")
            parts.append(f"<previous-summary>\n{before}\n</previous-summary>")
        instructions = prompt("update" if earlier else name, plan, self.target_tokens)
        if plan.focus:
            instructions += f"\n\nAdditional focus: {in_words(redact(plan.focus), FOCUS)}"
        return SummaryRequest(
            system=prompt("system", plan, self.target_tokens),
            prompt="\n\n".join([*parts, instructions]),
            instructions=instructions,
            max_tokens=plan.settings.summary_limit,
            model=plan.settings.summary_model or plan.model,
            attempts=plan.settings.summary_attempts,
        )

    def user_texts(self) -> list[str]:
        """What the user says outside the middle: a summary may rest on it, too."""
        return [user_words(message) for message in self.plan.messages]

    def assembled(
        self, text: str, ledger: Sequence[Entry], record: SummaryRecord
    ) -> tuple[Sequence[Edit], list[int]]:
        """Edits for head, summary, anchored messages and tail; what of the tail does not fit."""
        plan = self.plan
        kept = anchored(plan, self.room)
        note = self.message(text, ledger, plan.archive.ref_of(record.whole_ledger))
        left = self.room - cost(plan, kept, {self.middle[0]: note})
        fits = True
        skipped: list[int] = []
        for unit in reversed(units(plan, range(self.first, len(plan.messages)))):
            added = {i: plan.messages[i] for i in unit if i not in kept}
            tokens = sum(plan.tokens[i] for i in added)
            fits = fits and tokens <= left
            if fits:
                kept |= added
                left -= tokens
            else:
                skipped += added
        dropped = next(i for i in range(plan.head, len(plan.messages)) if i not in kept)
        edits = keep_only(plan, kept, {dropped: note}, "summarize")
        told = [replace(e, record=record) if e.start <= dropped < e.stop else e for e in edits]
        return told, sorted(skipped)

    def message(self, text: str, ledger: Sequence[Entry], ref: str) -> Message:
        """The summary as the view shows it: fenced, and with what code knows appended."""
        count = self.plan.counter.text
        parts = [OPENING, f"<summary>\n{sealed(text, 'summary')}\n</summary>"]
        if asked := self.last_request():
            asked = sealed(asked, "quote")
            parts.append(f"The last request summarised, verbatim:\n<quote>\n{asked}\n</quote>")
        room = int(LEDGER_SHARE * self.room)
        if tags := self.newest_files(ledger, room // 2, ref):
            parts.append(tags)
        if shown := redact(render(ledger, room, ref, measure=count)):
            parts.append(f"<ledger>\n{sealed(shown, 'ledger')}\n</ledger>")
        # Anthropic has no system message inside a conversation: from there it is moved elsewhere
        role = "user" if self.plan.rules.user_first else self.plan.settings.summary_role
        return Message(role, (Text("\n\n".join(parts)),))

    def newest_files(self, ledger: Sequence[Entry], max_tokens: int, ref: str) -> str:
        """The file lists in at most so many tokens: the files named last stay longest."""
        count = self.plan.counter.text
        named = [entry for entry in ledger if entry.kind in FILE_KINDS]
        taken: list[Entry] = []
        for entry in reversed(named):
            max_tokens -= count(entry.text) + 1
            if max_tokens < 0:
                break
            taken.insert(0, entry)
        if not taken:
            return ""
        left_out = len(named) - len(taken)
        more = f"\n[{how_many(left_out, 'more file')}: ref {ref}]" if left_out else ""
        return redact(file_tags(taken)) + more

    def last_request(self) -> str:
        """The last thing the user asked in the middle, if it is not too long to repeat."""
        for index in reversed(self.middle):
            if words := user_words(self.plan.messages[index]).strip():
                if words.startswith(COMPRESSED):
                    return ""
                return words if len(words) <= 4_000 else clip_redacted(redact(words), 4_000)
        return ""
