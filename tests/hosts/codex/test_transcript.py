from collections.abc import Iterable
from pathlib import Path

from inline_snapshot import snapshot
from transcripts import FIXTURES, Row, rows_of, shown, written

from context_compression import hosts
from context_compression.conversation import parse, user_words


def read(name: str) -> hosts.Transcript:
    return hosts.read(FIXTURES / "codex" / f"{name}.jsonl")


def rows(name: str) -> list[Row]:
    return rows_of(FIXTURES / "codex" / f"{name}.jsonl")


def test_a_thread_is_read_as_the_model_saw_it():
    transcript = read("session")

    assert shown(transcript) == snapshot(
        [
            """\
developer | <permissions instructions>
Everything is allowed.
</permissions instructions>\
""",
            """\
user | # AGENTS.md instructions for /work/app

Write short.
<environment_context>
  <cwd>/work/app</cwd>
</environment_context>\
""",
            "user | List the two folders.",
            "assistant | <thinking> | I look. | exec_command(call_1) | exec_command(call_2)",
            """\
user | call_1: Process exited with code 0
Output:
a.py
 | call_2: Process exited with code 0
Output:
b.py
""",
            "assistant | apply_patch(call_3)",
            "user | call_3: Success.",
            "assistant | mcp__probe__echo(call_4) | <web_search_call>",
            "user | call_4: hi",
            "assistant | One file in each.",
        ]
    )
    assert transcript.host == "codex"
    assert transcript.session_id == "019f0000-0000-7000-8000-00000000cafe"
    assert transcript.model == "gpt-5.5"
    assert transcript.window == 258_400
    assert transcript.system == "You are a coding agent."
    assert transcript.warnings == []


def test_encrypted_reasoning_is_a_thinking_block_with_its_summary():
    block = read("session").messages[3]["content"][0]

    assert block["type"] == "thinking"
    assert block["signature"] == "c2VhbGVk" * 20
    assert block["summary"] == [{"type": "summary_text", "text": "Two calls."}]


def test_a_patch_is_the_input_of_its_call():
    (call,) = read("session").messages[5]["content"]

    assert call["name"] == "apply_patch"
    assert call["input"]["input"].startswith("*** Begin Patch")


def test_usage_is_that_of_the_last_request_with_its_answer():
    transcript = read("session")

    assert transcript.usage == (1_710, 10)
    assert transcript.messages[9]["content"] == [{"type": "text", "text": "One file in each."}]


def test_usage_written_after_the_tools_ran_counts_the_messages_up_to_the_calls(tmp_path: Path):
    until = [row["payload"].get("call_id") for row in rows("session")].index("call_3")

    transcript = hosts.read(written(tmp_path / "s.jsonl", rows("session")[:until]))

    assert transcript.usage == (1_010, 4)


def test_usage_written_before_the_tools_ran_counts_the_same(tmp_path: Path):
    kinds = [row["type"] for row in rows("session")]
    record = rows("session")[: kinds.index("token_usage_record") + 1]

    transcript = hosts.read(written(tmp_path / "s.jsonl", record))

    assert transcript.usage == (1_510, 8)


def test_a_compaction_leaves_its_history_and_what_followed():
    transcript = read("compacted")

    assert shown(transcript) == snapshot(
        [
            "user | List the two folders.",
            "user | Another language model started to solve this. Summary: two folders.",
            "assistant | Ten.",
        ]
    )
    assert transcript.usage == (910, 3)


def test_what_was_charged_before_a_compaction_is_not_the_usage(tmp_path: Path):
    compacted = [row["type"] for row in rows("compacted")].index("compacted")

    transcript = hosts.read(written(tmp_path / "s.jsonl", rows("compacted")[: compacted + 2]))

    assert transcript.usage is None
    assert transcript.window == 258_400


def test_a_compaction_without_history_leaves_the_users_words_and_its_summary():
    assert shown(read("compacted-without-history")) == snapshot(
        [
            "user | First.", "user | Second.", "user | Summary: first and second.", "user | Third.",
        ]
    )  # fmt: skip


def test_turns_taken_back_are_gone_with_what_was_told_before_them():
    transcript = read("rolled-back")

    assert shown(transcript)[-2:] == ["user | Keep them.", "assistant | Kept."]
    assert shown(transcript)[:-2] == shown(read("session"))
    assert transcript.usage == (1_810, 12)


def test_turns_taken_back_behind_a_compaction_are_said_to_be_a_guess(tmp_path: Path):
    back: Row = {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}}

    transcript = hosts.read(written(tmp_path / "s.jsonl", [*rows("compacted"), back]))

    assert shown(transcript) == ["user | List the two folders."]
    assert transcript.warnings == [
        "Turns were taken back that began before the last compaction; what is left is a guess: 1 "
        "(times 1)."
    ]


def test_more_turns_taken_back_than_there_are_leave_what_came_before_the_first(tmp_path: Path):
    back: Row = {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 9}}

    transcript = hosts.read(written(tmp_path / "s.jsonl", [*rows("session"), back]))

    assert shown(transcript) == shown(read("session"))[:2]
    assert transcript.usage is None


def test_a_forks_own_name_counts_not_its_parents(tmp_path: Path):
    own: Row = {"type": "session_meta", "payload": {"id": "the-fork"}}

    transcript = hosts.read(written(tmp_path / "s.jsonl", [own, *rows("session")]))

    assert transcript.session_id == "the-fork"


def test_a_call_that_is_running_is_an_open_step(tmp_path: Path):
    kinds = [row["payload"].get("type") for row in rows("session")]
    until = kinds.index("function_call_output")

    transcript = hosts.read(written(tmp_path / "s.jsonl", rows("session")[:until]))

    assert shown(transcript)[-1].endswith("exec_command(call_1) | exec_command(call_2)")
    assert transcript.warnings == []


def test_the_output_of_a_call_that_is_gone_is_left_out_and_reported(tmp_path: Path):
    without = [row for row in rows("session") if row["payload"].get("name") != "apply_patch"]

    transcript = hosts.read(written(tmp_path / "s.jsonl", without))

    assert "Success." not in " ".join(shown(transcript))
    assert transcript.warnings == [
        "Outputs of calls that are no longer in the context were left out: 1 (outputs 1)."
    ]


def test_items_and_rows_we_do_not_know_are_counted_and_items_kept(tmp_path: Path):
    item: Row = {"type": "hologram", "data": "x"}
    strange: Iterable[Row] = [
        {"type": "response_item", "payload": item},
        {"type": "weather", "payload": {}},
    ]

    transcript = hosts.read(written(tmp_path / "s.jsonl", [*rows("session"), *strange]))

    assert transcript.messages[-1]["content"] == [item]
    assert transcript.warnings == [
        "Rows of types we do not know were skipped: 1 (weather 1).",
        "Items of types we do not know are carried along as they are: 1 (hologram 1).",
    ]


def test_what_another_agent_wrote_is_text_that_no_user_said(tmp_path: Path):
    part = {"type": "input_text", "text": "The port is 7441."}
    item: Row = {"type": "agent_message", "author": "/root/a", "recipient": "/root"}
    sealed = {"type": "encrypted_content", "encrypted_content": "c2VhbGVk"}
    added = [
        {"type": "response_item", "payload": {**item, "content": content}}
        for content in ([part], [part, sealed])
    ]

    transcript = hosts.read(written(tmp_path / "s.jsonl", [*rows("session"), *added]))

    *_, readable, opaque = transcript.messages
    [message] = parse([readable]).messages
    assert "7441" in message.text and "/root/a" in message.text
    assert not user_words(message)
    assert opaque["content"] == [added[1]["payload"]]
