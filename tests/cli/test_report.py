"""What `report` prints, writes and leaves alone. The command runs in this process."""

import json
import os
import stat
import tempfile
import webbrowser
from collections.abc import Callable

import pytest
from click.testing import CliRunner, Result

from context_compression import Session
from context_compression.cli import main

from .conftest import Desk, Snapshot

Run = Callable[..., Result]


@pytest.fixture
def run(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command at the desk."""
    monkeypatch.chdir(desk.folder)
    environ = {"HOME": str(desk.folder / "home")}

    def run(*arguments: str, fails: bool = False) -> Result:
        result = CliRunner(env=environ).invoke(main, ["report", *arguments])
        assert result.exit_code == (2 if fails else 0), result.stderr
        return result

    return run


def test_a_transcript_is_told_in_a_few_lines(desk: Desk, run: Run):
    done = run("chat.json")

    told = done.stdout
    assert told.splitlines()[0] == "Look at part 0, please. 不要改动 src/part_0."
    assert "tokens in 8 calls   read" in told
    assert "compacted  never" in told
    assert "archived   nothing" in told
    assert max(map(len, told.splitlines())) <= 80
    assert done.stderr.endswith("\ncontext-compression report chat.json --html FILE\n")
    assert not desk.store.exists()


def test_a_session_tells_what_left_and_what_came_back(used: Desk, refs: dict[str, int], run: Run):
    told = run("chat").stdout

    assert f"{len(Session(used.store, 'chat').state().refs)} originals proven" in told
    assert "(context-compression)" in told
    assert any(ref in told for ref in refs)
    assert "none of them came back" in told


def test_without_a_name_the_newest_session_here_is_told(used: Desk, run: Run):
    done = run()

    assert done.stdout == run("chat").stdout
    assert "The newest session of this folder: chat" in done.stderr


def test_without_any_session_a_path_is_asked_for(desk: Desk, run: Run):
    done = run(fails=True)

    assert "Pass the path of a transcript" in done.stderr


def test_a_page_is_written_for_the_user_alone(used: Desk, snapshot: Snapshot, run: Run):
    before = snapshot(used.store)

    done = run("chat", "--html", "report.html")

    page = used.folder / "report.html"
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert done.stdout == ""
    assert "It holds texts of the conversation" in done.stderr
    assert snapshot(used.store) == before


def test_a_page_is_overwritten_and_another_file_is_not(used: Desk, run: Run):
    other = used.write("notes.html", b"<html>mine</html>")
    run("chat", "--html", "report.html")

    run("chat", "--output", "report.html")
    refused = run("chat", "--html", "notes.html", fails=True)
    content = other.read_bytes()
    run("chat", "--html", "notes.html", "--force")

    assert "exists and is not a report" in refused.stderr
    assert content == b"<html>mine</html>"
    assert b"mine" not in other.read_bytes()


def test_a_place_that_cannot_be_written_is_named(used: Desk, run: Run):
    in_no_folder = run("chat", "--html", "no/such/report.html", fails=True)
    a_folder = run("chat", "--html", ".", fails=True)

    assert "cannot be written: No such file" in in_no_folder.stderr
    assert "is a folder" in a_folder.stderr


def test_a_page_without_a_name_is_opened_from_a_folder_of_the_user(
    used: Desk, run: Run, monkeypatch: pytest.MonkeyPatch
):
    opened: list[str] = []

    def open_page(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr(webbrowser, "open", open_page)
    monkeypatch.setattr(tempfile, "tempdir", str(used.folder))

    run("chat", "--open")

    [page] = used.folder.rglob("report.html")
    assert opened == [page.as_uri()]
    assert stat.S_IMODE(page.parent.stat().st_mode) == 0o700


def test_texts_can_be_left_out(used: Desk, run: Run):
    full = json.loads(run("chat", "--json").stdout)
    bare = json.loads(run("chat", "--json", "--without-text", "--html", "report.html").stdout)

    assert any("value_3_50 = 50" in entry["original"] for entry in full["archived"])
    assert not any(entry["original"] or entry["shown"] for entry in bare["archived"])
    assert [e["cut"] for e in bare["archived"]] == [len(e["original"]) for e in full["archived"]]
    assert b"value_3_50 = 50" not in (used.folder / "report.html").read_bytes()


def test_prices_turn_the_cost_into_dollars(desk: Desk, run: Run):
    told = run("chat.json", "--input-price", "3", "--output-price", "15")

    assert "cost       input $0.11, estimated; output $0.01" in told.stdout


def test_the_facts_are_json_for_programs(used: Desk, run: Run):
    facts = json.loads(run("chat", "--json").stdout)

    assert facts["session"] == "chat"
    assert sum(facts["by_kind"].values()) == facts["used"]
    assert facts["compactions"][0]["compaction"]["by"] == "context-compression"


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_the_conversation_the_store_and_no_file_are_never_overwritten(
    used: Desk, snapshot: Snapshot, run: Run, force: tuple[str, ...]
):
    os.mkfifo(used.folder / "pipe")
    os.symlink("chat.json", used.folder / "link.html")
    before = snapshot(used.folder)
    events = next(used.store.rglob("events.jsonl"))

    for name in ("chat.json", "link.html", str(events), str(used.store / "r.html"), "pipe", ""):
        run("chat.json", "--html", name, *force, fails=True)

    assert snapshot(used.folder) == before


def test_a_file_of_messages_shows_that_it_was_compressed(used: Desk, run: Run):
    by_file, by_id = run("chat.json").stdout, run("chat").stdout

    assert "compacted  once: " in by_file
    assert by_file == by_id


def test_a_file_that_goes_on_after_its_compression_is_told_as_it_is(used: Desk, run: Run):
    messages = json.loads((used.folder / "chat.json").read_bytes())
    used.write("chat.json", [*messages[:-2], {"role": "user", "content": "Something else."}])

    assert "compacted  never" in run("chat.json").stdout
