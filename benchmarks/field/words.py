"""Sentences, and the words in them that say something."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache

ENOUGH = 0.6  # of a text's words make it known again
SHORTEST = 3  # letters of a word that counts

_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|\n+")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9'_-]+|\d(?:[\d.,:/-]*\d)?|[\u4e00-\u9fff]{2}")
_FREQUENT_WORDS = """
about after again all also and any are because been before but can could did does even ever
every for from get getting give going gone good got great glad had has have hello her here hers
hey him his how into its just know let like lot made make many maybe more most much myself nice
not now off once one only other our out over really same say see she should since some sound
sounds still such sure take than thank thanks that the their them then there these they thing
things think this those too up very want was way well were what when where which while who why
will with would yeah yes yet you your yours
"""
_FREQUENT = frozenset(_FREQUENT_WORDS.split())
"""Words of everyday talk that tell nothing of what it is about."""


def sentences(text: str) -> list[str]:
    return [part for part in _SENTENCE_END.split(text) if part.strip()]


def spaced(text: str) -> str:
    """The text with single spaces, so that it is found however lines are broken."""
    return " ".join(text.split())


@lru_cache(200_000)
def content_words(text: str) -> frozenset[str]:
    """Words with three letters or more that are not in every talk; numbers; pairs of characters."""
    return frozenset(each_content_word(text))


def each_content_word(text: str) -> Iterator[str]:
    """The content words of a text in their order, each as often as it occurs."""
    for match in _WORD.finditer(text):
        word = match.group().lower().strip("'-_.,:/")
        if word not in _FREQUENT and _says_something(word):
            yield word


def _says_something(word: str) -> bool:
    return len(word) >= SHORTEST or word.isdigit() or word[:1] >= "\u4e00"


class Told:
    """What texts tell, sentence by sentence.

    A message counts as told if 60 % of its content words stand in a stretch of sentences that is
    one sentence longer than the message. Neither a bag of words nor single words count.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._in: list[frozenset[str]] = []
        self._places: dict[str, list[int]] = defaultdict(list)
        for text in texts:
            for sentence in sentences(text):
                words = content_words(sentence)
                for word in words:
                    self._places[word].append(len(self._in))
                self._in.append(words)

    def tells(self, text: str) -> bool:
        """Whether a text is told; one without content words always is."""
        wanted = content_words(text)
        if not wanted:
            return True
        length = len(sentences(text)) + 1
        places = sorted({place for word in wanted for place in self._places.get(word, ())})
        held: Counter[str] = Counter()
        first = 0
        for place in places:
            held.update(self._in[place] & wanted)
            while places[first] <= place - length:
                held.subtract(self._in[places[first]] & wanted)
                first += 1
            if sum(count > 0 for count in held.values()) >= ENOUGH * len(wanted):
                return True
        return False
