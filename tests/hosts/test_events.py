"""What hosts other than Claude Code are told, as their shims ask it: events in, answers out."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_compression import count_tokens
from context_compression.hooks import positions_in
from context_compression.hosts import NOTHING, answer
from context_compression.hosts import opencode as in_opencode
from context_compression.hosts import pi as in_pi
from context_compression.hosts.events import HOSTS
from context_compression.hosts.gemini_cli import in_place
from context_compression.session import Session
from context_compression.workspace import Workspace

pytestmark = pytest.mark.anyio

Object = dict[str, Any]
LONG = "".join(f"line {n} of what was printed\n" for n in range(900))


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "project").mkdir()
    return Workspace.here(environ={}, cwd=tmp_path / "project", home=tmp_path, store=None)


async def told(workspace: Workspace, host: str, event: Mapping[str, Any]) -> Any:
    return json.loads(await answer(host, workspace, {"session_id": "s1", **event}))


def session(workspace: Workspace) -> Session:
    return Session(workspace.store, "s1")


# outputs


OUTPUTS: Mapping[str, tuple[Object, tuple[str, ...]]] = {
    "codex": (
        {
            "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_use_id": "c1",
            "tool_input": {"command": "make"}, "tool_response": LONG,
        },
        ("reason",),
    ),
    "gemini-cli": (
        {
            "hook_event_name": "AfterTool", "tool_name": "run_shell_command",
            "tool_input": {"command": "make"}, "tool_response": {"llmContent": LONG},
        },
        ("reason",),
    ),
    "opencode": (
        {
            "hook_event_name": "tool.execute.after", "tool": "bash", "callID": "c1",
            "args": {"command": "make"}, "text": LONG, "shown": LONG,
        },
        ("text",),
    ),
    "pi": (
        {
            "hook_event_name": "tool_result", "toolName": "bash", "toolCallId": "c1",
            "input": {"command": "make"}, "text": LONG, "shown": LONG,
        },
        ("text",),
    ),
}  # fmt: skip
every_host = pytest.mark.parametrize("host", OUTPUTS)


def changed(event: Object, text: str, command: str = "make") -> Object:
    """The event with another output, of another command."""
    found = json.loads(json.dumps(event).replace(json.dumps(LONG)[1:-1], json.dumps(text)[1:-1]))
    return json.loads(json.dumps(found).replace('"make"', json.dumps(command)))


@every_host
async def test_a_large_output_is_answered_with_a_preview_whose_ref_holds_it(
    host: str, workspace: Workspace
):
    event, path = OUTPUTS[host]

    said = await told(workspace, host, event)

    [ref] = session(workspace).state().refs
    assert f"ref {ref}; " in said[path[0]]
    assert len(said[path[0]]) < 1_000
    assert session(workspace).restore(ref, note=False) == LONG


@every_host
async def test_a_short_output_and_one_read_back_are_left_alone(host: str, workspace: Workspace):
    event, _ = OUTPUTS[host]
    offloaded = f"cat {workspace.store.folder}/sessions/s1/offloaded/x.txt"

    assert await told(workspace, host, changed(event, "all is well")) == {}
    assert await told(workspace, host, changed(event, LONG, offloaded)) == {}
    assert not workspace.store.folder.exists()


async def test_an_output_that_the_host_has_shortened_itself_is_left_alone(workspace: Workspace):
    for host in ("opencode", "pi"):
        event, _ = OUTPUTS[host]

        assert await told(workspace, host, event | {"shown": "line 1 of 900, and a file"}) == {}
    assert not session(workspace).state().refs


@pytest.mark.parametrize("host", ["gemini-cli", "opencode", "pi"])
async def test_a_file_that_an_agent_reads_has_a_larger_minimum(host: str, workspace: Workspace):
    event, _ = OUTPUTS[host]
    name = "tool_name" if host == "gemini-cli" else "toolName" if host == "pi" else "tool"
    reading = event | {name: "read_file" if host == "gemini-cli" else "read"}

    assert 5_000 < count_tokens([{"role": "user", "content": LONG}]) < 10_000
    assert await told(workspace, host, reading) == {}


@every_host
async def test_the_users_limits_for_tools_hold(host: str, tmp_path: Path):
    (tmp_path / "project").mkdir()
    environ = {"CONTEXT_COMPRESSION_OFFLOAD_AT_SOURCE": "*=0"}
    never = Workspace.here(environ=environ, cwd=tmp_path / "project", home=tmp_path, store=None)

    assert await told(never, host, OUTPUTS[host][0]) == {}


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("event", [{}, {"hook_event_name": "Unheard"}, {"hook_event_name": 3}])
async def test_what_makes_no_sense_leaves_all_as_it_is(
    host: str, event: Object, workspace: Workspace
):
    assert await answer(host, workspace, event) == NOTHING


async def test_an_answer_of_a_server_is_what_codex_would_show_of_it(workspace: Workspace):
    event, _ = OUTPUTS["codex"]
    facts = {"lines": LONG.split("\n")}
    text = {"type": "text", "text": LONG}
    response = {"content": [text], "structuredContent": facts}

    await told(workspace, "codex", event | {"tool_response": response})
    picture = {"content": [text, {"type": "image", "data": "AA==", "mimeType": "image/png"}]}
    left = await told(workspace, "codex", event | {"tool_response": picture})

    [ref] = session(workspace).state().refs
    assert json.loads(session(workspace).restore(ref)) == facts
    assert left == {}


async def test_geminis_fence_stays_around_the_preview(workspace: Workspace):
    event, _ = OUTPUTS["gemini-cli"]
    fenced = f"<untrusted_context>\n{LONG}\n</untrusted_context>"

    said = await told(workspace, "gemini-cli", changed(event, fenced))

    assert said["decision"] == "deny"
    assert said["reason"].startswith("<untrusted_context>\n[run_shell_command: ")
    assert said["reason"].endswith("\n</untrusted_context>")


# requests


def test_a_view_is_laid_out_by_the_messages_that_stay_in_order():
    a, b, again, new = ({"role": "user", "content": text} for text in ("a", "b", "a", "new"))

    assert positions_in([a, new, again], [a, b, again]) == [0, new, 2]
    assert positions_in([again], [a, b, again]) == [0]
    assert positions_in([], [a]) == []


def steps(count: int) -> list[Object]:
    """A conversation in Pi's terms: so many calls, their outputs about 700 tokens each."""
    rows: list[Object] = [{"role": "user", "content": "Count. Never stop early.", "timestamp": 1}]
    for n in range(count):
        call = {"type": "toolCall", "id": f"c{n}", "name": "bash", "arguments": {"command": "seq"}}
        said = {"role": "assistant", "content": [call], "provider": "p", "api": "a", "model": "m"}
        text = "".join(f"line {k} of {n}\n" for k in range(100))
        output = {"role": "toolResult", "toolCallId": f"c{n}", "toolName": "bash", "isError": False}
        rows += [said, output | {"content": [{"type": "text", "text": text}], "timestamp": n}]
    return rows


