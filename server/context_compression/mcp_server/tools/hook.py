"""`context_hook`: the tool that a host's hooks call. Only `serve --hooks` offers it."""

from collections.abc import Mapping
from typing import Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, ToolAnnotations

from context_compression.hosts import events
from context_compression.mcp_server.calls import text_answer
from context_compression.workspace import Workspace

NAME = "context_hook"
DESCRIPTION = "Called by the host's own hooks, with their JSON. Refuses models."
CALL_ID, OF_PLUGIN = "claudecode/toolUseId", "toolu_plugin_"
"""Claude Code's model sends an id with its calls; its hooks send none, or one with this prefix."""
OF_CODEX = "callId"
"""Codex sends this only with calls of its model."""
META = {
    "ui": {"visibility": ["app"]},  # of the MCP Apps extension: not for the model
    "anthropic/maxResultSizeChars": 500_000,
}


def hook_tool(workspace: Workspace, host: str) -> Tool:
    """The tool, for the hooks of one host."""

    async def run(context: Context[Any, Any]) -> CallToolResult:
        meta: Mapping[str, Any] = context.request_context.meta or {}
        if OF_CODEX in meta or not str(meta.get(CALL_ID, OF_PLUGIN)).startswith(OF_PLUGIN):
            raise ToolError(
                "Only the host's hooks can call context_hook. Call context_offload or "
                "context_compress instead."
            )
        params: Mapping[str, Any] = context.request_context.params or {}
        event: Mapping[str, Any] = params.get("arguments") or {}
        return text_answer(await events.answer(host, workspace, event))

    annotations = ToolAnnotations(
        read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
    )
    tool = Tool.from_function(
        run,
        name=NAME,
        title="Hooks",
        description=DESCRIPTION,
        annotations=annotations,
        meta=META,
        structured_output=False,
    )
    tool.parameters = {"type": "object", "properties": {}}
    return tool
