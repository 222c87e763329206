"""Helpers for tests of the MCP server: calls, answers, and conversations as hosts keep them."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.types import CallToolResult, Implementation, TextContent

from context_compression.conversation import is_array, is_object
from context_compression.mcp_server import create_server
from context_compression.workspace import Workspace

MODEL = "claude-opus-4-5"


@dataclass(frozen=True)
class Answer:
    """The answer of a tool."""

    text: str
    facts: dict[str, Any]
    failed: bool
    whole: CallToolResult

    @property
    def pages(self) -> list[str]:
        """The texts in its fences."""
        fences = re.finditer(r"^(`{3,})text quoted.*?\n(.*?)\n\1$", self.text, re.M | re.S)
        return [found[2] for found in fences]


async def ask(client: Client, tool: str, **arguments: Any) -> Answer:
    """A tool's answer."""
    return answer_of(await client.call_tool(tool, arguments))


def answer_of(result: CallToolResult) -> Answer:
    """A result with its texts joined."""
    text = "".join(block.text for block in result.content if isinstance(block, TextContent))
    return Answer(text, result.structured_content or {}, result.is_error, result)


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    """The error text of a tool for a call it refuses."""
    answer = await ask(client, tool, **arguments)
    assert answer.failed, answer.text
    assert answer.whole.structured_content is None
    said = answer.text.removeprefix(f"Error executing tool {tool}: ")
    assert said != answer.text, "a crash, or not our words"
    assert len(said) < 2_000
    assert "Traceback" not in said and "pydantic" not in said
    return said


def agrees(answer: Answer) -> bool:
    """Whether every number, text and name of the structured content is in the text as well."""
    return all_in(answer.text, answer.facts)


NUMBER = re.compile(r"\d[\d,]*")


def tells_a_part(answer: Answer) -> bool:
    """Whether every number of a text is in the structured content, which may hold more."""
    facts = json.dumps(answer.facts, ensure_ascii=False).replace(",", "")
    told = {number.strip(",").replace(",", "") for number in NUMBER.findall(answer.text)}
    assert not (unknown := {number for number in told if number not in facts}), unknown
    return len(answer.text) < len(facts)


def all_in(text: str, facts: Mapping[str, Any]) -> bool:
    """Whether every number, text and name of some facts is in a text."""
    for name, fact in facts.items():
        if name != "messages":  # for programs
            names = list(fact) if is_object(fact) else []
            for part in (*names, *_leaves(fact)):
                assert _spelled(part) in text, (name, part, text)
    return True


def workspace_in(folder: Path, environ: Mapping[str, str] | None = None) -> Workspace:
    """A workspace in a fresh project, with a home of its own."""
    home, cwd = folder / "home", folder / "project"
    for made in (home, cwd):
        made.mkdir(parents=True, exist_ok=True)
    return Workspace.here(environ=environ or {}, cwd=cwd, home=home)


def connected(workspace: Workspace, mode: Any = "auto", name: str = "a test") -> Client:
    """A client of a server in this process; `name` is the client's name."""
    client = Implementation(name=name, version="1")
    return Client(create_server(workspace), mode=mode, client_info=client)


def everything_in(folder: Path) -> dict[str, bytes]:
    """The files in a folder, except locks and `.gitignore`, which have no content of interest."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not {".locks", ".gitignore"} & set(path.parts)
    }


def write_transcript(
    path: Path, messages: Sequence[Mapping[str, Any]], *, session: str, charged: int = 0
) -> Path:
    """A conversation as Claude Code keeps it; `charged` tokens for the last request."""
    rows: list[dict[str, Any]] = []
    for index, message in enumerate(messages):
        content = {"role": message["role"], "content": message["content"]}
        if message["role"] == "assistant":
            usage = {"input_tokens": charged, "output_tokens": 1}
            content |= {"id": f"msg_{index}", "model": MODEL, "usage": usage}
        row = {"type": message["role"], "uuid": f"u{index}", "sessionId": session}
        parent = f"u{index - 1}" if index else None
        rows.append({**row, "parentUuid": parent, "message": content})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write_messages(path: Path, messages: Sequence[Mapping[str, Any]]) -> Path:
    """A conversation as a plain file of messages."""
    path.write_text(json.dumps(messages), encoding="utf-8")
    return path


def _leaves(value: Any) -> list[Any]:
    if is_object(value):
        return [leaf for part in value.values() for leaf in _leaves(part)]
    if is_array(value):
        return [leaf for part in value for leaf in _leaves(part)]
    return [value]


def _spelled(leaf: Any) -> str:
    if isinstance(leaf, bool):
        return ""  # said in words
    if leaf is None:
        return "unset"
    return f"{leaf:,}" if isinstance(leaf, int) else str(leaf)
