"""Pydantic AI's messages as messages of Anthropic's dialect, and back.

A message has parts. All parts of one message are blocks of one dict, so that a message that nobody
edited comes back as the very object. Parts that the model is not shown have no block.
"""

# The framework is not installed where this is developed.
# pyright: reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from context_compression.conversation.authors import BY_USER
from context_compression.extras import extra
from context_compression.integrations.translation import parts_of

with extra("pydantic-ai"):
    from pydantic_ai.messages import (
        BinaryContent,
        ImageUrl,
        ModelMessage,
        ModelRequest,
        ModelResponse,
        SystemPromptPart,
        TextPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )
    from pydantic_ai.usage import RequestUsage

Block = dict[str, Any]
UNSEEN = {
    "instruction-delta", "instruction-baseline", "capability-load-delta", "model-settings-delta"
}  # fmt: skip
"""Parts for the framework alone. It adds them to a message when we have seen it already."""
FAILED = {"failed", "retried"}
UNSAID = ("The tool call was denied.", "No decision on this tool call arrived")
"""How the texts begin with which the framework itself denies a call, where no person gave words."""
PAIRED = {"tool_use", "tool_result"}
"""Blocks with an id of their own, by which we know them when they were edited."""
NEW_TEXT = {"system": SystemPromptPart, "user": UserPromptPart, "assistant": TextPart}


class PromptPart(NamedTuple):
    """What one block stands for: a part, or an item in the content of a user's prompt."""

    message: Any
    part: Any
    item: Any
    block: Block


class TranslatedHistory:
    """The messages of one request, and their translation.

    Attributes:
        messages: the messages, system prompts apart.
    """

    def __init__(self, messages: Sequence[ModelMessage]) -> None:
        self._split = [(message, _split(message)) for message in messages]
        self.messages: list[Any] = [piece for _, pieces in self._split for piece in pieces]

    def joined(self, view: Sequence[ModelMessage]) -> list[ModelMessage]:
        """A view of `messages`; pieces of a message that are still together are that message."""
        whole = {id(pieces[0]): (message, pieces) for message, pieces in self._split}
        shown: list[ModelMessage] = []
        at = 0
        while at < len(view):
            message, pieces = whole.get(id(view[at]), (view[at], view[at : at + 1]))
            together = [*map(id, view[at : at + len(pieces)])] == [*map(id, pieces)]
            shown.append(message if together else view[at])
            at += len(pieces) if together else 1
        return shown

    def read(self, message: Any) -> dict[str, Any] | None:
        """The dict of a message; `None` if it is of an unknown kind."""
        if not isinstance(message, ModelRequest | ModelResponse):
            return None
        return {"role": _role(message), "content": [atom.block for atom in _atoms(message)]}

    def write(self, edited: Mapping[str, Any]) -> ModelMessage:
        """The message of a dict that was edited, made of its own parts; or a new message."""
        role, blocks = edited["role"], parts_of(edited["content"])
        atoms = [self._known.get((role, _key(block))) for block in blocks]
        found = sorted(filter(None, atoms), key=lambda atom: atom.block["type"] not in PAIRED)
        original: Any = found[0].message if found else None
        parts = [*_parts(self._rewritten(role, *pair) for pair in zip(blocks, atoms, strict=True))]
        if isinstance(original, ModelResponse):
            parts = [replace(p, id=None) if getattr(p, "id", None) else p for p in parts]
            return replace(original, parts=parts, usage=RequestUsage(), provider_response_id=None)
        if isinstance(original, ModelRequest):
            unseen = [part for part in original.parts if part.part_kind in UNSEEN]
            return replace(original, parts=[*parts, *unseen])
        return ModelResponse(parts=parts) if role == "assistant" else ModelRequest(parts=parts)

    def _rewritten(self, role: str, block: Block, atom: PromptPart | None) -> PromptPart:
        """What a block stands for now that it may have been edited, or is new."""
        part: Any = atom.part if atom else None
        if atom and (atom.block == block or getattr(part, "tool_kind", None)):
            return atom  # not edited, or of a kind whose content the framework itself reads
        match block:
            case {"type": "text", "text": text}:
                new = NEW_TEXT[role](text)
            case {"type": "tool_use"}:
                new = ToolCallPart(block["name"], block["input"], block["id"])
                if part:  # without its `id`, by which a provider would take its own copy instead
                    about = {"provider_name": part.provider_name}
                    new = replace(new, provider_details=part.provider_details, **about)
            case {"type": "tool_result", "tool_use_id": id}:
                call = self._known.get(("assistant", ("tool_use", id)))
                about = part or (call and call.part)
                new = ToolReturnPart(
                    about.tool_name if about else "tool", _returned(block, part), id
                )
                if isinstance(part, ToolReturnPart):
                    about = {"metadata": part.metadata, "outcome": part.outcome}
                    new = replace(new, timestamp=part.timestamp, **about)
            case _:
                new = UserPromptPart(json.dumps(block))
        return PromptPart(None, new, new, block)

    @cached_property
    def _known(self) -> dict[Any, PromptPart]:
        """What each block of the messages stands for."""
        return {
            (_role(message), _key(atom.block)): atom
            for message in self.messages
            if isinstance(message, ModelRequest | ModelResponse)
            for atom in _atoms(message)
        }


def _role(message: ModelMessage) -> str:
    if isinstance(message, ModelResponse):
        return "assistant"
    return "system" if message.parts and _is_system(message.parts[0]) else "user"


