"""`extract`: what is left of old tool calls."""

import re

import pytest
from extract_sessions import LONG, Messages, extract, session, step, text_message, texts

from context_compression import compress
from context_compression.conversation import Image, Text, ToolResult
from context_compression.strategies import competing, outcome
from context_compression.testing import Run, tool_step


def test_every_old_tool_step_keeps_its_call_and_one_line_for_its_result(worked: Messages) -> None:
    result = extract(worked, 0.2, min_recent_messages=1)

    shown = texts(result.messages)
    for n in range(5):
        assert f"'call{n}'" in shown
    assert shown.count("lines; ref ") + shown.count("exit") >= 5


def test_long_arguments_of_old_calls_are_shortened_and_short_ones_stay() -> None:
    call = step(0, LONG, command="make all", script=LONG)
    messages = session(
        text_message("user", "Build."),
        call,
        text_message("assistant", "ok"),
        text_message("user", "Next."),
    )

    result = extract(messages, 0.3, min_recent_messages=1)

    arguments = result.messages[1]["content"][0]["input"]
    assert arguments["command"] == "make all"
    assert len(arguments["script"]) < len(LONG) / 2


def test_of_an_old_edit_the_lines_that_it_changes_are_shown() -> None:
    lines = [f"    value_{n} = compute_{n}()" for n in range(60)]
    new = [*lines[:30], "    setopt no_monitor  # else the shell prints a job number", *lines[30:]]
    edit = step(0, LONG, path="serve.sh", old_string="\n".join(lines), new_string="\n".join(new))
    messages = session(
        text_message("user", "Go."),
        edit,
        text_message("assistant", "ok"),
        text_message("user", "Next."),
    )

    result = extract(messages, 0.3, min_recent_messages=1)

    arguments = result.messages[1]["content"][0]["input"]
    assert new[30] in arguments["new_string"]
    assert "value_0" not in arguments["new_string"]


def test_lines_that_an_edit_leaves_as_they_were_come_behind_those_it_changes() -> None:
    lines = [f"value_{n} = compute_{n}(first_{n}, second_{n}) or default_{n}" for n in range(40)]
    new = [
        line.replace("compute_", "measure_") if n % 8 == 0 else line for n, line in enumerate(lines)
    ]
    edit = step(0, "ok", path="serve.py", old_string="\n".join(lines), new_string="\n".join(new))
    work = session(*(step(n, "ok") for n in range(1, 10)))
    messages = session(text_message("user", "Go."), edit, work, text_message("user", "Next."))

    shown = texts(compress(messages, target_tokens=400, strategy="extract").messages)

    assert shown.count("measure_") == 5
    assert shown.count("compute_") < 10


@pytest.mark.parametrize("given", [LONG, f'{{"script": "{LONG}', '{"n": 1}\n' * 3_000])
def test_a_tool_s_free_text_is_shortened_whatever_it_looks_like(given: str) -> None:
    call = {"id": "c1", "type": "custom", "custom": {"name": "apply_patch", "input": given}}
    messages = session(
        text_message("user", "Build."),
        [{"role": "assistant", "content": None, "tool_calls": [call]}],
        [{"role": "tool", "tool_call_id": "c1", "content": 4 * LONG}],
        text_message("assistant", "ok"),
        text_message("user", "Next."),
    )

    result = extract(messages, 0.75, min_recent_messages=1)

    kept = result.messages[1]["tool_calls"][0]["custom"]["input"]
    assert len(kept) < 0.7 * len(given)


def test_a_call_that_shortening_would_lengthen_stays_with_its_thought() -> None:
    """An edit that does not shrink is not made; the other thoughts of its loop may go."""
    just_too_long = {"command": "echo " + "=" * 300}  # a few tokens, fewer than the mark of a gap
    steps = [
        tool_step(
            [Run(f"call{n}", "Bash", just_too_long if n == 2 else {"command": "ls"}, LONG)],
            "anthropic",
            thought="Yes." if n == 2 else f"Now step {n}. " * 40,
        )
        for n in range(5)
    ]
    messages = session(
        text_message("user", "Go."),
        *steps,
        text_message("assistant", "Done."),
        text_message("user", "Ok."),
    )

    result = extract(messages, 0.1, min_recent_messages=1, thinking="keep")

    assert result.target_met
    assert messages[5] in result.messages
    assert "Now step 1." not in texts(result.messages)


