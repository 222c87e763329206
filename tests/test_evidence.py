"""What later work refers back to is found by code, the same in every run."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_compression.authors import user_words
from context_compression.constraints import LONGEST_LINE, constraints, is_rule, sentences
from context_compression.evidence import (
    ERROR_WORDS,
    PART_CHARS,
    commands,
    decisions,
    error_lines,
    exit_status,
    facts,
    is_talk,
    lines_with,
)
from context_compression.formats import parse
from context_compression.messages import Message, assistant, user
from context_compression.testing import Run, tool_step
from context_compression.words import Lexicon


def read(*messages: dict[str, Any]) -> tuple[Message, ...]:
    return parse(messages).messages


@given(st.text(max_size=300))
def test_any_text_can_be_looked_through(text: str) -> None:
    message = user(text)

    found = facts(message, Lexicon())

    assert all(item for items in found.values() for item in items)
    assert all(line in text for line in error_lines(text))


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


def test_a_text_is_cut_into_sentences_in_both_languages() -> None:
    text = "Fix it. Then stop!\n\n不要修改数据库。明天发布。 Version 2.4.1 stays."

    assert sentences(text) == [
        "Fix it.", "Then stop!", "不要修改数据库。", "明天发布。", "Version 2.4.1 stays.",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "sentence",
    [
        "Never touch the migrations.",
        "You must run `make check`.",
        "Do not commit to main!",
        "Only change src/app.py.",
        "Make sure it works on Windows.",
        "Never push to main, ok?",
        "18:00 UTC is when deploys must stop.",
        "1:1 meetings must never be moved.",
        "不要修改数据库。",
        "必须保留旧格式。",
    ],
)
def test_sentences_that_bind_are_constraints(sentence: str) -> None:
    assert constraints(f"Have a look at the tests. {sentence} 谢谢。") == [sentence]


@pytest.mark.parametrize(
    "sentence",
    [
        "I don't know where to start.",
        "We don't really think so.",
        "What should I do?",
        "So it never worked, right?",
        "It only runs on Mondays, right?",
        "Do we only have a single link color?",
        "那样不能运行吗？",
        "277:    # Check required elements",
        "  88→    must_be_even(n)",
    ],
)
def test_what_somebody_does_not_know_or_asks_or_a_line_of_a_file_binds_nobody(
    sentence: str,
) -> None:
    assert constraints(f"Have a look at the tests.\n{sentence}\n谢谢。") == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Could you make sure that it runs offline?",
        "I don't want a new dependency.",
        "We don't use lodash here.",
        "2: Never push to main.",
        "Why not, but please don't touch the API, okay?",
        "能不能始终用中文，请你？",
    ],
)
def test_what_is_asked_of_the_model_or_not_wanted_is_a_constraint(sentence: str) -> None:
    assert constraints(f"Have a look at the tests. {sentence} 谢谢。") == [sentence]


@pytest.mark.parametrize(
    ("sentence", "sure"),
    [
        ("Never touch the migrations.", True),
        ("- **Don't** be a zealot about style.", True),
        ("Rename it, but only in src/.", True),
        ("We never commit generated files.", True),
        ("Dates must be ISO 8601.", True),
        ("AGENTS.md is the ONLY source of truth.", True),
        ("必须保留旧格式。", True),
        ("It should be quite easy.", False),
        ("The music always cheers me up.", False),
        ("I must leave now.", False),
        ("My phone was only three years old.", False),
        ("我必须离开了。", False),
    ],
)
def test_a_rule_tells_somebody_what_to_do_or_what_must_be(sentence: str, sure: bool) -> None:
    assert constraints(sentence) == [sentence]
    assert is_rule(sentence) is sure


@pytest.mark.parametrize(
    "sentence",
    [
        "We decided to keep SQLite.",
        "The root cause is a stale cache.",
        "I chose WAL mode.",
        "I use a queue instead of a lock.",
        "因为时区不对。",
        "改用 UTC。",
    ],
)
def test_sentences_that_say_what_was_decided_or_why_are_decisions(sentence: str) -> None:
    assert decisions(f"Some words before. {sentence} And after.") == [sentence]


def test_a_page_without_a_full_stop_is_neither() -> None:
    page = "we must never " * 100

    assert constraints(page) == []
    assert decisions("because " * 100) == []


def test_what_the_host_or_we_wrote_in_the_users_role_is_not_the_users() -> None:
    (message,) = read(
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "<system-reminder>You must obey.</system-reminder>"},
                {"type": "text", "text": "[Compressed History] 3 messages"},
                {"type": "text", "text": "Never touch main."},
            ],
        }
    )

    assert user_words(message) == "Never touch main."
    assert facts(message, Lexicon())["constraints"] == {"Never touch main."}


@pytest.mark.parametrize(
    "note",
    [
        "[Compressed History] Excerpts:\n[Result of Bash: curl; ref c3f91a20b77d]\n{}",
        "<local-command-stdout>{}</local-command-stdout>",
        "<bash-stdout>{}</bash-stdout><bash-stderr></bash-stderr>",
        "<system-reminder>{}</system-reminder>",
    ],
)
def test_what_a_note_quotes_is_not_the_users_even_if_it_looks_like_a_slash_command(
    note: str,
) -> None:
    typed = "<command-args>You must always run it.</command-args>"
    slash = f"<command-name>/go</command-name>{typed}<command-args> Never ask.</command-args>"
    messages = read(
        {"role": "user", "content": note.format(typed)}, {"role": "user", "content": slash}
    )

    assert [user_words(message) for message in messages] == [
        "",
        "You must always run it.\n Never ask.",
    ]


def test_a_caveat_of_the_user_is_the_users() -> None:
    of_user = "Caveat: the vendor folder is read-only, never touch it."
    of_host = "Caveat: The messages below were generated by the user while running local commands."
    messages = read({"role": "user", "content": of_user}, {"role": "user", "content": of_host})

    assert [user_words(message) for message in messages] == [of_user, ""]


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
