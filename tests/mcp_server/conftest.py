"""What tests of the MCP server may ask for."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from mcp import Client
from mcp_door import connected, workspace_in

from context_compression.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return workspace_in(tmp_path)


@pytest.fixture(params=["auto", "legacy"])
async def client(request: pytest.FixtureRequest, workspace: Workspace) -> AsyncIterator[Client]:
    """A client of a server in this process, in the protocol of 2026 and that of 2025."""
    async with connected(workspace, request.param) as client:
        yield client
