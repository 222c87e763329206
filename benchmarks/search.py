"""Whether a search of the archive finds what later steps need, how fast, and its index's cost.

    python benchmarks/search.py [--cuts 2] [--limit 10] [--only quality|speed|recall]
                                [--json FILE] [--store postgresql://…]

Recorded sessions are cut where an answer follows, and the history before the cut is recorded and
compressed. `needs.py` determines the identifiers that the following steps need. Each that was
archived is searched with two words near it in the step that needs it, and as an exact pattern; a
hit is right if it contains the identifier. Three words of an archived line are also searched; a
text is right if it contains that line. Means are taken over cuts, then sessions, then sources, so
that no session and no project counts more than another. With `--store` the same is done once more
in that store, as a tenant of its own.

The speed is measured over complete recorded sessions of five million tokens together, each
compressed once. The fastest of three runs of each search counts, because other work on the machine
only adds to the time.

`--only recall` measures what recall tools publish: whether a search of hosts' sessions finds the
evidence of the questions to LoCoMo, BEAM and LongMemEval (`field/recall.py`).
"""

import argparse
import json
import re
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from random import Random
from statistics import mean, median, quantiles
from typing import Any

import recordings
from comparison import block, to_json
from estimate import message_tokens
from needs import need
from recordings import Messages
from texts import Reader, identifiers_in

from context_compression import BudgetTooSmall, ContextCompressionError, Session, Store
from context_compression.conversation import parse, texts_of
from context_compression.store import Hit

TOP = 5
NEAR = 200  # characters on each side of an identifier, among which its two words are picked
SHARE = 0.1  # of its tokens, to which a history is compressed
LINES = 10  # of each session, three words of which are looked for
LONG_LINE = 30  # characters
ASKED = 300  # searches whose time is taken
BARS = {
    ("a name and two words", "its conversation"): 0.90,
    ("a name and two words", "all conversations"): 0.90,
    ("an exact pattern", "its conversation"): 0.99,
}
TOKENS = 5_000_000  # over which the speed is measured
SECONDS_BAR = 0.025
RUNS = 3
BARRED = ("a name and two words", "an exact pattern", "restore a ref")
WORD = re.compile(r"[A-Za-z]\w{2,}|[\u4e00-\u9fff]{2,}")


@dataclass(frozen=True)
class Row:
    """One search.

    Attributes:
        kind: what the query was made of.
        where: where it was searched.
        cut: index in the recording of the first message after the history.
        place: of the first right hit, from 0; `None` if there is none.
    """

    kind: str
    where: str
    source: str
    recording: str
    cut: int
    query: str
    place: int | None


def main() -> None:
    parser = argparse.ArgumentParser(description="What a search finds, and how fast.")
    parser.add_argument("--cuts", type=int, default=2, help="of a session, at most")
    parser.add_argument("--limit", type=int, help="sessions")
    parser.add_argument("--only", choices=("quality", "speed", "recall"))
    parser.add_argument("--json", type=Path, help="all figures go there")
    parser.add_argument("--store", help="another store whose quality is shown, too")
    parser.add_argument("--first-search", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.first_search:
        print(json.dumps(first_search(options.first_search)))
        return
    if options.only == "recall":
        from field import conversations, recall  # they import this module

        tables = [*recall.tables(conversations.FOLDER, options.limit)]
        print(block(tables))
        if options.json:
            options.json.write_text(json.dumps([*map(to_json, tables)], indent=1), "utf-8")
        return
    failed = False
    figures: dict[str, Any] = {}
    if options.only != "speed":
        with tempfile.TemporaryDirectory() as folder:
            stores = {"quality": Store(folder)}
            if options.store:
                tenant = f"benchmark-{secrets.token_hex(8)}"
                stores[options.store] = Store(Store(options.store).backend.of_tenant(tenant))
            for name, store in stores.items():
                rows = [*quality(store, options.cuts, options.limit)]
                figures[name] = [asdict(row) for row in rows]
                print(f"{store.backend.name}\n" if options.store else "")
                failed |= report_quality(rows)
    if options.only != "quality":
        figures["speed"] = speed(options.limit)
        failed |= report_speed(figures["speed"])
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1, ensure_ascii=False), encoding="utf-8")
    sys.exit(failed)


@dataclass(frozen=True)
class Archived:
    """A history that was recorded and compressed, with the needs of the steps after it.

    Attributes:
        used_in: the step that needs an identifier, for each that was archived.
        lines: some lines of the archived texts.
    """

    recording: str
    source: str
    cut: int
    session: Session
    reader: Reader
    used_in: dict[str, str]
    lines: list[str]


