"""Sentences: where they end, and the words with which one points to what stands beside it.

A sentence that points to others says something else, or nothing, without them.
"""

import re
import sys
from collections.abc import Iterator
from itertools import chain

from context_compression.conversation.labels import Span

SENTENCE = re.compile(r"(?<=[.!?。！？।۔؟።။])\s+|(?<=[。！？])|\n+")
"""What is between two sentences or lines."""
LONGEST_LINE = 400
"""The most characters of a sentence or line that counts as one statement."""
POINTING = (
    r"(?:it|this|that|these|those|they|none|das|dies\w*|es|cel[ac]i?|ce|il|elle|est[aeo]s?|eso|это"
    r"|он[аои]?)\b"
)
"""Words of languages with blanks that point to what was said."""
POINTING_SIGNS = "[这這此该它其]|これ|それ|この|その|이것|그것"
"""The same of languages without blanks, and of Korean."""


def sentences(text: str) -> list[str]:
    """The sentences and lines of a text, stripped, without empty lines."""
    return [text[start:stop] for start, stop in sentence_spans(text)]


def sentence_spans(text: str, start: int = 0, stop: int = sys.maxsize) -> Iterator[Span]:
    """`(start, stop)` of the sentences and lines in a part of a text, as in `sentences`."""
    stop = min(stop, len(text))
    ends = (end.span() for end in SENTENCE.finditer(text, start, stop))
    for end, after in chain(ends, [(stop, stop)]):
        part = text[start:end]
        if sentence := part.strip():
            begin = start + part.index(sentence)
            yield begin, begin + len(sentence)
        start = after
