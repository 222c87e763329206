"""A second judge beside Q: how surprising are the true next steps to one who has read the view?

    python benchmarks/likelihood.py [--share 0.1] [--limit 24] [--processes 2]

The reader is a model of word sequences (interpolated Witten-Bell, order 4), without weights and
without a network. It has read sessions of other sources, and then reads a view of a history, and
after it the steps that really followed, one by one. Each word of the assistant's steps costs as
many nats as it was surprising: a word that the view makes foreseeable is cheap. Results of tools
between the steps are read, but cost nothing. The reader knows what of the wording is literally
foreseeable, and nothing of meaning.

    all words      of the next ten steps of the assistant
    needed names   words of the identifiers that `needs.py` says are needed, where they first occur
    far names      those of them that do not stand in the history's last 6,000 tokens

A session is cut once, in the middle of its possible cuts. All methods get the same room; what came
out smaller is told by its size. "users + masked results" is such a rule, so in a second table our
view is at most as large as its view, in o200k tokens, and the others get its room. Means are taken
over sessions. The differences, ours less another, are those of the same session; their intervals
hold 95 of 100 means of sessions drawn again.
"""

import argparse
import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from random import Random
from statistics import mean

import recordings
from comparison import OURS, Figure, Table, block
from field.methods import ours, room_of
from field.view import View, share_of
from needs import Need, following, groups, need, said_in
from plain_rules import LAST, MASKING, PLAIN, TASK_AND_LAST, USERS, tokens_of
from recordings import Cut, Messages, Recording
from texts import Reader

ORDER = 4  # words that are looked at together
READ_BEFORE = 250_000  # words of other sources
OF_A_SESSION = 20_000  # words of it at most, so that many sessions are read
UNSEEN = 5_000  # words for which there is room beside those that were read
SHARE, LIMIT = 0.1, 24
TWICE, HALVINGS = 2, 7  # of the search for a target that gives a view of a certain size
RULES = (LAST, TASK_AND_LAST, MASKING, USERS)
AS_SMALL = (LAST, TASK_AND_LAST, USERS)
"""The rules whose views are not several times as large as ours."""
ALL, NEEDED, FAR = "all words", "needed names", "far names"
COLUMNS = (ALL, NEEDED, FAR)
DRAWS, SEED, OUTSIDE = 2_000, 5, 0.025

_WORD = re.compile(r"[^\W\d]+|\d+|[^\w\s]")


class Sequences:
    """How often words follow each other in what was read.

    The probability of a word after others is that after the last three, mixed with that after the
    last two, and so on (Witten and Bell: the more different words followed, the more of the
    shorter). What is below the shortest is another reader's, or the same for all words.
    """

    def __init__(self, below: "Sequences | None" = None) -> None:
        self._after: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        self._total: Counter[tuple[str, ...]] = Counter()
        self._below = below

    def read(self, words: Sequence[str], start: int = 0) -> None:
        """Count the words from an index on, each after those before it."""
        for at in range(start, len(words)):
            for length in range(min(ORDER, at + 1)):
                before = tuple(words[at - length : at])
                self._after[before][words[at]] += 1
                self._total[before] += 1

    def probability(self, before: Sequence[str], word: str) -> float:
        if self._below:
            found = self._below.probability(before, word)
        else:
            found = 1 / (len(self._after[()]) + UNSEEN)
        for length in range(min(ORDER, len(before) + 1)):
            place = tuple(before[len(before) - length :])
            if total := self._total.get(place):
                after = self._after[place]
                found = (after[word] + len(after) * found) / (total + len(after))
        return found


@dataclass(frozen=True)
class Costs:
    """Nats a word of the steps, by column, and the size of the view as a share of the history."""

    nats: Mapping[str, float]
    size: float


@dataclass(frozen=True)
class Place:
    """A history to compress, with what follows."""

    recording: Recording
    cut: Cut
    reader: Reader
    need: Need

    def at_share(self, share: float) -> dict[str, Messages]:
        """The view of each method at a share of the history."""
        target = share * tokens_of(self.cut.history)
        made = recordings.plain(ours(self.cut.history, target))
        return {OURS: made, **self.plain(room_of(made, target))}

    def at_theirs(self, share: float) -> dict[str, Messages]:
        """Views of the size to which the rule of masked results comes at a share."""
        found = self.plain(share * tokens_of(self.cut.history))
        size, room = View(found[USERS]).size, tokens_of(found[USERS])
        return {OURS: of_size(self.cut.history, size), **self.plain(room), USERS: found[USERS]}

    def plain(self, room: float) -> dict[str, Messages]:
        return {rule: PLAIN[rule](self.cut.history, room) for rule in RULES}

    def costs(self, before: Sequences, view: Messages) -> Costs:
        """What the steps cost a reader of the view."""
        reader = Sequences(before)
        words = words_of(self.read(view))
        reader.read(words)
        nats: dict[str, list[float]] = {column: [] for column in COLUMNS}
        seen = set[str]()
        for message in following(self.recording, self.cut):
            if message["role"] != "assistant":
                words = _told(reader, words, self.read([message]))
                continue
            text = self.reader.local(said_in(message))
            names = self.first_named(text, seen)
            seen |= self.reader.identifiers(text)
            for match in _WORD.finditer(text):
                word = match.group()
                surprise = -math.log(reader.probability(words[1 - ORDER :], word))
                words.append(word)
                reader.read(words, len(words) - 1)
                here = {n for n, start, stop in names if start <= match.start() < stop}
                nats[ALL].append(surprise)
                nats[NEEDED] += [surprise] if here else []
                nats[FAR] += [surprise] if here & self.need.far else []
        size = share_of(View(view), View(self.cut.history))
        return Costs({column: mean(each) for column, each in nats.items() if each}, size)

    def read(self, messages: Messages) -> str:
        return self.reader.local("\n".join(group.as_read for group in groups(messages)))

    def first_named(self, text: str, seen: set[str]) -> list[tuple[str, int, int]]:
        """The needed names that no step has named yet, with their ranges in a step's text."""
        found: list[tuple[str, int, int]] = []
        named = set(seen)
        start = 0
        for line in text.split("\n"):
            for name, first, end in self.reader.in_line(line):
                if name in self.need.identifiers and name not in named:
                    found.append((name, start + first, start + end))
                    named.add(name)
            start += len(line) + 1
        return found


