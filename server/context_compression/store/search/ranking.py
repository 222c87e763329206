"""The order of candidates: exact names go first; of equal texts, one is kept."""

import re
from collections.abc import Iterable, Mapping, Sequence

from context_compression.store.search.excerpt import is_letter
from context_compression.store.search.sources import CandidateDocument
from context_compression.store.search.spellings import Spellings

_GOES_ON = re.compile(r"[./\\:-]+\w")
_GOES_BEFORE = frozenset("/\\.-")
ALONE, BEHIND_A_PATH, WITHIN_A_NAME, ABSENT = 3, 2, 1, 0
"""How exactly a name occurs in a text."""

Levels = Mapping[int, Mapping[str, int]]
"""How exactly each name occurs in each candidate, by the candidate's key and the name."""


def ranked(
    candidates: Sequence[CandidateDocument],
    before: Iterable[CandidateDocument],
    names: Sequence[str],
) -> list[CandidateDocument]:
    """The candidates, the best first, without duplicates.

    Args:
        candidates: in any order.
        before: those on earlier pages; their duplicates are omitted.
        names: names that a hit should contain exactly as written.
    """
    spellings = {name: Spellings(name) for name in names}
    levels = {
        candidate.key: {
            name: ABSENT if document.lacks(way) else exactness(name, document.text)
            for name, way in spellings.items()
        }
        for candidate in candidates
        if (document := candidate.document)
    }

    def closeness(candidate: CandidateDocument) -> tuple[float, ...]:
        named = sum(levels[candidate.key].values())
        by_us = candidate.document.by_us
        return named, candidate.weight, not by_us, candidate.score, candidate.key

    ordered = _different(before, sorted(candidates, key=closeness, reverse=True))
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


def _different(
    before: Iterable[CandidateDocument], candidates: Iterable[CandidateDocument]
) -> list[CandidateDocument]:
    """The candidates without duplicates, of each other or of those before.

    The same text in two sessions is a duplicate, and so are a message and a text in it.
    """
    kept: list[CandidateDocument] = []
    known = {candidate.document.ref: candidate.document for candidate in before}
    messages = {candidate.document.message for candidate in before}
    for candidate in candidates:
        document = candidate.document
        ref, message = document.ref, document.message
        is_new = ref not in known and message not in known and ref not in messages
        if is_new or (ref in known and known[ref].text != document.text):  # two refs collide
            known[ref] = document
            messages.add(message)
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
