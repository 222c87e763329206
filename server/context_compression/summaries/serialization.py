"""A conversation as text for the model that summarises it, within a budget.

Every block is redacted as a whole, then clipped head and tail, arguments of tool calls too: errors
stand at ends, and half a secret looks like any text. Thinking is left out, pictures are named.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from context_compression.conversation.authors import holds_user_words, is_host_note
from context_compression.conversation.labels import without_labels
from context_compression.conversation.messages import (
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
from context_compression.conversation.refs import REF
from context_compression.evidence.redaction import redact
from context_compression.planning.selection import clip_redacted

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
    names = {call.id: one_line(call.name) for message in messages for call in message.calls}
    read = [[*_lines(message, names, original)] for message in messages]
    entries: list[str] = []
    for limit in BLOCK_CHARS:
        entries = ["\n".join(line.clipped(limit) for line in lines) for lines in read]
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
            entry = clip_redacted(entry, len(entry) // 2)
            tokens = count(entry) + 2
        if tokens > left and parts[-1]:
            parts.append([])
            left = max_tokens
        parts[-1].append(entry)
        left -= tokens
    return ["\n\n".join(part) for part in parts]


def _lines(
    message: Message, names: Mapping[str, str], original: Callable[[str], str | None]
) -> Iterator["_Line"]:
    """What is shown of each block of a message."""
    for block in message.blocks:
        match block:
            case ToolCall():
                parts = [*_arguments(block)]
                name, id = one_line(block.name), one_line(block.id)
                yield _Line(f"[Assistant tool calls]: {name}(", parts, f") {id}")
            case ToolResult():
                flag = " error" if block.is_error else ""
                name = names.get(block.call_id, "unknown tool")
                begins = f"[Tool result] {name} {one_line(block.call_id)}{flag}: "
                text = redact(_whole(block.text, original))
                named = "".join(f"\n{name}" for name in _named(block.content))
                yield _Line(begins, [("", text)], named)
            case Text():
                speaks = message.role == "user" and holds_user_words(block.text)
                begins = f"{_label(message, block)}: "
                yield _Line(begins, [("", redact(block.text))], "", times=2, speaks=speaks)
            case Thinking():
                pass
            case Image() | Document() | Opaque():
                for name in _named([block]):
                    yield _Line(f"{LABELS[message.role]}: {name}", [], "")


class _Line(NamedTuple):
    """A block as it is shown: texts without secrets, between what we say of them.

    Attributes:
        begins: what stands before the texts.
        texts: each with what stands before it, `path=`; they are clipped.
        ends: what stands behind them.
        times: how many times the limit a text may have.
        speaks: whether labels in it are what they seem: in the user's words.
    """

    begins: str
    texts: Sequence[tuple[str, str]]
    ends: str
    times: int = 1
    speaks: bool = False

    def clipped(self, limit: int) -> str:
        """With so many characters of each text."""
        shown = (f"{name}{clip_redacted(text, self.times * limit)}" for name, text in self.texts)
        text = ", ".join(shown)
        return f"{self.begins}{text if self.speaks else without_labels(text)}{self.ends}"


def _label(message: Message, text: Text) -> str:
    if message.role == "user" and not holds_user_words(text.text):
        return "[Host]" if is_host_note(text.text) else "[Earlier note]"
    return LABELS[message.role]


def _arguments(call: ToolCall) -> Iterator[tuple[str, str]]:
    """The arguments of a call, each with its name before it, which may say that it is a secret."""
    if not is_object(call.arguments):
        yield "", redact(call.arguments_text)
        return
    for key, value in call.arguments.items():
        name = f"{key}="
        text = redact(f"{name}{json.dumps(value, ensure_ascii=False)}")
        known = text.startswith(name)
        yield (name, text[len(name) :]) if known else ("", text)


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
            names.append(f"[document: {no_bracket(redact(str(title)))}]" if title else "[document]")
        elif isinstance(block, Opaque):
            kind = block.source.get("type") if is_object(block.source) else None
            names.append(f"[{no_bracket(kind) if kind else 'unknown content'}]")
    return names


def one_line(name: str) -> str:
    """A name as it may stand behind a label: a line of its own could hold another."""
    return " ".join(name.split())


def no_bracket(name: object) -> str:
    """A name that somebody else gave, as it may stand in brackets."""
    return " ".join(str(name).split()).replace("]", ")")
