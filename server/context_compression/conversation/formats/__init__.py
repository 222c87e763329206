"""The dialects conversations come in: dicts in, dicts out, untouched messages untouched.

One module for each; `parse` tells them apart by shape. What a dialect does not know is `Opaque`;
what is no dialect is refused by name.

anthropic    Anthropic Messages
openai_chat  OpenAI Chat Completions, and those who speak alike (Ollama, DeepSeek, Mistral, …)
responses    items of OpenAI Responses
gemini       Gemini's `contents`
bedrock      Bedrock Converse
ai_sdk       ModelMessages of Vercel's AI SDK
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, cast, overload

from context_compression.conversation.formats import (
    ai_sdk,
    anthropic,
    bedrock,
    gemini,
    openai_chat,
    responses,
)
from context_compression.conversation.formats.foreign import nothing_seen, refusal
from context_compression.conversation.formats.ids import Ids
from context_compression.conversation.formats.plain import (
    has_halves,
    plain,
    why_not_json,
    without_halves,
)
from context_compression.conversation.formats.roles import ROLES
from context_compression.conversation.messages import Edited, Message, is_array, is_object
from context_compression.conversation.provider_rules import ProviderRules
from context_compression.errors import InvalidConversation

CONTENT_KEYS = frozenset(
    {"content", "parts", "tool_calls", "function_call", "refusal", "audio", *openai_chat.BESIDE}
)
"""Where a message of any dialect may hold what is said."""
WANTED = (
    "Pass the messages as Anthropic, OpenAI (Chat or Responses), Gemini, Bedrock Converse or the "
    'AI SDK have them: [{"role": "user", "content": "…"}, …].'
)


__all__ = [
    "DIALECTS",
    "ROLES",
    "Conversation",
    "Format",
    "check",
    "detect",
    "may_be_message",
    "parse",
    "plain",
]


class Format(Protocol):
    """Reads and writes the messages of one dialect.

    `system_apart`: the system prompt is a text or text blocks beside the messages, so that a
    summary may stand in it.
    """

    name: str
    system_apart: bool
    rules: ProviderRules

    def read(self, message: Mapping[str, Any], ids: Ids | None = None) -> Message:
        """The message as a value; `source` is the very object given."""
        ...

    def write(self, message: Message) -> dict[str, Any]:
        """An edited or new message as a dict of the dialect."""
        ...


DIALECTS = (ai_sdk, bedrock, gemini, responses, openai_chat, anthropic)
"""In the order they are asked; those of the last two others could take for theirs."""


@dataclass(frozen=True)
class Conversation(Sequence[Mapping[str, Any]]):
    """A conversation as values, and the dialect it came in.

    It stands for its messages wherever those are taken, and is not read again there.

    Attributes:
        raw: the messages as JSON; those that came so are the very objects.
        messages: the same as values.
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

    def render(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        """Messages as dicts of this dialect; those nobody edited are the very objects that came."""
        return [
            self._written(message)
            if message.source is None or isinstance(message, Edited)
            else message.source
            for message in messages
        ]

    def _written(self, message: Message) -> dict[str, Any]:
        written = self.format.write(message)
        return without_halves(written) if self.without_halves else written

    @cached_property
    def without_halves(self) -> Mapping[int, Message]:
        """The messages in which half of a character stands, by index, with U+FFFD in its place."""
        broken = {i for i, message in enumerate(self.raw) if has_halves(message)}
        if not broken:
            return {}
        raw = [without_halves(m) if i in broken else m for i, m in enumerate(self.raw)]
        read = _read(raw, self.format)
        return {i: Edited(read[i].role, read[i].blocks, self.raw[i]) for i in broken}


def parse(messages: Sequence[Any]) -> Conversation:
    """Read a conversation, telling its dialect by shape; one that was read stays as it is.

    Raises:
        InvalidConversation: not a sequence of messages in a dialect we know, or not JSON.
    """
    if isinstance(messages, Conversation):
        return messages
    if not is_array(messages):
        told = refusal(messages)
        raise InvalidConversation(
            told or f"A conversation is a list of messages, not {type(messages).__name__}. {WANTED}"
        )
    raw: Sequence[Mapping[str, Any]] = plain(messages)
    others = [(index, message) for index, message in enumerate(raw) if not _is_said(message)]
    of_items = any(is_object(message) and responses.certainty(message) for _, message in others)
    for index, message in others:
        check(index, message, of_items=of_items)
    dialect = detect(raw, [message for _, message in others])
    if dialect is not responses.FORMAT:
        _refuse_items(raw, dialect)
    _refuse_tools_of_others(others, dialect)
    read = tuple(_read(raw, dialect))
    _refuse_unread(raw, read, dialect)
    return Conversation(raw, read, dialect)


def _refuse_items(raw: Sequence[Mapping[str, Any]], dialect: Format) -> None:
    """Only items of OpenAI Responses have no role."""
    if dialect is gemini.FORMAT:
        return  # a content without a role is the user's
    found = next((index for index, message in enumerate(raw) if "role" not in message), None)
    if found is not None:
        raise InvalidConversation(
            f"Message {found} is an item of OpenAI Responses among messages of the dialect "
            f"{dialect.name}. Pass all of them in one dialect."
        )


def _refuse_tools_of_others(
    others: Iterable[tuple[int, Mapping[str, Any]]], dialect: Format
) -> None:
    """A call or a result of another dialect would be carried as it is, and its pair torn."""
    module = next(module for module in DIALECTS if module.FORMAT is dialect)
    for index, message in others:
        if _is_plain_text(message) or module.certainty(message):
            continue
        other = next((m.FORMAT.name for m in DIALECTS if m.certainty(message) == 2), None)
        if other is not None:
            raise InvalidConversation(
                f"Message {index} calls a tool, answers or speaks as the dialect {other} does, "
                f"among messages of the dialect {dialect.name}. Pass all of them in one dialect."
            )


def _refuse_unread(
    raw: Sequence[Mapping[str, Any]], read: Sequence[Message], dialect: Format
) -> None:
    """What another dialect says where this one does not look would be taken for empty."""
    for index, (message, value) in enumerate(zip(raw, read, strict=True)):
        if not value.blocks and _says(message):
            raise InvalidConversation(
                f"Message {index} holds nothing that the dialect {dialect.name} knows, in which "
                "others are written. Pass all of them in one dialect."
            )


def _says(message: Mapping[str, Any]) -> bool:
    """Whether anything stands where content may stand in any dialect."""
    values = (message.get(key) for key in CONTENT_KEYS)
    return any(value.strip() if isinstance(value, str) else value for value in values)


def _read(raw: Sequence[Mapping[str, Any]], dialect: Format) -> list[Message]:
    ids = Ids()
    return [dialect.read(message, ids) for message in raw]


def detect(
    messages: Sequence[Mapping[str, Any]], telling: Sequence[Mapping[str, Any]] | None = None
) -> Format:
    """The dialect of the first message that shows one by its shape: by tools, else by other parts.

    `telling` are those of them that are more than a role and a text, where that is known.

    A picture in another dialect is one part that stays as it is; calls without results are no
    conversation. Failing both, roles that only OpenAI's messages have decide; plain texts are
    Anthropic's.
    """
    first: Format | None = None
    for message in messages if telling is None else telling:
        if _is_plain_text(message):
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


def _is_said(message: Any) -> bool:
    """Whether it is a role and a text and nothing else, which is a message in any dialect."""
    if type(message) is not dict:
        return False
    held = cast("dict[Any, Any]", message)
    role, content = held.get("role"), held.get("content")
    return len(held) == 2 and type(content) is str and type(role) is str and role in ROLES


def _is_plain_text(message: Mapping[str, Any]) -> bool:
    """Whether it is a role and a text, as in any dialect."""
    return isinstance(message.get("content"), str) and len(message) == 2


def may_be_message(value: Any) -> bool:
    """Whether a value has the outer shape of a message in one of the dialects."""
    if not is_object(value) or not isinstance(value.get("content", ""), str | list | None):
        return False
    return isinstance(value.get("role", value.get("type")), str) or "parts" in value


def check(index: int, message: Any, *, of_items: bool = False) -> None:
    """Whether a message is one.

    Args:
        index: where it stands.
        message: what somebody passed.
        of_items: whether it stands among items of OpenAI Responses: such have a type and no role,
            and there are new ones with each year.

    Raises:
        InvalidConversation: its role, its content or something in it cannot be.
    """
    if not is_object(message):
        told = refusal(message)
        raise InvalidConversation(
            told
            or f"Message {index} is {type(message).__name__}, not an object with role and "
            f"content. {WANTED}"
        )
    if told := refusal(message):
        raise InvalidConversation(f"Message {index} cannot be read. {told}")
    role = message.get("role")
    if responses.is_item(message) or (of_items and isinstance(message.get("type"), str)):
        pass  # most items have no role
    elif role is None and gemini.certainty(message) == 2:
        pass  # nor need a single content of the user's have one
    elif not isinstance(role, str) or role not in ROLES:
        allowed = ", ".join(sorted(ROLES))
        raise InvalidConversation(f"Message {index} has role {role!r}; allowed: {allowed}.")
    elif CONTENT_KEYS.isdisjoint(message):
        raise InvalidConversation(nothing_seen(index, message))
    content = message.get("content")
    if content is not None and not isinstance(content, str) and not is_array(content):
        raise InvalidConversation(
            f"The content of message {index} is {type(content).__name__}; it must be a string, a "
            "list of blocks, or null."
        )
    if strange := why_not_json(message):
        raise InvalidConversation(
            f"Message {index} holds {strange}. Pass messages as JSON has them, or the objects of a "
            "provider's library that have `.model_dump()`."
        )
