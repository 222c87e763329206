"""The line of a very small view that names what was used and stands nowhere in it."""

import re
from pathlib import Path
from typing import Any

import pytest

from context_compression import Session, compress, count_tokens
from context_compression.conversation import EXCERPTS, parse, without_labels
from context_compression.planning import Plan
from context_compression.settings import Settings
from context_compression.strategies.competing import end_of_note
from context_compression.strategies.last_lines import NAMES_LABEL, line, names_of
from context_compression.strategies.measured import MOST_NAMES
from context_compression.testing import Run, tool_step
from context_compression.tokens import Counter

Messages = list[dict[str, Any]]
PLENTY = 1_000
NEXT = {"role": "user", "content": "Well?"}


def said(text: str, role: str = "assistant") -> Messages:
    return [{"role": role, "content": text}]


def bash(number: int, command: str, output: str = "done") -> Messages:
    return tool_step([Run(f"bash{number}", "Bash", {"command": command}, output)], "anthropic")


def names(*parts: Messages) -> list[str]:
    messages = parse([*said("Go.", "user"), *(message for part in parts for message in part)])
    counter = Counter()
    tokens = tuple(map(counter.message, messages.messages))
    return [*names_of(Plan(messages.messages, tokens, counter, Settings()))]


def test_names_stand_by_how_often_and_how_late_they_were_used() -> None:
    used = names(
        bash(1, "grep -rn first_one ."),
        bash(2, "grep -rn often_one ."),
        said("It is often_one that matters."),
        bash(3, "grep -rn final_one ."),
    )

    assert used == ["often_one", "final_one", "first_one"]


def test_of_names_used_alike_the_shorter_comes_first() -> None:
    assert names(said("a_much_longer_name_than_that calls tiny_one")) == [
        "tiny_one", "a_much_longer_name_than_that"
    ]  # fmt: skip


def test_what_only_a_tool_put_out_was_not_used() -> None:
    assert names(bash(1, "ls", "printed_name.py")) == []


def test_what_the_user_says_is_used_where_a_question_is_answered_too() -> None:
    question = {"questions": [{"question": "Which one?"}]}
    answer = "User has answered your questions: use other_name"
    asked = tool_step([Run("ask", "AskUserQuestion", question, answer)], "anthropic")

    assert {*names(said("Mend parse_header.", "user"), asked)} >= {"parse_header", "other_name"}


VAGUE = [
    "expand/collapse", "user/input-ish", "Agent-owned", "NEVER", "16000", "4.6", "2026-07-06",
    "8MB", "\\bRender", "index\\.json", "/\\/openai\\/v1", "x_" * 50,
]  # fmt: skip


@pytest.mark.parametrize("vague", VAGUE)
def test_what_does_not_say_alone_what_is_meant_is_no_name(vague: str) -> None:
    assert names(said(f"We take {vague} and take_this here.")) == ["take_this"]


@pytest.mark.parametrize("name", ["apps/web", "feat/colors", "HEAD"])
def test_plain_words_are_names_where_no_other_stands_beside_them_in_an_argument(name: str) -> None:
    alone = tool_step([Run("find", "find", {"folder": name}, "done")], "anthropic")
    quoted = bash(1, f"commit -m 'Look at {name}.'")
    prose = tool_step([Run("ask", "task", {"prompt": f"Look at {name}."}, "done")], "anthropic")

    assert names(bash(1, f"show {name}")) == names(alone) == [name]
    assert names(quoted) == names(prose) == []


@pytest.mark.parametrize(
    "name",
    ["docs/plan.md", "owner/name#12", "#412", "--dry-run", "v1.2.3", "src\\app\\a.py", "isRead"],
)
def test_what_names_something_wherever_it_stands_is_one(name: str) -> None:
    assert names(said(f"We take {name} here.")) == names(bash(1, f"show '{name}'")) == [name]


def test_a_secret_is_no_name() -> None:
    key = "ghp_" + "aB3dE5fG7h" * 4

    assert names(bash(1, f"curl -H 'Authorization: token {key}' api.example.org/user_data")) == [
        "api.example.org/user_data"
    ]


def test_however_many_names_there_are_a_line_holds_so_many() -> None:
    many = [f"name_{n:05}" for n in range(50_000)]

    assert line(many, [""], lambda _: 0, PLENTY).count(", ") == MOST_NAMES - 1


def told(*given: str, view: str = "", room: float = PLENTY) -> str:
    return line(given, [view], len, room)


def test_names_that_the_view_shows_are_left_out() -> None:
    assert (
        told("parse_header", "parse_body", view="def parse_header():")
        == f"{NAMES_LABEL} parse_body"
    )


def test_of_a_name_and_its_part_the_first_is_told() -> None:
    assert told("http.parse_body", "parse_body") == f"{NAMES_LABEL} http.parse_body"
    assert told("parse_body", "http.parse_body") == f"{NAMES_LABEL} parse_body"


