"""The panel of `context_status`, listed for clients that show one, and in a host in a browser."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from shutil import which
from typing import Any

import anyio
import pytest
from app_host import AppHost, app_host
from mcp import Client
from mcp.client import advertise
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID
from mcp.types import METHOD_NOT_FOUND, TextResourceContents
from mcp_door import write_messages
from playwright.async_api import expect

from context_compression.mcp_server import create_server
from context_compression.mcp_server.resources import PANEL_URI
from context_compression.workspace import Workspace

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
SHOWS = advertise(EXTENSION_ID, {"mimeTypes": [APP_MIME_TYPE]})
OTHER = advertise(EXTENSION_ID, {"mimeTypes": ["text/html"]})
PATIENCE = 60_000  # milliseconds for a call of a tool, on a busy machine
SCRIPT = "<img src=x onerror=alert(1)><script>alert(2)</script>"


def of(workspace: Workspace, mode: Any, *extensions: Any) -> Client:
    return Client(create_server(workspace), mode=mode, extensions=extensions or None)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_only_a_client_that_shows_panels_finds_one_beside_context_status(
    workspace: Workspace, mode: Any
) -> None:
    listed: dict[str, list[Any]] = {}
    for name, extensions in {"shows": [SHOWS], "other": [OTHER], "none": []}.items():
        async with of(workspace, mode, *extensions) as client:
            tools = (await client.list_tools()).tools
            listed[name] = [tool.model_dump(mode="json", by_alias=True) for tool in tools]

    assert listed["other"] == listed["none"]
    assert PANEL_URI not in json.dumps(listed["none"])
    with_panel = {each["name"]: each.pop("_meta") for each in listed["shows"]}
    without = {each["name"]: each.pop("_meta") for each in listed["none"]}
    assert listed["shows"] == listed["none"]
    added = {"ui": {"resourceUri": PANEL_URI}, "ui/resourceUri": PANEL_URI}
    assert with_panel == without | {"context_status": added}


async def test_the_page_is_self_contained_and_asks_for_no_network(client: Client) -> None:
    [page] = (await client.read_resource(PANEL_URI)).contents

    assert isinstance(page, TextResourceContents)
    assert page.mime_type == APP_MIME_TYPE
    assert page.meta == {"ui": {"csp": {}, "prefersBorder": True}}
    assert "http://" not in page.text and "https://" not in page.text
    assert "innerHTML" not in page.text and "<link" not in page.text and "src=" not in page.text
    assert len(page.text) < 20_000
    assert str(PANEL_URI) not in [
        str(each.uri) for each in (await client.list_resources()).resources
    ]


@pytest.fixture
def chromium() -> str:
    """The browser. A skip inside the client's task group would not reach pytest."""
    found = which("chromium")
    if found is None:
        pytest.skip("no browser: there is no chromium on the PATH")
    return found


@pytest.fixture
async def host(workspace: Workspace, chromium: str) -> AsyncIterator[AppHost]:
    async with of(workspace, "auto", SHOWS) as client, app_host(client, chromium) as host:
        yield host
        assert host.errors == []


@pytest.fixture
def conversation(workspace: Workspace) -> dict[str, str]:
    """The arguments of a call about a file with a large tool result."""
    lines = "\n".join(f"line {number}: {SCRIPT}" for number in range(300))
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"Look at it. {SCRIPT}"}]
    for turn in range(8):
        call: dict[str, Any] = {
            "type": "tool_use",
            "id": f"t{turn}",
            "name": SCRIPT[:5] + "Bash",
            "input": {},
        }
        answer = {"type": "tool_result", "tool_use_id": f"t{turn}", "content": lines}
        messages += [
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [answer]},
        ]
        messages += [{"role": "assistant", "content": f"Turn {turn} is done."}]
        messages += [{"role": "user", "content": f"And now step {turn}."}]
    path = write_messages(Path(workspace.cwd) / "chat.json", messages)
    return {"conversation": str(path)}


