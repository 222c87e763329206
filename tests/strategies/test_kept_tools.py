"""`keep_tools`: the results of the named tools stay whole, whatever makes the context smaller."""

from pathlib import Path
from typing import Any, get_args

import pytest

from context_compression import BudgetTooSmall, Session, compress, count_tokens
from context_compression.conversation import ToolCall, parse
from context_compression.session import AnsweredCall, offload_result
from context_compression.settings import StrategyName
from context_compression.testing import (
    Dialect,
    Run,
    ScriptedSummarizer,
    said_by_user,
    summary_about,
    tool_step,
)

KEPT = "\n".join(f"step {n}: pour {n * 37 % 91} litres into tank {n % 7}" for n in range(60))
LONG = "\n".join(f"{n} compiled unit_{n * 37 % 911}.o in {n % 13} ms" for n in range(300))
STRATEGIES: tuple[StrategyName, ...] = get_args(StrategyName)


def history(dialect: Dialect, steps: int = 12) -> list[dict[str, Any]]:
    """Steps of two tools; the plan comes early."""
    messages = [said_by_user("Fill the tanks as the plan says.", dialect)]
    messages += tool_step([Run("c0", "mcp__plant__get_plan", {"id": 7}, KEPT)], dialect)
    for n in range(1, steps):
        messages += tool_step([Run(f"c{n}", "bash", {"command": f"make {n}"}, LONG)], dialect)
        if n % 3 == 0:
            messages.append(said_by_user(f"Go on with tank {n}.", dialect))
    return messages


def results(messages: Any) -> list[str]:
    return [result.text for message in parse(messages).messages for result in message.results]


@pytest.mark.parametrize("dialect", get_args(Dialect))
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_results_of_a_kept_tool_stay_whole(strategy: StrategyName, dialect: Dialect) -> None:
    messages = history(dialect)
    settings: dict[str, Any] = {"keep_tools": "mcp__plant__*", "keep_recent": 1, "max_turns": 2}
    writer = (
        ScriptedSummarizer(summary_about("Fill the tanks.")) if strategy == "summarize" else None
    )

    result = compress(
        messages, target_tokens=9_000, strategy=strategy, settings=settings, summarizer=writer,
    )  # fmt: skip

    assert result.changed
    assert KEPT in results(result.messages)
    assert results(result.messages).count(LONG) < results(messages).count(LONG)


def test_without_the_setting_they_are_shortened_like_all_others() -> None:
    result = compress(history("anthropic"), target_tokens=2_000)

    assert KEPT not in results(result.messages)


def test_the_smallest_size_holds_them_and_says_so() -> None:
    with pytest.raises(BudgetTooSmall) as refused:
        compress(history("openai"), target_tokens=900, settings={"keep_tools": "*get_plan"})

    assert "pinned messages and those of keep_tools" in str(refused.value)
    assert refused.value.floor_tokens > 900


def test_fit_and_what_comes_in_leave_them_whole(tmp_path: Path) -> None:
    settings = {"token_budget": 16_000, "keep_tools": ["MCP__plant__get_plan"]}
    settings |= {"offload_at_source": "*=100"}
    session = Session(tmp_path, "s", settings=settings)
    tools = [{"name": "context_restore"}]
    sent: list[dict[str, Any]] = []

    for end in range(1, len(messages := history("anthropic")) + 1):
        sent = session.fit(messages[:end], tools=tools)
        assert end < 3 or KEPT in results(sent)

    assert count_tokens(sent) < count_tokens(messages)
    call = ToolCall("c", "mcp__plant__get_plan", {})
    assert offload_result(session, AnsweredCall(call, KEPT)) is None
    assert offload_result(session, AnsweredCall(ToolCall("c", "bash", {}), LONG)) is not None
