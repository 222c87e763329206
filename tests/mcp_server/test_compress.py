import json
import re
from pathlib import Path
from typing import Any

import pytest
from generated import Messages
from mcp import Client
from mcp_door import (
    agrees,
    ask,
    connected,
    everything_in,
    refusal,
    workspace_in,
    write_messages,
    write_transcript,
)

from context_compression import Session, count_tokens
from context_compression.conversation import parse
from context_compression.hosts import Conversations
from context_compression.store import SessionLog
from context_compression.testing import conversation, summary_about
from context_compression.workspace import Workspace

pytestmark = pytest.mark.anyio

FIXTURES = Path(__file__).parents[1] / "fixtures"
HEADLINE_OF_A_COPY = (
    r"a compacted copy: [\d,]+ → [\d,]+ messages, [\d,]+ → [\d,]+ tokens, [\d,]+ files removed; "
    "0 tokens are freed in the host, whose history is unchanged"
)
HEADLINE = r"[\d,]+ → [\d,]+ messages, [\d,]+ → [\d,]+ tokens, [\d,]+ freed, [\d,]+ files removed"


async def test_the_first_line_says_what_changed(client: Client) -> None:
    answer = await ask(client, "context_compress", messages=conversation(8), target_tokens=9_000)

    facts = answer.facts
    assert re.fullmatch(HEADLINE, facts["headline"])
    assert (
        answer.text.splitlines()[0]
        == facts["headline"]
        == (
            f"{facts['messages_before']:,} → {facts['messages_after']:,} messages, "
            f"{facts['tokens_before']:,} → {facts['tokens_after']:,} tokens, "
            f"{facts['tokens_freed']:,} freed, {len(facts['files_removed'])} files removed"
        )
    )
    assert agrees(answer)


async def test_a_bare_call_makes_room_in_a_chat_that_is_not_long(client: Client) -> None:
    pairs = [("user", "Which step is next, if I may ask?"), ("assistant", "The next one. " * 20)]
    chat = [{"role": role, "content": f"{n}: {text}"} for n in range(22) for role, text in pairs]

    answer = await ask(client, "context_compress", messages=[*chat, chat[0]])

    assert answer.facts["messages_before"] == 45
    assert answer.facts["tokens_after"] <= 0.55 * answer.facts["tokens_before"]


async def test_messages_come_back_as_structured_content_only(client: Client) -> None:
    messages = conversation(8)

    answer = await ask(client, "context_compress", messages=messages, target_tokens=9_000)

    view = answer.facts["messages"]
    assert len(view) == answer.facts["messages_after"]
    assert count_tokens(view) == answer.facts["tokens_after"] <= 9_000
    assert view[-1] == messages[-1]
    assert len(answer.text) < 4_000


async def test_both_dialects_are_understood(client: Client) -> None:
    answer = await ask(
        client, "context_compress", messages=conversation(8, dialect="openai"), target_tokens=9_000
    )

    assert {"tool", "assistant"} <= {message["role"] for message in answer.facts["messages"]}


async def test_a_target_of_zero_tokens_is_not_dropped_silently(client: Client) -> None:
    answer = await ask(client, "context_compress", messages=conversation(8), target_tokens=0)

    warning = "target_tokens = 0 is too small, so it was taken as not given"
    assert answer.facts["warnings"][-1] == warning
    assert agrees(answer)


async def test_a_program_can_go_on_with_the_view_it_got(
    client: Client, workspace: Workspace
) -> None:
    messages = conversation(12)
    first = await ask(client, "context_compress", messages=messages, target_tokens=9_000)
    more = [*first.facts["messages"], {"role": "user", "content": "And now the tests."}]

    second = await ask(
        client,
        "context_compress",
        messages=more,
        conversation=first.facts["session"],
        target_tokens=4_000,
    )
    back = await ask(
        client,
        "context_compress",
        messages=second.facts["messages"],
        conversation=first.facts["session"],
        undo=True,
    )

    assert second.facts["session"] == first.facts["session"]
    assert back.facts["messages"] == more
    session = Session(workspace.store, first.facts["session"])
    assert session.undo() == [*messages, more[-1]]


