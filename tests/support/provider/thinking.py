"""Thinking that the API bound to what stood before it, in Claude's own API, Bedrock and the AI SDK.

Sources: Anthropic's guides "Preserved thinking", "Prefix checks on thinking blocks" and "Extended
thinking"; Amazon's "Preserved thinking" for Claude on Bedrock. A signature is good as long as all
content before the block is what it was; one change before it, or thinking left out before it,
makes this block and all later ones invalid. Within a tool loop the model wants to see all of its
thinking or none.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from provider.reading import Json, Messages, blocks, call_ids, is_object, kind, under


def unbound(given: Messages, view: Messages) -> list[str]:
    """Thinking in the view that the API refuses, as the model made it within `given`."""
    return [*_behind_a_change(given, view), *_shown_in_part(given, view)]


def is_bound(block: Json) -> bool:
    """Whether it is thinking that only the provider can check; unsigned thinking is bound to none.

    Anthropic's two types; Bedrock's `reasoningContent`; a `reasoning` part with a signature or
    sealed data among its provider's options.
    """
    if kind(block) == "redacted_thinking":
        return True
    if kind(block) == "thinking":
        return bool(block.get("signature"))
    if kind(block) == "reasoning":
        options: Any = block.get("providerOptions") or {}
        found = [option for option in options.values() if is_object(option)]
        return any(o.get("signature") or o.get("redactedData") for o in found)
    reasoning = under(block, "reasoningContent")
    if reasoning is None:
        return False
    text = under(reasoning, "reasoningText") or {}
    return "redactedContent" in reasoning or bool(text.get("signature"))


def _behind_a_change(given: Messages, view: Messages) -> Iterator[str]:
    """Bound thinking after the first block that is not what stood there in the input.

    Blocks are compared, not messages: consecutive messages of one role are one to the API, and
    what was edited behind a thought in its own message does not stand before it.
    """
    before = [(role, block) for _, role, block in _flat(given)]
    same = True
    for place, (number, role, block) in enumerate(_flat(view)):
        same = same and place < len(before) and before[place] == (role, block)
        if not same and is_bound(block):
            known = (role, block) in before
            fault = "stands behind a change" if known else "is not what it was"
            yield f"message {number}: its thinking {fault}"


def _flat(messages: Messages) -> Iterator[tuple[int, Any, Json]]:
    for number, message in enumerate(messages):
        for block in blocks(message):
            yield number, message.get("role"), block


def _shown_in_part(given: Messages, view: Messages) -> Iterator[str]:
    """Tool loops with thinking in some of the calls that had it, and not in others."""
    thoughtful, others = set[str](), set[str]()  # broken input may use an id in both
    for step in _steps(given):
        (thoughtful if _thinks(step) else others).update(_calls(step))
    thoughtful -= others
    shown: set[bool] = set()
    for step in _steps(view):
        if _is_the_users(step):
            shown = set()
        elif thoughtful & {*_calls(step)} and _thinks(step) not in shown:
            shown.add(_thinks(step))
            if len(shown) == 2:
                yield f"the loop with {next(_calls(step))} shows a part of its thinking"


def _steps(messages: Messages) -> Iterator[list[Json]]:
    """Consecutive messages of one role, which are one to the API."""
    return (list(group) for _, group in groupby(messages, key=lambda message: message.get("role")))


def _thinks(step: list[Json]) -> bool:
    return any(is_bound(block) for message in step for block in blocks(message))


def _calls(step: list[Json]) -> Iterator[str]:
    return (call_id for message in step for call_id in call_ids(message))


def _is_the_users(step: list[Json]) -> bool:
    """Whether the user says something in it; results and cache points are no words."""
    if step[0].get("role") != "user":
        return False
    found = [block for message in step for block in blocks(message)]
    return any(
        kind(block) != "tool_result" and not {"toolResult", "cachePoint"} & block.keys()
        for block in found
    )
