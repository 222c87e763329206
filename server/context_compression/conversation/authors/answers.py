"""The user's words in tool results: answers to questions, and reasons of rejected calls.

A result is the user's by its origin: its call asks the user, or whoever wrote the message marked it
(`BY_USER`, which also tells that a text of role user is not the user's). Only where nobody knows is
the wording of a rejection believed, and only where hosts write it: as all of a result that is
marked as an error. A result without that mark only claims to be the user's: it is kept, but never
called the user's, and never comes before what the user typed.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from context_compression.conversation.authors.questions import answer_in, asks_user
from context_compression.conversation.authors.rejections import reason_in
from context_compression.conversation.cache_marks import BY_USER
from context_compression.conversation.messages import (
    Block,
    Message,
    Opaque,
    Text,
    ToolResult,
    as_object,
    is_object,
)

LONGEST_CLAIM = 1_500
"""The most characters of a result that is believed to be a rejection by its wording alone."""


def with_answers(messages: Sequence[Message], *, flags_errors: bool) -> list[Message]:
    """The messages, in which results and approvals know what of them the user said.

    Args:
        messages: one conversation.
        flags_errors: whether its dialect marks a result of a call that did not succeed.
    """
    asked: dict[str, bool] = {}
    marked: list[Message] = []
    for message in messages:
        asked.update((call.id, asks_user(call.name)) for call in message.calls)
        blocks = tuple(
            _marked(block, asked, flags_errors=flags_errors)
            if isinstance(block, ToolResult | Opaque | Text)
            else block
            for block in message.blocks
        )
        same = all(map(_is, blocks, message.blocks))
        marked.append(message if same else replace(message, blocks=blocks))
    return marked


def _is(one: object, other: object) -> bool:
    return one is other


def _marked(
    block: ToolResult | Opaque | Text, asked: dict[str, bool], *, flags_errors: bool
) -> Block:
    if isinstance(block, Text):
        by_host = as_object(block.source).get(BY_USER)
        return replace(block, by_harness=True) if by_host is False else block
    if isinstance(block, Opaque):
        said = _reason_of(block.source)
        return replace(block, said=said) if said else block
    by_host = as_object(block.source).get(BY_USER)
    if block.said or by_host is False:
        return block
    if isinstance(by_host, str):
        said = _still_in("\n".join(_texts(block)), by_host)
        return replace(block, said=said) if said else block
    question = asked.get(block.call_id, asks_user(block.name))
    said = "\n".join(filter(None, map(reason_in, _texts(block))))
    if by_host or (question and not block.is_error):
        said = said or "\n".join(filter(None, map(answer_in, _texts(block))))
        return replace(block, said=said) if said else block
    if not said or (not question and len(block.text) > LONGEST_CLAIM):
        return block
    if question or (flags_errors and block.is_error):
        return replace(block, said=said)
    return replace(block, said=said, claim="unlikely" if flags_errors else "unmarked")


def _still_in(text: str, words: str) -> str:
    """The words if a text has them; else those of their lines that it has, as it may be shortened.

    A text that is JSON has them with escapes.
    """

    def stands(part: str) -> bool:
        return part in text or json.dumps(part, ensure_ascii=False)[1:-1] in text

    words = words.strip()
    if stands(words):
        return words
    return "\n".join(line for line in words.splitlines() if line.strip() and stands(line.strip()))


def _texts(result: ToolResult) -> Iterable[str]:
    """The texts of a result; those of unknown parts with JSON as their JSON."""
    for part in result.content:
        if isinstance(part, Text):
            yield part.text
        elif isinstance(part, Opaque) and is_object(part.source):
            inner = part.source.get("json", part.source.get("value"))
            if inner is not None:
                yield json.dumps(inner, ensure_ascii=False, default=str)


def _reason_of(block: Any) -> str:
    """The user's words in an answer to a request for approval: OpenAI's item, the AI SDK's part."""
    match block:
        case {
            "type": "mcp_approval_response" | "tool-approval-response",
            "reason": str(reason),
        }:
            return reason.strip()
        case _:
            return ""
