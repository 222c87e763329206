"""`extract`: what a host adds to the user's messages."""

import re
from typing import Any

import pytest
from extract_sessions import LONG, Messages, extract, session, step, text_message, texts

from context_compression import Settings, compress
from context_compression.conversation import parse, ref_of, user_words
from context_compression.planning import Plan
from context_compression.strategies.forms import Form, Forms
from context_compression.testing import PIXEL, conversation
from context_compression.tokens import Counter


def test_what_a_host_adds_to_each_request_stands_beside_the_last() -> None:
    note = "<system-reminder>\nMode: be brief.\nNo filler, no pleasantries.\n</system-reminder>"

    def turn(number: int) -> Messages:
        content = [{"type": "text", "text": t} for t in (f"Look into part {number}.", note)]
        return [{"role": "user", "content": content}, *step(number, LONG)]

    messages = session(*map(turn, range(8)), text_message("assistant", "All done."))

    shown = texts(compress(messages, target_tokens=2_000, strategy="extract").messages)

    assert shown.count("No filler") == 1
    assert all(f"Look into part {number}." in shown for number in range(8))
    assert shown.index("No filler") > shown.index("Look into part 7.")
    assert shown.count("<system-reminder>\\n…") == 4  # the first and the last turns


@pytest.mark.parametrize("strategy", ["extract", "auto"])
def test_what_marks_a_note_that_stands_again_is_no_word_of_the_users(strategy: Any) -> None:
    note = "<system-reminder>\nNever push to main.\n" + "Be brief.\n" * 20

    def turn(*parts: str) -> Messages:
        return [{"role": "user", "content": [{"type": "text", "text": t} for t in parts]}]

    messages = session(
        turn(note),
        turn("Fix the header.", note, "And the footer."),
        *(step(n, LONG) for n in range(9)),
        turn("Go on.", note),
        step(9, "Done."),
    )

    shown = compress(messages, target_tokens=1_000, strategy=strategy).messages

    parsed = parse(shown).messages
    said = [words for message in parsed if (words := user_words(message))]
    assert [text for words in said for text in words.split("\n")] == [
        "Fix the header.", "And the footer.", "Go on.",
    ]  # fmt: skip
    assert texts(shown).count("Never push to main.") == 1


@pytest.mark.parametrize("beside", ["skill", "picture", "alone", "result"])
def test_a_note_stays_where_the_message_that_has_it_again_may_go(beside: str) -> None:
    note = {"type": "text", "text": "<system-reminder>\nNever push to main.\n" + "Be brief.\n" * 20}
    others: dict[str, Messages] = {  # before the note in the later message
        "skill": [{"type": "text", "text": "Base directory for this skill: /x\n\nMind it."}],
        "picture": [
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/gif", "data": PIXEL},
            }
        ],
        "alone": [],
    }
    words = {"type": "text", "text": "Fix the header."}
    if beside == "result":
        call, result = step(3, LONG)
        result["content"] += [note, {"type": "text", "text": "The newest one, please."}]
        again = [call, result]
    else:
        again = [*step(3, LONG), {"role": "user", "content": [*others[beside], note]}]
    messages = session(
        *(step(n, LONG) for n in range(2)),
        [{"role": "user", "content": [words, note]}],
        again,
        *(step(n, LONG) for n in range(4, 20)),
    )

    for target in (300, 600, 1_000, 2_000):
        shown = compress(messages, target_tokens=target, strategy="extract").messages
        assert "Never push to main." in texts(shown)


def test_a_long_note_of_the_host_is_shortened_once() -> None:
    lines = "\n".join(f"line {n:04d} of the note, with words" for n in range(900))
    messages = [
        *text_message("user", f"<local-command-stdout>{lines}</local-command-stdout>"),
        *text_message("assistant", "I see."),
        *text_message("user", "Go on."),
    ]
    parsed, counter = parse(messages).messages, Counter()
    settings = Settings(max_tool_output=3_000)
    forms = Forms(Plan(parsed, tuple(map(counter.message, parsed)), counter, settings))
    spans = [(at, at + 33) for at in range(330, len(lines), 200)]

    note = forms.shaped(0, Form.CLIPPED, {(0, ""): spans}).text

    marks = [line for line in note.splitlines() if "…" in line]
    assert len(note) > 3_000
    assert re.fullmatch(rf"\[… \d+ lines; ref {ref_of(parsed[0].text)}\]", marks[0])
    assert {*marks[1:]} == {"…"}


def test_what_the_hosts_own_commands_print_gives_way_to_the_work() -> None:
    names = [f"handle_{n}_request" for n in range(300)]
    listed = "\n".join(f"- {name} was renamed and handles it" for name in names)
    code = listed.replace("handle", "serve").replace("- ", "+ ")
    messages = session(
        text_message("user", f"<local-command-stdout>{listed}</local-command-stdout>"),
        text_message("user", "Why is the port taken?"),
        step(1, code),
        text_message("assistant", "I see."),
        text_message("user", "Go on."),
    )

    shown = texts(extract(messages, 0.25, fallback_turns=1, min_recent_messages=1).messages)

    assert shown.count("- handle_") < shown.count("+ serve_") / 10


def test_where_room_is_short_it_says_only_that_a_command_of_the_hosts_printed_something() -> None:
    caveat = f"<local-command-caveat>{'What follows is the host own. ' * 8}</local-command-caveat>"
    printed = "<local-command-stdout>Goodbye!</local-command-stdout>"
    blocks = [{"type": "text", "text": text} for text in (caveat, printed, "Rename the port.")]
    messages: Messages = [{"role": "user", "content": blocks}, *conversation(60)]

    shown = extract(messages, 0.1).messages[0]["content"]

    assert [block["text"] for block in shown] == [
        "<local-command-caveat>\n…",
        printed,  # a mark would be hardly shorter
        "Rename the port.",
    ]


def test_what_stands_behind_what_a_command_printed_is_no_part_of_it() -> None:
    printed = f"<local-command-stdout>{'All is well. ' * 9}</local-command-stdout>"
    both = text_message("user", f"{printed}\nRename the port in src/app.py.")
    messages = session(both, conversation(60))

    assert "Rename the port in src/app.py." in texts(extract(messages, 0.2).messages)
