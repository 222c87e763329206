from pathlib import Path

from inline_snapshot import snapshot
from transcripts import FIXTURES, Row, rows_of, shown, written

from context_compression import hosts


def read(name: str) -> hosts.Transcript:
    return hosts.read(FIXTURES / "pi" / f"{name}.jsonl")


def rows(name: str) -> list[Row]:
    return rows_of(FIXTURES / "pi" / f"{name}.jsonl")


def test_a_session_is_read_as_the_model_saw_it():
    transcript = read("session")

    assert shown(transcript) == snapshot(
        [
            "user | List the two folders.",
            "assistant | <thinking> | I look. | bash(c1) | bash(c2)",
            "user | c1: a.py | c2: b.py",
            "user | It is ten.",
            """\
user | Ran `wc -l a.py`
```
10 a.py
```\
""",
            "assistant | One file in each.",
        ]
    )
    assert transcript.host == "pi"
    assert transcript.session_id == "01a10000-0000-7000-8000-00000000cafe"
    assert transcript.model == "claude-sonnet-4-5"
    assert transcript.warnings == []


def test_what_was_aborted_is_not_sent_again_and_what_the_user_hid_neither():
    said = " ".join(shown(read("session")))

    assert "Nev" not in said
    assert "SECRET" not in said


def test_system_prompt_and_tools_are_those_of_now():
    transcript = read("session")

    assert transcript.system == "You are a coding agent.\n\nNo skills."
    assert [tool["name"] for tool in transcript.tools] == ["bash"]


def test_thinking_keeps_its_signature():
    thinking = {"type": "thinking", "thinking": "Two calls.", "signature": "c2ln"}

    assert read("session").messages[1]["content"][0] == thinking


def test_usage_is_that_of_the_last_request_with_its_answer():
    transcript = read("session")

    assert transcript.usage == (169, len(transcript.messages))


def test_a_compaction_leaves_its_summary_what_it_kept_and_what_followed():
    transcript = read("compacted")

    assert shown(transcript) == snapshot(
        [
            """\
user | <summary>
Two folders, one file in each.
</summary>\
""",
            "user | Count the lines.",
            "assistant | bash(c3)",
            "user | c3: 20",
            "assistant | Twenty.",
        ]
    )
    assert transcript.usage == (308, 5)
    assert transcript.system == "You are a coding agent.\n\nNo skills."


def test_what_was_charged_before_a_compaction_is_not_the_usage(tmp_path: Path):
    transcript = hosts.read(written(tmp_path / "s.jsonl", rows("compacted")[:-1]))

    assert len(transcript.messages) == 4
    assert transcript.usage is None


def test_a_branch_that_was_left_leaves_its_summary_alone():
    transcript = read("branched")

    assert shown(transcript)[-3:] == snapshot(
        [
            """\
user | <summary>
Deleting was a mistake.
</summary>\
""",
            "user | Keep them.",
            "assistant | Kept.",
        ]
    )
    assert "Deleted." not in " ".join(shown(transcript))


def test_an_edited_entry_is_sent_as_edited_and_what_was_charged_before_is_not_the_usage():
    transcript = read("branched")

    assert "user | c1: (a.py) | c2: b.py" in shown(transcript)
    assert "It is ten." not in " ".join(shown(transcript))
    assert transcript.usage is None


def test_a_rewind_to_the_first_message_brings_back_the_oldest(tmp_path: Path):
    anew: Row = {"type": "message", "id": "anew", "parentId": "e4", "message": {"role": "user"}}
    anew["message"]["content"] = "No, stop."

    transcript = hosts.read(written(tmp_path / "s.jsonl", [*rows("compacted"), anew]))

    assert shown(transcript) == ["user | List the two folders.", "user | No, stop."]


def test_entries_without_ids_follow_each_other():
    assert shown(read("version-1")) == snapshot(
        [
            """\
user | <summary>
Two folders.
</summary>\
""",
            "user | Count the lines.",
            "assistant | Twenty.",
        ]
    )


def test_an_entry_whose_parent_is_missing_begins_the_conversation(tmp_path: Path):
    left = [row for row in rows("session") if row.get("id") != "e6"]

    transcript = hosts.read(written(tmp_path / "s.jsonl", left))

    assert shown(transcript)[0] == "user | c2: b.py"
    assert transcript.warnings == [
        "Entries whose parent is missing begin the conversation: 1 (entries 1)."
    ]


def test_entries_and_roles_we_do_not_know_are_counted(tmp_path: Path):
    strange: list[Row] = [
        {"type": "weather", "id": "w1", "parentId": "e15"},
        {"type": "message", "id": "w2", "parentId": "w1", "message": {"role": "oracle"}},
    ]

    transcript = hosts.read(written(tmp_path / "s.jsonl", [*rows("session"), *strange]))

    assert shown(transcript) == shown(read("session"))
    assert transcript.warnings == [
        "Pi wrote parts in a form that is not known here, so text may be missing: 1 "
        "(message.role oracle of message 1).",
        "Entries of types we do not know were skipped: 1 (weather 1).",
    ]
