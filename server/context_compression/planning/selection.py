"""Clips, landmarks, digests and receipts: the few lines of a long text that stay in its place.

They answer one question: which lines does later work refer back to?
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from context_compression.conversation import authors
from context_compression.conversation.messages import COMPRESSED, Block, Message, Text, ToolResult
from context_compression.conversation.refs import DIGITS, REF, digest_of
from context_compression.conversation.rendering import Span
from context_compression.display.plurals import how_many
from context_compression.evidence import facts as evidence
from context_compression.evidence.lexicon import Lexicon
from context_compression.evidence.redaction import MARK, beginning, redact
from context_compression.planning import measured
from context_compression.planning.archive import Archive
from context_compression.planning.plan import Counter, Plan

SUMMARY_MARKS = ("SUMMARY", "CONVERSATION_SUMMARY", COMPRESSED)
REMINDER, REMINDER_END = "<system-reminder>", "</system-reminder>"
"""Between these stands what Claude Code adds to what a tool answered."""
RECEIPT = re.compile(
    r"\[[^\n]{1,200}: [\d,]+ tokens, [^\n]{1,200};"
    rf" ref ({REF})[;\]][^\n]{{0,400}}(?:\n|\Z)"
)
"""How a preview written by us begins."""


def clip(text: str, max_chars: int, ref: str | None = None) -> str:
    """The first and last half of `max_chars` characters around a mark that says what is missing."""
    if len(text) <= max_chars:
        return text
    half = max_chars // 2
    return _clipped(text, half, len(text) - half, f"; ref {ref}" if ref else "")


def clip_redacted(text: str, max_chars: int) -> str:
    """The same of a text without its secrets; no mark of one is cut in two."""
    if len(text) <= max_chars:
        return text
    start, stop = max_chars // 2, len(text) - max_chars // 2
    for mark in MARK.finditer(text):
        if mark.start() < start < mark.end():
            start = mark.start()
        if mark.start() < stop < mark.end():
            stop = mark.end()
    return _clipped(text, start, max(start, stop), "")


def _clipped(text: str, start: int, stop: int, named: str) -> str:
    """A text without what stands from `start` to `stop`."""
    return f"{text[:start]}\n... [truncated {stop - start} characters{named}] ...\n{text[stop:]}"


def tokens_of_text(block: Block, counter: Counter) -> int:
    """Tokens of a block with what wraps it, without the pictures next to its text."""
    if isinstance(block, ToolResult):
        texts = tuple(part for part in block.content if isinstance(part, Text))
        block = block if len(texts) == len(block.content) else replace(block, content=texts)
    return counter.block(block)


def shortened(text: str, most: int) -> str:
    """A text as its beginning and its end: of a path the end, the file's name, says most.

    Half a secret would not be recognised any more: secrets are removed before the cut.
    """
    if len(text) > most:
        text = redact(text)
    return text if len(text) <= most else f"{text[: most // 2]}…{text[-most // 2 :]}"


def receipt_of(text: str, archive: Archive) -> re.Match[str] | None:
    """The receipt at the beginning of a preview written by us; `None` for any other text."""
    match = RECEIPT.match(text)
    if not match or match[1] not in archive.refs:
        return None
    digest = digest_of(text)  # of which older versions kept the beginning alone
    is_made = digest in archive.previews or digest[:DIGITS] in archive.previews
    return match if is_made or match[1] in archive.wholes else None


def previews_in(before: Message, after: Message, archive: Archive) -> Iterator[str]:
    """The hashes of results in a message that are previews of those it had before."""
    full_texts = {result.call_id: result.text for result in before.results}
    for result in after.results:
        full, match = full_texts.get(result.call_id, result.text), RECEIPT.match(result.text)
        if match and result.text != full and match[1] == ref_of_full(full, archive):
            yield digest_of(result.text)


def own_ref(text: str, archive: Archive) -> str:
    """The ref of a text, where it has one besides that of its message; else nothing."""
    return archive.ref_of(text) if len(text) > measured.TEXT_WITH_REF_CHARS else ""


def ref_of_full(text: str, archive: Archive) -> str:
    """The ref of a text; of a preview the ref of the full text."""
    match = receipt_of(text, archive)
    return match[1] if match else archive.ref_of(text)


def receipt(what: str, ref: str, archive: Archive, *, with_file: bool = False) -> str:
    """One line in place of what left; it names `context_restore` only where that will work."""
    where = f"; file {archive.path(ref)}" if with_file and archive.path else ""
    how = f'; context_restore(ref="{ref}") brings it back' if archive.restorable else ""
    return f"[{what}; ref {ref}{where}{how}]"


def describe(result: ToolResult, tool: str, tokens: int) -> str:
    """`"Bash: 9,034 tokens, 812 lines, exit 1"`: what a tool result was, in a few words."""
    text = result.text
    parts = [how_many(tokens, "token"), how_many(text.count("\n") + 1, "line")]
    if (status := evidence.exit_status(text)) is not None:
        parts.append(f"exit {status}")
    if result.is_error:
        parts.append("error")
    return f"{tool}: {', '.join(parts)}"


def tool_names(plan: Plan) -> dict[str, str]:
    """The name of the tool behind each call id."""
    return {call.id: call.name for message in plan.messages for call in message.calls}


def end_of_output(text: str) -> int:
    """Where a tool's output ends: before what the host added to it, if it holds anything else."""
    end, stop = len(text), len(text.rstrip())
    while text.endswith(REMINDER_END, 0, stop) and (stop := text.rfind(REMINDER, 0, stop)) > 0:
        while stop and text[stop - 1].isspace():
            stop -= 1
        end = stop or end
    return end


