"""A conversation as text for the model that summarises it, within a budget.

Every block is clipped head and tail, arguments of tool calls too: errors stand at ends. Thinking is
left out, pictures are named, secrets redacted.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence

from context_compression.authors import is_host_note, is_said
from context_compression.labels import without_labels
from context_compression.messages import (
    Block,
    Document,
    Image,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    is_object,
)
from context_compression.redaction import redact
from context_compression.refs import REF
from context_compression.selection import clip

BLOCK_CHARS = (6_000, 3_000, 1_500, 800, 400, 200)
"""How much of a block is shown: as much of these as the budget allows."""
LABELS = {
    "user": "[User]",
    "assistant": "[Assistant]",
    "system": "[Developer]",
    "developer": "[Developer]",
    "tool": "[Tool result]",
}
MARKS = re.compile(
    r"(?:\[…[^\]\n]*)?\n\.\.\. \[truncated [^\]\n]*\] \.\.\.\n(?:[^\]\n]*\])?|\n|\[…[^\]\n]*\]|…"
)
"""Between what a preview shows: marks of what is missing, one that cuts another with it."""
RECEIPT = re.compile(rf"^\[[^\n]*; ref ({REF})(?:; file ([^\n;\]]+))?[^\n]*\]")


def serialize(
    messages: Sequence[Message],
    max_tokens: int,
    count: Callable[[str], int],
    original: Callable[[str], str | None] = lambda ref: None,
) -> list[str]:
    """The messages as text, in as few parts of at most `max_tokens` as it takes.

    Args:
        messages: in order.
        max_tokens: of one part.
        count: tokens of a text.
        original: what an offloaded result held, by ref; `None` when that cannot be had.
    """
    names = {call.id: call.name for message in messages for call in message.calls}
    entries: list[str] = []
    for limit in BLOCK_CHARS:
        entries = [_entry(message, names, limit, original) for message in messages]
        text = "\n\n".join(filter(None, entries))
        if count(text) <= max_tokens:
            return [text] if text else []
    return _parts(entries, max_tokens, count)


def with_originals(message: Message, original: Callable[[str], str | None]) -> Message:
    """The message with what stood in its tool results before they were offloaded."""
    blocks = tuple(
        block.with_text(whole)
        if isinstance(block, ToolResult) and (whole := _whole(block.text, original)) != block.text
        else block
        for block in message.blocks
    )
    return message if blocks == message.blocks else message.with_blocks(blocks)


def _parts(entries: Sequence[str], max_tokens: int, count: Callable[[str], int]) -> list[str]:
    """Entries packed into parts; one that is too long for a part is clipped to it."""
    parts: list[list[str]] = [[]]
    left = max_tokens
    for entry in filter(None, entries):
        tokens = count(entry) + 2
        while tokens > max_tokens and len(entry) > 100:
            entry = clip(entry, len(entry) // 2)
            tokens = count(entry) + 2
        if tokens > left and parts[-1]:
            parts.append([])
            left = max_tokens
        parts[-1].append(entry)
        left -= tokens
    return ["\n\n".join(part) for part in parts]


def _entry(
    message: Message,
    names: Mapping[str, str],
    limit: int,
    original: Callable[[str], str | None],
) -> str:
    lines: list[str] = []
    for block in message.blocks:
        match block:
            case ToolCall():
                lines.append(f"[Assistant tool calls]: {_call(block, limit)}")
            case ToolResult():
                flag = " error" if block.is_error else ""
                text = without_labels(clip(_whole(block.text, original), limit))
                shown = "\n".join([text, *_named(block.content)])
                name = names.get(block.call_id, "unknown tool")
                lines.append(f"[Tool result] {name} {block.call_id}{flag}: {shown}")
            case Text():
                text, users = clip(block.text, 2 * limit), message.role == "user"
                shown = text if users and is_said(block.text) else without_labels(text)
                lines.append(f"{_label(message, block)}: {shown}")
            case Thinking():
                pass
            case Image() | Document() | Opaque():
                lines += [f"{LABELS[message.role]}: {name}" for name in _named([block])]
    return redact("\n".join(lines))


def _label(message: Message, text: Text) -> str:
    if message.role == "user" and not is_said(text.text):
        return "[Host]" if is_host_note(text.text) else "[Earlier note]"
    return LABELS[message.role]


def _call(call: ToolCall, limit: int) -> str:
    if not is_object(call.arguments):
        shown = without_labels(clip(call.arguments_text, limit))
        return f"{call.name}({shown}) {call.id}"
    shown = (
        f"{key}={clip(json.dumps(value, ensure_ascii=False), limit)}"
        for key, value in call.arguments.items()
    )
    return f"{call.name}({', '.join(shown)}) {call.id}"


def _whole(text: str, original: Callable[[str], str | None]) -> str:
    """What stood in a tool result before it was offloaded."""
    found = RECEIPT.match(text)
    if not found:
        return text
    whole = original(found[1])
    if whole is not None:
        shown = text[found.end() :].lstrip("\n")
        while (again := RECEIPT.match(shown)) and again[1] == found[1]:  # a preview of a preview
            shown = shown[again.end() :].lstrip("\n")
        return whole if _is_of(shown, whole) else text
    return f"[Content unavailable: {found[2]}]\n{text}" if found[2] else text


def _is_of(preview: str, whole: str) -> bool:
    """Whether all that a preview shows stands in the whole, in order; else it is none of it."""
    at = 0
    for part in map(str.strip, MARKS.split(preview)):
        at = whole.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


def _named(blocks: Sequence[Block]) -> list[str]:
    """Pictures, documents and what we do not know, by name."""
    names: list[str] = []
    for block in blocks:
        if isinstance(block, Image):
            names.append("[image]")
        elif isinstance(block, Document):
            title = block.source.get("title") if is_object(block.source) else None
            names.append(f"[document: {no_bracket(title)}]" if title else "[document]")
        elif isinstance(block, Opaque):
            kind = block.source.get("type") if is_object(block.source) else None
            names.append(f"[{no_bracket(kind) if kind else 'unknown content'}]")
    return names


def no_bracket(name: object) -> str:
    """A name that somebody else gave, as it may stand in brackets."""
    return " ".join(str(name).split()).replace("]", ")")
