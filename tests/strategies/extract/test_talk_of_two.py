"""`extract`: talks of two people, in which what either says counts the same."""

import pytest
from extract_sessions import Messages, session, text_message, texts

from context_compression import compress, count_tokens
from context_compression.conversation import parse
from context_compression.planning import Plan, is_talk_of_two
from context_compression.settings import Settings
from context_compression.tokens import Counter

FACTS = [
    ("Mira", "My brother Otto moved to Turin in 2029, and he teaches the cello there now."),
    ("Jonas", "I sold my old boat for 4,300 euros last Tuesday, to a man from Kiel."),
    ("Mira", "We named the puppy “Basalt”, since he is as grey as the stones at home."),
    ("Jonas", "My sister Ines runs the bakery in Ulm since March, with 12 people."),
    ("Mira", "I broke my left wrist on the Brenner in 2031, just before the exam."),
    ("Jonas", "We watched “The Salt Path” together yesterday, and I cried at the end."),
]
SMALL = (
    "That is how it goes, and one never knows how such things will turn out.",
    "So they say, and it may well be that there is something to it after all.",
    "One should talk about that more often, as it does no harm to anybody.",
    "It was ever so, and it will hardly be different for those who come after.",
)


def talk(facts: int = 6, between: int = 12, dates: bool = False) -> Messages:
    """A long talk with a fact after every few empty words; with dates, one opens each stretch."""
    said: list[str] = []
    for n, (_, fact) in enumerate(FACTS[:facts]):
        date = f"[{8 + n} May 2032, 10:1{n} am] " if dates else ""
        lines = [f"{SMALL[k % 4][:-1]}, number {n * between + k}." for k in range(between)]
        lines[0] = date + lines[0]
        if len(said) % 2 != n % 2:
            lines.pop()
        middle = len(lines) // 2
        said += [*lines[:middle], fact, *lines[middle:]]
    said = said[: len(said) - (len(said) % 2 == 0)]
    return session(*(text_message(("user", "assistant")[n % 2], t) for n, t in enumerate(said)))


def kept(messages: Messages) -> int:
    shown = texts(messages)
    return sum(fact in shown for _, fact in FACTS)


def small(messages: Messages, share: float) -> Messages:
    return compressed(messages, int(count_tokens(messages) * share))


def compressed(messages: Messages, target: int) -> Messages:
    settings = {"min_recent_messages": 1, "keep_recent": 1}
    return compress(
        messages, target_tokens=target, strategy="extract", settings=settings
    ).messages  # fmt: skip


@pytest.mark.parametrize("share", [0.25, 0.4])
def test_the_facts_of_both_stay(share: float) -> None:
    messages = talk()
    roles = {m["role"] for m in messages if any(fact in m["content"] for _, fact in FACTS)}

    assert roles == {"user", "assistant"}
    assert kept(small(messages, share)) == len(FACTS)


def test_the_date_of_a_stretch_comes_along_with_what_is_quoted_from_it() -> None:
    shown = texts(small(talk(dates=True), 0.35))

    for n, (_, fact) in enumerate(FACTS):
        assert fact in shown
        assert f"{8 + n} May 2032" in shown
        assert shown.index(f"{8 + n} May 2032") < shown.index(fact)


def test_five_compressions_keep_about_what_one_keeps() -> None:
    messages = talk(dates=True)
    target = int(count_tokens(messages) * 0.35)
    once = compressed(messages, target)

    view: Messages = []
    for n in range(5):
        view = [*view, *messages[n * len(messages) // 5 : (n + 1) * len(messages) // 5]]
        if count_tokens(view) > target:
            view = compressed(view, target)

    assert kept(once) == len(FACTS)
    assert kept(view) >= len(FACTS) - 1


def planned(messages: Messages) -> Plan:
    parsed, counter = parse(messages).messages, Counter()
    return Plan(parsed, tuple(map(counter.message, parsed)), counter, Settings())


@pytest.mark.parametrize(
    "thanks", ["Thanks!", "谢谢", "Perfect, thank you.", "Vielen Dank!", "ok, great"]
)
def test_a_thanks_is_not_the_users_last_word(thanks: str) -> None:
    messages = session(
        text_message("user", "Plan the trip to Narvik."),
        text_message("assistant", "By train, then. " * 50),
        text_message("user", "Write the list of stops, but no ferries."),
        text_message("assistant", "Kiruna, Abisko, Narvik. " * 50),
        text_message("user", thanks),
        text_message("assistant", "You are welcome. " * 50),
    )

    plan = planned(messages)

    assert plan.last_user == 2
    assert plan.goal == 0
    assert "no ferries" in texts(
        compress(messages, target_tokens=count_tokens(messages) // 3, strategy="extract").messages
    )


def test_a_thanks_is_the_last_word_if_there_is_no_other() -> None:
    messages = session(text_message("user", "Thanks!"), text_message("assistant", "Welcome."))

    assert planned(messages).last_user == 0


@pytest.mark.parametrize(
    ("user", "assistant", "expected"),
    [(80, 100, True), (100, 60, True), (20, 900, False), (900, 30, False), (0, 50, False)],
)
def test_two_talk_if_neither_says_much_more(user: int, assistant: int, expected: bool) -> None:
    said = session(
        *(
            text_message("user", "a" * user) + text_message("assistant", "b" * assistant)
            for _ in range(5)
        )
    )

    assert is_talk_of_two(parse(said).messages) is expected


def test_one_alone_does_not_talk() -> None:
    assert not is_talk_of_two(parse(text_message("user", "Hello there.")).messages)
    assert not is_talk_of_two(())


def test_work_has_a_goal() -> None:
    assert (
        planned(
            session(text_message("user", "Mend it."), text_message("assistant", "x" * 900))
        ).goal
        == 0
    )
