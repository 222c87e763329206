"""Progress, cancellation, and several calls at once."""

import threading
from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp_door import ask, connected, everything_in, workspace_in, write_messages

from context_compression import Session
from context_compression.mcp_server import calls as call
from context_compression.testing import conversation
from context_compression.workspace import Workspace

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("tool", ["context_status", "context_compress", "context_offload"])
async def test_progress_is_told_in_words_and_only_grows(
    client: Client, workspace: Workspace, tool: str
) -> None:
    path = str(write_messages(workspace.cwd / "talk.json", conversation(12)))
    told: list[tuple[float, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message))

    await client.call_tool(tool, {"conversation": path}, progress_callback=note)

    numbers = [number for number, _ in told]
    words = [message for _, message in told]
    assert numbers == sorted(set(numbers))
    assert words[0] == "reading the conversation"
    assert ("writing" in words) == (tool != "context_status")


async def ask_quietly(client: Client, tool: str, arguments: Mapping[str, object]) -> None:
    await ask(client, tool, **arguments)


class Gate:
    """Holds a call just before it writes, until it is opened."""

    def __init__(self) -> None:
        self.reached, self.opened = threading.Event(), threading.Event()

    def hold(self) -> None:
        self.reached.set()
        assert self.opened.wait(60)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    gate = Gate()
    real = call.Call.before_writing

    def held(self: call.Call) -> None:
        gate.hold()
        real(self)

    monkeypatch.setattr(call.Call, "before_writing", held)
    return gate


WRITING: dict[str, tuple[str, Mapping[str, object]]] = {
    "compress": ("context_compress", {"conversation": "mine", "target_tokens": 9_000}),
    "a file": ("context_compress", {"conversation": "talk.json", "target_tokens": 9_000}),
    "undo": ("context_compress", {"conversation": "mine", "undo": True}),
    "checkpoint": ("context_compress", {"summary": "so far so good"}),
    "offload": ("context_offload", {"content": "a text"}),
    "config": ("context_config", {"keep_recent": 5}),
}


@pytest.mark.parametrize("case", WRITING)
async def test_a_cancelled_call_leaves_the_store_as_it_was(
    workspace: Workspace, gate: Gate, case: str
) -> None:
    tool, arguments = WRITING[case]
    session = Session(workspace.store, "mine")
    session.record(*conversation(10))
    session.compress(target_tokens=20_000)
    write_messages(workspace.cwd / "talk.json", conversation(10, seed=1))
    before = everything_in(workspace.store.folder)

    async with connected(workspace) as client:
        async with anyio.create_task_group() as calls:
            calls.start_soon(ask_quietly, client, tool, arguments)
            await anyio.to_thread.run_sync(gate.reached.wait)
            calls.cancel_scope.cancel()
            gate.opened.set()
        again = await ask(client, "context_status", conversation="mine")

    assert again.facts["compressions"] == 1
    assert everything_in(workspace.store.folder) == before


async def test_two_clients_compress_the_same_conversation_one_after_the_other(
    tmp_path: Path, gate: Gate
) -> None:
    workspace = workspace_in(tmp_path)
    messages = conversation(10)
    session = Session(workspace.store, "mine")
    session.record(*messages)
    gate.opened.set()
    found: list[dict[str, object]] = []

    async def compress(client: Client, target_tokens: int) -> None:
        asked = {"conversation": "mine", "target_tokens": target_tokens}
        found.append((await ask(client, "context_compress", **asked)).facts)

    async with (
        connected(workspace) as one,
        connected(workspace_in(tmp_path), "legacy") as two,
        anyio.create_task_group() as calls,
    ):
        calls.start_soon(compress, one, 14_000)
        calls.start_soon(compress, two, 7_000)

    last = min(found, key=lambda facts: str(facts["tokens_after"]).zfill(9))
    assert len(session.view()) == last["messages_after"]
    assert session.store.verify() == []
    while session.state().compressions:
        session.undo()
    assert session.view() == messages


async def test_calls_of_one_client_run_beside_each_other(workspace: Workspace, gate: Gate) -> None:
    async with connected(workspace) as client, anyio.create_task_group() as calls:
        calls.start_soon(ask_quietly, client, "context_offload", {"content": "slow"})
        await anyio.to_thread.run_sync(gate.reached.wait)

        quick = await ask(client, "context_status", messages=conversation(2))

        assert not quick.failed
        assert workspace.store.sessions() == []
        gate.opened.set()
    assert workspace.store.sessions() == ["offloaded"]
