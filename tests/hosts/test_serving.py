"""A process that stays: one event after another in, their answers out."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from context_compression.hosts import serving
from context_compression.hosts.serving import serve_events
from context_compression.session import Session
from context_compression.workspace import Workspace

LONG = "".join(f"line {n} of what was printed\n" for n in range(900))


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "project").mkdir()
    return Workspace.here(environ={}, cwd=tmp_path / "project", home=tmp_path, store=None)


def printed(text: str, id: object = 1) -> bytes:
    """A request about a command that printed a text."""
    event = {
        "hook_event_name": "tool_result", "session_id": "s1", "toolName": "bash",
        "toolCallId": f"c{id}", "input": {"command": f"make part-{id}"},
        "text": text, "shown": text,
    }  # fmt: skip
    return json.dumps({"id": id, "event": event}).encode() + b"\n"


def served(workspace: Workspace, *lines: bytes) -> list[Mapping[str, Any]]:
    answers = io.BytesIO()
    anyio.run(partial(serve_events, "pi", workspace, io.BytesIO(b"".join(lines)), answers))
    return [json.loads(line) for line in answers.getvalue().splitlines()]


def test_each_event_gets_the_answer_with_its_id(workspace: Workspace):
    outputs = {n: f"{LONG}and {n}\n" for n in range(12)}

    told = served(workspace, *(printed(text, n) for n, text in outputs.items()))

    by_ref = {ref: Session(workspace.store, "s1").restore(ref, note=False)
              for ref in Session(workspace.store, "s1").state().refs}  # fmt: skip
    assert {answer["id"] for answer in told} == {*outputs}
    for answer in told:
        [ref] = [ref for ref in by_ref if f"; ref {ref};" in answer["answer"]["text"]]
        assert by_ref[ref] == outputs[answer["id"]]


def test_an_event_that_changes_nothing_is_answered_with_nothing(workspace: Workspace):
    assert served(workspace, printed("all is well")) == [{"id": 1, "answer": {}}]


@pytest.mark.parametrize(
    ("line", "id", "says"),
    [
        (b"nonsense\n", None, "not JSON"),
        (b"\xff\xfe\n", None, "not JSON"),
        (b"[" * 100_000 + b"\n", None, "not JSON"),
        (b"\n", None, "not JSON"),
        (b"[1]\n", None, "no event"),
        (b'{"id": 7}\n', 7, "no event"),
        (b'{"id":7,"event":' + b"[" * 100_000 + b"\n", 7, "not JSON"),
    ],
)
def test_a_line_that_makes_no_sense_gets_an_error_and_the_next_its_answer(
    line: bytes, id: object, says: str, workspace: Workspace
):
    told = served(workspace, line, printed("all is well", 2))

    [wrong] = [answer for answer in told if "error" in answer]
    assert wrong["id"] == id and says in wrong["error"] and '"event": {…}' in wrong["error"]
    assert {"id": 2, "answer": {}} in told


def test_a_line_that_is_too_long_is_refused_and_not_kept(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(serving, "LONGEST", 1_000)

    told = served(workspace, printed(LONG), printed("fine", 2))

    assert len(told) == 2
    assert "may have 1,000 bytes" in str(told)
    assert all(answer["id"] for answer in told)
    assert {"id": 2, "answer": {}} in told


def test_a_failure_is_told_in_words_and_the_next_event_is_answered(workspace: Workspace):
    workspace.store.folder.write_text("a file is in its place", encoding="utf-8")

    told = served(workspace, printed(LONG), printed("fine", 2))

    assert {answer["id"] for answer in told} == {1, 2}
    for answer in told:
        assert str(workspace.store.folder) in answer["error"] and "Traceback" not in str(answer)


def test_only_answers_go_to_stdout_and_the_process_ends_with_stdin(tmp_path: Path):
    noisy = """
import sys
from context_compression.cli import main
from context_compression.hosts import pi as host

async def loud(workspace, event):
    print("hello")
    return {}

host.ANSWERS["tool_result"] = loud
sys.argv[1:] = ["hook", "pi", "--serve"]
main()
"""
    environ = {**os.environ, "HOME": str(tmp_path)}

    ended = subprocess.run(
        [sys.executable, "-c", noisy], input=b"nonsense\n" + printed("all is well", 2),
        capture_output=True, cwd=tmp_path, env=environ, timeout=60, check=False,
    )  # fmt: skip

    assert ended.returncode == 0, ended.stderr
    assert len([json.loads(line) for line in ended.stdout.splitlines()]) == 2
    assert b"hello" in ended.stderr