async def test_a_session_of_passed_messages_cannot_hide_a_file(
    client: Client, workspace: Workspace
) -> None:
    write_messages(workspace.cwd / "chat.json.gz", conversation(2))

    for tool in ("context_compress", "context_status"):
        told = await refusal(client, tool, messages=conversation(4), conversation="chat.json.gz")
        assert "'chat.json.gz' is a file in" in told
        assert "Name the session otherwise; or leave out messages, to use the file." in told

    assert workspace.store.sessions() == []
    answer = await ask(
        client, "context_compress", messages=conversation(4), conversation="chat", target_tokens=999
    )
    assert answer.facts["session"] == "chat"


async def test_a_dry_run_returns_no_messages(client: Client) -> None:
    talk = conversation(10)
    for strategy in ("auto", "window", "offload"):
        dry = await ask(
            client, "context_compress", messages=talk, strategy=strategy, dry_run=True,
            target_tokens=9_000,
        )  # fmt: skip
        real = await ask(
            client, "context_compress", messages=talk, strategy=strategy, target_tokens=9_000
        )
        assert not {"messages", "system"} & dry.facts.keys()
        assert "The messages stay as you passed them" in dry.facts["note"]
        assert real.facts["messages"]
        assert not dry.facts["changed"]


@pytest.mark.slow
async def test_the_account_names_steps_evidence_and_refs(
    client: Client, workspace: Workspace
) -> None:
    answer = await ask(client, "context_compress", messages=conversation(30), target_tokens=40_000)

    facts = answer.facts
    assert facts["strategy"] in facts["tokens_after_each_step"]
    assert facts["target_met"] is True
    assert all(loss["lost"] == 0 for loss in facts["evidence"].values())
    assert len(facts["refs"]) == 10
    session = Session(workspace.store, facts["session"])
    rest = f"more originals: {facts['refs_of_this_call'] - 10:,}; context_status(conversation="
    assert f'{rest}"{session.id}", response_format="detailed") lists the newest' in answer.text
    assert all(session.restore(ref) for ref in facts["refs"])


async def test_constraints_that_leave_the_view_are_reported(client: Client) -> None:
    rules = [f"Never touch src/part_{n}.py, whatever else anybody asks for." for n in range(40)]
    said = [{"role": role, "content": text} for n in rules for role, text in
            (("user", n), ("assistant", "I will not."))]  # fmt: skip
    messages = [*said, {"role": "user", "content": "Go on."}]

    kept = await ask(client, "context_compress", messages=messages, target_tokens=1_200)
    left = await ask(client, "context_compress", messages=messages, target_tokens=300)

    assert "constraints" not in str(kept.facts.get("warnings"))
    assert re.search(
        r"\d+ of 40 sentences of the user that may be rules are not in the compacted", left.text
    )


async def test_the_removed_text_is_never_in_the_answer(client: Client) -> None:
    secret = "the 41 quick foxes of Ørsted"
    noise = "\n".join(f"{n} {secret}" for n in range(3_000))
    messages = [
        {"role": "user", "content": "Read the log."},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "c1", "name": "Read", "input": {"path": "a.log"}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": noise},
        ]},
        {"role": "assistant", "content": "I have read it."},
        {"role": "user", "content": "Then go on."},
    ]  # fmt: skip

    answer = await ask(client, "context_compress", messages=messages, target_tokens=3_000)

    assert secret not in answer.text
    assert answer.facts["changed"] is True


async def test_nothing_to_do_is_said_so_and_changes_nothing(
    client: Client, workspace: Workspace
) -> None:
    messages = conversation(2)

    answer = await ask(client, "context_compress", messages=messages, target_tokens=500_000)

    assert answer.text.startswith(
        "history unchanged: already within the target. The conversation has"
    )
    assert answer.facts["changed"] is False
    assert "messages" not in answer.facts
    assert "The messages stay as you passed them, so they are not repeated here." in answer.text
    assert everything_in(workspace.store.folder) == {}
    assert agrees(answer)


async def test_without_a_target_it_is_asked_for_by_hand_and_runs_below_the_threshold(
    client: Client,
) -> None:
    answer = await ask(client, "context_compress", messages=conversation(30, seed=3))

    assert answer.facts["changed"] is True


async def test_a_target_below_the_floor_is_refused_with_its_parts(
    client: Client, workspace: Workspace
) -> None:
    said = await refusal(client, "context_compress", messages=conversation(8), target_tokens=10)

    assert re.search(r"The minimum size is [\d,]+ tokens; the target is 10", said)
    assert "last user message" in said
    assert everything_in(workspace.store.folder) == {}


