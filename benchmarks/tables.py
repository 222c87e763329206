"""The tables of `docs/benchmarks.md`, from one command.

    python benchmarks/tables.py --write [--only quality,talk,gates,sizes,recall,replay,until_done,
        speed,many,frameworks,proxy]
        [--peers] [--limit 10] [--processes 2]
    python benchmarks/tables.py --check

Each benchmark saves its tables in `results/`, and the page shows what is saved there, between two
comments that name the place. So are the sentences that say where another method is better than
ours: they are made from the same numbers. --check runs nothing; it ends with 1 if the page says
something else than what is saved.

Without --peers, only ours and the plain rules are run, and what is saved of other tools stays.
Four are not run unless they are named with --only: the speed, the many sessions and the proxy,
because they need a machine without other work, and the frameworks, because they have to be
installed.
"""

import argparse
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import gates
import in_frameworks
import many_of_hosts
import proxy
import quality
import recordings
import replay
import speed
import sweep
import talk
import until_done
from comparison import Table, block, from_json, to_json
from field import recall
from field.conversations import FOLDER
from outcome import ITSELF, Outcome
from peer_processes import install
from peers import TOOLS

RESULTS = Path(__file__).with_name("results")
DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "benchmarks.md"
PICTURES = DOCS / "pictures"
CHART = PICTURES / "quality.svg"
WINDOWS = (60_000, 120_000, 200_000)
SHARES = (0.5, 0.25, 0.1)
BUDGETS = (0.25, 0.1, 0.05, 8_000)
CUTS = 3
SESSIONS = (1_000, 20_000)
CLIENTS = (1, 50)


@dataclass(frozen=True)
class Run:
    """How benchmarks are run.

    Attributes:
        peers: whether other tools are measured, too.
        limit: so many recordings; `None` for all.
    """

    peers: bool = False
    limit: int | None = None
    processes: int = 2


def of_quality(run: Run) -> Iterator[Table]:
    task = quality.Task(BUDGETS, CUTS, points=True, peers=run.peers)
    rows = quality.everything(recordings.paths()[: run.limit], task, run.processes)
    outcome = Outcome(rows)
    if run.peers and run.limit is None:  # else methods would be missing in it
        CHART.write_text(quality.drawing(outcome), encoding="utf-8")
    yield from outcome.tables()


def of_talk(run: Run) -> Iterator[Table]:
    yield from talk.tables(SHARES, tools_too=run.peers, limit=run.limit)


def of_gates(run: Run) -> Iterator[Table]:
    yield from gates.everything(FOLDER, gates.Task(peers=run.peers), run.limit, run.processes)


def of_sizes(run: Run) -> Iterator[Table]:
    most = sweep.LIMIT if run.limit is None else run.limit
    curves = sweep.everything(FOLDER, most, run.processes)
    if run.limit is None:
        sweep.draw(curves, PICTURES)
    yield from sweep.tables(curves)


def of_recall(run: Run) -> Iterator[Table]:
    yield from recall.tables(FOLDER, run.limit)


def of_many(run: Run) -> Iterator[Table]:
    counts = SESSIONS if run.limit is None else [run.limit]
    yield from many_of_hosts.tables(many_of_hosts.everything(counts, None, [sys.executable]))


def of_replay(run: Run) -> Iterator[Table]:
    paths = recordings.paths()[: run.limit]
    found = replay.everything(paths, WINDOWS, run.processes)
    yield from replay.tables(replay.totals(found, WINDOWS))


def of_until_done(run: Run) -> Iterator[Table]:
    works = until_done.works_of(until_done.WINDOWS, until_done.SHARES, until_done.STEPS)
    yield from until_done.tables(until_done.everything(works, run.processes))


def of_speed(run: Run) -> Iterator[Table]:
    arguments = ["--peers"] if run.peers else []
    yield from speed.tables(speed.measured(speed.parser().parse_args(arguments)))


def of_proxy(run: Run) -> Iterator[Table]:
    counts = CLIENTS if run.limit is None else [run.limit]
    yield from proxy.tables(proxy.everything(counts, proxy.TOKENS, proxy.TURNS))


def of_frameworks(run: Run) -> Iterator[Table]:
    yield in_frameworks.everything()


BENCHMARKS: Mapping[str, Callable[[Run], Iterator[Table]]] = {
    "quality": of_quality,
    "talk": of_talk,
    "gates": of_gates,
    "sizes": of_sizes,
    "recall": of_recall,
    "replay": of_replay,
    "until_done": of_until_done,
    "speed": of_speed,
    "many": of_many,
    "frameworks": of_frameworks,
    "proxy": of_proxy,
}
NAMED = ("speed", "many", "frameworks", "proxy")
DEFAULT = tuple(name for name in BENCHMARKS if name not in NAMED)


