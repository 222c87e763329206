"""What later work refers back to is found by code, the same in every run."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_compression.conversation import Message, assistant, parse, user
from context_compression.evidence import Lexicon
from context_compression.evidence.constraints import LONGEST_LINE, constraints
from context_compression.evidence.facts import (
    ERROR_WORDS,
    PART_CHARS,
    commands,
    count_of_tests,
    decisions,
    error_lines,
    exit_status,
    facts,
    is_talk,
    lines_with,
)
from context_compression.evidence.ledger.tasks import reported_errors
from context_compression.testing import Run, tool_step


def read(*messages: dict[str, Any]) -> tuple[Message, ...]:
    return parse(messages).messages


@given(st.text(max_size=300))
def test_any_text_can_be_looked_through(text: str) -> None:
    message = user(text)

    found = facts(message, Lexicon())

    assert all(item for items in found.values() for item in items)
    assert all(line in text for line in error_lines(text))


NOTHING_WRONG = (
    "0 errors", "No new exceptions", "没有错误", "0 failed", "keine Fehler", "aucune erreur",
    "sin errores", "ошибок нет", "エラーなし", "no unexpected test failures", "without any errors",
    "none of the 12 tests failed", "0 of 12 tests failed", "nothing failed", "error-free",
    "did not find any errors", "this is not an error", "errors: none", "Failures: 0, Errors: 0",
    "failed=0", '{"error": null, "errors": []}', "failed: false", "error rate: 0%", "0 Error(s)",
    "no errors, exceptions or failures", "keine neuen Exceptions", "ohne Exceptions",
    "aucune exception", "pas d'exception", "no se encontraron errores", "sin ningún error",
    "nessun errore", "non ci sono errori", "geen errors", "无错误", "没有发现新的异常", "错误数：0",
    "失败 0", "0 个错误", "error なし", "error 없음", "✔ 0 problems (0 errors, 0 warnings)",
)  # fmt: skip
SOMETHING_WRONG = (
    "3 errors, 0 warnings", "0 errors, 2 failures", "0 errors, failures: 3", "10 errors",
    "no errors, but 2 tests failed", "0 passed, 1 failed", "No such file or directory",
    "error: none of the files matched", "error: null pointer dereference", "Attempt 0 failed",
    "No, it failed", "cannot find the module; no errors logged", "未知错误", "未处理异常",
    "无效的错误", "没有权限，操作失败", "失败：没有权限", "3 个错误", "error: 0x80070005",
    "Failures: 1, Errors: 0",
)  # fmt: skip
AROUND = st.sampled_from(("", "all quiet", "poll 7 at 10:04", "done in 3.2s", "src/app.py"))


@given(AROUND, st.sampled_from(NOTHING_WRONG), AROUND)
def test_a_line_that_says_that_nothing_went_wrong_is_no_error(
    before: str, words: str, after: str
) -> None:
    line = f"{before}: {words}; {after}" if before else f"{words}. {after}"

    assert error_lines(f"first\n{line}\n{line.upper()}") == []
    assert reported_errors(line, failed=True) == []


@given(st.lists(st.sampled_from(NOTHING_WRONG), max_size=3), st.sampled_from(SOMETHING_WRONG))
def test_an_error_is_one_whatever_did_not_go_wrong_beside_it(quiet: list[str], wrong: str) -> None:
    assert error_lines("; ".join([wrong, *quiet])) == ["; ".join([wrong, *quiet])]
    assert error_lines("; ".join([*quiet, wrong])) == ["; ".join([*quiet, wrong])]


def test_lines_with_failures_are_found_in_order_and_stripped() -> None:
    text = "ok\n  Error: no such file\nfine\nTraceback (most recent call last):\n连接失败\nbye"

    assert error_lines(text) == [
        "Error: no such file", "Traceback (most recent call last):", "连接失败",
    ]  # fmt: skip


def test_an_endless_line_is_no_message_and_is_clipped() -> None:
    assert error_lines("error " * 1_000) == [("error " * 1_000)[:LONGEST_LINE]]


def test_long_texts_are_looked_through_part_by_part_without_losing_lines() -> None:
    lines = [f"{n} {'an error' if n % 97 == 0 else 'all is well'}" for n in range(9_000)]
    text = "\n".join(lines)
    assert len(text) > 5 * PART_CHARS

    spans = list(lines_with(text, ERROR_WORDS))

    assert [text[a:b] for a, b in spans] == [line for line in lines if "error" in line]


def test_letters_that_grow_when_lowered_do_not_shift_the_lines() -> None:
    text = "İİİİ\nan error here\nİ"

    assert error_lines(text) == ["an error here"]


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("exit code: 1", "1"),
        ("Exit code 127\nsh: not found", "127"),
        ("Process exited with code 0", "0"),
        ("exited with status -9", "-9"),
        ('{"output": "x", "exit_code": 2}', "2"),
        ("returncode=3", "3"),
        ("exit: 4", "4"),
        ("lines\n" * 200 + "exit status 5", "5"),
        ("lines\n" * 200 + "exit status 5\n" + "lines\n" * 200, None),
        ("there is an exit on the left", None),
        ("998\t# restore the last exit code\n999\t$status = $last", None),
        ("", None),
    ],
)
def test_the_exit_status_is_read_from_the_ends_of_an_output(text: str, status: str | None) -> None:
    assert exit_status(text) == status


@pytest.mark.parametrize(
    "sentence",
    [
        "We decided to keep SQLite.", "The root cause is a stale cache.", "I chose WAL mode.",
        "I use a queue instead of a lock.", "因为时区不对。", "改用 UTC。",
    ],
)  # fmt: skip
def test_sentences_that_say_what_was_decided_or_why_are_decisions(sentence: str) -> None:
    assert decisions(f"Some words before. {sentence} And after.") == [sentence]


def test_a_page_without_a_full_stop_is_neither() -> None:
    page = "we must never " * 100

    assert constraints(page) == []
    assert decisions("because " * 100) == []


def test_notes_in_the_users_role_hold_no_constraints() -> None:
    parts = (
        "<system-reminder>You must obey.</system-reminder>",
        "[Compressed History] 3 messages",
        "Never touch main.",
    )
    (message,) = parse(
        [{"role": "user", "content": [{"type": "text", "text": part} for part in parts]}]
    ).messages

    assert facts(message, Lexicon())["constraints"] == {"Never touch main."}


def test_the_assistants_words_are_neither_requests_nor_constraints() -> None:
    found = facts(assistant("You must never do that, because it fails."), Lexicon())

    assert found["user requests"] == set()
    assert found["constraints"] == set()
    assert found["decisions"] == {"You must never do that, because it fails."}


@pytest.mark.parametrize(
    ("arguments", "ran"),
    [
        ({"command": "pytest -x"}, ["pytest -x"]),
        ({"cmd": ["bash", "-lc", "ls"]}, ["bash -lc ls"]),
        ({"script": "echo hi", "timeout": 3}, ["echo hi"]),
        ({"path": "main.py"}, []),
        ({"command": None}, []),
    ],
)
def test_commands_are_found_by_their_argument_whatever_the_tool(
    arguments: dict[str, Any], ran: list[str]
) -> None:
    call, _ = read(*tool_step([Run("a", "any_tool", arguments, "ok")], "openai"))

    assert list(commands(call)) == ran


def test_the_facts_of_a_tool_step() -> None:
    runs = [Run("a", "Bash", {"command": "pytest src/app.py"}, "E  AssertionError: 42 != 1337\n")]
    call, result = read(*tool_step(runs, "anthropic", says="I decided to run it."))

    assert {name: items for name, items in facts(call, Lexicon()).items() if items} == {
        "commands": {"pytest src/app.py"},
        "paths": {"src/app.py"},
        "decisions": {"I decided to run it."},
    }
    assert {name: items for name, items in facts(result, Lexicon()).items() if items} == {
        "errors": {"E  AssertionError: 42 != 1337"},
        "numbers": {"1337"},
    }


def test_where_people_talk_and_tools_have_no_part_in_it_is_talk() -> None:
    words = [user("Have you been to the harbour lately?"), assistant("Last week, with my sister.")]
    (call, result) = read(
        *tool_step([Run("1", "Bash", {"command": "ls"}, "so it is. " * 30)], "anthropic")
    )
    code = user("See src/app.py:12, parse_header() and --dry-run in v2.4.1.")

    assert is_talk(words)
    assert not is_talk([*words, call, result])
    assert not is_talk([*words, code])


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("error: Task 2 failed\n\n 1216 pass\n 0 fail\nRan 1216 tests [9.1s]", " 0 fail"),
        ("F..\n==== 1 failed, 2 passed in 0.12s ====\n", "==== 1 failed, 2 passed in 0.12s ===="),
        (
            "Tests:       2 failed, 40 passed, 42 total",
            "Tests:       2 failed, 40 passed, 42 total",
        ),
        ("3 passed\nand later 4 passed, all of them\nbye", "and later 4 passed, all of them"),
        ("3 passed\nall pass", "3 passed"),
        ("# tests 12\n# pass 12\n# fail 0\n", "# fail 0"),
        ("1216 pass\nlater: 404 failed logins, build 7 failed to start", "1216 pass"),
        ("5 passengers, 5 passwords", None),
        (f"{'x' * 9_000} 2 passed{' y' * 9_000}", None),
        ("They pass, or fail.", None),
        (" pass", None),
        ("", None),
    ],
)
def test_the_last_line_that_counts_tests_tells_how_they_came_out(
    output: str, line: str | None
) -> None:
    told = count_of_tests(output)

    assert (output[slice(*told)] if told else None) == line
