import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from inline_snapshot import snapshot
from mcp_door import workspace_in
from opencode_database import Host, export
from transcripts import FIXTURES, shown

from context_compression import Session, Store, hosts
from context_compression.cli import main
from context_compression.errors import ConversationNotFound, TranscriptError
from context_compression.hooks import archive_all
from context_compression.hosts import Readings

FOLDER = FIXTURES / "opencode"


def read(name: str) -> hosts.Transcript:
    return hosts.read(FOLDER / f"{name}.json")


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    host = Host(tmp_path / "opencode.db")
    with closing(host.db):
        yield host


def test_a_session_is_read_as_the_model_saw_it():
    transcript = read("session")

    assert shown(transcript) == snapshot(
        [
            "user | List the two folders.",
            "assistant | <thinking> | I look. | bash(c1) | bash(c2)",
            "user | c1: a.py | c2: b.py",
            "assistant | cut sh | bash(c3)",
            "user | c3: [Tool execution was interrupted]",
            "user | Go on.",
            "assistant | bash(c4) | bash(c5)",
            "user | c4: no such file | c5: a picture",
            "assistant | One file in each.",
        ]
    )
    assert transcript.host == "opencode"
    assert transcript.session_id == "ses_cafe"
    assert transcript.model == "claude-sonnet-4-5"
    assert transcript.warnings == []


def written(folder: Path, document: dict[str, Any]) -> Path:
    path = folder / "s.json"
    path.write_text(json.dumps(document))
    return path


def test_pictures_and_thinking_come_along():
    transcript = read("session")
    picture = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
    }

    assert transcript.messages[0]["content"][1] == picture
    assert transcript.messages[1]["content"][0]["signature"] == "c2ln"
    assert transcript.messages[7]["content"][1]["content"][1] == picture


def test_usage_is_that_of_the_last_request_with_its_answer():
    transcript = read("session")

    assert transcript.usage == (209, len(transcript.messages))


def test_usage_of_a_step_whose_tools_ran_does_not_count_their_results(tmp_path: Path):
    document = export("session")

    transcript = hosts.read(written(tmp_path, {**document, "messages": document["messages"][:-1]}))

    assert transcript.usage == (158, len(transcript.messages) - 1)


def test_a_compaction_leaves_its_summary_then_what_it_kept_then_what_followed():
    transcript = read("compacted")

    assert shown(transcript) == snapshot(
        [
            "user | What did we do so far?",
            "assistant | Two folders, one file in each, 10 lines in a.", "user | And of b?",
            "assistant | bash(c7)", "user | c7: 20", "user | Continue.",
            "assistant | Thirty lines in all.",
        ]
    )  # fmt: skip
    assert transcript.usage == (308, len(transcript.messages))


def test_what_was_charged_before_a_compaction_is_not_the_usage(tmp_path: Path):
    document = export("compacted")

    assert (
        hosts.read(written(tmp_path, {**document, "messages": document["messages"][:-2]})).usage
        is None
    )


def test_a_result_the_host_cleared_is_shown_as_cleared_and_makes_the_usage_stale(tmp_path: Path):
    document = export("session")
    state = document["messages"][1]["parts"][3]["state"]
    state["time"]["compacted"] = 10_000

    transcript = hosts.read(written(tmp_path, document))

    assert "user | c1: [Old tool result content cleared] | c2: b.py" in shown(transcript)
    assert transcript.usage is None


def test_a_turn_that_was_taken_back_is_gone():
    assert shown(read("reverted")) == shown(read("session"))


def test_taking_back_a_part_leaves_those_before_it(tmp_path: Path):
    document = export("reverted")
    answer = document["messages"][-1]
    document["info"]["revert"] = {
        "messageID": answer["info"]["id"],
        "partID": answer["parts"][-1]["id"],
    }

    assert shown(hosts.read(written(tmp_path, document)))[-2:] == [
        "user | Delete them.",
        "assistant | Deleted.",
    ]


def test_a_call_of_the_newest_answer_may_be_running(tmp_path: Path):
    document = export("session")
    document["messages"] = document["messages"][:2]
    document["messages"][1]["parts"][4]["state"]["status"] = "running"

    assert shown(hosts.read(written(tmp_path, document)))[-1] == "user | c1: a.py"


def test_parts_we_do_not_know_are_counted_and_carried_along(tmp_path: Path):
    document = export("session")
    document["messages"][0]["parts"].append({"type": "hologram", "id": "prt_x"})

    transcript = hosts.read(written(tmp_path, document))

    assert transcript.messages[0]["content"][-1] == {"type": "hologram", "id": "prt_x"}
    assert transcript.warnings == [
        "Parts of types we do not know are carried along as they are: 1 (hologram 1)."
    ]


@pytest.mark.parametrize("name", ["session", "compacted", "reverted"])
def test_a_database_gives_what_the_export_of_its_session_gives(name: str, host: Host):
    path = host.keep(name)

    transcript = hosts.read(path)

    assert transcript.path == path
    assert shown(transcript) == shown(read(name))
    assert (transcript.usage, transcript.model) == (read(name).usage, read(name).model)


