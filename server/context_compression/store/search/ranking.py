"""The order of candidates: how exactly they name what is asked, and how well they may answer it.

A question is answered by whoever it is about, at one place, and often by a message whose neighbours
hold more of its words than it does. So the candidates of a question are ranked once more, by what
the index does not know. All of it is in the candidates themselves, so that every source of
candidates has the same order.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import log

from context_compression.store.search.candidates import CandidateDocument
from context_compression.store.search.documents import IndexedDocument
from context_compression.store.search.excerpt import is_letter, lowered, places
from context_compression.store.search.letters import folded
from context_compression.store.search.query import Query, shortened

_GOES_ON = re.compile(r"[./\\:-]+\w")
_GOES_BEFORE = frozenset("/\\.-")
ALONE, BEHIND_A_PATH, WITHIN_A_NAME, ABSENT = 3, 2, 1, 0
"""How exactly a name occurs in a text."""

Levels = Mapping[int, Mapping[str, int]]
"""How exactly each name occurs in each candidate, by the candidate's key and the name."""


def ranked(
    candidates: Sequence[CandidateDocument],
    distinct: "Distinct",
    names: Sequence[str],
    question: Query | None = None,
) -> list[CandidateDocument]:
    """The candidates, the best first, without duplicates.

    Args:
        candidates: in any order.
        distinct: knows those on earlier pages; their duplicates are omitted.
        names: names that a hit should contain exactly as written.
        question: what was asked, if it is a question or a sentence.
    """
    read = candidates if question or names else ()
    texts = {each.key: folded(each.document.text) for each in read}
    levels = {
        each.key: {name: exactness(name, texts[each.key]) for name in names} for each in candidates
    }
    scores = {each.key: each.score for each in candidates}
    if question:
        scores = answering(question, candidates, texts)

    def closeness(candidate: CandidateDocument) -> tuple[float, ...]:
        named = sum(levels[candidate.key].values())
        weight = 0.0 if question else candidate.weight
        return named, weight, not candidate.document.by_us, scores[candidate.key], candidate.key

    ordered = distinct.of(sorted(candidates, key=closeness, reverse=True))
    return _covering(ordered, levels, names)


def exactness(name: str, text: str) -> int:
    """How a name occurs in a text: 3 alone, 2 behind a path, 1 within a longer name, 0 not at all.

    A name without letters or digits counts as alone wherever it occurs.
    """
    if not any(map(str.isalnum, name)):
        return ALONE if name in text else ABSENT
    if "/" in name and "\\" in text:
        text = re.sub(r"\\\\?", "/", text)
    best = ABSENT
    at = text.find(name)
    while at >= 0 and best < ALONE:
        end = at + len(name)
        before = text[at - 1 : at]
        if not (is_letter(before) or is_letter(text[end : end + 1])):
            level = BEHIND_A_PATH if before in _GOES_BEFORE else ALONE
            best = max(best, WITHIN_A_NAME if _GOES_ON.match(text, end) else level)
        at = text.find(name, end)
    return best


class Distinct:
    """Leaves out duplicates, of each other or of those before.

    The same text in two sessions is a duplicate, and so are a message and a text in it.
    """

    def __init__(self) -> None:
        """Nothing was before."""
        self._known: dict[str, IndexedDocument] = {}
        self._messages: set[str] = set()

    def of(self, candidates: Iterable[CandidateDocument]) -> list[CandidateDocument]:
        """The candidates without duplicates."""
        kept: list[CandidateDocument] = []
        known = self._known
        for candidate in candidates:
            document = candidate.document
            ref, message = document.ref, document.message
            is_new = ref not in known and message not in known and ref not in self._messages
            if is_new or (ref in known and known[ref].text != document.text):  # two refs collide
                known[ref] = document
                self._messages.add(message)
                kept.append(candidate)
        return kept


def _covering(
    ordered: Sequence[CandidateDocument], levels: Levels, names: Iterable[str]
) -> list[CandidateDocument]:
    """The best candidate; then, for each name not yet shown, the best with it; then the others."""
    highest = {name: max((levels[c.key][name] for c in ordered), default=0) for name in names}
    missing = {name for name, level in highest.items() if level}
    first: list[CandidateDocument] = []
    others: list[CandidateDocument] = []
    for candidate in ordered:
        here = levels[candidate.key]
        shown = {name for name in missing if here[name] == highest[name]}
        missing -= shown
        (first if shown or not first else others).append(candidate)
    return first + others


