"""The server seen by the protocol's Inspector, a client that checks what it gets."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from other_hosts import with_node
from real_hosts import Package
from served import served

from context_compression.mcp_server import create_server
from context_compression.mcp_server.resources import PANEL_URI, prompts_for
from context_compression.mcp_server.tools import OFFERS
from context_compression.workspace import Workspace

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

INSPECTOR = Package("mcp-inspector", "@modelcontextprotocol/inspector", "2.12.0")
CALL = ("--tool-name", "context_offload", "--tool-args-json", json.dumps({"content": "a text"}))


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_the_inspector_lists_and_calls_and_finds_every_schema_portable(
    workspace: Workspace, tmp_path: Path, era: str
) -> None:
    command = [str(INSPECTOR.installed()), "--cli", "--protocol-era", era, "--format", "json"]
    environ = with_node() | {"HOME": str(tmp_path)}
    results: dict[str, Any] = {}

    async def inspect(url: str, method: str, *options: str) -> None:
        ended = await anyio.run_process(
            [*command, url, "--method", method, *options], env=environ, check=False
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert b"Warning" not in ended.stderr, ended.stderr  # of a schema that is less portable
        results[method] = json.loads(ended.stdout)["result"]

    async with served(create_server(workspace)) as url, anyio.create_task_group() as running:
        running.start_soon(inspect, url, "tools/list", "--strict")
        running.start_soon(inspect, url, "prompts/list")
        running.start_soon(inspect, url, "resources/list")
        running.start_soon(inspect, url, "tools/call", *CALL)

    assert [each["name"] for each in results["tools/list"]["tools"]] == [o.name for o in OFFERS]
    assert [each["name"] for each in results["prompts/list"]["prompts"]] == [
        prompt.name for prompt in prompts_for(workspace)
    ]
    assert isinstance(results["resources/list"]["resources"], list)
    assert results["tools/call"]["structuredContent"]["ref"]


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_the_inspector_finds_the_panel_if_it_says_that_it_shows_panels(
    workspace: Workspace, tmp_path: Path, era: str
) -> None:
    command = [str(INSPECTOR.installed()), "--cli", "--protocol-era", era]
    asked = ["--method", "tools/list", "--app-info", "--advertise-apps"]
    environ = with_node() | {"HOME": str(tmp_path)}

    async with served(create_server(workspace)) as url:
        ended = await anyio.run_process([*command, url, *asked], env=environ, check=False)

    found = [json.loads(line) for line in ended.stdout.splitlines()]
    [panel] = [each for each in found if each["hasApp"]]
    assert (panel["toolName"], panel["resourceUri"]) == ("context_status", PANEL_URI)
