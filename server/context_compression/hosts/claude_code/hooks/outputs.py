"""Outputs of Claude Code's tools as text and back, and a view as the rows of its hooks.

The host ignores a replacement in another format, so outputs in unknown formats stay as they are.
They are also short, or must be read in full (skills, tool definitions, edits). The formats are from
2.1.329. Those of Grep and Glob are from its type file: its builds for Linux and macOS search with
Bash.

A view as the rows of Claude Code's function hooks: handles of kept rows, and new rows.

    {"role": "user", "text": "…", "toolUses": [], "toolResults": [{"tool_use_id", "text", …}]}

The handle of a row is the id of its line in the transcript. A row kept by its handle stays
complete, with its images. But a tool step kept by its handles still follows its old lines, and a
resumed session walks them back past the compaction (seen in 2.1.329). So tool steps become new
rows. A new row cannot hold images or thinking. So a message of a tool step keeps its handles if it
has an image, or if it has thinking and is of the running turn.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from context_compression.compression.result import Result
from context_compression.conversation.authors import HOST_NOTES, user_words
from context_compression.conversation.formats import parse
from context_compression.conversation.messages import (
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    is_array,
    is_object,
)
from context_compression.errors import TranscriptError
from context_compression.opening import CheckedPath
from context_compression.transcripts.opening import opened_once
from context_compression.transcripts.transcript import Transcript

SHOWN = 2_000
"""Characters that the host shows of an output that it saved to a file."""
MOST_BYTES = 4_000_000
"""The most bytes of such a file that a hook reads, as it must answer quickly."""
TOO_LONG = "Error: result ("
SAVED = "Output has been saved to "
"""The beginning of the first line that the host shows of a saved output, and what comes before the
path in it."""
BLOCKS = ("text", "image", "audio", "resource", "resource_link")


@dataclass(frozen=True)
class Output:
    """The output of a tool.

    Attributes:
        text: the full text.
        becomes: gives the output in the tool's own format, with another text.
        shown: the text that the model would see, if it is not the full text.
    """

    text: str
    becomes: Callable[[str], Any]
    shown: str | None = None


def output_of(tool: str, response: Any, results: Path | None) -> Output | None:
    """The output of a tool; `None` if its format is unknown or its text cannot be replaced.

    Args:
        tool: the name of the tool.
        response: the output as the host's hook passes it.
        results: the folder in which the host saves long outputs of this session; `None` if it must
            not be read.
    """
    match tool, response:
        case "Bash", {"stdout": str(), "stderr": str()} if not response.get("isImage"):
            return _shell(response, results)
        case "Read", {"type": "text", "file": {"content": str(text)} as file}:
            return Output(text, lambda new: {**response, "file": {**file, **_lines(new)}})
        case "Grep", {"content": str(text), "filenames": _} if text:
            return Output(text, lambda new: {**response, "content": new})
        case "Grep" | "Glob", {"filenames": [*names]}:
            text = "\n".join(map(str, names))
            return Output(text, lambda new: {**response, "filenames": new.split("\n")})
        case "WebFetch", {"result": str(text)}:
            return Output(text, lambda new: {**response, "result": new})
        case "Agent" | "Task", {"status": "completed", "content": content} if is_content(content):
            return _blocks(content, lambda new: {**response, "content": new})
        case _ if tool.startswith("mcp__"):
            return _of_server(response, results)
        case _:
            return None


def _shell(response: Mapping[str, Any], results: Path | None) -> Output | None:
    printed = [response["stdout"], response["stderr"]]
    text, shown = "\n".join(part for part in printed if part), None
    if path := response.get("persistedOutputPath"):
        full_text = saved_text(path, results)
        if full_text is None:
            return None  # the host shows the beginning of the file, and its path
        text, shown = full_text, text[:SHOWN]
    kept = {key: response[key] for key in response if not key.startswith("persistedOutput")}
    return Output(text, lambda new: {**kept, "stdout": new, "stderr": ""}, shown)


def _of_server(response: Any, results: Path | None) -> Output | None:
    """The output of an MCP server: blocks, a text, or a message with the file that holds it."""
    if is_content(response):
        return _blocks(response, lambda new: new)
    if is_object(response):
        response = json.dumps(response, ensure_ascii=False, separators=(",", ":"))
    if not isinstance(response, str):
        return None
    line, end, _ = response.partition(".\n")
    if end and line.startswith(TOO_LONG) and SAVED in line:
        full_text = saved_text(line.partition(SAVED)[2], results)
        return None if full_text is None else Output(full_text, lambda new: new, response)
    return Output(response, lambda new: new)


def _blocks(blocks: Any, becomes: Callable[[list[Any]], Any]) -> Output:
    """The output for content blocks: one text replaces all texts, and other blocks stay."""
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    others = [block for block in blocks if block["type"] != "text"]
    joined = "".join(texts)  # as the host joins them for the model
    return Output(joined, lambda new: becomes([{"type": "text", "text": new}, *others]))


def is_content(value: Any) -> bool:
    """Whether a value is a list of content blocks as MCP defines them."""
    return is_array(value) and all(
        is_object(block)
        and block.get("type") in BLOCKS
        and (block["type"] != "text" or isinstance(block.get("text"), str))
        for block in value
    )


def _lines(text: str) -> dict[str, Any]:
    """The fields of Read's output for a content: the text and its line numbers."""
    count = text.count("\n") + 1
    return {"content": text, "numLines": count, "startLine": 1, "totalLines": count}