def test_a_gap_in_an_old_call_tells_where_all_of_it_is(worked: Messages) -> None:
    old = step(9, "ok", file_path="a.py", old_string="x" * 280, new_string=LONG)
    messages = session(worked[:1], old, worked[1:])

    result = extract(messages, 0.25, min_recent_messages=1)

    [shortened] = [m for m in result.messages if "a.py" in str(m) and m["role"] == "assistant"]
    [ref] = re.findall(r"; ref ([0-9a-f]{12})\]", str(shortened))
    assert result.originals[ref] == old[0]


def test_which_files_were_changed_stays_in_view_where_room_is_short() -> None:
    read = "\n".join(f"value alpha_{n} comes to beta_{n} and gamma_{n}" for n in range(300))
    files = ("Makefile", "Dockerfile", "LICENSE")
    change = {"old_string": "x = 1", "new_string": "x = 2"}
    messages = session(
        text_message("user", "Edit, then read."),
        *(
            tool_step([Run(file, "Edit", {"file_path": file, **change}, "Done.")], "anthropic")
            for file in files
        ),
        *(step(n, read.replace("_", f"_{n}_")) for n in range(6)),
        text_message("assistant", "All is read."),
        text_message("user", "Well."),
    )

    view = texts(compress(messages, target_tokens=600).messages)

    assert [file for file in files if file not in view] == []


@pytest.mark.parametrize(
    "command",
    [
        "git commit -q -m 'Mend the index'",
        "cd app && git -C sub push origin main",
        "gh pr create --fill",
        'git commit -m "$(cat <<EOF\nMend the index\n\nIt was read twice.\nEOF\n)"',
    ],
)
def test_what_was_committed_or_sent_to_others_is_told_where_room_is_short(command: str) -> None:
    lines = "\n".join(f"src/module_{n}.py:{n}: see item_{n} of list_{n}" for n in range(60))
    act = step(99, "ok", command=command, description="Write it down")
    work = [step(n, lines.replace("_", f"_{n}"), command=f"show {n}") for n in range(60)]
    messages = session(
        text_message("user", "Go."), *work[:30], act, *work[30:], text_message("user", "Go on.")
    )

    assert "Write it down" in texts(extract(messages, 0.01, min_recent_messages=1).messages)


@pytest.mark.parametrize("command", ["git push --dry-run", "git merge-base main HEAD", "git log"])
def test_what_only_looks_so_is_not_taken_for_something_done_once(command: str) -> None:
    assert not competing.DONE_ONCE.search(command)


def test_the_label_of_a_call_says_when_it_failed_or_brought_nothing() -> None:
    failed = "Error: no such module 'b'\nExit code 1"
    runs = [
        Run("a", "Bash", {"command": "npm test src/a_1.py"}, failed),
        Run("b", "Bash", {"command": "git diff --staged src/b_2.py"}, ""),
        Run("c", "Bash", {"command": "git status src/c_3.py"}, "clean\n" * 3),
        Run("d", "Read", {"path": "src/d_4.md"}, "How to tell: exit code 3 means it failed."),
        Run("e", "Book", {"id": "src/e_5"}, "Error: the card is empty"),
    ]
    steps = (tool_step([run], "anthropic") for run in runs)
    rest = (step(n, LONG) for n in range(6))
    messages = session(
        text_message("user", "Test it."), *steps, *rest, text_message("assistant", "Tested."),
        text_message("user", "Go on."),
    )  # fmt: skip

    view = texts(extract(messages, 0.029).messages)

    assert "[Bash; exit 1] npm test src/a_1.py\\n[Result]\\nError: no such module" in view
    assert "[Bash] git diff --staged src/b_2.py → empty" in view
    assert "[Bash] git status src/c_3.py" in view
    assert "[Read] src/d_4.md" in view
    assert "[Book; error] src/e_5\\n[Result] Error: the card is empty" in view


def test_a_result_that_is_a_picture_is_not_empty() -> None:
    picture = ToolResult("a", (Text(""), Image({"type": "image"})))

    assert outcome(picture, ran=False) == ("", "")
    assert outcome(ToolResult("a", ()), ran=False) == ("; empty", "")
