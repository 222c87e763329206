"""Pi's entries as Anthropic messages, with the system prompt and the tools."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from context_compression.conversation.messages import as_object, is_array, is_object, objects
from context_compression.hosts.pi.about import TITLE
from context_compression.transcripts.blocks import call, media, result, text, thinking, unread
from context_compression.transcripts.history import Request
from context_compression.transcripts.lines import string
from context_compression.transcripts.shapes import Each, Known, Maybe, Seen, Shape, Shapes
from context_compression.transcripts.times import seconds
from context_compression.transcripts.transcript import Row

NOT_SENT = ("error", "aborted")  # as stop reasons
CHARGED = ("input", "output", "cacheRead", "cacheWrite")
ROLES = Known(
    frozenset(
        {"user", "custom", "hookMessage", "assistant", "toolResult", "bashExecution", "system"}
    )
)
BLOCK: Shape = {"type": str, "thinking": str, "thinkingSignature": str}
CONTENT: Shape = (str, [BLOCK], BLOCK)
TOOLS: Shape = [{"name": str}]
PROMPT: Shape = {"content": CONTENT, "sections": Each(str)}
WORDS = """
arguments content data description details diagnostics errorMessage partialJson
sections summary text title tools
"""
"""Fields with words that were seen beside those that are read."""
SHAPES = Shapes(
    TITLE,
    {
        "message": {
            "message": {
                **PROMPT,
                "role": ROLES,
                "toolCallId": str,
                "command": str,
                "output": str,
                "toolsAdded": TOOLS,
                "toolsRemoved": TOOLS,
            }
        },
        "compaction": {
            "summary": None,
            "firstKeptEntryId": str,
            "systemMessage": {**PROMPT, "toolsAdded": TOOLS, "toolsRemoved": TOOLS},
        },
        "custom_message": Maybe({}),
        "branch_summary": Maybe({}),
        "context_edit": {"targetId": str, "replacement": {"content": CONTENT}},
    },
    Seen(WORDS),
)
"""The shapes of what rows hold."""


class Context:
    """The messages, the system prompt and the tools that entries make."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.written: list[Any] = []
        """When each message was written, as the file says it."""
        self.answers: list[tuple[Row, int]] = []
        """Entries by the assistant that were not kept, with the number of messages before them."""
        self.usage: tuple[int, int] | None = None
        self.model = ""
        self.tools: dict[str, Any] = {}
        self._time: Any = None  # of the newest entry
        self._prompts: list[str] = []
        self._sections: dict[str, str] = {}
        self._begun = False  # whether a compaction gave the complete system prompt
        self._results: list[Any] = []  # of the calls just made

    @property
    def prompt(self) -> str:
        """The system prompt as it is now."""
        return "\n\n".join(filter(None, [*self._prompts, *self._sections.values()]))

    def begin(self, compaction: Row) -> None:
        """Start with the system message and the summary of a compaction."""
        self._time = compaction.get("timestamp")
        if is_object(message := compaction.get("systemMessage")):
            self._tell(message)
            self._begun = True
        self._summary(compaction)

    def add(self, row: Row, *, kept: bool, charged: bool) -> None:
        """Add an entry.

        Args:
            row: the entry.
            kept: whether the compaction kept it. The compaction's own system message replaces the
                system messages among the kept entries.
            charged: whether its usage belongs to a request of the present context.
        """
        self._time = row.get("timestamp")
        match row:
            case {"type": "message", "message": message} if is_object(message):
                if not kept and message.get("role") == "assistant":
                    self.answers.append((row, len(self.messages)))
                if message.get("role") != "system" or not (kept and self._begun):
                    self._message(message, charged)
            case {"type": "custom_message"}:
                self._user(row.get("content"))
            case {"type": "branch_summary"}:
                self._summary(row)
            case _:
                pass  # told by its shape

    def _message(self, message: Mapping[str, Any], charged: bool) -> None:
        content = message.get("content")
        match string(message, "role"):
            case "user" | "custom" | "hookMessage":
                self._user(content)
            case "assistant":
                self._assistant(message, charged)
            case "toolResult":
                id, failed = string(message, "toolCallId"), message.get("isError") is True
                self._result(result(id, _blocks(content), failed=failed))
            case "bashExecution":
                if not message.get("excludeFromContext"):
                    self._user(_ran(message))
            case "system":
                self._tell(message)
            case _:
                pass  # told by its shape

    def _put(self, role: str, content: Any) -> None:
        self.messages.append({"role": role, "content": content})
        self.written.append(self._time)

    def _user(self, content: Any) -> None:
        own = content if isinstance(content, str) else _blocks(content)
        if own:
            self._put("user", own)

    def _summary(self, row: Row) -> None:
        summary = row.get("summary")
        if summary and isinstance(summary, str):
            self._user(f"<summary>\n{summary}\n</summary>")
        elif summary:
            self._user(summary)

    def _assistant(self, message: Mapping[str, Any], charged: bool) -> None:
        blocks = _blocks(message.get("content"))
        self.model = string(message, "model") or self.model
        if message.get("stopReason") in NOT_SENT:
            return
        if blocks:
            self._put("assistant", blocks)
        total = sum(_charged(message))
        if charged and total:
            self.usage = (total, len(self.messages))

    def _result(self, block: dict[str, Any]) -> None:
        if not self.messages or self.messages[-1]["content"] is not self._results:
            self._results = []
            self._put("user", self._results)
        self._results.append(block)

    def _tell(self, message: Mapping[str, Any]) -> None:
        """Apply a system message to the system prompt and the tools."""
        if message.get("replace"):
            self._prompts, self._sections, self.tools = [], {}, {}
        content = message.get("content")
        blocks = [text(content)] if isinstance(content, str) else _blocks(content)
        self._prompts += [
            string(block, "text") if block.get("type") == "text" else json.dumps(block)
            for block in blocks
        ]
        for name, section in as_object(message.get("sections")).items():
            if isinstance(section, str):
                self._sections[name] = section
            else:  # null removes it
                self._sections.pop(name, None)
        for tool in objects(message.get("toolsRemoved")):
            self.tools.pop(string(tool, "name"), None)
        for tool in objects(message.get("toolsAdded")):
            self.tools[string(tool, "name")] = tool