def saved(folder: Path) -> list[Table]:
    """The tables of all benchmarks that have been run."""
    return [
        from_json(table)
        for name in BENCHMARKS
        if (path := folder / f"{name}.json").exists()
        for table in json.loads(path.read_text(encoding="utf-8"))["tables"]
    ]


def save(name: str, tables: Sequence[Table], folder: Path) -> None:
    """Replace a benchmark's tables, as a file in which a line is a row."""
    folder.mkdir(exist_ok=True)
    text = json.dumps({"tables": [*map(to_json, tables)]}, ensure_ascii=False, indent=1)
    compact = re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda m: f"[{' '.join(m[1].split())}]", text)
    (folder / f"{name}.json").write_text(f"{compact}\n", encoding="utf-8")


def with_tools_of(earlier: Sequence[Table], now: Sequence[Table]) -> list[Table]:
    """The new tables with the rows of other tools, and the tables of tools alone, of the old ones.

    Notes about a tool come along. A table is known again by its place and its heading.
    """
    old = {(table.name, table.heading): table for table in earlier}
    found: list[Table] = []
    for table in now:
        before = old.pop((table.name, table.heading), None)
        rows = {**table.rows}
        notes = [*table.notes]
        for method, figures in before.rows.items() if before else ():
            if method in TOOLS:
                rows.setdefault(method, figures)
        notes += [note for note in (before.notes if before else ()) if note.startswith(TOOLS)]
        found.append(replace(table, rows=rows, notes=notes))
    return found + [table for table in old.values() if ITSELF in table.rows]


def written(text: str, tables: Sequence[Table]) -> str:
    """A page with the tables in their places.

    A place is empty as long as its benchmark has not been run.

    Raises:
        ValueError: a table has no place in the page, or a place has no end.
    """
    places = re.findall(r"<!-- table: (\w+) -->", text)
    if lost := {table.name for table in tables} - {*places}:
        raise ValueError(f"no place for {', '.join(sorted(lost))}")
    for name in places:
        shown = block([table for table in tables if table.name == name])
        place = rf"(<!-- table: {name} -->\n).*?(<!-- end of table: {name} -->)"
        filled = partial(_between, f"\n{shown}\n\n" if shown else "")
        text, count = re.subn(place, filled, text, flags=re.DOTALL)
        if count != 1:
            raise ValueError(f"the place of table {name} has no end")
    return text


def _between(shown: str, match: "re.Match[str]") -> str:
    return f"{match[1]}{shown}{match[2]}"


def main() -> None:
    parser = argparse.ArgumentParser(description="The tables of docs/benchmarks.md.")
    parser.add_argument("--write", action="store_true", help="run benchmarks and write the page")
    parser.add_argument("--check", action="store_true", help="does the page say what is saved?")
    parser.add_argument("--render", action="store_true", help="write the page from what is saved")
    parser.add_argument("--only", type=lambda text: text.split(","), default=DEFAULT)
    parser.add_argument("--peers", action="store_true", help="install and measure other tools, too")
    parser.add_argument("--limit", type=int, help="so many recordings, for a trial")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args()
    if unknown := {*options.only} - BENCHMARKS.keys():
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    if options.write:
        run_all(options)
    text = options.page.read_text(encoding="utf-8")
    now = written(text, saved(options.results))
    if options.write or options.render:
        options.page.write_text(now, encoding="utf-8")
    elif now != text:
        sys.exit(f"{options.page.name} does not say what the results say; --render writes it")


def run_all(options: argparse.Namespace) -> None:
    """Run the benchmarks and save their tables; each is saved as soon as it is done."""
    run = Run(options.peers, options.limit, options.processes)
    missing = install() if run.peers else {}
    reasons = [f"{name} could not run: {reason}." for name, reason in missing.items()]
    for name in options.only:
        tables = [*BENCHMARKS[name](run)]
        if tables:
            tables[0] = replace(tables[0], notes=[*tables[0].notes, *reasons])
        path = options.results / f"{name}.json"
        if path.exists() and not run.peers:
            earlier = json.loads(path.read_text(encoding="utf-8"))["tables"]
            tables = with_tools_of([*map(from_json, earlier)], tables)
        save(name, tables, options.results)


if __name__ == "__main__":
    main()