async def test_a_strategy_that_falls_short_says_by_what(client: Client) -> None:
    answer = await ask(
        client,
        "context_compress",
        messages=conversation(12),
        strategy="truncate",
        target_tokens=2_000,
    )

    assert answer.facts["target_met"] is False
    assert "auto goes further" in answer.text
    assert answer.facts["floor_tokens"] == sum(answer.facts["floor"].values())
    assert agrees(answer)


@pytest.mark.parametrize("where", ["config.json", "environment"])
async def test_auto_in_a_call_goes_before_another_strategy_of_the_settings(
    tmp_path: Path, where: str
) -> None:
    environ = {"CONTEXT_COMPRESSION_STRATEGY": "offload"} if where == "environment" else {}
    workspace = workspace_in(tmp_path, environ)
    said: dict[str, Any] = {"messages": conversation(12), "target_tokens": 5_000, "dry_run": True}
    async with connected(workspace) as client:
        if where == "config.json":
            await ask(client, "context_config", strategy="offload")

        unsaid = await ask(client, "context_compress", **said)
        auto = await ask(client, "context_compress", **said, strategy="auto")

    assert unsaid.facts["strategy"] == "offload"
    assert unsaid.facts["target_met"] is False
    assert auto.facts["strategy"] == "extract"
    assert auto.facts["target_met"] is True


async def test_a_dry_run_says_what_the_compression_then_does(
    client: Client, workspace: Workspace
) -> None:
    path = str(write_messages(workspace.cwd / "talk.json", conversation(10)))
    asked = {"conversation": path, "target_tokens": 9_000}

    dry = await ask(client, "context_compress", dry_run=True, **asked)
    untouched = everything_in(workspace.store.folder)
    real = await ask(client, "context_compress", **asked)

    assert untouched == {}
    assert dry.text.startswith("dry run, nothing was changed: ")
    assert (
        dry.facts["headline"].removeprefix("dry run, nothing was changed: ")
        == (real.facts["headline"])
    )
    for same in ("tokens_after", "refs", "evidence", "first_changed_message"):
        assert dry.facts[same] == real.facts[same]


@pytest.mark.slow
async def test_a_dry_run_says_it_also_of_what_was_compressed_before(client: Client) -> None:
    messages = conversation(10)
    await ask(client, "context_compress", messages=messages, target_tokens=12_000)
    asked = {"messages": messages, "target_tokens": 9_000}

    dry = await ask(client, "context_compress", dry_run=True, **asked)
    real = await ask(client, "context_compress", **asked)

    assert dry.facts["headline"].endswith(real.facts["headline"])


@pytest.mark.parametrize("sign", [None, ", ", "，", "、", "；", ";"])
async def test_pins_also_in_one_text_and_settings_hold_for_the_call(
    client: Client, workspace: Workspace, sign: str | None
) -> None:
    messages = conversation(10)
    pinned = next(i for i, m in enumerate(messages) if i > 4 and m["role"] == "assistant")

    answer = await ask(
        client,
        "context_compress",
        messages=messages,
        target_tokens=9_000,
        pins=f"{pinned}{sign}{pinned + 1}" if sign else [pinned, str(pinned + 1)],
        settings={"keepRecentTokens": 500},
    )

    assert messages[pinned] in answer.facts["messages"]
    assert messages[pinned + 1] in answer.facts["messages"]
    assert workspace.store.read_config() == {}


async def test_settings_are_checked(client: Client) -> None:
    messages = conversation(2)

    unknown = await refusal(
        client, "context_compress", messages=messages, settings={"keep_recnt": 1}
    )
    guarded = await refusal(
        client, "context_compress", messages=messages, settings={"allowedPaths": ["/"]}
    )

    assert "did you mean keep_recent" in unknown
    assert "no tool can set it" in guarded


