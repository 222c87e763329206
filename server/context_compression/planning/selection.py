"""Clips, landmarks and receipts: the few lines that replace a long text.

The lines are chosen because later work is likely to refer to them.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from context_compression.conversation.arguments import texts_in
from context_compression.conversation.labels import Span
from context_compression.conversation.messages import COMPRESSED, Block, Message, Text, ToolResult
from context_compression.conversation.refs import REF, digest_of
from context_compression.evidence import facts as evidence
from context_compression.evidence.files import cut_by_host
from context_compression.evidence.redaction import MARK, redact
from context_compression.planning import measured
from context_compression.planning.plan import Archive, Plan, TokenCounter
from context_compression.plurals import how_many

SUMMARY_MARKS = ("SUMMARY", "CONVERSATION_SUMMARY", COMPRESSED)
REMINDER, REMINDER_END = "<system-reminder>", "</system-reminder>"
"""Claude Code puts its own additions to a tool result between these tags."""
RECEIPT = re.compile(
    r"\[[^\n]{1,200}: [\d,]+ tokens, [^\n]{1,700};"
    rf" ref ({REF})[;\]][^\n]{{0,400}}(?:\n|\Z)"
)
"""The beginning of a preview that this package wrote."""


def clip(text: str, max_chars: int, ref: str | None = None) -> str:
    """The beginning and end of a text, each half of `max_chars` characters, with a mark between.

    The mark says how many characters are missing and names the ref, if one is given. A text of at
    most `max_chars` characters is returned unchanged.
    """
    if len(text) <= max_chars:
        return text
    half = max_chars // 2
    return _clipped(text, half, len(text) - half, f"; ref {ref}" if ref else "")


def clip_redacted(text: str, max_chars: int) -> str:
    """`clip` for a redacted text; no mark of a secret is cut in two."""
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
    """A text with a mark in place of its characters from `start` to `stop`."""
    return f"{text[:start]}\n... [truncated {stop - start} characters{named}] ...\n{text[stop:]}"


def tokens_of_text(block: Block, counter: TokenCounter) -> int:
    """Tokens of a block with the structure around it, without other parts next to its texts."""
    if isinstance(block, ToolResult):
        texts = tuple(part for part in block.content if isinstance(part, Text))
        block = block if len(texts) == len(block.content) else replace(block, content=texts)
    return counter.block(block)


def shortened(text: str, most: int) -> str:
    """The beginning and the end of a text, because the end of a path is the file's name.

    Secrets are removed before the cut, because half a secret could not be recognised afterwards.
    """
    if len(text) > most:
        text = redact(text)
    return text if len(text) <= most else f"{text[: most // 2]}…{text[-most // 2 :]}"


def receipt_of(text: str, archive: Archive) -> re.Match[str] | None:
    """The receipt at the beginning of a preview of this package; `None` for any other text."""
    match = RECEIPT.match(text)
    if not match or match[1] not in archive.refs:
        return None
    return match if digest_of(text) in archive.previews else None


def previews_in(before: Message, after: Message, archive: Archive) -> Iterator[str]:
    """The hashes of the texts in a message that are previews of its texts before the edit."""
    results = {result.call_id: result.text for result in before.results}
    calls = {call.id: call for call in before.calls}
    pairs = [
        *(([results.get(each.call_id, "")], [each.text]) for each in after.results),
        *((texts_in(calls[each.id]), texts_in(each)) for each in after.calls if each.id in calls),
    ]
    for full_texts, texts in pairs:
        found = [(match[1], text) for text in texts if (match := RECEIPT.match(text))]
        refs = {ref_of_full(full, archive) for full in full_texts} if found else ()
        yield from (
            digest_of(text) for ref, text in found if ref in refs and text not in full_texts
        )


def own_ref(text: str, archive: Archive) -> str:
    """The ref of a text, if it has one in addition to that of its message; else `""`."""
    return archive.ref_of(text) if len(text) > measured.TEXT_WITH_REF_CHARS else ""


def ref_of_full(text: str, archive: Archive) -> str:
    """The ref of a text; for a preview the ref of the full text."""
    match = receipt_of(text, archive)
    return match[1] if match else archive.ref_of(text)


def receipt(what: str, ref: str, archive: Archive, *, with_file: bool = False) -> str:
    """One line in place of removed content; it names `context_restore` only if that will work."""
    where = f"; file {archive.path(ref)}" if with_file and archive.path else ""
    how = f'; context_restore(ref="{ref}") brings it back' if archive.restorable else ""
    return f"[{what}; ref {ref}{where}{how}]"


def describe(result: ToolResult, tool: str, tokens: int) -> str:
    """A tool result in a few words: `"Bash: 9,034 tokens, 812 lines, exit 1"`."""
    text = result.text
    parts = [how_many(tokens, "token"), how_many(text.count("\n") + 1, "line")]
    if (status := evidence.exit_status(text)) is not None:
        parts.append(f"exit {status}")
    if result.is_error:
        parts.append("error")
    if cut := cut_by_host(text):
        parts.append(str(cut))
    return f"{tool}: {', '.join(parts)}"


def tool_names(plan: Plan) -> dict[str, str]:
    """The name of the called tool, by call id."""
    return {call.id: call.name for message in plan.messages for call in message.calls}


def end_of_output(text: str) -> int:
    """The end of a tool's output in a result, before the host's additions at the end.

    A result that consists only of such an addition counts as output.
    """
    end, stop = len(text), len(text.rstrip())
    while text.endswith(REMINDER_END, 0, stop) and (stop := text.rfind(REMINDER, 0, stop)) > 0:
        while stop and text[stop - 1].isspace():
            stop -= 1
        end = stop or end
    return end


def ending(text: str, max_chars: int) -> list[Span]:
    """The spans that tell how an output ended: its last outcome, and its last error.

    All lines together take at most `max_chars` characters.
    """
    errors = [*evidence.failures_in(text[: end_of_output(text)])]
    chosen: set[Span] = set()
    for start, stop in (*reversed(evidence.outcome_lines(text)), *errors[-1:]):
        line = start, min(stop, start + max_chars)
        if text[start:stop].strip() and line not in chosen and line[1] - start <= max_chars:
            chosen.add(line)
            max_chars -= line[1] - start
    return sorted(chosen)


def landmarks(text: str, max_chars: float) -> list[Span]:
    """The spans of the most telling lines of an output: the first, the last, errors and tests.

    A line that is too long for a preview is cut. Additions of the host at the end are ignored. All
    lines together take about `max_chars` characters at most.
    """
    end = end_of_output(text)
    first = (0, text.find("\n") % (len(text) + 1))
    last = evidence.last_line(text, end)
    errors = list(evidence.failures_in(text))
    chosen: set[Span] = set()
    tests = evidence.count_of_tests(text)
    outcomes = [*([tests] if tests else ()), *reversed(evidence.outcome_lines(text))]
    for start, stop in (first, last, *outcomes, *errors[-2:], *errors[:2]):
        line = (start, min(stop, start + measured.LONGEST_PREVIEW_LINE_CHARS))
        cost = line[1] - start + measured.PREVIEW_MARK_CHARS
        if cost <= max_chars and line not in chosen and text[start:stop].strip():
            chosen.add(line)
            max_chars -= cost
    return sorted(chosen)
