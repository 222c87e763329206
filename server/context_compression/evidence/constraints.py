"""The user's standing constraints: sentences with `must`, `never`, `always` and similar words.

The words of other languages are in `rule_words`. A sentence that stands apart in a long text may be
a constraint without such words (`asides`).
"""

import re
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from context_compression.conversation.authors import holds_excerpts, user_spans
from context_compression.conversation.digest_notes import is_digest, rule_spans
from context_compression.conversation.labels import quotes_of
from context_compression.evidence.asides import asides
from context_compression.evidence.rule_words import RuleWords

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
    r"(?:\A|[^\w\s'’]\s*|\b(?:and|but|also|please|then|just)\s+)"
    rf"(?:(?:do not|don't){NO_RULE}|never|always|only|make sure|ensure|avoid|prefer)\b"
    r"|(?<!\bI )\bmust(?:n't)?\b|\b(?:we|you|should|shall|may|will|can|to|be) (?:never|always)\b"
    r"|\byou should(?:n't)?\b|(?-i:\b(?:NOT|NEVER|ALWAYS|ONLY|DON'T|SHOULD)\b)",
    re.IGNORECASE,
)
"""A certain constraint in English: in the imperative, or addressed to the agent. Other sentences
may be talk (`it should be fun`, `I always get lost`)."""
SENTENCE = re.compile(r"(?<=[.!?。！？।۔؟።။])\s+|(?<=[。！？])|\n+")
LONGEST_LINE = 400
"""The most characters of a sentence or line that counts as one statement."""


def sentences(text: str) -> list[str]:
    """The sentences and lines of a text, stripped, without empty lines."""
    return [text[start:stop] for start, stop in _sentences(text, 0, len(text))]


def _sentences(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    ends = (end.span() for end in SENTENCE.finditer(text, start, stop))
    for end, after in chain(ends, [(stop, stop)]):
        part = text[start:end]
        if sentence := part.strip():
            begin = start + part.index(sentence)
            yield begin, begin + len(sentence)
        start = after


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
        spans = [*_sentences(text, start, stop)]
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
    for begin, end in _sentences(text, start, stop):
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
