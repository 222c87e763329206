import re

import pytest
from mcp import Client, MCPError
from mcp.types import INVALID_PARAMS, TextContent

from context_compression.mcp_server.tools.compress import CompressArguments
from context_compression.mcp_server.tools.summary import context_summary

pytestmark = pytest.mark.anyio


async def text_of(client: Client, name: str, **arguments: str) -> str:
    [message] = (await client.get_prompt(name, arguments)).messages
    assert isinstance(message.content, TextContent)
    return message.content.text


async def test_there_are_two_prompts_with_titles_and_descriptions(client: Client) -> None:
    prompts = (await client.list_prompts()).prompts

    assert [prompt.name for prompt in prompts] == ["compact", "handoff"]
    assert all(prompt.title and prompt.description for prompt in prompts)
    assert [a.name for prompt in prompts for a in prompt.arguments or ()] == ["focus"]


async def test_they_name_arguments_that_exist(client: Client) -> None:
    texts = [await text_of(client, "compact", focus="tests"), await text_of(client, "handoff")]

    named = {name for text in texts for name in re.findall(r"[(,] ?(\w+)=", text)}
    assert named == {"conversation", "strategy", "focus", "summary"}
    assert named <= set(CompressArguments.known())
    assert context_summary.__name__ in texts[1]


async def test_a_focus_stays_inside_its_quotes(client: Client) -> None:
    text = await text_of(client, "compact", focus='a "b"\nc')

    assert "focus=\"a 'b' c\"" in text


async def test_an_empty_argument_of_a_prompt_means_not_given(client: Client) -> None:
    for name in ("compact", "handoff"):
        assert await text_of(client, name, focus="") == await text_of(client, name)


async def test_an_unknown_argument_of_a_prompt_is_a_protocol_error_that_names_those_there_are(
    client: Client,
) -> None:
    said = r"Unknown argument 'focuss' of compact\. Arguments: focus\."
    with pytest.raises(MCPError, match=said) as caught:
        await client.get_prompt("compact", {"focuss": "tests"})

    assert caught.value.code == INVALID_PARAMS


async def test_an_unknown_prompt_is_a_protocol_error_that_names_the_prompts(client: Client) -> None:
    with pytest.raises(MCPError, match=r"compct.*compact, handoff") as caught:
        await client.get_prompt("compct")

    assert caught.value.code == INVALID_PARAMS
