"""What Claude Code's tools answer, each in a shape of its own: to text, and back.

A replacement in another shape is ignored by the host. So what we do not know is left alone; it is
also short, or it must be read whole (skills, tool definitions, edits). Shapes of 2.1.329, those of
Grep and Glob from its type file: its builds for Linux and macOS search with Bash.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from context_compression.conversation.messages import is_array, is_object

SHOWN = 2_000
"""Characters that the host shows of an answer which it has put into a file."""
MOST_BYTES = 4_000_000
"""Of such a file, that a hook takes the time for."""
SAVED = re.compile(r"Output has been saved to (.+?)\.\n")
BLOCKS = ("text", "image", "audio", "resource", "resource_link")


@dataclass(frozen=True)
class Output:
    """What a tool answered.

    Attributes:
        text: all of it.
        becomes: the answer in the tool's own shape, with another text.
        shown: what the model would be shown, where that is not the text.
    """

    text: str
    becomes: Callable[[str], Any]
    shown: str | None = None


def output_of(tool: str, response: Any, results: Path | None) -> Output | None:
    """What a tool answered, where its shape is known and its text can be replaced.

    Args:
        tool: its name.
        response: as the host's hook says it.
        results: the folder into which the host puts long answers of this session; `None` where
            nothing may be read there.
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
        full_text = _saved(path, results)
        if full_text is None:
            return None  # the host shows its beginning and where it is
        text, shown = full_text, text[:SHOWN]
    kept = {key: response[key] for key in response if not key.startswith("persistedOutput")}
    return Output(text, lambda new: {**kept, "stdout": new, "stderr": ""}, shown)


def _of_server(response: Any, results: Path | None) -> Output | None:
    """An answer of an MCP server: blocks, a text, or the place where the host has put it."""
    if is_content(response):
        return _blocks(response, lambda new: new)
    if is_object(response):
        response = json.dumps(response, ensure_ascii=False, separators=(",", ":"))
    if not isinstance(response, str):
        return None
    if response.startswith("Error: result (") and (match := SAVED.search(response)):
        full_text = _saved(match[1], results)
        return None if full_text is None else Output(full_text, lambda new: new, response)
    return Output(response, lambda new: new)


def _blocks(blocks: Any, becomes: Callable[[list[Any]], Any]) -> Output:
    """Blocks of content: one text in place of all texts, the others stay."""
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    others = [block for block in blocks if block["type"] != "text"]
    joined = "".join(texts)  # as the host joins them for the model
    return Output(joined, lambda new: becomes([{"type": "text", "text": new}, *others]))


def is_content(value: Any) -> bool:
    """Whether these are blocks of content, as MCP has them."""
    return is_array(value) and all(
        is_object(block)
        and block.get("type") in BLOCKS
        and (block["type"] != "text" or isinstance(block.get("text"), str))
        for block in value
    )


def _lines(text: str) -> dict[str, Any]:
    """What Read says beside a content."""
    count = text.count("\n") + 1
    return {"content": text, "numLines": count, "startLine": 1, "totalLines": count}


def _saved(path: Any, results: Path | None) -> str | None:
    """What the host has put into a file, where it is one of this session and is text."""
    if results is None or not isinstance(path, str):
        return None
    try:
        file = Path(path).resolve()
        if file.parent != results.resolve() or file.stat().st_size > MOST_BYTES:
            return None
        return file.read_bytes().decode()
    except (OSError, ValueError):
        return None