def _told(reader: Sequences, words: list[str], text: str) -> list[str]:
    more = [*words, *words_of(text)]
    reader.read(more, len(words))
    return more


def of_size(history: Messages, size: int) -> Messages:
    """The largest view of ours with at most so many o200k tokens; the smallest, if none is."""
    low, high = 1.0, float(TWICE * size)
    best = recordings.plain(ours(history, low))
    for _ in range(HALVINGS):
        target = (low + high) / 2
        view = recordings.plain(ours(history, target))
        if View(view).size <= size:
            best, low = view, target
        else:
            high = target
    return best


def words_of(text: str) -> list[str]:
    return _WORD.findall(text)


def places(limit: int) -> list[Place]:
    """The middle cut of each session that can be judged, the sources in turn."""
    by_source: dict[str, list[Place]] = defaultdict(list)
    for path in sorted(recordings.paths(), key=recordings.mixed):
        recording = recordings.load(path)
        cuts = recordings.cuts(recording, 3) if recording.uses_tools else []
        reader = Reader(recording.folder)
        cut = cuts[len(cuts) // 2] if cuts else None
        needed = need(reader, recording, cut) if cut else None
        if cut and needed:
            by_source[recording.source].append(Place(recording, cut, reader, needed))
    turns = max(map(len, by_source.values()), default=0)
    in_turn = (
        each[turn] for turn in range(turns) for _, each in sorted(by_source.items()) if each[turn:]
    )
    return [*islice(in_turn, limit)]


def judged(half: int, share: float, limit: int) -> list[tuple[dict[str, Costs], dict[str, Costs]]]:
    """The costs at a share and at the rule's size, in one half of the sources.

    They are judged by a reader that has read none of these sources.
    """
    found = places(limit)
    mine = {*sorted({place.recording.source for place in found})[half::2]}
    before = read_others(mine)
    return [
        (
            {name: place.costs(before, view) for name, view in place.at_share(share).items()},
            {name: place.costs(before, view) for name, view in place.at_theirs(share).items()},
        )
        for place in found
        if place.recording.source in mine
    ]


def read_others(sources: Collection[str]) -> Sequences:
    """A reader of sessions of all other sources."""
    reader = Sequences()
    left = READ_BEFORE
    for path in sorted(recordings.paths(), key=recordings.mixed):
        recording = recordings.load(path)
        if recording.source in sources or not recording.uses_tools or left <= 0:
            continue
        text = "\n".join(group.as_read for group in groups(recording.messages))
        words = words_of(Reader(recording.folder).local(text))[: min(OF_A_SESSION, left)]
        reader.read(words)
        left -= len(words)
    return reader


def everything(share: float, limit: int, processes: int) -> Iterator[Table]:
    """Two tables: all methods at a size, and at what the rule of masked results came to."""
    with ProcessPoolExecutor(processes) as pool:
        parts = pool.map(judged, (0, 1), (share, share), (limit, limit))
        found = [costs for part in parts for costs in part]
    if found:
        yield table(f"nats a word of the next steps, at {100 * share:g} %", [a for a, _ in found])
        yield table(f"nats a word, at the size of “{USERS}”", [b for _, b in found])


def table(heading: str, found: Sequence[Mapping[str, Costs]]) -> Table:
    rows: dict[str, dict[str, Figure]] = {}
    for method in found[0]:
        rows[method] = {}
        for column in COLUMNS:
            those = [costs[method] for costs in found if column in costs[method].nats]
            if those:
                value = mean(costs.nats[column] for costs in those)
                rows[method][column] = Figure(value, mean(costs.size for costs in those))
    notes = [*differences(found)]
    return Table("likelihood", heading, COLUMNS, rows, "score", lower_is_better=True, notes=notes)


def differences(found: Sequence[Mapping[str, Costs]]) -> Iterator[str]:
    """One sentence with the paired differences from each rule, and how sure they are."""
    told: list[str] = []
    for rule in AS_SMALL:
        parts: list[str] = []
        for column in COLUMNS:
            pairs = [(c[OURS].nats.get(column), c[rule].nats.get(column)) for c in found]
            less = [mine - other for mine, other in pairs if mine is not None and other is not None]
            if less:
                low, high = interval(less)
                parts.append(f"{column} {mean(less):+.2f} [{low:+.2f}, {high:+.2f}]")
        told.append(f"{rule}: {', '.join(parts)}")
    yield f"Ours less the rule's, in {len(found)} sessions, with 95 % intervals: {'; '.join(told)}."


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The bounds of 95 of 100 means of values drawn again, always the same."""
    chance = Random(SEED)
    drawn = sorted(mean(chance.choices(values, k=len(values))) for _ in range(DRAWS))
    outside = int(OUTSIDE * DRAWS)
    return drawn[outside], drawn[-1 - outside]


def main() -> None:
    parser = argparse.ArgumentParser(description="How surprising are the next steps?")
    parser.add_argument("--share", type=float, default=SHARE, help="of the tokens, for views")
    parser.add_argument("--limit", type=int, default=LIMIT, help="at most so many sessions")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    print(block([*everything(options.share, options.limit, options.processes)]))


if __name__ == "__main__":
    main()
