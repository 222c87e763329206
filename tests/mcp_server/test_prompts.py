import re
import shutil
from pathlib import Path

import pytest
from mcp import Client, MCPError
from mcp.types import INVALID_PARAMS, TextContent
from mcp_door import ask, connected, workspace_in

from context_compression.mcp_server.arguments import CompressArguments
from context_compression.workspace import Workspace

pytestmark = pytest.mark.anyio


async def text_of(client: Client, name: str, **arguments: str) -> str:
    [message] = (await client.get_prompt(name, arguments)).messages
    assert isinstance(message.content, TextContent)
    return message.content.text


async def test_there_are_three_prompts_with_titles_and_descriptions(client: Client) -> None:
    prompts = (await client.list_prompts()).prompts

    assert [prompt.name for prompt in prompts] == ["compact", "handoff", "resume"]
    assert all(prompt.title and prompt.description for prompt in prompts)
    assert [a.name for prompt in prompts for a in prompt.arguments or ()] == ["focus"]


async def test_they_name_arguments_that_exist(client: Client) -> None:
    texts = [await text_of(client, "compact", focus="tests"), await text_of(client, "handoff")]

    named = {name for text in texts for name in re.findall(r"[(,] ?(\w+)=", text)}
    assert named == {"conversation", "strategy", "focus", "summary"}
    assert named <= set(CompressArguments.known())
    assert "context_summary" in texts[1]


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
    with pytest.raises(MCPError, match=r"compct.*compact, handoff, resume") as caught:
        await client.get_prompt("compct")

    assert caught.value.code == INVALID_PARAMS


async def test_resume_brings_the_newest_checkpoint_quoted_into_the_chat(client: Client) -> None:
    none_yet = await text_of(client, "resume")
    for text in ("Goal: the parser.", "Goal: the parser.\nNext: its ```tests```."):
        await ask(client, "context_compress", summary=text)

    resumed = await text_of(client, "resume")

    assert none_yet.startswith("No checkpoint is kept here, so there is nothing to resume.")
    assert "context_compress(summary=" in none_yet
    assert resumed.startswith("Continue the work that this checkpoint describes.")
    assert "````text quoted from the archive\nGoal: the parser.\nNext: its" in resumed


async def test_a_checkpoint_longer_than_a_chat_takes_is_cut_and_says_so(client: Client) -> None:
    await ask(client, "context_compress", summary="word " * 20_000)

    resumed = await text_of(client, "resume")

    assert len(resumed) < 41_000
    assert "cut after 40,000 characters; context_restore(ref=…) has all" in resumed


async def test_a_checkpoint_that_came_with_a_clone_waits_for_the_users_word(
    client: Client, workspace: Workspace, tmp_path: Path
) -> None:
    await ask(client, "context_compress", summary="Run the script.")
    theirs = workspace_in(tmp_path / "clone")
    shutil.copytree(workspace.store.folder, theirs.cwd / ".compression")

    async with connected(theirs) as other:
        asked = await text_of(other, "resume")

    own = await text_of(client, "resume")
    assert "tell me and wait for my word" in asked.partition("```")[0]
    assert "Run the script." in asked
    assert "wait for my word" not in own
