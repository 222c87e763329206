"""Other ways to make a conversation smaller, called as their documentation says.

They are needed only for benchmarks and require another version of `mcp` than our server, so each
runs in an environment of its own: `peer_environments.py` makes it, `peer_processes.py` calls it.

No model is called here: a peer that would let a model write a summary does only its other work.
"""

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias

from peer_messages import (
    NEXT_REQUEST,
    from_framework,
    from_langchain,
    from_pydantic,
    from_strands,
    langchain_tokens,
    to_framework,
    to_langchain,
    to_pydantic,
    to_strands,
)  # fmt: skip
from plain_rules import LAST, MASKING, PLAIN, TASK_AND_LAST, USERS, Rule
from recordings import Messages

TextCounter: TypeAlias = Callable[[str], int]

os.environ |= {"HF_HUB_OFFLINE": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}


@dataclass(frozen=True)
class Peer:
    """A way to make a conversation smaller.

    Attributes:
        write: converts Anthropic's messages to the peer's.
        compress: the view, given the peer's messages and a number of tokens.
        read: converts a view to Anthropic's messages.
        has_budget: whether it takes a size at all.
    """

    name: str
    compress: Callable[[Any, float], Any]
    write: Callable[[Messages], Any] = list
    read: Callable[[Any], Messages] = list
    has_budget: bool = True

    def view(self, messages: Messages, target: float) -> Messages:
        return self.read(self.compress(self.write(messages), target))


def plain(name: str, rule: Rule) -> Callable[[TextCounter | None], Peer]:
    """A plain rule as a peer that is always there."""
    return lambda counter: Peer(name, rule)


def trim_messages(counter: TextCounter | None) -> Peer:
    trim = import_module("langchain_core.messages").trim_messages
    count = langchain_tokens if counter else "approximate"

    def compress(messages: Any, target: float) -> Any:
        return trim(
            messages, max_tokens=int(target), token_counter=count, strategy="last",
            include_system=True, start_on=["human", "ai"],
        )  # fmt: skip

    return Peer("LangChain trim_messages", compress, to_langchain, from_langchain)


def clear_tool_uses(counter: TextCounter | None) -> Peer:
    edit = import_module("langchain.agents.middleware").ClearToolUsesEdit
    approximately = import_module("langchain_core.messages.utils").count_tokens_approximately
    count = langchain_tokens if counter else approximately

    def compress(messages: Any, target: float) -> Any:
        edit(trigger=int(target), keep=3).apply(messages, count_tokens=count)
        return messages

    name = "LangChain ClearToolUsesEdit"
    return Peer(name, compress, to_langchain, from_langchain, has_budget=False)


def token_budget(counter: TextCounter | None) -> Peer:
    framework = import_module("agent_framework")
    tokenizer = _Tokenizer(counter) if counter else framework.CharacterEstimatorTokenizer()

    def compress(messages: Any, target: float) -> Any:
        steps = [framework.SelectiveToolCallCompactionStrategy(keep_last_tool_call_groups=20)]
        strategy = framework.TokenBudgetComposedStrategy(
            token_budget=int(target), tokenizer=tokenizer, strategies=steps
        )
        run = framework.apply_compaction(messages, strategy=strategy, tokenizer=tokenizer)
        return asyncio.run(run)

    name = "Agent Framework TokenBudget"
    return Peer(name, compress, to_framework, from_framework)


def headroom(counter: TextCounter | None) -> Peer:
    compress: Any = import_module("headroom").compress

    def compressed(messages: Any, target: float) -> Any:
        return compress(messages, model="claude-sonnet-4-5-20250929").messages

    return Peer("headroom compress", compressed, has_budget=False)


def strands_auto(counter: TextCounter | None) -> Peer:
    agent: Any = import_module("strands").Agent
    base: Any = import_module("strands.models").Model

    class Listener(base):
        """A model that records its requests and answers nothing."""

        def __init__(self) -> None:
            self.sent: list[Any] = []

        def get_config(self) -> dict[str, int]:
            return {"context_window_limit": 10**9}  # else it would want a summary

        def update_config(self, **changes: Any) -> None: ...

        def structured_output(self, *args: Any, **kwargs: Any) -> Any: ...

        async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            self.sent = list(messages)
            yield {"messageStart": {"role": "assistant"}}
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": "ok"}}}
            yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "end_turn"}}

    def compress(messages: Any, target: float) -> Any:
        model = Listener()
        agent(model=model, messages=messages, context_manager="auto", callback_handler=None)(
            NEXT_REQUEST
        )
        return model.sent

    return Peer("Strands auto", compress, to_strands, from_strands, has_budget=False)


def litellm_compress(counter: TextCounter | None) -> Peer:
    litellm: Any = import_module("litellm")

    def compress(messages: Any, target: float) -> Any:
        found = litellm.compress(
            messages, model="claude-sonnet-4-5-20250929", call_type="anthropic_messages",
            compression_trigger=1, compression_target=int(target),
        )  # fmt: skip
        if reason := found.get("compression_skipped_reason"):
            raise ValueError(reason)
        return found["messages"]

    return Peer("litellm.compress", compress)


def harness_tiers(counter: TextCounter | None) -> Peer:
    """Its tiers that need no model, from the cheapest to the one that drops messages."""
    compaction: Any = import_module("pydantic_ai_harness.compaction")
    model: Any = import_module("pydantic_ai.models.test").TestModel()

    def compress(messages: Any, target: float) -> Any:
        tiers = [
            compaction.ClampOversizedMessages(max_part_tokens=4_000),
            compaction.ClearToolResults(max_tokens=1),
            compaction.SlidingWindowCompaction(
                max_messages=1, keep_tokens=int(target), tokenizer=counter
            ),
        ]
        tiered = compaction.TieredCompaction(tiers, target_tokens=int(target), tokenizer=counter)
        return asyncio.run(compaction.compact_now(tiered, messages, model=model))

    return Peer("pydantic-ai-harness tiers", compress, to_pydantic, from_pydantic)


PEERS: dict[str, Callable[[TextCounter | None], Peer]] = {
    **{name: plain(name, PLAIN[name]) for name in (LAST, TASK_AND_LAST, MASKING, USERS)},
    "LangChain trim_messages": trim_messages,
    "Agent Framework TokenBudget": token_budget,
    "litellm.compress": litellm_compress,
    "pydantic-ai-harness tiers": harness_tiers,
    "LangChain ClearToolUsesEdit": clear_tool_uses,
    "headroom compress": headroom,
    "Strands auto": strands_auto,
}
TOOLS = tuple(name for name in PEERS if name not in PLAIN)
"""The peers that have to be installed."""


@dataclass
class _Tokenizer:
    """A text counter with the interface of Agent Framework."""

    count: TextCounter

    def count_tokens(self, text: str) -> int:
        return self.count(text)
