import re
import shutil
from pathlib import Path

import pytest
from mcp import Client, MCPError
from mcp.types import INVALID_PARAMS, PromptReference, TextContent
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
    assert [a.name for prompt in prompts for a in prompt.arguments or ()] == ["focus", "checkpoint"]


async def test_they_name_arguments_that_exist(client: Client) -> None:
    texts = [await text_of(client, "compact", focus="tests"), await text_of(client, "handoff")]

    named = {name for text in texts for name in re.findall(r"[(,] ?(\w+)=", text)}
    assert named == {"conversation", "strategy", "focus", "summary", "title"}
    assert named <= set(CompressArguments.known())


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
    goes_on = re.search(
        r'cut after 40,000 characters; context_restore\(ref="(\w+)", start=40000\) goes on', resumed
    )
    assert goes_on
    rest = await ask(client, "context_restore", ref=goes_on[1], start=40_000)
    assert "characters 40,001-" in rest.text


KEPT = {
    "Payments": "Goal: refunds without doubles.",
    "Parser": "## Goal\nA parser for TOML.",
    "支付系统": "# 目标\n重构支付系统。",
}


@pytest.mark.parametrize(
    ("wanted", "brought"),
    [
        ("", "支付系统"),
        ("1", "支付系统"),
        ("3", "Payments"),
        ("latest", "支付系统"),
        ("Parser", "Parser"),
        ('"parser"', "Parser"),
        ("支付", "支付系统"),
        ("refunds doubles", "Payments"),
        ("<ref>", "Payments"),
    ],
)
async def test_resume_takes_a_title_words_a_ref_or_a_number(
    client: Client, wanted: str, brought: str
) -> None:
    refs = {
        title: (await ask(client, "context_compress", summary=text, title=title)).facts["ref"]
        for title, text in KEPT.items()
    }

    resumed = await text_of(client, "resume", checkpoint=wanted.replace("<ref>", refs["Payments"]))

    assert f'checkpoint "{brought}" · ref {refs[brought]} · 20' in resumed
    assert KEPT[brought] in resumed


async def test_a_checkpoint_that_does_not_exist_is_answered_with_those_that_do(
    client: Client,
) -> None:
    for title, text in KEPT.items():
        await ask(client, "context_compress", summary=text, title=title)

    for wanted in ("knitting", "4", "0"):
        told = await text_of(client, "resume", checkpoint=wanted)
        assert told.startswith(f"No checkpoint fits '{wanted}'.")
        assert all(f'- checkpoint "{title}" · ref ' in told for title in KEPT)


async def test_a_number_out_of_range_is_a_title_or_nothing_but_no_word_of_a_text(
    client: Client,
) -> None:
    for text, title in (("Port 0 and 42 are free.", "Ports"), ("The lost page.", "404")):
        await ask(client, "context_compress", summary=text, title=title)

    for wanted in ("0", "-1", "42"):
        told = await text_of(client, "resume", checkpoint=wanted)
        assert told.startswith(f"No checkpoint fits '{wanted}'.")
    assert "The lost page." in await text_of(client, "resume", checkpoint="404")


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("1. [ ] A list", "A list"),
        ("#42 is fixed", "#42 is fixed"),
        ("3.5 percent fail", "3.5 percent fail"),
        ("~/work/app is broken", "~/work/app is broken"),
        ("#Title", "Title"),
    ],
)
async def test_a_title_has_all_words_of_its_line(client: Client, text: str, title: str) -> None:
    assert (await ask(client, "context_compress", summary=text)).facts["title"] == title


async def test_a_title_shows_no_secret_and_no_marks(client: Client) -> None:
    token = "ghp_" + "a1B2" * 9
    given = await ask(client, "context_compress", summary="a", title=f"The new key is {token}")
    found = await ask(client, "context_compress", summary=f"* Deploy with {token} at night")
    marks = await ask(client, "context_compress", summary="### --- ***\n")
    of = PromptReference(type="ref/prompt", name="resume")
    every = (await client.complete(of, {"name": "checkpoint", "value": ""})).completion.values

    assert marks.facts["title"] == "checkpoint"
    assert found.facts["title"].startswith("Deploy with ")
    for shown in (given.text, found.text, " ".join(every)):
        assert token[:12] not in shown


async def test_titles_of_checkpoints_are_completed(client: Client) -> None:
    for text in ("Goal: the parser.", "Goal: the parser.\nMore.", "Goal: refunds."):
        await ask(client, "context_compress", summary=text)
    of = PromptReference(type="ref/prompt", name="resume")

    every = (await client.complete(of, {"name": "checkpoint", "value": ""})).completion.values
    begun = (await client.complete(of, {"name": "checkpoint", "value": "ref"})).completion.values
    none = await client.complete(
        PromptReference(type="ref/prompt", name="compact"), {"name": "focus", "value": ""}
    )

    assert [every[0], every[1], len(every)] == ["refunds", "the parser", 3]
    assert begun == ["refunds"]
    assert "More." not in await text_of(client, "resume", checkpoint=every[2])
    assert none.completion.values == []


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
