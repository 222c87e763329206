"""`sessions` lists the sessions of all hosts and our own; other commands take their numbers."""

import gzip
import json
import os
import re
import shutil
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from opencode_database import Host
from transcripts import FIXTURES, recordings

from context_compression import Session
from context_compression.cli import main
from context_compression.cli.last_listing import listing_file
from context_compression.cli.terminal import write_json
from context_compression.hosts import (
    BY_NAME,
    LONGEST_READ,
    Conversations,
    Transcript,
    glance,
    list_sessions,
    read,
)
from context_compression.transcripts import Ends, how_often
from context_compression.workspace import Workspace

from .conftest import conversation

Run = Callable[..., Result]
ID = "0000000{}-0000-4000-8000-000000000000"
CLAUDE_ID, CODEX_ID, SUBAGENT_ID, COPILOT_ID, PI_ID = (ID.format(n) for n in range(1, 6))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder in which nothing is, and a project to work in."""
    home, project = tmp_path / "home", tmp_path / "home" / "work" / "app"
    project.mkdir(parents=True)
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_DATA_HOME",
                 "OPENCODE_DB", "PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR",
                 "COPILOT_HOME", "XDG_STATE_HOME", "CONTEXT_COMPRESSION_DIR",
                 "CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID", "GEMINI_CLI", "OPENCODE",
                 "PI_CODING_AGENT"):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(project)
    return home


@pytest.fixture
def run(home: Path) -> Run:
    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, arguments)

    return run


def kept(path: Path, fixture: str, *, minutes: int, **replaced: str) -> Path:
    """A transcript that a host wrote so many minutes ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = (FIXTURES / fixture).read_text(encoding="utf-8")
    for old, new in replaced.items():
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
    ago = time.time() - 60 * minutes
    os.utime(path, (ago, ago))
    return path


def project_of(home: Path) -> str:
    return str(home / "work" / "app")


def claude_file(home: Path, id: str = CLAUDE_ID, folder: str = ".claude") -> Path:
    name = re.sub(r"[^A-Za-z0-9]", "-", project_of(home))
    return home / folder / "projects" / name / f"{id}.jsonl"


def codex_file(home: Path, id: str = CODEX_ID, folder: str = ".codex") -> Path:
    return home / folder / "sessions/2026/01/02" / f"rollout-2026-01-02T03-04-05-{id}.jsonl"


@pytest.fixture
def hosts(home: Path) -> Iterator[Path]:
    """A session of each host, written one after the other; Claude Code's is the newest."""
    kept(claude_file(home), "claude_code/session.jsonl", minutes=1)
    kept(codex_file(home), "codex/session.jsonl", minutes=2)
    gemini = home / ".gemini" / "tmp" / sha256(project_of(home).encode()).hexdigest() / "chats"
    kept(gemini / "session-2026-01-02T03-04-0000abcd.jsonl", "gemini_cli/session.jsonl", minutes=3)
    kept(home / f".pi/agent/sessions/--app--/2026_{PI_ID}.jsonl", "pi/session.jsonl", minutes=4)
    state = home / ".copilot" / "session-state"
    kept(state / COPILOT_ID / "events.jsonl", "copilot_cli/session.jsonl", minutes=5)
    data = home / ".local" / "share" / "opencode"
    data.mkdir(parents=True)
    host = Host(data / "opencode.db")
    ago = int((time.time() - 6 * 60) * 1000)
    host.keep("session", time_updated=ago)
    host.db.execute(
        "INSERT INTO session VALUES ('ses_sub', 'ses_cafe', '/work/app', 'Helper', NULL, 1, 2)"
    )
    host.db.commit()
    yield home
    host.db.close()


