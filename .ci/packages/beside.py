"""Whether the newest agent frameworks can be installed beside us, each by itself.

    python .ci/packages/beside.py [FRAMEWORK ...] [--python 3.12]

`uv` resolves each framework twice, alone and together with our requirements in `pyproject.toml`.
One that is older beside us falls back; the table names each requirement of ours without which it
would not. A fall ends with exit code 1 unless `KNOWN` names it with the same requirements, and so
does an entry of `KNOWN` that is no longer so. Nothing is installed. Where no package index is
reachable, nothing is resolved, and the exit code is 0.
"""

import argparse
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from itertools import repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from zipfile import ZipFile

FRAMEWORKS = {
    "ag2": "",
    "agent-framework": "agent-framework",
    "agno": "",
    "autogen-agentchat": "",
    "browser-use": "",
    "camel-ai": "",
    "claude-agent-sdk": "claude-agent-sdk",
    "crewai": "",
    "deepagents": "langchain",
    "dspy": "",
    "fastmcp": "",
    "google-adk": "google-adk",
    "haystack-ai": "",
    "instructor": "",
    "langchain": "langchain",
    "langgraph": "langchain",
    "letta-client": "",
    "litellm[proxy]": "litellm",
    "llama-index-core": "",
    "mcp-agent": "",
    "openai-agents": "openai-agents",
    "openhands-sdk": "",
    "pydantic-ai": "pydantic-ai",
    "semantic-kernel": "",
    "smolagents": "",
    "strands-agents": "strands",
}
"""The frameworks, each with the extra of ours that has its adapter, if there is one."""
KNOWN: dict[str, frozenset[str]] = {}
"""Frameworks that cannot go with us, and the names of our requirements that are the reason."""
AT_ONCE = 8
PATIENCE = 300  # seconds for one resolution; most take 2
NO_SOLUTION = 1  # exit code of uv
NAME = re.compile(r"[A-Za-z0-9._-]+")


class Unresolved(Exception):
    """There is no solution; the message is uv's."""


class Failed(Exception):
    """No solution could be looked for; the message is uv's."""


@dataclass(frozen=True)
class Result:
    """What became of a framework.

    Attributes:
        framework: its name.
        newest: its version alone; empty if the index has none for this Python.
        beside: its version beside us; empty if there is none.
        mcp: the version of `mcp` beside it.
        held_by: those of our requirements without which its newest version goes with us.
        why: uv's words, where there was no solution.
    """

    framework: str
    newest: str = ""
    beside: str = ""
    mcp: str = ""
    held_by: tuple[str, ...] = ()
    why: str = ""

    @property
    def falls_back(self) -> bool:
        """Whether it is older beside us."""
        return self.newest != self.beside


class Resolver:
    """Resolves packages for one version of Python; a folder holds wheels with our requirements."""

    def __init__(self, folder: Path, python: str) -> None:
        self._folder, self._python = folder, python
        self._writing = Lock()

    def versions(self, framework: str = "", ours: Sequence[str] = ()) -> dict[str, str]:
        """The version of each package.

        Args:
            framework: a requirement.
            ours: what we need; we are one more package beside it, as we are for a user.

        Raises:
            Unresolved: uv found no solution.
            Failed: uv could not look for one.
        """
        command = [
            sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--no-header",
            "--no-annotate", "--python", sys.executable, "--python-version", self._python,
            "--find-links", str(self._folder), "-",
        ]  # fmt: skip
        wanted = "\n".join([framework, self._wheel(ours) if ours else ""])
        ended = subprocess.run(
            command, input=wanted, capture_output=True, text=True, check=False, timeout=PATIENCE
        )
        if ended.returncode:
            failed = ended.returncode != NO_SOLUTION or "network was disabled" in ended.stderr
            raise (Failed if failed else Unresolved)(ended.stderr.strip())
        lines = [line.split("==") for line in ended.stdout.splitlines() if "==" in line]
        return {name_of(name): version for name, version in lines}

    def _wheel(self, requirements: Sequence[str]) -> str:
        """The name of a package that has these requirements and nothing else."""
        name = f"ours_{sha256(repr(requirements).encode()).hexdigest()[:12]}"
        about = [f"Name: {name}", "Version: 1", *map("Requires-Dist: {}".format, requirements)]
        file = self._folder / f"{name}-1-py3-none-any.whl"
        with self._writing:  # frameworks share wheels, and another thread's uv may be reading
            if file.exists():
                return name
            with ZipFile(file, "w") as wheel:
                wheel.writestr(
                    f"{name}-1.dist-info/METADATA", "\n".join(["Metadata-Version: 2.1", *about])
                )
                wheel.writestr(
                    f"{name}-1.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n"
                )
                wheel.writestr(f"{name}-1.dist-info/RECORD", "")
        return name


