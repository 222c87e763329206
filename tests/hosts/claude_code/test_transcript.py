from pathlib import Path

import pytest
import transcripts
from inline_snapshot import snapshot
from transcripts import FIXTURES, Row, shown, written

from context_compression import hosts
from context_compression.conversation import parse
from context_compression.hosts.claude_code.sessions import STORED, subagent
from context_compression.hosts.claude_code.transcript.context import CLEARED
from context_compression.transcripts import CandidateConversation

FOLDER = FIXTURES / "claude_code"


def rows_of(name: str) -> list[Row]:
    return transcripts.rows_of(FOLDER / f"{name}.jsonl")


def read(name: str) -> hosts.Transcript:
    return hosts.read(FOLDER / f"{name}.jsonl")


def test_a_session_is_read_as_the_model_saw_it():
    transcript = read("session")

    assert shown(transcript) == snapshot(
        [
            "user | List the two folders.",
            "assistant | <thinking> | I look. | Bash(toolu_1) | Bash(toolu_2)",
            "user | toolu_1: a.py | toolu_2: b.py",
            "assistant | One file in each.",
            "user | <local-command-caveat>A command was run.</local-command-caveat>",
            "user | Count the lines.",
            "assistant | Bash(toolu_3)",
            "user | toolu_3: 10",
            "user | Only of a.py!",
            "assistant | Ten.",
        ]
    )
    assert transcript.host == "claude-code"
    assert transcript.session_id == "3f1c0d52-0000-4000-8000-00000000cafe"
    assert transcript.model == "claude-opus-5"
    assert transcript.warnings == []


def test_parallel_calls_are_found_whichever_of_their_results_came_last(tmp_path: Path):
    rows = rows_of("session")
    until = [row.get("uuid") for row in rows].index("r1")

    transcript = hosts.read(written(tmp_path / "s.jsonl", rows[: until + 1]))

    assert shown(transcript) == shown(read("session"))[:3]


def test_blocks_are_passed_on_as_they_were_read():
    thinking = {"type": "thinking", "thinking": "Two calls.", "signature": "c2ln"}

    answer = read("session").messages[1]

    assert answer["content"][0] == thinking
    assert answer.keys() == {"role", "content"}


def test_usage_is_that_of_the_last_request_and_the_messages_before_its_answer():
    transcript = read("session")

    assert transcript.usage == (500, 9)
    assert transcript.messages[9]["content"] == [{"type": "text", "text": "Ten."}]


def test_an_answer_without_usage_leaves_that_of_the_request_before(tmp_path: Path):
    rows = rows_of("session")
    rows[-2]["message"] |= {"usage": {"input_tokens": 0}, "model": "<synthetic>"}
    rows.append({**rows[-2], "uuid": "empty", "parentUuid": "s2"})
    rows[-1]["message"] = {**rows_of("session")[-2]["message"], "id": "msg_5", "content": []}

    transcript = hosts.read(written(tmp_path / "s.jsonl", rows))

    assert transcript.usage == (400, 6)
    assert transcript.model == "claude-opus-5"


def test_a_compaction_leaves_its_summary_and_what_followed():
    transcript = read("compacted")

    assert shown(transcript) == snapshot(
        [
            "user | This session is being continued from a previous conversation. "
            "Summary: old things.",
            "user | Go on.",
            "assistant | Going on.",
        ]
    )
    assert transcript.usage == (5000, 2)


def test_kept_messages_stand_between_the_summary_and_the_rows_that_hang_off_the_last_of_them():
    transcript = read("compacted-kept-behind-tail")

    assert shown(transcript) == snapshot(
        [
            "user | This session is being continued from a previous conversation. "
            "Summary: old things.",
            "user | Recent question.",
            "assistant | Bash(toolu_1)",
            "user | toolu_1: Monday",
            "assistant | Monday.",
            "user | Go on.",
            "assistant | Going on.",
        ]
    )


def unlisted(rows: list[Row]) -> list[Row]:
    """The rows of a compaction that names head and tail of what it kept, and no messages."""
    for row in rows:
        row.get("compactMetadata", {}).pop("preservedMessages", None)
    return rows


@pytest.mark.parametrize(
    "rows",
    [rows_of("compacted-kept-behind-summary"), unlisted(rows_of("compacted-kept-behind-tail"))],
    ids=["the new rows hang off the summary", "none are listed"],
)
def test_kept_messages_stand_there_too(rows: list[Row], tmp_path: Path):
    transcript = hosts.read(written(tmp_path / "s.jsonl", rows))

    assert shown(transcript) == shown(read("compacted-kept-behind-tail"))