SPEAKS, MEANT, TOGETHER, BEFORE, ASKS = 0.5, 0.3, 0.3, 0.15, 0.3
"""What counts beside the score of the index, which is 1 for the best candidate.

Measured on 846 questions about long conversations (`benchmarks/gates.py --only search`), chosen on
half of them and confirmed on the others. Talks of two people, any evidence among the first five
hits, in %: 64 by the score alone, 69 with `SPEAKS`, 70 with `ASKS`, 73 with `BEFORE`. Chats with an
assistant, any and all: 80 and 38, with `MEANT` 87 and 47, with `TOGETHER` 90 and 48. Half or twice
of each is hardly worse. What did not help: the share of words that a text holds, its length or
place, the next message, and texts that hold other words than those before them.
"""
WINDOW = 120
"""Characters of a text in which words stand together."""
MOST_PLACES = 12
"""How many occurrences of a word are looked at in a text; 30 and 50 find no more."""
FEW, COMMON = 10, 0.75
"""A word that more candidates hold than both, a number and a share of all, says nothing and would
take most of the time. With a share of 0.5, chats fall from 48 to 45.
"""
ASKED_CHARS = 2_000
"""How much of a text is looked at for questions in it."""
_LABEL = re.compile(r"(?:\[[^\]\n]{1,60}\]\s*+)?([^\W\d_][\w '’·-]{0,30}):(?=\s|[^\0-\x7f])")
"""A speaker's name before what it says, perhaps behind a time in brackets."""
_SENTENCE = re.compile(r"[^.!?。！？؟\n]++[.!?。！？؟]?")
_ROLE = re.compile(r"(?:^text of the |\()(user|assistant)\b")
_I = re.compile(
    r"\b(?:i|me|my|mine|we|our|ich|mich|mir|mein\w*|wir|unser\w*|je|j|moi|mon|mes|nous|notre|yo|mi"
    r"|mis|nosotr\w+|nuestr\w+|eu|meu|minha|mio|mia|ik|mijn|я|меня|мне|мо[йияеё]\w*|мы|нас|наш\w*)\b"
    r"|我|咱|私|僕|俺|나는|내가|제가|저는|우리"
)
_YOU = re.compile(
    r"\b(?:you|your|du|dich|dir|dein\w*|tu|toi|ton|vous|votre|vos|usted|tú|você|jij|jouw|ты|тебя|тебе"
    r"|вы|вас|вам|ваш\w*)\b|你|您|あなた|당신"
)


def answering(
    question: Query, candidates: Sequence[CandidateDocument], texts: Mapping[int, str]
) -> dict[int, float]:
    """How well each candidate may answer a question, by its key; with folded texts by key.

    To the score of the index is added, see `SPEAKS`: whether its speaker is whom the question
    names, or means by "I" and "you"; the most of the question's words that stand together in it. In
    a talk whose texts begin with their speakers' names, it also counts that the same speaker's
    message before, two places earlier, fits; and texts that ask tell less.
    """
    best = max((each.score for each in candidates), default=0.0) or 1.0
    scores = {each.key: each.score / best for each in candidates}
    at: dict[tuple[str, int], float] = {}
    for each in candidates:
        if (place := each.document.place) is not None:
            at[each.session, place] = max(at.get((each.session, place), 0.0), scores[each.key])
    words = [term.casefold() for term in question.without_function_words.terms]
    closest = _together(words, texts)
    asked = question.asked.casefold()
    meant = [role for role, said in (("user", _I), ("assistant", _YOU)) if said.search(asked)]
    for each in candidates:
        text, place = texts[each.key][:ASKED_CHARS], each.document.place
        role = _ROLE.search(each.document.what)
        scores[each.key] += TOGETHER * closest[each.key] + MEANT * bool(role and role[1] in meant)
        if label := _LABEL.match(text):
            parts = re.findall(r"\w+", label[1].casefold())
            named = any(part in words or (not part.isascii() and part in asked) for part in parts)
            before = at.get((each.session, place - 2), 0.0) if place is not None else 0.0
            scores[each.key] += SPEAKS * named + BEFORE * before - ASKS * _asking(text)
    return scores


def _asking(text: str) -> float:
    """The share of a text that is questions."""
    asking = (s[0] for s in _SENTENCE.finditer(text) if s[0].endswith(("?", "？", "؟")))
    return sum(map(len, asking)) / max(1, len(text))


def _together(words: Iterable[str], texts: Mapping[int, str]) -> dict[int, float]:
    """The weight of the words that stand together at the best place of each text, from 0 to 1.

    A word counts in all its forms, and the more, the fewer of the texts hold it. What most hold
    does not count.
    """
    forms = dict.fromkeys(shortened(word) or word for word in words)
    compared = {key: lowered(text) for key, text in texts.items()}
    holding = {form: sum(form in text for text in compared.values()) for form in forms}
    weights = {
        form: log((len(texts) + 1) / (number + 0.5))
        for form, number in holding.items()
        if number <= max(FEW, COMMON * len(texts))
    }
    total = sum(weights.values()) or 1.0
    return {
        key: _densest(_occurrences(weights, text), weights) / total
        for key, text in compared.items()
    }


def _occurrences(forms: Iterable[str], text: str) -> list[tuple[int, str]]:
    """Where words begin with which of some forms, in order."""
    return sorted(
        (at, form)
        for form in forms
        for at in places(text, form, MOST_PLACES)
        if not (form.isascii() and at and is_letter(text[at - 1]))
    )


def _densest(events: Sequence[tuple[int, str]], weights: Mapping[str, float]) -> float:
    """The largest weight of different words that begin within `WINDOW` characters."""
    inside: defaultdict[str, int] = defaultdict(int)
    first, weight, most = 0, 0.0, 0.0
    for at, form in events:
        weight += weights[form] if not inside[form] else 0.0
        inside[form] += 1
        while events[first][0] < at - WINDOW:
            left = events[first][1]
            inside[left] -= 1
            weight -= weights[left] if not inside[left] else 0.0
            first += 1
        most = max(most, weight)
    return most
