"""The edits that leave only what stays."""

from typing import Any

from context_compression import Settings
from context_compression.conversation import parse
from context_compression.planning import Plan, apply
from context_compression.strategies.keep import keep_only
from context_compression.tokens import Counter


def call(name: str) -> dict[str, Any]:
    called = {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": "ls"}}
    return {"role": "assistant", "content": [called]}


def result(name: str) -> dict[str, Any]:
    told = {"type": "tool_result", "tool_use_id": name, "content": "main.py"}
    return {"role": "user", "content": [told]}


def test_no_note_parts_calls_from_their_results() -> None:
    """Between two calls of a step, the model only thought; its thinking leaves."""
    thought = {"type": "thinking", "thinking": "And the other folder. " * 30, "signature": "c2ln"}
    messages = [
        {"role": "user", "content": "Look."},
        call("a"), {"role": "assistant", "content": [thought]}, call("b"), result("a"), result("b"),
        {"role": "user", "content": "Go on."},
        {"role": "assistant", "content": "Done."},
    ]  # fmt: skip
    parsed, counter = parse(messages), Counter()
    tokens = tuple(map(counter.message, parsed.messages))
    plan = Plan(parsed.messages, tokens, counter, Settings(), rules=parsed.format.rules)
    kept = {index: message for index, message in enumerate(parsed.messages) if index != 2}

    view = apply(parsed.messages, keep_only(plan, kept, {}, "test"), counter.message, plan.rules)

    assert view.messages == tuple(kept.values())
