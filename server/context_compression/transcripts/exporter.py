"""A view in blocks that every host supports, and the interface of what writes it.

The blocks are Anthropic's, and every call has a result. Blocks that only one provider can read are
left out.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeAlias, assert_never
from uuid import UUID, uuid5

from context_compression.conversation.formats import anthropic, parse
from context_compression.conversation.messages import (
    COMPRESSED,
    Block,
    Document,
    Image,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    as_object,
    is_object,
    user,
)
from context_compression.conversation.validity import repair
from context_compression.strings import one_line
from context_compression.transcripts.lines import parsed_json, string

DATA_URL = re.compile(r"data:(?P<media>[^;,]*+)[^,]*;base64,", re.I)


def text(said: str) -> dict[str, Any]:
    """`text("hello")` -> `{"type": "text", "text": "hello"}`."""
    return {"type": "text", "text": said}


def thinking(said: str, signature: str = "") -> dict[str, Any]:
    """A thinking block. The signature may be the provider's encrypted form of the reasoning."""
    return {"type": "thinking", "thinking": said, "signature": signature}


def call(call_id: str, name: str, given: Any) -> dict[str, Any]:
    """A tool call. `given` is an object or the JSON of one; any other value becomes `input`."""
    value = (
        parsed_json(given.encode("utf-8", "replace")) if isinstance(given, str) and given else given
    )
    if not is_object(value):
        value = {"input": given} if given else {}
    return {"type": "tool_use", "id": call_id, "name": name, "input": value}


def result(call_id: str, content: Any, *, failed: bool = False) -> dict[str, Any]:
    """A tool result; the content is a text or blocks."""
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    return block | ({"is_error": True} if failed else {})


def unread(value: Any) -> dict[str, Any]:
    """A value that is no block, carried along as one of a type that nobody knows."""
    return {"type": "none", "value": value}


def media(kind: str, data: str) -> dict[str, Any]:
    """`media("image/png", "iVBO…")` -> an image; other media types become a document."""
    source = {"type": "base64", "media_type": kind, "data": data}
    return {"type": "image" if kind.startswith("image/") else "document", "source": source}


def linked(url: str, kind: str = "image/") -> dict[str, Any]:
    """An image or document by its URL, which may hold the data itself (`data:`)."""
    if match := DATA_URL.match(url):
        return media(match["media"] or kind, url[match.end() :])
    shown = "image" if kind.startswith("image/") else "document"
    return {"type": shown, "source": {"type": "url", "url": url}}


Row: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class NewSession:
    """A session to be written.

    Attributes:
        session_id: a UUID that no other session has.
        project: the folder it belongs to; hosts list a session only there.
        created: when it was created.
        model: the model that has answered in it so far, if known.
    """

    session_id: str
    project: Path
    created: datetime
    model: str | None = None

    def id(self, number: int) -> str:
        """The UUID of the row with this number; it is always the same."""
        return str(uuid5(UUID(self.session_id), str(number)))

    def time(self, number: int = 0) -> str:
        """The time of the row with this number, in UTC to the millisecond; hosts sort by it."""
        at = self.created.astimezone(UTC) + timedelta(milliseconds=number)
        return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True)
class Exporter:
    """Writes sessions of one host.

    Attributes:
        place: gives the path at which the host looks for the session, for a home folder and an
            environment.
        rows: gives the lines of the session's file, as JSON objects.
        command: gives the command that resumes the session; it is run in the project's folder.
        documents: whether the host's messages may hold documents.
        thinking: whether the host accepts reasoning that it recorded itself.
    """

    place: Callable[[NewSession, Path, Mapping[str, str]], Path]
    rows: Callable[[Sequence[Message], NewSession], Iterator[Row]]
    command: Callable[[NewSession, Path], Sequence[str]]
    documents: bool = False
    thinking: bool = False


LONGEST_NAME = 64  # characters of a call's id and of a tool's name: the strictest provider's limit


@dataclass(frozen=True)
class Portable:
    """Messages, and notes on what was left out."""

    messages: tuple[Message, ...]
    notes: tuple[str, ...]


def portable(
    view: Sequence[Mapping[str, Any]], *, thinking: bool, opaque: bool, documents: bool
) -> Portable:
    """A view for a host, without the system prompt, because a host has its own.

    Args:
        view: messages in any dialect of `formats`.
        thinking: whether to keep reasoning; its signatures are valid at its provider only.
        opaque: whether to keep blocks of unknown types.
        documents: whether the host's messages may hold documents.

    Raises:
        InvalidConversation: the messages are in no known format.
    """
    conversation = parse(view)
    carrier = _Carrier(
        anthropic=conversation.format is anthropic.FORMAT,
        keeps={Thinking: thinking, Opaque: opaque, Document: documents},
    )
    prompted = conversation.messages
    begun = list(takewhile(lambda message: message.role != "assistant", prompted))
    sent = [*(message for message in begun if not _is_prompt(message)), *prompted[len(begun) :]]
    carrier.left_out["system prompts"] = len(prompted) - len(sent)
    carried = [carrier.message(message) for message in sent]
    # `repair` adds no result to a running call in the last step, so a message is put after it
    repaired = repair((*carried, user("…")), anthropic.FORMAT.rules).messages[:-1]
    listed = ", ".join(f"{what} {count:,}" for what, count in carrier.left_out.items() if count)
    notes = (f"Left out, because the host has no use for it: {listed}.",) if listed else ()
    return Portable(tuple(_with_results_together(repaired)), notes)


