"""The user's words in tool results: answers to questions, and reasons of rejected calls.

The text of a result is written by a tool, and so by whoever wrote the page, the file or the server
behind it; a tool also decides whether its result is an error. So neither can show that the user
speaks. This is decided by what a tool cannot write:

    origin                                             the words are
    the mark of an adapter, or of the program itself   as it says: the user's, or nobody's
    (`BY_USER`)
    the reason in an answer to a request for approval  the user's
    (OpenAI's item, the AI SDK's parts)
    a question tool of a host or framework, by its     the user's
    exact name (`questions.KNOWN`)
    a tool that is named like one                      a claim
    the wording of a rejection, in a failed call or    a claim
    in a dialect that does not mark failed calls
    the wording of a rejection, in a call that the     a claim, which is unlikely
    dialect says to have succeeded
    everything else                                    nobody's

A claim is kept like words of the user, after what the user typed. It is never called the user's,
never part of the minimum size, and never pushes out what the user typed. Hosts that record who
rejected a call are read by `hosts`; `docs/hosts.md` has what each of them records.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from context_compression.conversation.authors.questions import (
    answer_in,
    asks_user,
    is_question_tool,
)
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
"""The most characters of a result that may be a rejection by its wording alone."""


def with_answers(messages: Sequence[Message], *, flags_errors: bool) -> list[Message]:
    """The messages, in which results and approvals know what of them the user said.

    Args:
        messages: one conversation.
        flags_errors: whether its dialect marks a result of a call that did not succeed.
    """
    asked: dict[str, str] = {}
    marked: list[Message] = []
    for message in messages:
        asked.update((call.id, call.name) for call in message.calls)
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
    block: ToolResult | Opaque | Text, asked: Mapping[str, str], *, flags_errors: bool
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
    tool = asked.get(block.call_id, block.name)
    reason = "\n".join(filter(None, map(reason_in, _texts(block))))
    answers = by_host or (asks_user(tool) and not block.is_error)
    said = reason or ("\n".join(filter(None, map(answer_in, _texts(block)))) if answers else "")
    if not said or by_host or is_question_tool(tool):
        return replace(block, said=said) if said else block
    if answers:
        return replace(block, said=said, claim="unmarked")
    if len(block.text) > LONGEST_CLAIM:
        return block
    unlikely = flags_errors and not block.is_error
    return replace(block, said=said, claim="unlikely" if unlikely else "unmarked")


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
