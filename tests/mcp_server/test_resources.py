"""Checkpoints and archived texts as resources."""

from pathlib import Path

import pytest
from mcp import Client, MCPError
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    ResourceTemplateReference,
    TextResourceContents,
)
from mcp_door import ask, connected, workspace_in

from context_compression.session import Session
from context_compression.workspace import Workspace

pytestmark = pytest.mark.anyio

REFS = ResourceTemplateReference(type="ref/resource", uri="context://ref/{ref}")
CHECKPOINTS = ResourceTemplateReference(type="ref/resource", uri="context://checkpoint/{ref}")
BEFORE_2026 = -32002
"""Resource not found, in the revisions up to 2025-11-25."""


async def read(client: Client, uri: str) -> str:
    [contents] = (await client.read_resource(uri)).contents
    assert isinstance(contents, TextResourceContents)
    assert (contents.uri, contents.mime_type) == (uri, "text/plain")
    return contents.text


async def test_checkpoints_are_listed_newest_first_and_read_quoted(client: Client) -> None:
    for text in ("Goal: one.", "Goal: two.\n```\n"):
        await ask(client, "context_compress", summary=text)

    listed = (await client.list_resources()).resources
    newest = await read(client, "context://checkpoint/latest")
    older = await read(client, listed[2].uri)

    assert [resource.title for resource in listed] == ["two", "two", "one"]
    assert listed[0].uri == "context://checkpoint/latest"
    assert newest.startswith('checkpoint "two" · ref ')
    assert "````text quoted from the archive\nGoal: two.\n```\n\n````" in newest
    assert "Goal: one." in older


async def test_a_ref_is_read_as_restore_shows_it(client: Client) -> None:
    kept = await ask(client, "context_offload", content="line\n" * 4_000)
    ref = kept.facts["ref"]

    whole = await read(client, f"context://ref/{ref}")
    by_its_beginning = await read(client, f"context://ref/{ref[:6]}")
    restored = await ask(client, "context_restore", ref=ref)

    assert whole == by_its_beginning
    assert whole.startswith(restored.text.partition(" · characters")[0])
    assert "```text quoted from the archive\nline\n" in whole
    assert whole.count("line\n") == 4_000


async def test_a_long_original_is_cut_with_the_cursor_of_restore(client: Client) -> None:
    kept = await ask(client, "context_offload", content="".join(f"{n:9}\n" for n in range(5_000)))
    ref = kept.facts["ref"]

    first = await read(client, f"context://ref/{ref}")
    cursor = first.partition("next page: cursor ")[2].split()[0]
    following = await ask(client, "context_restore", ref=ref, cursor=cursor)

    assert "characters 1-40,000 of 50,000" in first
    assert following.pages[0].startswith("     4000\n")


async def test_what_is_not_there_is_the_error_of_the_protocol_with_a_sentence(
    client: Client,
) -> None:
    cases = {
        "context://ref/abcd12": "Nothing is archived under 'abcd12'",
        "context://ref/abc": "at least 4 digits name a ref",
        "context://checkpoint/latest": "No checkpoint 'latest' is kept. context_compress(summary",
        "context://checkpoint/c0ffee": "No checkpoint 'c0ffee' is kept",
        "context://ref/../../etc/passwd": "There is no resource",
        "file:///etc/passwd": "Resources are context://checkpoint/latest",
    }
    code = INVALID_PARAMS if client.protocol_version == "2026-07-28" else BEFORE_2026

    for uri, wanted in cases.items():
        with pytest.raises(MCPError) as caught:
            await client.read_resource(uri)
        assert caught.value.code == code
        assert wanted in caught.value.message
        assert caught.value.data == {"uri": uri}


async def test_refs_are_completed_by_their_beginning(client: Client) -> None:
    kept = [await ask(client, "context_offload", content=f"text {n}") for n in range(3)]
    refs = [answer.facts["ref"] for answer in kept]

    every = (await client.complete(REFS, {"name": "ref", "value": ""})).completion
    one = (await client.complete(REFS, {"name": "ref", "value": refs[1][:6]})).completion
    latest = (await client.complete(CHECKPOINTS, {"name": "ref", "value": "la"})).completion

    assert every.values == refs[::-1]
    assert (every.total, every.has_more) == (3, False)
    assert one.values == [refs[1]]
    assert latest.values == ["latest"]


async def test_the_list_has_pages_and_an_end(client: Client, workspace: Workspace) -> None:
    session = Session(workspace.store, "offloaded")
    refs = [session.offload(f"text {n}", what=f"text {n}") for n in range(120)]

    pages = [await client.list_resources()]
    while cursor := pages[-1].next_cursor:
        pages.append(await client.list_resources(cursor=cursor))

    assert [len(page.resources) for page in pages] == [50, 50, 20]
    assert [each.name for page in pages for each in page.resources] == refs[::-1]
    with pytest.raises(MCPError, match="cursor"):
        await client.list_resources(cursor="x")


async def test_a_long_session_hides_neither_offloaded_texts_nor_other_sessions(
    client: Client, workspace: Workspace
) -> None:
    for id, texts in (("offloaded", 2), ("short", 2), ("long", 60)):
        session = Session(workspace.store, id)
        for n in range(texts):
            session.offload(f"{id} {n}", what=f"{id} {n}")

    first = await client.list_resources()
    second = await client.list_resources(cursor=first.next_cursor)
    shown = [each.title for each in (*first.resources, *second.resources)]

    assert shown[:3] == ["offloaded 1", "offloaded 0", "long 59"]
    assert shown[51:] == ["long 10", "short 1", "short 0"]


async def test_another_store_cannot_be_read(tmp_path: Path) -> None:
    ours, theirs = workspace_in(tmp_path / "a"), workspace_in(tmp_path / "b")
    ref = Session(theirs.store, "offloaded").offload("a secret", what="text")

    async with connected(ours) as client:
        assert (await client.list_resources()).resources == []
        with pytest.raises(MCPError, match="Nothing is archived"):
            await client.read_resource(f"context://ref/{ref}")


async def test_a_damaged_store_is_told_in_our_words(client: Client, workspace: Workspace) -> None:
    await ask(client, "context_compress", summary="Goal: one.")
    (workspace.store.folder / "summaries.json").write_text("[", "utf-8")

    for asked in (
        client.list_resources(),
        client.read_resource("context://checkpoint/latest"),
        client.get_prompt("resume"),
        client.complete(CHECKPOINTS, {"name": "ref", "value": ""}),
    ):
        with pytest.raises(MCPError, match=r"summaries\.json") as caught:
            await asked
        assert caught.value.code == INTERNAL_ERROR


async def test_a_ref_of_an_old_session_is_completed_by_four_digits(
    client: Client, workspace: Workspace
) -> None:
    sessions = [Session(workspace.store, f"s-{n}") for n in range(32)]
    refs = [session.offload(f"text of {session.id}", what="text") for session in sessions]

    completed = [
        (await client.complete(REFS, {"name": "ref", "value": ref[:8]})).completion.values
        for ref in refs
    ]

    assert completed == [[ref] for ref in refs]
