"""`extract`: skills and hooks that put the same text into the user's role again."""

import pytest
from extract_sessions import LONG, Messages, extract, session, step, text_message, texts


def loaded(skill: str, *notes: str) -> Messages:
    texts = ["<command-name>/review</command-name>", *notes, skill]
    return [{"role": "user", "content": [{"type": "text", "text": text} for text in texts]}]


SKILL = "Base directory for this skill: /skills/review\n\n# Review\n\n" + "\n".join(
    f"Look at part_{n} first." for n in range(40)
)


def test_of_a_skill_that_was_loaded_twice_the_newest_text_is_enough() -> None:
    turns = (
        session(loaded(SKILL), step(n, LONG), text_message("assistant", f"Done with {n}."))
        for n in range(4)
    )
    messages = session(*turns, text_message("user", "Go on."))

    shown = texts(extract(messages, 0.2, min_recent_messages=1, keep_recent_tokens=0).messages)

    assert shown.count("Look at part_7 first.") == 1


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("skill", [SKILL, f"<skill>\n<name>review</name>\n{SKILL}"])
def test_a_skill_that_is_loaded_anew_with_arguments_stands_once(skill: str, together: bool) -> None:
    first, again = loaded(skill, "Mind the lock."), loaded(f"{skill}\n\nARGUMENTS: all of it")
    if together:  # as where the user interrupts, and asks once more
        first[0]["content"] += again[0]["content"]
    turns = (session(step(n, LONG), text_message("assistant", f"Done with {n}.")) for n in range(4))
    messages = session(first, *turns, [] if together else again, text_message("user", "Go on."))

    shown = texts(extract(messages, 0.2, min_recent_messages=1, keep_recent_tokens=0).messages)

    assert shown.count("Look at part_6 first.") == 1
    assert shown.count(skill.splitlines()[0]) == 2
    assert "Mind the lock." in shown
    assert "ARGUMENTS: all of it" in shown


def test_a_skill_stays_that_only_a_later_one_repeats_which_is_too_long_to_stay_whole() -> None:
    skill = SKILL + "\n".join(f"Rule {n}: look twice at what part_{n} says." for n in range(99))
    again = loaded(f"{skill}\n\nARGUMENTS: {'all of it, and all else, ' * 100}")
    turn = session(step(1, LONG), text_message("assistant", "Done."))
    messages = session(loaded(skill), turn, again, turn[2:], text_message("user", "Go on."))

    shown = texts(extract(messages, 0.6, min_recent_messages=1, keep_recent_tokens=0).messages)

    assert all(f"Rule {n}:" in shown for n in range(99))


@pytest.mark.parametrize("later", [SKILL, f"{SKILL[:60]}\n\n(Loaded already.)"])
def test_a_skill_that_says_more_than_a_later_one_stays(later: str) -> None:
    first = loaded(f"{SKILL}\n\nNever touch billing.py.")
    turn = session(step(1, LONG), text_message("assistant", "Done."))
    messages = session(first, turn, loaded(later), turn[2:], text_message("user", "Go on."))

    shown = texts(extract(messages, 0.3, min_recent_messages=1, keep_recent_tokens=0).messages)

    assert "Never touch billing.py." in shown
    assert "Look at part_7 first." in shown


def test_a_skill_beside_the_result_of_a_tool_stands_for_none_before() -> None:
    beside = session(step(5, LONG))
    beside[1]["content"] += loaded(SKILL)[0]["content"]
    steps = (step(n, LONG) for n in range(4))
    messages = session(loaded(SKILL), *steps, beside, step(6, LONG), text_message("user", "Go on."))

    shown = texts(extract(messages, 0.05, min_recent_messages=1, keep_recent_tokens=0).messages)

    assert "Look at part_7 first." in shown


def test_what_a_hook_says_before_each_turn_stands_once() -> None:
    hook = "Memory of this project\n" + "\n".join(f"- fact {n} is this" for n in range(40))
    turns = (
        session(
            text_message("user", hook),
            text_message("user", f"Do {n}."),
            step(n, LONG),
            text_message("assistant", "Ok"),
        )
        for n in range(4)
    )
    messages = session(*turns, text_message("user", "Go on."), text_message("user", "Go on."))

    result = extract(messages, 0.25, min_recent_messages=1, keep_recent_tokens=0)

    shown = texts(result.messages)
    assert shown.count("- fact 7 is this") == 1
    assert shown.count("Memory of this project") == 2  # the last turns keep it
    assert shown.count("Go on.") == 2
    newest = next(m for m in reversed(result.messages) if "Memory" in str(m["content"]))
    assert "- fact 7 is this" in str(newest["content"])


@pytest.mark.parametrize(
    ("first", "wanted"),
    [
        (loaded(SKILL + "\n\nARGUMENTS: never push to main"), "never push to main"),
        (loaded(SKILL, "<task-notification>Build 77 is at gs://b/g77.tgz"), "gs://b/g77.tgz"),
    ],
)
def test_what_stood_beside_a_skill_that_was_loaded_again_stays(
    first: Messages, wanted: str
) -> None:
    turn = session(step(1, LONG), text_message("assistant", "Done."))
    messages = session(first, turn, loaded(SKILL), turn[2:], text_message("user", "Go on."))

    shown = texts(extract(messages, 0.3, min_recent_messages=1, keep_recent_tokens=0).messages)

    assert wanted in shown


def test_an_answer_that_begins_like_a_skill_is_an_answer() -> None:
    answer = f"{SKILL[:80]}\nDecision: we chose canary_rollout because of OPS-4411."
    turn = session(step(1, LONG), text_message("assistant", answer))
    messages = session(
        text_message("user", "Go."), turn, loaded(SKILL), text_message("user", "Go on.")
    )

    shown = texts(extract(messages, 0.3, min_recent_messages=1, keep_recent_tokens=0).messages)

    assert "canary_rollout" in shown


def test_of_what_the_user_said_twice_one_is_enough() -> None:
    rule = "\n".join(f"Rule {n}: handle_{n}_request is to be kept as it is." for n in range(60))
    turns = (
        session(
            text_message("user", rule),
            step(n, LONG),
            text_message("assistant", f"Task {n} is done, as asked."),
        )
        for n in range(6)
    )
    messages = session(*turns, text_message("user", "Go on."))

    shown = texts(extract(messages, 0.05, fallback_turns=1, min_recent_messages=1).messages)

    assert shown.count("handle_3_request") == 1
