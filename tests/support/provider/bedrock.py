"""What Amazon Bedrock's Converse API refuses.

Sources: the API reference (Message, ContentBlock, ToolUseBlock, ToolResultBlock, DocumentBlock),
patterns and lengths as in its service model; texts of its ValidationExceptions, quoted below.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from provider.reading import Json, Messages, blocks, call_ids, is_list, result_ids, twice

CALL_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")


def rules(messages: Messages) -> Iterator[str]:
    """Every rule of this API."""
    yield from _roles(messages)
    for number, message in enumerate(messages):
        yield from _shape(number, message)
    yield from _ids(messages)
    yield from _pairs(messages)


def _spoken(messages: Messages) -> list[Json]:
    """The messages that take turns; newer models take messages of role system in between."""
    return [message for message in messages if message.get("role") != "system"]


def _roles(messages: Messages) -> Iterator[str]:
    """The user begins and the two take turns.

    "A conversation must start with a user message", "… must alternate between user and assistant".
    """
    roles = [message.get("role") for message in _spoken(messages)]
    if roles and roles[0] != "user":
        yield "the first message is not the user's"
    if any(one == other for one, other in pairwise(roles)):
        yield "user and assistant do not take turns"
    yield from (f"no role: {role!r}" for role in roles if role not in ("user", "assistant"))


def _shape(number: int, message: Json) -> Iterator[str]:
    """A list of blocks known by their key; no blank text; thinking only of the assistant.

    "The text field in the ContentBlock object … is blank". A document needs a text beside it
    (reference, Message).
    """
    content: Any = message.get("content")
    if not is_list(content) or not content:
        yield f"message {number} has no list of blocks"
        return
    found = blocks(message)
    if len(found) < len(content) or any("type" in block for block in found):
        yield f"message {number} has a block of another API"
    if any("text" in block and not str(block["text"]).strip() for block in found):
        yield f"message {number} has a blank text"
    if any("document" in block for block in found) and not any("text" in b for b in found):
        yield f"message {number} has a document without a text"
    strange = result_ids if message.get("role") == "assistant" else call_ids
    thinks = any("reasoningContent" in block for block in found)
    if message.get("role") == "assistant" and "reasoningContent" in found[-1]:
        yield f"message {number} ends with reasoning"
    if strange(message) or (thinks and message.get("role") != "assistant"):
        yield f"message {number} of role {message.get('role')} holds what is the other's"


def _ids(messages: Messages) -> Iterator[str]:
    """Ids of calls are used once and fit the pattern of `toolUseId`."""
    ids = [call_id for message in messages for call_id in call_ids(message)]
    yield from (f"a call id is used twice: {call_id}" for call_id in twice(ids))
    yield from (f"no call id: {call_id!r}" for call_id in ids if not CALL_ID.fullmatch(call_id))


def _pairs(messages: Messages) -> Iterator[str]:
    """The next message answers every `toolUse`, and nothing else.

    "Expected toolResult blocks at messages.2.content for the following Ids", "The number of
    toolResult blocks … exceeds the number of toolUse blocks of previous turn".
    """
    waiting: list[str] = []
    spoken = _spoken(messages)
    for number, message in enumerate(spoken):
        answers = result_ids(message)
        if twice(answers) or not set(answers) <= set(waiting):
            yield f"toolResults {answers} for {waiting}"
        missing = [call_id for call_id in waiting if call_id not in answers]
        open_end = number == len(spoken) - 1 and all("toolResult" in b for b in blocks(message))
        if missing and not open_end:
            yield f"toolUse without toolResult: {missing}"
        waiting = call_ids(message)
