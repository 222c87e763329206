"""The line on Claude Code's screen, made from what it passes on stdin and from our archive."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from anyio import run

from context_compression import Session
from context_compression.hosts import answer, status_line
from context_compression.hosts.claude_code.install_plugin import STATUS_SCRIPT
from context_compression.store import store_folder_for
from context_compression.transcripts import of_claude_code
from context_compression.workspace import Workspace

SESSION = "11111111-2222-4333-8444-555555555555"
PLAIN = {"NO_COLOR": "1"}


def event(project: Path, used: int = 124_000, window: int = 200_000) -> dict[str, Any]:
    """What Claude Code passes, as version 2.1.329 does, as far as it matters here."""
    usage = {"input_tokens": 4, "cache_creation_input_tokens": 996, "output_tokens": 7}
    return {
        "session_id": SESSION,
        "cwd": str(project),
        "workspace": {"current_dir": "/elsewhere", "project_dir": str(project)},
        "context_window": {
            "context_window_size": window,
            "current_usage": {**usage, "cache_read_input_tokens": used - 1_000},
            "used_percentage": round(100 * used / window),
        },
    }


def run_script(stdin: bytes, home: Path) -> subprocess.CompletedProcess[bytes]:
    """The script as Claude Code runs it: without site-packages, so without any other package."""
    return subprocess.run(
        [sys.executable, "-I", "-S", str(STATUS_SCRIPT)],
        input=stdin, env={"HOME": str(home)}, capture_output=True, timeout=30, check=False,
    )  # fmt: skip


@pytest.fixture
def archived(tmp_path: Path) -> Workspace:
    """A project in which a hook archived two outputs, and one of them was restored in part."""
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    workspace = Workspace.here(environ={}, cwd=project, home=home)
    for number in (1, 2):
        response = {"stdout": f"{number}: a line of output\n" * 3_000, "stderr": ""}
        told = {
            "hook_event_name": "PostToolUse", "session_id": SESSION, "tool_name": "Bash",
            "tool_input": {"command": f"make part-{number}"}, "tool_use_id": f"toolu_{number}",
            "tool_response": response, "cwd": str(project),
        }  # fmt: skip
        run(answer, "claude-code", workspace, told)
    session = Session(workspace.store, SESSION)
    session.restore(next(iter(session.state().refs)), lines=(1, 100))
    return workspace


def test_the_line_tells_the_window_and_what_our_archive_did_for_it(archived: Workspace) -> None:
    status = Session(archived.store, SESSION).status()

    ended = run_script(json.dumps(event(archived.cwd)).encode(), archived.home)

    line = re.sub(r"\x1b\[\d*m", "", ended.stdout.decode())
    saved = f"{status.tokens_saved / 1_000:.0f}K"
    assert line == (f"context 62 %, 124K of 200K · compacts at 167K · 2 archived · {saved} saved\n")
    assert status.tokens_saved > 10_000
    assert ended.stderr == b""


def test_only_what_fits_the_terminal_is_told_the_most_important_first(archived: Workspace) -> None:
    told = event(archived.cwd)

    lines = {
        columns: status_line(told, {**PLAIN, "COLUMNS": str(columns)}, archived.home)
        for columns in (10, 40, 60, 84, 300)
    }

    assert lines[10] == lines[40] == "context 62 %, 124K of 200K"
    assert lines[60] == "context 62 %, 124K of 200K · compacts at 167K"
    assert lines[84] == lines[300]
    assert len(lines[300]) <= 80


@pytest.mark.parametrize(
    ("used", "color"),
    [(0, "32"), (100_000, "32"), (120_000, "33"), (151_000, "31"), (199_000, "31")],
)
def test_the_share_has_a_color_unless_the_user_wants_none(
    used: int, color: str, tmp_path: Path
) -> None:
    told = event(tmp_path, max(used, 1_000))

    assert status_line(told, {}, tmp_path).startswith(f"\x1b[{color}mcontext ")
    assert "\x1b" not in status_line(told, PLAIN, tmp_path)


@pytest.mark.parametrize(
    ("window", "environ", "limit"),
    [
        (200_000, {}, 167_000),
        (1_000_000, {}, 967_000),
        (1_000_000, {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "300000"}, 267_000),
        (200_000, {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "5"}, 67_000),
        (200_000, {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "50"}, 90_000),
        (200_000, {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "99"}, 167_000),
        (200_000, {"DISABLE_AUTO_COMPACT": "1"}, 0),
    ],
)
def test_claude_codes_own_variables_decide_where_it_compacts(
    window: int, environ: dict[str, str], limit: int, tmp_path: Path
) -> None:
    """Its rule, read in version 2.1.329."""
    assert of_claude_code(window, environ, tmp_path).compacts_at == limit


def test_after_a_compaction_the_line_shows_what_it_left_and_not_zero(tmp_path: Path) -> None:
    asked = event(tmp_path)
    asked["context_window"] |= {"current_usage": None, "total_input_tokens": 900_000}
    assert status_line(asked, PLAIN, tmp_path).startswith("context just compacted · compacts at")
    store = store_folder_for(tmp_path, home=tmp_path, environ={})
    session = Session(store, SESSION)
    session.origin = lambda: {"host": "claude-code", "beside": 30_000}
    log = [f"src/part_{n}.c:{n}: warning: unused variable {n * 7}" for n in range(9_000)]
    for n in range(3):
        session.record(
            {"role": "user", "content": f"Task {n}."},
            {"role": "assistant", "content": "\n".join(log[n * 3000 : (n + 1) * 3000])},
        )
    result = session.compress(target_tokens=20_000)

    line = status_line(asked, PLAIN, tmp_path)

    thousands = round((result.tokens_after + 30_000) / 1_000)
    assert line.startswith(f"context {thousands / 2:.0f} %, {thousands}K of 200K")


def test_no_compaction_is_announced_where_the_user_switched_it_off(tmp_path: Path) -> None:
    (tmp_path / ".claude.json").write_text('{"autoCompactEnabled": false}', encoding="utf-8")

    line = status_line(event(tmp_path), PLAIN, tmp_path)

    assert line == "context 62 %, 124K of 200K"


@pytest.mark.parametrize(
    "stdin",
    [
        b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 200_000,
        b'{"context_window": 3}', b'{"context_window": {"context_window_size": "many"}}',
        b'{"context_window": {"context_window_size": 1e999}}',
        b'{"session_id": "../..", "cwd": "/", "context_window": {"context_window_size": 100}}',
        b'{"session_id": "a", "cwd": "\\u0000", "context_window": {"context_window_size": 100}}',
    ],
)  # fmt: skip
def test_whatever_it_is_passed_it_ends_well_with_a_line_at_most(
    stdin: bytes, tmp_path: Path
) -> None:
    ended = run_script(stdin, tmp_path)

    assert (ended.returncode, ended.stderr) == (0, b"")
    assert ended.stdout.count(b"\n") <= 1 and len(ended.stdout) < 100


def test_gigantic_numbers_stay_on_a_line_of_80(tmp_path: Path) -> None:
    for used, window in ((10**200, 1), (10**200, 10**200), (1, 10**300), (10**30, 1)):
        line = status_line(event(tmp_path, used, window), PLAIN, tmp_path)
        assert line.startswith("context ") and len(line) <= 80

    digits = PLAIN | {"COLUMNS": "9" * 5_000, "CLAUDE_CODE_AUTO_COMPACT_WINDOW": "9" * 5_000}
    assert status_line(event(tmp_path), digits, tmp_path) == status_line(
        event(tmp_path), PLAIN, tmp_path
    )


def test_settings_that_are_a_pipe_or_a_device_are_not_read(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    os.mkfifo(tmp_path / ".claude.json")
    os.symlink("/dev/zero", tmp_path / ".claude" / "settings.json")

    assert "compacts at 167K" in status_line(event(tmp_path), PLAIN, tmp_path)


def test_a_damaged_log_costs_only_what_is_damaged(archived: Workspace) -> None:
    [log] = archived.store.folder.glob("sessions/*/events.jsonl")
    whole = status_line(event(archived.cwd), PLAIN, archived.home)
    with log.open("ab") as file:
        file.write(b'{"type":"restore","tok\xff\n{"type":"compression","refs":[1]}\n{"type":"off')

    assert status_line(event(archived.cwd), PLAIN, archived.home) == whole


def test_an_archive_that_cannot_be_found_leaves_the_window(tmp_path: Path) -> None:
    told = event(tmp_path) | {"cwd": "\0", "workspace": {"project_dir": "\0"}}

    assert status_line(told, PLAIN, tmp_path) == "context 62 %, 124K of 200K · compacts at 167K"


def test_the_archive_among_the_users_data_is_found_too(tmp_path: Path) -> None:
    environ = {"CONTEXT_COMPRESSION_DIR": "user", "XDG_DATA_HOME": str(tmp_path / "data"), **PLAIN}
    place = store_folder_for(tmp_path, home=tmp_path, environ=environ) / "sessions" / SESSION
    place.mkdir(parents=True)
    log = '{"type":"compression","refs":{"0123456789ab":{}}}\n'
    (place / "events.jsonl").write_text(log, encoding="utf-8")

    line = status_line(event(tmp_path), environ, tmp_path)

    assert line.endswith(" · 1 archived")
