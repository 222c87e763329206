"""A summary that the calling agent writes, through a real server process that is started anew."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_door import agrees, ask, everything_in, refusal, write_messages

from context_compression import Session
from context_compression.testing import conversation
from context_compression.workspace import Workspace

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SERVE = """
from pathlib import Path
from context_compression.mcp_server import serve_stdio
from context_compression.workspace import Workspace
serve_stdio(Workspace.here(home=Path.cwd().with_name("home")))
"""
ASKED: dict[str, Any] = {"strategy": "summarize", "target_tokens": 9_000}
SUMMARY = (
    "## Goal\nFix the build: find why the tests of src/session and src/login fail.\n\n"
    "## Progress\nThe connect, cache, worker, handler and buffer modules were read, and pytest "
    "reported an AssertionError in some of them, as the user had said of src/session.\n\n"
    "## Key Decisions\nKeep the token index as it is.\n\n## Next Steps\nRun the tests."
)


def server(folder: Path) -> StdioServerParameters:
    environ = {"PYTHONPATH": str(Path(__file__).parents[2] / "server")}
    arguments = ["-W", "error", "-c", SERVE]
    return StdioServerParameters(
        command=sys.executable, args=arguments, cwd=str(folder), env=environ
    )


async def test_the_plan_survives_a_restart_of_the_server(tmp_path: Path) -> None:
    talk = write_messages(tmp_path / "talk.json", conversation(10))
    async with Client(server(tmp_path)) as client:
        asked = await ask(client, "context_compress", conversation="talk.json", **ASKED)
    more = [*conversation(10), {"role": "user", "content": "And one thing more."}]
    write_messages(talk, more)

    answer, parts = asked, 0
    while "plan_id" in answer.facts:
        parts += 1
        async with Client(server(tmp_path)) as client:
            answer = await ask(
                client, "context_compress", conversation="talk.json",
                plan_id=asked.facts["plan_id"], summary=SUMMARY,
            )  # fmt: skip

    assert asked.facts["changed"] is False
    assert f'plan_id="{asked.facts["plan_id"]}"' in asked.facts["next_call"]
    assert 'conversation="talk.json"' in asked.facts["next_call"]
    assert asked.facts["valid_for"].startswith("60 minutes")
    assert "## Goal" in asked.facts["instructions"]
    assert asked.facts["covers_from"] and asked.facts["kept_from"]
    assert asked.facts["read_it_in"] == str(talk)
    assert parts == asked.facts["parts"]
    assert answer.facts["strategy"] == "summarize"
    assert answer.facts["summary"]["written_by"] == "caller"
    session = Session(tmp_path / ".compression", answer.facts["session"])
    assert session.view()[-1] == more[-1]
    assert session.undo() == more


async def test_until_the_summary_comes_the_earlier_compression_stays(tmp_path: Path) -> None:
    write_messages(tmp_path / "talk.json", conversation(30))
    async with Client(server(tmp_path)) as client:
        first = await ask(
            client, "context_compress", conversation="talk.json", target_tokens=20_000
        )
        asked = await ask(client, "context_compress", conversation="talk.json", **ASKED)
        session = Session(tmp_path / ".compression", first.facts["session"])
        between = session.status()
        done = await finished(client, asked, conversation="talk.json")

    assert between.compressions == 1
    assert sum(between.by_kind.values()) < 25_000
    assert done.facts["changed"] is True
    assert session.undo() == conversation(30)


async def finished(client: Client, asked: Any, **arguments: Any) -> Any:
    answer = asked
    while "plan_id" in answer.facts:
        plan_id = answer.facts["plan_id"]
        answer = await ask(
            client, "context_compress", plan_id=plan_id, summary=SUMMARY, **arguments
        )
    return answer


async def test_a_program_gets_the_view_with_the_summary_it_wrote(client: Client) -> None:
    messages = conversation(10)
    asked = await ask(
        client, "context_compress", messages=messages, target_tokens=9_000,
        settings={"summarizer": "caller"},
    )  # fmt: skip

    done = await finished(client, asked, messages=messages)

    assert agrees(asked)
    assert "messages" not in asked.facts
    assert any("Run the tests." in json.dumps(m) for m in done.facts["messages"])
    assert len(done.facts["messages"]) == done.facts["messages_after"]


async def test_a_summary_for_the_system_prompt_comes_back_beside_the_messages(
    client: Client,
) -> None:
    messages = conversation(10)
    settings = {"summarizer": "caller", "summary_role": "system"}
    asked = await ask(
        client, "context_compress", messages=messages, target_tokens=9_000, settings=settings
    )

    done = await finished(client, asked, messages=messages)
    held = {"messages": done.facts["messages"]}
    undone = await ask(client, "context_compress", undo=True, **held)

    assert "Run the tests." in done.facts["system"]
    assert "Run the tests." not in json.dumps(done.facts["messages"])
    assert "system" in done.facts["note"]
    assert undone.facts["messages"] == messages
    assert undone.facts["system"] is None


async def test_where_offloading_is_enough_nobody_is_asked_for_a_summary(client: Client) -> None:
    answer = await ask(
        client, "context_compress", messages=conversation(12), target_tokens=20_000,
        settings={"summarizer": "caller"},
    )  # fmt: skip

    assert "plan_id" not in answer.facts


async def test_an_empty_summary_is_refused_and_the_plan_stays_open(
    client: Client, workspace: Workspace
) -> None:
    messages = conversation(10)
    asked = await ask(client, "context_compress", messages=messages, **ASKED)
    before = everything_in(workspace.store.folder)

    said = await refusal(
        client, "context_compress", messages=messages, plan_id=asked.facts["plan_id"], summary=" "
    )
    untouched = everything_in(workspace.store.folder)
    done = await finished(client, asked, messages=messages)

    assert "empty" in said
    assert untouched == before
    assert done.facts["changed"] is True


async def test_an_outdated_plan_is_refused(client: Client, workspace: Workspace) -> None:
    path = workspace.cwd / "talk.json"
    messages = conversation(10)
    asked = await ask(
        client, "context_compress", conversation=str(write_messages(path, messages)), **ASKED
    )
    write_messages(path, [messages[0], *messages[2:]])

    said = await refusal(
        client, "context_compress", conversation=str(path), plan_id=asked.facts["plan_id"],
        summary=SUMMARY,
    )  # fmt: skip

    assert "has changed since it was made" in said
    assert "without plan_id" in said


async def test_an_expired_plan_is_refused(client: Client, workspace: Workspace) -> None:
    messages = conversation(10)
    asked = await ask(client, "context_compress", messages=messages, **ASKED)
    [log] = workspace.store.folder.glob("sessions/*/events.jsonl")
    lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
    plan = json.loads(lines[-1]) | {"created_at": "2020-01-01T00:00:00Z"}
    log.write_text("".join([*lines[:-1], json.dumps(plan) + "\n"]), encoding="utf-8")

    said = await refusal(
        client, "context_compress", messages=messages, plan_id=asked.facts["plan_id"], summary="x"
    )

    assert "has expired" in said
    assert "without plan_id" in said


async def test_an_unknown_plan_is_refused_and_nothing_is_written(
    client: Client, workspace: Workspace
) -> None:
    said = await refusal(
        client, "context_compress", messages=conversation(10), plan_id="none", summary=SUMMARY
    )

    assert "There is no plan 'none'" in said
    assert everything_in(workspace.store.folder) == {}


async def test_an_unknown_plan_of_no_named_conversation_is_what_is_told_and_what_to_do(
    client: Client, workspace: Workspace
) -> None:
    await ask(client, "context_compress", messages=conversation(10), strategy="summarize")

    said = await refusal(client, "context_compress", plan_id="p" * 500, summary=SUMMARY)

    assert said == (
        f"There is no plan '{'p' * 40}' in any conversation recorded in {workspace.store.folder}. "
        "Call context_compress without plan_id to get one, and pass the plan_id of its answer with "
        "the summary."
    )


@pytest.mark.parametrize(
    "wrong", [{}, {"summary": "x", "undo": True}, {"summary": "x", "dry_run": True}]
)
async def test_a_plan_goes_with_its_summary_alone(client: Client, wrong: dict[str, Any]) -> None:
    said = await refusal(client, "context_compress", messages=conversation(2), plan_id="p", **wrong)

    assert "plan_id goes with summary" in said


async def test_a_dry_run_foresees_what_the_caller_would_write(
    client: Client, workspace: Workspace
) -> None:
    answer = await ask(client, "context_compress", messages=conversation(10), dry_run=True, **ASKED)

    assert answer.facts["summary_would_take"]["summary_tokens"] > 0
    assert everything_in(workspace.store.folder) == {}
    assert agrees(answer)


async def test_plan_and_summary_alone_find_the_conversation(
    client: Client, workspace: Workspace
) -> None:
    write_messages(workspace.cwd / "talk.json", conversation(10))
    asked = await ask(client, "context_compress", conversation="talk.json", **ASKED)

    answer = await finished(client, asked)

    assert answer.facts["strategy"] == "summarize"
    assert answer.facts["session"] == asked.facts["session"]
