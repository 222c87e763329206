"""Sentences that stand apart in a long text: the user's own words around or amid pasted material.

They are recognised by position alone, in any language. A sentence stands apart if it shares hardly
any words with lines that are much alike, if it is in another script than the other sentences, or if
it is the only prose among lines of code, data or a log.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from context_compression.conversation.rendering import Span
from context_compression.evidence.rule_words import Script, folded, script_of

LEAST_CHARS, LEAST_SENTENCES = 6_000, 12
"""The fewest characters, and sentences and lines, of a text in which one can stand apart."""
MOST_SENTENCES = 2_000
"""How many sentences of a text are compared; of a longer text the first and last ones."""
MOST_ASIDES = 6
"""The most sentences of a text that stand apart; of more, the first and last ones are taken."""
RARE = 0.1
"""The share of the sentences up to which they can stand apart from the others."""
STRANGE, FAMILIAR = 0.4, 0.6
"""The share of common words up to which a sentence is unlike the others, and from which on it is
like them."""
LEAST_OFTEN, COMMON = 3, 0.05
"""In how many sentences, and in which share of them, a word must occur to be common."""
MOST_PROSE = 3
"""The most sentences in prose that stand apart from other lines by their kind."""
LEAST_WORDS, LEAST_PROSE_WORDS = 3, 4
"""The fewest words of a sentence that stands apart by its words or script, and by its kind. Two
letters of a script without blanks count as a word."""
LETTERS = 0.6
"""The share of letters in a sentence, not counting blanks; code and data have fewer."""
LETTER_RUN = re.compile(r"[^\W\d_]+")
OPENS = re.compile(r"[\"'«“„¿¡(（「『*•-]*\s*[^\W\d_]")
CLOSES = re.compile(r"[^\W_][\"'»”)）」』]*\Z|[.!。！।۔።။][\"'»”)）」』*]*\Z")
STOPS = re.compile(r"[.!。！।۔።။][\"'»”)）」』*]*\Z")
CODE = re.compile(r"[{}\[\]<>|=;\\]|\(\)|::|->|^\s*(?:at|from|import|def|class|return|File) ")
"""What a sentence of the user seldom holds, but code, data and stack traces do."""


class Look(NamedTuple):
    """What a sentence looks like.

    Attributes:
        words: its words in lower case; of a script without blanks its letters.
        script: the script of most of its letters.
        size: about how many words it has.
        speaks: whether somebody may have said it.
        stops: whether it also ends with a full stop or an exclamation mark.
    """

    words: frozenset[str]
    script: Script | None
    size: float
    speaks: bool
    stops: bool


def asides(text: str, sentences: Sequence[Span]) -> set[Span]:
    """The sentences of a long text that stand apart from the others, at most `MOST_ASIDES`.

    Args:
        text: a text of the user.
        sentences: the spans of its sentences and lines, in order.
    """
    if len(text) < LEAST_CHARS or len(sentences) < LEAST_SENTENCES:
        return set()
    if len(sentences) > MOST_SENTENCES:
        half = MOST_SENTENCES // 2
        sentences = [*sentences[:half], *sentences[-half:]]
    looks = [_look(text[start:stop]) for start, stop in sentences]
    strange = _unlike(looks) | _in_another_script(looks) | _only_prose(looks)
    found = [span for number, span in enumerate(sentences) if number in strange]
    half = MOST_ASIDES // 2
    return {*found} if len(found) <= MOST_ASIDES else {*found[:half], *found[-half:]}


def _look(sentence: str) -> Look:
    letters: dict[Script | None, int] = {}
    words = set[str]()
    size = 0.0
    for run in LETTER_RUN.findall(folded(sentence)):
        script = Script.LATIN if run.isascii() else script_of(run[0])
        letters[script] = letters.get(script, 0) + len(run)
        blanks = script is None or script.value.blanks
        words.update([run] if blanks else run)
        size += 1 if blanks else len(run) / 2
    total = sum(letters.values())
    speaks = (
        OPENS.match(sentence) is not None
        and CLOSES.search(sentence) is not None
        and CODE.search(sentence) is None
        and total >= LETTERS * len("".join(sentence.split()))
    )
    script = max(letters, key=lambda each: letters[each]) if letters else None
    return Look(frozenset(words), script, size, speaks, STOPS.search(sentence) is not None)


def _unlike(looks: Sequence[Look]) -> set[int]:
    """The sentences that share hardly any words with the others, which are much alike."""
    often = Counter(word for look in looks for word in look.words)
    least = max(LEAST_OFTEN, COMMON * len(looks))
    common = {word for word, times in often.items() if times >= least}
    shares = [len(look.words & common) / (len(look.words) or 1) for look in looks]
    worded = [number for number, look in enumerate(looks) if look.words]
    alike = sum(shares[number] >= FAMILIAR for number in worded)
    if alike < (1 - RARE) * len(worded):
        return set()
    return {
        number
        for number in worded
        if shares[number] <= STRANGE and looks[number].speaks and looks[number].size >= LEAST_WORDS
    }


def _in_another_script(looks: Sequence[Look]) -> set[int]:
    """The few sentences in another script than the others."""
    scripts = Counter(look.script for look in looks if look.script)
    main = scripts.most_common(1)
    found = {
        number
        for number, look in enumerate(looks)
        if look.script
        and look.script is not main[0][0]
        and look.speaks
        and look.size >= LEAST_WORDS
    }
    return found if len(found) <= RARE * len(looks) else set()


def _only_prose(looks: Sequence[Look]) -> set[int]:
    """The few sentences in prose, if the other lines are not."""
    found = {
        number
        for number, look in enumerate(looks)
        if look.speaks and look.stops and look.size >= LEAST_PROSE_WORDS
    }
    return found if len(found) <= min(MOST_PROSE, RARE * len(looks)) else set()
