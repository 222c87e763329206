"""What an agent may read: the project it works in, never all that the user has."""

import json
import os
from pathlib import Path

import pytest
from mcp_door import ask, connected, refusal

from context_compression.workspace import Workspace

pytestmark = pytest.mark.anyio
SECRET = "the user's own key"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in (".ssh", "work/project/.git"):
        (tmp_path / "user" / name).mkdir(parents=True)
    (tmp_path / "user/.ssh/id_rsa").write_text(SECRET, encoding="utf-8")
    (tmp_path / "user/work/project/log.txt").write_text("a log", encoding="utf-8")
    return tmp_path / "user"


@pytest.mark.parametrize("start", ["/", "..", ".", "../user", "link"])
async def test_from_the_home_folder_and_above_nothing_but_the_store_is_open(
    home: Path, start: str
) -> None:
    os.symlink(home, home / "link")
    workspace = Workspace.here(cwd=home / start, home=home, environ={})

    async with connected(workspace) as client:
        for path in (home / ".ssh/id_rsa", "~/.ssh/id_rsa", ".ssh/id_rsa", "/etc/hostname"):
            told = await refusal(client, "context_offload", path=str(path))
            assert "may be read" in told or "There is no file" in told
            assert SECRET not in told

    assert workspace.access.roots == (workspace.store.folder.resolve(),)


async def test_in_a_project_its_files_are_open_and_those_of_the_home_folder_are_not(
    home: Path,
) -> None:
    workspace = Workspace.here(cwd=home / "work/project", home=home, environ={})

    async with connected(workspace) as client:
        kept = await ask(client, "context_offload", path="log.txt")
        told = await refusal(client, "context_offload", path="../../.ssh/id_rsa")

    assert kept.facts["ref"]
    assert f"outside the folders that may be read: {home / 'work/project'}" in told


async def test_what_is_open_is_told(home: Path) -> None:
    workspace = Workspace.here(
        cwd=home, home=home, environ={"CONTEXT_COMPRESSION_ALLOWED_PATHS": str(home / "work")}
    )

    async with connected(workspace) as client:
        status = await ask(
            client, "context_status", messages=[{"role": "user", "content": "Hello."}],
            response_format="detailed",
        )  # fmt: skip

    assert status.facts["files_may_be_read_in"] == [
        str(home / ".compression"), str(home / "work"),
    ]  # fmt: skip
    assert "files may be read in:" in status.text


async def test_where_no_file_may_be_read_no_call_with_a_path_is_offered(home: Path) -> None:
    allowing = {"CONTEXT_COMPRESSION_ALLOWED_PATHS": str(home / "work")}
    for environ in ({}, allowing):
        workspace = Workspace.here(cwd=home, home=home, environ=environ)

        async with connected(workspace) as client:
            status = await ask(client, "context_status")
            compressed = await ask(client, "context_compress")

        for answer in (status, compressed):
            assert "context_offload(content=…)" in answer.text
            assert ("path=…" in answer.text or "<path" in answer.text) == bool(environ)
        told = json.dumps(status.facts)
        assert ("CONTEXT_COMPRESSION_ALLOWED_PATHS" in told) != bool(environ)
