"""How well a search of hosts' sessions finds the evidence of a question: what recall tools publish.

Each session of a talk is written as a transcript of Claude Code, in a home folder with one project.
The question is asked as it is, at the door that every agent has. Plain BM25 stands beside it.
"""

import json
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from math import log2
from pathlib import Path
from statistics import mean
from typing import TypeAlias

import made_homes
from comparison import OURS, Figure, Table
from recordings import Messages

from context_compression import Store
from context_compression.conversation.refs import ref_of
from field.haystacks import (
    ADVERSARIAL,
    CATEGORIES,
    Asked,
    Haystack,
    Place,
    beam,
    like_longmemeval,
    locomo,
    longmemeval,
    text_of,
)
from field.searching import BM25, Bm25
from field.words import spaced

SESSIONS, TURNS = "sessions", "messages"
WORDED = f"{OURS}, in other wordings"
MEASURES = ("hit@1", "R@5", "R@5, all of it", "MRR", "NDCG@10")
SCORES = {"MRR": "score", "NDCG@10": "score"}
TOP = 5
DEEP = 20  # places of a ranking that are looked at
PAGE = 60  # hits that are asked for at once
MOST_PAGES = 3
ENOUGH = 10  # sessions; then no further page is asked for
SAID = {"locomo": "talk of two", "beam": "chats"}
WORDINGS = Path(__file__).with_name("wordings.json")

Ranking: TypeAlias = Callable[[str], Sequence[Place]]
"""The places that a method finds for a question, the best first."""


@dataclass(frozen=True)
class Published:
    """Figures of others, on their own data: what they call it, and where it says so.

    Attributes:
        figures: by a name in `MEASURES`; what is not published is missing.
        about: what differs.
    """

    name: str
    figures: Mapping[str, float]
    about: str


DEJA, FUSED = "deja-vu", "e5-large-v2 fused with BM25"
OF_LOCOMO = (
    Published(
        f"{DEJA}, its own figures",
        {"hit@1": 0.699, "R@5": 0.857, "MRR": 0.768},
        "1,982 questions of ten talks, 446 of them adversarial, without the captions of pictures; "
        "its docs/benchmarks/locomo.json of 2026-09-22, words only",
    ),
    Published(
        f"{DEJA}, without adversarial", {"hit@1": 0.677, "R@5": 0.846, "MRR": 0.751},
        "computed from the rows of that file",
    ),
    Published(
        f"{FUSED}, its own figures", {"hit@1": 0.752},
        "arXiv 2606.04194, ten talks, with embeddings; its BM25 alone 0.640",
    ),
)  # fmt: skip
OF_LONGMEMEVAL = (
    Published(
        f"{DEJA}, its own figures", {"hit@1": 0.874, "R@5": 0.972, "MRR": 0.915},
        "all 500 questions of LongMemEval-S, abstentions too; its docs/benchmarks/SUBMISSION.md, "
        "words only",
    ),
    Published(
        "agentmemory, BM25 only, its own figures", {"R@5": 0.862, "MRR": 0.715, "NDCG@10": 0.730},
        "500 questions of LongMemEval-S; its benchmark/LONGMEMEVAL.md",
    ),
    Published(
        "agentmemory, with embeddings, its own figures",
        {"R@5": 0.952, "MRR": 0.882, "NDCG@10": 0.879}, "the same",
    ),
    Published(
        "MemPalace, embeddings only, its own figures", {"R@5": 0.966},
        "LongMemEval-S, as agentmemory's page says",
    ),
)  # fmt: skip


def tables(folder: Path, limit: int | None = None) -> Iterator[Table]:
    """The tables of all talks in a folder, of which so many are read."""
    wordings: dict[str, str] = json.loads(WORDINGS.read_text("utf-8"))
    kinds = (
        ("LoCoMo", "talks", locomo(folder)[:limit], (SESSIONS, TURNS), OF_LOCOMO),
        ("BEAM", "chats", beam(folder)[:limit], (TURNS,), ()),
        ("LongMemEval's form, of BEAM", "haystacks", [*like_longmemeval(folder)][:limit],
         (SESSIONS,), ()),
        ("LongMemEval-S", "haystacks", [*longmemeval(folder)][:limit], (SESSIONS, TURNS),
         OF_LONGMEMEVAL),
    )  # fmt: skip
    for name, what, haystacks, levels, others in kinds:
        if haystacks:
            found = [one for each in haystacks for one in ranked(each, wordings)]
            about = f"{name}, {len(haystacks)} {what}"
            for level in levels:
                yield table(about, found, level, others if level == SESSIONS else ())
        elif others:
            rows, notes = published(others)
            heading = f"{name}, not measured here: {SESSIONS} found, %"
            yield Table("recall", heading, MEASURES, rows, "tenths", notes=notes, units=SCORES)


def published(others: Sequence[Published]) -> tuple[dict[str, dict[str, Figure]], list[str]]:
    """The rows of others, and a note on each."""
    rows = {each.name: {n: Figure(v) for n, v in each.figures.items()} for each in others}
    return rows, [f"{each.name}: {each.about}." for each in others]


@dataclass(frozen=True)
class Found:
    """What a method found for a question.

    Attributes:
        worded: whether somebody gave other wordings for the question.
    """

    method: str
    asked: Asked
    places: Sequence[Place]
    worded: bool = False


