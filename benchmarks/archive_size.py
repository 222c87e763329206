"""The disk space of an archive with its search index, per byte of the conversation.

    python benchmarks/archive_size.py [--limit 20] [--together] [--bar 3.5] [--json FILE]

Each recording is compressed to three tenths of its tokens in a store of its own, and one search
creates the index; `--together` puts all recordings into one store. The measure is bytes on disk,
without locks, divided by the bytes of the recorded messages as compact JSON in UTF-8.

    a call       `compress(messages, store=…)`, as for a transcript
    offloaded    the same with the strategy `offload`, which also writes results to their own files
    a session    recorded message by message before, as an agent loop does it
    four times   such a session that is compressed after each quarter of it

Only the first has a limit, `--bar`, for its median over the recordings.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import recordings
from estimate import message_tokens
from recordings import Messages

from context_compression import BudgetTooSmall, ContextCompressionError, Session, Store, compress
from context_compression.settings import StrategyName
from context_compression.store import to_json

SHARE = 0.3  # of its tokens, to which a conversation is compressed
BAR = 3.5
BARRED = "a call"
QUARTERS = 4
INDEX = "search.sqlite"


def main() -> None:
    parser = argparse.ArgumentParser(description="How much room an archive takes.")
    parser.add_argument("--limit", type=int, help="recordings, evenly picked")
    parser.add_argument("--together", action="store_true", help="all in one store")
    parser.add_argument("--bar", type=float, default=BAR)
    parser.add_argument("--json", type=Path, help="all figures go there")
    options = parser.parse_args()
    paths = recordings.paths()
    picked = paths[:: max(1, len(paths) // (options.limit or len(paths)))]
    figures = {name: [*measured(way, picked, options.together)] for name, way in WAYS.items()}
    failed = report(figures, options.bar)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    sys.exit(failed)


def a_call(store: Store, id: str, messages: Messages, strategy: StrategyName = "auto") -> None:
    def compressed(target: int) -> None:
        compress(messages, store=store, target_tokens=target, force=True, strategy=strategy)

    fitted(compressed, messages)


def offloaded(store: Store, id: str, messages: Messages) -> None:
    a_call(store, id, messages, "offload")


def a_session(store: Store, id: str, messages: Messages) -> None:
    session = Session(store, id)
    session.record(*messages)
    fitted(lambda target: session.compress(target_tokens=target, force=True), messages)


def four_times(store: Store, id: str, messages: Messages) -> None:
    session = Session(store, id)
    for quarter in range(QUARTERS):
        part = slice(*(len(messages) * n // QUARTERS for n in (quarter, quarter + 1)))
        session.record(*messages[part])
        fitted(lambda target: session.compress(target_tokens=target, force=True), messages)


WAYS: dict[str, Callable[[Store, str, Messages], None]] = {
    "a call": a_call,
    "offloaded": offloaded,
    "a session": a_session,
    "four times": four_times,
}


def fitted(work: Callable[[int], object], messages: Messages) -> None:
    """Compress to the share, or to the minimum size if that is larger."""
    target = int(SHARE * sum(map(message_tokens, messages)))
    try:
        work(target)
    except BudgetTooSmall as error:
        work(error.floor_tokens)


def measured(
    way: Callable[[Store, str, Messages], None], paths: Sequence[Path], together: bool
) -> Iterator[dict[str, Any]]:
    """One row per recording, or one for all of them: bytes by kind, divided by the raw bytes."""
    with tempfile.TemporaryDirectory() as folder:
        raw = 0
        for number, path in enumerate(paths):
            recording = recordings.load(path)
            store = Store(Path(folder) / ("all" if together else str(number)))
            size = sum(len(to_json(message)) for message in recording.messages)
            try:
                way(store, f"s{number}", recording.messages)
            except ContextCompressionError:  # nothing in it that this way may touch
                continue
            if not store.sessions():
                continue
            raw += size
            if not together:
                yield row(store, recording.id, size)
        if together and raw:
            yield row(Store(Path(folder) / "all"), "all", raw)


def row(store: Store, id: str, raw: int) -> dict[str, Any]:
    store.search("the first search")
    sizes = Counter[str]()
    for path in store.folder.rglob("*"):
        if path.is_file() and ".locks" not in path.parts:
            sizes[kind_of(path)] += path.stat().st_size
    shares = {kind: size / raw for kind, size in sizes.items()}
    return {"recording": id, "raw": raw, "total": sum(shares.values()), "shares": shares}


def kind_of(path: Path) -> str:
    if path.name.startswith("compact-"):
        return "originals"
    if path.parent.name == "offloaded":
        return "offloaded"
    return {"events.jsonl": "log", "ledger.jsonl": "ledger", INDEX: "index"}.get(path.name, "other")


def report(figures: Mapping[str, Sequence[Mapping[str, Any]]], bar: float) -> bool:
    """Print the ratios; returns whether the limit was exceeded."""
    kinds = ("log", "originals", "offloaded", "ledger", "index", "other")
    print(f"| way | recordings | {' | '.join(kinds)} | median | worst | of |")
    print(f"|---|--:|{'--:|' * len(kinds)}--:|--:|---|")
    for name, rows in figures.items():
        if not rows:
            print(f"| {name} | 0 |")
            continue
        shares = " | ".join(
            f"{median(r['shares'].get(kind, 0) for r in rows):.2f}" for kind in kinds
        )
        worst = max(rows, key=lambda row: row["total"])
        middle = median(row["total"] for row in rows)
        cells = f"{middle:.2f} | {worst['total']:.2f} | {worst['recording']}"
        print(f"| {name} | {len(rows)} | {shares} | {cells} |")
    barred = median(row["total"] for row in figures[BARRED])
    print(f"\n{BARRED}: {barred:.2f} times the raw text; the bar is {bar:.2f}")
    return barred > bar


if __name__ == "__main__":
    main()
