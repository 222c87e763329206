"""The store is read and written by worker threads: a slow one delays its own call, no other."""

import inspect
import threading
from collections.abc import Callable
from typing import Any

import pytest
from mcp.types import ResourceTemplateReference
from mcp_door import ask, connected

from context_compression.store import Backend, FileBackend, SessionFiles, SessionStore
from context_compression.testing import conversation
from context_compression.workspace import Workspace

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

AT_ONCE = {"forget", "place_of_document", "place_of_text", "session"}
"""Methods that read nothing."""


@pytest.fixture
def in_the_loop(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The methods of the backend that were called in the thread of the event loop."""
    called: set[str] = set()

    def watched(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **options: Any) -> Any:
            if threading.current_thread() is threading.main_thread():
                called.add(f"{name} by {inspect.stack()[2].function}")
            return method(*args, **options)

        return run

    for engine, interface in ((FileBackend, Backend), (SessionFiles, SessionStore)):
        for name in vars(interface):
            method = getattr(engine, name, None)
            if inspect.isfunction(method) and not name.startswith("_") and name not in AT_ONCE:
                monkeypatch.setattr(engine, name, watched(name, method))
    return called


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_no_call_keeps_the_event_loop_waiting_for_the_store(
    workspace: Workspace, in_the_loop: set[str], mode: Any
) -> None:
    messages = conversation(10)
    async with connected(workspace.of_tenant("ann"), mode) as client:
        in_the_loop.clear()  # a server is made by a worker thread, too
        for arguments in ({"messages": messages}, {"conversation": "mine", "messages": messages}):
            await ask(client, "context_compress", target_tokens=3_000, **arguments)
        told = await ask(
            client, "context_compress", conversation="by me", messages=messages,
            strategy="summarize", settings={"summarizer": "caller"}, target_tokens=5_000,
        )  # fmt: skip
        while plan := told.facts.get("plan_id"):
            told = await ask(
                client, "context_compress", plan_id=plan, summary="## Goal\nMend the login of all."
            )
        await ask(client, "context_compress", conversation="mine", undo=True)
        await ask(client, "context_compress", conversation="mine", dry_run=True)
        await ask(client, "context_compress", summary="a checkpoint")
        for conversation_ in (None, "mine", "min", "checkpoint"):
            await ask(client, "context_status", conversation=conversation_)
            await ask(client, "context_summary", conversation=conversation_)
            await ask(client, "context_restore", query="the", conversation=conversation_)
        kept = await ask(client, "context_offload", content="a text")
        await ask(client, "context_offload", conversation="mine", min_tokens=100)
        await ask(client, "context_restore", ref=kept.facts["ref"], conversation="mine")
        await ask(client, "context_restore", query=kept.facts["ref"])
        await ask(client, "context_config", token_budget=70_000)
        await client.list_resources()
        await client.read_resource("context://checkpoint/latest")
        await client.get_prompt("resume", {})
        template = ResourceTemplateReference(uri="context://ref/{ref}")
        await client.complete(template, {"name": "ref", "value": kept.facts["ref"][:5]})

    assert not in_the_loop
