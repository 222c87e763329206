"""Whether an answer is a summary, and `SummaryRecord`: what one covers, and its cost.

An answer is measured by what its instructions ask for, and by what it should summarise. Where they
have sections, it has headings, too, of whatever names and in whatever language: weak models
translate and rename them. A small record is judged mildly, and so are instructions of the user's
own without sections: they may ask for a sentence.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from math import ceil

from context_compression.evidence.ledger import Entry
from context_compression.evidence.words import Lexicon
from context_compression.summaries.summarizer import SummaryReply


@dataclass(frozen=True)
class SummaryRecord:
    """A summary, the messages it covers, and its cost.

    Attributes:
        text: the summary alone.
        first_kept: index of the first message after those it covers.
        replies: every answer of a model.
        unverified: its claims without a source, which were removed from `text`.
        ledger: the evidence in the messages it covers.
        whole_ledger: the full ledger so far as text; the view has a part of it and its ref.
        read_files: files that were only read so far in the conversation.
        modified_files: files that were created, changed, renamed or deleted so far.
    """

    text: str = field(repr=False)
    first_kept: int
    replies: tuple[SummaryReply, ...] = field(default=(), repr=False)
    unverified: tuple[str, ...] = field(default=(), repr=False)
    ledger: tuple[Entry, ...] = field(default=(), repr=False)
    whole_ledger: str = field(default="", repr=False)
    read_files: tuple[str, ...] = field(default=(), repr=False)
    modified_files: tuple[str, ...] = field(default=(), repr=False)

    @property
    def cost(self) -> float | None:
        """The cost of the answers in US dollars; `None` if the summarizer has no price."""
        costs = [reply.cost for reply in self.replies if reply.cost is not None]
        return sum(costs) if len(costs) == len(self.replies) else None

    @property
    def usage(self) -> dict[str, int | float | None]:
        """The tokens and the cost of all answers together."""
        return {
            "input_tokens": sum(reply.input_tokens for reply in self.replies),
            "output_tokens": sum(reply.output_tokens for reply in self.replies),
            "cache_read_tokens": sum(reply.cache_read_tokens for reply in self.replies),
            "cache_write_tokens": sum(reply.cache_write_tokens for reply in self.replies),
            "cost": self.cost,
        }


HEADING = re.compile(
    r"^[ \t]{0,3}(?:#{1,6}[ \t]*\S|(?:\d{1,2}[.)][ \t]+)?\*\*[^*\n]{1,80}\*\*:?[ \t]*$"
    r"|\*\*[^*\n]{1,80}(?::\*\*|\*\*:)|(?:\d{1,2}[.)][ \t]+)?[^\W\d_][^\n:：#`{}]{0,40}[:：][ \t]*$"
    r"|[^\n]{1,80}\n(?:={3,}|-{3,})[ \t]*$)",
    re.MULTILINE,
)
"""A heading: `## Goal`, `**Goal**`, `Goal:` alone on its line, or an underlined line."""
ERROR = re.compile(
    r"\W{0,4}(?:(?:api |http |internal |server )?error\b|traceback\b|exception\b|rate.?limit"
    r"|too many requests|(?:http )?[45]\d\d\b|service unavailable|\{\"error\")",
    re.IGNORECASE,
)
"""The beginning of the text of an error."""
CALL = re.compile(
    r"\s*(?:```(?:json|xml)?\s*)?(?:<(?:tool_call|function_call|function|invoke|tool_use)\b"
    r"|<\|?(?:tool|python)|\[TOOL_CALLS?\]|\{\s*\"(?:tool_calls?|name|function|action|tool)\")",
    re.IGNORECASE,
)
"""The beginning of a call that was written as a text."""
TURN = re.compile(r"\[(?:User|Assistant(?: tool calls)?|Tool result|Developer)\]")
"""The beginning of an entry of a record."""
CHARS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")
"""Letters of scripts that write words without blanks between them."""
WORDS = re.compile(rf"{CHARS.pattern}|\d+|[^\W\d_]+")
NAME_PARTS = re.compile(r"[A-Z]?[^\W\d_A-Z]{3,}|[A-Z]{4,}|\d{2,}")
"""The parts of a path or a symbol, as a summary may name them: `login` of `src/login_form.py`."""
ECHO, GRAM = 0.5, 4
"""The share of an answer's runs of words from which on it counts as an echo of the instructions,
and the words of a run."""
WORD_FOR_WORD, FEWEST_GRAMS = 0.8, 20
"""The share of the instructions' own runs of words from which on an answer repeats them, whatever
else it holds; and how many runs instructions have at least for that."""
LEAST_LINE = 12
"""The most letters of a text that says nothing, with its headings."""
FEWEST_LETTERS = 6
"""The fewest letters beneath the headings of a summary."""
LEAST_SHARE, LEAST_OF_EARLIER, LEAST_TOKENS = 0.0015, 0.25, 80
"""The least size of a summary: this share of its record, or of the summary that it updates; more
than the last number of tokens is never asked for. All sections with "none" have 60 tokens."""
SMALL_RECORD, LARGE_RECORD = 2_000, 10_000
"""Tokens of a record. From the first on, a summary holds something of it; from the second on, it
also has a size and sections."""
SECTIONS_SHARE = 0.2
"""The share of the sections that a summary of a large record has at least."""
FEW_WORDS = 20
"""A record with fewer evidence words than this is talk: a summary of it shares any word with it, or
is in another language."""
SHARED_WORDS, SHARED_SHARE = 4, 0.25
"""The words, and the share of its words, that a summary without evidence shares with its record;
words of the instructions do not count."""


@dataclass(frozen=True)
class SummarySource:
    """What an answer should summarise.

    Attributes:
        record: the record of the conversation, or a part of it.
        earlier: the summary that it updates; "" if there is none.
        count: counts the tokens of a text.
    """

    record: str = ""
    earlier: str = ""
    count: Callable[[str], int] = len

    @cached_property
    def tokens(self) -> int:
        """Tokens of the record."""
        return self.count(self.record)


def why_no_summary(
    text: str, instructions: str, source: SummarySource | None = None, *, system: str = ""
) -> str | None:
    """Why an answer is not a summary; `None` if it is one.

    Args:
        text: the answer, stripped.
        instructions: what the prompt asks for, without the record.
        source: what it should summarise; by default that is not judged.
        system: the system prompt.
    """
    source = source or SummarySource()
    begins = f'it begins "{" ".join(text[:80].split())}"'
    if CALL.match(text):
        return f"it is a tool call as text; {begins}"
    asked = headings(instructions) or headings(source.earlier)
    if asked and not HEADING.search(text):
        what = "the text of an error" if ERROR.match(text) else "without any section"
        return f"it is {what}; {begins}"
    below = text.partition("\n")[2]
    if ERROR.match(text) and not (headings(below) if asked else below):
        return f"it is the text of an error; {begins}"
    if _goes_on(text):
        return f"it goes on with the conversation; {begins}"
    echoes = _is_echo(text, f"{instructions}\n{system}", source.record)
    if echoes or _holds(text, instructions, source.record):
        return f"it repeats the instructions; {begins}"
    body = HEADING.sub("", text)
    if sum(map(str.isalpha, body)) < FEWEST_LETTERS and sum(map(str.isalpha, text)) < LEAST_LINE:
        return f"it says nothing; {begins}"
    if source.tokens < SMALL_RECORD:
        return None
    is_large = asked and source.tokens >= LARGE_RECORD
    why = (_why_too_short(text, source) or _why_incomplete(text, asked)) if is_large else None
    return why or _why_unrelated(text, source, f"{instructions}\n{system}")


def headings(text: str) -> int:
    """How many headings a text has."""
    return sum(1 for _ in HEADING.finditer(text))


def _goes_on(text: str) -> bool:
    """Whether most lines of a text are entries of a record."""
    lines = [line for line in map(str.strip, text.split("\n")) if line]
    return 2 * sum(TURN.match(line) is not None for line in lines) > len(lines)


def _is_echo(text: str, instructions: str, record: str) -> bool:
    """Whether most of a text, without its headings, is in the instructions, and not in the record.

    A record may be about these very instructions.
    """
    said = [*_grams(HEADING.sub("", text))]
    echoed = {*_grams(instructions)}.intersection(said)
    if 2 * len(echoed) < ECHO * len({*said}):
        return False
    ours = echoed.difference(_grams(record))
    return sum(gram in ours for gram in said) >= ECHO * len(said) > 0


def _holds(text: str, instructions: str, record: str) -> bool:
    """Whether a text repeats the instructions nearly word for word, beside whatever else."""
    own = {*_grams(HEADING.sub("", instructions))}
    own.difference_update(_grams(record))
    least = max(FEWEST_GRAMS, WORD_FOR_WORD * len(own))
    return len(own.intersection(_grams(HEADING.sub("", text)))) >= least


def _grams(text: str) -> Iterator[tuple[str, ...]]:
    """All runs of some words of a text."""
    words = WORDS.findall(text.casefold())
    return zip(*(words[start:] for start in range(GRAM)), strict=False)


def _why_too_short(text: str, source: SummarySource) -> str | None:
    tokens = source.count(text)
    earlier = source.count(source.earlier) if source.earlier else 0
    least = min(LEAST_TOKENS, max(LEAST_SHARE * source.tokens, LEAST_OF_EARLIER * earlier))
    if tokens >= least:
        return None
    beside = f" and an earlier summary of {earlier:,}" if earlier else ""
    return f"it has {tokens} tokens, for a record of {source.tokens:,}{beside}"


def _why_incomplete(text: str, asked: int) -> str | None:
    found = headings(text)
    if found >= ceil(SECTIONS_SHARE * asked):
        return None
    return f"it has {found} of {asked} sections"


def _why_unrelated(text: str, source: SummarySource, instructions: str) -> str | None:
    """That a text holds nothing of its source; `None` if it does, or if that cannot be judged."""
    record = f"{source.record}\n{source.earlier}"
    evidence = {word for word, _ in Lexicon().words(record)}
    known = {*map(str.casefold, chain.from_iterable(map(NAME_PARTS.findall, evidence)))}
    known.difference_update(map(str.casefold, NAME_PARTS.findall(instructions)))
    if not known.isdisjoint(map(str.casefold, NAME_PARTS.findall(text))):
        return None
    lowered = record.casefold()
    if any(word.casefold() in lowered for word, _ in Lexicon().words(text)):
        return None
    own = {*_content_words(text)}.difference(_content_words(instructions))
    shared = own.intersection(_content_words(record))
    is_talk = len(evidence) < FEW_WORDS
    if len(shared) >= (1 if is_talk else max(SHARED_WORDS, SHARED_SHARE * len(own))):
        return None
    if is_talk and bool(CHARS.search(text)) != bool(CHARS.search(record)):
        return None  # in another language
    return "it holds no path, name or number of the record, and hardly any of its words"


def _content_words(text: str) -> Iterator[str]:
    """The longer words of a text, and pairs of letters of scripts that have no blanks."""
    before = ""
    for word in WORDS.findall(text.casefold()):
        if len(word) > 4 and not CHARS.match(word):
            yield word
        elif before and CHARS.match(word) and CHARS.match(before):
            yield before + word
        before = word
