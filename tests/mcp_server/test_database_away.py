"""A database that is away: every door says so in a sentence, soon, and without its secrets."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from mcp import Client
from mcp_door import refusal

from context_compression.cli import main
from context_compression.mcp_server import create_server
from context_compression.mcp_server.web.running import UNREACHABLE, Health
from context_compression.store import backend_at, probe
from context_compression.workspace import Workspace

pytestmark = pytest.mark.slow

NOWHERE = "postgresql://worker:s3cret@127.0.0.1:1/archive"
AWAY = "The database postgresql://127.0.0.1:1/archive does not answer: Connection refused."


@pytest.fixture(autouse=True)
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("context_compression.store.postgres.database.RETRY_SECONDS", 0.05)


@pytest.mark.parametrize("arguments", [["status"], ["sessions"], ["restore", "abcd"]], ids=str)
def test_the_command_line_says_it(arguments: list[str]) -> None:
    done = CliRunner().invoke(main, ["--store", NOWHERE, *arguments])

    assert done.exit_code == 2
    assert f"Error: {AWAY}" in done.stderr
    assert "Traceback" not in done.output
    assert "s3cret" not in done.output


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("context_status", {}),
        ("context_compress", {"messages": [{"role": "user", "content": "hello"}]}),
        ("context_offload", {"content": "a long text"}),
        ("context_restore", {"ref": "abcd"}),
        ("context_summary", {}),
        ("context_config", {"token_budget": 9_000}),
    ],
)
async def test_the_tools_say_it(tool: str, arguments: Mapping[str, Any], tmp_path: Path) -> None:
    workspace = Workspace.here(environ={}, cwd=tmp_path, home=tmp_path, store=NOWHERE)

    async with Client(create_server(workspace)) as client:
        said = await refusal(client, tool, **arguments)

    assert AWAY in said
    assert "s3cret" not in said


@pytest.mark.anyio
async def test_the_first_answer_of_readyz_is_right_though_calls_try_for_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("context_compression.store.postgres.database.RETRY_SECONDS", 600.0)
    backend = backend_at(NOWHERE.replace(":1/", ":2/"))
    health = Health(lambda: probe(backend))

    reasons = [await health.not_ready() for _ in range(2)]

    assert reasons == [UNREACHABLE] * 2
    assert capsys.readouterr().err == (
        f"Not ready: {AWAY.replace(':1/', ':2/')} Nothing was changed. Try again when it is back.\n"
    )