def quality(store: Store, cuts: int, limit: int | None) -> Iterator[Row]:
    """The searches and their success, by kind of query."""
    for archive in [*archives(store, cuts, limit)]:
        rng = Random(archive.session.id)
        for name, step in sorted(archive.used_in.items()):
            query = " ".join([name, *two_words(rng, step, name)])
            for where, session in (
                ("its conversation", archive.session.id),
                ("all conversations", None),
            ):
                hits = store.search(query, session=session).hits
                place = first(name in archive.reader.identifiers(said(store, h)) for h in hits)
                yield row("a name and two words", where, archive, query, place)
            pattern = re.escape(name)
            hits = store.search(pattern=pattern, session=archive.session.id).hits
            place = first(name in archive.reader.identifiers(said(store, h)) for h in hits)
            yield row("an exact pattern", "its conversation", archive, pattern, place)
        for line in archive.lines:
            query = " ".join(rng.sample(sorted({*WORD.findall(line)}), 3))
            hits = store.search(query).hits
            place = first(line in said(store, hit) for hit in hits)
            yield row("three words of a line", "all conversations", archive, query, place)


def archives(store: Store, cuts: int, limit: int | None) -> Iterator[Archived]:
    for path in recordings.paths()[:limit]:
        recording = recordings.load(path)
        reader = Reader(recording.folder)
        for cut in recordings.cuts(recording, cuts) if recording.uses_tools else []:
            needed = need(reader, recording, cut)
            if needed is None:
                continue
            session = archived(store, f"{recording.id}.{cut.at}", cut.history)
            texts = {ref: text_of(original) for ref, _, original in session.archived()}
            held = frozenset[str]().union(*map(reader.identifiers, texts.values()))
            used_in = {name: needed.used_in[name] for name in needed.identifiers & held}
            lines = [
                line
                for _, text in sorted(texts.items())
                for line in text.split("\n")
                if len(line) >= LONG_LINE and len({*WORD.findall(line)}) >= 3
            ]
            some = Random(session.id).sample(lines, min(LINES, len(lines)))
            yield Archived(recording.id, recording.source, cut.at, session, reader, used_in, some)


def archived(store: Store, id: str, messages: Messages) -> Session:
    """A session with these messages, most of them archived."""
    session = Session(store, id)
    session.record(*messages)
    target = int(SHARE * sum(map(message_tokens, messages)))
    try:
        session.compress(target_tokens=target)
    except BudgetTooSmall as error:
        session.compress(target_tokens=error.floor_tokens)
    return session


def text_of(original: Any) -> str:
    """All readable text of an original."""
    if isinstance(original, str):
        return original
    blocks = parse([original]).messages[0].blocks
    return "\n".join(text for block in blocks for text in texts_of(block))


def said(store: Store, hit: Hit) -> str:
    """All readable text of a hit, as it is restored."""
    return text_of(Session(store, hit.session).original(hit.ref))


def two_words(rng: Random, step: str, name: str) -> list[str]:
    """Words near a name in the step that uses it."""
    at = max(step.find(name.rsplit("/", 1)[-1]), 0)
    near = step[max(0, at - NEAR) : at + len(name) + NEAR].replace(name, " ")
    words = sorted({word for word in WORD.findall(near) if word not in name})
    return rng.sample(words, min(2, len(words)))


def row(kind: str, where: str, archive: Archived, query: str, place: int | None) -> Row:
    return Row(kind, where, archive.source, archive.recording, archive.cut, query, place)


def first(right: Iterable[bool]) -> int | None:
    return next((place for place, is_right in enumerate(right) if is_right), None)


def report_quality(rows: Sequence[Row]) -> bool:
    """Print the quality; returns whether a limit was missed."""
    print("| query | looked for in | queries | right in the first 5 | right at once | bar |  |")
    print("|---|---|--:|--:|--:|--:|---|")
    failed = False
    for kind, where in dict.fromkeys((row.kind, row.where) for row in rows):
        those = [row for row in rows if (row.kind, row.where) == (kind, where)]
        top, at_once = share(those, TOP), share(those, 1)
        bar = BARS.get((kind, where))
        shown = f"{bar:.2f} | {verdict(top >= bar)}" if bar else "| "
        failed |= bar is not None and top < bar
        print(f"| {kind} | {where} | {len(those):,} | {top:.3f} | {at_once:.3f} | {shown} |")
    print()
    return failed


def share(rows: Sequence[Row], among: int) -> float:
    """The share of right hits among the first `among`: the mean over cuts, sessions, sources."""
    nested: dict[str, dict[str, dict[int, list[bool]]]] = {}
    for row in rows:
        cuts = nested.setdefault(row.source, {}).setdefault(row.recording, {})
        cuts.setdefault(row.cut, []).append(row.place is not None and row.place < among)
    return mean(
        mean(mean(mean(found) for found in cuts.values()) for cuts in sessions.values())
        for sessions in nested.values()
    )