def as_user(message: Message) -> tuple[Block, ...]:
    """The blocks of a message for the user's role; blocks of a system message get a label.

    This is for hosts without system messages inside a conversation.
    """
    return (Text("[System message]"), *message.blocks) if _is_prompt(message) else message.blocks


def arguments(call: ToolCall) -> Mapping[str, Any]:
    """A call's arguments as an object; a bare text becomes `input`."""
    return call.arguments if is_object(call.arguments) else {"input": call.arguments}


def url_of(block: Image | Document) -> str:
    """The URL of an image or document; data in the message itself becomes a `data:` URL."""
    source = as_object(as_object(block.source).get("source"))
    data = f"data:{source.get('media_type')};base64,{source.get('data')}"
    return string(source, "url") or data


def _is_prompt(message: Message) -> bool:
    return message.is_system and not message.text.startswith(COMPRESSED)


class _Carrier:
    """Converts messages block by block, and counts what is left out."""

    def __init__(self, *, anthropic: bool, keeps: Mapping[type[Block], bool]) -> None:
        self.left_out: Counter[str] = Counter()
        self._anthropic, self._keeps = anthropic, keeps

    def message(self, message: Message) -> Message:
        role = "user" if message.role == "tool" else message.role
        return Message(role, self._blocks(message.blocks))

    def _blocks(self, blocks: Sequence[Block]) -> tuple[Block, ...]:
        return tuple(kept for block in blocks if (kept := self._block(block)) is not None)

    def _block(self, block: Block) -> Block | None:
        match block:
            case Text():
                return Text(block.text)
            case ToolCall():
                return ToolCall(_id(block.id), _name(block.name), block.arguments)
            case ToolResult():
                content = self._blocks(block.content)
                return ToolResult(_id(block.call_id), content, block.is_error)
            case Image():
                source = block.source if self._anthropic else _image(block.source)
                return Image(source) if source else self._stand_in("image")
            case Document():
                if self._anthropic and self._keeps[Document]:
                    return block
                return Text(block.text) if block.text else self._stand_in("document")
            case Thinking() | Opaque():
                if self._anthropic and self._keeps[type(block)]:
                    return block
                if isinstance(block, Opaque) and block.text:
                    return Text(block.text)
                self.left_out[_called(block)] += 1
                return None
            case _:
                assert_never(block)

    def _stand_in(self, what: str) -> Text:
        """A text that tells the model that an image or document stood here."""
        self.left_out[f"{what}s"] += 1
        return Text(f"[The {what} that stood here cannot be shown in this host.]")


def _called(block: Thinking | Opaque) -> str:
    if isinstance(block, Thinking):
        return "thinking blocks"
    kind = block.source.get("type") if is_object(block.source) else None
    return (
        f"blocks of type {one_line(kind, LONGEST_NAME)}"
        if isinstance(kind, str)
        else "unknown blocks"
    )


def _with_results_together(messages: Sequence[Message]) -> Iterator[Message]:
    """The results of one step in one message, in the order of the calls."""
    step: Message | None = None
    results: list[ToolResult] = []
    for message in messages:
        if _only_results(message):
            results += message.results
            continue
        yield from _answer(step, results)
        results = []
        step = message if message.role == "assistant" else step
        yield message
    yield from _answer(step, results)


def _answer(step: Message | None, results: Sequence[ToolResult]) -> Iterator[Message]:
    if results:
        order = [call.id for call in step.calls] if step else []
        in_order: list[ToolResult] = sorted(results, key=lambda result: order.index(result.call_id))
        yield Message("user", tuple(in_order))


def _only_results(message: Message) -> bool:
    return bool(message.blocks) and all(isinstance(b, ToolResult) for b in message.blocks)


def _id(id: str) -> str:
    """An id that every provider accepts: `"call_1"` -> itself; `"a|b"` -> `"call_<hash>"`."""
    if re.fullmatch(rf"[A-Za-z0-9_-]{{1,{LONGEST_NAME}}}", id):
        return id
    return f"call_{sha256(id.encode('utf-8', 'replace')).hexdigest()[:24]}"


def _name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:LONGEST_NAME] or "tool"


def _image(part: Any) -> Any:
    """An OpenAI image as an Anthropic image block; `None` for other values."""
    match part:
        case {"image_url": {"url": str(url)}} | {"image_url": str(url)}:
            return linked(url)
        case _:
            return None
