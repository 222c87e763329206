# pyright: basic, reportMissingImports=false
# The framework is installed in an environment of its own.
"""Claude Code in the Claude Agent SDK over 100 tool steps: `ours`, `plugin`, or `own`."""

import asyncio
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agent_runs import TASK, AgentRun, log
from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, create_sdk_mcp_server, query, tool

from context_compression import Session
from context_compression.integrations.claude_agent_sdk import ContextCompression, plugin_path
from context_compression.testing.messages_api import Answer, MessagesAPI

HOW = sys.argv[1]
SUMMARY = "REMINDER: Do NOT call any tools."
OFFLINE = {
    "ANTHROPIC_API_KEY": "sk-test", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1",
    "ENABLE_TOOL_SEARCH": "false", "MCP_CONNECTION_NONBLOCKING": "0",
    # of a window of a million tokens: the host compacts at 60,000
    "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "6", "TMPDIR": str(Path.cwd()),
}  # fmt: skip
NAMES = {
    "logs": "mcp__build__logs",
    "context_restore": "mcp__context-compression__context_restore"
    if HOW == "ours" else "mcp__plugin_context-compression_context__context_restore",
}  # fmt: skip


@tool("logs", "The log of a build.", {"n": int})
async def logs(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": log(arguments["n"])}]}


def texts(content: Any) -> Iterator[str]:
    """All texts of a message as it was sent, without marks for the cache."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for block in content:
            yield from texts(block)
    elif isinstance(content, dict):
        yield from texts(content.get("text") or content.get("content") or content.get("input"))
        if "input" in content:
            yield json.dumps(content["input"])


class Model:
    """The fake model: a summary where the host asks for one, else what the run decides."""

    def __init__(self) -> None:
        self.run = AgentRun(restores=HOW != "own")
        self.summaries = 0

    def __call__(self, body: dict[str, Any]) -> Answer | str:
        messages = ["\n".join(texts(message["content"])) for message in body["messages"]]
        tokens = {"input_tokens": sum(map(len, messages)) // 3}
        if SUMMARY in messages[-1]:
            self.summaries += 1
            return Answer(
                "<summary>Logs were read. Never touch src/vendor.</summary>", usage=tokens
            )
        blocks = [
            b for m in body["messages"] if isinstance(m["content"], list) for b in m["content"]
        ]
        call = self.run.next(
            messages,
            calls=[block["id"] for block in blocks if block["type"] == "tool_use"],
            results=[block["tool_use_id"] for block in blocks if block["type"] == "tool_result"],
        )
        if call is None:
            return Answer("The build is green.", usage=tokens)
        used = {"id": f"toolu_{call.id}", "name": NAMES[call.name], "input": call.arguments}
        return Answer("", "tool_use", content=[{"type": "tool_use", **used}], usage=tokens)


async def main() -> None:
    model = Model()
    options: dict[str, Any] = {"mcp_servers": {}}
    compression = ContextCompression(store=".compression")
    if HOW == "ours":
        options = {"hooks": compression.hooks(), "mcp_servers": compression.mcp_servers()}
    elif HOW == "plugin":
        options["plugins"] = [{"type": "local", "path": plugin_path()}]
    options["mcp_servers"]["build"] = create_sdk_mcp_server("build", tools=[logs])
    with MessagesAPI([model]) as api:
        os.environ.update(OFFLINE, ANTHROPIC_BASE_URL=api.base_url)
        started = time.perf_counter()
        allowed = ["mcp__build", "mcp__plugin_context-compression_context"]
        options = ClaudeAgentOptions(allowed_tools=allowed, setting_sources=[], **options)
        async for message in query(prompt=TASK, options=options):
            if isinstance(message, ResultMessage):
                id = message.session_id
        seconds = time.perf_counter() - started
    session = Session(".compression", id)
    report = model.run.report(session) | {"summaries": model.summaries}
    report["method"] = "Claude Code's compaction"
    print(json.dumps(report | {"seconds": seconds / model.run.requests}))


asyncio.run(main())
