"""Messages are values; who sent them in which dialect is the business of `formats`.

A message keeps the object it was read from in `source`. As long as nobody edits the message, that
very object is what goes out again, so nothing we do not understand is damaged on the way through.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, TypeGuard

COMPRESSED = "[Compressed History]"
"""How every text of ours begins, so that nobody takes it for the user's words."""
STRANGER = "[This stood in a message of the wrong role]"
"""How a text begins that a repair made of something else; what follows in the message may be the
user's own."""

UNNAMED = "@"
"""How an id of ours begins, for a call that has none: results answer such in their order."""

Role: TypeAlias = Literal["system", "developer", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text."""

    text: str
    source: Any = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Thinking:
    """A model's reasoning. Never edited: it is byte-identical or gone.

    `bound`: a signature binds it to all that stands before it, so that it has to go where any of
    that is changed, with all other such reasoning of its tool loop.
    """

    text: str
    redacted: bool = False
    bound: bool = False
    source: Any = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Image:
    """A picture; `source` holds its data or address."""

    source: Any = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Document:
    """A file given as content (PDF or text); `text` is filled for plain-text documents only."""

    text: str = ""
    source: Any = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A request to run a tool. `arguments` is parsed JSON, or the raw string if it is not JSON.

    `unit` is the id of the server tool that makes the call, where one does. A `signed` call carries
    a signature that goes back to the provider with the very call. One that is `alone` has no other
    beside it in its message. `kind` is the dialect's word for calls of its sort.
    """

    id: str
    name: str
    arguments: Any
    source: Any = field(default=None, compare=False, repr=False)
    unit: str = ""
    signed: bool = False
    alone: bool = False
    kind: str = field(default="", compare=False)

    @property
    def arguments_text(self) -> str:
        """The arguments as compact JSON (the raw string where they are not JSON)."""
        if isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(self.arguments, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answered: texts, images, documents, opaque parts in `content`.

    `name` is the tool's, where the dialect says it with the result too; `kind` is that of the call.
    """

    call_id: str
    content: "tuple[Block, ...]"
    is_error: bool = False
    source: Any = field(default=None, compare=False, repr=False)
    name: str = field(default="", compare=False)
    kind: str = field(default="", compare=False)

    @property
    def text(self) -> str:
        """The text parts, joined by newlines."""
        texts = [block.text for block in self.content if isinstance(block, Text)]
        return texts[0] if len(texts) == 1 else "\n".join(texts)

    def with_text(self, text: str) -> "ToolResult":
        """The same result with one text in place of all its text parts; other parts stay."""
        others = tuple(block for block in self.content if not isinstance(block, Text))
        return replace(self, content=(Text(text), *others))


@dataclass(frozen=True, slots=True)
class Opaque:
    """A block we do not know: counted, never looked into, written back unchanged.

    The blocks of one `unit`, a call that the provider runs itself and its result, stay or leave
    together; `opens` tells the call. Tools that it `declares` may be called behind it alone.
    """

    source: Any = field(repr=False)
    unit: str = ""
    opens: bool = False
    declares: tuple[str, ...] = ()


Block: TypeAlias = Text | Thinking | Image | Document | ToolCall | ToolResult | Opaque


@dataclass(frozen=True, slots=True)
class Message:
    """One entry of a conversation. `source` is the object it was read from, `None` once edited."""

    role: Role
    blocks: tuple[Block, ...]
    source: Any = field(default=None, compare=False, repr=False)

    @property
    def text(self) -> str:
        """Its own text (no thinking, calls or results), joined by newlines."""
        return "\n".join(block.text for block in self.blocks if isinstance(block, Text))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls it makes."""
        return tuple([block for block in self.blocks if isinstance(block, ToolCall)])

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The tool results it carries."""
        return tuple([block for block in self.blocks if isinstance(block, ToolResult)])

    @property
    def has_thinking(self) -> bool:
        """Whether a thinking block stands in it."""
        return any(isinstance(block, Thinking) for block in self.blocks)

    @property
    def has_bound_thinking(self) -> bool:
        """Whether a thinking block stands in it that is bound to what stands before."""
        return any(isinstance(block, Thinking) and block.bound for block in self.blocks)

    @property
    def declares(self) -> tuple[str, ...]:
        """The tools that may be called because of it: search found them."""
        return tuple(
            name
            for block in self.blocks
            for part in (block.content if isinstance(block, ToolResult) else (block,))
            if isinstance(part, Opaque)
            for name in part.declares
        )

    @property
    def only_thinks(self) -> bool:
        """Whether nothing but reasoning stands in it, as a message of its own."""
        return bool(self.blocks) and all(isinstance(block, Thinking) for block in self.blocks)

    @property
    def is_system(self) -> bool:
        """Whether nobody who takes turns says it."""
        return self.role in ("system", "developer")

    @property
    def is_user(self) -> bool:
        """Whether the user says something in it; tool results alone are not the user's."""
        return self.role == "user" and any(not isinstance(b, ToolResult) for b in self.blocks)

    @property
    def starts_turn(self) -> bool:
        """Whether a turn begins here: the user's own message, carrying no tool result."""
        return self.is_user and not self.results

    @property
    def pattern(self) -> dict[str, Any]:
        """What it is written into: nothing; of an edited message all keys of what it was."""
        return {}

    def with_blocks(self, blocks: tuple[Block, ...]) -> "Message":
        """The same message with other blocks; `source` stays as the pattern to render it by."""
        return Edited(self.role, blocks, self.source)


@dataclass(frozen=True, slots=True)
class Edited(Message):
    """A message that was changed: its `source` is only the pattern for its other keys.

    One that is `detached` no longer names the reasoning it came with.
    """

    detached: bool = field(default=False, compare=False)

    @property
    def pattern(self) -> dict[str, Any]:
        """All keys of what it was read from; of one that is detached but its `id`."""
        found = dict(self.source or {})
        if self.detached:
            found.pop("id", None)
        return found

    def with_blocks(self, blocks: tuple[Block, ...]) -> "Message":
        """The same message with other blocks."""
        return Edited(self.role, blocks, self.source, self.detached)


def system(text: str) -> Message:
    """`system("be brief")` -> a system message."""
    return Message("system", (Text(text),))


def user(text: str) -> Message:
    """`user("hello")` -> a user message."""
    return Message("user", (Text(text),))


def assistant(text: str) -> Message:
    """`assistant("hello")` -> an assistant message."""
    return Message("assistant", (Text(text),))


def texts_of(block: Block) -> Iterator[str]:
    """Every text a reader of the block would see: what evidence is looked for in."""
    match block:
        case Text(text=text) | Thinking(text=text) | Document(text=text):
            yield text
        case ToolCall():
            yield block.name
            yield from strings_in(block.arguments)
        case ToolResult():
            for part in block.content:
                yield from texts_of(part)
        case Image() | Opaque():
            return


def is_object(value: Any) -> TypeGuard[Mapping[str, Any]]:
    """Whether it is a JSON object."""
    return type(value) is dict or isinstance(value, Mapping)  # the latter is slow, and asked a lot


def is_array(value: Any) -> TypeGuard[Sequence[Any]]:
    """Whether it is a JSON array (a string is none)."""
    if type(value) is str:
        return False
    return type(value) is list or (
        isinstance(value, Sequence) and not isinstance(value, str | bytes)
    )


def strings_in(value: Any) -> Iterator[str]:
    """Every string inside parsed JSON, keys left out, in order; of a number its digits."""
    return (text for _, text in named_strings(value))


def named_strings(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """The same, each with the key of the object it stands in."""
    if isinstance(value, str):
        yield name, value
    elif is_object(value):
        for key, item in value.items():
            yield from named_strings(item, key)
    elif is_array(value):
        for item in value:
            yield from named_strings(item, name)
    elif value is not None and not isinstance(value, bool):
        yield name, str(value)
