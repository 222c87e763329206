# pyright: basic, reportMissingImports=false
# The framework is installed in an environment of its own.
"""Claude Code in the Claude Agent SDK: sessions apart, compactions, the plugin, missing parts."""

import asyncio
import json
import os
import re
import runpy
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from itertools import count
from pathlib import Path
from typing import Any

from agent_runs import log
from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, create_sdk_mcp_server, query, tool

from context_compression import Settings, Store
from context_compression.integrations.claude_agent_sdk import ContextCompression, plugin_path
from context_compression.testing.messages_api import Answer, MessagesAPI

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "frameworks" / "claude-agent-sdk.md"
EXAMPLE = ROOT / "examples" / "claude_agent_sdk_agent.py"
OFFLINE = {
    "ANTHROPIC_API_KEY": "sk-test", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1",
    "ENABLE_TOOL_SEARCH": "false", "MCP_CONNECTION_NONBLOCKING": "0", "TMPDIR": str(Path.cwd()),
}  # fmt: skip
LOGS = "mcp__build__logs"
RESTORE = "mcp__context-compression__context_restore"
OF_PLUGIN = "mcp__plugin_context-compression_context__context_restore"
numbers = count()
FULL = 990_000
"""Tokens of a request after which Claude Code compacts."""


@tool("logs", "The log of a build.", {"n": int})
async def logs(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": log(arguments["n"])}]}


def texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for block in content:
            yield from texts(block)
    elif isinstance(content, dict):
        yield from texts(content.get("text") or content.get("content"))


class Scripted:
    """The fake model: an answer for each request, and a summary where the host asks for one."""

    def __init__(self, *answers: Answer | str) -> None:
        self.answers, self.seen, self.summaries = [*answers], list[str](), list[str]()
        self.calls_are_its_own = True

    def __call__(self, body: dict[str, Any]) -> Answer | str:
        shown = "\n".join(texts([message["content"] for message in body["messages"]]))
        if "Do NOT call any tools" in shown[-3_000:]:
            self.summaries.append(shown)
            return "<summary>A summary of the host.</summary>"
        self.seen.append(shown)
        self.calls_are_its_own = "session_id" not in json.dumps(body["messages"])
        return self.answers.pop(0)


def calling(name: str, tokens: int = 100, says: str = "", **arguments: Any) -> Answer:
    call = {"type": "tool_use", "id": f"toolu_{next(numbers)}", "name": name, "input": arguments}
    return Answer(says, "tool_use", content=[call], usage={"input_tokens": tokens})


def talking(*last: Answer) -> Scripted:
    """A model that talks much while it reads logs, until the host compacts."""
    steps = [calling(LOGS, says=f"I saw okapi {n}. " + "It was red. " * 700, n=n) for n in range(8)]
    return Scripted(*steps, calling(LOGS, FULL, n=8), *last, "Done.")


async def asked(model: Scripted, prompt: str, *allowed: str, **options: Any) -> str:
    """One prompt, until the model has answered; returns the id of the session."""
    id = ""
    with MessagesAPI([model]) as api:
        servers = {"build": create_sdk_mcp_server("build", tools=[logs])}
        servers |= options.pop("mcp_servers", {})
        environ = OFFLINE | {"ANTHROPIC_BASE_URL": api.base_url}
        told = ClaudeAgentOptions(
            mcp_servers=servers, allowed_tools=["mcp__build", *allowed], setting_sources=[],
            env=environ, **options,
        )  # fmt: skip
        async for message in query(prompt=prompt, options=told):
            if isinstance(message, ResultMessage):
                id = message.session_id
    return id


async def apart() -> dict[str, Any]:
    """Two sessions at the same time; both search for a log of the first."""
    ours = ContextCompression("apart")
    models = {
        n: Scripted(calling(LOGS, n=n), calling(RESTORE, query="v7_77"), "Done.") for n in (7, 50)
    }
    options = {"hooks": ours.hooks(), "mcp_servers": ours.mcp_servers()}
    ids = await asyncio.gather(
        *(asked(model, "Read the log.", **options) for model in models.values())
    )
    originals = [[text for _, _, text in ours.session(id).archived()] for id in ids]
    return {
        "shown_whole": [log(n) in "\n".join(model.seen) for n, model in models.items()],
        "archived": [texts == [log(n)] for n, texts in zip(models, originals, strict=True)],
        "found": [" original for " in model.seen[2] for model in models.values()],
        "calls": [model.calls_are_its_own for model in models.values()],
    }


async def compacted() -> dict[str, Any]:
    """A compaction by Claude Code, with our hooks."""
    ours, model = ContextCompression("compacted"), talking(calling(RESTORE, query="okapi 3"))
    options = {"hooks": ours.hooks(), "mcp_servers": ours.mcp_servers()}
    await asked(model, "Look for animals.", **options)
    return {
        "summaries": len(model.summaries),
        "told": all("Keep refs: a line like" in text for text in model.summaries),
        "after": "All that this compaction removed is archived" in model.seen[9],
        "shortened": "okapi 3" not in model.seen[9],
        "found": "I saw okapi 3." in model.seen[10],
    }


async def plugin() -> dict[str, Any]:
    """A compaction that our plugin answers."""
    model, folder = talking(calling(OF_PLUGIN, query="okapi 3")), plugin_path(folder="plugins")
    await asked(model, "Look for animals.", OF_PLUGIN, plugins=[{"type": "local", "path": folder}])
    return {
        "summaries": len(model.summaries),
        "after": "[Compressed History]" in model.seen[9],
        "found": "I saw okapi 3." in model.seen[10],
        "again": plugin_path(folder="plugins") == folder,
        "left": os.listdir(os.path.dirname(folder)),
    }


async def missing() -> dict[str, Any]:
    """Without our hooks, and with a store that cannot be written."""
    without = Scripted(calling(RESTORE, query="okapi"), "Done.")
    blocked = Scripted(calling(LOGS, n=1), "Done.")
    servers = ContextCompression("without").mcp_servers()
    await asked(without, "Go.", RESTORE, mcp_servers=servers)
    ours = ContextCompression("blocked")
    await asked(blocked, "Go.", hooks=ours.hooks(), mcp_servers=ours.mcp_servers())
    return {"hooks": without.seen[1][-200:], "store": log(1) in blocked.seen[1]}


def passed() -> list[Any]:
    """A store and settings that a program made itself, and those of their session."""
    store, named = Store("passed"), Store("named").name
    os.environ["CONTEXT_COMPRESSION_TENANT"] = "acme"
    by_path = ContextCompression("named").session("id").store.name
    os.environ["CONTEXT_COMPRESSION_KEY"] = "A" * 43 + "="  # for a database, not for this store
    ours = ContextCompression(store, settings=Settings(offload_min_tokens=77))
    session = ours.session_of("id")
    same = (session.store is store, by_path == named)
    return [*same, session.settings.offload_min_tokens, ours.session("id").id]


def blocks() -> int:
    """How many blocks the page of this framework has; each runs."""
    found = re.findall(r"(?ms)^```python\n(.*?)^```", PAGE.read_text("utf-8"))
    for block in found:
        exec(block, {})
    return len(found)


def example() -> dict[str, Any]:
    """The example as it stands."""
    command = f"{sys.executable} -c 'for n in range(2000): print(n, n * n)'"
    model = Scripted(calling("Bash", command=command), "They pass.")
    with MessagesAPI([model]) as api, redirect_stdout(StringIO()) as printed:
        os.environ |= OFFLINE | {"ANTHROPIC_BASE_URL": api.base_url}
        runpy.run_path(str(EXAMPLE), run_name="__main__")
    return {"printed": printed.getvalue(), "noted": "; ref " in model.seen[1]}


async def main() -> dict[str, Any]:
    programs = (apart, compacted, plugin, missing)
    return {program.__name__: await program() for program in programs}


Path("blocked").write_text("a file, no folder", "utf-8")
report = asyncio.run(main())
print(json.dumps({**report, "example": example(), "blocks": blocks(), "passed": passed()}))