async def test_a_transcript_of_a_host_is_left_alone_and_the_answer_says_what_can_be_done(
    client: Client, workspace: Workspace
) -> None:
    path = write_transcript(
        workspace.cwd / "t.jsonl", conversation(10), session="s-1", charged=300_000
    )
    before = path.read_bytes()

    answer = await ask(client, "context_compress", conversation=str(path), target_tokens="50k")

    assert re.fullmatch(HEADLINE_OF_A_COPY, answer.text.splitlines()[0])
    assert answer.facts["tokens_freed"] == 0
    note = answer.text.splitlines()[1]
    assert "The host's own history is unchanged" in note
    assert f"session s-1 of {workspace.store.folder}" in note
    for way in ("context-compression export s-1", "context_restore", "/compact", "/clear"):
        assert way in note
    assert answer.facts["note"] == note
    assert "tokens that the host adds to each request, in no target: 22" in answer.text
    assert answer.facts["tokens_after"] <= 50_000 < answer.facts["tokens_before"]
    assert path.read_bytes() == before
    assert len(Session(workspace.store, "s-1").view()) == answer.facts["messages_after"]
    assert agrees(answer)


@pytest.mark.slow
async def test_every_answer_about_a_transcript_says_that_the_host_still_has_its_history(
    client: Client, workspace: Workspace
) -> None:
    path = write_transcript(workspace.cwd / "t.jsonl", conversation(10), session="s-1")
    call: dict[str, Any] = {"conversation": str(path)}

    answers = [
        await ask(client, "context_compress", **call, dry_run=True, target_tokens=9_000),
        await ask(client, "context_compress", **call, target_tokens=10**6),
        await ask(client, "context_compress", **call, target_tokens=9_000),
        await ask(client, "context_compress", **call, strategy="summarize", target_tokens=9_000),
        await ask(client, "context_offload", **call, min_tokens=300),
        await ask(client, "context_offload", **call, min_tokens=10**6),
        await ask(client, "context_compress", **call, undo=True),
    ]

    for answer in answers:
        assert answer.facts["note"].startswith(
            "The host's own history is unchanged, because a tool cannot change it."
        )
        assert answer.facts["note"] in answer.text
        assert not answer.facts.get("tokens_freed")


async def test_a_second_call_on_a_transcript_says_what_becomes_of_the_first(
    client: Client, workspace: Workspace
) -> None:
    path = write_transcript(workspace.cwd / "t.jsonl", conversation(10), session="s-1")
    call: dict[str, Any] = {"conversation": str(path)}

    first = await ask(client, "context_compress", **call, target_tokens=9_000)
    smaller = await ask(client, "context_status", **call)
    nothing_to_do = await ask(client, "context_compress", **call, target_tokens=10**6)
    second = await ask(client, "context_offload", **call, min_tokens=300)

    assert "replaces" not in first.text
    assert smaller.facts["tokens_saved"] == 0
    fewer = first.facts["tokens_before"] - first.facts["tokens_after"]
    assert smaller.facts["compacted_copy"].startswith(f"{fewer:,} tokens smaller, kept in session")
    assert "that an earlier call kept in session s-1 stays." in nothing_to_do.text
    assert "It replaces that of 1 earlier compression." in second.facts["note"]


@pytest.mark.slow
@pytest.mark.parametrize("targets", [("9k", "12k"), ("12k", "9k")])
async def test_every_compression_that_replaces_one_warns_that_an_undo_wont_bring_it_back(
    client: Client, workspace: Workspace, targets: tuple[str, str]
) -> None:
    path = write_transcript(workspace.cwd / "t.jsonl", conversation(10), session="s-1")

    first, second = [
        await ask(client, "context_compress", conversation=str(path), target_tokens=target)
        for target in targets
    ]

    assert "won't bring back" not in first.text
    assert "an earlier compacted context of " in second.text
    assert "which an undo won't bring back" in second.text


def charged_transcript(
    workspace: Workspace, messages: Messages, beyond: int, *, session: str = "s-1"
) -> Path:
    """A transcript whose host was charged so many tokens more than its messages count."""
    path = workspace.cwd / f"{session}.jsonl"
    charged = count_tokens(messages) + beyond
    return write_transcript(path, messages, session=session, charged=charged)


