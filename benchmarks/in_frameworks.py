"""Our adapters inside agent frameworks, beside what each framework does by itself.

    python benchmarks/in_frameworks.py [--only langchain,strands]

In the newest release of each framework, a fake model reads 100 logs of about 2,500 tokens each, in
a window of 60,000 (`tests/support/agent_runs.py`). The programs of `tests/integrations/programs`
are run with `ours` and with `own`, the framework's own way to keep a conversation small.

    unbroken     requests that begin with all of the request before them
    re-used      share of all that was sent that began like the request before it
    largest      characters of the largest request
    errors       the error lines of how many logs are in the last request
    restorable   how many of the first 60 logs the model can still read, in view or by restoring
    a request    time, with all that the framework does and the tool

The environments are kept in CONTEXT_COMPRESSION_FRAMEWORKS, by default in the user's cache folder.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs
import pytest
from comparison import Figure, Table, block

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests" / "support"))

from frameworks import FRAMEWORKS, Framework  # noqa: E402  # it is in the folder of the line above

PROGRAMS = ROOT / "tests" / "integrations" / "programs"
LOGS = 60
"""Of so many logs, a program's report says how many are lost."""
COLUMNS = {
    "unbroken, %": "percent", "re-used, %": "percent", "largest": "count", "errors": "count",
    "restorable, %": "percent", "a request": "seconds",
}  # fmt: skip
LOW = ("largest", "a request")
"""The columns in which a small value is a good one."""
HOWS = {"ours": "context-compression", "own": "its own"}


@dataclass(frozen=True)
class Program:
    """A program that runs an agent.

    Attributes:
        path: its file.
        extra: the extra of our package that it needs.
    """

    path: Path
    extra: str


def programs() -> Iterator[Program]:
    """The programs that run with `ours` and `own`; those named `…_kinds` test other things."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    for path in sorted(PROGRAMS.glob("*.py")):
        fitting = [extra for extra in extras if path.stem.startswith(extra.replace("-", "_"))]
        if fitting and not path.stem.endswith("_kinds"):
            yield Program(path, max(fitting, key=len))


def measured(program: Program) -> dict[str, dict[str, Any]]:
    """The reports of a program, by how it ran.

    Raises:
        Unavailable: its framework cannot be installed, or the program fails.
    """
    kept = platformdirs.user_cache_path("context-compression") / "frameworks"
    os.environ.setdefault(FRAMEWORKS, str(kept))
    framework = Framework(program.extra)
    reports: dict[str, dict[str, Any]] = {}
    for how in HOWS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                report = framework.run(program.path.name, how, folder=Path(folder))
            except pytest.skip.Exception as skipped:
                raise Unavailable(str(skipped)) from None
            except AssertionError as error:
                *_, last = str(error).split("\n\nassert")[0].strip().splitlines()
                raise Unavailable(f"{program.path.name} {how} fails: {last}") from None
        if "unbroken" not in report:  # a program that runs several agents; the first one counts
            report = next(iter(report.values()))
        reports[how] = {**report, "release": _release(framework)}
    return reports


class Unavailable(Exception):
    """A framework or program that cannot run; the message is the reason."""


def _release(framework: Framework) -> str:
    """The name and version of the installed framework."""
    of_extra = framework.packages[-1 - len(framework.beside)]
    name = of_extra.partition(">")[0].partition("[")[0]
    code = f"from importlib.metadata import version; print(version({name!r}))"
    found = subprocess.run(
        [str(framework.python()), "-c", code], capture_output=True, text=True, check=True
    )
    return f"{name} {found.stdout.strip()}"


def figures(report: Mapping[str, Any]) -> dict[str, Figure]:
    """The row of a report."""
    restorable = (LOGS - report["lost"]) / LOGS
    values = (
        report["unbroken"], report["reused"], report["largest"], report["errors"], restorable,
        report["seconds"],
    )  # fmt: skip
    return dict(zip(COLUMNS, map(Figure, values), strict=True))


def table(found: Mapping[str, Mapping[str, Mapping[str, Any]]], missing: Sequence[str]) -> Table:
    """The table of all reports.

    Args:
        found: the reports of each framework, by how it ran.
        missing: sentences about frameworks that could not run.
    """
    rows: dict[str, dict[str, Figure]] = {}
    releases: list[str] = []
    better: dict[str, list[str]] = {}
    for extra, reports in found.items():
        for how, report in reports.items():
            method = report.get("method", HOWS[how]) if how == "own" else HOWS[how]
            rows[f"{extra}, {method}"] = figures(report)
        releases.append(reports["ours"]["release"])
        ours, own = figures(reports["ours"]), figures(reports["own"])
        for name in COLUMNS:
            if _is_better(name, own[name], ours[name]):
                better.setdefault(name.partition(",")[0], []).append(extra)
    told = "; ".join(f"{name} ({', '.join(extras)})" for name, extras in better.items())
    first = [f"What frameworks do by themselves is better in: {told}."] if told else []
    notes = [*first, f"Measured with {', '.join(releases)}.", *missing]
    heading = "100 tool steps, in a window of 60,000"
    return Table("frameworks", heading, [*COLUMNS], rows, units=COLUMNS, notes=notes)


def _is_better(column: str, own: Figure, ours: Figure) -> bool:
    return own.value < ours.value if column in LOW else own.value > ours.value


def everything(only: Sequence[str] = ()) -> Table:
    """The table of all programs, or of those for some extras."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    missing: list[str] = []
    for program in programs():
        if only and program.extra not in only:
            continue
        print(program.path.stem, file=sys.stderr, flush=True)
        try:
            found[program.extra] = measured(program)
        except Unavailable as reason:
            missing.append(f"{program.extra} could not run: {reason}.")
    return table(found, missing)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", type=lambda text: text.split(","), default=())
    print(block([everything(parser.parse_args().only)]))


if __name__ == "__main__":
    main()
