from pathlib import Path

from inline_snapshot import snapshot
from transcripts import FIXTURES, Row, rows_of, shown, written

from context_compression import hosts

FOLDER = FIXTURES / "gemini_cli"


def read(name: str) -> hosts.Transcript:
    return hosts.read(FOLDER / name)


def rows(name: str) -> list[Row]:
    return rows_of(FOLDER / name)


def test_a_session_is_read_as_the_model_saw_it():
    transcript = read("session.jsonl")

    assert shown(transcript) == snapshot(
        [
            """\
user | <session_context>
Today is Monday.
</session_context>\
""",
            "user | List the two folders.",
            "assistant | I look. | run_shell_command(c1) | run_shell_command(c2)",
            "user | c1: a.py | c2: b.py",
            "assistant | And x. | read_file(c3)",
            "user | c3: no such file",
            "user | What is this?",
            "assistant | One file in each.",
        ]
    )
    assert transcript.host == "gemini-cli"
    assert transcript.session_id == "53ba0000-0000-4000-8000-00000000cafe"
    assert transcript.model == "gemini-2.5-pro"
    assert transcript.warnings == []


def test_a_call_that_failed_says_so():
    (failed,) = read("session.jsonl").messages[5]["content"]

    assert failed == {
        "type": "tool_result",
        "tool_use_id": "c3",
        "content": "no such file",
        "is_error": True,
    }


def test_pictures_come_along():
    picture = read("session.jsonl").messages[6]["content"][1]

    assert picture["source"] == {
        "type": "base64",
        "media_type": "image/png",
        "data": "iVBORw0KGgo=",
    }


def test_usage_is_that_of_the_last_request_with_its_answer():
    transcript = read("session.jsonl")

    assert transcript.usage == (209, len(transcript.messages))


def test_usage_of_an_answer_that_made_calls_does_not_count_their_results(tmp_path: Path):
    transcript = hosts.read(written(tmp_path / "s.jsonl", rows("session.jsonl")[:8]))

    assert transcript.usage == (120, 3)
    assert len(transcript.messages) == 4


def test_a_session_gone_on_with_is_the_same_and_its_usage_too():
    assert shown(read("resumed.jsonl")) == shown(read("session.jsonl"))
    assert read("resumed.jsonl").usage == read("session.jsonl").usage


def test_a_compression_leaves_its_snapshot_what_it_kept_and_what_followed():
    transcript = read("compressed.jsonl")

    assert shown(transcript) == snapshot(
        [
            """\
user | <session_context>
Today is Monday.
</session_context>\
""",
            "user | <state_snapshot>Two folders.</state_snapshot>",
            "assistant | Got it.",
            "user | What is this?",
            "assistant | One file in each.",
            "user | Count the lines.",
            "assistant | Ten.",
        ]
    )
    assert transcript.usage == (93, len(transcript.messages))


def test_what_was_charged_before_a_compression_is_not_the_usage(tmp_path: Path):
    transcript = hosts.read(written(tmp_path / "s.jsonl", rows("compressed.jsonl")[:-1]))

    assert transcript.usage is None


def test_a_turn_that_was_taken_back_is_gone():
    transcript = read("rewound.jsonl")

    assert shown(transcript) == [*shown(read("session.jsonl")), "user | Keep them."]
    assert transcript.usage == read("session.jsonl").usage


def test_going_back_to_a_message_that_is_not_there_leaves_nothing(tmp_path: Path):
    back = {"$rewindTo": "nowhere"}

    transcript = hosts.read(written(tmp_path / "s.jsonl", [*rows("session.jsonl"), back]))

    assert transcript.messages == []


def test_a_command_is_no_message_unless_it_was_answered(tmp_path: Path):
    answer: Row = {"id": "a4", "type": "gemini", "content": "It is a folder."}
    asked: Row = {"id": "u4", "type": "user", "content": "/home/me is what?"}

    transcript = hosts.read(written(tmp_path / "s.jsonl", [*rows("session.jsonl"), asked, answer]))

    assert shown(transcript)[-2:] == ["user | /home/me is what?", "assistant | It is a folder."]
    assert "/help" not in " ".join(shown(transcript))


def test_a_session_as_one_json_value_is_read_too():
    transcript = read("until-2026.json")

    assert shown(transcript) == [
        "user | List the two folders.",
        "assistant | I look. | run_shell_command(c1) | run_shell_command(c2)",
        "user | c1: a.py | c2: b.py",
        "assistant | One file in each.",
    ]
    assert transcript.usage == (209, 4)


def test_rows_and_parts_we_do_not_know_are_counted_or_carried_along(tmp_path: Path):
    strange: list[Row] = [
        {"type": "weather"},
        {"id": "w", "type": "oracle", "content": "x"},
        {"id": "u4", "type": "user", "content": [{"hologram": "x"}]},
    ]

    transcript = hosts.read(written(tmp_path / "s.jsonl", [*rows("session.jsonl"), *strange]))

    assert transcript.messages[-1]["content"] == [{"type": "unknown", "hologram": "x"}]
    assert transcript.warnings == [
        "Rows of types we do not know were skipped: 1 (weather 1).",
        "Messages of types we do not know were left out: 1 (oracle 1).",
    ]
