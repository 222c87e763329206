"""The command as users run it: a process of its own, in a folder of its own."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest

from context_compression import cli

Done = subprocess.CompletedProcess[bytes]
COMMAND = (sys.executable, "-m", "context_compression")
SCREENS = Path(__file__).parents[1] / "support" / "screens.py"


class Commands:
    """A process that has imported the package, and forks one for each command.

    A command that starts anew imports for half a second. Those of `anew`, as `test_screens.py` has
    them, do so, and those that run `COMMAND`.

    Args:
        anew: whether each command imports what it needs by itself.
    """

    def __init__(self, *, anew: bool = False) -> None:
        modules = [f"{cli.__name__}.{each.name}" for each in iter_modules(cli.__path__)]
        self._process = subprocess.Popen(
            [sys.executable, SCREENS, *([] if anew else ["context_compression.tokens", *modules])],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def of(self, screens: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """What each command prints, as `screens.py` says it."""
        asked, answers = self._process.stdin, self._process.stdout
        assert asked and answers
        asked.write(f"{json.dumps(screens)}\n".encode())
        asked.flush()
        return json.loads(answers.readline())

    def run(self, arguments: tuple[str, ...], folder: Path, environ: Mapping[str, str]) -> Done:
        screen = {
            "arguments": arguments, "cwd": str(folder), "environ": {**environ},
            "pipes": ["stdin", "stdout", "stderr"],
        }  # fmt: skip
        [done] = self.of([screen])
        out, err = (done[name].encode(errors="surrogateescape") for name in ("out", "err"))
        return Done(arguments, done["code"], out, err)

    def end(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="session")
def commands() -> Iterator[Commands]:
    commands = Commands()
    yield commands
    commands.end()


@dataclass(frozen=True)
class Desk:
    """Somebody at a keyboard: a working directory, a home, nothing else in the environment."""

    folder: Path
    commands: Commands

    @property
    def store(self) -> Path:
        return self.folder / ".compression"

    def environ(self, **more: str) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
        return {**kept, "HOME": str(self.folder / "home"), **more}

    def run(self, *arguments: str, env: Mapping[str, str] | None = None) -> Done:
        return self.commands.run(arguments, self.folder, self.environ(**(env or {})))

    def with_stdin_closed(self, *arguments: str) -> Done:
        return subprocess.run(
            ["sh", "-c", 'exec "$@" <&-', "sh", *COMMAND, *arguments],
            cwd=self.folder, env=self.environ(), capture_output=True, timeout=60, check=False,
        )  # fmt: skip

    def does(self, *arguments: str, env: Mapping[str, str] | None = None) -> Done:
        done = self.run(*arguments, env=env)
        assert done.returncode == 0, done.stderr.decode()
        return done

    def json(self, *arguments: str) -> Any:
        return json.loads(self.does(*arguments, "--json").stdout)

    def write(self, name: str, content: Any) -> Path:
        path = self.folder / name
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        path.write_bytes(data)
        return path


def conversation() -> list[dict[str, Any]]:
    """Eight turns in which an agent reads long files; about 15,000 tokens."""
    found: list[dict[str, Any]] = []
    for turn in range(8):
        lines = (f"src/part_{turn}/file_{n}.py: value_{turn}_{n} = {n}" for n in range(100))
        call = {"type": "tool_use", "id": f"t{turn}", "name": "read", "input": {"part": turn}}
        result = {"type": "tool_result", "tool_use_id": f"t{turn}", "content": "\n".join(lines)}
        found += [
            {"role": "user", "content": f"Look at part {turn}, please. 不要改动 src/part_{turn}."},
            {"role": "assistant", "content": [{"type": "text", "text": "I read it."}, call]},
            {"role": "user", "content": [result]},
            {"role": "assistant", "content": f"Part {turn} sets value_{turn}_0 to 0."},
        ]
    return found


@pytest.fixture
def messages() -> list[dict[str, Any]]:
    return conversation()


@pytest.fixture
def desk(tmp_path: Path, commands: Commands) -> Desk:
    """A desk with a transcript, chat.json, and nothing recorded yet."""
    (tmp_path / "home").mkdir()
    desk = Desk(tmp_path, commands)
    desk.write("chat.json", conversation())
    return desk


@pytest.fixture(scope="session")
def compressed_once(
    tmp_path_factory: pytest.TempPathFactory, commands: Commands
) -> tuple[Path, Any]:
    """A store in which chat.json was compressed, and the account of that."""
    desk = Desk(tmp_path_factory.mktemp("once"), commands)
    desk.write("chat.json", conversation())
    return desk.store, desk.json("compress", "chat.json", "--target-tokens", "6000", "--explain")


@pytest.fixture
def used(desk: Desk, compressed_once: tuple[Path, Any]) -> Desk:
    """A desk where chat.json was compressed before."""
    shutil.copytree(compressed_once[0], desk.store)
    return desk


@pytest.fixture
def refs(compressed_once: tuple[Path, Any]) -> dict[str, int]:
    """The refs of that compression which stand for a tool result, with its message's index."""
    found = compressed_once[1]["details"]["refs"].items()
    return {ref: about["messages"][0] for ref, about in found if about["what"] == "read result"}


Snapshot = Callable[[Path], dict[str, bytes]]


@pytest.fixture
def snapshot() -> Snapshot:
    """Every file below a folder, locks aside."""

    def take(folder: Path) -> dict[str, bytes]:
        files = (path for path in folder.rglob("*") if path.is_file())
        return {str(path): path.read_bytes() for path in files if ".locks" not in path.parts}

    return take
