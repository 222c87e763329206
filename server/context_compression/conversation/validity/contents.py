"""Repairs within one message: empty texts are removed, blocks of the wrong role become texts."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from context_compression.conversation.messages import (
    STRANGER,
    Block,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    texts_of,
)


def is_plain_speech(message: Message) -> bool:
    """Whether a message needs no repair: it is one text, not blank, and not of role tool."""
    if len(message.blocks) != 1 or message.role == "tool":
        return False
    return isinstance(message.blocks[0], Text) and not _is_blank(message.blocks[0])


def with_valid_contents(index: int, message: Message, repairs: list[str]) -> Message | None:
    """The message with only the blocks that its role may have; `None` if it was empty.

    Args:
        index: its position in the conversation, for `repairs`.
        message: any message.
        repairs: a line is appended for each repair.
    """
    filled = tuple(_without_empty_texts(message.blocks))
    if not filled:
        repairs.append(f"message {index} was empty: left out")
        return None
    if filled != message.blocks and (len(message.blocks) > 1 or message.results):
        repairs.append(f"message {index} held an empty text: left out")
        message = message.with_blocks(filled)
    return _without_strangers(index, message, repairs)


def _without_strangers(index: int, message: Message, repairs: list[str]) -> Message:
    """The message with blocks of the wrong role made texts.

    Only the assistant has reasoning and calls; only other roles have results.
    """
    wrong = ToolResult if message.role == "assistant" else ToolCall | Thinking
    strangers = {type(b).__name__: None for b in message.blocks if isinstance(b, wrong)}
    if not strangers:
        return message
    kinds = " and a ".join(strangers)
    repairs.append(f"message {index} of role {message.role} held a {kinds}: made a text")
    blocks = (_as_text(b) if isinstance(b, wrong) else b for b in message.blocks)
    return message.with_blocks(tuple(blocks))


def _without_empty_texts(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks without empty texts, also inside results."""
    for block in blocks:
        if isinstance(block, ToolResult):
            parts = tuple(p for p in block.content if not (_is_blank(p) and _is_part(p)))
            yield block if len(parts) == len(block.content) else replace(block, content=parts)
        elif not _is_blank(block):
            yield block


def _is_blank(block: Block) -> bool:
    return isinstance(block, Text) and not block.text.strip()


def _is_part(block: Block) -> bool:
    """Whether a text was a part in a list; the text of a string result may be empty."""
    return isinstance(block, Text) and block.source is not None


def _as_text(stranger: Block) -> Text:
    text = "\n".join(texts_of(stranger))
    return Text(f"{STRANGER}\n{text if text.strip() else '(no text)'}")
