"""Whether the weights of `extract` can be improved, with results on sessions not used for that.

    python benchmarks/tune.py [--cuts 3] [--budgets 0.25,0.1,0.05] [--rounds 1] [--processes 2]

Recorded sessions are split in two by the hash of their id. On the first half, each weight in turn
is halved and doubled; a change is kept if it raises the mean Q over the budgets (`needs.py`) by
more than LEAST. Then the shipped and the new weights are judged on both halves. The second half is
used once, at the end. If the new weights win only on the first half, they fit only that half, and
the shipped weights stay.

Q at one budget varies by 0.005 for reasons that have nothing to do with a weight, and the mean of
three budgets by LEAST. To see smaller effects, use all cuts and budgets close to each other:
`--cuts 99 --budgets 0.3,0.25,0.2,0.12,0.1,0.08,0.06,0.05,0.04`.
"""

import argparse
import multiprocessing
import os
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from statistics import mean
from typing import TypeAlias

import estimate
import recordings
from needs import need
from outcome import OURS, Outcome, Row, q
from quality import Place, Task, label, tokens_of
from texts import Reader

from context_compression.conversation import labels as rendering
from context_compression.planning import measured as planning
from context_compression.planning import pieces as word_weights
from context_compression.strategies import measured as strategies

Weights: TypeAlias = Mapping[str, float]

LEAST = 0.003  # of Q; less is chance with some fifty cuts
FACTORS = (0.5, 2.0)
SHARES = (
    "MUST_KEEP_SHARE", "ANCHORED_SHARE", "FEWEST_SHARE", "ALWAYS_SHARE", "RECENT_SHARE",
    "SKELETONS_SHARE", "PROSE_NEWEST_SHARE", "QUOTED_SHARE",
)  # fmt: skip
MODULES = {
    "USED": planning, "MANY": planning, "ERROR_BONUS": planning, "FAILED_BONUS": planning,
    "REASON_BONUS": planning, "FILLER": planning, "PIECE_CHARS": planning,
    "OUTDATED_WEIGHT": planning, "GAP_TOKENS": rendering, "GAP_CHARS": rendering,
    "LABEL_TOKENS": strategies, "USER_WEIGHT": strategies, "USER_WORTH": strategies,
    "SKILL_WORTH": strategies, "SUMMARY_WORTH": strategies, "PRINTED_WEIGHT": strategies,
    "ANSWER_WORTH": strategies, "REMARK_WORTH": strategies, "CHANGE_WORTH": strategies,
    **dict.fromkeys(SHARES, strategies),
}  # fmt: skip
"""The module of each weight; the kinds of evidence, in `KIND_WEIGHT`, are separate."""

places: list[Place] = []  # inherited by the processes that measure


def shipped() -> Weights:
    kinds = {f"kind {kind}": weight for kind, weight in planning.KIND_WEIGHT.items()}
    return {name: getattr(module, name) for name, module in MODULES.items()} | kinds


def put(weights: Weights) -> None:
    """Let the package use these weights, and all processes that are forked from now on."""
    for name, weight in weights.items():
        if name in MODULES:
            setattr(MODULES[name], name, weight)
    for kind in planning.KIND_WEIGHT:
        planning.KIND_WEIGHT[kind] = weights[f"kind {kind}"]
    word_weights.WEIGHTS = word_weights.word_weights()


def loaded(task: Task) -> Iterator[Place]:
    for path in recordings.paths():
        recording = recordings.load(path)
        reader = Reader(recording.folder)
        for cut in recordings.cuts(recording, task.cuts) if recording.uses_tools else ():
            if needed := need(reader, recording, cut):
                yield Place(recording, cut, reader, needed, [], task)
        estimate.tokens.cache_clear()


def chosen_on(place: Place) -> bool:
    """Whether the place belongs to the half on which weights are chosen."""
    return sha256(place.recording.id.encode()).digest()[0] % 2 == 0


def rows_of(number: int) -> list[Row]:
    place = places[number]
    whole = tokens_of(place.cut.history)
    return [
        place.ours(label(budget), budget * whole if budget <= 1 else budget)
        for budget in place.task.budgets
    ]


def qualities(weights: Weights, numbers: Sequence[int], processes: int) -> list[float]:
    """Q at each budget."""
    put(weights)
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        rows = [row for found in pool.map(rows_of, numbers, chunksize=1) for row in found]
    outcome = Outcome(rows)
    return [q(outcome.of(budget, OURS)) for budget in outcome.budgets]


def main() -> None:
    parser = argparse.ArgumentParser(description="Choose weights on one half, judge on the other.")
    parser.add_argument("--cuts", type=int, default=3, help="at most so many in a session")
    parser.add_argument("--budgets", default="0.25,0.1,0.05", help="shares, or tokens")
    parser.add_argument("--rounds", type=int, default=1, help="times all weights are tried")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    budgets = tuple(map(float, options.budgets.split(",")))
    places.extend(loaded(Task(budgets, options.cuts, points=False)))
    first = [number for number, place in enumerate(places) if chosen_on(place)]
    second = [number for number, place in enumerate(places) if not chosen_on(place)]
    print(f"{len(first)} cuts to choose on, {len(second)} held out", flush=True)

    found = dict(shipped())
    best = mean(qualities(found, first, options.processes))
    for name in [*found] * options.rounds:
        before = found[name]
        for factor in FACTORS:
            weight = min(before * factor, 1.0) if name in SHARES else before * factor
            weight = type(before)(weight)  # some are whole numbers of tokens or characters
            tried = found | {name: weight}
            quality = mean(qualities(tried, first, options.processes))
            print(f"{name} {weight:g}: {quality - best:+.3f}", flush=True)
            if quality > best + LEAST:
                found, best = tried, quality
    for title, weights in (("as shipped", shipped_at_first), ("as found", found)):
        for half, numbers in (("chosen on", first), ("held out", second)):
            each = qualities(weights, numbers, options.processes)
            print(f"{title}, {half}: {'  '.join(f'{quality:.3f}' for quality in each)}", flush=True)
    changed = {k: v for k, v in found.items() if v != shipped_at_first[k]}
    print(f"found: {changed or 'nothing better'}")


shipped_at_first = shipped()

if __name__ == "__main__":
    main()