@pytest.mark.slow
async def test_the_usual_target_is_of_the_conversation_whatever_the_host_adds(
    client: Client, workspace: Workspace
) -> None:
    talk = conversation(30)
    bare = write_transcript(workspace.cwd / "bare.jsonl", talk, session="s-1")
    full = charged_transcript(workspace, talk, 60_000, session="s-2")

    known = {"token_budget": 200_000}  # else the charge would disprove a window of this size
    alone = await ask(client, "context_compress", conversation=str(bare), settings=known)
    beside = await ask(client, "context_compress", conversation=str(full), settings=known)

    assert alone.facts["target_tokens"] == beside.facts["target_tokens"] == 100_000
    assert alone.facts["tokens_after"] == beside.facts["tokens_after"] <= 100_000
    assert beside.facts["target_met"] is True
    assert "next_request" not in alone.facts
    assert "K conversation + 60K of Claude Code = " in beside.facts["next_request"]


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["auto", "extract", "truncate"])
async def test_a_target_counts_what_status_counts(
    client: Client, workspace: Workspace, strategy: str
) -> None:
    path = charged_transcript(workspace, conversation(30), 60_000)

    before = await ask(client, "context_status", conversation=str(path))
    tried = await ask(
        client, "context_compress", conversation=str(path), target_tokens="90k", strategy=strategy,
        dry_run=True,
    )  # fmt: skip
    done = await ask(
        client, "context_compress", conversation=str(path), target_tokens="90k", strategy=strategy
    )
    after = await ask(client, "context_status", conversation="s-1")
    host = await ask(client, "context_status", conversation=str(path))
    undone = await ask(client, "context_compress", conversation=str(path), undo=True)

    host_tokens = done.facts["host_tokens"]
    assert before.facts["used_tokens"] == done.facts["tokens_before"] + host_tokens > 90_000
    assert after.facts["used_tokens"] == done.facts["tokens_after"] + host_tokens
    assert (done.facts["tokens_after"] <= 90_000) is done.facts["target_met"]
    assert done.facts["target_met"] or strategy == "truncate"
    assert tried.facts["tokens_after"] == done.facts["tokens_after"]
    assert host.facts["used_tokens"] == before.facts["used_tokens"]
    assert undone.facts["tokens_after"] == done.facts["tokens_before"]


async def test_what_the_host_adds_makes_no_target_too_small(
    client: Client, workspace: Workspace
) -> None:
    path = charged_transcript(workspace, conversation(30), 60_000)

    done = await ask(client, "context_compress", conversation=str(path), target_tokens=50_000)

    assert done.facts["tokens_after"] <= 50_000
    assert done.facts["target_met"] is True


async def test_what_is_outside_the_messages_has_one_name_for_each_number(
    client: Client, workspace: Workspace
) -> None:
    rollout = (FIXTURES / "codex" / "session.jsonl").read_text("utf-8")
    path = workspace.cwd / "rollout.jsonl"
    path.write_text(rollout.replace('"input_tokens": 1700', '"input_tokens": 31700'), "utf-8")

    status = await ask(client, "context_status", conversation=str(path))
    done = await ask(client, "context_compress", conversation=str(path), target_tokens=40_000)

    outside = status.facts["tokens_by_kind"]["system prompt, tools and the like"]
    added = done.facts["host_tokens"]
    assert 0 < added == outside
    assert "fixed_tokens" not in done.facts
    assert f"tokens that the host adds to each request, in no target: {added:,}" in done.text


@pytest.mark.slow
async def test_a_session_tells_by_its_id_what_the_transcript_told(
    client: Client, workspace: Workspace
) -> None:
    path = charged_transcript(workspace, conversation(30), 60_000)
    done = await ask(client, "context_compress", conversation=str(path))

    status = await ask(client, "context_status", conversation="s-1")
    again = await ask(client, "context_compress", conversation="s-1", dry_run=True)

    beside = done.facts["host_tokens"]
    assert status.facts["used_tokens"] == done.facts["tokens_after"] + beside
    assert 58_000 < done.facts["host_tokens"] < 62_000
    assert again.facts["host_tokens"] == done.facts["host_tokens"]


async def test_a_recorded_session_is_really_changed_and_undo_takes_it_back(
    client: Client, workspace: Workspace
) -> None:
    messages = conversation(10)
    session = Session(workspace.store, "mine")
    session.record(*messages)

    done = await ask(client, "context_compress", conversation="mine", target_tokens=9_000)
    changed = session.view()
    undone = await ask(client, "context_compress", conversation="mine", undo=True)

    assert len(changed) == done.facts["messages_after"]
    assert session.view() == messages
    assert undone.facts["messages_after"] == len(messages)
    assert undone.facts["tokens_after"] == done.facts["tokens_before"]
    assert undone.text.startswith("undone: ")
    assert agrees(undone)


