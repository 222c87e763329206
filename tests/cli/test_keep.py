"""`keep`: what hosts wrote is there when they have deleted it; nothing is kept unasked."""

import json
import os
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from six_hosts import DATABASE, IDS, PLACES, SixHosts
from transcripts import FIXTURES

from context_compression.cli import main


class Desk:
    """Somebody at a keyboard, with sessions of six hosts."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "home" / "work"
        self.project.mkdir(parents=True)
        self.hosts = SixHosts.in_home(self.home)
        self.kept = self.home / ".local" / "share" / "context-compression" / "kept"

    def run(self, *arguments: str) -> Result:
        return CliRunner().invoke(main, [*arguments])

    def does(self, *arguments: str) -> str:
        done = self.run(*arguments)
        assert done.exit_code == 0, done.output
        return done.output

    def json(self, *arguments: str) -> Any:
        done = self.run(*arguments, "--json")
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    desk = Desk(tmp_path)
    monkeypatch.setenv("HOME", str(desk.home))
    for name in ("XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(desk.project)
    return desk


def test_nothing_is_kept_that_was_not_asked_for(desk: Desk) -> None:
    said = desk.does("keep") + desk.does("keep", "off") + desk.does("sessions")

    assert "off: no session is kept" in said
    assert "Claude Code deletes a session 30 days after its last use" in said
    assert not desk.kept.exists()


def test_sessions_of_six_hosts_outlive_their_deletion(desk: Desk) -> None:
    desk.does("keep", "on")
    desk.hosts.forget()

    listed = desk.json("sessions")["sessions"]
    status = desk.json("keep", "status")

    assert {(each["host"], each["id"], each["kept"]) for each in listed} == {
        (host, id, True) for host, id in IDS.items()
    }
    assert all(each["tokens"] and each["title"] and each["path"] is None for each in listed)
    assert (status["on"], status["sessions"], status["gone"]) == (True, 6, 6)
    assert 0 < status["bytes_stored"] < status["bytes_written"]
    assert sum(each["sessions"] for each in status["projects"]) == 6
    assert not status["warnings"]


@pytest.mark.parametrize("host", IDS)
def test_a_kept_session_is_read_by_its_id(desk: Desk, host: str) -> None:
    desk.does("keep", "on")
    before = desk.json("report", IDS[host])
    desk.hosts.forget()

    report = desk.json("report", IDS[host][:8])
    status = desk.json("status", IDS[host])
    compressed = desk.json("compress", IDS[host])

    same = ("host", "session", "messages", "compactions", "cost")
    assert {name: report.get(name) for name in same} == {name: before.get(name) for name in same}
    assert status["session"] == IDS[host]
    assert compressed["messages"]


@pytest.mark.parametrize("host", PLACES)
def test_export_brings_a_session_back_byte_for_byte(desk: Desk, host: str) -> None:
    desk.does("keep", "on")
    written = desk.hosts.forget()

    brought = desk.json("export", IDS[host], "--host", host)

    assert brought["session"] == IDS[host]
    assert Path(brought["path"]) == desk.hosts.transcript(host)
    assert desk.hosts.transcript(host).read_bytes() == written[host]
    listed = [each for each in desk.json("sessions")["sessions"] if each["host"] == host]
    assert [each["kept"] for each in listed] == [False]


def test_a_session_of_opencode_comes_back_as_a_file_to_import(desk: Desk) -> None:
    desk.does("keep", "on")
    desk.hosts.forget()

    brought = desk.json("export", "ses_cafe", "--host", "opencode")

    document = json.loads(Path(brought["path"]).read_bytes())
    fixture = json.loads((FIXTURES / "opencode" / "compacted.json").read_bytes())
    assert document["info"]["directory"] == "/work/app"
    assert [each["parts"] for each in document["messages"]] == [
        [{**part, "sessionID": "ses_cafe", "messageID": message["info"]["id"]} for part in parts]
        for message in fixture["messages"]
        if (parts := message["parts"]) is not None
    ]
    assert "opencode import" in brought["command"]


def test_a_kept_session_goes_to_another_host_as_any_other(desk: Desk) -> None:
    desk.does("keep", "on")
    desk.hosts.forget()

    exported = desk.json("export", "ses_cafe", "--host", "claude-code")

    assert exported["session"] != "ses_cafe"
    assert Path(exported["path"]).is_file()


def test_a_host_that_takes_no_new_sessions_says_so(desk: Desk) -> None:
    done = desk.run("export", str(desk.hosts.transcript("pi")), "--host", "gemini-cli")

    assert done.exit_code == 2
    assert "Gemini CLI takes only sessions of its own that were kept" in done.output
    assert "claude-code" in done.output


def test_while_the_host_has_a_session_its_own_file_counts(desk: Desk) -> None:
    desk.does("keep", "on")
    path = desk.hosts.transcript("pi")
    row = (
        '{"type":"message","id":"late","parentId":null,"message":'
        '{"role":"user","content":[{"type":"text","text":"One more thing."}]}}\n'
    )
    path.write_text(row, encoding="utf-8")  # and another conversation than what is kept

    assert desk.json("status", IDS["pi"])["messages"] == 1


def test_what_changed_is_kept_again_and_nothing_else_is_read(desk: Desk) -> None:
    desk.does("keep", "on")
    path = desk.hosts.transcript("claude-code")
    with path.open("ab") as file:
        file.write(b'{"type":"summary","summary":"More","leafUuid":"x"}\n')
    with closing(sqlite3.connect(desk.home / DATABASE)) as db, db:
        db.execute("UPDATE session SET title = 'Another', time_updated = 10000")

    again = desk.json("keep", "status")
    once_more = desk.json("keep", "status")

    assert (again["newly_kept"], once_more["newly_kept"]) == (2, 0)
    assert again["sessions"] == 6
    kept = Counter(
        json.loads(path.read_bytes())["host"] for path in (desk.kept / "sessions").glob("*.json")
    )
    assert kept["claude-code"] == 1, "the longer version has replaced the shorter one"
    assert kept["opencode"] == 2, "what was rewritten is beside what was there"


def test_off_keeps_no_more_and_says_what_is_there(desk: Desk) -> None:
    desk.does("keep", "on")
    said = desk.does("keep", "off")
    path = desk.hosts.transcript("pi")
    path.rename(
        path.with_name("2026-11-02T10-00-00-000Z_01a20000-0000-7000-8000-00000000cafe.jsonl")
    )

    after = desk.json("keep", "status")

    assert "off: no session is kept" in said
    assert "6 sessions" in said
    assert "archive prune --older-than" in said
    assert (after["on"], after["sessions"], after["newly_kept"]) == (False, 6, 0)


def test_without_leave_to_read_transcripts_nothing_is_kept(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTEXT_COMPRESSION_READ_HOST_TRANSCRIPTS", "false")
    refused = desk.run("keep", "on")

    assert refused.exit_code == 2
    assert "CONTEXT_COMPRESSION_READ_HOST_TRANSCRIPTS" in refused.output
    assert not desk.kept.exists()

    monkeypatch.delenv("CONTEXT_COMPRESSION_READ_HOST_TRANSCRIPTS")
    desk.does("keep", "on")
    monkeypatch.setenv("CONTEXT_COMPRESSION_READ_HOST_TRANSCRIPTS", "false")
    desk.hosts.forget()
    assert desk.run("report", IDS["pi"]).exit_code == 2
    assert not [each for each in desk.json("sessions")["sessions"] if each["kept"]]


def test_prune_deletes_old_kept_sessions_for_good(desk: Desk) -> None:
    old = desk.hosts.transcript("codex")
    os.utime(old, (1_000_000, 1_000_000))
    desk.does("keep", "on")  # opencode's session was last written in 1970, too

    dry = desk.run("archive", "prune", "--older-than", "90d")
    kept = desk.json("keep", "status")["sessions"]
    pruned = desk.json("archive", "prune", "--older-than", "90d", "--yes")
    after = desk.json("keep", "status")

    assert IDS["codex"] in dry.output
    assert kept == 6, "nothing is deleted before it was asked for"
    assert {*pruned["kept_sessions"]["deleted"]} == {IDS["codex"], IDS["opencode"]}
    assert pruned["kept_sessions"]["bytes"] > 0
    assert (after["sessions"], after["newly_kept"]) == (4, 0), "what is as old is not kept again"


def test_delete_takes_a_kept_session_and_says_if_it_would_come_back(desk: Desk) -> None:
    desk.does("keep", "on")
    warned = desk.does("archive", "delete", IDS["codex"][:6], "--yes")
    desk.does("keep", "status")
    desk.hosts.forget()

    deleted = desk.does("archive", "delete", IDS["codex"], "--yes")

    assert "the next look keeps it again" in warned
    assert "the next look keeps it again" not in deleted
    assert desk.json("keep", "status")["sessions"] == 5
    assert desk.run("report", IDS["codex"]).exit_code == 2


def test_a_damaged_piece_is_told_by_name_and_nothing_else_is_lost(desk: Desk) -> None:
    desk.does("keep", "on")
    desk.hosts.forget()
    piece = max((desk.kept / "objects").glob("*/*"), key=lambda path: path.stat().st_size)
    piece.unlink()

    told = {id: desk.run("status", id).output for id in IDS.values()}
    refused = [id for id, said in told.items() if piece.name in said]

    assert len(refused) == 1
    [host] = [host for host, id in IDS.items() if id == refused[0]]
    back = desk.run("export", refused[0], "--host", host)
    assert back.exit_code == 2
    assert piece.name in back.output
    assert not desk.hosts.transcript(host).exists()


def test_install_says_what_the_host_deletes(desk: Desk) -> None:
    told = desk.does("install", "codex")

    assert "`context-compression keep on` keeps it" in told
    assert not desk.kept.exists()


def test_the_status_fits_into_80_columns(desk: Desk) -> None:
    desk.does("keep", "on")

    said = desk.does("keep", "status").splitlines()

    table = said[said.index("") : said.index("", said.index("") + 1)]
    assert max(map(len, table)) <= 80
    assert said[0] == "on: every session of every host is kept"


def test_what_all_sessions_cost_has_those_that_are_gone(desk: Desk) -> None:
    desk.does("keep", "on")
    before = desk.json("report", "--all")
    desk.hosts.forget()

    after = desk.json("report", "--all")

    assert after["all"] == before["all"]
    assert not after["problems" if "problems" in after else "warnings"]
    assert not [*(desk.kept / "copies").glob("*")], "nothing is left unpacked"
