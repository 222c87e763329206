"""Logs of `claude -p --output-format stream-json`, as version 2.1.329 writes them."""

import json
from pathlib import Path

import pytest
import transcripts
from inline_snapshot import snapshot
from transcripts import FIXTURES, Row, shown, written

from context_compression import hosts
from context_compression.errors import TranscriptError

FOLDER = FIXTURES / "claude_code"
ROWS = transcripts.rows_of(FOLDER / "stream.jsonl")
WHOLE = hosts.read(FOLDER / "stream.jsonl")
NO_PROMPT = "The log does not hold the prompt that it begins with."
SUBAGENT = "Rows of subagents were left out: 3 (rows 3)."


def read(folder: Path, rows: list[Row]) -> hosts.Transcript:
    return hosts.read(written(folder / "run.jsonl", rows))


def boundary(**about: object) -> Row:
    row: Row = {"type": "system", "subtype": "compact_boundary", "session_id": "s", "uuid": "k0"}
    return {**row, "compact_metadata": {"trigger": "auto", "pre_tokens": 9, **about}}


def prompt(text: str, **about: object) -> Row:
    message = {"role": "user", "content": text}
    return {"type": "user", "message": message, "parent_tool_use_id": None, "uuid": text, **about}


def test_a_log_is_read_in_order_one_message_for_each_id():
    assert shown(WHOLE) == snapshot(
        [
            "user | List the two folders.",
            "assistant | <thinking> | I look. | Bash(toolu_1) | Bash(toolu_2)",
            "user | toolu_1: a.py | toolu_2: b.py",
            "assistant | Agent(toolu_3)",
            "user | toolu_3: In tests/.",
            "assistant | Two files, and tests.",
        ]
    )
    assert (WHOLE.host, WHOLE.model, WHOLE.window) == ("claude-code", "claude-opus-5", 200_000)
    assert WHOLE.usage == (300, 5)
    assert WHOLE.warnings == [SUBAGENT]


def test_a_log_has_a_session_beside_that_of_its_transcript():
    assert WHOLE.session_id == "7b2e1c90-0000-4000-8000-00000000beef-log"


def test_a_log_without_the_prompt_says_so(tmp_path: Path):
    rows = [row for row in ROWS if row["uuid"] != "p1"]

    transcript = read(tmp_path, rows)

    assert shown(transcript) == shown(WHOLE)[1:]
    assert transcript.warnings == [NO_PROMPT, SUBAGENT]


@pytest.mark.parametrize("missing", [{"i1"}, {"i1", "s1"}, {"z1"}, {"i1", "s1", "z1"}])
def test_a_log_without_its_first_or_last_rows_is_known_all_the_same(
    missing: set[str], tmp_path: Path
):
    transcript = read(tmp_path, [row for row in ROWS if row["uuid"] not in missing])

    assert shown(transcript) == shown(WHOLE)
    assert transcript.session_id == WHOLE.session_id


def test_a_log_whose_rows_have_no_ids_of_their_own_is_read(tmp_path: Path):
    rows = [{key: value for key, value in row.items() if key != "uuid"} for row in ROWS]

    assert shown(read(tmp_path, rows)) == shown(WHOLE)


def test_a_row_that_is_repeated_counts_once(tmp_path: Path):
    prompts = [row for row in ROWS if row["uuid"] == "p1"]

    assert shown(read(tmp_path, [*ROWS[:-2], *prompts, *ROWS[-2:]])) == shown(WHOLE)


def test_what_else_was_printed_into_a_log_costs_no_row(tmp_path: Path):
    lines = (FOLDER / "stream.jsonl").read_bytes().splitlines(keepends=True)
    printed = [b"npm WARN deprecated\n", b"[12:30] starting\n", b'{"type": "sys\n']
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"".join([*printed, *lines[:6], printed[1], printed[0][:-1], *lines[6:]]))

    transcript = hosts.read(path)

    assert shown(transcript) == shown(WHOLE)
    assert transcript.warnings == [
        "Lines that are no JSON object were skipped: 4 (line 1, 2, 3, 10).",
        "Of damaged lines only the whole rows were read: 1 (line 11).",
        SUBAGENT,
    ]


