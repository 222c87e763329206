import re
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_door import (
    MODEL,
    agrees,
    ask,
    connected,
    everything_in,
    refusal,
    tells_a_part,
    workspace_in,
    write_messages,
    write_transcript,
)
from transcripts import FIXTURES
from written import talk

from context_compression import Session, count_tokens
from context_compression.testing import conversation
from context_compression.tokens import base_count
from context_compression.workspace import Workspace

pytestmark = pytest.mark.anyio


async def test_it_says_how_full_the_context_is(client: Client) -> None:
    messages = conversation(6)

    answer = await ask(client, "context_status", messages=messages)

    tokens = int(count_tokens(messages))
    assert answer.text.splitlines()[0] == (
        f"{tokens:,} of 200,000 tokens used ({answer.facts['usage_percent']} %), "
        f"{200_000 - tokens:,} remaining; compression is not due"
    )
    assert answer.facts["used_tokens"] == tokens
    assert sum(answer.facts["tokens_by_kind"].values()) == tokens
    assert answer.facts["messages"] == len(messages)
    assert tells_a_part(answer)


async def test_the_next_call_can_be_made_whatever_the_model_is_called(client: Client) -> None:
    answer = await ask(client, "context_status", messages=conversation(40), model='a"b\nc')

    made = 'context_compress(messages=<the same>, model="a\\"b\\nc")'
    assert answer.text.splitlines()[-1] == f"next call: {made}"


async def test_it_says_when_compression_is_due(client: Client) -> None:
    answer = await ask(client, "context_status", messages=conversation(40))

    assert answer.facts["compression_due"] is True
    assert answer.text.splitlines()[0].endswith("compression is due")


async def test_what_is_due_names_the_call_and_nothing_is_said_twice_or_is_zero(
    client: Client, workspace: Workspace
) -> None:
    path = write_messages(workspace.cwd / "talk.json", conversation(40))
    calls: dict[str, dict[str, Any]] = {
        f'context_compress(conversation="{path}")': {"conversation": str(path)},
        "context_compress(messages=<the same>)": {"messages": conversation(40)},
    }

    for call, arguments in calls.items():
        answer = await ask(client, "context_status", **arguments)
        assert answer.text.splitlines()[-1] == f"next call: {call}"
        assert answer.facts["next_call"] == call
        assert not re.search(r": 0\b", answer.text)
        assert answer.text.count("160,000") == 1
        assert answer.facts["compressions"] == 0
        assert base_count(answer.text) <= 250


async def test_a_long_status_leaves_out_what_matters_least_and_names_the_call_all_the_same(
    tmp_path: Path,
) -> None:
    workspace = workspace_in(tmp_path)
    values = {"important_keywords": [f"word{n}" for n in range(300)], "token_budget": 900}
    workspace.store.update_config(lambda _: values)
    path = write_messages(workspace.cwd / ("合同" * 30 + ".json"), conversation(8))

    async with connected(workspace) as client:
        answer = await ask(client, "context_status", conversation=str(path))
        alone = await ask(client, "context_status")

    assert base_count(answer.text) <= 250
    more, last = answer.text.splitlines()[-2:]
    assert more == 'more: context_status(response_format="detailed")'
    assert last == f'next call: context_compress(conversation="{path}")'
    assert "word299" not in answer.text
    assert base_count(alone.text) <= 250


async def test_a_model_decides_window_and_counting(client: Client) -> None:
    talk = conversation(6)

    plain = await ask(client, "context_status", messages=talk)
    named = await ask(client, "context_status", messages=talk, model="gpt-5")

    assert named.facts["total_budget"] != plain.facts["total_budget"]
    assert named.facts["counted_by"] != plain.facts["counted_by"]


@pytest.mark.parametrize(
    ("turns", "values", "due", "reason"),
    [
        (2, {}, False, "due from 160,000 tokens on: 80 % of 200,000"),
        (2, {"token_budget": 100}, True, "due from 80 tokens on: 80 % of 100"),
        (2, {"trigger_threshold": 0.99}, False, "on: more than 200,000 minus 16,384 of reserve"),
        (2, {"token_budget": 100, "auto_compress": False}, False, "because auto_compress is off"),
        (20, {"strategy": "window"}, False, "due above 20 turns, for the strategy window"),
        (21, {"strategy": "window"}, True, "due above 20 turns, for the strategy window"),
    ],
)
async def test_what_it_calls_due_is_what_a_session_does_and_it_says_what_decides(
    tmp_path: Path, turns: int, values: dict[str, Any], due: bool, reason: str
) -> None:
    workspace = workspace_in(tmp_path)
    workspace.store.update_config(lambda _: values)
    session = Session(workspace.store, "mine", settings=values)
    session.record(*talk(turns))

    async with connected(workspace) as client:
        answer = await ask(client, "context_status", conversation="mine")

    assert answer.facts["compression_due"] is session.is_due() is due
    assert f"compression is {'due' if due else 'not due'}" in answer.text.splitlines()[0]
    assert reason in answer.facts["compression_is"]
    assert tells_a_part(answer)


