"""The note that replaces a run of messages: labelled quotes in their order, and marks of gaps.

[Compressed History] Excerpts of earlier messages, quoted as data:
[… 9 messages; first ref c3f91a20b77d]
[User] Keep the public API as it is.
[Bash; exit 1] pytest -q → 3 failed
"""

from collections.abc import Container, Mapping, Sequence

from context_compression.conversation.authors import (
    EXCERPTS,
    holds_excerpts,
    holds_user_words,
    is_note,
)
from context_compression.conversation.labels import without_labels
from context_compression.conversation.messages import (
    COMPRESSED,
    Block,
    Message,
    Text,
    ToolCall,
    user,
)
from context_compression.conversation.rendering import NEWLINE, Span, gap, marked_with, render
from context_compression.evidence.facts import commands_of
from context_compression.evidence.ledger.shell import only_looks
from context_compression.planning.measured import TEXT_WITH_REF_CHARS
from context_compression.planning.selection import own_ref
from context_compression.strategies import measured
from context_compression.strategies.pictures import images_in, mark_of
from context_compression.strategies.quoting.calls import call_of
from context_compression.strategies.quoting.gaps import gap_of_messages, gaps
from context_compression.strategies.quoting.labels import label
from context_compression.strategies.quoting.outcomes import end_of
from context_compression.strategies.quoting.quoting import QuotedText, Quoting
from context_compression.strategies.tool_results import NO_SLOTS, Slots

RESTORE = "; context_restore(ref=…) brings one back whole, context_restore(query=…) finds others"
"""How an agent restores messages that are left out."""


def note(
    quoting: Quoting,
    run: range,
    quoted: dict[int, Slots],
    with_ref: Container[int] = (),
    *,
    first: bool = False,
) -> Message:
    """A message in place of a run of messages, with quotes of them.

    Only a gap whose mark has a ref is marked, because the first line says that the note holds
    excerpts; a note without quotes has a mark for all its messages. If a message is quoted, each of
    its long texts that is not quoted has a mark. Short texts of the user and a mark for its
    pictures are shown with its quotes.

    Args:
        quoting: the `Quoting` of the conversation.
        run: the messages that the note replaces.
        quoted: the spans to quote, by message; quoted messages are removed from it.
        with_ref: the starts of gaps whose mark has the ref of the first missing message.
        first: whether it is the first note of the view, which says how to restore messages if a
            store keeps them.
    """
    indices = [index for index in run if index in quoted]
    what = EXCERPTS if indices else f"{COMPRESSED} Not shown here"
    how = RESTORE if first and quoting.plan.archive.restorable else ""
    writer = _Writer(quoting, quoted, f"{what}{how}:")
    for missing, index in zip(gaps(run, indices), [*indices, None], strict=True):
        if missing:
            has_ref = missing.start in with_ref
            ref = quoting.ref_of_gap(missing) if has_ref else ""
            writer.pass_over(missing, ref, marked=has_ref or not indices)
        if index is not None:
            writer.quote(index, quoted.pop(index))
    return user(writer.text)


