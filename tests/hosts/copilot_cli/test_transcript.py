from pathlib import Path

from inline_snapshot import snapshot
from transcripts import FIXTURES, Row, rows_of, shown, written

from context_compression import hosts

FOLDER = FIXTURES / "copilot_cli"


def read(name: str) -> hosts.Transcript:
    return hosts.read(FOLDER / f"{name}.jsonl")


def rows(name: str) -> list[Row]:
    return rows_of(FOLDER / f"{name}.jsonl")


def test_a_session_is_read_as_the_model_saw_it():
    transcript = read("session")

    assert shown(transcript) == snapshot(
        [
            """\
user | <current_datetime>2026</current_datetime>

List the two folders.\
""",
            "assistant | <thinking> | I look. | bash(c1) | bash(c2)",
            "user | c2: b.py | c1: a.py",
            """\
user | <system_notification>
A shell has ended.
</system_notification>\
""",
            """\
assistant | One \n\
file in each.\
""",
        ]
    )
    assert transcript.host == "copilot-cli"
    assert transcript.session_id == "a09d0000-0000-4000-8000-00000000cafe"
    assert transcript.model == "claude-sonnet-4.6"
    assert transcript.system == "You are a terminal assistant."
    assert transcript.warnings == ["Events of subagents were left out: 1 (events 1)."]


def test_pictures_and_thinking_come_along():
    transcript = read("session")

    assert transcript.messages[0]["content"][1]["source"]["data"] == "iVBORw0KGgo="
    assert transcript.messages[1]["content"][0] == {
        "type": "thinking",
        "thinking": "Two calls.",
        "signature": "c2ln",
    }


def test_a_compaction_replaces_what_came_before_its_start_while_the_agent_went_on():
    transcript = read("compacted")

    assert shown(transcript) == snapshot(
        [
            """\
user | <user_message>
List the two folders.
</user_message>

<user_message>
Count the lines.
</user_message>

<summary>
Two folders, one file in each.
</summary>\
""",
            "assistant | I try b. | bash(c4)",
            "user | c4: 20",
            "assistant | Twenty.",
        ]
    )


def test_a_compaction_that_failed_replaces_nothing(tmp_path: Path):
    failed = rows("compacted")
    for row in failed:
        row["data"].pop("success", None)

    transcript = hosts.read(written(tmp_path / "s.jsonl", failed))

    assert "I look." in " ".join(shown(transcript))


def test_the_hosts_own_counts_are_the_usage():
    ended = read("ended")

    assert read("session").usage is None
    assert read("compacted").usage == (2_000, 0)  # system prompt and tools alone
    assert ended.usage == (2_400, len(ended.messages))


def test_messages_that_the_host_cut_are_reported(tmp_path: Path):
    cut: Row = {"type": "session.truncation", "id": "t", "parentId": None}
    cut["data"] = {"tokenLimit": 128_000, "messagesRemovedDuringTruncation": 7}

    transcript = hosts.read(written(tmp_path / "s.jsonl", [*rows("session"), cut]))

    assert transcript.window == 128_000
    assert transcript.warnings[-1] == (
        "The host cut old messages without saying which; they are still here: 7 (messages 7)."
    )


def test_events_we_do_not_know_and_results_of_no_call_are_counted(tmp_path: Path):
    strange: list[Row] = [
        {"type": "weather.rain", "data": {}, "parentId": None},
        {"type": "tool.execution_complete", "data": {"toolCallId": "c9"}, "parentId": None},
    ]

    transcript = hosts.read(written(tmp_path / "s.jsonl", [*rows("session"), *strange]))

    assert shown(transcript) == shown(read("session"))
    assert transcript.warnings == [
        "Events of types we do not know were skipped: 1 (weather.rain 1).",
        "Events of subagents were left out: 1 (events 1).",
        "Results of calls we do not know were left out: 1 (results 1).",
    ]
