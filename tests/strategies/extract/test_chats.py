"""`extract`: what a chat holds falls gently, as its room shrinks and as it is compressed again."""

import itertools
from pathlib import Path

import pytest
from extract_sessions import Messages, session, text_message, texts

from context_compression import Session, compress, count_tokens
from context_compression.conversation import parse

CITIES = ("Turin", "Kiel", "Ulm", "Graz", "Basel", "Lyon", "Ghent", "Porto")
FACTS = [
    f"I met my friend number {n} in {CITIES[n % 8]} on {n % 28 + 1} May 20{10 + n % 20}, by chance."
    for n in range(40)
]
ADVICE = "It helps to be calm, to take a walk, and to look at the whole thing once more tomorrow. "


def chat(facts: int = 40) -> Messages:
    """A chat in which each request tells a fact, and each answer is long and says little."""
    return session(
        *(
            session(
                text_message("user", f"{fact} How do I write to them?"),
                text_message("assistant", ADVICE * 12),
                text_message("user", "Thanks, that is kind of you! Do you have any more tips?"),
                text_message("assistant", ADVICE * 10),
            )
            for fact in FACTS[:facts]
        )
    )


def held(messages: Messages) -> int:
    shown = texts(messages)
    return sum(fact in shown for fact in FACTS)


def test_a_chat_loses_its_facts_one_by_one_as_its_room_shrinks() -> None:
    messages = chat()
    total, room = int(count_tokens(messages)), 0.3

    shown = [len(FACTS)]
    while room > 0.03:
        shown.append(held(compress(messages, target_tokens=int(room * total)).messages))
        room *= 0.9

    falls = [before - after for before, after in itertools.pairwise(shown)]
    assert max(falls) <= 0.15 * len(FACTS)
    assert sum(shown) > 0.75 * len(FACTS) * len(shown)


@pytest.mark.parametrize("times", [5, 8, 10])
def test_many_compressions_of_a_chat_hold_about_as_many_facts_as_one(
    times: int, tmp_path: Path
) -> None:
    messages = chat()
    room = int(0.05 * int(count_tokens(messages)))

    growing, size = Session(tmp_path, "chat"), len(messages) // times
    for start in range(0, size * times, size):
        growing.record(*messages[start : start + size])
        growing.compress(target_tokens=room, strategy="extract")

    once = held(compress(messages[: size * times], target_tokens=room).messages)
    assert once - held(list(growing.view())) <= 0.15 * len(FACTS)


def test_the_newest_messages_of_a_chat_take_a_small_part_of_a_small_room() -> None:
    messages = chat()
    room = int(0.05 * int(count_tokens(messages)))

    result = compress(messages, target_tokens=room)

    said = [m for m in parse(result.messages).messages if "Excerpts of earlier" not in m.text]
    assert sum(len(m.text) for m in said) < 0.6 * sum(len(str(m)) for m in result.messages)
    assert held(result.messages) > len(FACTS) / 2