def saved_text(path: Any, results: Path | None) -> str | None:
    """The text of a file that the host saved; `None` if it is not text or not of this session."""
    if results is None or not isinstance(path, str):
        return None
    try:
        file = CheckedPath(Path(path).resolve())
        if file.parent != results.resolve():
            return None
        with opened_once(file) as (opened, size):
            return opened.read(MOST_BYTES).decode() if size <= MOST_BYTES else None
    except (OSError, ValueError, TranscriptError):
        return None


Row: TypeAlias = int | dict[str, Any]
"""The number of a kept row, or a new row."""

ROW_PARTS = 3  # of a row without tool results
LEFT_OUT = "<system-reminder>What is not text was left out here; it is archived.</system-reminder>"


def rows_of_view(
    result: Result, transcript: Transcript, handles: Sequence[str]
) -> list[Row] | None:
    """The rows of a view; `None` if no handle is the id of a row in the transcript.

    Args:
        result: the result of compressing the transcript's messages.
        transcript: the conversation.
        handles: the handles of the host's rows, in order.
    """
    numbers = {handle: number for number, handle in enumerate(handles)}
    made_of = [sorted(numbers[u] for u in uuids if u in numbers) for uuids in transcript.rows]
    written = max((number for of_message in made_of for number in of_message), default=None)
    if written is None:
        return None
    messages = parse(transcript.messages).messages
    running = max((i for i, m in enumerate(messages) if user_words(m).strip()), default=0)
    rows: list[Row] = []
    for part in result.layout:
        if isinstance(part, dict):
            row = new_row(parse([part]).messages[0])
            rows += [row] if row["text"] or len(row) > ROW_PARTS or row["toolUses"] else []
            continue
        for index in range(part[0], part[1]):
            message = messages[index]
            if _needs_handle(message, running=index >= running):
                rows += made_of[index]
            elif made_of[index]:
                rows.append(new_row(message))
    return rows + list(range(written + 1, len(handles)))  # the newest, not yet in the transcript


def new_row(message: Message) -> dict[str, Any]:
    """A message as a new row, without the host's own notes, which the host adds again."""
    texts = [block.text for block in message.blocks if isinstance(block, Text)]
    texts = [text for text in texts if not text.lstrip().startswith(HOST_NOTES)]
    if not _is_text(message):
        texts.append(LEFT_OUT)
    uses = [{"tool_use_id": c.id, "tool": c.name, "input": c.arguments} for c in message.calls]
    row: dict[str, Any] = {"role": message.role, "text": "\n".join(texts), "toolUses": uses}
    if message.results:
        row["toolResults"] = [
            {"tool_use_id": result.call_id, "text": result.text, "isError": result.is_error}
            for result in message.results
        ]
    return row


def _needs_handle(message: Message, *, running: bool) -> bool:
    if not _is_text(message) or not (message.calls or message.results):
        return True
    return running and message.has_thinking


def _is_text(message: Message) -> bool:
    """Whether a new row can hold the message, apart from thinking."""
    parts = [part for result in message.results for part in result.content]
    return all(
        isinstance(block, Text | Thinking | ToolCall | ToolResult)
        for block in (*message.blocks, *parts)
    )
