"""`extract`: the newest messages, and what the user's last words reply to."""

import pytest
from extract_sessions import FILLER, Messages, extract, session, step, text_message, texts

from context_compression import Settings, compress
from context_compression.conversation import parse
from context_compression.planning import Plan
from context_compression.tokens import Counter


@pytest.mark.parametrize("between", [[], text_message("user", "<system-reminder>\nBe brief.\n")])
def test_what_the_users_last_words_reply_to_stands_where_room_is_short(between: Messages) -> None:
    work = session(
        *(
            step(n, "\n".join(f"def read_{n}_{k}(): ..." for k in range(60)), command=f"show m_{n}")
            for n in range(40)
        )
    )
    proposal = "Either we quote the names, or we give up the engine. The former takes less."

    messages = session(
        *(
            text_message("user", "What can be done?"),
            work,
            text_message("assistant", proposal),
            between,
        ),
        *(text_message("user", "Go with the former."), work),
    )

    assert proposal in texts(extract(messages, 0.02).messages)


def test_what_the_model_said_last_stands_where_room_is_short() -> None:
    work = session(
        *(
            step(n, "\n".join(f"def read_{n}_{k}(): ..." for k in range(60)), command=f"show m_{n}")
            for n in range(40)
        )
    )
    done = "Committed. What else was changed was so before, and stays out of it, as you wished."

    messages = session(
        text_message("user", "Commit what is ready."), work, text_message("assistant", done)
    )

    assert done in texts(extract(messages, 0.01).messages)


def test_words_beside_a_call_are_nothing_that_the_user_replies_to() -> None:
    (call, result) = step(0, "ok")
    call["content"].insert(
        0, {"type": "text", "text": "Let me see whether the engine is to blame."}
    )
    messages = session(
        text_message("user", "Look."), [call, result], text_message("user", "Go on.")
    )
    parsed, counter = parse(messages).messages, Counter()

    assert Plan(parsed, tuple(map(counter.message, parsed)), counter, Settings()).replied_to is None


TELLING = [
    step(n, "\n".join(f"src/module_{n}_{k}.py: handle_{n}_{k}" for k in range(20)))
    for n in range(14)
]
"""Steps that tell much."""


PLAIN = [step(n, "\n".join(f"{FILLER}, line after line {k}" for k in range(90))) for n in (90, 91)]
"""Steps that tell nothing."""


def test_in_a_small_room_the_newest_messages_take_less_than_those_that_tell_more() -> None:
    messages = session(
        text_message("user", "Look."), *TELLING, *PLAIN, text_message("user", "Go on.")
    )

    view = texts(compress(messages, target_tokens=1_500, strategy="extract").messages)

    assert view.count("handle_") > 2 * view.count(FILLER)


def test_what_the_model_has_not_seen_stays_whole_beside_what_tells_much() -> None:
    unseen = "\n".join(f"{FILLER} {k}" for k in range(20))
    messages = session(text_message("user", "Look."), *TELLING, *PLAIN, step(99, unseen))

    view = compress(messages, target_tokens=1_800, strategy="extract").messages

    assert view[-1] == messages[-1]
    assert texts(view).count("handle_") > 50


def test_what_the_users_last_words_reply_to_stays_where_the_newest_messages_do() -> None:
    asked = "\n".join(f"{number}: shall it be so, or the other way?" for number in range(130))
    told = text_message("assistant", asked), text_message("user", "The first.")
    messages = session(text_message("user", "Look."), *TELLING, *PLAIN[:1], *told)

    view = compress(messages, target_tokens=4_000, strategy="extract").messages

    assert view[-2:] == messages[-2:]


def test_where_room_is_scarce_the_newest_messages_go_before_the_users_rules() -> None:
    turns = (
        session(
            text_message("user", f"Rule {n}: never touch part {n} of it."),
            step(n, "a routine line\n" * 10),
            text_message("assistant", f"Done {n}. " * 10),
        )
        for n in range(20)
    )

    shown = texts(extract(session(*turns, text_message("user", "Go on.")), 0.1).messages)

    assert sum(f"never touch part {n} " in shown for n in range(20)) >= 14
