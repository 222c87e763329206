"""Search over everything archived, by the words of a query. Every text is read anew each time."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from context_compression.errors import ContextCompressionError
from context_compression.formats import parse
from context_compression.messages import texts_of
from context_compression.session import Session
from context_compression.store import Store

BEST_LINES = 3
LINE_LENGTH = 200  # characters shown of a line
EXACT = 2  # as good as so many words more: the query as it stands


@dataclass(frozen=True)
class Hit:
    """Something archived that holds words of the query.

    Attributes:
        session: where it is archived.
        words: how many different words of the query it holds.
        lines: those that match best, in their order; with their numbers where the ref is a text's.
    """

    ref: str
    what: str
    session: str
    words: int
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Found:
    """What a search found, the best first."""

    hits: tuple[Hit, ...]
    total: int
    """hits there would have been without a limit"""
    searched: int
    """refs looked at"""
    words: int
    """different words of the query"""


def search(store: Store, query: str, limit: int = 5) -> Found:
    """What is archived and holds most words of the query, upper and lower case alike.

    Among equals the newest session's come first.
    """
    phrase = " ".join(query.casefold().split())
    words = tuple(dict.fromkeys(phrase.split(" ")))
    ranked: list[tuple[int, Hit]] = []
    seen: set[str] = set()
    for ref, what, session, original in _archived(store):
        if ref in seen:
            continue
        seen.add(ref)
        text = original if isinstance(original, str) else "\n".join(_texts(original))
        score, held = _score(text, phrase, words)
        if held:
            best = _best_lines(text, phrase, words)
            shown = [f"{n}: {line}" if isinstance(original, str) else line for n, line in best]
            ranked.append((score, Hit(ref, what, session, held, tuple(shown))))
    ranked.sort(key=lambda scored: -scored[0])
    return Found(tuple(hit for _, hit in ranked[:limit]), len(ranked), len(seen), len(words))


def _archived(store: Store) -> Iterator[tuple[str, str, str, Any]]:
    """Ref, what, session and original; messages only where not all they say has a ref of its own.

    A damaged session keeps no other from us.
    """
    for id in store.sessions():
        with suppress(ContextCompressionError):
            archived = list(Session(store, id).archived())
            alone = {original for _, _, original in archived if isinstance(original, str)}
            for ref, what, original in archived:
                if isinstance(original, str) or not alone.issuperset(_texts(original)):
                    yield ref, what, id, original


def _texts(message: Any) -> list[str]:
    """All that can be read in a message."""
    blocks = parse([message]).messages[0].blocks
    return [text for block in blocks for text in texts_of(block)]


def _score(text: str, phrase: str, words: tuple[str, ...]) -> tuple[int, int]:
    """How well a text fits, and how many of the words it holds."""
    folded = text.casefold()
    held = sum(word in folded for word in words)
    return held + EXACT * (phrase in folded), held


def _best_lines(text: str, phrase: str, words: tuple[str, ...]) -> list[tuple[int, str]]:
    """Line numbers from 1, and lines."""
    scored = [
        (-_score(line, phrase, words)[0], number, line)
        for number, line in enumerate(text.split("\n"), 1)
    ]
    best = [entry for entry in sorted(scored)[:BEST_LINES] if entry[0]]
    return sorted((number, _around(line, words)) for _, number, line in best)


def _around(line: str, words: tuple[str, ...]) -> str:
    """A long line around the word of the query that is rarest in it."""
    if len(line) <= LINE_LENGTH:
        return line
    folded = line.casefold()
    rarest = min((word for word in words if word in folded), key=folded.count)
    start = folded.find(rarest) - LINE_LENGTH // 4
    start = max(0, min(start, len(line) - LINE_LENGTH))
    shown = line[start : start + LINE_LENGTH]
    return "…" * (start > 0) + shown + "…" * (start + LINE_LENGTH < len(line))
