"""What later calls replaced of what was read of a file, or written to it."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_compression import compress, count_tokens
from context_compression.conversation import Message, Text, ToolCall, ToolResult
from context_compression.evidence.files import MOST_CHANGES, Outdated, unnumbered
from context_compression.testing import Run, tool_step

OLD = "def retry(times):\n    limit = MAX_RETRIES_OLD\n    return limit\n"
NEW = "def retry(times):\n    limit = MAX_RETRIES_NEW\n    return limit\n"
LOST = "limit = MAX_RETRIES_OLD"
SHOWN = {
    "plain": OLD,
    "numbered": "".join(f"{n:6}\t{line}\n" for n, line in enumerate(OLD.splitlines(), 1)),
    "as OpenCode numbers": "<file>\n" + "".join(
        f"{n:05}| {line}\n" for n, line in enumerate(OLD.splitlines(), 41)
    ) + "</file>",
}  # fmt: skip
PATCH = "*** Begin Patch\n*** Update File: a.py\n@@ def retry(times):\n{}\n*** End Patch"
HUNK = "-    limit = MAX_RETRIES_OLD\n+    limit = MAX_RETRIES_NEW\n     return limit"
EDIT: dict[str, Any] = {"file_path": "a.py", "old_string": OLD, "new_string": NEW}
WRITE: dict[str, Any] = {"file_path": "./a.py", "content": NEW}
CHANGES: dict[str, Any] = {
    "Edit": EDIT,
    "part of a line": {"path": "a.py", "old_str": "MAX_RETRIES_OLD", "new_str": "MAX_RETRIES_NEW"},
    "nothing in its place": {"path": "a.py", "old_str": "    limit = MAX_RETRIES_OLD\n"},
    "MultiEdit": {"file_path": "a.py", "edits": [{"oldText": OLD, "newText": NEW}]},
    "Write": WRITE,
    "create": {"command": "create", "path": "a.py", "file_text": NEW},
    "apply_patch": {"input": PATCH.format(HUNK)},
    "apply_patch as text": PATCH.format(HUNK),
    "apply_patch that moves": {"input": PATCH.format(HUNK).replace("@@", "*** Move to: b.py\n@@")},
    "shell": {"command": f"apply_patch <<'EOF'\n{PATCH.format(HUNK)}\nEOF"},
}


def calls(*given: tuple[dict[str, Any], str], error: bool = False) -> list[Message]:
    """For each call and what it brought two messages; an error says the last."""
    return [
        message
        for n, (arguments, answer) in enumerate(given)
        for message in (
            Message("assistant", (ToolCall(f"c{n}", "tool", arguments),)),
            Message("tool", (ToolResult(f"c{n}", (Text(answer),), error and n == len(given) - 1),)),
        )
    ]


READ = ({"file_path": "a.py"}, OLD)


def lost(messages: list[Message], index: int = 1) -> list[str]:
    """What is outdated of the result in a message."""
    (block,) = messages[index].blocks
    assert isinstance(block, ToolResult)
    found = Outdated(messages).spans(block, block.text)
    return [block.text[start:stop].strip() for start, stop in found]


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("shown", SHOWN.values(), ids=SHOWN)
def test_lines_that_a_later_call_replaced_are_outdated(change: Any, shown: str) -> None:
    found = lost(calls(({"file_path": "a.py"}, shown), (change, "ok")))

    assert found
    assert {*found} <= {LOST, "MAX_RETRIES_OLD", "<file>", "</file>"}, "what is around it may go"


def test_of_a_long_edit_only_the_lines_that_changed_are_outdated() -> None:
    lines = [f"value_{n} = {n}" for n in range(40)]
    new = ["first = 1", *lines[1:20], "middle = 1", *lines[21:39], "last = 1"]
    edit = {"path": "a.py", "old_str": "\n".join(lines), "new_str": "\n".join(new)}

    found = lost(calls(({"path": "a.py"}, "\n".join(["import os", "", *lines])), (edit, "ok")))

    assert found == ["value_0 = 0", "value_20 = 20", "value_39 = 39"]


def test_what_a_command_showed_of_the_file_is_outdated_too() -> None:
    shell = ({"command": "sed -n 1,9p ./a.py"}, f"ls\n{OLD}")
    tests = ({"command": "pytest a.py"}, "1 failed\n")

    assert lost(calls(shell, (EDIT, "ok"))) == [LOST]
    assert not lost(calls(tests, (WRITE, "ok"))), "an output that is not the file"


def test_what_was_read_in_the_same_message_before_the_edit_is_outdated() -> None:
    read, edit = ToolCall("r", "Read", READ[0]), ToolCall("e", "Edit", EDIT)
    results = ToolResult("r", (Text(OLD),)), ToolResult("e", (Text("ok"),))

    assert lost([Message("assistant", (read, edit)), *(Message("tool", (r,)) for r in results)])


def test_the_text_of_an_older_edit_is_outdated_by_the_next() -> None:
    first = {"file_path": "a.py", "old_string": "pass", "new_string": OLD}
    written = {"file_path": "a.py", "content": OLD}
    for earlier, later in ((first, EDIT), (written, EDIT), (written, WRITE)):
        messages = calls((earlier, "ok"), (later, "ok"))
        (call,) = messages[0].blocks

        ((start, stop),) = Outdated(messages).spans(call, OLD)
        assert OLD[start:stop].strip() == LOST
        assert not Outdated(messages).spans(call, f"a.py · {LOST}"), "the line of short arguments"


@pytest.mark.parametrize(
    ("read", "changed", "is_old"),
    [
        ("/w/src/a.py", "/w/src/a.py", True),
        ("/w/src/a.py", "src/a.py", True),
        ("src/a.py", "/w/src/a.py", True),
        ("C:\\w\\a.py", "C:\\w\\a.py", True),
        ("/w/lib/a.py", "/w/src/a.py", False),
        ("lib/a.py", "/w/src/a.py", False),
        ("lib/a.py", "a.py", False),
    ],
)
def test_a_file_is_the_same_where_one_path_is_the_end_of_the_other(
    read: str, changed: str, is_old: bool
) -> None:
    edit = EDIT | {"file_path": changed}

    assert bool(lost(calls(({"file_path": read}, OLD), (edit, "ok")))) is is_old


def test_where_an_end_may_be_of_several_files_none_is_meant() -> None:
    edits = [(EDIT | {"file_path": f"/w/{folder}/a.py"}, "ok") for folder in ("src", "lib")]

    assert not lost(calls(({"command": "cat a.py"}, OLD), *edits))
    assert lost(calls(({"command": "cat lib/a.py"}, OLD), *edits))


@pytest.mark.parametrize(
    "after",
    [
        pytest.param([], id="nothing follows"),
        pytest.param([({"file_path": "b.py", "content": NEW}, "ok")], id="another file"),
        pytest.param([(EDIT, "ok"), (WRITE | {"content": OLD}, "ok")], id="taken back"),
        pytest.param(
            [(WRITE, "ok"), (EDIT | {"old_string": NEW, "new_string": OLD}, "ok")],
            id="rewritten and taken back",
        ),
        pytest.param(
            [({"path": "a.py", "old_str": OLD, "new_str": f"import os\n{OLD}"}, "ok")],
            id="only added to",
        ),
        pytest.param([({"path": "a.py", "insert_line": 1, "new_str": "os"}, "ok")], id="inserted"),
        pytest.param([({"path": "a.py", "line": 1, "content": "os"}, "ok")], id="at a line"),
        pytest.param([({"path": "a.py", "mode": "append", "content": "os"}, "ok")], id="appended"),
        pytest.param([({"command": "view", "path": "a.py", "file_text": ""}, "ok")], id="viewed"),
        pytest.param([({"path": "a.py", "old_str": 3, "new_str": None}, "ok")], id="no texts"),
        pytest.param([({"edits": [{"old_str": OLD, "new_str": NEW}, 1]}, "ok")], id="no file"),
        pytest.param([({"path": "a.py", "old_str": "t", "new_str": "x"}, "ok")], id="many places"),
        pytest.param(
            [({"path": "b.md", "content": PATCH.format(HUNK)}, "ok")], id="a patch in a file"
        ),
        pytest.param([({"prompt": PATCH.format(HUNK)}, "ok")], id="a patch in a prompt"),
        pytest.param([({"input": PATCH.format("+import os\n def x")}, "ok")], id="a hunk adds"),
    ],
)
def test_other_lines_are_not(after: list[tuple[Any, str]]) -> None:
    assert not lost(calls(READ, *after))


@pytest.mark.parametrize(
    "answer",
    [
        "Error: old_string not found",
        "No replacement was performed. Multiple occurrences of old_str.",
        "apply_patch verification failed: no such line",
        "patch rejected: outside of the project",
        "ok\nexit code: 1",
        "refused",
    ],
)
@pytest.mark.parametrize("change", [EDIT, WRITE], ids=["Edit", "Write"])
def test_a_call_that_failed_replaced_nothing(change: Any, answer: str) -> None:
    assert not lost(calls(READ, (change, answer), error=answer == "refused"))
    assert not lost(calls(READ, (change, answer))[:3]), "nor one without an answer"


def test_lines_that_begin_with_numbers_are_no_numbered_lines() -> None:
    table = "1\tone\n2\ttwo\n3\tthree\n"
    write = {"file_path": "a.tsv", "content": table + "4\tfour\n"}

    assert not lost(calls(({"file_path": "a.tsv"}, table), (write, "ok")))


def test_what_was_read_after_the_edit_is_not_outdated() -> None:
    messages = calls(READ, (EDIT, "ok"), READ)

    assert lost(messages)
    assert not lost(messages, 5), "what the tool showed last is what there is"


def test_only_so_many_changes_are_looked_at() -> None:
    others = [({"path": "a.py", "old_str": "x", "new_str": "y"}, "ok")] * MOST_CHANGES

    assert lost(calls(READ, *others[1:], (EDIT, "ok")))
    assert not lost(calls(READ, *others, (EDIT, "ok")))


def test_other_blocks_and_strangers_have_nothing_outdated() -> None:
    known = Outdated(calls(READ, (EDIT, "ok")))

    assert not known.spans(Text(OLD), OLD)
    assert not known.spans(ToolResult("stranger", (Text(OLD),)), OLD)


def tasks(state: str, **more: Any) -> dict[str, Any]:
    return {"todos": [{"content": "Write it", "status": state}], **more}


@pytest.mark.parametrize(
    ("newer", "answer", "is_old"),
    [
        (tasks("done"), "noted", True),
        ({"plan": [{"step": "Write it", "status": "done"}]}, "noted", True),
        (tasks("done"), "Error: no such status", False),
        (tasks("done", merge=True), "noted", False),
        ({"plan": "First write it."}, "noted", False),
    ],
)
def test_of_the_lists_of_tasks_only_the_newest_counts(
    newer: dict[str, Any], answer: str, is_old: bool
) -> None:
    messages = calls((tasks("open"), "noted"), (newer, answer))
    whole = [(0, len("Write it · open"))]

    found = [Outdated(messages).spans(m.blocks[0], "Write it · open") for m in messages]

    assert found == [whole if is_old else [], whole if is_old else [], [], []]


@given(st.lists(st.tuples(st.booleans(), st.text("ab\n\r\x0c:|12→ ", max_size=12)), max_size=9))
def test_a_place_without_numbers_is_found_with_them(lines: list[tuple[bool, str]]) -> None:
    text = "\n".join(
        f"{n:6}→{line}" if numbered else line for n, (numbered, line) in enumerate(lines)
    )
    plain, place = unnumbered(text)

    assert [text[place(at)] for at in range(len(plain))] == list(plain)


def test_the_view_quotes_what_a_file_says_now() -> None:
    older, newer = (
        "\n".join(f"value_{n} = {name}_{n}" for n in range(200)) for name in ("WAS", "IS")
    )
    edit = {"file_path": "a.py", "old_string": older, "new_string": newer}
    log = "\n".join(f"line {n} of routine that nobody asks for" for n in range(400))
    runs = [
        Run("r1", "Read", {"file_path": "a.py"}, older),
        Run("r2", "Edit", edit, "done"),
        *(Run(f"l{n}", "Read", {"file_path": f"log{n}"}, log) for n in range(6)),
    ]
    messages = [
        {"role": "user", "content": "Look at the values."},
        *(message for run in runs for message in tool_step([run], "anthropic")),
        {"role": "user", "content": "Go on."},
    ]
    settings = {"min_recent_messages": 1}
    target = count_tokens(messages) // 20
    view = compress(messages, target_tokens=target, strategy="extract", settings=settings)
    shown = str(view.messages)

    assert len(re.findall(r"WAS_\d+", shown)) < 20 < len(re.findall(r"\bIS_\d+", shown))