def test_what_the_room_does_not_hold_is_left_out_the_least_used_first() -> None:
    room = len(NAMES_LABEL) + len(", first_one")

    assert told("first_one", "other_one", room=room) == f"{NAMES_LABEL} first_one"
    assert told("first_one", "other_one", room=len(NAMES_LABEL)) == ""


def test_no_quoted_line_looks_like_the_line_of_names() -> None:
    quoted = f"{NAMES_LABEL} a_b, c_d\n[More or less] is no label"

    assert without_labels(quoted) == f"\\{NAMES_LABEL} a_b, c_d\n[More or less] is no label"


def long_session(steps: int, *, first: int = 0, lines: int = 20) -> Messages:
    """Each step looks for a name that stands nowhere else, and shows text without any."""
    output = "\n".join(f"what stands in line {n} tells nothing new" for n in range(lines))
    parts = (
        bash(n, f"grep -rn settle_{n}_of_all src/", output) for n in range(first, first + steps)
    )
    return [*said("Look for all.", "user"), *(m for part in parts for m in part), NEXT]


def lines_in(view: object) -> list[str]:
    return re.findall(r"\[More names used\] ([^\\'\"]+)", str(view))


def test_a_very_small_view_names_what_it_does_not_show() -> None:
    messages = long_session(300)

    result = compress(messages, target_tokens=2_000)

    (shown,) = lines_in(result.messages)
    last = shown.split(", ")[-1]
    assert re.fullmatch(r"settle_\d+_of_all(, settle_\d+_of_all){5,}", shown)
    assert str(result.messages).count(last) == 1
    assert result.tokens_after <= 2_000
    assert count_tokens(said(shown, "user")) < 0.15 * result.tokens_after


@pytest.mark.parametrize(("steps", "share"), [(300, 0.06), (100, 0.04)])
def test_where_more_is_shown_or_less_is_lost_there_is_no_such_line(
    steps: int, share: float
) -> None:
    messages = long_session(steps)

    result = compress(messages, target_tokens=int(share * count_tokens(messages)))

    assert lines_in(result.messages) == []


def test_names_of_an_earlier_line_are_told_again() -> None:
    note = f"{EXCERPTS}:\n[User] Go on.\n{NAMES_LABEL} settle_all, parse_header"

    used = names(said(note, "user"), said("I call settle_all now."))

    assert used == ["settle_all", "parse_header"]


def test_of_an_earlier_note_neither_marks_nor_what_a_tool_put_out_are_names() -> None:
    quotes = "[User] Mend parse_header.\n[… 2 messages; ref 1e05bccc3383]\n"
    result = (
        "[Result of Bash: ls; ref 28bbac091533] printed_only.py\n[Assistant] I mend parse_body."
    )

    assert {*names(said(f"{EXCERPTS}:\n{quotes}{result}", "user"))} == {
        "parse_header",
        "parse_body",
    }


@pytest.mark.parametrize(
    "word", ["size_max", "größe_max", "src/jürgen/datei.py", "Überprüfung_test", "src/支付/退款.py"]
)
def test_a_word_of_any_script_is_a_name_as_a_whole(word: str) -> None:
    assert {*names(said(f"We take {word} and take_this here."))} == {word, "take_this"}


def test_beside_a_script_without_blanks_a_name_is_found() -> None:
    assert names(said("修改parse_header函数")) == ["parse_header"]


def test_a_name_within_another_word_of_the_view_is_not_shown_by_that() -> None:
    assert told("read_all", view="thread_all, read_allowed") == f"{NAMES_LABEL} read_all"
    assert told("read_all", view="call read_all().") == ""


def test_lines_of_several_notes_take_no_more_than_one_may(tmp_path: Path) -> None:
    session = Session(tmp_path, "long")
    session.record(*long_session(300))
    shares: list[float] = []
    for first in range(300, 900, 150):
        session.compress(target_tokens=2_000)
        view = session.prepare()
        told = " ".join(lines_in(view))
        shares.append(count_tokens(said(told, "user")) / count_tokens(view))
        session.record(*long_session(150, first=first, lines=40)[1:])

    assert shares[0] > 0.04
    assert max(shares) < 0.15


def test_of_an_earlier_note_the_line_is_not_quoted() -> None:
    text = f"{EXCERPTS}:\n[User] Go on.\n[Files] read: a.py\n{NAMES_LABEL} settle_all"

    assert end_of_note(text) == text.index("\n[Files]")
    assert end_of_note(text.replace("\n[Files] read: a.py", "")) == len(
        f"{EXCERPTS}:\n[User] Go on."
    )
    assert end_of_note(f"{EXCERPTS}:\n[User] Go on.") is None
    assert end_of_note(f"said of the user:\n{NAMES_LABEL} settle_all") is None
    assert (
        end_of_note(f"{EXCERPTS}:\n[User] So:\n{NAMES_LABEL} a_b\nLook.\n[Assistant] I look.")
        is None
    )
