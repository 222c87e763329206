"""What the strategies share: clips, previews, digests, receipts.

They answer one question: which few lines of a long text does later work refer back to?
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate, chain, pairwise

from context_compression import evidence
from context_compression.messages import COMPRESSED, Message, ToolResult
from context_compression.plan import Archive, Plan

SUMMARY_MARKS = ("SUMMARY", "CONVERSATION_SUMMARY", COMPRESSED)
LONGEST_PREVIEW_LINE = 300
SHORTEST_PREVIEW_LINE = 24
CHARS_PER_TOKEN = 3.3
"""Only for choosing; what was chosen is counted exactly afterwards."""


def clip(text: str, max_chars: int, ref: str | None = None) -> str:
    """The first and last half of `max_chars` characters around a mark that says what is missing."""
    if len(text) <= max_chars:
        return text
    half = max_chars // 2
    named = f"; ref {ref}" if ref else ""
    mark = f"... [truncated {len(text) - 2 * half} characters{named}] ..."
    return f"{text[:half]}\n{mark}\n{text[len(text) - half :]}"


def receipt(what: str, ref: str, archive: Archive, *, with_file: bool = False) -> str:
    """One line in place of what left; it names `context_restore` only where that will work."""
    where = f"; file {archive.path(ref)}" if with_file and archive.path else ""
    how = f'; context_restore(ref="{ref}") brings it back' if archive.restorable else ""
    return f"[{what}; ref {ref}{where}{how}]"


def describe(result: ToolResult, tool: str, tokens: int) -> str:
    """`"Bash: 9,034 tokens, 812 lines, exit 1"`: what a tool result was, in a few words."""
    text = result.text
    parts = [f"{tokens:,} tokens", f"{text.count(chr(10)) + 1:,} lines"]
    if (status := evidence.exit_status(text)) is not None:
        parts.append(f"exit {status}")
    if result.is_error:
        parts.append("error")
    return f"{tool}: {', '.join(parts)}"


def tool_names(plan: Plan) -> dict[str, str]:
    """The name of the tool behind each call id."""
    return {call.id: call.name for message in plan.messages for call in message.calls}


def preview(text: str, max_tokens: int, plan: Plan, index: int) -> str:
    """The lines of a tool output that later work most likely needs, in order, gaps marked.

    First the outer lines and the errors, then the next outer lines, then lines that hold
    identifiers which message `index` shares with what is said or called elsewhere.
    """
    lines = text.split("\n")
    last = len(lines) - 1
    ends = [n for k in range(min(4, len(lines))) for n in (k, last - k)]
    errors = _numbers(lines, evidence.lines_with(text, evidence.ERROR_WORDS))
    shared = (
        number
        for number, line in enumerate(lines)
        if any(plan.used_outside(word, index) for word in plan.lexicon.numbers(line))
    )
    chosen: set[int] = set()
    room = max_tokens * CHARS_PER_TOKEN
    for number in chain(ends[:2], errors[-3:], errors[:3], ends, errors, shared):
        cost = min(len(lines[number]), LONGEST_PREVIEW_LINE) + 8
        if cost <= room and number not in chosen and lines[number].strip():
            chosen.add(number)
            room -= cost
        if room < SHORTEST_PREVIEW_LINE:
            break
    return excerpt(lines, sorted(chosen)) if chosen else ""


def _numbers(lines: Sequence[str], spans: Iterable[tuple[int, int]]) -> list[int]:
    """The numbers of the lines that begin where the spans do."""
    starts = {start for start, _ in spans}
    if not starts:
        return []
    positions = accumulate((len(line) + 1 for line in lines), initial=0)
    return [number for number, position in enumerate(positions) if position in starts]


def excerpt(lines: Sequence[str], chosen: Sequence[int]) -> str:
    """The chosen lines in order, each gap marked with the number of lines left out."""
    shown: list[str] = []
    for before, number in pairwise([-1, *chosen, len(lines)]):
        if number > before + 1:
            shown.append(f"[... {number - before - 1} lines ...]")
        if number < len(lines):
            shown.append(clip(lines[number], LONGEST_PREVIEW_LINE))
    return "\n".join(shown)


def digest(messages: Sequence[Message], max_chars: int) -> str:
    """What happened in some messages, by code, in at most `max_chars` characters.

    What the user asked comes first, then their constraints, decisions, files, commands, errors; a
    section gets no room that an earlier one needs.
    """
    said = [text for m in messages if (text := evidence.user_words(m).strip())]
    lexicon = evidence.Lexicon()
    found = [evidence.facts(message, lexicon) for message in messages]
    paths = _by_frequency([facts["paths"] for facts in found])
    sections = (
        ("User asked", [clip(" ".join(text.split()), 160) for text in (*said[:1], *said[:0:-1])]),
        ("Constraints", _newest([facts["constraints"] for facts in found])),
        ("Decisions", _newest([facts["decisions"] for facts in found])),
        ("Files", paths),
        ("Commands", [" ".join(c.split())[:100] for c in _newest([f["commands"] for f in found])]),
        ("Errors", [line[:120] for line in _newest([facts["errors"] for facts in found])]),
    )
    lines: list[str] = []
    room = max_chars
    for title, items in sections:
        line, taken = f"{title}: ", 0
        for item in dict.fromkeys(items):
            joined = item if not taken else "; " + item
            if len(line) + len(joined) + 1 > room or taken == 8:
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
