"""A series of messages that are like each other but for numbers, in a chat."""

import re
from collections.abc import Callable

from extract_sessions import Messages, session, text_message, texts

from context_compression import compress, count_tokens

LAST = text_message("user", "Which of them must I look at again?")


def chat(ask: Callable[[int], str], reply: Callable[[int], str], number: int = 80) -> Messages:
    """A chat of requests and replies, and a last request."""
    steps = (
        (text_message("user", ask(n)), text_message("assistant", reply(n))) for n in range(number)
    )
    return session(*(message for step in steps for message in step), LAST)


def shown(messages: Messages) -> str:
    """The texts of a view of a tenth of the size."""
    return texts(compress(messages, target_tokens=int(count_tokens(messages)) // 10).messages)


def full(n: int) -> str:
    return f"The disk of web-{n} is {n * 37 % 100} % full, and nothing else is to be told of it."


def test_replies_that_name_what_was_requested_come_before_the_requests() -> None:
    text = shown(chat(lambda n: f"Check the disk of host web-{n}.", full))

    assert len(re.findall(r"The disk of web-\d+ is \d+ % full", text)) >= 8
    assert text.count("Check the disk") <= 5


def test_replies_to_a_series_of_questions_come_before_the_questions() -> None:
    text = shown(chat(lambda n: f"How full is web-{n} since day {n + 300}?", full))

    assert len(re.findall(r"The disk of web-\d+ is \d+ % full", text)) >= 10
    assert text.count("How full is") <= 5


def test_requests_stay_whose_replies_do_not_name_them() -> None:
    text = shown(chat(lambda n: f"Is web-{n} the one that fails?", lambda n: "Yes, it is." * 20))

    assert len(re.findall(r"Is web-\d+ the one that fails", text)) >= 10


def test_what_a_request_tells_besides_its_question_stays() -> None:
    text = shown(
        chat(lambda n: f"I paid {n + 700} euros for web-{n}. Is that much?", lambda n: full(n) * 5)
    )

    assert len(re.findall(r"I paid \d+ euros for web-\d+", text)) >= 10


def test_what_is_like_no_other_message_is_shown_and_the_mark_counts_those_like_quoted_ones() -> (
    None
):
    messages = chat(lambda n: f"Check the disk of host web-{n}.", full)
    aside = text_message("user", "By the way, thanks."), text_message("assistant", "Gladly.")
    messages[20:20] = session(*aside)

    text = shown(messages)

    assert "[User] By the way, thanks." in text
    assert "[… 118 messages like quoted ones but for numbers; first ref" in text
