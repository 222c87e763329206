"""A conversation as text for the model that summarises it, within a token budget.

Every block and every argument of a call is redacted, then clipped. Redaction comes first, because
half a secret looks like other text. Clipping keeps the head and the tail of a text, because errors
are at ends. Thinking is left out; pictures are named.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from context_compression.conversation.arguments import with_texts
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
"""How many characters of a block are shown: the first of these limits that fits the budget."""
LABELS = {
    "user": "[User]",
    "assistant": "[Assistant]",
    "system": "[Developer]",
    "developer": "[Developer]",
    "tool": "[Tool result]",
}
LINE = r"[^\]\n]{0,400}"
MARKS = re.compile(
    rf"(?:\[…{LINE})?\n\.\.\. \[truncated {LINE}\] \.\.\.\n(?:{LINE}\])?|\n|\[…{LINE}\]|…"
)
"""The marks of gaps between the parts of a preview, and remains of marks that another mark cut."""
RECEIPT = re.compile(
    rf"^\[[^\n]{{0,2000}}; ref ({REF})(?:; file ([^\n;\]]{{1,4096}}+))?[^\n]{{0,2000}}\]"
)


def serialize(
    messages: Sequence[Message],
    max_tokens: int,
    count: Callable[[str], int],
    original: Callable[[str], str | None] = lambda ref: None,
) -> list[str]:
    """The messages as text, in as few parts of at most `max_tokens` as possible.

    Args:
        messages: in order.
        max_tokens: of one part.
        count: counts the tokens of a text.
        original: returns the text of an offloaded result by its ref; `None` if it is not available.
    """
    names = {
        call.id: with_single_spaces(call.name) for message in messages for call in message.calls
    }
    read = [[*_lines(message, names, original)] for message in messages]
    entries: list[str] = []
    for limit in BLOCK_CHARS:
        entries = ["\n".join(line.clipped(limit) for line in lines) for lines in read]
        text = "\n\n".join(filter(None, entries))
        if count(text) <= max_tokens:
            return [text] if text else []
    return _parts(entries, max_tokens, count)


def with_originals(message: Message, original: Callable[[str], str | None]) -> Message:
    """The message with the original texts of its offloaded tool results and arguments.

    The arguments are those of `serialize`.
    """

    def whole(block: Block) -> Block:
        match block:
            case ToolResult() if (text := _restored(block.text, original)) != block.text:
                return block.with_text(text)
            case ToolCall():
                return with_texts(block, lambda _, text: _restored(text, original))
            case _:
                return block

    blocks = tuple(map(whole, message.blocks))
    return message if blocks == message.blocks else message.with_blocks(blocks)


def _parts(entries: Sequence[str], max_tokens: int, count: Callable[[str], int]) -> list[str]:
    """Entries packed into parts; an entry that is too long for a part is clipped."""
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
    """The lines for the blocks of a message."""
    for block in message.blocks:
        match block:
            case ToolCall():
                block = with_texts(block, lambda _, text: _restored(text, original))
                parts = [*_arguments(block)]
                name, id = with_single_spaces(block.name), with_single_spaces(block.id)
                yield _Line(f"[Assistant tool calls]: {name}(", parts, f") {id}")
            case ToolResult():
                flag = " error" if block.is_error else ""
                name = names.get(block.call_id, "unknown tool")
                begins = f"[Tool result] {name} {with_single_spaces(block.call_id)}{flag}: "
                text = redact(_restored(block.text, original))
                named = "".join(f"\n{name}" for name in _named(block.content))
                yield _Line(begins, [("", text)], named)
            case Text():
                speaks = message.role == "user" and holds_user_words(block.text)
                begins = f"{_label(message, block)}: "
                yield _Line(begins, [("", redact(block.text))], "", times=2, speaks=speaks)
            case Thinking():
                pass
            case Opaque(text=text) if text:
                yield _Line("[Earlier note]: ", [("", redact(text))], "", times=2)
            case Image() | Document() | Opaque():
                for name in _named([block]):
                    yield _Line(f"{LABELS[message.role]}: {name}", [], "")


class _Line(NamedTuple):
    """A block as it is shown: redacted texts between a label and an end.

    Attributes:
        begins: the text before, with the label.
        texts: each with its prefix, `path=`; only the texts are clipped.
        ends: the text after.
        times: a text may have this many times the limit.
        speaks: whether the user speaks, so that text that looks like a label may stay.
    """

    begins: str
    texts: Sequence[tuple[str, str]]
    ends: str
    times: int = 1
    speaks: bool = False

    def clipped(self, limit: int) -> str:
        """The block as text, with about `limit` characters of each of its texts."""
        shown = (f"{name}{clip_redacted(text, self.times * limit)}" for name, text in self.texts)
        text = ", ".join(shown)
        return f"{self.begins}{text if self.speaks else without_labels(text)}{self.ends}"


def _label(message: Message, text: Text) -> str:
    if message.role == "user" and not holds_user_words(text.text):
        return "[Host]" if is_host_note(text.text) else "[Earlier note]"
    return LABELS[message.role]


def _arguments(call: ToolCall) -> Iterator[tuple[str, str]]:
    """The arguments of a call as `(prefix, text)`; the name may show that the text is a secret."""
    if not is_object(call.arguments):
        yield "", redact(call.arguments_text)
        return
    for key, value in call.arguments.items():
        name = f"{key}="
        text = redact(f"{name}{json.dumps(value, ensure_ascii=False)}")
        known = text.startswith(name)
        yield (name, text[len(name) :]) if known else ("", text)


def _restored(text: str, original: Callable[[str], str | None]) -> str:
    """The text of a tool result before it was offloaded; unchanged if it was not."""
    receipt = RECEIPT.match(text)
    if not receipt:
        return text
    full_text = original(receipt[1])
    if full_text is not None:
        shown = text[receipt.end() :].lstrip("\n")
        while (again := RECEIPT.match(shown)) and again[1] == receipt[1]:  # a preview of a preview
            shown = shown[again.end() :].lstrip("\n")
        return full_text if _is_of(shown, full_text) else text
    return f"[Content unavailable: {receipt[2]}]\n{text}" if receipt[2] else text


def _is_of(preview: str, full_text: str) -> bool:
    """Whether all parts of a preview are in a full text, in order; if not, it is another text's."""
    at = 0
    for part in map(str.strip, MARKS.split(preview)):
        at = full_text.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


def _named(blocks: Sequence[Block]) -> list[str]:
    """The names of pictures, documents and unknown content."""
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


def with_single_spaces(name: str) -> str:
    """A name on one line, for use after a label: a second line could contain a label."""
    return " ".join(name.split())


def no_bracket(name: object) -> str:
    """A name from outside, for use in brackets: the result cannot close them."""
    return " ".join(str(name).split()).replace("]", ")")
