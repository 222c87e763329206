"""The law that what the model has not read stays readable, for every strategy and dialect."""

from typing import Any

import pytest
from generated import DIALECTS, Messages
from hypothesis import given, settings
from hypothesis import strategies as st

from context_compression import BudgetTooSmall, Result, compress, count_tokens
from context_compression.conversation import parse
from context_compression.settings import StrategyName
from context_compression.testing import Dialect, Run, ScriptedSummarizer, conversation, tool_step

STRATEGIES = ("auto", "extract", "window", "summarize")
BESIDE = 90
"""The tokens around a result."""
SUMMARY = "## Goal\nMend the login.\n\n## Progress\n### Done\n- tests/test_login.py was read."
FAILURES = {
    "flagged": ("The connection to db-7 was closed by the server", True),
    "told": ("Error: ENOENT: no such file or directory, open 'src/gone_7.ts'", False),
    "traceback": ('Traceback (most recent call last):\n  File "/app/pool_7.py", line 3', True),
    "status": ("Exit code 2\nsrc/pool_7.c:88:12: error: 'full' undeclared", False),
}

ROOMS = st.integers(1_500, 9_000)
PARALLEL = [dialect for dialect in DIALECTS if dialect != "openai-legacy"]
"""The dialects in which a message may hold several calls."""
every_strategy = pytest.mark.parametrize("strategy", STRATEGIES)


def report(name: str, tokens: int) -> str:
    """Lines of about so many tokens, each of them different."""
    line = "{} {} of the yard was measured and written down\n"
    return "".join(line.format(name, n) for n in range(max(1, tokens // 13)))


def with_newest(dialect: Dialect, seed: int, outputs: list[str], *, failed: bool) -> Messages:
    """A conversation that ends in a step with these results, which the model has not read."""
    runs = [
        Run(f"new{n}", "Bash", {"command": f"cat part_{n}"}, output, failed)
        for n, output in enumerate(outputs)
    ]
    return [*conversation(10, seed, dialect), *tool_step(runs, dialect)]


def compressed(messages: Messages, strategy: StrategyName, target: int) -> Result:
    return compress(
        messages,
        target_tokens=target,
        strategy=strategy,
        summarizer=ScriptedSummarizer(SUMMARY) if strategy == "summarize" else None,
    )


def floor_of(messages: Messages) -> int:
    with pytest.raises(BudgetTooSmall) as refused:
        compress(messages, target_tokens=1)
    return refused.value.floor_tokens


def newest(messages: Messages, number: int) -> list[str]:
    """The texts of the last results."""
    texts = [result.text for message in parse(messages).messages for result in message.results]
    return texts[-number:]


@pytest.mark.slow
@every_strategy
@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from(PARALLEL), st.integers(0, 9), st.integers(1, 3), st.floats(0.05, 0.38), ROOMS
)
def test_results_that_the_model_has_not_read_are_whole_up_to_two_fifths_of_the_target(
    strategy: StrategyName, dialect: Dialect, seed: int, number: int, share: float, room: int
) -> None:
    target = room + 2 * floor_of(with_newest(dialect, seed, ["ok"] * number, failed=False))
    each = int(share * target / number) - BESIDE
    outputs = [report(f"part_{n}", each) for n in range(number)]
    messages = with_newest(dialect, seed, outputs, failed=False)

    result = compressed(messages, strategy, target)

    whole = newest(messages, number)
    if count_tokens(messages[-number - 1 :]) <= 0.4 * target:
        assert newest(result.messages, number) == whole
    assert result.tokens_after <= target or not result.target_met


@pytest.mark.slow
@every_strategy
@settings(max_examples=12, deadline=None)
@given(st.sampled_from(DIALECTS), st.integers(0, 9), st.floats(0.43, 6), st.integers(0, 99), ROOMS)
def test_of_a_larger_result_the_ends_and_errors_are_shown_and_less_of_a_huge_one(
    strategy: StrategyName, dialect: Dialect, seed: int, share: float, place: int, room: int
) -> None:
    target = room + 2 * floor_of(with_newest(dialect, seed, ["ok"], failed=False))
    lines = report("part", int(share * target)).splitlines()
    lines.insert(place * len(lines) // 100, "ERROR in yard 77: E42 is not to be measured")
    messages = with_newest(dialect, seed, ["\n".join(lines)], failed=False)

    result = compressed(messages, strategy, target)

    [shown] = newest(result.messages, 1)
    assert lines[0] in shown
    assert lines[-1] in shown
    assert "ERROR in yard 77: E42" in shown
    expected = 0.4 * max(0.25, (0.4 / share) ** 3) * target  # it falls without a cliff
    assert 0.5 * expected <= count_tokens([{"role": "user", "content": shown}])
    assert result.tokens_after <= target


@every_strategy
@settings(max_examples=8, deadline=None)
@given(st.sampled_from(PARALLEL), st.integers(0, 9), st.integers(2, 6), ROOMS)
def test_of_parallel_results_the_small_ones_are_whole_first(
    strategy: StrategyName, dialect: Dialect, seed: int, number: int, room: int
) -> None:
    small = [report(f"small_{n}", 60) for n in range(number - 1)]
    target = room + 2 * floor_of(with_newest(dialect, seed, ["ok"] * number, failed=False))
    large = report("large", 2 * target)
    messages = with_newest(dialect, seed, [large, *small], failed=False)

    shown = newest(compressed(messages, strategy, target).messages, number)

    assert shown[1:] == newest(messages, number)[1:]
    assert all(line in shown[0] for line in (large.splitlines()[0], large.splitlines()[-1]))


@pytest.mark.slow
@every_strategy
@pytest.mark.parametrize("kind", FAILURES)
@pytest.mark.parametrize("times", [1, 1.5, 3, 8])
def test_the_first_lines_of_an_error_are_shown_at_every_size(
    strategy: StrategyName, kind: str, times: float
) -> None:
    first, flagged = FAILURES[kind]
    output = f"{first}\n{report('part', 9_000)}"
    messages = with_newest("anthropic", 7, [output], failed=flagged)

    result = compressed(messages, strategy, int(times * floor_of(messages)))

    [shown] = newest(result.messages, 1)
    assert first in shown


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 30), st.sampled_from(("auto", "extract", "window")))
def test_rules_do_not_give_way_to_what_the_model_has_not_read(
    seed: int, strategy: StrategyName
) -> None:
    rule = "Never push to the branch release-7, whatever the pipeline says."
    rest: list[dict[str, Any]] = with_newest(
        "anthropic", seed, [report("part", 20_000)], failed=False
    )
    messages = [{"role": "user", "content": rule}, rest[0] | {"role": "user"}, *rest[1:]]
    floor = floor_of(messages)

    for target in (floor + 400, floor + 800, floor + 2_000):
        assert rule in str(compressed(messages, strategy, target).messages)