async def test_pi_is_given_a_view_with_its_own_rows_where_they_stay(workspace: Workspace):
    rows = steps(24)
    event = {"hook_event_name": "context", "window": 12_000}

    assert await told(workspace, "pi", event | {"messages": rows[:9]}) == {}
    assert not workspace.store.folder.exists()
    view = (await told(workspace, "pi", event | {"messages": rows}))["messages"]

    assert view[0] == rows[0] and view[-2:] == rows[-2:]
    assert count_tokens(in_pi.PiHistory(view).messages) < 12_000
    calls = [part["id"] for row in view if row["role"] == "assistant" for part in row["content"]
             if part["type"] == "toolCall"]  # fmt: skip
    assert calls == [row["toolCallId"] for row in view if row["role"] == "toolResult"]


async def test_the_next_request_begins_with_the_same_view(workspace: Workspace):
    rows = steps(26)
    event = {"hook_event_name": "context", "window": 18_000}

    first = (await told(workspace, "pi", event | {"messages": rows[:-2]}))["messages"]
    second = (await told(workspace, "pi", event | {"messages": rows}))["messages"]

    assert second == [*first, *rows[-2:]]


async def test_what_a_tool_compressed_goes_into_the_next_request(workspace: Workspace):
    rows = steps(12)
    event = {"hook_event_name": "context", "messages": rows}
    ours = in_pi.PiHistory(rows).messages
    assert await told(workspace, "pi", event) == {}

    session(workspace).compress(messages=ours, target_tokens=4_000)

    view = (await told(workspace, "pi", event))["messages"]
    assert count_tokens(in_pi.PiHistory(view).messages) <= 4_000


async def test_nothing_is_compressed_unasked_where_that_is_switched_off(workspace: Workspace):
    workspace.store.update_config(lambda config: config | {"auto_compress": False})
    rows = steps(24)
    request = {"hook_event_name": "context", "window": 12_000, "messages": rows}
    compaction = {"hook_event_name": "session_before_compact", "messages": rows}

    assert await told(workspace, "pi", request) == {}
    assert await told(workspace, "pi", compaction | {"reason": "threshold"}) == {}
    assert "summary" in await told(workspace, "pi", compaction | {"reason": "manual"})


async def test_a_compaction_of_pis_keeps_what_an_earlier_one_said(workspace: Workspace):
    event = {"hook_event_name": "session_before_compact", "window": 200_000}
    first = await told(workspace, "pi", event | {"messages": steps(12)})

    again = {"messages": steps(3)[1:], "previousSummary": first["summary"]}
    second = await told(workspace, "pi", event | again)

    assert "Never stop early." in first["summary"]
    assert "Never stop early." in second["summary"]
    assert second["summary"].startswith("[Compressed History]")