def name_of(requirement: str) -> str:
    """`"mcp>=2.1,<3"` -> `"mcp"`."""
    found = NAME.match(requirement)
    assert found
    return found[0]


def beside(framework: str, ours: Sequence[str], resolver: Resolver) -> Result:
    """What becomes of a framework beside our requirements.

    Raises:
        Failed: nothing could be looked for.
    """
    name = name_of(framework)
    try:
        newest = resolver.versions(framework)[name]
    except Unresolved as error:
        return Result(framework, why=str(error))
    try:
        versions = resolver.versions(framework, ours)
        if versions[name] == newest:
            return Result(framework, newest, newest, versions.get("mcp", ""))
        why = ""
    except Unresolved as error:
        versions, why = dict[str, str](), str(error)
    held_by = [each for each in ours if _goes(f"{framework}=={newest}", ours, each, resolver)]
    return Result(
        framework, newest, versions.get(name, ""), versions.get("mcp", ""), tuple(held_by), why
    )


def _goes(framework: str, ours: Sequence[str], without: str, resolver: Resolver) -> bool:
    try:
        return bool(resolver.versions(framework, [each for each in ours if each != without]))
    except Unresolved:
        return False


def problems(results: Sequence[Result], known: Mapping[str, frozenset[str]]) -> Iterator[str]:
    """What is not as `known` says."""
    for each in results:
        held_by = frozenset(map(name_of, each.held_by))
        expected = known.get(each.framework)
        if each.falls_back and held_by != expected:
            reason = f"because of {', '.join(each.held_by)}" if held_by else "for several reasons"
            yield (
                f"{each.framework} {each.newest} cannot be installed beside us, {reason}. Widen "
                "our range; if that is impossible, name it in KNOWN."
            )
        elif expected and each.newest and not each.falls_back:
            yield f"{each.framework} {each.newest} goes with us now. Remove it from KNOWN."


def table(results: Sequence[Result]) -> Iterator[str]:
    """The lines of the table."""
    rows = [("framework", "newest", "beside us", "mcp", "held back by")]
    for each in results:
        if not each.newest:
            rows.append((each.framework, "-", "-", "", f"not resolved alone: {_last(each.why)}"))
            continue
        held = ", ".join(each.held_by)
        if each.falls_back and not held:
            held = _last(each.why) or "several of our requirements"
        rows.append((each.framework, each.newest, each.beside or "none", each.mcp, held))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()


def _last(text: str) -> str:
    return text.splitlines()[-1].strip() if text else ""


def main(
    arguments: Sequence[str] | None = None,
    frameworks: Mapping[str, str] = FRAMEWORKS,
    known: Mapping[str, frozenset[str]] = KNOWN,
) -> int:
    """Resolve, print the table, and return the exit code."""
    parser = argparse.ArgumentParser(description="Resolve us beside the newest frameworks.")
    parser.add_argument("names", nargs="*", metavar="FRAMEWORK", help="only these")
    parser.add_argument("--python", default="3.12", help="the version of Python to resolve for")
    parser.add_argument("--folder", type=Path, default=Path(__file__).parents[2])
    options = parser.parse_args(arguments)
    text = (options.folder / "pyproject.toml").read_text("utf-8")
    project = tomllib.loads(text)["project"]
    ours: list[str] = project["dependencies"]
    extras: dict[str, list[str]] = project.get("optional-dependencies", {})
    with TemporaryDirectory() as folder, ThreadPoolExecutor(AT_ONCE) as pool:
        resolver = Resolver(Path(folder), options.python)
        try:
            resolver.versions(ours=ours)
        except Failed as error:
            print(f"No package index is reachable, so nothing is resolved: {_last(str(error))}")
            return 0
        except Unresolved as error:
            print(error)
            return 1
        chosen = options.names or [*frameworks]
        needs = [[*ours, *extras.get(frameworks.get(name, ""), ())] for name in chosen]
        try:
            results = [*pool.map(beside, chosen, needs, repeat(resolver))]
        except Failed as error:
            print(f"uv failed, so nothing is known: {error}")
            return 1
    wrong = [*problems(results, known)]
    print(*table(results), *wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
