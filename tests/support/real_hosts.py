"""Real agent hosts in tests: installed with npm, with a home of their own, and a scripted model.

    with MessagesAPI([calling("Bash", command="seq 9"), "done"]) as api:
        claude.ask(api, "Count to nine.")
    assert results_in(api.requests[-1])["Bash"] == ...

A host is kept in `$CONTEXT_COMPRESSION_HOSTS/<name>/node_modules`. It is installed there if it is
missing or has another version. Without that variable these tests are skipped, so that running the
tests does not download 400 MB.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pytest
from environments import environment
from filelock import FileLock

from context_compression.conversation import is_array, is_object
from context_compression.testing.messages_api import Answer, Body, Request

HOSTS = "CONTEXT_COMPRESSION_HOSTS"
PATIENCE = 120  # seconds for a whole run of a host; they take 2 to 6
INSTALLING = 300


@dataclass(frozen=True)
class Package:
    """A host as an npm package. Its formats are internal, so the version is pinned."""

    name: str
    """name of its folder, and of its command"""
    package: str
    version: str

    def installed(self) -> Path:
        """Its command. It is installed if necessary; the test is skipped if that is impossible."""
        folder = folder_for(self.name, f"{self.package}@{self.version} (npm)")
        command = folder / "node_modules" / ".bin" / self.name
        with FileLock(folder / ".lock"):
            if self._version_in(folder) != self.version:
                self._install(folder)
        return command

    def _version_in(self, folder: Path) -> str | None:
        about = folder / "node_modules" / self.package / "package.json"
        return json.loads(about.read_bytes())["version"] if about.is_file() else None

    def _install(self, folder: Path) -> None:
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip(f"no npm to install {self.package}@{self.version} with")
        quiet = ["--no-audit", "--no-fund", "--loglevel=error"]
        what = f"{self.package}@{self.version}"
        _install(what, [npm, "install", *quiet, "--prefix", str(folder), what])


@dataclass(frozen=True)
class Environment:
    """Python packages in an environment of their own: they may want other versions than ours."""

    name: str
    packages: tuple[str, ...]

    def installed(self) -> Path:
        """The folder of its commands. Installed if necessary, or the test is skipped."""
        folder = folder_for(self.name, " ".join(self.packages))
        return environment(folder, self.packages).parent


def folder_for(name: str, what: str) -> Path:
    """The folder in which a host is kept; the test is skipped if there is no place for it."""
    hosts = os.environ.get(HOSTS)
    if not hosts:
        pytest.skip(f"{HOSTS} names no folder to keep {what} in")
    folder = Path(hosts).absolute() / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _install(what: str, command: Sequence[str]) -> None:
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, timeout=INSTALLING, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"{what} was not installed in {INSTALLING} s")
    if ended.returncode:
        pytest.skip(f"{what} cannot be installed: {ended.stderr[-300:]}")


CLAUDE_CODE = Package("claude", "@anthropic-ai/claude-code", "2.1.329")


@dataclass(frozen=True)
class Ended:
    """The output of a host."""

    code: int
    stdout: str
    stderr: str

    @property
    def events(self) -> list[Body]:
        """The lines of its output that are JSON objects."""
        lines = (line for line in self.stdout.splitlines() if line.startswith("{"))
        return [json.loads(line) for line in lines]


@dataclass
class Desk:
    """The place where a host works: a home, a project, and an environment built from nothing."""

    folder: Path
    environ: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        for made in (self.home, self.project):
            made.mkdir(parents=True, exist_ok=True)

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def project(self) -> Path:
        return self.folder / "project"

    @property
    def store(self) -> Path:
        return self.project / ".compression"

    def run(self, *command: str | Path, stdin: str = "", **environ: str) -> Ended:
        """Run a command here until it ends; hosts find our own commands on the PATH."""
        about = {
            "HOME": str(self.home),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "TMPDIR": str(self._made("tmp")),
        }
        ended = subprocess.run(
            list(map(str, command)),
            cwd=self.project,
            env=about | self.environ | environ,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    def _made(self, name: str) -> Path:
        (made := self.folder / name).mkdir(exist_ok=True)
        return made


class Address(Protocol):
    """Where a host finds its model: a scripted API, or what stands before it."""

    @property
    def base_url(self) -> str:
        """What `ANTHROPIC_BASE_URL` is set to."""
        ...


@dataclass
class ClaudeCode:
    """Claude Code without a terminal, by default with our plugin.

    Attributes:
        options: of every start, before those of the call.
    """

    command: Path
    desk: Desk
    options: tuple[str | Path, ...] = ()

    def ask(self, api: Address, prompt: str, *options: str | Path, **environ: str) -> Ended:
        """One prompt, until the model has answered without calling a tool.

        `--resume <session>` among the options continues an earlier session.
        """
        shown = ("--output-format", "stream-json", "--verbose")
        told = (*self.options, *shown, *options)
        ended = self.run("-p", prompt, *told, **self.speaking_to(api) | environ)
        assert ended.code == 0, (ended.code, ended.stdout[-2000:], ended.stderr[-2000:])
        return ended

    def run(self, *arguments: str | Path, **environ: str) -> Ended:
        """Any command of the host: `run("plugin", "validate", folder)`."""
        return self.desk.run(self.command, *arguments, **OFFLINE | environ)

    def speaking_to(self, api: Address) -> dict[str, str]:
        """The environment in which it calls only this model."""
        return {"ANTHROPIC_BASE_URL": api.base_url, "ANTHROPIC_API_KEY": "sk-test"}

    def transcripts(self) -> list[Path]:
        """The files of its sessions, the oldest first."""
        found = (self.desk.home / ".claude" / "projects").glob("*/*.jsonl")
        return sorted(found, key=lambda path: path.stat().st_mtime_ns)


OFFLINE = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "MCP_TIMEOUT": "60000",
    # the first request has all tools, however slow our start
    "MCP_CONNECTION_NONBLOCKING": "0",
    "MCP_CONNECT_TIMEOUT_MS": "60000",
    "ENABLE_TOOL_SEARCH": "false",
}


def calling(tool: str, /, *, says: str = "", tokens: int = 100, **arguments: Any) -> Answer:
    """An answer of the model that calls a tool, by its full name as the host offers it.

    Args:
        tool: the name.
        says: a text before it.
        tokens: size of the prompt, as the API reports it; hosts compact by this number.
        arguments: of the call.
    """
    _calls.append(tool)
    call = {"type": "tool_use", "id": f"toolu_{len(_calls):06}", "name": tool, "input": arguments}
    return Answer(says, "tool_use", content=[call], usage={"input_tokens": tokens})


def saying(text: str, *, tokens: int = 100) -> Answer:
    """An answer of the model that ends its turn."""
    return Answer(text, usage={"input_tokens": tokens})


_calls: list[str] = []  # so that every call has an id of its own


def texts_in(request: Request) -> list[str]:
    """The texts a request shows the model, in order: messages, calls and results."""
    return [text for message in request.body["messages"] for text in _texts(message["content"])]


def results_in(request: Request) -> list[str]:
    """The texts of the tool results a request shows the model, in order."""
    return [
        "".join(_texts(block.get("content")))
        for message in request.body["messages"]
        if is_array(message["content"])
        for block in message["content"]
        if is_object(block) and block.get("type") == "tool_result"
    ]


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    if is_array(content):
        return [text for block in content for text in _texts(block)]
    if is_object(content):
        match content.get("type"):
            case "text":
                return [str(content["text"])]
            case "tool_use":
                return [json.dumps(content["input"])]
            case "tool_result":
                return _texts(content.get("content"))
            case _:
                return []
    return []


def tools_in(request: Request) -> Mapping[str, Mapping[str, Any]]:
    """The tools a request offers the model, by name."""
    return {tool["name"]: tool for tool in request.body.get("tools", [])}
