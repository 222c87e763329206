"""A transcript in which a plugin's hook said what a compaction keeps, as 2.1.329 writes it."""

from pathlib import Path
from typing import Any

import pytest
from transcripts import Row, shown, written

from context_compression.hosts import history, read

SESSION = "s"


def row(uuid: str, parent: str | None, kind: str, content: Any, **more: Any) -> Row:
    about = {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": SESSION}
    return {**about, "message": {"role": kind, "content": content, **more}}


def call(name: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": "Bash", "input": {}}


def result(name: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": name, "content": f"of {name}"}


BEFORE = [
    row("a1", None, "user", "Look."),
    row("a2", "a1", "assistant", [call("t1")], id="m1", usage={"input_tokens": 90_000}),
    row("a3", "a2", "user", [result("t1")]),
    row("a4", "a3", "assistant", [call("t2")], id="m2", usage={"input_tokens": 95_000}),
    row("a5", "a4", "user", [result("t2")]),
]
AFTER = [
    {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": "b0",
        "parentUuid": None,
        "sessionId": SESSION,
        "compactMetadata": {"trigger": "auto", "preTokens": 95_000},
    },
    row("b1", "b0", "user", "[Compressed History] One step."),
    row("b2", "b1", "assistant", [call("t2")], id="m2", usage={"input_tokens": 95_000}),
    row("b3", "a4", "user", [result("t2")]),  # of a call that is written anew: the old parent
]
VIEW = ["user | [Compressed History] One step.", "assistant | Bash(t2)", "user | t2: of t2"]


def test_results_that_name_the_call_of_before_do_not_bring_the_old_history_back(
    tmp_path: Path,
) -> None:
    transcript = read(written(tmp_path / "s.jsonl", [*BEFORE, *AFTER]))

    assert shown(transcript) == VIEW
    assert transcript.usage is None  # that was charged before
    assert transcript.rows == [["b1"], ["b2"], ["b3"]]


def test_a_rewind_past_the_compaction_does(tmp_path: Path) -> None:
    again = row("c1", "a3", "user", "No, look there.")

    transcript = read(written(tmp_path / "s.jsonl", [*BEFORE, *AFTER, again]))

    assert shown(transcript)[-1] == "user | No, look there."
    assert shown(transcript)[0] == "user | Look."


@pytest.mark.parametrize(
    ("first", "author"),
    [
        ("Look.", "context-compression"),
        ("This session is being continued. Summary: …", "claude-code"),
    ],
)
def test_a_view_without_a_note_is_ours_for_its_shortened_results_and_no_summary_of_the_host_is(
    first: str, author: str, tmp_path: Path
) -> None:
    begins = row("b1", "b0", "user", first)
    if author == "claude-code":
        begins["isCompactSummary"] = True
    shortened = {**result("t2"), "content": "[61 lines; ref 7fee0a7e73b2]"}
    after = [AFTER[0], begins, AFTER[2], row("b3", "b2", "user", [shortened])]
    answer = row("b4", "b3", "assistant", "Done.", id="m3", usage={"input_tokens": 900})

    whole = history(written(tmp_path / "s.jsonl", [*BEFORE, *after, answer]))

    assert [compaction.by for compaction in whole.compactions] == [author]