def listed(run: Run, *options: str) -> list[dict[str, Any]]:
    done = run("sessions", *options, "--json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)["sessions"]


def test_the_sessions_of_all_hosts_are_listed_newest_first(hosts: Path, run: Run):
    sessions = listed(run)

    assert [each["host"] for each in sessions] == [
        "claude-code", "codex", "gemini-cli", "pi", "copilot-cli", "opencode",
    ]  # fmt: skip
    assert [each["number"] for each in sessions] == [1, 2, 3, 4, 5, 6]
    assert all(each["tokens"] and each["window"] and each["title"] for each in sessions)
    assert not any(each["problem"] or each["archived"] for each in sessions)
    assert sessions[5]["subagents"] == 1


def test_the_listing_says_what_status_says(hosts: Path, run: Run):
    for each in listed(run):
        status = json.loads(run("status", str(each["number"]), "--json").stdout)

        assert status["used_tokens"] == each["tokens"], each["host"]
        assert status["total_budget"] == each["window"], each["host"]
        assert status["session"] == each["id"]


def test_as_text_a_session_is_a_row(hosts: Path, run: Run):
    done = run("sessions", "--limit", "2")

    head, first, second, *_ = done.stdout.splitlines()
    assert head.split() == [
        "host", "project", "title", "written", "size", "window", "compacted",
    ]  # fmt: skip
    assert first.startswith("1  claude-code ") and " 1 min ago " in first
    assert second.startswith("2  codex ") and second.rstrip().endswith("%")
    assert "not listed: 4 older sessions (--all, --limit)" in done.stdout
    assert "`context-compression status 1`" in done.stdout


def test_on_a_screen_a_column_that_says_the_same_of_all_is_a_line(hosts: Path, run: Run):
    kept(claude_file(hosts, ID.format(8)), "claude_code/session.jsonl", minutes=9)

    piped = run("sessions", "--host", "claude-code")
    screen = CliRunner(env={"FORCE_COLOR": "1", "NO_COLOR": "1", "COLUMNS": "80"}).invoke(
        main, ["sessions", "--host", "claude-code"]
    )

    heads = [done.stdout.splitlines()[0].split() for done in (piped, screen)]
    assert heads[0] == ["host", "project", "title", "written", "size", "window", "compacted"]
    assert not {"host", "project"} & {*heads[1]}
    assert "host of all: claude-code" in screen.stdout and "of all" not in piped.stdout


def test_a_session_of_our_store_is_listed_as_archived(hosts: Path, run: Run):
    Path("chat.json").write_text(json.dumps(conversation()), encoding="utf-8")
    run("compress", "chat.json", "--target-tokens", "6000")

    by_id = {each["id"]: each for each in listed(run)}

    assert by_id["chat"]["host"] == "recorded" and by_id["chat"]["archived"]
    assert by_id["chat"]["compactions"] == 1


@pytest.mark.parametrize("option", [["--host", "pi"], ["--host", "recorded"]])
def test_only_one_host_is_listed_if_asked(hosts: Path, run: Run, option: list[str]):
    assert {each["host"] for each in listed(run, *option)} <= {option[1]}


def test_only_sessions_of_this_folder_are_listed_if_asked(hosts: Path, run: Run):
    other = claude_file(hosts, ID.format(8))
    kept(other.parent.with_name("-other") / other.name, "claude_code/session.jsonl", minutes=1)

    assert [each["host"] for each in listed(run, "--here")] == ["claude-code", "gemini-cli"]


@pytest.mark.parametrize(
    ("variable", "folder", "host"),
    [("CLAUDE_CONFIG_DIR", "c", "claude-code"), ("CODEX_HOME", "x", "codex")],
)
def test_the_folder_that_a_variable_names_is_searched(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch, variable: str, folder: str, host: str
):
    kept(claude_file(home, folder="c"), "claude_code/session.jsonl", minutes=1)
    kept(codex_file(home, folder="x"), "codex/session.jsonl", minutes=1)
    monkeypatch.setenv(variable, str(home / folder))

    assert [each["host"] for each in listed(run)] == [host]


def test_subagents_are_counted_and_not_listed(home: Path, run: Run):
    main_file = kept(claude_file(home), "claude_code/session.jsonl", minutes=1)
    beside = main_file.with_suffix("") / "subagents" / "agent-1.jsonl"
    kept(beside, "claude_code/subagent.jsonl", minutes=1)
    journal = beside.parent / "workflows" / "wf_1" / "journal.jsonl"
    journal.parent.mkdir(parents=True)
    journal.write_text('{"type": "started", "agentId": "1"}\n', encoding="utf-8")
    path = codex_file(home, SUBAGENT_ID)
    kept(path, "codex/session.jsonl", minutes=2)
    meta, _, rest = path.read_text(encoding="utf-8").partition("\n")
    row = json.loads(meta)
    row["payload"]["source"] = {"subagent": {"thread_spawn": {"parent_thread_id": CODEX_ID}}}
    path.write_text(f"{json.dumps(row)}\n{rest}", encoding="utf-8")

    [only] = listed(run)

    assert (only["host"], only["subagents"]) == ("claude-code", 1)
    assert "not listed: 1 transcript of their subagents" in run("sessions").stdout


def test_a_file_that_cannot_be_read_is_listed_with_the_reason(home: Path, run: Run):
    path = claude_file(home)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\x00\x01\x02\xff\xfe" * 100)

    [broken] = listed(run)

    assert broken["tokens"] is None and broken["problem"] == "is binary, or not UTF-8 text"
    assert "is binary" in run("sessions").stdout


def test_only_the_listed_sessions_are_read(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch):
    for number in range(30):
        kept(claude_file(home, f"{number:08}"), "claude_code/session.jsonl", minutes=number)
    seen: list[Path] = []

    def reading(path: Path, *, max_bytes: int) -> Transcript:
        assert max_bytes == LONGEST_READ
        seen.append(path)
        return read(path, max_bytes=max_bytes)

    monkeypatch.setattr("context_compression.hosts.listing.read", reading)
    workspace = Workspace.here(cwd=home / "work" / "app", home=home)

    listing = list_sessions(Conversations(workspace), limit=4)

    assert [path.stem for path in seen] == [f"{number:08}" for number in range(4)]
    assert (len(listing.sessions), listing.older) == (4, 26)


def test_a_session_that_is_too_large_to_be_read_has_a_title_and_a_size(home: Path, run: Run):
    """Of the last megabytes, a result alone; what the request before it cost comes earlier."""
    call: dict[str, Any] = {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}
    usage = {"input_tokens": 70_000, "output_tokens": 5}
    said: dict[str, Any] = {"role": "assistant", "id": "m", "model": "x", "content": [call]}
    said |= {"usage": usage}

    def row(number: int, message: dict[str, Any]) -> str:
        about = {"uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None}
        about |= {"type": message["role"], "sessionId": CLAUDE_ID, "cwd": str(Path.cwd())}
        return json.dumps(about | {"message": message}) + "\n"

    long = {"type": "tool_result", "tool_use_id": "t", "content": "x" * 11_000_000}
    path = claude_file(home)
    path.parent.mkdir(parents=True)
    with path.open("w", encoding="utf-8") as file:
        file.write(row(0, {"role": "user", "content": "Find the leak."}))
        for number in range(1, 7):
            file.write(row(number, {"role": "user", "content": [{**long, "tool_use_id": "o"}]}))
        file.write(row(7, said))
        file.write(row(8, {"role": "user", "content": [long]}))
    assert path.stat().st_size > LONGEST_READ

    [large] = listed(run)

    assert (large["title"], large["problem"]) == ("Find the leak.", "")
    assert large["tokens"] > 70_000  # the long result came after that request


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fixture", "indent"),
    [
        ("claude_code/session.jsonl", None), ("codex/session.jsonl", None),
        ("copilot_cli/ended.jsonl", None), ("gemini_cli/session.jsonl", None),
        ("gemini_cli/until-2026.json", None), ("gemini_cli/until-2026.json", 2),
        ("pi/session.jsonl", None),
    ],
)  # fmt: skip
def test_a_file_of_70_mb_of_any_host_is_listed_as_a_small_one_is(
    fixture: str, indent: int | None, home: Path, run: Run
):
    place = {
        "claude_code": f".claude/projects/-work/{CLAUDE_ID}.jsonl",
        "codex": f".codex/sessions/2026/11/01/rollout-2026-11-01T10-00-00-{CODEX_ID}.jsonl",
        "copilot_cli": f".copilot/session-state/{CLAUDE_ID}/events.jsonl",
        "gemini_cli": f".gemini/tmp/app/chats/session-2026-{Path(fixture).stem}",
        "pi": ".pi/agent/sessions/--work--/2026_a.jsonl",
    }[fixture.partition("/")[0]]
    path = home / (place if Path(place).suffix == ".jsonl" else place + Path(fixture).suffix)
    path.parent.mkdir(parents=True)
    rows = (FIXTURES / fixture).read_text(encoding="utf-8").splitlines(keepends=True)
    large = "y" * 1_000_000
    if path.suffix == ".json":
        document = json.loads("".join(rows))
        path.write_text(json.dumps(document, indent=indent), encoding="utf-8")
        [small] = listed(run)
        filler = [{"id": f"f{n}", "type": "info", "content": large} for n in range(70)]
        document["messages"][1:1] = filler
        path.write_text(json.dumps(document, indent=indent), encoding="utf-8")
    else:
        path.write_text("".join(rows), encoding="utf-8")
        [small] = listed(run)
        filler = json.dumps({"type": "filler-of-2031", "data": large}) + "\n"
        early = len(rows) // 3
        path.write_text("".join([*rows[:early], *[filler] * 70, *rows[early:]]), encoding="utf-8")
    assert path.stat().st_size > LONGEST_READ

    [same] = listed(run)

    assert same["title"] == small["title"] != ""
    assert (same["problem"], same["window"]) == ("", small["window"])
    assert same["tokens"] and small["tokens"]


LARGE = [path for path in recordings() if path.stat().st_size > 200_000]


@pytest.mark.parametrize("packed", LARGE, ids=lambda path: path.name)
def test_the_ends_of_a_large_transcript_tell_its_size(packed: Path, tmp_path: Path):
    path = tmp_path / packed.stem
    with gzip.open(packed) as source, path.open("wb") as target:
        shutil.copyfileobj(source, target)
    whole, looked = read(path), glance(path)
    ends = looked.transcript if looked else None
    assert ends and whole.usage and ends.usage

    assert ends.usage[0] == whole.usage[0]
    assert (ends.model, ends.window, ends.session_id) == (
        whole.model, whole.window, whole.session_id,
    )  # fmt: skip
    assert ends.project == whole.project
    marks = BY_NAME[whole.host].stored.compaction_marks
    assert max(len(ends.compactions), how_often(marks, path)) == len(whole.compactions)


def test_a_small_file_has_no_ends(home: Path):
    assert glance(kept(claude_file(home), "claude_code/session.jsonl", minutes=1)) is None


def test_every_command_takes_a_number(hosts: Path, run: Run):
    sessions = listed(run)

    status = run("status", "2")
    compressed = run("compress", "2", "--dry-run", "--json")
    exported = run("export", "2", "--host", "pi", "--json")

    assert status.stderr.startswith(f"2 is the session {sessions[1]['id']} of codex: ")
    assert f"\nsession: {sessions[1]['id']}\n" in status.stdout
    assert json.loads(compressed.stdout)["changed"] is False
    assert exported.exit_code == 0


def test_a_number_keeps_its_session_when_another_one_is_written(hosts: Path, run: Run):
    second = listed(run)[1]["id"]
    kept(claude_file(hosts, ID.format(9)), "claude_code/session.jsonl", minutes=0)

    assert json.loads(run("status", "2", "--json").stdout)["session"] == second


def test_a_file_of_that_very_name_comes_before_a_number(hosts: Path, run: Run):
    run("sessions")
    Path("2").write_text(json.dumps(conversation()), encoding="utf-8")

    status = run("status", "2")

    assert "\nsession: 2\n" in status.stdout
    assert "note: 2 is a file of this name, not number 2 of the last listing." in status.stderr


def test_an_unknown_number_is_refused_with_what_was_listed(hosts: Path, run: Run):
    never = run("status", "3")
    run("sessions")
    beyond = run("status", "70")

    assert never.exit_code == beyond.exit_code == 2
    assert "No session has a number yet. Run `context-compression sessions`" in never.stderr
    assert "No session has the number 70" in beyond.stderr
    assert "last listed 6 sessions" in beyond.stderr


def test_a_listing_without_sessions_leaves_the_numbers_of_the_last_one(hosts: Path, run: Run):
    run("sessions")
    Path("empty").mkdir()
    assert (
        "No session was found" in run("--store", "empty", "sessions", "--host", "recorded").stdout
    )

    assert run("status", "1").exit_code == 0


def test_the_beginning_of_an_id_that_is_a_number_is_still_an_id(home: Path, run: Run):
    Path("12345678.json").write_text(json.dumps(conversation()), encoding="utf-8")
    run("compress", "12345678.json", "--target-tokens", "6000")

    assert "\nsession: 12345678\n" in run("status", "1234").stdout


def test_the_numbers_are_kept_for_this_user_alone(
    hosts: Path, run: Run, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDG_STATE_HOME", str(hosts / "state"))
    before = sorted(Path.cwd().rglob("*"))
    run("sessions")

    assert listing_file().is_relative_to(hosts / "state")
    assert stat.S_IMODE(listing_file().stat().st_mode) == 0o600
    assert sorted(Path.cwd().rglob("*")) == before


GOOD = {"number": 1, "name": "x.jsonl", "id": "x", "host": "pi", "title": "t", "store": ""}
TAMPERED: list[dict[str, Any]] = [
    {"number": [1]}, {"number": True}, {"title": None}, {"title": [1]}, {"host": {}}, {"store": 5},
    {"name": None},
]  # fmt: skip
DAMAGED = [
    b"", b"{", b"[]", b'{"sessions": [{"number": 1}]}', b"\xff",
    *(json.dumps({"version": 1, "sessions": [GOOD | about]}).encode() for about in TAMPERED),
]  # fmt: skip


@pytest.mark.parametrize("content", DAMAGED)
def test_a_damaged_list_of_numbers_is_none(run: Run, content: bytes):
    listing_file().parent.mkdir(parents=True)
    listing_file().write_bytes(content)

    done = run("status", "1")

    assert done.exit_code == 2
    assert "No session has a number yet. Run `context-compression sessions`" in done.stderr


def test_where_numbers_cannot_be_kept_the_sessions_are_still_listed(
    hosts: Path, run: Run, monkeypatch: pytest.MonkeyPatch
):
    (hosts / "file").write_bytes(b"")
    monkeypatch.setenv("XDG_STATE_HOME", str(hosts / "file"))

    done = run("sessions")

    assert done.exit_code == 0 and "claude-code" in done.stdout
    assert "warning: the numbers cannot be kept" in done.stderr


def test_a_number_of_another_store_says_where_it_is(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
):
    Path("chat.json").write_text(json.dumps(conversation()), encoding="utf-8")
    run("compress", "chat.json", "--target-tokens", "6000")
    run("sessions")
    assert run("status", "1").stderr.startswith("1 is the recorded session chat: ")
    elsewhere = home / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)

    refused = run("status", "1")

    assert refused.exit_code == 2
    assert "Session 1, chat, is recorded in another store. Add `--store" in refused.stderr


def test_where_no_session_is_found_the_filters_are_named(home: Path, run: Run):
    assert run("sessions").stdout == "No session was found.\n"
    assert "Without --host pi and --here" in run("sessions", "--host", "pi", "--here").stdout


def test_in_a_host_status_alone_shows_the_current_conversation(
    hosts: Path, run: Run, monkeypatch: pytest.MonkeyPatch
):
    listing = run("status")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", CLAUDE_ID)

    current = run("status")

    assert listing.stdout.startswith("Nothing is recorded in ")
    assert f"\nsession: {listed(run)[0]['id']}\n" in current.stdout
    assert "\nmessages: 10\n" in current.stdout
    assert "The current conversation. `context-compression sessions` lists all." in current.stderr
    assert json.loads(run("status", "--json").stdout)["session"] == listed(run)[0]["id"]


def test_where_it_is_not_certain_status_alone_lists(
    hosts: Path, run: Run, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", ID.format(8))

    done = run("status")

    assert done.exit_code == 0 and done.stdout.startswith("Nothing is recorded in ")


def test_numbers_that_others_may_have_written_do_not_count(hosts: Path, run: Run):
    assert len(listed(run)) == 6
    assert run("status", "1").exit_code == 0

    listing_file().chmod(0o666)

    assert "No session has a number yet" in run("status", "1").stderr

    listing_file().unlink()
    os.mkfifo(listing_file())

    assert "No session has a number yet" in run("status", "1").stderr


def test_a_number_too_long_to_be_one_is_an_unknown_name(run: Run):
    assert "No session '999" in run("status", "9" * 5_000).stderr


def test_broken_sessions_of_opencode_hide_no_other(hosts: Path, run: Run):
    outside = hosts / "outside.jsonl"
    outside.write_text('{"role": "user", "content": "nobody may list this"}\n')
    columns = "(id, directory, title, time_updated)"
    rows: list[tuple[object, ...]] = [
        (str(outside), "/x", "absolute", 1), ("../../../../outside.jsonl", "/x", "above", 1),
        ("", "/x", "empty", 1), ("a\0b", "/x", "NUL", 1), (b"\xff", "/x", "bytes", 1),
        (None, "/x", "none", 1), ("soon", "/x", "no number", "soon"), ("never", "/x", "null", None),
        ("odd", b"\xff", b"\xff", 1), ("broken", "/x", "broken", 1),
    ]  # fmt: skip
    path = hosts / ".local/share/opencode/opencode.db"
    db = sqlite3.connect(path)
    db.executemany(f"INSERT INTO session {columns} VALUES (?, ?, ?, ?)", rows)
    db.execute("INSERT INTO message VALUES ('m', 'broken', 1, 1, '{}')")
    db.execute("INSERT INTO message VALUES (?, 'broken', NULL, 'x', '[]')", (b"\xff",))
    db.commit()
    db.close()

    found = {each["id"]: each for each in listed(run) if each["host"] == "opencode"}

    assert found.keys() >= {"ses_cafe", "odd"}
    assert not {"absolute", "above", "empty", "NUL", "no number"} & {
        each["title"] for each in found.values()
    }
    assert "nobody may list this" not in str(found)


def test_a_session_that_fails_unexpectedly_hides_no_other(
    hosts: Path, run: Run, monkeypatch: pytest.MonkeyPatch
):
    def fail(path: Path) -> Ends | None:
        if path.suffix == ".jsonl" and ".codex" in path.parts:
            raise TypeError("odd")
        return glance(path)

    monkeypatch.setattr("context_compression.hosts.listing.glance", fail)

    assert [bool(each["problem"]) for each in listed(run)] == [False, True, *[False] * 4]


@pytest.mark.parametrize("command", ["report", "status"])
def test_one_session_is_told_the_same_by_its_number_its_file_and_its_id(
    hosts: Path, run: Run, command: str
) -> None:
    for session in listed(run):
        named_after(session["id"], Path(session["path"]))
        store = hosts / "work" / "app" / ".compression"
        Session(store, session["id"]).offload("a result", what="a result")  # as a hook does
    sessions = listed(run)

    for number, session in enumerate(sessions, 1):
        names = (str(number), session["path"], session["id"])
        done = [run(command, name) for name in names]
        assert {each.exit_code for each in done} == {0}, [each.stderr for each in done]
        assert len({each.stdout for each in done}) == 1, session


def named_after(id: str, path: Path) -> None:
    """A transcript, or the folder of one, gets the name that its host gives it for this id."""
    for name in (CLAUDE_ID, CODEX_ID, PI_ID, COPILOT_ID, "0000abcd"):
        place = path.parent if name == COPILOT_ID else path
        if name in place.name:
            place.rename(place.with_name(place.name.replace(name, id[: len(name)])))


@pytest.mark.parametrize("sign", ["\u202e", "\u2066", "\u200f", "\x9b", "\u2028"])
def test_json_escapes_what_would_rearrange_a_terminal(
    sign: str, capfdbinary: pytest.CaptureFixture[bytes]
):
    write_json({"title": f"a{sign}b"})

    written = capfdbinary.readouterr().out.decode()
    assert sign not in written
    assert json.loads(written) == {"title": f"a{sign}b"}