def _is_system(part: Any) -> bool:
    return isinstance(part, SystemPromptPart)


def _split(message: ModelMessage) -> list[ModelMessage]:
    """A message in pieces, so that system prompts are apart; mostly the message itself."""
    if not isinstance(message, ModelRequest):
        return [message]
    pieces = [[*parts] for _, parts in groupby(message.parts, _is_system)]
    return [message] if len(pieces) < 2 else [replace(message, parts=parts) for parts in pieces]


def _atoms(message: ModelMessage) -> Iterator[PromptPart]:
    for part in message.parts:
        if part.part_kind in UNSEEN:
            continue
        items = [part]
        if isinstance(part, UserPromptPart):
            items = [part.content] if isinstance(part.content, str) else part.content
        for item in items:
            yield PromptPart(message, part, item, _block(item))


def _block(item: Any) -> Block:
    """The block of a part, or of an item in a user's prompt."""
    if isinstance(item, str):
        return _text(item)
    kind = getattr(item, "part_kind", None) or getattr(item, "kind", None)
    match kind:
        case "system-prompt" | "text" | "text-content":
            return _text(item.content)
        case "thinking" if not item.content and item.signature:
            return {"type": "redacted_thinking", "data": item.signature}
        case "thinking":
            return {"type": "thinking", "thinking": item.content, "signature": item.signature or ""}
        case "tool-call":
            id, name = item.tool_call_id, item.tool_name
            return {"type": "tool_use", "id": id, "name": name, "input": item.args_as_dict()}
        case "tool-return":
            return _result(item, item.outcome in FAILED) | _said(item)
        case "retry-prompt" if item.tool_name:
            text = item.model_response()
            id = item.tool_call_id
            result = {"type": "tool_result", "tool_use_id": id, "content": text, "is_error": True}
            return {**result, BY_USER: False}
        case "retry-prompt" | "retry-feedback":
            return {**_text(item.model_response()), BY_USER: False}
        case "builtin-tool-call":
            id, name = item.tool_call_id, item.tool_name
            return {"type": "server_tool_use", "id": id, "name": name, "input": item.args_as_dict()}
        case "builtin-tool-return":
            id, kind = item.tool_call_id, f"{item.tool_name}_tool_result"
            return {"type": kind, "tool_use_id": id, "content": item.model_response_str()}
        case _:
            return _media(item) or {"type": str(kind), "content": _dumped(item)}


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _result(part: Any, failed: bool) -> Block:
    """The result of a tool, with the files it returned and the tools it found."""
    content: Any = part.model_response_str()
    if others := [*map(_block, part.files), *_found_tools(part)]:
        content = [_text(content), *others]
    result = {"type": "tool_result", "tool_use_id": part.tool_call_id, "content": content}
    return result | ({"is_error": True} if failed else {})


def _said(part: Any) -> Block:
    """The mark of a result in which a person speaks, or certainly none does."""
    if part.outcome == "success":
        return {}  # known by the name of the tool alone
    reason = part.content if part.outcome == "denied" else None
    said = isinstance(reason, str) and not reason.startswith(UNSAID)
    return {BY_USER: reason if said else False}


def _found_tools(part: Any) -> list[Block]:
    """The tools that a tool search found: they may be called from here on."""
    content = part.content if part.tool_kind == "tool-search" else None
    found = content.get("discovered_tools", ()) if isinstance(content, dict) else ()
    return [{"type": "tool_reference", "tool_name": tool["name"]} for tool in found]


def _media(item: Any) -> Block | None:
    """A picture or document as a block; `None` if it is neither."""
    if isinstance(item, ImageUrl):
        return {"type": "image", "source": {"type": "url", "url": item.url}}
    if isinstance(item, BinaryContent) and (item.is_image or item.is_document):
        kind = "image" if item.is_image else "document"
        source = {"type": "base64", "media_type": item.media_type, "data": item.base64}
        return {"type": kind, "source": source}
    return None


def _dumped(item: Any) -> Any:
    """Anything else as JSON: it is counted, and kept or left out as a whole."""
    return TypeAdapter(type(item)).dump_python(item, mode="json")


def _key(block: Any) -> Any:
    """Finds what a block stands for: calls and results by their id, the rest by all they hold."""
    match block:
        case {"type": "tool_use", "id": id} | {"type": "tool_result", "tool_use_id": id}:
            return block["type"], id
        case {"type": "text", "text": text}:
            return text
        case _:
            return json.dumps(block, sort_keys=True)


def _parts(atoms: Iterable[PromptPart]) -> Iterator[Any]:
    """The parts that atoms make; items of one user prompt that are still together are one part."""
    for _, group in groupby(atoms, lambda atom: id(atom.part)):
        together = [*group]
        part, items = together[0].part, [atom.item for atom in together]
        if items in ([part], [getattr(part, "content", None)], getattr(part, "content", None)):
            yield part
        else:
            yield replace(part, content=items)


def _returned(block: Block, part: Any) -> Any:
    """The content of an edited result: its text, and the files if they are still in it."""
    content = block.get("content", "")
    if isinstance(content, str):
        return content
    texts = [each["text"] for each in content if each.get("type") == "text"]
    files = [file for file in getattr(part, "files", ()) if _block(file) in content]
    return [*texts, *files] if files else "\n".join(texts)
