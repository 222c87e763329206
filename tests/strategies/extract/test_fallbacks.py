"""`extract`: what gives way where the must-keep set is over the target."""

import pytest
from extract_sessions import LONG, extract, session, step, text_message, texts

from context_compression import compress
from context_compression.strategies.forms import outer_parts
from context_compression.testing import conversation


def test_over_budget_large_recent_results_become_previews_first() -> None:
    messages = session(
        text_message("user", "Look."),
        *(step(n, f"{LONG.replace('routine', f'routine {n}')}\nmark_{n}") for n in range(5)),
        text_message("user", "And?"),
    )

    result = extract(messages, 0.25)

    assert result.target_met
    assert "mark_4" in str(result.messages[-2])
    assert " lines like it but for numbers]\\n" in str(result.messages[-4])


@pytest.mark.parametrize(("target", "whole"), [(3_500, True), (2_000, False)])
def test_what_the_model_has_not_seen_stays_whole_up_to_two_fifths_of_the_room(
    target: int, whole: bool
) -> None:
    rich = ("\n".join(f"max_size_{n}_{k} = {n}{k}042" for k in range(200)) for n in range(30))
    plain = "\n".join(f"{n} words about nothing in particular, nothing at all" for n in range(100))
    messages = session(text_message("user", "Go on."), *map(step, range(30), rich), step(99, plain))

    last = compress(messages, target_tokens=target, strategy="extract").messages[-1]

    assert (last == messages[-1]) is whole


def test_then_long_texts_are_clipped() -> None:
    pasted = "\n\n".join(f"Paragraph {n} of a pasted document." for n in range(600))
    messages = session(
        text_message("user", f"Keep this in mind:\n{pasted}"),
        text_message("assistant", "Read."),
        text_message("user", "Now go."),
    )

    result = extract(messages, 0.4)

    assert result.target_met
    first = texts(result.messages[:1])
    assert "Paragraph 0 " in first
    assert "Paragraph 599 " in first


def test_then_only_the_last_turns_stay_and_older_ones_are_quoted() -> None:
    turns = [
        session(
            text_message("user", f"Request {n}: " + "please " * 60),
            step(n, "ok"),
            text_message("assistant", f"done {n} " * 30),
        )
        for n in range(30)
    ]
    messages = session(*turns)

    result = extract(messages, 0.15, min_recent_messages=2)

    assert result.target_met
    assert messages[-1] in result.messages
    assert result.messages[0] == messages[0]  # the request that sets the goal
    assert result.messages[1]["content"].startswith("[Compressed History]")
    assert (
        1
        <= sum(m.get("content", "") == t[0]["content"] for t in turns[1:] for m in result.messages)
        <= 4
    )


def test_the_number_of_those_turns_is_a_setting() -> None:
    turns = [
        session(
            text_message("user", f"Request {n}: " + "please " * 40),
            text_message("assistant", "done " * 40),
        )
        for n in range(12)
    ]
    messages = session(*turns)

    one = extract(messages, 0.3, min_recent_messages=0, fallback_turns=1, keep_recent_tokens=0)

    whole = [turn for turn in turns if turn[0] in one.messages]
    assert whole == turns[-1:]


def test_a_named_extract_below_the_floor_gives_the_floor_and_says_that_it_falls_short() -> None:
    messages = session(
        text_message("user", "word " * 400),
        text_message("assistant", "yes"),
        text_message("user", "more " * 400),
    )

    result = compress(messages, target_tokens=50, strategy="extract")

    assert not result.target_met
    assert result.messages[-1] is messages[-1]
    assert result.floor_tokens == result.tokens_after
    assert "auto goes further" in result.notes[0]


def test_a_system_prompt_larger_than_the_target_leaves_the_floor() -> None:
    messages = conversation(8)

    result = compress(messages, system="word " * 20_000, strategy="extract", target_tokens=1)

    assert result.changed
    assert not result.target_met
    assert result.tokens_after >= result.floor_tokens


def test_a_long_text_is_clipped_between_sentences() -> None:
    words = " ".join(f"Sentence {n} says that part_{n} is to be left alone." for n in range(400))

    parts = [words[start:stop] for start, stop in outer_parts(words, 2_000)]

    assert sum(map(len, parts)) <= 2_000
    assert all(part.startswith("Sentence") and part.endswith("alone.") for part in parts)