def test_the_old_history_stays_out_where_the_head_of_what_was_kept_is_missing(tmp_path: Path):
    rows = [row for row in rows_of("compacted-kept-behind-tail") if row["uuid"] != "u2"]

    transcript = hosts.read(written(tmp_path / "s.jsonl", unlisted(rows)))

    assert shown(transcript)[1:] == [
        "assistant | Monday.",
        "user | Go on.",
        "assistant | Going on.",
    ]


@pytest.mark.parametrize("name", ["compacted", "compacted-kept-behind-tail"])
def test_what_was_charged_before_a_compaction_is_not_the_usage(name: str, tmp_path: Path):
    rows = [row for row in rows_of(name) if row["uuid"] != "a4"]

    transcript = hosts.read(written(tmp_path / "s.jsonl", rows))

    assert transcript.usage is None


def test_a_cleared_tool_result_is_shown_as_the_host_shows_it():
    transcript = read("microcompacted")

    assert f"user | toolu_1: {CLEARED}" in shown(transcript)
    assert transcript.usage is None


def test_a_subagents_transcript_is_a_conversation_of_its_own():
    transcript = read("subagent")

    assert transcript.session_id == "3f1c0d52-0000-4000-8000-00000000cafe-agent-abc123"
    assert len(transcript.messages) == 4
    assert transcript.usage == (120, 3)
    assert transcript.warnings == []


def test_a_subagents_rows_are_left_out_of_the_main_conversation(tmp_path: Path):
    subagent = [{**row, "uuid": f"side-{row['uuid']}"} for row in rows_of("subagent")]

    transcript = hosts.read(written(tmp_path / "s.jsonl", [*rows_of("session"), *subagent]))

    assert shown(transcript) == shown(read("session"))
    assert transcript.warnings == ["Rows of subagents were left out: 4 (rows 4)."]


def test_what_the_host_adds_in_the_role_of_the_system_comes_with_the_system_prompt():
    transcript = read("compacted-kept-behind-summary")

    assert transcript.system == [
        {"type": "text", "text": "<system-reminder>\nToday is Monday.\n</system-reminder>"},
        {"type": "text", "text": "<system-reminder>\nYou are in /work.\n</system-reminder>"},
    ]


def attaching(folder: Path, about: Row) -> hosts.Transcript:
    """A question with an attachment, and its answer."""
    first, *_, answer = rows_of("subagent")
    row = {**first, "type": "attachment", "uuid": "f1", "parentUuid": "u1", **about}
    return hosts.read(written(folder / "s.jsonl", [first, row, {**answer, "parentUuid": "f1"}]))


def test_a_file_that_the_user_mentioned_stands_in_the_users_message(tmp_path: Path):
    mentioned = {"rendered": [{"content": "a.py holds: x = 1"}], "renderedRole": "user"}

    transcript = attaching(tmp_path, mentioned)

    assert shown(transcript) == [
        "user | Find the tests.\na.py holds: x = 1",
        "assistant | In tests/.",
    ]


@pytest.mark.parametrize(
    ("attachment", "told"),
    [
        (
            {"type": "file", "filename": "a.py", "content": {"file": {"content": "x = 1\n"}}},
            "a.py:\nx = 1",
        ),
        (
            {"type": "nested_memory", "path": "sub/CLAUDE.md", "content": {"content": "Use uv."}},
            "sub/CLAUDE.md:\nUse uv.",
        ),
        (
            {
                "type": "hook_additional_context",
                "hookName": "UserPromptSubmit",
                "content": ["Be terse.", "No lists."],
            },
            "UserPromptSubmit hook:\nBe terse.\nNo lists.",
        ),
    ],
)
def test_what_an_attachment_says_is_told_where_the_host_does_not_write_how(
    tmp_path: Path, attachment: Row, told: str
):
    transcript = attaching(tmp_path, {"attachment": attachment})

    reminder = f"<system-reminder>\n{told}\n</system-reminder>"
    assert shown(transcript) == [f"user | Find the tests.\n{reminder}", "assistant | In tests/."]
    assert transcript.warnings == []