async def test_undo_goes_without_what_a_compression_takes(client: Client) -> None:
    asked = {"messages": conversation(2), "undo": True, "target_tokens": 5}

    said = await refusal(client, "context_compress", **asked)

    assert said.startswith("undo takes the last compression back")


@pytest.mark.parametrize("deed", [{"undo": True}, {"summary": "Half of it is done."}])
async def test_what_cannot_be_tried_out_is_not_done_in_a_dry_run(
    client: Client, workspace: Workspace, deed: dict[str, Any]
) -> None:
    said = await refusal(client, "context_compress", dry_run=True, **deed)

    assert "dry_run" in said
    assert workspace.store.summaries() == []


async def test_a_dry_run_does_not_send_to_refs_that_are_nowhere(client: Client) -> None:
    asked = {"messages": conversation(30), "target_tokens": 40_000}

    answer = await ask(client, "context_compress", dry_run=True, **asked)

    assert "more originals" in answer.text
    assert "lists the newest" not in answer.text


async def test_without_a_compression_there_is_nothing_to_undo(
    client: Client, workspace: Workspace
) -> None:
    said = await refusal(client, "context_compress", messages=conversation(2), undo=True)

    assert "no compression to undo" in said
    assert everything_in(workspace.store.folder) == {}


async def test_a_summary_without_a_conversation_is_kept_for_another_chat(
    client: Client, workspace: Workspace
) -> None:
    kept = await ask(client, "context_compress", summary="We chose SQLite. Next: migrations.")

    shown = await ask(client, "context_summary")

    assert kept.text.startswith("checkpoint of ")
    assert agrees(kept)
    assert shown.pages == ["We chose SQLite. Next: migrations."]
    (entry,) = workspace.store.summaries()
    assert entry["session"] == "checkpoint"
    assert entry["tokens"] == kept.facts["tokens"]
    found = await ask(client, "context_restore", query="SQLite migrations")
    whole = await ask(client, "context_restore", ref=kept.facts["ref"])
    assert f"ref {kept.facts['ref']} · checkpoint" in found.text
    assert whole.pages == ["We chose SQLite. Next: migrations."]


async def test_a_checkpoint_stands_alone(client: Client, workspace: Workspace) -> None:
    mixed = await refusal(client, "context_compress", summary="x", messages=conversation(2))
    empty = await refusal(client, "context_compress", summary="  ")

    assert "pass summary without conversation" in mixed
    assert "summary is empty" in empty
    assert workspace.store.summaries() == []


@pytest.mark.parametrize("name", ["checkpoint", "offloaded"])
async def test_the_sessions_of_checkpoints_and_offloaded_texts_are_no_conversations(
    client: Client, workspace: Workspace, name: str
) -> None:
    await ask(client, "context_compress", summary="We chose SQLite.")
    await ask(client, "context_offload", content="SQLite is a library.")
    before = everything_in(workspace.store.folder)

    for tool, asked in (
        ("context_compress", {"messages": conversation(6), "target_tokens": 3_000}),
        ("context_compress", {"undo": True}),
        ("context_compress", {}),
        ("context_offload", {}),
        ("context_status", {"messages": conversation(6)}),
    ):
        said = await refusal(client, tool, conversation=name, **asked)
        assert f"The session '{name}' is reserved" in said
        assert "Take another name" in said

    assert everything_in(workspace.store.folder) == before
    found = await ask(client, "context_restore", query="SQLite", conversation=name)
    assert found.text.startswith("1 of 1 original")
    assert not (await ask(client, "context_status", conversation=name)).failed


@pytest.mark.parametrize("name", ["checkpoint", "offloaded"])
async def test_a_file_named_as_a_session_of_ours_has_a_session_of_its_own(
    client: Client, workspace: Workspace, name: str
) -> None:
    await ask(client, "context_compress", summary="We chose SQLite.")
    await ask(client, "context_offload", content="SQLite is a library.")
    path = write_messages(workspace.cwd / f"{name}.json", conversation(6))

    made = await ask(client, "context_compress", conversation=str(path), target_tokens=4_000)
    by_id = await ask(client, "context_status", conversation=f"{name}-file")

    assert Conversations(workspace).recorded() == [f"{name}-file"]
    assert made.facts["tokens_after"] == by_id.facts["used_tokens"]
    assert Session(workspace.store, name).state().recorded == []


