"""The plain rules that stand beside ours in every table."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Messages = list[dict[str, Any]]
Script = Callable[[str], ModuleType]

RULES = (
    "last-N", "task + last-N", "observation masking", "users + masked results", "random",
    "head + tail",
)  # fmt: skip


def message(role: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "content": [*blocks]}


def session(steps: int = 12) -> Messages:
    found = [message("user", {"type": "text", "text": "Repair the parser. " * 20})]
    for number in range(steps):
        call = {"type": "tool_use", "id": f"c{number}", "name": "read", "input": {"n": number}}
        result = {
            "type": "tool_result", "tool_use_id": f"c{number}", "content": f"line {number}\n" * 200,
        }  # fmt: skip
        found += [message("assistant", call), message("user", result)]
    return found


def results(view: Messages) -> list[str]:
    blocks = [block for each in view for block in each["content"]]
    return [block["content"] for block in blocks if block["type"] == "tool_result"]


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("share", [0.5, 0.25, 0.1])
def test_a_rule_never_splits_a_tool_step(script: Script, name: str, share: float) -> None:
    rules, recordings = script("plain_rules"), script("recordings")
    messages = session()

    view = rules.PLAIN[name](messages, share * rules.tokens_of(messages))

    problems = recordings.problems(view)
    assert [each for each in problems if each != "the first message is not the user's"] == []
    assert messages == session()


@pytest.mark.parametrize("name", [name for name in RULES if name != "observation masking"])
def test_a_rule_keeps_its_target(script: Script, name: str) -> None:
    rules = script("plain_rules")
    target = 0.25 * rules.tokens_of(session())

    view = rules.PLAIN[name](session(), target)

    assert 0 < rules.tokens_of(view) <= target


def test_the_task_stays_beside_the_newest_messages(script: Script) -> None:
    rules = script("plain_rules")
    target = 0.25 * rules.tokens_of(session())

    assert rules.task_and_last(session(), target)[0] == session()[0]
    assert rules.last(session(), target)[0] != session()[0]
    assert rules.last(session(), target)[-1] == session()[-1]


def test_masking_shows_the_newest_results_that_fit_and_the_newest_in_any_case(
    script: Script,
) -> None:
    rules = script("plain_rules")
    whole = rules.tokens_of(session())

    half = results(rules.masking(session(), 0.5 * whole))
    least = results(rules.masking(session(), 1))

    shown = [text != rules.MASK for text in half]
    assert 1 < sum(shown) < len(shown)
    assert shown == sorted(shown)
    assert [text != rules.MASK for text in least] == [False] * 11 + [True]
    assert results(rules.masking(session(), whole)) == results(session())


def test_masking_takes_texts_of_the_user_for_results_where_it_is_told_so(script: Script) -> None:
    rules = script("plain_rules")
    text = {"type": "text", "text": "a long output " * 50}
    messages = [message("user", text), message("assistant", text), message("user", text)] * 2

    view = rules.masking(messages, 1, frozenset({2, 3}))

    masked = [each["content"][0]["text"] == rules.MASK for each in view]
    assert masked == [False, False, True, False, False, False]


def test_the_users_messages_stay_beside_the_newest_steps_and_a_little_of_the_others(
    script: Script,
) -> None:
    rules = script("plain_rules")
    said = message("user", {"type": "text", "text": "Now the other one."})
    messages = [*session(6), said, *session(6)[1:]]

    view = rules.users_and_masked(messages, 0.5 * rules.tokens_of(messages))

    whole = [
        text == original for text, original in zip(results(view), results(messages), strict=True)
    ]
    assert [view[0], said] == [messages[0], view[len(session(6))]]
    assert whole == sorted(whole)
    assert 1 < sum(whole) < len(whole)
    short = [text for text, is_whole in zip(results(view), whole, strict=True) if not is_whole]
    assert max(map(len, short)) < 2 * rules.SHORTEST


def test_a_rule_whose_steps_are_short_comes_out_smaller_than_its_target(script: Script) -> None:
    rules = script("plain_rules")
    long = {"type": "text", "text": "a long output " * 5_000}
    messages = [message("user", {"type": "text", "text": "Go."}), message("assistant", long)] * 3

    view = rules.users_and_masked(messages, 0.3 * rules.tokens_of(messages))

    assert rules.tokens_of(view) < 0.2 * rules.tokens_of(messages)
    assert [each["role"] for each in view] == ["user", "assistant"] * 3


def test_a_result_in_the_users_role_is_not_what_the_user_said(script: Script) -> None:
    rules = script("plain_rules")
    text = {"type": "text", "text": "a long output " * 200}
    messages = [message(role, text) for _ in range(3) for role in ("user", "assistant")]
    target = 0.6 * rules.tokens_of(messages)

    told = rules.users_and_masked(messages, target, frozenset({2, 4}))

    assert told[0] == messages[0]
    assert len(told[2]["content"][0]["text"]) < 2 * rules.SHORTEST
    assert rules.users_and_masked(messages, target) != told