def request_of(row: Row, messages: int = 0) -> Request | None:
    """The request that an entry answers; `None` for other entries, and for failed requests."""
    message = as_object(row.get("message"))
    sent, said, read, written = _charged(message)
    whole = sent + read + written
    if message.get("role") != "assistant" or message.get("stopReason") in NOT_SENT or not whole:
        return None
    time, model = seconds(row.get("timestamp")), string(message, "model")
    return Request(messages, time, model, whole, read, written, said)


def _charged(message: Mapping[str, Any]) -> list[int]:
    usage = as_object(message.get("usage"))
    return [n if isinstance(n := usage.get(part), int) else 0 for part in CHARGED]


def _ran(message: Mapping[str, Any]) -> str:
    """A command that the user ran, in the words that the model sees."""
    shown = f"Ran `{string(message, 'command')}`\n"
    output, code = string(message, "output"), message.get("exitCode")
    shown += f"```\n{output}\n```" if output else "(no output)"
    return shown + (f"\n\nexit code {code}" if code else "")


def _blocks(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [text(content)]
    parts = content if is_array(content) else [] if content is None else [content]
    return [block for part in parts for block in _block(part)]


def _block(part: Any) -> Iterable[Any]:
    match part:
        case {"type": "thinking", "redacted": True}:
            yield {"type": "redacted_thinking", "data": string(part, "thinkingSignature")}
        case {"type": "thinking"}:
            thought, sealed = string(part, "thinking"), string(part, "thinkingSignature")
            if thought or sealed:
                yield thinking(thought, sealed)
        case {"type": "toolCall", "id": str(id), "name": str(name)}:
            yield call(id, name, part.get("arguments"))
        case {"type": "image", "data": str(data), "mimeType": str(kind)}:
            yield media(kind, data)
        case {"type": str()}:
            yield part
        case _:
            yield unread(part)