async def test_what_was_charged_counts_and_system_prompt_and_tools_are_the_rest(
    client: Client, workspace: Workspace
) -> None:
    messages = [
        {"role": "user", "content": "Find the bug."},
        {"role": "assistant", "content": "It is in line 7."},
        {"role": "user", "content": "Thanks."},
    ]
    path = write_transcript(workspace.cwd / "t.jsonl", messages, session="s1", charged=31_000)

    answer = await ask(client, "context_status", conversation=str(path))

    kinds = answer.facts["tokens_by_kind"]
    assert 31_000 < answer.facts["used_tokens"] < 31_100
    assert kinds["system prompt, tools and the like"] > 30_900
    assert sum(kinds.values()) == answer.facts["used_tokens"]
    assert answer.facts["transcript"] == f"{path} (claude-code)"
    assert tells_a_part(answer)


async def test_after_a_compression_it_counts_what_was_saved_and_names_refs(
    client: Client, workspace: Workspace
) -> None:
    session = Session(workspace.store, "mine")
    session.record(*conversation(8))
    result = session.compress(target_tokens=9_000)

    answer = await ask(client, "context_status", conversation="mine", response_format="detailed")

    assert answer.facts["tokens_saved"] == result.tokens_freed
    assert answer.facts["messages_compressed"] == result.messages_compressed
    assert set(answer.facts["newest_refs"]) <= set(result.refs)
    assert answer.facts["refs_total"] == len(result.refs)
    assert answer.facts["settings"]["keep_recent_tokens"] == 20_000
    assert agrees(answer)


async def test_concise_is_much_smaller_than_detailed_and_both_are_small(
    client: Client, workspace: Workspace
) -> None:
    session = Session(workspace.store, "mine")
    session.record(*conversation(60))
    session.compress(target_tokens=30_000)

    concise = await ask(client, "context_status", conversation="mine")
    detailed = await ask(client, "context_status", conversation="mine", response_format="detailed")

    assert len(concise.facts["newest_refs"]) == 5
    assert len(detailed.facts["newest_refs"]) == 100
    assert base_count(concise.text) <= 250
    assert len(detailed.text) <= 8_020
    assert detailed.text.splitlines()[-1] == 'next call: context_offload(conversation="mine")'
    assert tells_a_part(concise)


async def test_it_writes_nothing(client: Client, workspace: Workspace) -> None:
    path = write_messages(workspace.cwd / "talk.json", conversation(4))

    await ask(client, "context_status", conversation=str(path))

    assert everything_in(workspace.cwd).keys() == {"talk.json"}


async def test_the_window_that_a_model_has_is_not_shown_as_a_setting_that_the_user_made(
    client: Client, workspace: Workspace
) -> None:
    path = write_transcript(workspace.cwd / "t.jsonl", conversation(2), session="s1")

    workspace.store.update_config(lambda _: {"keep_recent": 4})
    by_model = await ask(client, "context_status", conversation=str(path))
    workspace.store.update_config(lambda _: {"token_budget": 90_000})
    by_user = await ask(client, "context_status", conversation=str(path))

    assert MODEL == "claude-opus-4-5"
    assert by_model.facts["total_budget"] == 200_000
    assert by_model.facts["settings"] == {"keep_recent": 4}
    assert by_user.facts["total_budget"] == 90_000
    assert by_user.facts["settings"] == {"token_budget": 90_000}


async def test_where_the_client_shares_nothing_it_says_what_there_is_and_which_calls_help(
    client: Client, workspace: Workspace
) -> None:
    Session(workspace.store, "earlier").record({"role": "user", "content": "hello"})
    await ask(client, "context_compress", summary="Goal: the parser.")

    for conversation_ in (None, "current", ""):
        answer = await ask(client, "context_status", conversation=conversation_)
        assert answer.text.startswith("this client does not share its conversation")
        assert answer.facts["archived"]["sessions"] == 2
        assert any(line.startswith("earlier: 1 message") for line in answer.facts["sessions"])
        assert answer.facts["newest_checkpoints"][0].endswith(": the parser")
        assert 'context_status(conversation="earlier")' in answer.text
        assert "context_summary()" in answer.text
        assert "used_tokens" not in answer.facts
        assert base_count(answer.text) <= 250
        assert tells_a_part(answer)


