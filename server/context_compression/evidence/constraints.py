"""The user's standing constraints: sentences with `must`, `never`, `always` and similar words."""

import re
from collections.abc import Iterator
from itertools import chain

from context_compression.conversation.authors import holds_excerpts, user_spans
from context_compression.conversation.digest_notes import is_digest, rule_spans
from context_compression.conversation.labels import quotes_of

NO_RULE = (
    r"(?! (?:\w+ly )?(?:know|think|understand|see|remember|recall|believe|mind|care|feel)\b"
    r"|\s*(?:[.!?;。]|\Z))"
)
"""After `don't`: `I don't know` is no constraint, nor is `don't` at the end of a sentence."""
CONSTRAINT = re.compile(
    rf"\b(?:must(?:n't)?|never|always|(?:do not|don't){NO_RULE}|only|should(?:n't)?|make sure"
    r"|ensure|avoid|prefer|no longer|require[sd]?|at (?:most|least))\b"
    r"|不要|必须|禁止|务必|只能|不能|不得|始终|避免|确保",
    re.IGNORECASE,
)
NUMBERED = re.compile(r"\d+(?::(?!\s\w|\d)|→|\t)")
"""The beginning of a file's numbered line, which is not a sentence of the user."""
QUESTION = re.compile(r"[?？][\s\"'”’)）]*\Z")
TAG = re.compile(
    r"[,;，]\s*(?:ok(?:ay)?|(?:all ?)?right|alright|yes|deal|please|understood|got it"
    r"|好吗|好吧|行吗)\s*[?？]",
    re.IGNORECASE,
)
"""A tag question at the end of a sentence that is still a constraint: `Never push to main, ok?`"""
TO_MODEL = re.compile(r"\b(?:you|please)\b|你|请", re.IGNORECASE)
"""A question without these words requests nothing: `Should it only run here?`"""
RULE = re.compile(
    r"(?:\A|[^\w\s'’]\s*|\b(?:and|but|also|please|then|just)\s+)"
    rf"(?:(?:do not|don't){NO_RULE}|never|always|only|make sure|ensure|avoid|prefer)\b"
    r"|(?<!\bI )\bmust(?:n't)?\b|\b(?:we|you|should|shall|may|will|can|to|be) (?:never|always)\b"
    r"|\byou should(?:n't)?\b|(?-i:\b(?:NOT|NEVER|ALWAYS|ONLY|DON'T|SHOULD)\b)"
    r"|不要|(?<!我)必须|禁止|务必|只能|不得|始终|避免|确保",
    re.IGNORECASE,
)
"""A certain constraint: in the imperative, or addressed to the agent. Other sentences may be talk
(`it should be fun`, `I always get lost`)."""
SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])|\n+")
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


def constraints_in(text: str) -> Iterator[tuple[int, int]]:
    """`(start, stop)` of the constraints in a text of role user, each distinct one once.

    In a note of this package, constraints are searched in the quotes of the user, and in a digest
    also in its section of constraints; they still apply.
    """
    seen = set[str]()
    for start, stop in _spans_of_user(text):
        for begin, end in _constraints(text, start, stop):
            if text[begin:end] not in seen:
                seen.add(text[begin:end])
                yield begin, end


def _spans_of_user(text: str) -> Iterator[tuple[int, int]]:
    if is_digest(text):
        return rule_spans(text)
    return quotes_of("User", text) if holds_excerpts(text) else user_spans(text)


def _constraints(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    if not CONSTRAINT.search(text, start, stop):  # most texts have no constraint
        return
    for begin, end in _sentences(text, start, stop):
        if end - begin <= LONGEST_LINE and CONSTRAINT.search(text, begin, end):
            sentence = text[begin:end]
            binds = TO_MODEL.search(sentence) or (TAG.search(sentence) and is_rule(sentence))
            if (binds or not QUESTION.search(sentence)) and not NUMBERED.match(sentence):
                yield begin, end


def is_rule(constraint: str) -> bool:
    """Whether a constraint is certain: `is_rule("Never push to main.")` -> `True`."""
    return RULE.search(constraint) is not None
