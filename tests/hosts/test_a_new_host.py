"""A host that nobody has: one file makes its value, and one tuple names it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from context_compression.hosts import events

FILE = """
from pathlib import Path

from context_compression.hosts.host import Host, LiveSession
from context_compression.transcripts.exporter import Exporter
from context_compression.transcripts.sessions import StoredSessions, files, uncertain
from context_compression.transcripts.transcript import RowFormat, Transcript


class MadeUpReader:
    def __init__(self):
        self.messages = []

    def add(self, row, at):
        self.messages.append({"role": row["said_by"], "content": row["words"]})

    def transcript(self, path, load):
        return Transcript(path, "made-up", path.stem, [*self.messages])

    def before(self, row, path, load):
        return None


def sessions(environ, home):
    return files((home / ".made-up").glob("*.jsonl"), lambda path: path.stem)


def here(caller):
    return sessions(caller.environ, caller.home)


def rows(messages, session):
    return ({"said_by": message.role, "words": message.text} for message in messages)


MADE_UP = Host(
    "made-up",
    "Made Up",
    user=lambda machine: machine.home / ".made-up" / "settings.json",
    under="servers",
    formats=(RowFormat(lambda row: "said_by" in row, MadeUpReader),),
    stored=StoredSessions(sessions, lambda session, project: True),
    live=LiveSession("MADE_UP", here, lambda caller: here(caller)[0].path),
    exporter=Exporter(
        lambda session, home, environ: home / ".made-up" / f"{session.session_id}.jsonl",
        rows,
        lambda session, path: ("made-up", path.name),
    ),
)
"""
PROGRAM = """
import sys
from importlib.util import spec_from_file_location

TABLE = sys.argv.pop(1)

class Table:
    @staticmethod
    def find_spec(name, path, target=None):
        if name == "context_compression.hosts.table":
            return spec_from_file_location(name, TABLE)

sys.meta_path.insert(0, Table)
from context_compression.cli import main
main()
"""
"""The program, with another file in the place of `hosts/table.py`."""

Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs a command of the program to which the host was added, and returns what it prints."""
    from context_compression.hosts import table

    text = Path(str(table.__file__)).read_text(encoding="utf-8")
    changed = text.replace("HOSTS = (", "from made_up import MADE_UP\n\nHOSTS = (MADE_UP, ", 1)
    (tmp_path / "table.py").write_text(changed, encoding="utf-8")
    (tmp_path / "made_up.py").write_text(FILE, encoding="utf-8")
    kept = tmp_path / ".made-up" / "4b1d.jsonl"
    kept.parent.mkdir()
    said = [("user", "Fix the crash in src/app.py"), ("assistant", "It is fixed.")]
    lines = [json.dumps({"said_by": by, "words": words}) for by, words in said]
    kept.write_text("\n".join(lines) + "\n", encoding="utf-8")
    environ = {
        "HOME": str(tmp_path), "USERPROFILE": str(tmp_path), "MADE_UP": "1",
        "PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(tmp_path), "PYTHONUTF8": "1",
    }  # fmt: skip

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(tmp_path / "table.py"), *arguments],
            cwd=tmp_path, env=environ, capture_output=True, encoding="utf-8",
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def in_json(text: str) -> Any:
    return json.loads(text)


def test_its_transcripts_are_listed_and_read_and_the_live_one_is_found(run: Run) -> None:
    [listed] = in_json(run("sessions", "--json"))["sessions"]
    status = in_json(run("status", "--json"))

    assert (listed["host"], listed["id"]) == ("made-up", "4b1d")
    assert listed["title"] == "Fix the crash in src/app.py"
    assert status["session"] == "4b1d"


def test_our_server_is_installed_in_it(run: Run, tmp_path: Path) -> None:
    run("install", "made-up")

    settings = json.loads((tmp_path / ".made-up" / "settings.json").read_text(encoding="utf-8"))
    assert settings["servers"]["context-compression"]["args"][-1] == "serve"


def test_a_view_becomes_a_new_session_of_it(run: Run, tmp_path: Path) -> None:
    run("export", "current", "--host", "made-up")

    kept = sorted((tmp_path / ".made-up").glob("*.jsonl"), key=lambda path: len(path.name))
    assert [path.read_text(encoding="utf-8").count("said_by") for path in kept] == [2, 2]


def test_a_hooks_process_finds_an_answer_to_each_event_that_is_named() -> None:
    for hooks in events.HOSTS.values():
        answers = import_module(f"context_compression.hosts.{hooks.module}").ANSWERS
        assert tuple(answers) == hooks.events
