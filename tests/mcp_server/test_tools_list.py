import json
import re
from base64 import b64decode
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from mcp import Client, MCPError
from mcp.types import INVALID_PARAMS, Tool

import context_compression
from context_compression.mcp_server.arguments import input_schema
from context_compression.mcp_server.server import INSTRUCTIONS
from context_compression.mcp_server.tools import OFFERS
from context_compression.session import SCHEMAS
from context_compression.settings import GUARDED, NAMES
from context_compression.tokens import BASE, base_count

pytestmark = pytest.mark.anyio

MOST_TOKENS = 1_000
"""Of the vocabulary o200k, for what a client sends its model: names, descriptions, input schemas
and instructions, as compact JSON. Clients do not send titles, hints and output schemas."""
READING = {"context_status", "context_summary", "context_restore"}
WITH_FACTS = {"context_status", "context_compress", "context_offload", "context_config"}


async def tools_of(client: Client) -> list[Tool]:
    return (await client.list_tools()).tools


async def test_there_are_six_tools(client: Client) -> None:
    names = [tool.name for tool in await tools_of(client)]

    assert names == [
        "context_status", "context_compress", "context_config", "context_summary",
        "context_offload", "context_restore",
    ]  # fmt: skip


async def test_no_tool_can_delete_what_is_archived(client: Client) -> None:
    deleting = {"delete", "remove", "prune", "forget", "purge", "erase", "older_than"}

    for tool in await tools_of(client):
        names = {tool.name, *tool.input_schema.get("properties", {})}
        assert not {word for name in names for word in name.split("_")} & deleting


def test_no_code_of_the_server_or_its_hooks_deletes_a_session() -> None:
    package = Path(context_compression.__file__).parent
    for folder in ("mcp_server", "hooks"):
        for file in (package / folder).rglob("*.py"):
            text = file.read_text("utf-8")
            assert not re.search(r"\.(delete|prune|forget|remove_offloaded)\(|rmtree", text), file


async def test_what_a_client_sends_its_model_is_small(client: Client) -> None:
    sent = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
        for tool in await tools_of(client)
    ]

    compact = json.dumps(sent, separators=(",", ":"), ensure_ascii=False)

    assert base_count(compact) + base_count(client.instructions or "") <= MOST_TOKENS


async def test_every_tool_says_what_it_is_and_sets_every_hint(client: Client) -> None:
    for tool in await tools_of(client):
        hints = tool.annotations
        assert tool.title
        assert tool.description
        assert len(tool.description) < 500
        assert (tool.output_schema is not None) is (tool.name in WITH_FACTS)
        assert hints is not None
        assert hints.read_only_hint is (tool.name in READING)
        assert hints.destructive_hint is False
        assert hints.idempotent_hint is (tool.name != "context_compress")
        assert hints.open_world_hint is False


async def test_every_parameter_is_described_and_typed_and_has_no_ballast(client: Client) -> None:
    for tool in await tools_of(client):
        assert tool.input_schema["type"] == "object"
        for name, about in tool.input_schema["properties"].items():
            assert about["description"], name
            assert isinstance(about["type"], str), name  # what every client understands
            assert about.keys() <= {"type", "description", "enum", "items"}, name


async def test_descriptions_do_not_command_the_model(client: Client) -> None:
    for tool in await tools_of(client):
        said = json.dumps([tool.description, tool.input_schema]).lower()
        assert not any(
            word in said for word in ("always", "must", "never", "you should", "first call")
        )


def test_config_takes_every_setting_by_name_and_in_settings() -> None:
    config = next(offer for offer in OFFERS if offer.name == "context_config").arguments

    assert set(config.known()) >= {"reset", "settings", *NAMES}
    listed = {*input_schema(config)["properties"]}
    assert listed == {"settings", "reset", "token_budget", "strategy"}
    assert not listed & {*GUARDED}


async def test_descriptions_say_when_to_call(client: Client) -> None:
    told = {tool.name: tool.description or "" for tool in await tools_of(client)}
    instructions = client.instructions or ""

    assert all(re.search(r"\b(Use|At the end)\b", words) for words in told.values())
    assert "at the end of a long chat" in told["context_compress"].lower()
    assert "at the start of a chat that refers to earlier work" in told["context_summary"]
    assert "before reading a large file" in told["context_offload"]
    for moment in ("End of a long chat", "Start of one that refers", "Before reading a large"):
        assert moment in instructions


async def test_each_strategy_is_explained_in_a_few_words(client: Client) -> None:
    [compress] = [tool for tool in await tools_of(client) if tool.name == "context_compress"]
    strategy = compress.input_schema["properties"]["strategy"]

    explained = dict(part.split(": ") for part in strategy["description"].split("; "))

    assert [name.strip() for name in explained] == strategy["enum"]
    assert all(1 < len(words.split()) <= 5 for words in explained.values())


async def test_instructions_are_short_and_name_every_tool(client: Client) -> None:
    said = client.instructions or ""

    assert len(said) < 1_000
    assert all(tool.name in said for tool in await tools_of(client))


async def test_the_server_says_who_it_is(client: Client) -> None:
    try:
        installed = version("context-compression")
    except PackageNotFoundError:
        installed = "0+source"

    assert client.server_info is not None
    assert (client.server_info.name, client.server_info.version) == (
        "context-compression",
        installed,
    )


async def test_the_server_shows_its_icon_once_and_fetches_nothing_for_it(client: Client) -> None:
    later = await client.list_tools()

    assert client.server_info and client.server_info.icons
    [icon] = client.server_info.icons
    kind, _, picture = icon.src.partition(";base64,")
    assert (kind, icon.mime_type) == ("data:image/svg+xml", "image/svg+xml")
    assert b64decode(picture).startswith(b"<svg ")
    assert len(icon.src) < 500
    assert "svg" not in later.model_dump_json()


async def test_an_unknown_tool_is_a_protocol_error_that_names_the_tools(client: Client) -> None:
    with pytest.raises(MCPError, match=r"context_comprss.*context_compress") as caught:
        await client.call_tool("context_comprss", {})

    assert caught.value.code == INVALID_PARAMS


async def test_savings_count_the_tokens_of_what_a_client_is_offered(client: Client) -> None:
    defined = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
        for tool in await tools_of(client)
    ]

    counted = base_count(INSTRUCTIONS) + sum(map(BASE.json, defined))
    assert abs(SCHEMAS - counted) <= 0.05 * counted, f"savings.SCHEMAS should be {counted}"
