"""What later calls replaced of what was read of a file, or written to it."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_compression import compress, count_tokens
from context_compression.messages import Message, Text, ToolCall, ToolResult
from context_compression.outdated import MOST_CHANGES, Outdated, unnumbered
from context_compression.testing import Run, tool_step

OLD = "def retry(times):\n    limit = MAX_RETRIES_OLD\n    return limit\n"
NEW = "def retry(times):\n    limit = MAX_RETRIES_NEW\n    return limit\n"
NUMBERED = "".join(f"{n:6}\t{line}\n" for n, line in enumerate(OLD.splitlines(), 1))
PATCH = "*** Begin Patch\n*** Update File: a.py\n@@ def retry(times):\n{}\n*** End Patch"
HUNK = "-    limit = MAX_RETRIES_OLD\n+    limit = MAX_RETRIES_NEW\n     return limit"
CHANGES: dict[str, dict[str, Any]] = {
    "Edit": {"file_path": "a.py", "old_string": OLD, "new_string": NEW},
    "Part of a line": {"path": "a.py", "old_str": "MAX_RETRIES_OLD", "new_str": "MAX_RETRIES_NEW"},
    "MultiEdit": {"file_path": "a.py", "edits": [{"oldText": OLD, "newText": NEW}]},
    "Write": {"file_path": "./a.py", "content": NEW},
    "apply_patch": {"input": PATCH.format(HUNK)},
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
    found = Outdated(messages).spans(index, block, block.text)
    return [block.text[start:stop] for start, stop in found]


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("shown", [OLD, NUMBERED], ids=["plain", "numbered"])
def test_lines_that_a_later_call_replaced_are_outdated(change: dict[str, Any], shown: str) -> None:
    (found,) = lost(calls(({"file_path": "a.py"}, shown), (change, "done")))

    assert found.strip() in ("limit = MAX_RETRIES_OLD", "MAX_RETRIES_OLD")


def test_what_a_command_showed_of_the_file_is_outdated_too() -> None:
    shell = ({"command": "sed -n 1,9p src/a.py"}, OLD)

    assert lost(calls(shell, (CHANGES["Edit"], "done")))
    rewritten = calls(({"command": "pytest src/a.py"}, "1 failed\n"), (CHANGES["Write"], "done"))
    assert not lost(rewritten), "an output that is not the file"


def test_the_text_of_an_older_edit_is_outdated_by_the_next() -> None:
    first = {"file_path": "a.py", "old_string": "pass", "new_string": OLD}
    messages = calls((first, "done"), (CHANGES["Edit"], "done"))
    (call,) = messages[0].blocks

    ((start, stop),) = Outdated(messages).spans(0, call, OLD)
    assert OLD[start:stop] == "    limit = MAX_RETRIES_OLD"


@pytest.mark.parametrize(
    "after",
    [
        pytest.param([], id="nothing follows"),
        pytest.param([({"file_path": "b.py", "content": NEW}, "done")], id="another file"),
        pytest.param(
            [(CHANGES["Edit"], "done"), (CHANGES["Write"] | {"content": OLD}, "done")],
            id="taken back",
        ),
        pytest.param(
            [({"path": "a.py", "old_str": OLD, "new_str": f"import os\n{OLD}"}, "done")],
            id="only added to",
        ),
        pytest.param(
            [({"path": "a.py", "insert_line": 1, "new_str": "import os"}, "done")], id="inserted"
        ),
        pytest.param([({"path": "a.py", "old_str": 3, "new_str": None}, "?")], id="no texts"),
        pytest.param([({"edits": [{"old_str": OLD, "new_str": NEW}, 1]}, "done")], id="no file"),
    ],
)
def test_other_lines_are_not(after: list[tuple[dict[str, Any], str]]) -> None:
    assert not lost(calls(READ, *after))


@pytest.mark.parametrize("answer", ["Error: old_string not found", "refused"])
def test_an_edit_that_failed_replaced_nothing(answer: str) -> None:
    assert not lost(calls(READ, (CHANGES["Edit"], answer), error=answer == "refused"))


def test_what_was_read_after_the_edit_is_not_outdated() -> None:
    messages = calls(READ, (CHANGES["Edit"], "done"), ({"file_path": "a.py"}, OLD))

    assert lost(messages)
    assert not lost(messages, 5), "what the tool showed last is what there is"


def test_only_so_many_changes_are_looked_at() -> None:
    others = [({"path": "a.py", "old_str": "x", "new_str": "y"}, "done")] * MOST_CHANGES
    edit = (CHANGES["Edit"], "done")

    assert lost(calls(READ, *others[1:], edit))
    assert not lost(calls(READ, *others, edit))


def test_of_the_lists_of_tasks_only_the_newest_counts() -> None:
    lists = ({"todos": [{"content": "Write it", "status": state}]} for state in ("open", "done"))
    messages = calls(*((given, "noted") for given in lists), ({"plan": "First write it."}, "?"))
    found = [
        Outdated(messages).spans(index, message.blocks[0], "Write it · open")
        for index, message in enumerate(messages)
    ]

    assert found == [[(0, 15)], [(0, 15)], [], [], [], []]


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