def test_a_database_is_read_while_the_host_writes(host: Host):
    path = host.keep("session")
    document = export("reverted")
    host.db.execute("BEGIN IMMEDIATE")  # and does not come to an end

    host.db.execute("DELETE FROM part")

    assert shown(hosts.read(path)) == shown(read("session"))
    host.db.rollback()
    host.write(document["messages"][-2])
    assert shown(hosts.read(path))[-1] == "user | Delete them."


def test_reading_leaves_the_hosts_folder_as_it_was(host: Host):
    path = host.keep("session")
    host.db.close()
    before = {file.name: file.stat().st_mtime_ns for file in host.path.parent.iterdir()}

    hosts.read(path)

    assert {file.name: file.stat().st_mtime_ns for file in host.path.parent.iterdir()} == before
    assert list(before) == ["opencode.db"]


def test_a_second_look_reads_only_what_changed(host: Host):
    path = host.keep("session")
    readings = Readings()
    first = readings.look(path)
    host.db.execute("UPDATE part SET data = '{}'")  # unseen: nothing says that it changed
    host.db.commit()

    host.write(export("reverted")["messages"][-1])

    assert shown(readings.look(path)) == [*shown(first), "assistant | Deleted."]


def test_a_part_that_changed_is_read_again(host: Host):
    path = host.keep("session")
    readings = Readings()
    readings.look(path)
    message = export("session")["messages"][1]
    message["parts"][3]["state"]["output"] = "c.py"

    host.write(message, updated=2)

    assert "user | c1: c.py | c2: b.py" in shown(readings.look(path))


def test_the_only_session_of_a_database_need_not_be_named(host: Host):
    host.keep("session")

    assert shown(hosts.read(host.path)) == shown(read("session"))


def test_of_several_sessions_one_has_to_be_named(host: Host):
    older = host.keep("session")
    newer = host.path / "ses_other"
    host.db.execute(
        "INSERT INTO session VALUES ('ses_other', NULL, '/work', 'Two files', NULL, 1, 9999999)"
    )
    host.db.commit()

    with pytest.raises(ConversationNotFound) as raised:
        hosts.read(host.path)

    assert [text.partition(" (")[0] for text in raised.value.candidates] == [str(newer), str(older)]
    assert raised.value.candidates[0].endswith("ago): Two files")


def test_a_session_that_is_not_there_says_which_are(host: Host):
    host.keep("session")

    with pytest.raises(ConversationNotFound, match="no session 'ses_none'") as raised:
        hosts.read(host.path / "ses_none")

    assert len(raised.value.candidates) == 1


def _no_tables(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE other (id)")


def _garbage(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0" + os.urandom(4096))


@pytest.mark.parametrize("make", [_no_tables, _garbage])
def test_another_database_is_refused_with_what_is_wrong(
    make: Callable[[Path], None], tmp_path: Path
):
    make(tmp_path / "x.db")

    with pytest.raises(TranscriptError, match="cannot be read as a database of opencode"):
        hosts.read(tmp_path / "x.db")


def test_the_limit_of_a_file_holds_for_one_session_in_the_database(host: Host):
    path, message = host.keep("session"), export("session")["messages"][-1]
    host.db.commit()
    whole = hosts.read(path, max_bytes=100_000)
    message["parts"][0]["text"] = "x" * 100_000
    host.write(message)
    host.db.commit()

    with pytest.raises(TranscriptError, match=r"ses_cafe is too large: .* at most 100,000 bytes"):
        hosts.read(path, max_bytes=100_000)
    assert len(hosts.read(path).messages) == len(whole.messages)


def pruned(output: str = "") -> dict[str, Any]:
    """A session from which the host cleared a result, whose text it may not have any more."""
    document = export("session")
    state = document["messages"][1]["parts"][3]["state"]
    state["time"]["compacted"] = 10_000
    state["output"] = output
    return document


@pytest.mark.parametrize("command", [["compress"], ["compress", "--dry-run"], ["report"]])
def test_what_the_host_cleared_is_archived_by_a_command_that_keeps_something(
    tmp_path: Path, command: list[str]
):
    text = "a.py\n" * 9
    path = written(tmp_path, pruned(text))
    runner = CliRunner(
        env={"CONTEXT_COMPRESSION_DIR": str(tmp_path / "store"), "HOME": str(tmp_path)}
    )

    ended = runner.invoke(main, [command[0], str(path), *command[1:]])

    assert ended.exit_code == 0, ended.output
    archived = [
        session.original(ref)
        for id in Store(tmp_path / "store").sessions()
        for session in [Session(tmp_path / "store", id)]
        for ref in session.state().refs
    ]
    assert (text in archived) == (command == ["compress"])


def test_before_a_summary_of_the_host_what_it_cleared_is_archived_once(tmp_path: Path):
    text = "a.py\n" * 9
    workspace = workspace_in(tmp_path)
    contexts = [hosts.read(written(tmp_path, pruned(text)))]
    session = workspace.of(contexts[0]).session

    for _ in range(2):
        archive_all(session, contexts)

    refs = session.state().refs.items()
    assert [about["what"] for ref, about in refs if session.original(ref) == text] == [
        "output of bash, which the host cleared"
    ]


def test_what_the_host_cleared_and_does_not_have_any_more_is_named(tmp_path: Path):
    transcript = hosts.read(written(tmp_path, pruned()))

    [told] = transcript.missing
    assert "cleared are not stored any more: 1" in told
    assert told in transcript.warnings