def in_opencodes_terms(rows: list[Object]) -> list[Object]:
    """The same conversation as opencode has it: a call and its output are one part."""
    about = {"sessionID": "s1", "modelID": "m", "providerID": "p"}
    found: list[Object] = []
    outputs = {row["toolCallId"]: row["content"][0]["text"] for row in rows if "toolCallId" in row}
    for n, row in enumerate(rows):
        info = about | {"id": f"msg_{n:03}", "role": row["role"]}
        if row["role"] == "user":
            found.append({"info": info, "parts": [{"type": "text", "text": row["content"]}]})
        for call in row["content"] if row["role"] == "assistant" else ():
            state = {"status": "completed", "input": call["arguments"], "title": "seq"}
            tool = {"type": "tool", "tool": call["name"], "callID": call["id"]}
            tool |= {"state": state | {"output": outputs[call["id"]]}}
            parts = [{"type": "step-start"}, tool, {"type": "step-finish"}]
            found.append({"info": info, "parts": parts})
    return found


async def test_opencode_is_given_a_view_with_its_own_messages_where_they_stay(workspace: Workspace):
    rows = in_opencodes_terms(steps(24))
    event = {"hook_event_name": "messages.transform", "window": 12_000, "messages": rows}

    view = (await told(workspace, "opencode", event))["messages"]

    assert view[0] == rows[0] and view[-1] == rows[-1]
    ours = in_opencode.OpencodeHistory(view).messages
    assert count_tokens(ours) < 12_000
    states = [p["state"] for row in view for p in row["parts"] if p["type"] == "tool"]
    assert states and all(state["status"] == "completed" for state in states)
    sent = await told(workspace, "opencode", event)
    assert sent["messages"] == view


def test_texts_keep_their_number_and_their_roles():
    texts = [{"role": role, "content": f"{n}"} for n, role in enumerate(["user", "assistant"] * 3)]
    summary = {"role": "user", "content": "[Compressed History] so far"}

    placed = [*in_place([summary, *texts[4:]], texts)]

    assert [text["role"] for text in placed] == [text["role"] for text in texts]
    assert [text["content"] for text in placed[4:]] == ["4", "5"]
    assert placed[0]["content"] == summary["content"]
    assert all("[Compressed History]" in text["content"] for text in placed[:4])


ROLES = st.sampled_from(["user", "assistant"])
TEXT_STAYS_AND_NEW = st.tuples(ROLES, st.booleans(), st.none() | ROLES)


@given(st.lists(TEXT_STAYS_AND_NEW, min_size=1, max_size=8))
def test_no_new_text_is_dropped_and_none_that_stays_is_changed(
    drawn: list[tuple[str, bool, str | None]],
):
    texts = [{"role": role, "content": f"text {n}"} for n, (role, *_) in enumerate(drawn)]
    view: list[Object] = []
    for text, (_, stays, newer) in zip(texts, drawn, strict=True):
        view += [text] if stays else []
        view += [{"role": newer, "content": f"new after {text['content']}."}] if newer else []

    placed = [*in_place(view, texts)]

    assert [text["role"] for text in placed] == [text["role"] for text in texts]
    for part in view:
        holders = [text for text in placed if part["content"] in text["content"].split("\n\n")]
        assert len(holders) == 1
        has_place = any(text["role"] == part["role"] for text in texts)
        assert holders[0]["role"] == part["role"] or not has_place


async def test_what_gemini_cli_says_before_the_users_words_is_not_taken_for_them(
    workspace: Workspace,
):
    workspace.store.update_config(lambda config: config | {"token_budget": 4_000})
    own = "<session_context>\nIt is Monday.\n</session_context>\n"
    texts = [(own + "Never touch tests/. Read this:\n" + LONG), "I read it.", "Now what?"]
    messages = [
        {"role": r, "content": t} for r, t in zip(["user", "model", "user"], texts, strict=True)
    ]
    event = {"hook_event_name": "BeforeModel", "llm_request": {"model": "m", "messages": messages}}

    said = (await told(workspace, "gemini-cli", event))["hookSpecificOutput"]["llm_request"]

    assert [message["role"] for message in said["messages"]] == ["user", "model", "user"]
    first = said["messages"][0]["content"]
    assert first.startswith(own) and "Never touch tests/." in first and len(first) < len(texts[0])
    assert said["messages"][-1] == messages[-1]


async def test_a_request_without_messages_stays_as_it_is(
    workspace: Workspace, caplog: pytest.LogCaptureFixture
):
    event = {"hook_event_name": "BeforeModel", "llm_request": {"model": "m"}}

    assert await told(workspace, "gemini-cli", event) == {}
    assert not caplog.records


async def test_an_agent_is_told_after_a_compaction_what_was_archived(workspace: Workspace):
    assert (
        await told(workspace, "codex", {"hook_event_name": "SessionStart", "source": "compact"})
        == {}
    )
    session(workspace).offload(LONG, what="make: 900 lines")

    for host, source in (("codex", "compact"), ("gemini-cli", "resume")):
        event = {"hook_event_name": "SessionStart", "source": source}
        said = (await told(workspace, host, event))["hookSpecificOutput"]

        assert said["hookEventName"] == "SessionStart"
        assert "make: 900 lines" in said["additionalContext"]
