"""The gates: what the score Q cannot see, on recordings of other harnesses and of plain talk.

    python benchmarks/gates.py [FOLDER] [--only gates|five|search|likelihood]
        [--shares 0.25,0.1,0.05] [--limit 10] [--peers] [--processes 2]
        [--json FILE | --load FILE]

FOLDER holds the recordings that `field/conversations.py` names; without it, they are found beside
the others, see `recordings.py`. `field/places.py` says what each gate asks. All methods get the
same number of tokens of `estimate.py`; where our view could not be as small as that, the others get
as much as ours. The size beside a figure is the true one: a share of the original's o200k tokens.

The part `likelihood` is of the recordings of agents; see `likelihood.py`.

With --peers, the other tools are installed in environments of their own and measured, too.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import likelihood
from comparison import OURS, Table, block, from_json, to_json
from field.conversations import FOLDER, KINDS, Conversation, load
from field.growing import SHARES as GROWN
from field.growing import column_of, grown, judged
from field.methods import Method, methods, ours, room_of
from field.places import Place, places
from field.scores import FIVE, GATES, SEARCH, Score, tables
from field.searching import searched
from field.view import View, share_of
from likelihood import LIMIT, SHARE
from peer_processes import Failed, install, tools
from peers import Peer
from plain_rules import tokens_of
from recordings import Messages

PARTS = ("gates", "five", "search", "likelihood")


@dataclass(frozen=True)
class Task:
    """A measurement to make.

    Attributes:
        shares: of a history's tokens, as targets.
        parts: names in `PARTS`.
        peers: whether other tools are measured, too.
    """

    shares: tuple[float, ...] = (0.25, 0.1, 0.05)
    parts: tuple[str, ...] = PARTS
    peers: bool = False


def measured(conversation: Conversation, task: Task) -> list[Score]:
    """All scores of one recording."""
    peers = [peer for peer in tools()[0] if peer.has_budget] if task.peers else []
    found: list[Score] = []
    if "gates" in task.parts:
        for place in places(conversation):
            found += at_place(place, task.shares, peers)
    if "five" in task.parts and conversation.kind in GROWN:
        found += after_five(conversation, peers)
    if "search" in task.parts and conversation.kind in GROWN:
        found += [
            Score(SEARCH, "", each.column, each.method, conversation.id, each.value, each.size)
            for each in searched(conversation)
        ]
    return found


def at_place(place: Place, shares: Sequence[float], peers: Sequence[Peer]) -> Iterator[Score]:
    history = View(place.history)
    whole = tokens_of(place.history)
    for share in shares:
        room = room_of(View(ours(place.history, share * whole)).messages, share * whole)
        for method in (Method(OURS, ours), *methods(place, peers)):
            target = share * whole if method.name == OURS else room
            view, reason = tried(partial(method.view, place.history, target))
            size = None if view is None else share_of(view, history)
            for gate, measure in place.measures.items():
                value = None if view is None else measure(view)
                yield Score(
                    GATES, f"{100 * share:g} %", gate, method.name, place.conversation, value, size,
                    reason,
                )  # fmt: skip


def after_five(conversation: Conversation, peers: Sequence[Peer]) -> Iterator[Score]:
    column = column_of(conversation)
    for name, make in grown(conversation, peers):
        view, reason = tried(make)
        value, size = (None, None) if view is None else judged(conversation, view)
        yield Score(FIVE, "", column, name, conversation.id, value, size, reason)


def tried(make: Callable[[], Messages]) -> tuple[View | None, str]:
    """A view; if a peer failed, what it said."""
    try:
        return View(make()), ""
    except Failed as error:
        return None, str(error)


def everything(folder: Path, task: Task, limit: int | None, processes: int) -> list[Table]:
    """The tables of all recordings in a folder; without any, the program ends with the reason."""
    found = [each for kind in KINDS for each in load(folder, kind)[:limit]]
    if not found:
        raise SystemExit(f"no recordings in {folder}; set CONTEXT_COMPRESSION_DATA")
    found.sort(key=lambda each: -tokens_of(each.messages))  # the longest first
    scores: list[Score] = []
    with ProcessPoolExecutor(processes) as pool:
        for number, each in enumerate(pool.map(measured, found, [task] * len(found)), 1):
            scores += each
            print(f"\rgates: {number} of {len(found)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    judged: list[Table] = []
    if "likelihood" in task.parts:
        most = LIMIT if limit is None else min(limit, LIMIT)
        judged = [*likelihood.everything(SHARE, most, processes)]
    return [*tables(scores), *judged]


def main() -> None:
    parser = argparse.ArgumentParser(description="What a score of needed names cannot see.")
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    parser.add_argument("--only", action="append", choices=PARTS, help="repeatable")
    parser.add_argument("--shares", default="0.25,0.1,0.05", help="of the tokens, as targets")
    parser.add_argument("--limit", type=int, help="so many recordings of each kind")
    parser.add_argument("--peers", action="store_true", help="install and measure other tools, too")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", type=Path, help="write the tables there")
    parser.add_argument("--load", type=Path, help="take the tables from there")
    options = parser.parse_args()
    if options.load:
        saved = json.loads(options.load.read_text(encoding="utf-8"))
        found = [from_json(table) for table in saved["tables"]]
    else:
        missing = install() if options.peers else {}
        shares = tuple(map(float, options.shares.split(",")))
        task = Task(shares, tuple(options.only or PARTS), options.peers)
        found = everything(options.folder, task, options.limit, options.processes)
        for name, reason in missing.items():
            print(f"{name}: {reason}", file=sys.stderr)
    if options.json:
        saved = {"tables": [*map(to_json, found)]}
        options.json.write_text(json.dumps(saved, ensure_ascii=False), encoding="utf-8")
    print(block(found))


if __name__ == "__main__":
    main()
