"""What is left of tool calls in smaller and smaller views: first the calls, then lines about them.

The figures are those of `docs/benchmarks.md`.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from transcripts import recordings

import context_compression
from context_compression import compress, count_tokens
from context_compression.conversation import ToolCall, parse, strings_in
from context_compression.hosts import Readings

pytestmark = pytest.mark.slow

DEMO = Path(context_compression.__file__).parent / "cli" / "conversation.jsonl"
SESSIONS = ("claude-code-cli-e680e851", "codex-agentv-04004bfe")


def words_of(call: ToolCall) -> str:
    """The first words of the longest argument: a command, a path, a pattern."""
    longest = max(strings_in(call.arguments), key=len, default="").strip()
    return longest.splitlines()[0][:30] if longest else "\0"


def left(messages: Sequence[Any], share: float) -> tuple[float, float]:
    """The shares of all calls that are calls in a view of this size, and that it tells of."""
    calls = [call for message in parse(messages).messages for call in message.calls]

    view = compress(messages, target_tokens=int(count_tokens(messages) * share)).messages

    kept = {call.id for message in parse(view).messages for call in message.calls}
    text = "\n".join(string for message in view for string in strings_in(message))
    told = sum(words_of(call) in text for call in calls)
    return sum(call.id in kept for call in calls) / len(calls), told / len(calls)


def test_down_to_a_quarter_every_call_of_the_demo_stays_and_then_most_are_told_of() -> None:
    messages = [json.loads(line) for line in DEMO.read_text(encoding="utf-8").splitlines()]

    assert left(messages, 0.5) == (1, 1)
    assert left(messages, 0.25)[0] == 1
    assert left(messages, 0.1)[1] > 0.8


@pytest.mark.parametrize("name", SESSIONS)
def test_in_recorded_sessions_every_call_stays_in_half_the_size_and_most_are_told_of_in_less(
    name: str, data_folder: Path
) -> None:
    [path] = [path for path in recordings() if path.name.startswith(name)]
    transcript = Readings().look(path)
    messages = transcript.conversation or transcript.messages

    assert left(messages, 0.5)[0] == 1
    assert left(messages, 0.25)[1] > 0.7
    assert left(messages, 0.1)[1] > 0.5
