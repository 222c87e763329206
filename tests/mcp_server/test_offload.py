import os

import pytest
from mcp import Client
from mcp_door import agrees, ask, everything_in, refusal, write_messages

from context_compression import Session
from context_compression.testing import conversation
from context_compression.workspace import Workspace

pytestmark = pytest.mark.anyio


async def test_a_text_is_archived_and_comes_back(client: Client, workspace: Workspace) -> None:
    text = "first line\r\n\tsecond line\n\n"

    answer = await ask(client, "context_offload", content=text)
    back = await ask(client, "context_restore", ref=answer.facts["ref"])

    assert back.pages == [text]
    assert answer.facts["lines"] == 4
    assert answer.text.startswith(f"archived as {answer.facts['ref']}: text that begins ")
    assert Session(workspace.store, "offloaded").original(answer.facts["ref"]) == text
    assert agrees(answer)


async def test_the_same_text_twice_is_archived_once(client: Client, workspace: Workspace) -> None:
    first = await ask(client, "context_offload", content="the same")
    once = everything_in(workspace.store.folder)

    second = await ask(client, "context_offload", content="the same")

    assert second.facts == first.facts
    assert everything_in(workspace.store.folder) == once


async def test_a_file_is_archived_and_stays(client: Client, workspace: Workspace) -> None:
    path = workspace.cwd / "docs" / "notes.md"
    path.parent.mkdir()
    path.write_bytes("Größe\r\n".encode())

    answer = await ask(client, "context_offload", path="docs/notes.md")
    back = await ask(client, "context_restore", ref=answer.facts["ref"])

    assert answer.facts["what"] == "file docs/notes.md"
    assert back.pages == ["Größe\r\n"]
    assert path.exists()


async def test_a_file_is_answered_with_a_preview_of_what_later_work_needs(
    client: Client, workspace: Workspace
) -> None:
    ok = "".join(f"line {n} is ok\n" for n in range(3_000))
    (workspace.cwd / "log.txt").write_text(f"{ok}ERROR: refused at db.py:44\n{ok}", "utf-8")
    (workspace.cwd / "short.txt").write_text("a ``` fence", "utf-8")

    answer = await ask(client, "context_offload", path="log.txt")
    short = await ask(client, "context_offload", path="short.txt")

    [preview] = answer.pages
    assert preview.startswith("line 0 is ok\n[… 2981 lines like it")
    assert "ERROR: refused at db.py:44" in preview
    assert len(preview) < 1_500
    assert preview in answer.facts["preview"]
    assert f'context_restore(ref="{answer.facts["ref"]}")' in answer.facts["restore"]
    assert 'query="words" only those lines' in answer.text
    assert short.pages == ["a ``` fence"]
    assert agrees(answer)


async def test_the_preview_is_as_long_as_the_setting_says(
    client: Client, workspace: Workspace
) -> None:
    text = "".join(f"def function_{n}(argument_{n}): ...\n" for n in range(900))
    (workspace.cwd / "code.py").write_text(text, "utf-8")
    usual = await ask(client, "context_offload", path="code.py")

    await ask(client, "context_config", offload_preview_tokens=40)
    shorter = await ask(client, "context_offload", path="code.py")

    assert len(shorter.pages[0]) * 2 < len(usual.pages[0])


async def test_what_cannot_be_archived_is_refused(client: Client, workspace: Workspace) -> None:
    (workspace.cwd / "picture.png").write_bytes(b"\x89PNG\xff\xfe")
    (workspace.home / "private.txt").write_text("secret", encoding="utf-8")
    os.symlink(workspace.home / "private.txt", workspace.cwd / "link.txt")

    cases = {
        "picture.png": "is not UTF-8 text",
        ".": "is a folder",
        "missing.txt": "cannot be read",
        "link.txt": "lies outside the folders that may be read",
        "../home/private.txt": "lies outside the folders that may be read",
        "a\0b": "not a path that can be followed",
    }
    for path, wanted in cases.items():
        assert wanted in await refusal(client, "context_offload", path=path)

    assert everything_in(workspace.store.folder) == {}


@pytest.mark.slow
async def test_large_results_of_a_conversation_leave_its_view(
    client: Client, workspace: Workspace
) -> None:
    path = str(write_messages(workspace.cwd / "talk.json", conversation(30)))

    few = await ask(client, "context_offload", conversation=path, min_tokens=6_000)
    many = await ask(client, "context_offload", conversation=path, min_tokens=400)

    assert few.facts["strategy"] == many.facts["strategy"] == "offload"
    assert few.facts["changed"] is True
    assert many.facts["tokens_after"] < few.facts["tokens_after"]
    assert "target" not in few.text
    assert agrees(few)


async def test_all_large_results_leave_also_where_fewer_would_bring_it_below_the_target(
    client: Client, workspace: Workspace
) -> None:
    path = str(write_messages(workspace.cwd / "talk.json", conversation(30)))

    await ask(client, "context_config", target_usage=0.7)
    said = await ask(client, "context_status", conversation=path)

    done = await ask(client, "context_offload", conversation=path)

    assert said.facts["used_tokens"] > 140_000 > done.facts["tokens_after"] + 20_000
    assert said.facts["offload_would_free_tokens"] == done.facts["tokens_freed"]
    assert "target" not in done.text


async def test_one_thing_at_a_time(client: Client) -> None:
    assert "not none" in await refusal(client, "context_offload")
    assert "not content and path" in await refusal(client, "context_offload", content="x", path="y")
    assert "not none" in await refusal(client, "context_offload", content="")


@pytest.mark.parametrize("tool", ["context_offload", "context_status"])
async def test_the_home_of_nobody_is_a_folder_that_is_not_there(client: Client, tool: str) -> None:
    argument = "path" if tool == "context_offload" else "conversation"

    said = await refusal(client, tool, **{argument: "~nobody-of-this-name/chat.json"})

    assert "~nobody-of-this-name" in said


async def test_where_nothing_is_large_enough_it_says_what_stays(
    client: Client, workspace: Workspace
) -> None:
    path = str(write_messages(workspace.cwd / "talk.json", conversation(5)))

    done = await ask(client, "context_offload", conversation=path, min_tokens=10**6)

    assert done.facts["changed"] is False
    assert "results below 1,000,000 tokens, those of the newest step and restored" in done.text
    assert "falls short" not in done.text


async def test_min_tokens_goes_with_a_conversation(client: Client) -> None:
    said = await refusal(client, "context_offload", content="a text", min_tokens=5)

    assert "min_tokens goes only with conversation" in said


async def test_a_text_of_the_chat_is_archived_and_the_answer_says_that_the_chat_stays_as_long(
    client: Client, workspace: Workspace
) -> None:
    (workspace.cwd / "log.txt").write_text("line\n" * 50, "utf-8")

    text = await ask(client, "context_offload", content="line\n" * 50)
    file = await ask(client, "context_offload", path="log.txt")

    assert "This chat does not get shorter, because the text is in it already." in text.text
    assert "note" not in file.facts