def ranked(haystack: Haystack, wordings: Mapping[str, str]) -> Iterator[Found]:
    """What ours and plain BM25 find for each question, as messages."""
    turns = [
        (Place(name, turn), spaced(text_of(message)))
        for name, messages in haystack.sessions.items()
        for turn, message in enumerate(messages)
    ]
    bm25 = Bm25([text for _, text in turns])
    whole = Bm25([
        " ".join(text for place, text in turns if place.session == name)
        for name in haystack.sessions
    ])  # fmt: skip
    with searchable(haystack) as ours:
        for asked in haystack.questions:
            other = wordings.get(key_of(asked.text))
            yield Found(OURS, asked, ours(asked.text), bool(other))
            if other:
                yield Found(WORDED, asked, ours(f"{asked.text} | {other}"), True)
            yield Found(BM25, asked, [turns[at][0] for at in bm25.order(asked.text)])
            names = [*haystack.sessions]
            best = [Place(names[at], -1) for at in whole.order(asked.text)]
            yield Found(f"{BM25}, sessions as documents", asked, best)


def key_of(question: str) -> str:
    """A name for a question that does not show it."""
    return sha256(question.encode()).hexdigest()[:12]


@contextmanager
def searchable(haystack: Haystack) -> Generator[Ranking]:
    """A search in the sessions of a haystack, which are transcripts in a home folder meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        home = made_homes.made(Path(folder))
        names: dict[str, str] = {}
        for name, messages in haystack.sessions.items():
            began = haystack.began[name]
            messages = _begun_by_the_user(messages)
            made_homes.write(home.home, "claude-code", name, messages, home.project, began)
            names[made_homes.id_of(name)] = name
        store = made_homes.workspace(home).store
        places = {
            (name, ref_of(text_of(message))): Place(name, turn)
            for name, messages in haystack.sessions.items()
            for turn, message in enumerate(messages)
        }

        def ranking(question: str) -> list[Place]:
            return [*_places(store, question, names, places)]

        yield ranking


def _begun_by_the_user(messages: Messages) -> Messages:
    """The messages with other roles if the assistant speaks first: no host has such a session."""
    other = {"user": "assistant", "assistant": "user"}
    if messages[0]["role"] == "user":
        return messages
    return [{**message, "role": other[message["role"]]} for message in messages]


def _places(
    store: Store, question: str, names: Mapping[str, str], places: Mapping[tuple[str, str], Place]
) -> Iterator[Place]:
    """The messages of the hits, the best first, until there are enough of enough sessions."""
    seen: set[str] = set()
    for page in range(MOST_PAGES):
        result = made_homes.search(store, question, limit=PAGE, skip=page * PAGE)
        for hit in result.hits:
            name = names[hit.session]
            seen.add(name)
            yield places[name, hit.ref]
        if not result.more or len(seen) >= ENOUGH:
            return


def table(about: str, found: Iterable[Found], level: str, others: Sequence[Published]) -> Table:
    """The table of one kind of talks, with sessions or messages as what is to be found."""
    by_method: dict[str, list[Found]] = {}
    for each in found:
        if level == SESSIONS or not each.method.endswith("documents"):
            by_method.setdefault(each.method, []).append(each)
    ours = by_method[OURS]
    answered = [each for each in ours if each.asked.kind != CATEGORIES[ADVERSARIAL]]
    of_others, notes = published(others)
    if worded := by_method.pop(WORDED, []):
        asked = [each for each in ours if each.worded]
        was, now = figures(asked, level), figures(worded, level)
        told = ", ".join(
            f"{name} {100 * was[name].value:.1f} → {100 * now[name].value:.1f}"
            for name in MEASURES[:3]
        )
        notes.append(f"For {len(worded)} of the questions a model gave other wordings: {told}.")
    if len(answered) < len(ours):
        by_method[f"{OURS}, without adversarial"] = answered
    rows = {method: figures(those, level) for method, those in by_method.items()}
    rows |= of_others
    heading = f"{about}, {len(ours):,} questions: {level} found, %"
    return Table("recall", heading, MEASURES, rows, "tenths", notes=notes, units=SCORES)


def figures(found: Sequence[Found], level: str) -> dict[str, Figure]:
    """The means over questions."""
    each = [measured(*_at(one, level)) for one in found]
    return {name: Figure(mean(values[name] for values in each)) for name in MEASURES}


def _at(found: Found, level: str) -> tuple[list[Place], frozenset[Place]]:
    """The ranking and the evidence, each place once; of sessions, if those are to be found.

    A session stands where its first message does, as LongMemEval turns messages into sessions.
    """
    if level == TURNS:
        return [*dict.fromkeys(found.places)], found.asked.evidence
    ranking = dict.fromkeys(Place(place.session, -1) for place in found.places)
    return [*ranking], frozenset(Place(place.session, -1) for place in found.asked.evidence)


def measured(ranking: Sequence[Place], right: frozenset[Place]) -> dict[str, float]:
    """The measures of one question, each from 0 to 1.

    hit@1: the first is evidence. R@5: any of the first five is (LongMemEval's `recall_any@5`).
    R@5, all of it: all evidence is among the first five (`recall_all@5`). MRR: 1 / place of the
    first evidence, 0 beyond 20. NDCG@10: evidence at place n weighs 1 / log2(n), at the first two
    1, of the best order (LongMemEval's `ndcg_any@10`).
    """
    is_right = [place in right for place in ranking[:DEEP]]
    first = is_right.index(True) + 1 if any(is_right) else 0
    weights = [1.0, *(1 / log2(place) for place in range(2, 11))]
    best = sum(weights[: len(right)])
    gained = sum(weight for weight, good in zip(weights, is_right, strict=False) if good)
    return {
        "hit@1": float(first == 1),
        "R@5": float(0 < first <= TOP),
        "R@5, all of it": float(right <= {*ranking[:TOP]}),
        "MRR": 1 / first if first else 0.0,
        "NDCG@10": gained / best,
    }
