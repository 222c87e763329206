"""The server under the protocol's own conformance suite, in the revisions of 2025 and 2026."""

from pathlib import Path

import pytest
from conformance.fixtures import add_fixtures
from conformance.suite import REVISIONS, failures, required

from context_compression.mcp_server import create_server
from context_compression.workspace import Workspace

pytestmark = [
    pytest.mark.slow,
    pytest.mark.anyio,
    # the scenarios of 2025 ask for what the revision of 2026 deprecates
    pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning"),
]

UNAIDED = {"tools-list", "resources-list", "prompts-list", "dns-rebinding-protection"}
UNAIDED_IN = {
    "2025-11-25": UNAIDED | {"server-initialize", "ping", "server-session-lifecycle"},
    "2026-07-28": UNAIDED
    | {"server-stateless", "caching", "sep-2164-resource-not-found", "http-header-validation"},
}
"""The scenarios that need no fixture."""


async def test_every_required_scenario_passes_on_our_server_with_the_suites_fixtures(
    workspace: Workspace, tmp_path: Path
) -> None:
    wanted = {revision: required(revision) for revision in REVISIONS}

    found = await failures(add_fixtures(create_server(workspace)), tmp_path / "results", wanted)

    assert found == {}
    assert [len(names) for names in wanted.values()] == [30, 37]


async def test_the_server_alone_passes_what_needs_no_fixture(
    workspace: Workspace, tmp_path: Path
) -> None:
    server = create_server(workspace)

    found = await failures(server, tmp_path / "results", UNAIDED_IN, unaided=True)

    assert found == {}