def test_a_look_again_adds_nothing_to_what_the_user_typed_meanwhile(tmp_path: Path):
    first, *_, answer = rows_of("subagent")
    typed: Row = {"type": "queued_command", "prompt": [{"type": "text", "text": "And the docs?"}]}
    hook: Row = {"type": "hook_additional_context", "hookName": "Stop", "content": ["Be terse."]}
    between = [
        {**first, "type": "attachment", "uuid": uuid, "parentUuid": parent, "attachment": about}
        for uuid, parent, about in (("q", "u1", typed), ("h", "q", hook))
    ]
    rows = [first, *between, {**answer, "parentUuid": "h"}]
    path = written(tmp_path / "s.jsonl", rows)
    readings = hosts.Readings()
    readings.look(path)
    written(path, [*rows, {**first, "uuid": "u2", "parentUuid": answer["uuid"]}])

    again = readings.look(path)

    assert shown(again) == shown(hosts.read(path))
    assert str(again.messages).count("Be terse.") == 1


@pytest.mark.parametrize("content", [None, "", [1], {"file": []}, {"file": {"content": 3}}])
def test_an_attachment_that_says_nothing_is_reported(tmp_path: Path, content: object):
    attachment: Row = {"type": "file", "filename": "a.py", "content": content}
    transcript = attaching(tmp_path, {"attachment": attachment})

    assert shown(transcript) == ["user | Find the tests.", "assistant | In tests/."]
    assert transcript.warnings == [
        "Attachments whose text is not in the file were left out: 1 (file 1)."
    ]


def test_what_the_host_puts_between_a_call_and_its_result_costs_neither(tmp_path: Path):
    rows = rows_of("subagent")
    noted = {"rendered": [{"content": "Mind the time."}], "renderedRole": "user"}
    rows.insert(2, {**rows[1], "type": "attachment", "uuid": "f1", "parentUuid": "a1", **noted})
    rows[3]["parentUuid"] = "f1"

    transcript = hosts.read(written(tmp_path / "s.jsonl", rows))

    assert shown(transcript) == [
        "user | Find the tests.",
        "assistant | Bash(toolu_9)",
        "user | Mind the time. | toolu_9: tests/",
        "assistant | In tests/.",
    ]
    assert transcript.messages[2]["content"][0]["type"] == "tool_result"


def test_system_prompt_and_tools_are_those_of_the_last_request(tmp_path: Path):
    text = {"type": "text", "text": "Be brief."}
    shape: Row = {"system": [text], "tools": [{"name": "Bash"}]}
    old: Row = {"type": "api-request-shape", "shapeHash": "1", "shape": {"system": []}}
    new: Row = {"type": "api-request-shape", "shapeHash": "2", "shape": shape}
    request = {"type": "api-request", "shapeHash": "2", "sessionId": "s"}

    transcript = hosts.read(written(tmp_path / "s.jsonl", [*rows_of("session"), old, new, request]))

    assert (transcript.system, transcript.tools) == ([text], [{"name": "Bash"}])


def test_rows_of_unknown_types_are_counted_and_may_be_links_of_the_chain(tmp_path: Path):
    rows = rows_of("session")
    for row in rows:
        if row["type"] == "progress":
            row["type"] = "thoughtful-pause"

    transcript = hosts.read(written(tmp_path / "s.jsonl", rows))

    assert shown(transcript) == shown(read("session"))
    assert transcript.warnings == [
        "Rows of types we do not know were skipped: 1 (thoughtful-pause 1)."
    ]


def test_rows_written_twice_count_once(tmp_path: Path):
    rows = rows_of("session")
    copies = [{**row, "uuid": f"copy-{row['uuid']}"} for row in rows if row["type"] == "assistant"]

    transcript = hosts.read(written(tmp_path / "s.jsonl", [*rows[:5], *copies[:3], *rows, *rows]))

    assert shown(transcript) == shown(read("session"))


def test_a_damaged_line_costs_only_itself(tmp_path: Path):
    lines = (FOLDER / "session.jsonl").read_bytes().split(b"\n")
    lines[15] = lines[15][:40]  # the caveat
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\n".join(lines))

    transcript = hosts.read(path)

    assert "user | List the two folders." in shown(transcript)
    assert len(transcript.messages) == len(read("session").messages) - 1
    assert transcript.warnings == [
        "Lines that are no JSON object were skipped: 1 (line 16).",
        "Rows whose parent is missing follow the row before: 1 (rows 1).",
    ]


def test_a_torn_last_line_is_reported_and_the_rest_is_kept(tmp_path: Path):
    path = tmp_path / "s.jsonl"
    path.write_bytes((FOLDER / "session.jsonl").read_bytes() + b'{"parentUuid":"a7","ty')

    transcript = hosts.read(path)

    assert shown(transcript) == shown(read("session"))
    assert [warning[:40] for warning in transcript.warnings] == [
        "The last line is cut off after 22 bytes "
    ]


