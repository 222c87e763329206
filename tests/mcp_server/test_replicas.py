"""Several processes `serve --http` over one store: any of them answers any call of any tenant."""

import signal
from collections.abc import Generator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import postgres
import pytest
from mcp import Client
from mcp.types import ResourceTemplateReference
from mcp_door import ask
from replicas import NEWEST, Replica, client_of, replicas, token_of, write_tokens

from context_compression.testing import conversation

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
STORE = "CONTEXT_COMPRESSION_STORE"
TENANTS = ("ann", "bob", "cyd", "dan", "eve")


@pytest.fixture(scope="module", params=["files", "postgres"])
def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Generator[dict[str, str]]:
    """The variable that names the store of all replicas."""
    if request.param == "files":
        yield {STORE: str(tmp_path_factory.mktemp("store"))}
    elif postgres.programs() is None:
        pytest.skip("PostgreSQL is not installed, so no replicas share a database")
    else:
        with postgres.running() as database:
            yield {STORE: database.url}


@pytest.fixture(scope="module")
def three(
    place: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Generator[list[Replica]]:
    """Three replicas, whom no test stops."""
    folder = tmp_path_factory.mktemp("three")
    tokens = str(write_tokens(folder / "tokens", *TENANTS))
    with replicas(folder, "--tokens", tokens, number=3, environ=place) as started:
        yield started


async def archived(client: Client) -> tuple[dict[str, str], list[str], str]:
    """All that a client finds in its archive: refs, resources, and the prompt `resume`."""
    status = await ask(client, "context_status", response_format="detailed")
    resources = await client.list_resources()
    resume = await client.get_prompt("resume", {})
    return (
        status.facts.get("newest_refs", {}),
        [str(each.uri) for each in resources.resources],
        str(resume.messages[0].content),
    )


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_any_of_three_replicas_goes_on_where_another_was(
    three: list[Replica], mode: Any, first: int
) -> None:
    """A conversation is compressed with a summary by the caller: calls that need each other."""
    name, messages = f"work-{mode}-{first}", conversation(10)
    written = (
        "## Goal\nMend the login and the session cache, as the user asked.\n\n## Done\n"
        "The reader was mended; the worker, buffer and handler modules were read, the token index "
        "was kept, and pytest ran with an AssertionError."
    )
    async with client_of("ann", three, mode=mode, first=first) as client:
        told = await ask(
            client, "context_compress", conversation=name, messages=messages,
            strategy="summarize", target_tokens=5_000, settings={"summarizer": "caller"},
        )  # fmt: skip
        while plan := told.facts.get("plan_id"):  # one part of the summary after the other
            told = await ask(
                client, "context_compress", conversation=name, messages=messages,
                plan_id=plan, summary=written,
            )  # fmt: skip
        status = await ask(client, "context_status", conversation=name)
        refs = status.facts["newest_refs"]
        back = [await ask(client, "context_restore", ref=ref) for ref in refs]
        undone = await ask(client, "context_compress", conversation=name, undo=True)

    assert told.facts["changed"], told.text
    assert refs and not any(each.failed for each in back)
    assert undone.facts["messages_after"] == len(messages)


async def test_settings_that_one_replica_was_told_apply_in_all(three: list[Replica]) -> None:
    async with client_of("cyd", three) as client:
        await ask(client, "context_config", token_budget=70_000)
        shown = [await ask(client, "context_config", key="token_budget") for _ in range(3)]
        await ask(client, "context_config", reset=["token_budget"])

    assert [each.facts["settings"]["token_budget"]["value"] for each in shown] == [70_000] * 3


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_tenant_finds_nothing_of_another(three: list[Replica], mode: Any) -> None:
    secret = f"the plan of dan in {mode}"
    async with client_of("dan", three[:1], mode=mode) as dan:
        kept = await ask(dan, "context_offload", content=secret)
        await ask(dan, "context_compress", summary=f"checkpoint with {secret}")
        await ask(dan, "context_compress", conversation="plan", messages=conversation(10))
        ref = kept.facts["ref"]
        own = await archived(dan)
    async with client_of("eve", three[:1], mode=mode) as eve:
        others = await archived(eve)
        asked = [
            await ask(eve, "context_restore", ref=ref),
            await ask(eve, "context_restore", ref=ref[:4]),
            await ask(eve, "context_restore", query=secret),
            await ask(eve, "context_restore", query="plan", conversation="plan"),
            await ask(eve, "context_summary"),
            await ask(eve, "context_status", conversation="plan"),
            await ask(eve, "context_compress", conversation="plan"),
        ]
        completed = await eve.complete(
            ResourceTemplateReference(uri="context://ref/{ref}"), {"name": "ref", "value": ref[:5]}
        )
        with pytest.raises(Exception, match="archived under") as unknown:
            await eve.read_resource(f"context://ref/{ref}")

    assert ref in own[0] or f"context://ref/{ref}" in own[1]
    assert "checkpoint with" in own[2]
    assert not others[0] and not others[1] and secret not in others[2]
    assert not any(secret in each.text for each in asked), [each.text for each in asked]
    assert completed.completion.values == []
    assert secret not in str(unknown.value)


async def test_what_a_client_says_of_itself_makes_no_tenant_of_it(three: list[Replica]) -> None:
    async with client_of("dan", three[:1]) as dan:
        kept = await ask(dan, "context_offload", content="only for dan")
    body = {
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "context_restore", "arguments": {"ref": kept.facts["ref"]}},
    }  # fmt: skip
    headers = {
        "Accept": "application/json, text/event-stream",
        "Authorization": f"Bearer {token_of('eve')}",
        "X-Tenant": "dan", "X-Forwarded-User": "dan", "Tenant": "dan", "MCP-Session-Id": "dan",
    }  # fmt: skip
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        answers = [
            await http.post(f"{three[0].url}{asked}", json=body)
            for asked in ("", "?tenant=dan", "/dan", "/../tenants/dan/mcp")
        ]

    assert answers[0].status_code == 200
    assert not any("only for dan" in each.text for each in answers)


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
async def test_no_request_waits_for_what_another_replica_would_have_to_send(
    three: list[Replica], method: str
) -> None:
    async with httpx2.AsyncClient(timeout=60) as http:
        bearing = {"Authorization": f"Bearer {token_of('ann')}", "Accept": "text/event-stream"}
        response = await http.request(method, three[0].url, headers=bearing)

    assert response.status_code == 405
    assert response.headers["Allow"] == "POST"


async def test_fifty_clients_do_not_notice_that_a_replica_is_killed(
    place: dict[str, str], tmp_path: Path
) -> None:
    tokens = str(write_tokens(tmp_path / "tokens", *TENANTS))
    calls, failed, lost = 0, list[str](), list[str]()
    with replicas(tmp_path, "--tokens", tokens, number=3, environ=place) as servers:

        async def work(number: int) -> None:
            nonlocal calls
            tenant = TENANTS[number % len(TENANTS)]
            async with client_of(tenant, servers, mode=NEWEST, first=number) as client:
                kept = await ask(client, "context_offload", content=f"of client {number}")
                calls += 1
                if calls == 15:
                    servers[1].send(signal.SIGKILL)
                back = await ask(client, "context_restore", ref=kept.facts.get("ref", "none"))
                failed.extend(each.text for each in (kept, back) if each.failed)
                if back.pages != [f"of client {number}"]:
                    lost.append(back.text)

        async with anyio.create_task_group() as clients:
            for number in range(50):
                clients.start_soon(work, number)
        code = servers[1].end()

    assert code == -signal.SIGKILL
    assert (failed, lost) == ([], [])
    assert calls == 50