async def test_the_panel_shows_the_numbers_of_a_real_answer_in_the_hosts_theme(
    host: AppHost, conversation: dict[str, str]
) -> None:
    result = await host.show("context_status", conversation, theme="dark")
    facts: dict[str, Any] = result.structured_content or {}

    shown = await host.view.locator("main").inner_text()
    assert f"{facts['used_tokens']:,} of {facts['total_budget']:,} tokens" in shown
    assert f"{facts['due_from_tokens']:,} tokens" in shown
    for kind, tokens in facts["tokens_by_kind"].items():
        assert kind in shown and f"{tokens:,}" in shown
    assert all(item in shown for item in facts["largest"])
    assert await host.view.locator("img, main script").count() == 0
    body = host.view.locator("body")
    await expect(body).to_have_css("background-color", "rgb(27, 28, 30)", timeout=PATIENCE)
    assert await host.serious_findings() == []

    await host.notify("ui/notifications/host-context-changed", {"theme": "light"})
    await expect(body).to_have_css("background-color", "rgb(255, 255, 255)", timeout=PATIENCE)
    assert await host.serious_findings() == []


async def test_the_keyboard_refreshes_compresses_after_a_question_and_shows_a_refs_text(
    host: AppHost, conversation: dict[str, str]
) -> None:
    await host.show("context_status", conversation)
    view, keys = host.view, host.page.keyboard

    async def press(button: str, key: str = "Enter") -> None:
        await view.get_by_role("button", name=button, exact=True).focus()
        await keys.press(key)

    async def idle() -> None:
        await expect(view.get_by_role("status")).to_be_empty(timeout=PATIENCE)

    await press("Refresh")
    await idle()
    await press("Compress…")
    assert await view.evaluate("document.activeElement.textContent") == "Cancel"
    await keys.press("Escape")
    assert await view.evaluate("document.activeElement.textContent") == "Compress…"
    assert [name for name, _ in host.calls] == ["context_status"]

    await press("Compress…")
    await press("Compress")
    await idle()
    report = await view.locator("#answer").inner_text()
    assert "tokens" in report
    shown = view.get_by_role("button", name="Show ").first
    ref = (await shown.get_attribute("aria-label") or "").removeprefix("Show ")
    await shown.focus()
    await keys.press("Space")
    await idle()

    restored = view.get_by_role("region", name=f"Archived under {ref}")
    assert SCRIPT in await restored.inner_text()
    assert host.calls == [
        ("context_status", conversation),
        ("context_compress", conversation),
        ("context_status", conversation),
        ("context_restore", {"ref": ref}),
    ]
    assert await host.serious_findings() == []


async def test_a_failed_call_is_told_and_the_view_answers_its_host_until_the_end(
    host: AppHost, conversation: dict[str, str]
) -> None:
    await host.show("context_status", conversation)
    view = host.view
    await anyio.Path(conversation["conversation"]).unlink()

    await view.get_by_role("button", name="Refresh").click()
    await expect(view.get_by_role("status")).to_contain_text("chat.json", timeout=PATIENCE)

    assert (await host.ask("ping"))["result"] == {}
    assert (await host.ask("ui/unknown"))["error"]["code"] == METHOD_NOT_FOUND
    sent = await host.page.evaluate("seen.findLast(each => each.method?.endsWith('size-changed'))")
    height = await view.evaluate("document.documentElement.getBoundingClientRect().height")
    assert sent["params"]["height"] >= height > 200
    assert (await host.ask("ui/resource-teardown"))["result"] == {}


async def test_without_a_conversation_the_panel_shows_what_helps(host: AppHost) -> None:
    result = await host.show("context_status", {}, theme="dark")

    shown = await host.view.locator("main").inner_text()
    assert (result.structured_content or {})["headline"] in shown
    assert "calls that help" in shown
    assert not await host.view.get_by_role("button", name="Compress…").is_visible()
    assert await host.serious_findings() == []
