"""Cliffs: what a view keeps as its room shrinks, step by step, and as a session grows.

    python benchmarks/sweep.py [FOLDER] [--limit 16] [--processes 2] [--svg docs/pictures]

The room shrinks from 40 % of a history to 3 %, each time to 0.85 of what it was. In recordings of
agents the judge is Q (see `needs.py`), at the places of `likelihood.py`; in talks with questions it
is the share of the questions whose evidence stands whole in the view (see `field/places.py`). A
view should fall gently: a fall by more than 0.12 of Q, or by more than 15 of 100 questions, from
one room to the next is a cliff. So is a fall by more than 15 of 100 early questions if a session is
compressed five times as it grows, and not once.

The mean over all rooms is one that no single size can be tuned for. All methods get the same room,
or as much as ours took where it could not be as small as that.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import count, pairwise, takewhile
from pathlib import Path
from statistics import mean

import recordings
from chart import Point, chart
from comparison import OURS, Figure, Table, block
from field.conversations import FOLDER, Conversation, load
from field.growing import IN_ONE, grown, judged
from field.growing import SHARES as GROWN
from field.methods import ours, room_of
from field.places import NAMES, share_answered
from field.view import View, share_of
from likelihood import Place, places
from needs import WEIGHTS, score
from plain_rules import LAST, MASKING, PLAIN, TASK_AND_LAST, USERS, tokens_of
from recordings import Messages

LARGEST, SMALLEST, STEP = 0.4, 0.03, 0.85
ROOMS = tuple(takewhile(lambda room: room > SMALLEST, (LARGEST * STEP**n for n in count())))
RULES = (LAST, TASK_AND_LAST, MASKING, USERS)
AGENTS, FIVE = "agents (Q)", "five compressions"
COLUMNS = (AGENTS, *NAMES.values())
FALL_OF_Q, FALL_OF_QUESTIONS = 0.12, 0.15  # from which on it is a cliff
LIMIT = 16
PICTURES = {
    AGENTS: ("sizes.svg", "Share of what later steps need that is still in context (Q)"),
    NAMES["locomo"]: (
        "sizes_of_talk.svg",
        "Questions about a talk between two people: evidence still in context",
    ),
    NAMES["beam"]: ("sizes_of_chats.svg", "Questions about a chat: evidence still in context"),
}
"""The picture of each column, and its title."""


@dataclass(frozen=True)
class Curve:
    """What a method's views of one history keep, from the largest room to the smallest.

    Attributes:
        column: what was judged, a name in `COLUMNS`, or `FIVE`: compressed once, and five times.
        points: the true size of each view as a share of the history, and what it keeps of 1.
    """

    column: str
    method: str
    id: str
    points: Sequence[Point]

    @property
    def cliffs(self) -> int:
        """How often it falls by too much from one point to the next."""
        most = FALL_OF_Q if self.column == AGENTS else FALL_OF_QUESTIONS
        return sum(before - after > most for (_, before), (_, after) in pairwise(self.points))


def swept(
    column: str, id: str, history: Messages, judge: Callable[[Messages], float]
) -> Iterator[Curve]:
    """The curve of each method."""
    whole = tokens_of(history)
    complete = View(history)
    made: dict[str, list[Messages]] = {method: [] for method in (OURS, *RULES)}
    for room in ROOMS:
        made[OURS].append(recordings.plain(ours(history, room * whole)))
        space = room_of(made[OURS][-1], room * whole)
        for rule in RULES:
            made[rule].append(PLAIN[rule](history, space))
    for method, views in made.items():
        points: list[Point] = []
        for at, view in enumerate(views):
            if at and view == views[at - 1]:  # a rule with a size of its own
                points.append(points[-1])
            else:
                points.append((share_of(View(view), complete), judge(view)))
        yield Curve(column, method, id, points)


def of_place(place: Place) -> Iterator[Curve]:
    """The curves of Q."""
    return swept(AGENTS, place.recording.id, place.cut.history, partial(q_of, place))


def q_of(place: Place, view: Messages) -> float:
    """Q of one view, of those parts of it of which something is needed."""
    found = score(place.reader, place.need, view)
    known = {name: value for name in WEIGHTS if (value := found[name]) is not None}
    return sum(WEIGHTS[name] * value for name, value in known.items()) / sum(
        map(WEIGHTS.__getitem__, known)
    )


def of_talk(conversation: Conversation) -> Iterator[Curve]:
    """The curves of evidence, and what five compressions keep beside one."""
    said = View(conversation.messages).texts

    def judge(view: Messages) -> float:
        return share_answered(conversation.questions, said, View(view))

    yield from swept(NAMES[conversation.kind], conversation.id, conversation.messages, judge)
    after_five = {name: make() for name, make in grown(conversation, [])}
    target = GROWN[conversation.kind] * tokens_of(conversation.messages)
    for method in (OURS, *RULES):
        once = (
            after_five[IN_ONE] if method == OURS else PLAIN[method](conversation.messages, target)
        )
        points = [judged(conversation, View(view)) for view in (once, after_five[method])]
        yield Curve(FIVE, method, conversation.id, [(size, value) for value, size in points])


def part(number: int, parts: int, folder: Path, limit: int) -> list[Curve]:
    """The curves of a part of the recordings; the talks first."""
    talks = [each for kind in NAMES for each in load(folder, kind)[:limit]][number::parts]
    agents = places(limit)[number::parts]
    found = [curve for each in talks for curve in of_talk(each)]
    return found + [curve for each in agents for curve in of_place(each)]


def everything(folder: Path, limit: int, processes: int) -> list[Curve]:
    with ProcessPoolExecutor(processes) as pool:
        shared = ([each] * processes for each in (processes, folder, limit))
        found = [curve for curves in pool.map(part, range(processes), *shared) for curve in curves]
    return sorted(found, key=lambda curve: (curve.column, curve.id))


def tables(curves: Sequence[Curve]) -> Iterator[Table]:
    """What is kept on average over all sizes, and how often it falls by too much."""
    heading = f"kept, mean over all sizes from {100 * LARGEST:g} % to {100 * SMALLEST:g} %"
    numbers = (f"{len(_of(curves, column, OURS))} of {column}" for column in COLUMNS)
    note = f"Histories: {', '.join(numbers)}."
    yield Table("sizes", heading, COLUMNS, _rows(curves, COLUMNS, kept), "score", notes=(note,))
    columns = (*COLUMNS, FIVE)
    rows = _rows(curves, columns, fallen)
    note = "A rule that keeps little at every size cannot fall far."
    yield Table("sizes", "cliffs", columns, rows, "count", lower_is_better=True, notes=(note,))


def _rows(
    curves: Sequence[Curve], columns: Sequence[str], figure: Callable[[Sequence[Curve]], Figure]
) -> dict[str, dict[str, Figure]]:
    return {
        method: {c: figure(those) for c in columns if (those := _of(curves, c, method))}
        for method in (OURS, *RULES)
    }


def _of(curves: Sequence[Curve], column: str, method: str) -> list[Curve]:
    return [curve for curve in curves if (curve.column, curve.method) == (column, method)]


def kept(curves: Sequence[Curve]) -> Figure:
    """The mean over the sizes, then over the histories."""
    return Figure(
        mean(mean(value for _, value in curve.points) for curve in curves),
        mean(mean(size for size, _ in curve.points) for curve in curves),
    )


def fallen(curves: Sequence[Curve]) -> Figure:
    """The cliffs of all curves."""
    return Figure(sum(curve.cliffs for curve in curves), kept(curves).size)


def drawing(curves: Sequence[Curve], column: str) -> str:
    """What is kept over all sizes; each point is a mean over the histories at one room."""
    series: dict[str, list[Point]] = {}
    for method in (OURS, *RULES):
        at_room = zip(*(curve.points for curve in _of(curves, column, method)), strict=True)
        series[method] = [
            (mean(size for size, _ in points), mean(value for _, value in points))
            for points in at_room
        ]
    return chart(PICTURES[column][1], series)


def draw(curves: Sequence[Curve], folder: Path) -> None:
    for column, (name, _) in PICTURES.items():
        if _of(curves, column, OURS):
            (folder / name).write_text(drawing(curves, column), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="What is kept as the room shrinks, and cliffs.")
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER, help="of the talks")
    parser.add_argument("--limit", type=int, default=LIMIT, help="histories of each kind")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--svg", type=Path, help="write the charts into this folder")
    options = parser.parse_args()
    curves = everything(options.folder, options.limit, options.processes)
    for curve in curves:
        if curve.method == OURS and curve.cliffs:
            told = ", ".join(f"{value:.2f} at {size:.1%}" for size, value in curve.points)
            print(f"{curve.column}, {curve.id}: {told}")
    if options.svg:
        draw(curves, options.svg)
    print(block([*tables(curves)]))


if __name__ == "__main__":
    main()
