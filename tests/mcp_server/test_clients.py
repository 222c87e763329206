"""Clients that others wrote: the TypeScript SDK, LangChain, and the OpenAI Agents SDK.

Each runs a script of `tests/support/clients` with packages of its own.
"""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from other_hosts import SERVER, on_demand, with_node
from real_hosts import Desk, Environment, Package
from served import served

from context_compression.mcp_server import create_server
from context_compression.mcp_server.tools import OFFERS
from context_compression.workspace import Workspace

SCRIPTS = Path(__file__).parents[1] / "support" / "clients"
TYPESCRIPT = Package("typescript-client", "@modelcontextprotocol/client", "2.4.0")
LANGCHAIN = Environment("langchain", ("langchain-mcp-adapters==0.3.2", "langchain==1.5.2"))
OPENAI_AGENTS = Environment("openai-agents", ("openai-agents==0.24.0",))
NAMES = [offer.name for offer in OFFERS]
EMPTIES = {"conversation": "", "path": ""}
"""Some models fill in every argument."""


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_typescript_sdk_lists_the_tools_and_reads_structured_content(
    workspace: Workspace, mode: str
) -> None:
    folder = TYPESCRIPT.installed().parents[2]
    call = ["context_offload", json.dumps({"content": "a text", **EMPTIES})]

    async with served(create_server(workspace)) as url:
        command = ["node", str(SCRIPTS / "typescript.mjs"), str(folder), url, mode, *call]
        ended = await anyio.run_process(command, env=with_node(), check=False)

    assert ended.returncode == 0, ended.stderr
    seen = json.loads(ended.stdout)
    assert seen["tools"] == NAMES
    assert seen["result"]["structuredContent"]["ref"] in seen["result"]["content"][0]["text"]


def test_langchain_lists_the_tools_and_reads_structured_content(tmp_path: Path) -> None:
    seen = run("langchain_tools.py", LANGCHAIN, tmp_path, "context_offload", content="a", **EMPTIES)

    assert seen["tools"] == NAMES
    facts = seen["shown"]["artifact"]["structured_content"]
    assert facts["ref"] in seen["shown"]["content"][0]["text"]


def test_openai_agents_makes_schemas_strict_and_calls_with_all_arguments(tmp_path: Path) -> None:
    seen = run(
        "openai_agents.py", OPENAI_AGENTS, tmp_path, "context_summary", limit=5, conversation=""
    )

    strict = {name for name, is_strict in seen["strict"].items() if is_strict}
    assert [*seen["strict"]] == NAMES
    # the other two take messages or settings, and a strict schema has no objects with free names
    assert strict == {*NAMES} - {"context_status", "context_compress"}
    assert "No summaries yet" in json.dumps(seen["shown"])


def run(script: str, packages: Environment, folder: Path, tool: str, **arguments: Any) -> Any:
    """What a script printed of a call to a server in a project of its own."""
    python = on_demand(packages) / "python"
    call = (tool, json.dumps(arguments))
    ended = Desk(folder).run(python, SCRIPTS / script, *call, *SERVER, "serve")
    assert ended.code == 0, ended.stderr[-2000:]
    return json.loads(ended.stdout)
