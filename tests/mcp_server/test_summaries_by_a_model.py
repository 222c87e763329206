"""Summaries that a model writes: the real client, and a Messages API with a script."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from mcp import Client
from mcp_door import agrees, ask, connected, everything_in, refusal, workspace_in, write_messages

from context_compression import Session
from context_compression.testing import conversation
from context_compression.testing.chat_api import ChatAPI
from context_compression.testing.messages_api import (
    Entry,
    MessagesAPI,
    empty,
    overloaded,
    rate_limited,
    slow,
    too_long,
)
from context_compression.workspace import Workspace

pytestmark = pytest.mark.anyio

KEY = "sk-ant-the-key-nobody-may-see"
MODEL = "claude-test-1"
SUMMARY = (
    "## Goal\nFix the build: find why the tests of src/session and src/login fail.\n\n"
    "## Progress\nThe connect, cache, worker, handler and buffer modules were read, and pytest "
    "reported an AssertionError in some of them.\n\n## Key Decisions\nKeep the token index as "
    "it is.\n\n## Next Steps\nRun the tests."
)
ASKED: dict[str, Any] = {"strategy": "summarize", "target_tokens": 9_000}


def environ(api: MessagesAPI, **more: str) -> dict[str, str]:
    return {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": api.base_url, **more}


def named(api: MessagesAPI) -> dict[str, str]:
    """The environment of a user who named a model."""
    return environ(api, CONTEXT_COMPRESSION_SUMMARY_MODEL=MODEL)


async def compressed(
    folder: Path, script: list[Entry], *, seconds: float = 25, **asked: Any
) -> tuple[Any, MessagesAPI, Workspace]:
    with MessagesAPI(script, api_key=KEY) as api:
        workspace = replace(workspace_in(folder, named(api)), summary_seconds=seconds)
        async with connected(workspace) as client:
            said = {**ASKED, "messages": conversation(10), **asked}
            answer = await ask(client, "context_compress", **said)
    return answer, api, workspace


@pytest.mark.parametrize("strategy", ["auto", "summarize"])
async def test_the_answer_says_who_wrote_the_summary_and_what_it_took(
    tmp_path: Path, strategy: str
) -> None:
    answer, api, workspace = await compressed(tmp_path, [SUMMARY], strategy=strategy)

    assert answer.facts["strategy"] == "summarize"
    assert answer.facts["target_met"] is True
    told = answer.facts["summary"]
    assert told["written_by"] == MODEL
    assert told["input_tokens"] > 1_000
    assert agrees(answer)
    assert "Run the tests" not in answer.text  # it is where the answer says
    assert KEY not in answer.text
    assert len(api.requests) == len({json.dumps(r.body) for r in api.requests}) > 0
    async with connected(workspace) as client:
        shown = await ask(client, "context_summary")
        back = await ask(client, "context_restore", ref=told["ref"])
    assert f"ref {told['ref']}" in shown.text
    assert "by summarize" in shown.text
    assert "Run the tests." in shown.pages[0]
    assert back.pages[0] in shown.pages[0]


async def test_progress_says_compacting(tmp_path: Path) -> None:
    told: list[str | None] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    with MessagesAPI([SUMMARY]) as api:
        async with connected(workspace_in(tmp_path, named(api))) as client:
            said = {**ASKED, "messages": conversation(10)}
            await client.call_tool("context_compress", said, progress_callback=note)

    assert "Compacting …" in told


async def test_a_rate_limit_is_waited_for(tmp_path: Path) -> None:
    answer, api, _ = await compressed(tmp_path, [rate_limited(0.01), SUMMARY])

    assert answer.facts["strategy"] == "summarize"
    assert "no summary" not in answer.text
    assert len(api.requests) >= 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("entry", "reason"), [(overloaded(), "overloaded (529)"), (empty(), "answered with nothing")]
)
async def test_a_model_that_fails_is_followed_by_extract_and_the_answer_says_why(
    tmp_path: Path, entry: Entry, reason: str
) -> None:
    answer, api, _ = await compressed(tmp_path, [entry], settings={"summary_attempts": 2})

    assert answer.facts["strategy"] == "extract"
    assert answer.facts["target_met"] is True
    assert any(reason in warning for warning in answer.facts["warnings"])
    assert len(api.requests) == 2  # the attempts of the settings, not their square


async def test_a_slow_model_does_not_keep_the_caller_waiting(tmp_path: Path) -> None:
    answer, api, _ = await compressed(tmp_path, [slow()], seconds=0.3)

    assert answer.facts["strategy"] == "extract"
    assert "No summary within 0.3 s" in answer.text
    assert len(api.requests) == 1


async def test_all_requests_of_one_compression_share_the_deadline(tmp_path: Path) -> None:
    answer, api, _ = await compressed(tmp_path, [too_long(), slow()], seconds=0.5)

    assert answer.facts["strategy"] == "extract"
    assert "No summary within 0.5 s" in answer.text
    assert len(api.requests) == 2


async def test_skip_leaves_the_history_as_it_was(tmp_path: Path) -> None:
    answer, _, workspace = await compressed(
        tmp_path, [overloaded()], settings={"on_summary_failure": "skip", "summary_attempts": 1}
    )

    assert answer.text.startswith("history unchanged: no summary: ")
    assert everything_in(workspace.store.folder) == {}


async def test_a_cancelled_summary_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    with MessagesAPI([slow()]) as api:
        workspace = workspace_in(tmp_path, named(api))
        session = Session(workspace.store, "mine")
        session.record(*conversation(10))
        before = everything_in(workspace.store.folder)

        async with connected(workspace) as client:
            async with anyio.create_task_group() as calls:
                calls.start_soon(_compress_mine, client)
                await anyio.to_thread.run_sync(api.wait_for, 1)
                calls.cancel_scope.cancel()
            again = await ask(client, "context_status", conversation="mine")

    assert again.facts["compressions"] == 0
    assert everything_in(workspace.store.folder) == before


async def _compress_mine(client: Client) -> None:
    await ask(client, "context_compress", conversation="mine", **ASKED)


async def test_a_server_like_openais_is_asked_where_the_user_named_it(tmp_path: Path) -> None:
    with ChatAPI([SUMMARY]) as api:
        named = {
            "CONTEXT_COMPRESSION_SUMMARIZER": "openai",
            "CONTEXT_COMPRESSION_SUMMARY_MODEL": "qwen3:8b",
            "OPENAI_BASE_URL": api.base_url,
        }
        async with connected(workspace_in(tmp_path, named)) as client:
            tools = (await client.list_tools()).tools
            said = {**ASKED, "messages": conversation(10)}
            answer = await ask(client, "context_compress", **said)

    assert answer.facts["summary"]["written_by"] == "qwen3:8b"
    assert any(tool.annotations and tool.annotations.open_world_hint for tool in tools)


@pytest.mark.parametrize("way", ["file", "call"])
async def test_only_the_user_chooses_the_api(tmp_path: Path, way: str) -> None:
    with ChatAPI([SUMMARY]) as foreign, MessagesAPI([SUMMARY]) as api:
        workspace = workspace_in(tmp_path, named(api) | {"OPENAI_BASE_URL": foreign.base_url})
        said = {**ASKED, "strategy": "auto", "messages": conversation(10)}
        async with connected(workspace) as client:
            if way == "call":
                settings = {"summarizer": "openai"}
                told = await refusal(client, "context_compress", **said, settings=settings)
            else:
                workspace.store.update_config(lambda _: {"summarizer": "openai"})
                answer = await ask(client, "context_compress", **said)
                told = "".join(answer.facts["warnings"])

    assert "CONTEXT_COMPRESSION_SUMMARIZER" in told
    assert foreign.requests == api.requests == []


BOTH = {"summary_model": MODEL, "summarizer": "anthropic"}
CONFIGS: dict[str, Mapping[str, Any]] = {
    "a model": {"summary_model": MODEL},
    "a summarizer": {"summarizer": "anthropic"},
    "both": BOTH,
}


@pytest.mark.parametrize("case", CONFIGS)
@pytest.mark.parametrize("strategy", ["auto", "summarize"])
async def test_a_project_file_alone_never_reaches_the_network(
    tmp_path: Path, case: str, strategy: str
) -> None:
    with MessagesAPI([SUMMARY]) as api:
        workspace = workspace_in(tmp_path, environ(api))
        workspace.store.update_config(lambda config: {**config, **CONFIGS[case]})
        async with connected(workspace) as client:
            tools = (await client.list_tools()).tools
            answer = await ask(
                client, "context_compress", messages=conversation(10), target_tokens=9_000,
                strategy=strategy,
            )  # fmt: skip

    assert api.requests == []
    assert not any(tool.annotations and tool.annotations.open_world_hint for tool in tools)
    assert not answer.failed
    assert any("settings alone" in warning for warning in answer.facts["warnings"])


@pytest.mark.parametrize("by_user", [{}, {"CONTEXT_COMPRESSION_SUMMARIZER": "none"}])
@pytest.mark.parametrize("wanted", [{"summaryModel": MODEL}, {"summarizer": "anthropic"}, BOTH])
async def test_a_call_alone_never_reaches_the_network(
    tmp_path: Path, wanted: dict[str, Any], by_user: dict[str, str]
) -> None:
    with MessagesAPI([SUMMARY]) as api:
        workspace = workspace_in(tmp_path, environ(api, **by_user))
        workspace.store.update_config(lambda config: {**config, "summary_model": MODEL})
        async with connected(workspace) as client:
            said = {**ASKED, "messages": conversation(10), "settings": wanted}
            told = await refusal(client, "context_compress", **said)
            anew = await ask(
                client, "context_compress", **said | {"settings": {"summarizer": "auto"}}
            )

    assert api.requests == []
    assert "the environment variable CONTEXT_COMPRESSION_SUMMARY_MODEL" in told
    assert not anew.failed


async def test_where_the_user_named_a_model_a_call_may_name_another(tmp_path: Path) -> None:
    with MessagesAPI([SUMMARY]) as api:
        async with connected(workspace_in(tmp_path, named(api))) as client:
            said = {**ASKED, "messages": conversation(10), "settings": {"summaryModel": "other"}}
            answer = await ask(client, "context_compress", **said)

    assert answer.facts["strategy"] == "summarize"
    assert api.requests[0].body["model"] == "other"


async def test_without_a_key_a_named_model_is_not_asked_and_the_answer_says_so(
    tmp_path: Path,
) -> None:
    workspace = workspace_in(tmp_path, {"CONTEXT_COMPRESSION_SUMMARY_MODEL": MODEL})

    async with connected(workspace) as client:
        answer = await ask(
            client, "context_compress", messages=conversation(10), target_tokens=9_000
        )

    assert answer.facts["strategy"] == "extract"
    assert any("neither ANTHROPIC_API_KEY" in warning for warning in answer.facts["warnings"])


async def test_only_compress_reaches_out_and_only_where_a_model_is_named(tmp_path: Path) -> None:
    with MessagesAPI() as api:
        async with connected(workspace_in(tmp_path, named(api))) as client:
            tools = (await client.list_tools()).tools

    open_world = {t.name for t in tools if t.annotations and t.annotations.open_world_hint}
    assert open_world == {"context_compress"}


async def test_a_dry_run_foresees_the_call_without_making_it(tmp_path: Path) -> None:
    with MessagesAPI([SUMMARY]) as api:
        workspace = workspace_in(tmp_path, named(api))
        path = str(write_messages(workspace.cwd / "talk.json", conversation(10)))
        async with connected(workspace) as client:
            dry = await ask(client, "context_compress", conversation=path, dry_run=True, **ASKED)
            unasked = list(api.requests)
            real = await ask(client, "context_compress", conversation=path, **ASKED)

    foreseen = dry.facts["summary_would_take"]
    assert unasked == []
    assert dry.text.startswith("dry run, nothing was changed: ")
    assert foreseen["calls"] == len(api.requests)
    assert foreseen["max_output_tokens"] == sum(r.body["max_tokens"] for r in api.requests)
    assert 0 < foreseen["messages"] <= real.facts["messages_before"]
    assert dry.facts["prompt_cache"].startswith("with a prompt cache (write 1.25, read 0.1")
    assert "further requests" in dry.facts["prompt_cache"]
    assert dry.facts["first_changed_message"] == real.facts["first_changed_message"]
    assert agrees(dry)
