"""How much of what an agent needs later is still in a compressed view, ours and others'.

    python benchmarks/quality.py [--budgets 0.25,0.1,0.05,8000] [--cuts 3] [--limit 10]
        [--only NAME] [--points] [--peers] [--processes 2] [--json FILE | --load FILE] [--markdown]
        [--svg docs/pictures/quality.svg]

Recorded sessions are cut where an answer follows. The history before the cut is compressed to
shares of its size or to a fixed number of tokens. The view is judged by the steps that really
followed; see `needs.py`. Means are taken over cuts, then sessions, then sources, so that no session
and no project counts more than another. Tokens are those of `estimate.py`, for all methods.

With --points, sessions are also cut where the host compacted them. The summary that the host's
model wrote is then compared with views of that size.

Plain rules stand beside ours; with --peers, other tools do, too, each in an environment that is
made for it. Tools that take no budget are shown with the size they reached, next to views of
exactly that size by ours and by plain rules.
"""

import argparse
import json
import multiprocessing
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import estimate
import recordings
from chart import chart
from comparison import block
from field.view import View, share_of
from needs import Need, groups, need, score
from outcome import HOST, OURS, OWN, SUMMARY, TOLERANCE, Outcome, Row, macro, of_history, q
from peer_processes import Failed, everyone, install
from peers import Peer
from plain_rules import MASKING, PLAIN, TASK_AND_LAST, USERS
from recordings import Cut, Message, Messages, Recording
from texts import Reader

from context_compression import BudgetTooSmall, Result, compress
from context_compression.conversation import ref_of


@dataclass(frozen=True)
class Task:
    """A measurement to make.

    Attributes:
        budgets: shares of the history up to 1, else tokens.
        only: parts of the names of the methods to run; empty for all.
        peers: whether other tools are measured, too.
        again: make only our views, without scores, to see whether another process makes the same.
    """

    budgets: tuple[float, ...]
    cuts: int
    points: bool
    only: tuple[str, ...] = ()
    peers: bool = False
    again: bool = False

    def wants(self, name: str) -> bool:
        return not self.only or any(part in name for part in self.only)


def measured(path: Path, task: Task) -> list[Row]:
    """All rows of one recording."""
    recording = recordings.load(path)
    if not recording.uses_tools:
        return []
    reader = Reader(recording.folder)
    peers = [] if task.again else everyone(tools_too=task.peers)
    peers = [peer for peer in peers if task.wants(peer.name)]
    cuts = recordings.cuts(recording, task.cuts)
    if task.points:
        cuts += recordings.points(recording)
    rows: list[Row] = []
    for cut in cuts:
        needed = None if task.again else need(reader, recording, cut)
        if needed or task.again:
            rows += Place(recording, cut, reader, needed, peers, task).rows()
    estimate.tokens.cache_clear()
    return rows


@dataclass(frozen=True)
class Place:
    """One cut, and the views of all methods of the history before it."""

    recording: Recording
    cut: Cut
    reader: Reader
    need: Need | None
    peers: Sequence[Peer]
    task: Task

    def rows(self) -> Iterator[Row]:
        summary = self.cut.summary
        whole = tokens_of(self.cut.history)
        if summary is not None:
            view = [{"role": "user", "content": [{"type": "text", "text": summary}]}]
            targets = {SUMMARY: tokens_of(view)}
            if not self.task.again:
                yield self.row(SUMMARY, HOST, targets[SUMMARY], view)
        else:
            targets = {label(b): b * whole if b <= 1 else b for b in self.task.budgets}
        for name, target in targets.items():
            if self.task.wants(OURS):
                yield self.ours(name, target)
            for peer in self.peers:
                if peer.has_budget:
                    yield from self.tried(name, peer, target)
        if summary is None:
            yield from self.loose(min(targets.values()))

    def loose(self, target: float) -> Iterator[Row]:
        """The tools that take no budget, and views of their sizes by ours and by plain rules."""
        for peer in self.peers:
            if peer.has_budget:
                continue
            for row in self.tried(OWN, peer, target):
                yield row
                if self.task.wants(OURS):
                    yield self.ours(peer.name, row.size)
                for rule in (TASK_AND_LAST, MASKING, USERS):
                    view = PLAIN[rule](self.copy(), row.size)
                    yield self.row(peer.name, rule, row.size, view)

    def tried(self, name: str, peer: Peer, target: float) -> Iterator[Row]:
        """The row of a peer's view; none if the peer failed."""
        try:
            view = peer.view(self.copy(), target)
        except Failed as error:
            print(f"\n{peer.name}: {error}", file=sys.stderr)
        else:
            yield self.row(name, peer.name, target, view)

    def ours(self, name: str, target: float) -> Row:
        """Our view, with any violation of the conditions it must meet."""
        messages = self.copy()
        result, at_floor = compressed(messages, int(target))
        row = self.row(name, OURS, target, result.messages)
        faults = [*row.faults]
        if not at_floor and (result.tokens_after > target or row.size > TOLERANCE * target):
            faults.append("over budget")
        if messages != self.cut.history:
            faults.append("input changed")
        if not restorable(messages, result):
            faults.append("not restorable")
        return replace(row, at_floor=at_floor, faults=tuple(faults))

    def row(self, name: str, method: str, target: float, messages: Sequence[Message]) -> Row:
        view = recordings.plain(messages)
        scores = score(self.reader, self.need, view) if self.need else {}
        typed = self.need.typed if self.need else ()
        return Row(
            recording=self.recording.id,
            source=self.recording.source,
            at=self.cut.at,
            label=name,
            method=method,
            digest=sha256(json.dumps(messages).encode()).hexdigest(),
            whole=tokens_of(self.cut.history),
            target=target,
            size=tokens_of(view),
            share=share_of(View(view), self.whole),
            typed=sum(map(estimate.tokens, typed)),
            at_floor=False,
            faults=("invalid",) if recordings.problems(view) else (),
            scores=scores,
        )

    @cached_property
    def whole(self) -> View:
        return View(self.cut.history)

    def copy(self) -> Messages:
        return json.loads(json.dumps(self.cut.history))