def test_a_file_that_begins_in_the_middle_says_so(tmp_path: Path):
    transcript = hosts.read(written(tmp_path / "s.jsonl", rows_of("session")[2:]))

    assert transcript.warnings == ["The file begins in the middle of a conversation."]


def test_a_transcript_without_messages_is_an_empty_conversation(tmp_path: Path):
    transcript = hosts.read(written(tmp_path / "chat one.jsonl", rows_of("session")[:1]))

    assert transcript.messages == []
    assert transcript.usage is None
    assert transcript.session_id.startswith("chat-one-")


def test_rows_that_describe_a_session_are_no_reason_for_a_warning(tmp_path: Path):
    worktree = {"worktreePath": "/work/app-fix", "originalCwd": "/work/app"}
    described: list[Row] = [
        {"type": "worktree-state", "worktreeSession": worktree, "sessionId": "s"},
        {"type": "content-replacement", "replacements": [], "sessionId": "s"},
        {"type": "history-suppression", "cause": "x", "sessionId": "s"},
        {"type": "tag", "tag": "t", "sessionId": "s"},
        {"type": "relocated", "relocatedCwd": "/work/moved", "sessionId": "s"},
    ]
    rows = [*rows_of("session"), *described]

    transcript = hosts.read(written(tmp_path / "s.jsonl", rows))

    assert transcript.messages == hosts.read(FIXTURES / "claude_code" / "session.jsonl").messages
    assert not any("types we do not know" in warning for warning in transcript.warnings)
    assert transcript.project == "/work/moved"


def test_a_result_that_the_host_replaced_is_what_the_model_saw(tmp_path: Path):
    rows = rows_of("session")
    first = next(
        result
        for message in parse(
            hosts.read(FIXTURES / "claude_code" / "session.jsonl").messages
        ).messages
        for result in message.results
    )
    call = first.call_id
    told = {"type": "content-replacement", "sessionId": "s", "replacements": [
        {"kind": "tool-result", "toolUseId": call, "replacement": "<persisted-output>\nThe start."},
        {"kind": "user-text", "messageUuid": "u", "replacement": "x"},
        {"kind": "tool-result", "toolUseId": call},
    ]}  # fmt: skip

    transcript = hosts.read(written(tmp_path / "s.jsonl", [*rows, told]))

    seen = [result for message in parse(transcript.messages).messages
            for result in message.results if result.call_id == call]  # fmt: skip
    assert [result.text for result in seen] == ["<persisted-output>\nThe start."] != [first.text]
    assert (
        "Contents that the host replaced in ways we do not know are given as they were: "
        "2 (user-text 1, tool-result 1)." in transcript.warnings
    )


def test_a_part_in_another_session_is_said(tmp_path: Path):
    for kind, word in (("continued-in", "goes on"), ("fork-context-ref", "begins")):
        rows = [*rows_of("session")]
        rows.append({"type": kind, "sessionId": "s"})

        transcript = hosts.read(written(tmp_path / f"{kind}.jsonl", rows))

        assert word in transcript.missing[0] and transcript.missing[0] in transcript.warnings


def test_a_subagent_is_found_in_any_folder_with_any_form_of_its_id(tmp_path: Path):
    session = tmp_path / "s.jsonl"
    workflow = tmp_path / "s" / "subagents" / "workflows" / "wf_1" / "agent-a1.jsonl"
    workflow.parent.mkdir(parents=True)
    workflow.touch()

    assert subagent(session, "a1") == subagent(session, "agent-a1") == workflow
    assert subagent(session, "b2") == tmp_path / "s" / "subagents" / "agent-b2.jsonl"
    assert subagent(session, "../../x").parent == tmp_path / "s" / "subagents"


@pytest.mark.parametrize(
    "row",
    [
        {"type": "relocated", "relocatedCwd": "/work/moved"},
        {"type": "worktree-state", "worktreeSession": {"worktreePath": "/work/moved"}},
    ],
)
def test_a_session_that_moved_is_one_of_the_folder_it_moved_to(tmp_path: Path, row: Row):
    rows = [*rows_of("session"), row]
    path = written(tmp_path / "s.jsonl", rows)
    session = CandidateConversation(path, 1.0)

    assert [*STORED.folders(session, [])][-1] == "/work/moved"