class _Writer:
    """Writes the lines of a note."""

    def __init__(self, quoting: Quoting, quoted: Mapping[int, Slots], opening: str) -> None:
        """Begin a note.

        Args:
            quoting: the `Quoting` of the conversation.
            quoted: the spans that are still to be quoted, by message.
            opening: the first line.
        """
        self._quoting, self._quoted, self._lines = quoting, quoted, [opening]
        self._call_above: str | None = None  # the id of the call that the line above names
        self._last_ref = ""  # the ref in the last mark with the ref of a text

    @property
    def text(self) -> str:
        """The note so far."""
        return "\n".join(self._lines)

    def pass_over(self, missing: range, ref: str, *, marked: bool) -> None:
        """Continue after messages that are not quoted."""
        self._call_above = None
        if marked:
            self._lines.append(_mark_of_gap(self._quoting, missing, ref))

    def quote(self, index: int, slots: Slots) -> None:
        """Write the quotes of a message, and marks for its other long texts and its pictures."""
        message = self._quoting.plan.messages[index]
        for slot, block in enumerate(message.blocks):
            for part in self._quoting.parts(block):
                if spans := slots.get((slot, part.key)) or _besides_quotes(message, block):
                    self._quote_text(index, block, part, spans)
                elif isinstance(block, Text):
                    self._mark_text(message, block, part)
        if message.starts_turn and (pictures := images_in(message)):
            mark = mark_of(len(pictures), self._quoting.ref_of_message(index))
            self._lines.append(f"[{message.role.capitalize()}] {mark}")

    def _quote_text(
        self, index: int, block: Block, part: QuotedText, spans: Sequence[Span]
    ) -> None:
        quoting, message = self._quoting, self._quoting.plan.messages[index]
        begins = min(spans)[0] == 0
        ends = self._end_of(block)
        ref = _ref_in_gaps(quoting, index, block, part.key)
        text = render(part.text, spans, "" if ref == self._last_ref else ref)
        who = label(
            quoting, message, block, part.key, self._call_above,
            begins=begins, whole=text == part.text, ended=ends,
        )  # fmt: skip
        if not _labels_are_real(message, block):
            text = without_labels(text, quoting.label_begins)
        if marked_with(text, ref):
            self._last_ref = ref
        if part.key == "line" and ends:
            text += f" → {ends}"
        self._lines.append(f"[{who}]{NEWLINE if NEWLINE in text else ' '}{text}")
        self._call_above = call_of(block)

    def _mark_text(self, message: Message, block: Text, part: QuotedText) -> None:
        """Write the mark of a text without quotes, if it has a ref of its own."""
        if ref := own_ref(part.text, self._quoting.plan.archive):
            who = label(self._quoting, message, block, part.key, self._call_above)
            self._lines.append(f"[{who}] {gap(part.text, ref)}")
            self._call_above = None

    def _end_of(self, block: Block) -> str:
        """How a quoted call ended, if its result is not quoted."""
        if not isinstance(block, ToolCall):
            return ""
        result = self._quoting.results.get(block.id)
        if result is None or (result.slot, "") in self._quoted.get(result.message, NO_SLOTS):
            return ""
        known = self._quoting.outcomes.get(block.id)
        runs = next(commands_of(block), "")
        if not known and (not runs or only_looks(runs)):
            return ""
        plan = self._quoting.plan
        small = plan.room is not None and plan.room < measured.SUCCESS_SHARE * plan.total
        return end_of(result.block, known, success=not small)


def _mark_of_gap(quoting: Quoting, missing: range, ref: str) -> str:
    """The mark of a gap of messages; messages that a repair added do not count."""
    given = [index for index in missing if quoting.plan.messages[index].source is not None]
    return gap_of_messages(len(given) or len(missing), ref)


def _ref_in_gaps(quoting: Quoting, index: int, block: Block, key: str) -> str:
    """The ref that restores the missing parts of a text.

    An argument has no ref of its own and is restored with its message. The ref of a result is in
    its label.
    """
    match block:
        case Text():
            return own_ref(block.text, quoting.plan.archive)
        case ToolCall() if key != "line":
            return quoting.ref_of_message(index)
        case _:
            return ""


def _labels_are_real(message: Message, block: Block) -> bool:
    """Whether labels in a text need no escaping: in the user's own words and in our own quotes."""
    if message.role != "user" or not isinstance(block, Text):
        return False
    return not is_note(block.text) or holds_excerpts(block.text)


def _besides_quotes(message: Message, block: Block) -> Sequence[Span]:
    """The spans to show of a text without chosen spans, in a message that is quoted.

    A short text of the user is shown completely, because it may be the request about a long text
    that the user pasted.
    """
    if message.role != "user" or not isinstance(block, Text):
        return ()
    text = block.text
    return [(0, len(text))] if len(text) <= TEXT_WITH_REF_CHARS and holds_user_words(text) else ()