async def test_an_unknown_session_is_answered_with_the_recorded_ones(
    client: Client, workspace: Workspace
) -> None:
    Session(workspace.store, "earlier").record({"role": "user", "content": "hello"})

    assert "- earlier" in await refusal(client, "context_status", conversation="earler")


async def test_a_path_outside_is_refused_with_the_way_to_allow_it(
    client: Client, workspace: Workspace
) -> None:
    path = write_messages(workspace.home / "private.json", conversation(2))

    for tool in ("context_status", "context_compress", "context_offload"):
        said = await refusal(client, tool, conversation=str(path))
        assert "lies outside the folders that may be read" in said
        assert "CONTEXT_COMPRESSION_ALLOWED_PATHS" in said


async def test_where_less_was_charged_than_counted_the_kinds_sum_to_what_was_charged(
    client: Client, workspace: Workspace
) -> None:
    talk = conversation(10)
    charged = int(count_tokens(talk) * 0.9)
    path = write_transcript(workspace.cwd / "t.jsonl", talk, session="s-1", charged=charged)

    answer = await ask(client, "context_status", conversation=str(path))

    assert sum(answer.facts["tokens_by_kind"].values()) == answer.facts["used_tokens"]


async def test_doubtful_settings_are_told_with_a_conversation_too(tmp_path: Path) -> None:
    workspace = workspace_in(tmp_path)
    workspace.store.update_config(lambda _: {"trigger_threshold": 0.95, "target_usage": 0.95})
    write_messages(workspace.cwd / "chat.json", talk(3))

    async with connected(workspace) as client:
        alone = await ask(client, "context_status")
        of_file = await ask(client, "context_status", conversation="chat.json")

    assert any("target_usage = 0.95 is a target" in told for told in alone.facts["warnings"])
    assert set(alone.facts["warnings"]) <= set(of_file.facts["warnings"])


async def test_a_session_without_a_conversation_is_shown_with_what_is_kept_in_it(
    client: Client,
) -> None:
    kept = await ask(client, "context_offload", content="The customer wants dates.")
    checkpoint = await ask(client, "context_compress", summary="Goal: a parser.")

    offloaded = await ask(client, "context_status", conversation="offloaded")
    checkpoints = await ask(client, "context_status", conversation="checkpoint")

    headline = "'offloaded' is no conversation: offloaded texts are kept in it; 1 original, "
    assert offloaded.text.startswith(headline)
    assert [*offloaded.facts["newest_refs"]] == [kept.facts["ref"]]
    assert checkpoints.text.startswith("'checkpoint' is no conversation: checkpoints are kept")
    assert checkpoint.facts["ref"] in checkpoints.facts["newest_checkpoints"][0]
    assert tells_a_part(offloaded) and tells_a_part(checkpoints)


async def test_a_compacted_file_is_not_called_the_history_of_a_host(
    client: Client, workspace: Workspace
) -> None:
    write_messages(workspace.cwd / "chat.json", conversation(8))
    await ask(client, "context_compress", conversation="chat.json", target_tokens=9_000)

    status = await ask(client, "context_status", conversation="chat.json")

    assert status.facts["compacted_copy"].endswith("kept in session chat. The file is unchanged.")


async def test_the_refs_of_one_call_are_not_called_the_total_of_the_session(
    client: Client, workspace: Workspace
) -> None:
    session = Session(workspace.store, "mine")
    session.offload("An earlier text.", what="text")
    session.record(*conversation(8))

    done = await ask(client, "context_offload", conversation="mine", min_tokens=300)
    status = await ask(client, "context_status", conversation="mine")

    of_call, total = done.facts["refs_of_this_call"], status.facts["refs_total"]
    assert total == of_call + 1
    assert f"originals of this call: {of_call}" in done.text
    assert "refs_total" not in done.facts


async def test_it_says_how_often_the_host_compacted_the_conversation(tmp_path: Path) -> None:
    workspace = workspace_in(tmp_path)
    path = workspace.cwd / "s.jsonl"
    path.write_bytes((FIXTURES / "claude_code" / "compacted.jsonl").read_bytes())

    async with connected(workspace) as client:
        answer = await ask(client, "context_status", conversation=str(path))

    told = "compacted once by Claude Code, last 96K → 5.0K tokens, auto"
    assert answer.facts["host_compactions"] == told
    assert tells_a_part(answer)