def landmarks(text: str, max_chars: float) -> list[Span]:
    """Where the lines stand that show what an output is: the outer ones and those of errors.

    Of a line too long for a preview the beginning. What the host adds at the end is no line of it.
    """
    end = end_of_output(text)
    first = (0, text.find("\n") % (len(text) + 1))
    last = (text.rfind("\n", 0, end) + 1, end)
    errors = list(evidence.lines_with(text, evidence.ERROR_WORDS))
    chosen: set[Span] = set()
    tests = evidence.count_of_tests(text)
    for start, stop in (first, last, *([tests] if tests else ()), *errors[-2:], *errors[:2]):
        line = (start, min(stop, start + measured.LONGEST_PREVIEW_LINE_CHARS))
        cost = line[1] - start + measured.PREVIEW_MARK_CHARS
        if cost <= max_chars and line not in chosen and text[start:stop].strip():
            chosen.add(line)
            max_chars -= cost
    return sorted(chosen)


def digest(messages: Sequence[Message], max_chars: int) -> str:
    """What happened in some messages, found by code, in at most `max_chars` characters.

    What the user asked comes first, then their constraints, decisions, files, commands, errors; a
    section gets no room that an earlier one needs.
    """
    questions, lexicon = authors.question_calls(messages), Lexicon()
    words = (authors.words_of_user(message, questions) for message in messages)
    requests = [text for each in words if (text := " ".join(each.split()))]
    facts = [evidence.facts(message, lexicon, questions) for message in messages]
    paths = _by_frequency([each["paths"] for each in facts])
    sections = (
        (
            "User asked",
            [shortened(text, measured.REQUEST_CHARS) for text in (*requests[:1], *requests[:0:-1])],
        ),
        ("Constraints", _newest([each["constraints"] for each in facts])),
        ("Decisions", _newest([each["decisions"] for each in facts])),
        ("Files", paths),
        (
            "Commands",
            [
                beginning(" ".join(c.split()), measured.COMMAND_CHARS)
                for c in _newest([f["commands"] for f in facts])
            ],
        ),
        (
            "Errors",
            [
                beginning(line, measured.ERROR_CHARS)
                for line in _newest([each["errors"] for each in facts])
            ],
        ),
    )
    lines: list[str] = []
    room = max_chars
    for title, items in sections:
        line, taken = f"{title}: ", 0
        for item in dict.fromkeys(items):
            joined = item if not taken else "; " + item
            if len(line) + len(joined) + 1 > room or taken == measured.DIGEST_ITEMS:
                break
            line += joined
            taken += 1
        if taken:
            lines.append(line)
            room -= len(line) + 1
    return "\n".join(lines)


def _by_frequency(groups: Sequence[set[str]]) -> list[str]:
    counts: dict[str, int] = {}
    for group in groups:
        for word in sorted(group):
            counts[word] = counts.get(word, 0) + 1
    return sorted(counts, key=lambda word: -counts[word])


def _newest(groups: Sequence[set[str]]) -> list[str]:
    return [item for group in reversed(groups) for item in sorted(group)]
