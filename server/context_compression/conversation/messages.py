"""Messages and their blocks, as values without a dialect; `formats` reads and writes them.

A message keeps the object it was read from in `source`. A message that nobody edits is written as
that very object, so nothing that this package does not understand is damaged.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, TypeGuard

COMPRESSED = "[Compressed History]"
"""The beginning of every text of this package: no model must take it for the user's words."""
STRANGER = "[This stood in a message of the wrong role]"
"""The beginning of a text that a repair made of another block; other texts in the message may be
the user's."""
UNNAMED = "@"
"""The beginning of an id of this package, for a call without one: results answer it by order."""

Role: TypeAlias = Literal["system", "developer", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text."""

    text: str
    source: Any = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Thinking:
    """A model's reasoning. It is never edited: it stays byte-identical or is removed.

    `bound`: a signature binds it to everything before it. If any of that changes, it must be
    removed, with all other bound reasoning of its tool loop.
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

    `unit` is the id of the server tool that makes the call, if one does. A `signed` call has a
    signature that goes back to the provider with it. A call that is `alone` is the only one in its
    message. `kind` is the dialect's word for this sort of call.
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
    """The answer of a tool: texts, images, documents and opaque parts in `content`.

    `name` is that of the tool, in dialects that repeat it with the result; `kind` that of the call.
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
    """A block of an unknown kind: it is counted and written back unchanged.

    The blocks of one `unit` (a call that the provider runs itself, and its result) stay or leave
    together; `opens` marks the call. Tools that a block `declares` may be called only behind it.
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
        """The text blocks, joined by newlines; no thinking, calls or results."""
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
        """Whether it has a thinking block."""
        return any(isinstance(block, Thinking) for block in self.blocks)

    @property
    def has_bound_thinking(self) -> bool:
        """Whether it has a thinking block that is bound to what comes before."""
        return any(isinstance(block, Thinking) and block.bound for block in self.blocks)

    @property
    def declares(self) -> tuple[str, ...]:
        """The names of the tools that may be called because of it: a tool search returned them."""
        return tuple(
            name
            for block in self.blocks
            for part in (block.content if isinstance(block, ToolResult) else (block,))
            if isinstance(part, Opaque)
            for name in part.declares
        )

    @property
    def only_thinks(self) -> bool:
        """Whether it consists of reasoning only."""
        return bool(self.blocks) and all(isinstance(block, Thinking) for block in self.blocks)

    @property
    def is_system(self) -> bool:
        """Whether it is an instruction, of no party that takes turns."""
        return self.role in ("system", "developer")

    @property
    def is_user(self) -> bool:
        """Whether it is the user's; a message of tool results only is not."""
        return self.role == "user" and any(not isinstance(b, ToolResult) for b in self.blocks)

    @property
    def starts_turn(self) -> bool:
        """Whether a turn begins here: the user's own message, carrying no tool result."""
        return self.is_user and not self.results

    @property
    def pattern(self) -> dict[str, Any]:
        """The keys it is written into: none, or those an edited message was read from."""
        return {}

    def with_blocks(self, blocks: tuple[Block, ...]) -> "Message":
        """The same message with other blocks; `source` stays as the pattern to render it by."""
        return Edited(self.role, blocks, self.source)


@dataclass(frozen=True, slots=True)
class Edited(Message):
    """A message that was changed; `source` gives only the pattern for its other keys.

    A `detached` message no longer names the reasoning it came with.
    """

    detached: bool = field(default=False, compare=False)

    @property
    def pattern(self) -> dict[str, Any]:
        """All keys of the object it was read from, without the `id` if it is detached."""
        pattern = dict(self.source or {})
        if self.detached:
            pattern.pop("id", None)
        return pattern

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
    """Every text that a reader of the block sees; evidence is searched in these."""
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
    return type(value) is dict or isinstance(value, Mapping)  # `isinstance` is slow here


def is_array(value: Any) -> TypeGuard[Sequence[Any]]:
    """Whether it is a JSON array; a string is not."""
    if type(value) is str:
        return False
    return type(value) is list or (
        isinstance(value, Sequence) and not isinstance(value, str | bytes)
    )


def as_object(value: Any) -> Mapping[str, Any]:
    """The value where it is a JSON object, else an empty one."""
    return value if is_object(value) else {}


def objects(value: Any) -> list[Mapping[str, Any]]:
    """The JSON objects in a list."""
    return [part for part in value if is_object(part)] if is_array(value) else []


def strings_in(value: Any) -> Iterator[str]:
    """Every string in parsed JSON, in order, and every number as a string; no keys."""
    return (text for _, text in named_strings(value))


def named_strings(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """The strings of `strings_in`, each as `(key, string)` with the key of the object it is in."""
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
