"""`report --all`: the totals of all sessions on this machine. The command runs in this process."""

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from transcripts import FIXTURES

from context_compression.cli import main

from .conftest import Desk, Snapshot

Run = Callable[..., Result]
MODEL = "claude-sonnet-4-5"


@pytest.fixture
def run(used: Desk, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command at a desk where one session was recorded."""
    monkeypatch.chdir(used.folder)
    home = used.folder / "home"
    environ: dict[str, str | None] = {
        "HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache"), "CLAUDE_CONFIG_DIR": None,
        "CODEX_HOME": None, "XDG_DATA_HOME": None,
    }  # fmt: skip

    def run(*arguments: str, fails: bool = False) -> Result:
        result = CliRunner(env=environ).invoke(main, ["report", "--all", *arguments])
        assert result.exit_code == (2 if fails else 0), result.output
        return result

    return run


def asked(desk: Desk, project: str, id: str, day: datetime, model: str = MODEL) -> Path:
    """A session of Claude Code with two requests of 100,000 tokens, of which half was cached."""
    usage = {
        "input_tokens": 50_000, "cache_read_input_tokens": 50_000, "output_tokens": 1_000,
        "cache_creation_input_tokens": 0,
    }  # fmt: skip
    rows: list[dict[str, Any]] = []
    for number in range(4):
        by_model = {"id": f"m{number}", "model": model, "usage": usage} if number % 2 else {}
        role = ("user", "assistant")[number % 2]
        rows.append({
            "type": role, "uuid": f"u{number}", "sessionId": id,
            "parentUuid": f"u{number - 1}" if number else None, "cwd": f"/work/{project}",
            "timestamp": day.isoformat().replace("+00:00", "Z"),
            "message": {"role": role, "content": "x " * 600, **by_model},
        })  # fmt: skip
    path = desk.folder / f"home/.claude/projects/-work-{project}/{id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    os.utime(path, (day.timestamp(), day.timestamp()))
    return path


@pytest.fixture
def sessions(used: Desk) -> list[Path]:
    """Sessions in two projects and two ISO years, one of a model without a known price."""
    return [
        asked(used, "app", "s-1", datetime(2026, 1, 4, 23, 59, tzinfo=UTC)),  # a Sunday
        asked(used, "app", "s-2", datetime(2026, 1, 5, 0, 1, tzinfo=UTC)),
        asked(used, "lib", "s-3", datetime(2025, 12, 29, 12, 0, tzinfo=UTC)),
        asked(used, "lib", "s-4", datetime(2026, 1, 6, 12, 0, tzinfo=UTC), "a-model-1"),
    ]


def facts(run: Run, *options: str) -> dict[str, Any]:
    return json.loads(run("--json", *options).stdout)


def named(totals: list[dict[str, Any]], name: str) -> dict[str, Any]:
    [found] = [each for each in totals if each["name"] == name]
    return found


DOLLARS = 2 * (50_000 * 3 + 50_000 * 0.3 + 1_000 * 15) / 1e6


@pytest.mark.usefixtures("sessions")
def test_sessions_are_summed_by_the_iso_week_of_their_last_request(run: Run):
    weeks = facts(run)["weeks"]

    assert [each["name"] for each in weeks[-2:]] == ["2026-W02", "2026-W01"]
    assert named(weeks, "2026-W01")["sessions"] == 2
    assert named(weeks, "2026-W01")["input"] == 400_000
    assert named(weeks, "2026-W01")["dollars"] == pytest.approx(2 * DOLLARS)
    assert named(weeks, "2026-W02")["unpriced_tokens"] == 202_000


@pytest.mark.usefixtures("sessions")
def test_sessions_are_summed_by_project_and_by_host(used: Desk, run: Run):
    told = facts(run)

    lib = named(told["projects"], "/work/lib")
    assert (lib["sessions"], lib["requests"], lib["output"]) == (2, 4, 4_000)
    assert (lib["dollars"], lib["unpriced"]) == (pytest.approx(DOLLARS), 1)
    recorded = named(told["projects"], str(used.folder))
    assert (recorded["sessions"], recorded["by_us"], recorded["estimated"]) == (1, 1, 1)
    assert {each["name"] for each in told["hosts"]} == {"claude-code", "recorded"}
    assert told["all"]["sessions"] == 5
    assert "a-model-1" in told["models"]


@pytest.mark.usefixtures("sessions")
def test_the_text_tells_dollars_and_the_tokens_without_a_price(run: Run):
    told = run().stdout

    assert "sessions   5 in 3 projects" in told
    assert "at the providers' list prices of 20" in told
    assert f"${DOLLARS:.2f} + 202K tokens" in told  # of the project lib
    assert "week (UTC)" in told
    assert "once, by context-compression" in told


def test_a_host_that_compacted_is_counted(used: Desk, run: Run):
    folder = used.folder / "home/.claude/projects/-work-app"
    folder.mkdir(parents=True)
    text = (FIXTURES / "claude_code/compacted.jsonl").read_text("utf-8")
    (folder / "3f1c0d52-0000-4000-8000-00000000cafe.jsonl").write_text(text, "utf-8")

    host = named(facts(run)["hosts"], "claude-code")

    assert host["compactions"] >= 1
    assert host["by_us"] == 0


def test_a_broken_file_is_named_and_the_others_are_told(used: Desk, sessions: list[Path], run: Run):
    broken = sessions[0].with_name("broken.jsonl")
    broken.write_bytes(b'{"type": "user", "message"')
    sessions[1].with_name("binary.jsonl").write_bytes(bytes(range(256)) * 20)

    told = facts(run)

    assert told["all"]["sessions"] == 5
    assert [str(broken) in each for each in told["problems"]].count(True) == 1
    assert len(told["problems"]) == 2
    assert "warning: " in run().stdout


@pytest.mark.usefixtures("sessions")
def test_only_the_newest_are_counted_and_the_others_are_said_to_be_left_out(run: Run):
    told = facts(run, "--limit", "2")

    assert (told["all"]["sessions"], told["older"]) == (2, 3)
    assert "not counted: 3 older sessions (--limit)" in run("--limit", "2").stdout


def test_what_was_read_before_is_read_again_only_if_it_was_written_since(
    used: Desk, sessions: list[Path], run: Run
):
    first = facts(run)
    before = sessions[0].stat()
    sessions[0].write_bytes(b"nothing that can be read")
    os.utime(sessions[0], ns=(before.st_atime_ns, before.st_mtime_ns))
    remembered = facts(run)
    os.utime(sessions[0])
    written = facts(run)
    next(used.folder.rglob("totals.json")).write_bytes(b"{}")

    assert remembered == first
    assert (written["all"]["sessions"], len(written["problems"])) == (4, 1)
    assert facts(run) == written

    sessions[1].unlink()
    facts(run)
    assert sessions[1].name not in next(used.folder.rglob("totals.json")).read_text("utf-8")


@pytest.mark.usefixtures("sessions")
@pytest.mark.parametrize(
    "damage",
    [
        {"last": "yesterday"}, {"last": 1e300}, {"last": None}, {"dollars": "much"},
        {"input": [1]}, {"models": [1]}, {"project": None}, {"more": 1},
    ],
)  # fmt: skip
def test_a_damaged_memory_of_sessions_is_made_anew(used: Desk, run: Run, damage: dict[str, Any]):
    first = facts(run)
    memory = next(used.folder.rglob("totals.json"))
    kept = json.loads(memory.read_bytes())
    for _, total in kept["sessions"].values():
        total |= damage
    memory.write_text(json.dumps(kept), "utf-8")

    assert facts(run) == first


@pytest.mark.parametrize(
    "written", [1.8e18, -1, 1e308, "9999-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00", "x", True]
)
def test_a_request_at_a_time_that_no_calendar_has_counts_for_the_week_of_its_file(
    used: Desk, run: Run, written: Any
):
    path = asked(used, "app", "s-1", datetime(2026, 1, 4, 12, 0, tzinfo=UTC))
    rows = [json.loads(line) | {"timestamp": written} for line in path.read_text().splitlines()]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    os.utime(path, (1_767_528_000, 1_767_528_000))

    assert named(facts(run)["weeks"], "2026-W01")["sessions"] == 1


@pytest.mark.usefixtures("sessions")
def test_the_page_of_all_is_written_and_nothing_else(used: Desk, snapshot: Snapshot, run: Run):
    before = snapshot(used.store)

    done = run("--html", "all.html")
    again = run("--html", "all.html")

    page = (used.folder / "all.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert "5 sessions in 3 projects" in page
    assert "2026-W02" in page
    assert "Written to all.html." in done.stderr
    assert again.stdout == ""
    assert snapshot(used.store) == before


def test_no_conversation_is_overwritten(used: Desk, sessions: list[Path], run: Run):
    before = sessions[0].read_bytes()

    done = run("--html", str(sessions[0]), "--force", fails=True)

    assert "is the conversation itself" in done.stderr
    assert sessions[0].read_bytes() == before


@pytest.mark.parametrize(
    "given", [("chat",), ("--model", "gpt-5.2"), ("--input-price", "3"), ("--output-price", "0")]
)
def test_what_is_about_one_session_is_refused(run: Run, given: tuple[str, ...]):
    assert "is about one session. Leave it out" in run(*given, fails=True).stderr


def test_a_limit_is_for_all_sessions(used: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(used.folder)

    done = CliRunner().invoke(main, ["report", "--limit", "5"])

    assert done.exit_code == 2
    assert "Add --all." in done.stderr


def test_a_session_without_a_request_has_no_unknown_price(used: Desk, run: Run):
    asked(used, "app", "s-1", datetime(2026, 1, 4, tzinfo=UTC))
    before = facts(run)
    path = used.folder / "home/.claude/projects/-work-app/s-9.jsonl"
    path.write_bytes(b"")

    after = facts(run)

    assert after["all"]["sessions"] == before["all"]["sessions"] + 1
    assert after["all"]["unpriced"] == before["all"]["unpriced"]


def test_without_any_session_that_is_said(desk: Desk):
    done = desk.does("report", "--all")

    assert done.stdout.decode().startswith("No session was found.")