def compressed(messages: Messages, target: int) -> tuple[Result, bool]:
    """Our view; if the target is below the minimum size, the view of the minimum size."""
    counter = estimate.whole_tokens
    try:
        return compress(messages, target_tokens=target, counter=counter), False
    except BudgetTooSmall as error:
        return compress(messages, target_tokens=error.floor_tokens, counter=counter), True


def restorable(messages: Messages, result: Result) -> bool:
    """Whether every message is in the view unchanged, or complete among the originals."""
    shown = {id(message) for message in result.messages}
    return all(
        id(message) in shown or result.originals.get(ref_of(message)) == message
        for message in messages
    )


def tokens_of(messages: Sequence[Message]) -> float:
    return sum(group.tokens for group in groups(messages))


def label(budget: float) -> str:
    return f"{100 * budget:g} %" if budget <= 1 else f"{budget:,.0f} tokens"


def everything(paths: Sequence[Path], task: Task, processes: int) -> list[Row]:
    """The rows of all recordings; our views are made again in other processes, to compare bytes."""
    spawn = multiprocessing.get_context("spawn")  # each process has its own hash seed
    with (
        ProcessPoolExecutor(processes, mp_context=spawn) as first,
        ProcessPoolExecutor(1, mp_context=spawn) as second,
    ):
        rows = _gathered(first, paths, task)
        again = _gathered(second, paths, replace(task, again=True)) if task.wants(OURS) else []
    digests = {(*row.place, row.label): row.digest for row in again}
    return [
        replace(row, faults=(*row.faults, "not deterministic"))
        if row.method == OURS and digests.get((*row.place, row.label), row.digest) != row.digest
        else row
        for row in rows
    ]


def _gathered(pool: Executor, paths: Sequence[Path], task: Task) -> list[Row]:
    rows: list[Row] = []
    what = "again, for the same bytes" if task.again else "measured"
    for number, found in enumerate(pool.map(measured, paths, [task] * len(paths)), 1):
        rows += found
        print(f"\r{what}: {number} of {len(paths)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return rows


def drawing(outcome: Outcome) -> str:
    """The chart of quality over size, where the size is a share of the history's."""
    series: dict[str, list[tuple[float, float]]] = {}
    for method in outcome.methods:
        for each in outcome.labels:
            rows = outcome.of(each, method)
            if rows and each != SUMMARY and "tokens" not in each:
                series.setdefault(method, []).append((macro(rows, of_history), q(rows)))
    return chart("Share of what later steps need that is still in context (Q)", series)


def main() -> None:
    parser = argparse.ArgumentParser(description="What later steps need and still find.")
    parser.add_argument("--budgets", default="0.25,0.1,0.05,8000", help="shares, or tokens")
    parser.add_argument("--cuts", type=int, default=3, help="at most so many in a session")
    parser.add_argument("--limit", type=int, help="so many recordings")
    parser.add_argument("--only", action="append", default=[], help="part of a name; repeatable")
    parser.add_argument("--points", action="store_true", help="also where hosts compacted")
    parser.add_argument("--peers", action="store_true", help="install and measure other tools, too")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", type=Path, help="write the rows there")
    parser.add_argument("--load", type=Path, help="take the rows from there")
    parser.add_argument("--markdown", action="store_true", help="what the page tells of it")
    parser.add_argument("--svg", type=Path, help="write the chart there")
    options = parser.parse_args()
    if options.load:
        rows = [Row(**row) for row in json.loads(options.load.read_text(encoding="utf-8"))]
    else:
        for name, reason in (install() if options.peers else {}).items():
            print(f"{name}: {reason}", file=sys.stderr)
        budgets = tuple(map(float, options.budgets.split(",")))
        only = tuple(options.only)
        task = Task(budgets, options.cuts, options.points, only, options.peers)
        rows = everything(recordings.paths()[: options.limit], task, options.processes)
    outcome = Outcome(rows)
    if options.json:
        written: list[dict[str, Any]] = [asdict(row) for row in rows]
        options.json.write_text(json.dumps(written), encoding="utf-8")
    if options.svg:
        options.svg.write_text(drawing(outcome), encoding="utf-8")
    if options.markdown:
        print(block([*outcome.tables()]))
    else:
        print("\n".join((*outcome.details(), *outcome.gates())))


if __name__ == "__main__":
    main()
