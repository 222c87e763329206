"""Outputs of Claude Code's tools as text, and texts as outputs in the tool's own format.

The host ignores a replacement in another format, so outputs in unknown formats stay as they are.
They are also short, or must be read in full (skills, tool definitions, edits). The formats are from
2.1.329. Those of Grep and Glob are from its type file: its builds for Linux and macOS search with
Bash.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from context_compression.conversation.messages import is_array, is_object
from context_compression.errors import TranscriptError
from context_compression.opening import CheckedPath
from context_compression.transcripts.access import opened_once

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
