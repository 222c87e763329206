"""The panel of `context_status`: an MCP App, for clients that show one.

A client that announces the extension `io.modelcontextprotocol/ui` finds the panel's address beside
the tool, reads the page, shows it in a frame without network, and hands it the tool's result. All
other clients get the same list of tools as without it, and every client the same text. The list is
private to a client (`cacheScope`), so no cache hands it to another.
"""

from importlib.resources import files
from typing import Any

from mcp.server.apps import Apps, ResourceCsp, client_supports_apps
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

from context_compression.conversation.messages import as_object
from context_compression.mcp_server.tools.status import context_status

URI = "ui://context-compression/status.html"
OF_TOOL = {"ui": {"resourceUri": URI}, "ui/resourceUri": URI}
"""In the `_meta` of the tool. Older clients read the second key."""


def panel() -> Apps:
    """The extension with the panel's page, which asks for no network and no permission."""
    page = files(__package__ or "").joinpath("panel.html").read_text(encoding="utf-8")
    apps = Apps()
    apps.add_html_resource(
        URI,
        page,
        name="context-status",
        title="Context usage",
        csp=ResourceCsp(),
        prefers_border=True,
    )
    return apps


async def panel_where_shown(
    ctx: ServerRequestContext[Any, Any], call_next: CallNext
) -> HandlerResult:
    """Adds the panel's address to `context_status`, for a client that shows panels."""
    result = await call_next(ctx)
    if ctx.method == "tools/list" and client_supports_apps(ctx):
        for tool in as_object(result).get("tools", ()):
            if tool["name"] == context_status.__name__:
                tool["_meta"] = {**tool.get("_meta", {}), **OF_TOOL}
    return result
