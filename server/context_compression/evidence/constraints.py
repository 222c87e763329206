"""The user's standing constraints: sentences with `must`, `never`, `always` and their like.

The words are in `rule_words`. A sentence that stands apart in a long text, around or amid pasted
material, may be a constraint without them. It is recognised by position alone, in any language: it
shares hardly any words with lines that are much alike, it is in another script than the other
sentences, or it is the only prose among lines of code, data or a log.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from context_compression.conversation.authors import holds_excerpts, user_spans
from context_compression.conversation.labels import Span, is_digest, quotes_of, rule_spans
from context_compression.evidence.rule_words import RuleWords, Script, folded, script_of
from context_compression.evidence.sentences import LONGEST_LINE, sentence_spans

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


class SentenceFeatures(NamedTuple):
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


def _look(sentence: str) -> SentenceFeatures:
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
    return SentenceFeatures(
        frozenset(words), script, size, speaks, STOPS.search(sentence) is not None
    )


def _unlike(looks: Sequence[SentenceFeatures]) -> set[int]:
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


def _in_another_script(looks: Sequence[SentenceFeatures]) -> set[int]:
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


def _only_prose(looks: Sequence[SentenceFeatures]) -> set[int]:
    """The few sentences in prose, if the other lines are not."""
    found = {
        number
        for number, look in enumerate(looks)
        if look.speaks and look.stops and look.size >= LEAST_PROSE_WORDS
    }
    return found if len(found) <= min(MOST_PROSE, RARE * len(looks)) else set()


NUMBERED = re.compile(r"\d+(?::(?!\s\w|\d)|→|\t)")
"""The beginning of a file's numbered line, which is not a sentence of the user."""
QUESTION = re.compile(r"[?？؟՞][\s\"'”’)）]*\Z")
TAG = re.compile(r"[,;，、،]\s*(?:all |got |d'|n'est-ce )?[^\W\d]+[\s]*[?？؟][\s\"'”’)）]*\Z")
"""A tag question at the end of a sentence that is still a constraint: `Never push to main, ok?`"""
NO_RULE = (
    r"(?! (?:\w+ly )?(?:know|think|understand|see|remember|recall|believe|mind|care|feel)\b"
    r"|\s*(?:[.!?;。]|\Z))"
)
"""After `don't`: `I don't know` is no constraint, nor is `don't` at the end of a sentence."""
RULE = re.compile(
    r"(?:\A|(?:[^\w\s'’-]|(?<!\w)-)\s*|\b(?:and|but|also|please|then|just)\s+)"
    rf"(?:(?:do not|don't){NO_RULE}|never|always|only|make sure|ensure|avoid|prefer)\b"
    r"|(?<!\bI )\bmust(?:n't)?\b|\b(?:we|you|should|shall|may|will|can|to|be) (?:never|always)\b"
    r"|\byou should(?:n't)?\b|(?-i:\b(?:NOT|NEVER|ALWAYS|ONLY|DON'T|SHOULD)\b)",
    re.IGNORECASE,
)
"""A certain constraint in English: in the imperative, or addressed to the agent. Other sentences
may be talk (`it should be fun`, `I always get lost`)."""


def constraints(text: str) -> list[str]:
    """The sentences of a text that state a constraint.

    A question is a constraint only if it addresses the model (`you`, `please`), or if it is a
    certain rule with a tag (`Never push to main, ok?`).
    """
    return [text[start:stop] for start, stop in _constraints(text, 0, len(text))]


class Constraint(NamedTuple):
    """A sentence of the user that may be a standing constraint.

    Attributes:
        start: where it begins in its text.
        stop: where it ends, exclusive.
        sure: whether it has the form of a rule.
        apart: whether it stands apart from the other sentences of a long text.
    """

    start: int
    stop: int
    sure: bool
    apart: bool


def constraints_in(text: str) -> Iterator[tuple[int, int]]:
    """`(start, stop)` of the constraints in a text of role user, each distinct one once."""
    return ((found.start, found.stop) for found in constraints_of_user(text))


def constraints_of_user(text: str) -> list[Constraint]:
    """The constraints in a text of role user, each distinct one once.

    In a note of this package, constraints are searched in the quotes of the user, and in a digest
    also in its section of constraints; they still apply. Sentences that stand apart in a long text
    are included, whatever their words.
    """
    found = list[Constraint]()
    seen = set[str]()
    quotes = holds_excerpts(text) or is_digest(text)
    parts = [*_spans_of_user(text)]
    if not parts:
        return found
    words = RuleWords(text)
    for start, stop in parts:
        spans = [*sentence_spans(text, start, stop)]
        apart = set[tuple[int, int]]() if quotes else asides(text, spans)
        for begin, end in spans:
            stands_apart = (begin, end) in apart
            if not (
                _is_constraint(text, begin, end, words)
                or (stands_apart and _may_be_one(text, begin, end))
            ):
                continue
            if (sentence := text[begin:end]) not in seen:
                seen.add(sentence)
                sure = _is_rule(sentence, begin, end, words)
                found.append(Constraint(begin, end, sure, stands_apart))
    return found


def _spans_of_user(text: str) -> Iterator[tuple[int, int]]:
    if is_digest(text):
        return rule_spans(text)
    return quotes_of("User", text) if holds_excerpts(text) else user_spans(text)


def _constraints(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    words = RuleWords(text)
    for begin, end in sentence_spans(text, start, stop):
        if _is_constraint(text, begin, end, words):
            yield begin, end


def _is_constraint(text: str, begin: int, end: int, words: RuleWords) -> bool:
    """Whether the words of a sentence may state a constraint."""
    if end - begin > LONGEST_LINE or not words.possible(begin, end):
        return False
    sentence = text[begin:end]
    if NUMBERED.match(sentence):
        return False
    if not QUESTION.search(sentence) or words.asks(begin, end):
        return True
    return TAG.search(sentence) is not None and _is_rule(sentence, begin, end, words)


def _may_be_one(text: str, begin: int, end: int) -> bool:
    """Whether a sentence that stands apart may be a constraint: it is no question."""
    return end - begin <= LONGEST_LINE and not QUESTION.search(text[begin:end])


def _is_rule(sentence: str, begin: int, end: int, words: RuleWords) -> bool:
    return RULE.search(sentence) is not None or words.sure(begin, end)


def is_rule(constraint: str) -> bool:
    """Whether a constraint is certain: `is_rule("Never push to main.")` -> `True`."""
    return _is_rule(constraint, 0, len(constraint), RuleWords(constraint))
