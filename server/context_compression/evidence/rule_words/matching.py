"""`RuleWords`: the rule words of all languages in the sentences of one text."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TypeAlias

from context_compression.evidence.rule_words import (
    african,
    east_asian,
    european,
    germanic,
    indian,
    romance,
    slavic,
    southeast_asian,
    western_asian,
)
from context_compression.evidence.rule_words.index import Index, Use
from context_compression.evidence.rule_words.scripts import (
    MARKED,
    Script,
    folded,
    script_of,
    scripts_in,
)

LANGUAGES = tuple(
    language
    for module in (
        germanic, romance, slavic, european, western_asian, indian, southeast_asian, east_asian,
        african,
    )
    for language in module.LANGUAGES
)  # fmt: skip
"""All languages of the table."""

WORD, ASCII_WORD = re.compile(rf"{MARKED}+"), re.compile(r"\w+")
OPENING = r"""[\s"'«“„¿¡(（「『>*•·–—-]*(?:\d{1,3}[.)]\s+)?"""
"""What may stand before the first word of a sentence."""
JOINING = (
    "and|but|also|please|then|just|so|und|aber|bitte|y|pero|e|mas|et|mais|ma|però|ale|en|maar"
    "|og|och|men|ve|ama|dan|tapi|và|nhưng|na|lakini|ja|mutta|és|și|dar|и|но|а|і|але|та|или|و|لكن"
    "|और|लेकिन|আর|এবং|কিন্তু|اور|لیکن|ولی|اما|και|αλλά|आणि|பண|மற்றும்|మరియు|그리고|하지만|por favor"
    "|s'il te plaît|s'il vous plaît|per favore|пожалуйста|будь ласка|proszę|prosím|lütfen|tolong"
    "|कृपया|لطفا|من فضلك"
)
"""Words after which a clause begins."""
BEGINNING = re.compile(OPENING)
CLAUSE = re.compile(rf"(?:\A|[^\w\s']\s*|(?<![\w'])(?:{folded(JOINING)})\s+){OPENING}")
"""The beginning of a clause in a sentence."""
LEAST_WORDS = 3
"""With fewer words a sentence says too little of its language."""
POSSIBLE: Sequence[Use] = ("sure", "first", "maybe")
PhrasesAt: TypeAlias = tuple[int, re.Pattern[str]]
"""Phrases that begin with a word, and the number of joined letters before them in it."""
Phrases: TypeAlias = Mapping[str, Sequence[PhrasesAt]]
"""Phrases by the word of a text with which they may begin."""


@cache
def index_of(script: Script) -> Index:
    """The rule words of one script in all languages."""
    return Index(LANGUAGES, script)


class RuleWords:
    """Searches sentences of one text for rule words, in the languages of its scripts."""

    def __init__(self, text: str) -> None:
        """A search in a text, of which sentences are named by `(start, stop)`."""
        self._text = folded(text)
        self._word = ASCII_WORD if text.isascii() else WORD
        self._indexes = [*map(index_of, {Script.LATIN, *scripts_in(text)})]
        joined = {sign for script in scripts_in(text) for sign in script.value.joined}
        self._keys = [
            (word, at, index, key)
            for word in {*self._word.findall(self._text)}
            for at in ([0, 1] if word[0] in joined else [0])
            for index in self._indexes
            for key in index.keys(word[at:])
        ]
        self._by_use: dict[Use, Mapping[str, list[PhrasesAt]]] = {}
        self._within: dict[Use, list[re.Pattern[str]]] = {}
        self._possible: dict[str, list[PhrasesAt]] = {}
        for use in POSSIBLE:
            for word, phrases in self._known(use).items():
                self._possible.setdefault(word, []).extend(phrases)
        self._can_start = bool(self._known("start") or self._anywhere("start"))

    def _known(self, use: Use) -> Mapping[str, list[PhrasesAt]]:
        """The phrases with a use by the words of the text with which they may begin."""
        if use not in self._by_use:
            found: dict[str, list[PhrasesAt]] = {}
            for word, at, index, key in self._keys:
                if expression := index.expression(key, use):
                    found.setdefault(word, []).append((at, expression))
            self._by_use[use] = found
        return self._by_use[use]

    def _anywhere(self, use: Use) -> Sequence[re.Pattern[str]]:
        """The phrases with a use that need not begin a word, if the text holds any of them."""
        if use not in self._within:
            found = (each.anywhere(use) for each in self._indexes)
            self._within[use] = [each for each in found if each and each.search(self._text)]
        return self._within[use]

    def possible(self, start: int, stop: int) -> bool:
        """Whether a sentence has words that may state a rule."""
        if self._search(self._possible, start, stop):
            return True
        if any(self._search_within(use, start, stop) for use in POSSIBLE):
            return True
        opening = BEGINNING.match(self._text, start, stop) if self._can_start else None
        return opening is not None and self._begins("start", opening.end(), stop)

    def sure(self, start: int, stop: int) -> bool:
        """Whether a sentence has the form of a rule."""
        if self._search(self._known("sure"), start, stop):
            return True
        if self._search_within("sure", start, stop):
            return True
        clauses = {start + clause.end() for clause in CLAUSE.finditer(self._text[start:stop])}
        return any(self._begins("first", at, stop) for at in clauses)

    def asks(self, start: int, stop: int) -> bool:
        """Whether a sentence has words that address somebody."""
        known = self._known("asks")
        return self._search(known, start, stop) or self._search_within("asks", start, stop)

    def _search(self, known: Phrases, start: int, stop: int) -> bool:
        """Whether a word of a sentence begins one of some phrases."""
        if not known or known.keys().isdisjoint(self._word.findall(self._text, start, stop)):
            return False
        return any(
            self._is(known[word[0]], word, stop)
            for word in self._word.finditer(self._text, start, stop)
            if word[0] in known
        )

    def _search_within(self, use: Use, start: int, stop: int) -> bool:
        """Whether one of the phrases that need not begin a word stands in a sentence."""
        return any(each.search(self._text, start, stop) for each in self._anywhere(use))

    def _begins(self, use: Use, start: int, stop: int) -> bool:
        """Whether one of the phrases with a use begins at a place."""
        word = self._word.match(self._text, start, stop)
        if word and self._is(self._known(use).get(word[0], ()), word, stop):
            return True
        return any(each.match(self._text, start, stop) for each in self._anywhere(use))

    def _is(self, phrases: Iterable[PhrasesAt], word: re.Match[str], stop: int) -> bool:
        begin = word.start()
        return any(phrase.match(self._text, begin + at, stop) for at, phrase in phrases)


@cache
def common_words(script: Script) -> frozenset[str]:
    """Frequent words of the languages of a script, as `folded`; empty if the script is enough."""
    words = (word for language in LANGUAGES for word in folded(language.common).split())
    return frozenset(word for word in words if len(word) > 1 and script_of(word[0]) is script)


def is_known_language(sentence: str) -> bool:
    """Whether a sentence seems to be in a language of which rule words are known.

    A sentence without words is, too. In a script that many languages share, a sentence of three or
    more words needs a frequent word, or a rule word, of one of the known languages.
    """
    words = [word for word in WORD.findall(folded(sentence)) if word[0].isalpha()]
    by_script: dict[Script | None, list[str]] = {}
    for word in words:
        by_script.setdefault(script_of(word[0]), []).append(word)
    if not by_script:
        return True
    script, found = max(by_script.items(), key=lambda item: sum(map(len, item[1])))
    if script is None:
        return False
    common = common_words(script)
    if len(found) < LEAST_WORDS or not common or not common.isdisjoint(found):
        return True
    return RuleWords(sentence).possible(0, len(sentence))