async def test_where_nobody_shall_write_summarize_is_refused(client: Client) -> None:
    said = await refusal(
        client,
        "context_compress",
        messages=conversation(8),
        strategy="summarize",
        target_tokens=9_000,
        settings={"summarizer": "none"},
    )

    assert "Use auto" in said


async def test_where_nobody_shall_write_a_configured_summary_another_way_is_taken(
    client: Client,
) -> None:
    await ask(client, "context_config", strategy="summarize", summarizer="none")

    answer = await ask(client, "context_compress", messages=conversation(8), target_tokens=9_000)

    assert answer.facts["strategy"] == "extract"
    assert answer.facts["target_met"] is True
    assert "no summary: nobody is there to write one" in answer.facts["warnings"][0]


async def test_one_message_and_one_line_are_not_said_to_be_several(client: Client) -> None:
    call = {"type": "tool_use", "id": "t", "name": "bash", "input": {"command": "make"}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "built it " * 2_000}
    messages = [
        {"role": "user", "content": "build it"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": "Built."},
        {"role": "user", "content": "thanks"},
    ]

    short = await ask(client, "context_compress", messages=messages[:1])
    shortened = await ask(client, "context_compress", messages=messages, target_tokens=600)

    assert "The conversation has 1 message, 9 tokens" in short.text
    assert "tokens, 1 line" in json.dumps(shortened.facts["messages"])
    assert not re.search(r"\b1 (messages|files|lines|tokens|refs)\b", shortened.text)


async def test_a_session_whose_origin_makes_no_sense_opens_as_if_it_told_none(
    client: Client, workspace: Workspace
) -> None:
    path = write_transcript(workspace.cwd / "t.jsonl", conversation(20), session="s-1")
    await ask(client, "context_compress", conversation=str(path), target_tokens=9_000)
    log = workspace.store.folder / "sessions/s-1/events.jsonl"
    told = re.sub(
        rb'"origin":\{[^}]*\}',
        b'"origin":{"host":"x","model":7,"window":true,"beside":1e300}',
        log.read_bytes(),
    )
    log.write_bytes(told)

    answer = await ask(client, "context_status", conversation="s-1")

    assert b'"model":7' in told
    assert answer.facts["total_budget"] == 200_000


@pytest.mark.slow
async def test_a_plan_answered_by_its_id_alone_keeps_what_the_transcript_told(
    client: Client, workspace: Workspace
) -> None:
    path = charged_transcript(workspace, conversation(20), 30_000)
    options: dict[str, Any] = {"strategy": "summarize", "target_tokens": 39_000}
    done = await ask(client, "context_compress", conversation=str(path), **options)
    while "plan_id" in done.facts:
        plan = done.facts["plan_id"]
        done = await ask(
            client, "context_compress", plan_id=plan, summary=summary_about("As before.")
        )

    status = await ask(client, "context_status", conversation="s-1")

    host_tokens = done.facts["host_tokens"]
    assert 29_000 < host_tokens < 31_000
    assert status.facts["used_tokens"] == done.facts["tokens_after"] + host_tokens


async def test_each_list_of_messages_is_parsed_once(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The history, what leaves it and each view; and the record is read once under each lock."""
    path = tmp_path / "project" / "s.jsonl"
    write_transcript(path, conversation(12), session="s", charged=20_000)
    parsed, states = list[str](), list[str]()
    read, events = parse.__globals__["read_messages"], SessionLog.events

    def noted(raw: Messages, dialect: Any) -> Any:
        if len(raw) > 1:  # a single one is an original that is looked at again on disk
            parsed.append(json.dumps(raw))
        return read(raw, dialect)

    def counted(log: SessionLog) -> Any:
        states.append(log.id)
        return events(log)

    for _ in ("first", "again"):
        parsed.clear()
        states.clear()
        with monkeypatch.context() as patched:
            patched.setitem(parse.__globals__, "read_messages", noted)
            patched.setattr(SessionLog, "events", counted)
            await ask(client, "context_compress", conversation=str(path), target_tokens=9_000)
        assert len(parsed) == len({*parsed}) <= 3
        assert len(states) <= 5
