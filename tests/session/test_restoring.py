"""`context_restore` pages and answers alike at every door."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_door import ask, connected

from context_compression import Session, restore_tool
from context_compression.errors import StoreError
from context_compression.mcp_server.tools.restore import HOW_TO_LIST, WIDER
from context_compression.session.restoring import PAGE, Asked, page
from context_compression.workspace import Workspace

LOG = "\n".join(f"{n} compiled unit_{n}.o" for n in range(1_000)) + "\nERROR: undefined flush_7"


@given(st.text(max_size=50).map(lambda text: text * 600), st.text(max_size=5), st.booleans())
def test_pages_joined_are_the_text(text: str, key: str, by_start: bool) -> None:
    joined, asked = "", Asked()
    while True:
        shown = page(text, key, asked)
        joined += shown.text
        if shown.cursor is None:
            break
        asked = Asked(start=shown.stop) if by_start else Asked(cursor=shown.cursor)

    assert joined == text


@given(st.integers(1, 30), st.integers(1, 400))
def test_a_page_ends_behind_a_line_unless_the_line_is_long(size: int, length: int) -> None:
    text = "".join(f"{n:0{length}}\n" for n in range(size))

    shown = page(text, "key", Asked(), 1_000)

    assert shown.text.endswith("\n")


def test_a_long_line_is_cut() -> None:
    assert len(page("x" * 3 * PAGE, "key", Asked()).text) == PAGE


@given(st.text(max_size=20))
def test_no_other_cursor_is_taken(cursor: str) -> None:
    with pytest.raises(StoreError, match="does not belong to this text"):
        page("x" * 20_000, "key", Asked(cursor=cursor))


@pytest.mark.anyio
@pytest.mark.parametrize(
    "arguments",
    [
        {}, {"ref": "{ref}"}, {"ref": "[{ref}]"}, {"ref": "{ref}", "start": 8_000},
        {"ref": "{ref}", "start": "8000"}, {"ref": "{ref}", "start": 99_999},
        {"ref": "{ref}", "cursor": "{cursor}"}, {"ref": "{ref}", "cursor": "9-00000000"},
        {"ref": "{ref}", "lines": "10-12"}, {"ref": "{ref}", "lines": "10:12"},
        {"ref": "{ref}", "lines": "10–12"}, {"ref": "{ref}", "lines": 7},
        {"ref": "{ref}", "lines": "many"}, {"ref": "{ref}", "lines": "9-2"},
        {"ref": "{ref}", "pattern": "ERROR"}, {"ref": "{ref}", "pattern": "WARNING"},
        {"ref": "{ref}", "query": "FLUSH_7 unit_10"}, {"ref": "{ref}", "query": "{ref}"},
        {"ref": "{ref}", "query": "flush", "pattern": "x"}, {"query": "undefined flush_7"},
        {"query": "compiled", "cursor": "5"}, {"query": "   ?"}, {"pattern": "flush_."},
        {"query": "nowhere"}, {"query": "flush", "lines": "7"}, {"query": "flush", "start": 7},
    ],
    ids=str,
)  # fmt: skip
async def test_a_model_reads_the_same_from_the_server_as_from_the_tool_of_a_loop(
    tmp_path: Path, arguments: dict[str, Any]
) -> None:
    workspace = Workspace.here(store=str(tmp_path / ".compression"))
    session = Session(workspace.store, "s")
    ref = session.offload(LOG, what="log of the build")
    *_, cursor = restore_tool(session).answer({"ref": ref}).partition("\n")[0].split(" ")
    filled = {
        name: value.format(ref=ref, cursor=cursor) if isinstance(value, str) else value
        for name, value in arguments.items()
    }

    in_loop = restore_tool(session).answer(filled)
    async with connected(workspace) as client:
        answer = await ask(client, "context_restore", conversation="s", **filled)

    assert answer.failed == in_loop.startswith("Error: ")
    said = answer.text.removeprefix("Error executing tool context_restore: ")
    for of_the_server in (f"{WIDER} ", f" {HOW_TO_LIST}"):
        said = said.replace(of_the_server, "")
    assert said == in_loop.removeprefix("Error: ")
