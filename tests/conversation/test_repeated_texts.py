"""What a harness repeats with role user is told from what the user says."""

from collections.abc import Sequence

import pytest

from context_compression.conversation import Message, Text, user_words
from context_compression.conversation.authors.speech import repeated_reminders, with_reminders

TASK = "Mend the importer."
REMINDER = "Reminder: you have 12 turns left. Do not ask the user anything."


def said(*texts: str) -> Sequence[Message]:
    """A conversation in which the user's role has these texts, after a first request."""
    asked = [Message("user", (Text(text),)) for text in (TASK, *texts)]
    return with_reminders(
        [m for each in asked for m in (each, Message("assistant", (Text("So."),)))]
    )


def words(messages: Sequence[Message]) -> list[str]:
    """The words of the user in each message that has some."""
    return [text for message in messages if (text := user_words(message))]


@pytest.mark.parametrize("again", [REMINDER, REMINDER.replace("12", "3"), f" {REMINDER}\n"])
def test_a_text_that_stands_three_times_is_a_reminder_of_a_harness(again: str) -> None:
    assert words(said(REMINDER, again, REMINDER)) == [TASK]


def test_a_text_that_stands_twice_is_the_users() -> None:
    assert words(said(REMINDER, REMINDER)) == [TASK, REMINDER, REMINDER]


def test_a_long_text_that_stands_twice_is_a_reminder() -> None:
    long = "Your answer had no command. " * 8

    assert words(said(long, "Thanks, go on with it.", long, "And the docs?")) == [
        TASK, "Thanks, go on with it.", "And the docs?",
    ]  # fmt: skip


@pytest.mark.parametrize("answer", ["yes", "no, thanks", "part 1"])
def test_a_short_answer_is_the_users_however_often_it_comes(answer: str) -> None:
    assert words(said(*[answer] * 5)) == [TASK, *[answer] * 5]


def test_requests_to_go_on_are_reminders() -> None:
    assert words(said("continue", "continue", "continue")) == [TASK]


@pytest.mark.parametrize(
    "form", ["Now write chapter {} of the whole book.", "Step {0}: never touch src/login_{0}.py."]
)
def test_requests_that_differ_in_what_they_are_about_are_the_users(form: str) -> None:
    requests = [form.format(number) for number in range(5)]

    assert words(said(*requests)) == [TASK, *requests]


def test_the_first_request_is_the_users_even_if_it_is_repeated() -> None:
    assert words(said(TASK, TASK, TASK)) == [TASK] * 4


def test_of_a_reminder_all_but_the_last_copy_are_repeated() -> None:
    assert repeated_reminders(said(REMINDER, "Now the reader.", REMINDER, REMINDER)) == {2, 6}
