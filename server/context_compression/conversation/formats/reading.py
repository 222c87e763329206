"""`parse`, which recognises the dialect of dicts, checks them, and makes a `Conversation`.

Formats that are recognised, by `foreign.txt`, but not read, are refused by name.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import islice
from typing import Any, Protocol, cast, overload

from context_compression.conversation import text_protocol
from context_compression.conversation.authors import with_answers
from context_compression.conversation.formats import (
    ai_sdk,
    anthropic,
    bedrock,
    gemini,
    openai_chat,
    responses,
)
from context_compression.conversation.formats.parts import (
    LOOKED_AT,
    ROLES,
    Ids,
    ProviderRules,
    Shape,
    fits,
    has_halves,
    plain,
    why_not_json,
    without_halves,
)
from context_compression.conversation.messages import Edited, Message, is_array, is_object
from context_compression.errors import InvalidConversation


class Format(Protocol):
    """Reads and writes the messages of one dialect.

    Attributes:
        name: the name of the dialect.
        system_apart: whether the system prompt is outside the messages, as a text or text blocks. A
            summary may then be put into it.
        flags_errors: whether a result says whether its call failed, apart from its text.
        rules: the rules of the dialect's providers.
    """

    name: str
    system_apart: bool
    flags_errors: bool
    rules: ProviderRules

    def read(self, message: Mapping[str, Any], ids: Ids | None = None) -> Message:
        """The message as a value; its `source` is the same object.

        Args:
            message: a dict of the dialect.
            ids: gives ids to calls that have none; one for all messages of a conversation.
        """
        ...

    def write(self, message: Message) -> dict[str, Any]:
        """An edited or new message as a dict of the dialect."""
        ...


DIALECTS = (ai_sdk, bedrock, gemini, responses, openai_chat, anthropic)
"""The modules of the dialects, in the order in which they are tried.