def test_a_log_printed_as_one_list_is_read(tmp_path: Path):
    """`claude -p --output-format json --verbose` does."""
    path = tmp_path / "run.json"
    path.write_text(json.dumps(ROWS), encoding="utf-8")

    assert shown(hosts.read(path)) == shown(WHOLE)


def test_an_answer_that_was_still_being_sent_is_told(tmp_path: Path):
    cut = [row["uuid"] for row in ROWS].index("a2")

    transcript = read(tmp_path, ROWS[:cut])

    assert shown(transcript) == ["user | List the two folders.", "assistant | <thinking>"]
    assert transcript.warnings == [
        "The log ends in the middle of an answer, of which only whole blocks were read."
    ]


def test_the_result_of_a_run_alone_is_refused(tmp_path: Path):
    with pytest.raises(TranscriptError, match="--output-format stream-json --verbose"):
        read(tmp_path, [row for row in ROWS if row["type"] in ("system", "result")])


def test_a_log_of_a_run_that_has_just_begun_is_an_empty_conversation(tmp_path: Path):
    transcript = read(tmp_path, ROWS[:2])

    assert transcript.messages == []
    assert transcript.model == "claude-opus-5"


def test_what_the_host_says_of_a_command_or_an_error_is_no_answer_of_the_model(tmp_path: Path):
    said = {"id": "x", "role": "assistant", "content": [{"type": "text", "text": "Failed."}]}
    about: Row = {"type": "assistant", "message": said, "session_id": "s"}
    error = {**about, "uuid": "x1", "error": "rate_limit"}
    command = {**about, "uuid": "x2", "local_command_source": "Failed."}

    assert shown(read(tmp_path, [*ROWS, error, command])) == shown(WHOLE)


def test_rows_of_unknown_types_in_a_log_are_counted(tmp_path: Path):
    row = {"type": "weather", "session_id": "s", "uuid": "w"}

    transcript = read(tmp_path, [*ROWS[:4], row, *ROWS[4:]])

    assert shown(transcript) == shown(WHOLE)
    assert "Rows of types we do not know were skipped: 1 (weather 1)." in transcript.warnings


def test_two_runs_in_one_log_are_one_conversation_and_told(tmp_path: Path):
    again = [prompt("And now?", session_id="other")]

    transcript = read(tmp_path, [*ROWS, *again])

    assert shown(transcript) == [*shown(WHOLE), "user | And now?"]
    assert transcript.session_id == "other-log"
    assert "The log holds 2 sessions, one behind the other." in (transcript.warnings)


def test_a_compaction_in_a_log_leaves_its_summary_and_what_it_kept():
    transcript = hosts.read(FOLDER / "stream-compacted.jsonl")

    assert shown(transcript) == snapshot(
        [
            "user | This session is being continued from a previous conversation. "
            "Summary: two folders.",
            "assistant | Agent(toolu_3)",
            "user | toolu_3: In tests/.",
            "assistant | Two files, and tests.",
        ]
    )
    assert transcript.usage == (300, 3)


@pytest.mark.parametrize(
    ("text", "about"),
    [("Summed up.", {"isSynthetic": True}), ("This session is being continued. Summed up.", {})],
)
def test_a_compaction_that_kept_nothing_leaves_its_summary(text: str, about: Row, tmp_path: Path):
    rows = [*ROWS, boundary(), prompt(text, **about), prompt("Go on.")]

    assert shown(read(tmp_path, rows)) == [f"user | {text}", "user | Go on."]


def test_a_second_compaction_in_a_log_stands_for_the_first(tmp_path: Path):
    first = [boundary(), prompt("Once.", isSynthetic=True), prompt("Go on.")]
    second = [{**boundary(), "uuid": "k1"}, prompt("Twice.", isSynthetic=True), prompt("And on.")]

    transcript = read(tmp_path, [*ROWS, *first, *second])

    assert shown(transcript) == ["user | Twice.", "user | And on."]


def test_a_compaction_whose_summary_is_not_in_the_log_costs_nothing_and_is_told(tmp_path: Path):
    transcript = read(tmp_path, [*ROWS, boundary(), prompt("Go on.")])

    assert shown(transcript) == [*shown(WHOLE), "user | Go on."]
    assert "Compactions whose summary is not in the log were passed over: 1." in (
        transcript.warnings
    )
