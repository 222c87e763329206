"""`extract`: messages that stay in full wherever they fit."""

import re

import pytest
from extract_sessions import LONG, Messages, extract, session, step, text_message, texts

from context_compression import compress
from context_compression.testing import conversation


def test_the_users_messages_stay_whole(worked: Messages) -> None:
    result = extract(worked, 0.2, min_recent_messages=1)

    for message in worked:
        if isinstance(message["content"], str) and message["role"] == "user":
            assert message in result.messages


@pytest.mark.parametrize("marker", ["ARTIFACT_SAVED", "NODE_COMPLETE", "MY_OWN_MARK"])
def test_messages_that_hold_a_record_stay_whole(worked: Messages, marker: str) -> None:
    record = text_message("assistant", f"{marker} build/report.pdf " + LONG[:600])
    messages = session(worked[:6], record, worked[6:])

    markers = ["ARTIFACT_SAVED", "NODE_COMPLETE", "MY_OWN_MARK"]
    result = extract(messages, 0.3, min_recent_messages=1, record_markers=markers)

    assert record[0] in result.messages


@pytest.mark.parametrize("opening", ["SUMMARY", "CONVERSATION_SUMMARY", "[Compressed History]"])
def test_summaries_stay_whole(worked: Messages, opening: str) -> None:
    summary = text_message("user", f"{opening}: what was done before. " + LONG[:600])

    result = extract(session(summary, worked), 0.3, min_recent_messages=1)

    assert result.messages[0] is summary[0]


def test_system_messages_after_the_first_turn_are_not_kept(worked: Messages) -> None:
    first = text_message("system", "You are a careful engineer.")
    early, late = (
        text_message("system", "Rule of the first turn."),
        text_message("system", "A later system word."),
    )
    messages = session(first, worked[:1], early, worked[1:8], late, worked[8:])

    result = extract(messages, 0.3, min_recent_messages=1, keep_recent_tokens=0)

    assert first[0] in result.messages
    assert early[0] in result.messages
    assert late[0] not in result.messages


def test_the_newest_messages_stay_whole_by_default_ten_of_them() -> None:
    messages = session(
        text_message("user", "Begin."),
        step(0, LONG * 4),
        *(text_message("assistant", f"note {n}") for n in range(12)),
    )

    result = extract(messages, 0.5)

    assert result.messages[-10:] == messages[-10:]


def test_every_shortened_message_has_a_reason(worked: Messages) -> None:
    result = extract(worked, 0.2)

    assert set(result.reasons) == set(result.compressed)


def test_a_reason_tells_how_a_message_is_shown_and_what_its_parts_tell() -> None:
    failed = f"{LONG}\nsrc/app.py:12: TypeError: cannot add\n{LONG}"
    messages = session(
        text_message("user", "Never push to main.\n" + "Some more of the story here. " * 60),
        *(step(n, failed if n == 1 else LONG) for n in range(12)),
        text_message("assistant", f"{LONG}\nI chose src/b.py because src/app.py is generated."),
        *(text_message("user", f"Line {n} of it. " * 9) for n in range(30)),
    )

    wide, narrow = extract(messages, 0.3).reasons, extract(messages, 0.02).reasons

    assert wide[4] == "extract: skeleton (1 of 601 parts, a failure)"
    assert narrow[4] == "extract: left out (0 of 601 parts)"
    assert re.fullmatch(r"extract: quoted \(\d+ of 301 parts, a decision\)", narrow[25])
    assert 0 not in narrow  # the request that sets the goal stays as it is


@pytest.mark.parametrize("behind", ["", "\nNow rename the port in src/app.py."])
def test_what_the_user_says_last_stays_whatever_stands_before_it(behind: str) -> None:
    last = f"<local-command-stdout>Set model to opus\nand more</local-command-stdout>{behind}"
    messages = session(conversation(60), text_message("user", last))

    result = compress(messages, target_tokens=400)

    assert result.messages[-1] == messages[-1]


def test_what_a_host_put_into_the_users_role_is_no_must_keep() -> None:
    rules = "\n".join(f"Rule {n}: never touch part {n} of it." for n in range(300))
    messages = session(
        text_message("user", f"# AGENTS.md instructions for /work\n{rules}"),
        text_message("user", "Mend src/app.py."),
        step(0, LONG),
        text_message("assistant", "Done."),
        text_message("user", "Thanks."),
    )

    result = extract(messages, 0.15)

    assert result.target_met
    assert "Mend src/app.py." in texts(result.messages)


def test_what_the_user_typed_behind_a_slash_command_is_the_users() -> None:
    note = "<command-name>/fix</command-name>\n<command-args>the slow stop hooks</command-args>"
    skill = "Base directory for this skill: /skills/fix\n" + LONG
    messages = session(
        text_message("user", note),
        text_message("user", skill),
        step(0, LONG),
        text_message("assistant", "Found it."),
    )

    result = extract(messages, 0.1)

    assert result.target_met
    assert "the slow stop hooks" in texts(result.messages)


def test_a_users_yes_does_not_go_before_what_he_asks() -> None:
    turns = (
        session(
            text_message(
                "user", "Yes." if n % 2 else f"Could you please look at chapter {n}, too?"
            ),
            text_message("assistant", "All right, I will do that at once. " * 6),
        )
        for n in range(40)
    )

    view = texts(extract(session(*turns, text_message("user", "Go on.")), 0.15).messages)

    assert view.count("Could you please look") >= 14
    assert view.count("Could you please look") > view.count("Yes.")
