"""`extract`: conversations in which people only talk."""

import pytest
from extract_sessions import Messages, extract, session, text_message, texts


def chat(turns: int) -> Messages:
    """Small talk, but for what is said of a book and a town in the middle."""
    small = [
        session(
            text_message(
                "user", f"Okay, thank you for telling me {how}, I will look into that then."
            ),
            text_message(
                "assistant", f"You are welcome, and let me know {how} if there is more to do."
            ),
        )
        for how in (
            "again", "gladly", "plainly", "calmly", "kindly", "briefly", "warmly", "so soon",
        )
    ]  # fmt: skip
    told = session(
        text_message("user", "It should be a quiet one. We are going to Lisbon with Emily in May."),
        text_message(
            "assistant", "Then take the novel “Night Train to Lisbon”, which Emily might enjoy."
        ),
    )
    around = session(*(small * turns)[:turns])
    return session(around, told, around, text_message("user", "What was it called?"))


@pytest.mark.parametrize("share", [0.15, 0.3])
def test_of_a_chat_names_and_facts_stay_rather_than_thanks(share: float) -> None:
    shown = texts(extract(chat(20), share, min_recent_messages=1).messages)

    assert "We are going to Lisbon with Emily" in shown
    assert "Night Train to Lisbon" in shown


def test_in_talk_many_sentences_that_only_may_bind_do_not_take_the_room() -> None:
    maybe = (
        session(
            text_message("user", f"Well, number {n} should be fine for all of us, they say."),
            text_message(
                "assistant", "So it should, and there is nothing more that I can say of it."
            ),
        )
        for n in range(30)
    )
    told = text_message(
        "assistant", "Then take the novel “Night Train to Lisbon”, which Emily may enjoy."
    )
    rule = text_message("user", "Never call me before noon.")
    messages = session(*maybe, rule, told, chat(5))

    shown = texts(extract(messages, 0.15, min_recent_messages=1).messages)

    assert "Never call me before noon." in shown
    assert "Night Train to Lisbon" in shown


def test_in_talk_a_few_sentences_that_may_bind_stay_like_rules() -> None:
    wish = text_message("user", "The flat should have a balcony.")
    messages = session(wish, text_message("assistant", "I see."), chat(20))

    shown = texts(extract(messages, 0.15, min_recent_messages=1).messages)

    assert "The flat should have a balcony." in shown