The last two would also take messages of the others for their own."""


def detect(
    messages: Sequence[Mapping[str, Any]], distinctive: Sequence[Mapping[str, Any]] | None = None
) -> Format:
    """The dialect of a conversation, recognised by the shape of its messages.

    The first message that is certainly of one dialect decides, such as one with a tool call or
    result. Without one, the first message with another part of a dialect decides. Without either, a
    system, developer or tool role means OpenAI Chat, and plain texts mean Anthropic. Tools decide
    before pictures: a picture that is read in the wrong dialect stays unchanged, but a call would
    lose its result.

    Args:
        messages: all messages.
        distinctive: the messages that are more than a role and a text, if the caller knows them.
    """
    first: Format | None = None
    for message in messages if distinctive is None else distinctive:
        if is_plain_text(message):
            continue
        for module in DIALECTS:
            certainty = module.certainty(message)
            if certainty == 2:
                return module.FORMAT
            if certainty and first is None:
                first = module.FORMAT
    if first is not None:
        return first
    of_openai = any(m.get("role") in ("system", "developer", "tool") for m in messages)
    return openai_chat.FORMAT if of_openai else anthropic.FORMAT


def is_certain(message: Mapping[str, Any], dialect: Format) -> bool:
    """Whether a message alone shows that a conversation is of a dialect."""
    if is_plain_text(message):
        return False
    return any(m.FORMAT is dialect and m.certainty(message) == 2 for m in DIALECTS)


def is_plain_text(message: Mapping[str, Any]) -> bool:
    """Whether a message is only a role and a text, which all dialects have in common."""
    return isinstance(message.get("content"), str) and len(message) == 2


@dataclass(frozen=True)
class Conversation(Sequence[Mapping[str, Any]]):
    """A conversation as values, and the dialect it came in.

    Functions that take messages also take a `Conversation`, and do not parse it again.

    Attributes:
        raw: the messages as JSON; messages that came as JSON are the same objects.
        messages: the same messages as values.
        format: the dialect.
    """

    raw: Sequence[Mapping[str, Any]]
    messages: tuple[Message, ...]
    format: Format

    @overload
    def __getitem__(self, index: int) -> Mapping[str, Any]: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Mapping[str, Any]]: ...

    def __getitem__(self, index: int | slice) -> Mapping[str, Any] | Sequence[Mapping[str, Any]]:
        return self.raw[index]

    def __len__(self) -> int:
        return len(self.raw)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self.raw)

    def first(self, number: int) -> "Conversation":
        """Its first messages."""
        return Conversation(self.raw[:number], self.messages[:number], self.format)

    def render(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        """Messages as dicts of this dialect; messages that were not edited are the same objects."""
        return [
            self._written(message)
            if message.source is None or isinstance(message, Edited)
            else message.source
            for message in messages
        ]

    def _written(self, message: Message) -> dict[str, Any]:
        written = self.format.write(text_protocol.written(message))
        if self.unknown_types and "role" in written:  # nothing else may show what items these are
            written = {"type": "message", **written}
        return without_halves(written) if self.without_halves else written

    @cached_property
    def unknown_types(self) -> tuple[str, ...]:
        """The types of the items that are not known here, which always stay; each type once."""
        if self.format is not responses.FORMAT:
            return ()
        return tuple(dict.fromkeys(filter(None, map(responses.unknown_type, self.raw))))

    @cached_property
    def without_halves(self) -> Mapping[int, Message]:
        """By index: the messages with a lone surrogate, each with U+FFFD in its place."""
        broken = {i for i, message in enumerate(self.raw) if has_halves(message)}
        if not broken:
            return {}
        raw = [without_halves(m) if i in broken else m for i, m in enumerate(self.raw)]
        values = read_messages(raw, self.format)
        return {i: Edited(values[i].role, values[i].blocks, self.raw[i]) for i in broken}


def read_messages(raw: Sequence[Mapping[str, Any]], dialect: Format) -> list[Message]:
    """The messages of one conversation as values."""
    ids = Ids()
    messages = [dialect.read(message, ids) for message in raw]
    return with_answers(messages, flags_errors=dialect.flags_errors)


TYPES: Mapping[str, Shape] = {"<str>": str, "<dict>": dict, "<list>": list, "<any>": object}
DEEPEST = 4
"""How many nested levels of lists and request bodies are searched."""


@dataclass
class ForeignFormat:
    """A format that is no dialect of ours: a section of `foreign.txt`, which explains it."""

    description: str
    advice: list[str] = field(default_factory=list[str])
    shapes: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    holds_messages: bool = False
    package: str = ""

    @property
    def sentence(self) -> str:
        """The text of the refusal: description and advice."""
        return f"{self.description}. {' '.join(self.advice)}"


@cache
def formats() -> Sequence[ForeignFormat]:
    """All foreign formats, in the order of their file."""
    from importlib.resources import files  # here: it costs 20 ms

    found: list[ForeignFormat] = []
    file = files("context_compression.conversation.formats") / "foreign.txt"
    for line in file.read_text("utf-8").splitlines():
        if line.startswith("["):
            found.append(ForeignFormat(line[1:-1]))
        elif line.startswith(" "):
            found[-1].shapes.append(_shape_of(json.loads(line)))
        elif line.startswith("package: "):
            found[-1].package = line.removeprefix("package: ")
        elif line == "holds messages":
            found[-1].holds_messages = True
        elif line and not line.startswith("#"):
            found[-1].advice.append(line)
    return found


def _shape_of(written: Any) -> Any:
    """A shape from its JSON: `{"role": "<str>", "kind": "a|b"}`."""
    if isinstance(written, str):
        return TYPES.get(written) or tuple(written.split("|"))
    if is_array(written):
        return [_shape_of(each) for each in written]
    return {k: _shape_of(v) for k, v in written.items()} if is_object(written) else written


def refusal(value: Any) -> str | None:
    """Which foreign format a value is in and what to pass instead; `None` if it is in none.

    `refusal({"chat_messages": []})` -> `"This is an export of claude.ai. Convert …"`

    Args:
        value: a message, a list of messages, or any value that the caller passed instead.
    """
    known = _format_of(value, DEEPEST)
    return known.sentence if known else None


def _format_of(value: Any, levels: int) -> ForeignFormat | None:
    if levels == 0:
        return None
    if is_object(value):
        return _format_of_object(value, levels)
    if is_array(value):
        inner = (_format_of(item, levels - 1) for item in islice(value, LOOKED_AT))
        return next(filter(None, inner), None)
    module = f"{getattr(value, '__module__', '')}."
    libraries = (known for known in formats() if known.package)
    return next((known for known in libraries if module.startswith(f"{known.package}.")), None)


def _format_of_object(value: Mapping[str, Any], levels: int) -> ForeignFormat | None:
    fitting = [
        (place, key)
        for key in value
        for place, shape in _shapes_by_key().get(key, ())
        if fits(value, shape)
    ]
    if not fitting:
        return None
    place, key = min(fitting)
    outer = formats()[place]
    inner = _format_of(value[key], levels - 1) if outer.holds_messages else None
    return inner or outer


@cache
def _shapes_by_key() -> Mapping[str, Sequence[tuple[int, dict[str, Any]]]]:
    """By the first key of a shape: the position of its format in `formats`, with the shape."""
    shapes: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for place, known in enumerate(formats()):
        for shape in known.shapes:
            shapes.setdefault(next(iter(shape)), []).append((place, shape))
    return shapes


CONTENT_KEYS = frozenset(
    {"content", "parts", "tool_calls", "function_call", "refusal", "audio", *openai_chat.EXTRA_KEYS}
)
"""The keys under which a message of any dialect may hold its content."""
NAMED_KEYS = 8
"""How many keys of a message an error names at most."""
HOW_TO_PASS = (
    "Pass the messages as Anthropic, OpenAI (Chat or Responses), Gemini, Bedrock Converse or the "
    'AI SDK have them: [{"role": "user", "content": "…"}, …].'
)


def may_be_message(value: Any) -> bool:
    """Whether a value has the outer shape of a message in one of the dialects."""
    if not is_object(value) or not isinstance(value.get("content", ""), str | list | None):
        return False
    return isinstance(value.get("role", value.get("type")), str) or "parts" in value


def check(index: int, message: Any, *, of_items: bool = False) -> None:
    """Refuse a value that is not a message in any dialect.

    Args:
        index: its position in the conversation, for the error.
        message: the value that the caller passed.
        of_items: whether it is among items of OpenAI Responses. Items have a type and no role, and
            new types come out each year, so any type is accepted there.

    Raises:
        InvalidConversation: it is in a foreign format, has no valid role or content, or holds a
            value that is not JSON.
    """
    foreign = refusal(message)
    if not is_object(message):
        raise InvalidConversation(
            foreign
            or f"Message {index} is {type(message).__name__}, not an object with role and "
            f"content. {HOW_TO_PASS}",
            index,
        )
    if foreign:
        raise InvalidConversation(f"Message {index} cannot be read. {foreign}", index)
    role = message.get("role")
    if responses.is_item(message) or (of_items and isinstance(message.get("type"), str)):
        pass  # most items have no role
    elif role is None and gemini.certainty(message) == 2:
        pass  # a Gemini content without a role is the user's
    elif not isinstance(role, str) or role not in ROLES:
        allowed = ", ".join(sorted(ROLES))
        raise InvalidConversation(f"Message {index} has role {role!r}; allowed: {allowed}.", index)
    elif CONTENT_KEYS.isdisjoint(message):
        raise InvalidConversation(no_content_error(index, message), index)
    content = message.get("content")
    if content is not None and not isinstance(content, str) and not is_array(content):
        raise InvalidConversation(
            f"The content of message {index} is {type(content).__name__}; it must be a string, a "
            "list of blocks, or null.",
            index,
        )
    if reason := why_not_json(message):
        raise InvalidConversation(
            f"Message {index} holds {reason}. Pass messages as JSON has them, or the objects of a "
            "provider's library that have `.model_dump()`.",
            index,
        )


def no_content_error(index: int, message: Mapping[str, Any]) -> str:
    """The error for a message that has a role but none of the `CONTENT_KEYS`."""
    keys = [f'"{key!s:.40}"' for key in islice(message, NAMED_KEYS)]
    keys += ["…"] if len(message) > NAMED_KEYS else []
    its = f"its keys are {', '.join(keys)}" if len(keys) > 1 else f"its only key is {keys[0]}"
    return (
        f"Message {index} has no content that we can read; {its}. Pass the text as its "
        '"content", {"role": "user", "content": "…"}, or the message as Anthropic, OpenAI, Gemini, '
        "Bedrock Converse or the AI SDK have it."
    )


def refuse_items(raw: Sequence[Mapping[str, Any]], dialect: Format) -> None:
    """Refuse items of OpenAI Responses in another dialect; they are the messages without a role.

    Raises:
        InvalidConversation: a message of another dialect has no role.
    """
    if dialect is responses.FORMAT or dialect is gemini.FORMAT:
        return  # a Gemini content without a role is the user's
    item = next((index for index, message in enumerate(raw) if "role" not in message), None)
    if item is not None:
        raise InvalidConversation(
            f"Message {item} is an item of OpenAI Responses among messages of the dialect "
            f"{dialect.name}. Pass all of them in one dialect.",
            item,
        )


def refuse_tools_of_other_dialects(
    messages: Iterable[tuple[int, Mapping[str, Any]]], dialect: Format
) -> None:
    """Refuse tool calls and results of another dialect.

    This dialect would read them as opaque, and calls would be separated from their results.

    Raises:
        InvalidConversation: a message holds a call or result of another dialect.
    """
    module = next(module for module in DIALECTS if module.FORMAT is dialect)
    for index, message in messages:
        if is_plain_text(message) or module.certainty(message):
            continue
        other = next((m.FORMAT.name for m in DIALECTS if m.certainty(message) == 2), None)
        if other is not None:
            raise InvalidConversation(
                f"Message {index} calls a tool, answers or speaks as the dialect {other} does, "
                f"among messages of the dialect {dialect.name}. Pass all of them in one dialect.",
                index,
            )


def refuse_unread(
    raw: Sequence[Mapping[str, Any]], values: Sequence[Message], dialect: Format
) -> None:
    """Refuse messages whose content this dialect does not read; they would be taken for empty.

    Raises:
        InvalidConversation: a message has content, but no blocks were read from it.
    """
    for index, (message, value) in enumerate(zip(raw, values, strict=True)):
        if not value.blocks and _has_content(message):
            raise InvalidConversation(
                f"Message {index} holds nothing that the dialect {dialect.name} knows, in which "
                "others are written. Pass all of them in one dialect.",
                index,
            )


def _has_content(message: Mapping[str, Any]) -> bool:
    """Whether one of the `CONTENT_KEYS` holds something."""
    values = (message.get(key) for key in CONTENT_KEYS)
    return any(value.strip() if isinstance(value, str) else value for value in values)


def parse(messages: Sequence[Any]) -> Conversation:
    """Read a conversation and recognise its dialect; a `Conversation` is returned unchanged.

    Args:
        messages: dicts of one dialect, or objects of a provider's library with `model_dump()`.

    Raises:
        InvalidConversation: `messages` is not a sequence of messages in one known dialect, or it
            holds a value that is not JSON.
    """
    if isinstance(messages, Conversation):
        return messages
    if not is_array(messages):
        raise InvalidConversation(
            refusal(messages)
            or f"A conversation is a list of messages, not {type(messages).__name__}. {HOW_TO_PASS}"
        )
    raw: Sequence[Mapping[str, Any]] = plain(messages)
    others = [(index, message) for index, message in enumerate(raw) if not _is_simple(message)]
    of_items = any(is_object(message) and responses.certainty(message) for _, message in others)
    for index, message in others:
        check(index, message, of_items=of_items)
    dialect = detect(raw, [message for _, message in others])
    refuse_items(raw, dialect)
    refuse_tools_of_other_dialects(others, dialect)
    values = tuple(read_messages(raw, dialect))
    refuse_unread(raw, values, dialect)
    return Conversation(raw, values, dialect)


def _is_simple(message: Any) -> bool:
    """Whether it is only a known role and a text, which is a message in any dialect."""
    if type(message) is not dict:
        return False
    fields = cast("dict[Any, Any]", message)
    role, content = fields.get("role"), fields.get("content")
    return len(fields) == 2 and type(content) is str and type(role) is str and role in ROLES
