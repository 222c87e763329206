"""Messages and their blocks, as values without a dialect; `formats` reads and writes them.

A message keeps the object it was read from in `source`. A message that was not edited is written as
that same object, so content that this package does not understand stays intact.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, TypeGuard

COMPRESSED = "[Compressed History]"
"""The beginning of every text of this package, so that no model takes it for the user's words."""
STRANGER = "[This stood in a message of the wrong role]"
"""The beginning of a text that a repair made from another block; other texts in the message may be
the user's."""
UNNAMED = "@"
"""The beginning of an id that this package gave to a call without one; results answer by order."""

Role: TypeAlias = Literal["system", "developer", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text."""

    text: str
    source: Any = field(default=None, compare=False, repr=False)
    by_harness: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Thinking:
    """A model's reasoning. It is never edited: it stays byte-identical or is removed.

    `bound` reasoning has a signature that binds it to everything before it. If anything before it
    changes, it must be removed, together with all other bound reasoning of its tool loop.
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
    signature that must be sent back to the provider with it. An `alone` call is the only call in
    its message. `kind` is the dialect's name for it. `written` is what came, if that was text.
    """

    id: str
    name: str
    arguments: Any
    source: Any = field(default=None, compare=False, repr=False)
    unit: str = ""
    signed: bool = False
    alone: bool = False
    kind: str = field(default="", compare=False)
    written: str = field(default="", compare=False, repr=False)

    @property
    def arguments_text(self) -> str:
        """The arguments as compact JSON, or the raw string if they are not JSON."""
        if isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(self.arguments, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool: texts, images, documents and opaque parts in `content`.

    `name` is the tool's name, in dialects that repeat it with the result. `kind` is the kind of the
    call. `said` is what the user says in it: an answer, or the reason of a rejection. That is a
    `claim` if only the wording shows it, which any tool could print: it is `"unmarked"` if the
    dialect has no mark for a rejected call, and `"unlikely"` if it has one that is missing.
    """

    call_id: str
    content: "tuple[Block, ...]"
    is_error: bool = False
    source: Any = field(default=None, compare=False, repr=False)
    name: str = field(default="", compare=False)
    kind: str = field(default="", compare=False)
    said: str = field(default="", compare=False)
    claim: Literal["", "unmarked", "unlikely"] = field(default="", compare=False)

    @property
    def text(self) -> str:
        """The text parts, joined by newlines."""
        texts = [block.text for block in self.content if isinstance(block, Text)]
        return texts[0] if len(texts) == 1 else "\n".join(texts)

    def with_text(self, text: str) -> "ToolResult":
        """The same result with one text in place of all its text parts; other parts are kept."""
        others = tuple(block for block in self.content if not isinstance(block, Text))
        return replace(self, content=(Text(text), *others), said="", claim="")


@dataclass(frozen=True, slots=True)
class Opaque:
    """A block of an unknown kind: it is counted and written back unchanged.

    The blocks of one `unit` (a call that the provider runs itself, and its result) are kept or
    removed together; `opens` marks the call. Tools that a block `declares` may only be called after
    it. A message with a block that `stays` is never removed. A block `stands_for` the earlier
    conversation if a provider compacted it; `text` is the readable part of that. `said` is the
    user's reason in the answer to a request for approval.
    """

    source: Any = field(repr=False)
    unit: str = ""
    opens: bool = False
    declares: tuple[str, ...] = ()
    stays: bool = False
    stands_for: bool = False
    text: str = field(default="", repr=False)
    said: str = field(default="", compare=False)


Block: TypeAlias = Text | Thinking | Image | Document | ToolCall | ToolResult | Opaque


@dataclass(frozen=True, slots=True)
class Message:
    """One entry of a conversation. `source` is the object it was read from, `None` if it is new."""

    role: Role
    blocks: tuple[Block, ...]
    source: Any = field(default=None, compare=False, repr=False)

    @property
    def text(self) -> str:
        """The text blocks, joined by newlines, without thinking, calls and results."""
        return "\n".join(block.text for block in self.blocks if isinstance(block, Text))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """Its tool calls."""
        return tuple([block for block in self.blocks if isinstance(block, ToolCall)])

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """Its tool results."""
        return tuple([block for block in self.blocks if isinstance(block, ToolResult)])

    @property
    def said(self) -> str:
        """What the user says in its tool results and approvals, joined by newlines."""
        blocks = (b for b in self.blocks if isinstance(b, ToolResult | Opaque))
        return "\n".join([block.said for block in blocks if block.said])

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
        """The names of the tools that a tool search returned; they may be called from here on."""
        return tuple(
            name
            for block in self.blocks
            for part in (block.content if isinstance(block, ToolResult) else (block,))
            if isinstance(part, Opaque)
            for name in part.declares
        )

    @property
    def stays(self) -> bool:
        """Whether it is never removed, because of a block that stays."""
        return any(isinstance(block, Opaque) and block.stays for block in self.blocks)

    @property
    def stands_for_earlier(self) -> bool:
        """Whether it holds the earlier conversation as a provider compacted it."""
        return any(isinstance(block, Opaque) and block.stands_for for block in self.blocks)

    @property
    def is_item(self) -> bool:
        """Whether it is an item of OpenAI Responses that is one opaque block, not a message."""
        block = self.blocks[0] if len(self.blocks) == 1 else None
        return isinstance(block, Opaque) and block.source is self.source

    @property
    def only_thinks(self) -> bool:
        """Whether it consists of reasoning only."""
        return bool(self.blocks) and all(isinstance(block, Thinking) for block in self.blocks)

    @property
    def is_system(self) -> bool:
        """Whether it is a system or developer message."""
        return self.role in ("system", "developer")

    @property
    def is_user(self) -> bool:
        """Whether it is the user's; a user message with only tool results or approvals is not."""
        return self.role == "user" and not all(map(_answers, self.blocks))

    @property
    def starts_turn(self) -> bool:
        """Whether a turn begins here: it is the user's, has no tool results, and is no reminder."""
        return self.is_user and not self.results and not self.is_reminder

    @property
    def is_reminder(self) -> bool:
        """Whether it holds only texts that a harness repeats."""
        return bool(self.blocks) and all(isinstance(b, Text) and b.by_harness for b in self.blocks)

    @property
    def pattern(self) -> dict[str, Any]:
        """The dict it is written into: empty, or for an edited message a copy of its `source`."""
        return {}

    def with_blocks(self, blocks: tuple[Block, ...]) -> "Message":
        """The same message with other blocks; `source` is kept for the message's other keys."""
        return Edited(self.role, blocks, self.source)


@dataclass(frozen=True, slots=True)
class Edited(Message):
    """A message that was changed; only its other keys are still taken from `source`.

    A `detached` message is written without its `id`, and thus without its link to reasoning.
    """

    detached: bool = field(default=False, compare=False)

    @property
    def pattern(self) -> dict[str, Any]:
        """A copy of the object it was read from, without the `id` if it is detached."""
        pattern = dict(self.source or {})
        if self.detached:
            pattern.pop("id", None)
        return pattern

    def with_blocks(self, blocks: tuple[Block, ...]) -> "Message":
        """The same message with other blocks."""
        return Edited(self.role, blocks, self.source, self.detached)


def _answers(block: Block) -> bool:
    """Whether a block only answers a call, or the question whether to make one."""
    return isinstance(block, ToolResult) or (isinstance(block, Opaque) and bool(block.unit))


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
    """The texts of a block, in which evidence is searched; none for pictures."""
    match block:
        case Text(text=text) | Thinking(text=text) | Document(text=text):
            yield text
        case ToolCall():
            yield block.name
            yield from strings_in(block.arguments)
        case ToolResult():
            for part in block.content:
                yield from texts_of(part)
        case Opaque():
            yield from filter(None, [block.text, block.said])
        case Image():
            return


def is_object(value: Any) -> TypeGuard[Mapping[str, Any]]:
    """Whether it is a JSON object."""
    return type(value) is dict or isinstance(value, Mapping)  # `isinstance` is slow here


def is_array(value: Any) -> TypeGuard[Sequence[Any]]:
    """Whether it is a JSON array, which a string is not."""
    if type(value) is str:
        return False
    return type(value) is list or (
        isinstance(value, Sequence) and not isinstance(value, str | bytes)
    )


def as_object(value: Any) -> Mapping[str, Any]:
    """The value if it is a JSON object, else an empty object."""
    return value if is_object(value) else {}


def objects(value: Any) -> list[Mapping[str, Any]]:
    """The JSON objects in a list."""
    return [part for part in value if is_object(part)] if is_array(value) else []


def strings_in(value: Any) -> Iterator[str]:
    """Every string in parsed JSON, and every number as a string, in order; keys are left out."""
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


def is_by_model(message: Mapping[str, Any]) -> bool:
    """Whether a raw message is the model's: by its role, or as an item that is no tool result."""
    kind = str(message.get("type", ""))
    item = "role" not in message and (kind == "reasoning" or kind.endswith("_call"))
    return message.get("role") in ("assistant", "model") or item


def unanswered(messages: Sequence[Any]) -> int:
    """How many raw messages at the end the model has not answered; all if it answered none."""
    answers = (not is_object(message) or is_by_model(message) for message in reversed(messages))
    return next((count for count, answer in enumerate(answers) if answer), len(messages))
