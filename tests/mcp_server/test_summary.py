import re

import pytest
from mcp import Client
from mcp_door import ask, refusal, write_transcript

from context_compression import Session
from context_compression.testing import conversation
from context_compression.workspace import Workspace

pytestmark = pytest.mark.anyio


async def test_without_summaries_it_says_how_to_make_one(client: Client) -> None:
    answer = await ask(client, "context_summary")

    assert answer.text.startswith("No summaries yet. context_compress makes them")


async def test_the_newest_come_first_quoted_and_counted(client: Client) -> None:
    for n in range(5):
        await ask(client, "context_compress", summary=f"chapter {n}\n```\nnot the end")

    answer = await ask(client, "context_summary", limit=2)

    assert answer.text.startswith("2 of 5 summaries, newest first")
    assert answer.pages == ["chapter 4\n```\nnot the end", "chapter 3\n```\nnot the end"]
    header = r"^ref \w+ · \"chapter \d\" · 20\S+Z · session checkpoint · \d+ tokens$"
    headers = re.findall(header, answer.text, re.M)
    assert len(headers) == 5
    assert "Older ones, for context_restore(ref=…):\n" + "\n".join(headers[2:]) in answer.text
    assert answer.whole.structured_content is None


async def test_a_digest_of_a_conversation_is_found_by_session_and_by_transcript(
    client: Client, workspace: Workspace
) -> None:
    path = write_transcript(workspace.cwd / "t.jsonl", conversation(40), session="s-1")
    await ask(client, "context_compress", conversation=str(path), strategy="window")
    await ask(client, "context_compress", summary="something else")

    by_path = await ask(client, "context_summary", conversation=str(path))
    by_session = await ask(client, "context_summary", conversation="s-1")
    checkpoints = await ask(client, "context_summary", conversation="checkpoint")

    assert by_path.text == by_session.text
    assert by_path.text.startswith("1 of 1 summary, newest first")
    assert "session s-1 · messages " in by_path.text
    assert checkpoints.pages == ["something else"]


async def test_a_checkpoint_that_was_kept_twice_is_shown_once_at_its_newest_place(
    client: Client,
) -> None:
    for text in ("the plan", "a detour", "the plan"):
        await ask(client, "context_compress", summary=text)

    shown = await ask(client, "context_summary")
    named = await ask(client, "context_summary", limit=1)

    assert shown.text.startswith("2 of 2 summaries, newest first")
    assert shown.pages == ["the plan", "a detour"]
    assert named.text.count("\nref ") == 2


async def test_an_answer_stays_a_page_long(client: Client, workspace: Workspace) -> None:
    for letter in "abc":
        await ask(client, "context_compress", summary=letter * 5_000)
    await ask(client, "context_compress", summary="z" * 50_000)

    many = await ask(client, "context_summary", limit=3)
    Session(workspace.store, "other").record({"role": "user", "content": "hello"})
    none = await ask(client, "context_summary", conversation="other")

    assert many.text.startswith("1 of 4 summaries")
    assert "cut after 8,000 characters; context_restore(ref=" in many.text
    assert len(many.text) < 8_900
    assert none.text.startswith("No summaries of other yet")


async def test_a_long_summary_is_cut_at_a_line_and_says_with_which_call_it_goes_on(
    client: Client,
) -> None:
    text = "\n".join(f"step {n}: paid {n * 7919}.50 EUR" for n in range(900))
    await ask(client, "context_compress", summary=text)

    answer = await ask(client, "context_summary")
    call = re.search(r'context_restore\(ref="(\w+)", start=(\d+)\) goes on', answer.text)
    assert call
    joined = answer.pages[0]
    start: int | None = int(call[2])
    while start:
        more = await ask(client, "context_restore", ref=call[1], start=start)
        joined += more.pages[0]
        goes_on = re.search(r"goes on at start=(\d+)", more.text)
        start = int(goes_on[1]) if goes_on else None

    assert answer.pages[0].endswith(".50 EUR\n")
    assert joined == text


async def test_a_checkpoint_has_a_title_a_time_and_what_to_tell_the_user(client: Client) -> None:
    kept = await ask(client, "context_compress", summary="## Goal\nA parser for TOML. It is slow.")
    named = await ask(client, "context_compress", summary="x", title=' The "second"\none ')
    listed = await ask(client, "context_summary", limit=1)
    status = await ask(client, "context_status")

    assert kept.facts["title"] == "A parser for TOML"
    assert 'say there: Resume the checkpoint "A parser for TOML"' in kept.facts["tell_the_user"]
    assert kept.facts["tell_the_user"] in kept.text
    assert named.facts["title"] == "The 'second' one"
    for told in (listed.text, status.text):
        assert kept.facts["created_at"] in told and "A parser for TOML" in told
        assert "The 'second' one" in told
    refused = await refusal(client, "context_compress", title="x")
    assert "title is that of a checkpoint" in refused


async def test_a_checkpoint_is_found_by_what_its_user_says_of_it(client: Client) -> None:
    kept = await ask(client, "context_compress", summary="Pay by card.", title="The CI/CD move")
    await ask(client, "context_compress", summary="译文在 zh.json。", title="结账页中文翻译")

    for name in ("The CI/CD move", "ci/cd", "2", str(kept.facts["ref"]), "card"):
        answer = await ask(client, "context_summary", conversation=name)
        assert "1 of 1 summary" in answer.text and answer.pages == ["Pay by card."]
    chinese = await ask(client, "context_summary", conversation="结账页")
    assert chinese.pages == ["译文在 zh.json。"]
    assert "'neither'" in await refusal(client, "context_summary", conversation="neither")
