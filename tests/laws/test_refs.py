"""Wherever something left, one note names a ref that brings it back, in every room."""

import json
import re

import pytest
from every_door import Ask, Door, every_door, holds
from generated import Messages
from hypothesis import given, settings
from hypothesis import strategies as st
from talks import SMALL, Talk, shares, talks

from context_compression import BudgetTooSmall, Result, compress, count_tokens
from context_compression.settings import StrategyName
from context_compression.testing import ScriptedSummarizer, conversation

REF = re.compile(r"\bref ([0-9a-f]{12})\b")
WORTH_A_NOTE = 200
"""Tokens: less than that may leave without a word."""
STRATEGIES = ("auto", "extract", "window", "summarize", "offload", "truncate")


def refs_in(view: object) -> set[str]:
    return {*REF.findall(json.dumps(view, ensure_ascii=False, default=str))}


@every_door
def test_what_left_a_request_has_a_ref_in_it(door: Door) -> None:
    def law(door: Door, talk: Talk, data: st.DataObject) -> None:
        asked = Ask(data.draw(shares), SMALL)
        with door.opened(talk, asked) as requests:
            for request in requests:
                left = count_tokens(request.history) - count_tokens(request.view)
                if left > WORTH_A_NOTE:
                    restored = [request.about.restore(ref) for ref in refs_in(request.view)]
                    assert any(restored), "no note has a ref"

    holds(door, talks, law)


def run(messages: Messages, strategy: StrategyName, room: int) -> Result:
    summarizer = ScriptedSummarizer() if strategy == "summarize" else None
    return compress(messages, target_tokens=room, strategy=strategy, summarizer=summarizer)


def minimum(messages: Messages) -> int:
    with pytest.raises(BudgetTooSmall) as refused:
        compress(messages, target_tokens=1)
    return refused.value.floor_tokens


@pytest.mark.parametrize("strategy", STRATEGIES)
@settings(max_examples=settings().max_examples // 4)
@given(turns=st.integers(3, 12), seed=st.integers(0, 9), more=st.sampled_from((0, 1, 9, 99, 999)))
def test_in_any_room_and_with_any_strategy_a_note_has_a_ref(
    strategy: StrategyName, turns: int, seed: int, more: int
) -> None:
    messages = conversation(turns, seed=seed)
    result = run(messages, strategy, minimum(messages) + more)

    left = [messages[index] for index in result.dropped]
    if count_tokens(left) > WORTH_A_NOTE:
        assert refs_in([result.messages, result.system]) & result.originals.keys()


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("share", [0.1, 0.4, 0.8])
def test_in_a_large_room_a_note_has_a_ref_with_any_strategy(
    strategy: StrategyName, share: float
) -> None:
    messages = conversation(20, seed=3)
    result = run(messages, strategy, int(share * count_tokens(messages)))

    left = [messages[index] for index in result.dropped]
    if count_tokens(left) > WORTH_A_NOTE:
        assert refs_in([result.messages, result.system]) & result.originals.keys()


def test_a_note_that_is_joined_to_a_message_of_the_user_names_a_ref() -> None:
    picture = {"image": {"format": "gif", "source": {"bytes": "R0lGODlhAAUgAw=="}}}
    lines = "\n".join(f"{number} worker done in 12 ms" for number in range(3))
    call = {"toolUseId": "one", "name": "Bash", "input": {"path": "src/a.py"}}
    told = {"toolUseId": "one", "content": [{"text": lines}, picture], "status": "success"}
    messages: Messages = [
        {"role": "user", "content": [{"text": "ok"}]},
        {"role": "assistant", "content": [{"toolUse": call}]},
        {"role": "user", "content": [{"toolResult": told}]},
        {"role": "assistant", "content": [{"text": "ok"}]},
    ]
    result = run(messages, "auto", count_tokens(messages) // 3)

    assert refs_in(result.messages) & result.originals.keys()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_note_that_names_a_ref_leaves_only_for_another_one(strategy: StrategyName) -> None:
    """It is small, but stands for more."""
    called = {"type": "tool_use", "id": "one", "name": "context_restore", "input": {"ref": "log"}}
    lines = "\n".join(f"{number} worker done in 12 ms" for number in range(400))
    result = {"type": "tool_result", "tool_use_id": "one", "content": lines}
    messages: Messages = [
        {"role": "user", "content": "go"},
        {"role": "user", "content": f"[Compressed History] Not shown:\n[… ref {'5a' * 6}]"},
        {"role": "assistant", "content": [called]},
        {"role": "user", "content": [result]},
    ]
    for more in (0, 9, 99):
        assert refs_in(run(messages, strategy, minimum(messages) + more).messages)