def speed(limit: int | None) -> dict[str, Any]:
    """The times over all recordings, and the cost of the index."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        whole = 0.0
        for path in sorted(recordings.paths()[:limit], key=recordings.mixed):
            recording = recordings.load(path)
            whole += sum(map(message_tokens, recording.messages))
            archived(store, recording.id, recording.messages)
            if whole >= TOKENS:
                break
        command = [sys.executable, __file__, "--first-search", folder]
        figures = json.loads(subprocess.check_output(command))
        figures |= {"tokens": whole, "sessions": len(store.sessions())}
        figures["bytes"] = (store.folder / "search.sqlite").stat().st_size
        figures["text"], queries, refs = sample(store)
        store.search("warm")
        ask = {
            "a name and two words": [partial(store.search, " ".join(each)) for each in queries],
            "an exact pattern": [partial(store.search, pattern=re.escape(q[0])) for q in queries],
            "a pattern that is nowhere": [partial(store.search, pattern=r"no\w+where\d")] * 20,
            "only stop words": [partial(store.search, "and what is it to the")] * 20,
            "restore a ref": [partial(restored, folder, ref) for ref in refs],
        }
        figures["seconds"] = {
            name: [min(timed(work) for _ in range(RUNS)) for work in each]
            for name, each in ask.items()
        }
        figures["seconds"]["after a compression"] = [*grown(store)]
    return figures


def sample(store: Store) -> tuple[int, list[list[str]], list[str]]:
    """The number of archived characters, and queries and refs from all parts of the archive."""
    characters = 0
    found: list[tuple[str, str]] = []
    for id in sorted(store.sessions()):
        for ref, _, original in Session(store, id).archived():
            text = text_of(original)
            characters += len(text)
            found.append((ref, text))
    rng = Random(1)
    some = rng.sample(found, min(ASKED, len(found)))
    queries: list[list[str]] = []
    for _, text in some:
        names = sorted(
            {name for line in text.split("\n")[:50] for name, *_ in identifiers_in(line)}
        )
        words = sorted({*WORD.findall(text[:4_000])})
        if names and len(words) > 1:
            queries.append([rng.choice(names), *rng.sample(words, 2)])
    return characters, queries, [ref for ref, _ in some]


def restored(folder: str, ref: str) -> None:
    """Restore a ref as in a new process that has read nothing yet."""
    store = Store(folder)
    log = store.locate(ref)
    assert log
    Session(store, log.id).restore(ref, note=False)


def grown(store: Store) -> Iterator[float]:
    """The next search after a session grew by a message and was compressed again."""
    for id in store.sessions()[:20]:
        session = Session(store, id)
        size = session.status().usage.used_tokens
        session.record(*session.view()[-8:])
        with suppress(ContextCompressionError):
            session.compress(target_tokens=int(size))
        yield timed(partial(store.search, "what was just archived"))


def first_search(folder: str) -> dict[str, float]:
    """The cost of creating the index: seconds, and memory beyond that of the program."""
    before = resident("VmRSS")
    seconds = timed(partial(Store(folder).search, "the first search"))
    return {"index": seconds, "memory": resident("VmHWM") - before}


def resident(which: str) -> float:
    """Bytes of memory, current or peak; 0 if the system does not report them."""
    with suppress(OSError):
        lines = Path("/proc/self/status").read_text(encoding="ascii").split("\n")
        return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith(which))
    return 0


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def report_speed(figures: dict[str, Any]) -> bool:
    """Print the times; returns whether a limit was missed."""
    print(
        f"{figures['tokens']:,.0f} tokens in {figures['sessions']} sessions, "
        f"{figures['text'] / 1e6:.1f} million characters of them archived\n"
    )
    print("| what | median | 95 % take at most | bar |  |\n|---|--:|--:|--:|---|")
    failed = False
    for name, seconds in figures["seconds"].items():
        middle, most = median(seconds), quantiles(seconds, n=20)[-1]
        barred = name in BARRED
        shown = f"{1000 * SECONDS_BAR:.0f} ms | {verdict(middle <= SECONDS_BAR)}"
        failed |= barred and middle > SECONDS_BAR
        cells = f"{1000 * middle:.1f} ms | {1000 * most:.1f} ms"
        print(f"| {name} | {cells} | {shown if barred else '| '} |")
    megabytes = figures["bytes"] / 1e6
    print(
        f"\nThe index: {figures['index']:.1f} s to make, once, by the first search; "
        f"{megabytes:.0f} MB on disk, {figures['memory'] / 1e6:.0f} MB of memory meanwhile."
    )
    return failed


def verdict(met: bool) -> str:
    return "met" if met else "MISSED"


if __name__ == "__main__":
    main()
