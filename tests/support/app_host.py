"""A host of MCP Apps in a real browser: it shows a view of a server, and passes its calls on."""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from mcp import Client
from mcp.types import CallToolResult, TextResourceContents
from playwright.async_api import Frame, Page, async_playwright

PAGE = Path(__file__).with_name("app_host.html").read_text(encoding="utf-8")
AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")


@dataclass
class AppHost:
    """A host that shows one view.

    Attributes:
        page: the page of the host.
        client: its connection to the server.
        calls: the names and arguments of the tools that the view called.
        errors: what the browser's console reported.
    """

    page: Page
    client: Client
    calls: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])
    errors: list[str] = field(default_factory=list[str])

    @property
    def view(self) -> Frame:
        """The frame with the view."""
        return self.page.frames[-1]

    async def show(self, tool: str, arguments: Mapping[str, Any], **context: Any) -> CallToolResult:
        """Calls a tool, opens the view that belongs to it, and hands it the result."""
        listed = next(each for each in (await self.client.list_tools()).tools if each.name == tool)
        [page] = (
            await self.client.read_resource((listed.meta or {})["ui"]["resourceUri"])
        ).contents
        assert isinstance(page, TextResourceContents)
        await self.page.evaluate("([html, context]) => open_(html, context)", [page.text, context])
        await self.page.wait_for_function(
            "seen.some(each => each.method === 'ui/notifications/initialized')"
        )
        result = await self.client.call_tool(tool, dict(arguments))
        await self.notify("ui/notifications/tool-input", {"arguments": arguments})
        await self.notify("ui/notifications/tool-result", json.loads(_wire(result)))
        return result

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Sends the view a notification."""
        await self.page.evaluate(
            "([method, params]) => toView({ method, params })", [method, params]
        )

    async def ask(self, method: str) -> Any:
        """The view's whole answer to a request."""
        await self.page.evaluate("method => toView({ id: method, method, params: {} })", method)
        found = await self.page.wait_for_function("id => answers[id]", arg=method)
        return await found.json_value()

    async def serious_findings(self) -> list[str]:
        """What axe finds in the view that somebody cannot use."""
        await self.view.evaluate(AXE)
        found = await self.view.evaluate("axe.run()")
        assert found["passes"]
        return [
            f"{each['id']}: {each['nodes'][0]['html']}"
            for each in found["violations"]
            if each["impact"] in ("serious", "critical")
        ]


@asynccontextmanager
async def app_host(client: Client, chromium: str, *, width: int = 640) -> AsyncGenerator[AppHost]:
    """A host with an open browser.

    Args:
        client: of our server.
        chromium: the path of the browser.
        width: of the page, in pixels.
    """
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        try:
            page = await browser.new_page(viewport={"width": width, "height": 900})
            host = AppHost(page, client)

            async def call(name: str, arguments: str) -> str:
                host.calls.append((name, json.loads(arguments)))
                return _wire(await client.call_tool(name, json.loads(arguments)))

            page.on("console", lambda said: _note(host.errors, said.type, said.text))
            page.on("pageerror", lambda error: host.errors.append(str(error)))
            await cast("Any", page).expose_function("callTool", call)
            await page.set_content(PAGE)
            yield host
        finally:
            await browser.close()


def _wire(result: CallToolResult) -> str:
    return result.model_dump_json(by_alias=True, exclude_none=True)


def _note(errors: list[str], kind: str, text: str) -> None:
    if kind in ("error", "warning"):
        errors.append(text)
