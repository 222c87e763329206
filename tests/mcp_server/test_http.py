"""A real server on a free port of the loopback interface."""

import json
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_door import ask, everything_in, workspace_in

from context_compression import Session
from context_compression.errors import InvalidSettings
from context_compression.mcp_server import calls as call
from context_compression.mcp_server import serve_http
from context_compression.mcp_server.serving import HttpOptions, gate_of, http_config, servers_of
from context_compression.mcp_server.web import gate
from context_compression.mcp_server.web.gate import MEGABYTE, RequestLimits, allowed_names
from context_compression.mcp_server.web.gate import TOKEN as VARIABLE
from context_compression.mcp_server.web.running import Health, RequestTimeout
from context_compression.mcp_server.web.tenants import SingleToken
from context_compression.testing import conversation
from context_compression.workspace import Workspace

pytestmark = pytest.mark.anyio

TOKEN = "a-token-for-tests"
BEARING = {"Authorization": f"Bearer {TOKEN}"}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
JSON = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@pytest.fixture
async def url(workspace: Workspace) -> AsyncIterator[str]:
    """The address of a running server."""
    listening = socket.create_server(("127.0.0.1", 0))
    servers = servers_of(
        lambda: workspace, allowed_names("127.0.0.1"), RequestLimits().most_bytes, tenants=False
    )
    app = gate_of(HttpOptions(), SingleToken(TOKEN), Health(), servers)
    server = uvicorn.Server(http_config(app))
    async with anyio.create_task_group() as running:
        running.start_soon(server.serve, [listening])
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        server.should_exit = True


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(headers=BEARING, timeout=60) as http:
        yield http


async def post(url: str, headers: dict[str, str], body: Any = LIST) -> httpx2.Response:
    async with httpx2.AsyncClient(timeout=60) as http:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await http.post(url, headers=JSON | headers, content=content)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_with_the_token_is_served(
    url: str, http: httpx2.AsyncClient, mode: Any
) -> None:
    async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
        answer = await ask(
            client, "context_compress", messages=conversation(10), target_tokens=9_000
        )

    assert answer.facts["tokens_after"] <= 9_000


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": f"bearer{TOKEN}"}]
)
async def test_without_the_token_nobody_is(url: str, headers: dict[str, str]) -> None:
    response = await post(url, headers)

    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("scheme", ["Bearer ", "bearer ", "BEARER ", "bEaReR   "])
async def test_the_scheme_is_taken_in_any_case_with_any_spaces(url: str, scheme: str) -> None:
    response = await post(url, {"Authorization": f"{scheme}{TOKEN}"})

    assert response.status_code != 401


@pytest.mark.parametrize("sent", ["Basic {}", "{}", "Bearer{}", "Bearer {} more", "Bearer more {}"])
async def test_no_other_header_passes_for_the_token(url: str, sent: str) -> None:
    response = await post(url, {"Authorization": sent.format(TOKEN)})

    assert response.status_code == 401


@pytest.mark.parametrize("tokens", [("wrong", TOKEN), (TOKEN, "wrong"), (TOKEN, TOKEN)])
async def test_a_request_with_two_tokens_is_nobodys(url: str, tokens: tuple[str, str]) -> None:
    bearing = [("Authorization", f"Bearer {token}") for token in tokens]
    async with httpx2.AsyncClient(timeout=60) as http:
        response = await http.post(url, headers=[*JSON.items(), *bearing], json=LIST)

    assert response.status_code == 401


HEAD = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99\r\n"
UNFINISHED = {
    "nothing": b"",
    "half a line": b"POST /mcp HT",
    "half a header": HEAD,
    "half a header behind a whole request": b"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nPOST",
}


@pytest.mark.parametrize("sent", UNFINISHED)
async def test_who_brings_no_whole_request_in_time_is_dropped(
    url: str, sent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RequestTimeout, "seconds", 0.2)
    port = int(url.split(":")[2].removesuffix("/mcp"))

    with anyio.fail_after(30):
        async with await anyio.connect_tcp("127.0.0.1", port) as client:
            if UNFINISHED[sent]:
                await client.send(UNFINISHED[sent])
            with pytest.raises(anyio.EndOfStream):
                while True:
                    await client.receive()


async def test_who_goes_on_with_a_body_after_a_refusal_is_dropped(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RequestTimeout, "seconds", 0.2)
    port = int(url.split(":")[2].removesuffix("/mcp"))

    with anyio.fail_after(30):
        async with await anyio.connect_tcp("127.0.0.1", port) as client:
            await client.send(HEAD.replace(b"99", b"9999999999") + b"\r\n")
            assert (await client.receive()).startswith(b"HTTP/1.1 401")
            with pytest.raises(anyio.BrokenResourceError):
                while True:
                    await client.send(b"a")


async def test_who_was_let_in_and_sends_no_body_keeps_no_place_for_ever(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "BODY_SECONDS", 0.2)
    port = int(url.split(":")[2].removesuffix("/mcp"))
    head = HEAD + f"Authorization: Bearer {TOKEN}\r\n\r\n{{".encode()

    with anyio.fail_after(30):
        async with await anyio.connect_tcp("127.0.0.1", port) as client:
            await client.send(head)
            assert (await client.receive()).startswith(b"HTTP/1.1 408")


async def test_one_who_was_let_in_may_take_longer(
    url: str, http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RequestTimeout, "seconds", 0.5)
    another_was_dropped = anyio.Event()

    def until_then(_: call.Call) -> None:
        anyio.from_thread.run(another_was_dropped.wait)

    monkeypatch.setattr(call.Call, "before_writing", until_then)

    async def half_a_request() -> None:
        port = int(url.split(":")[2].removesuffix("/mcp"))
        async with await anyio.connect_tcp("127.0.0.1", port) as client:
            with pytest.raises(anyio.EndOfStream):
                await client.receive()
        another_was_dropped.set()

    async with (
        Client(streamable_http_client(url, http_client=http)) as client,
        anyio.create_task_group() as running,
    ):
        running.start_soon(half_a_request)
        answer = await ask(
            client, "context_compress", messages=conversation(10), target_tokens=9_000
        )
        assert another_was_dropped.is_set()
        assert answer.facts["tokens_after"] <= 9_000


async def test_pages_of_other_origins_and_other_names_are_refused(url: str) -> None:
    origin = await post(url, BEARING | {"Origin": "http://evil.example"})
    host = await post(url, BEARING | {"Host": "evil.example"})
    own = await post(url, BEARING | {"Origin": "http://localhost:6274"})

    assert (origin.status_code, host.status_code) == (403, 421)
    assert own.status_code not in (401, 403, 421)


async def test_a_long_conversation_goes_through_and_one_too_long_does_not(
    url: str, http: httpx2.AsyncClient
) -> None:
    messages = [{"role": "user", "content": "word " * 1_000_000}]

    async with Client(streamable_http_client(url, http_client=http)) as client:
        answer = await ask(client, "context_status", messages=messages)
    refused = await post(url, BEARING, b'{"x": "' + b"a" * 65 * MEGABYTE + b'"}')

    assert answer.facts["used_tokens"] > 1_000_000
    assert refused.status_code == 413


async def test_two_clients_at_once_see_the_same_archive(url: str) -> None:
    async def offload(text: str, into: list[str]) -> None:
        async with (
            httpx2.AsyncClient(headers=BEARING, timeout=60) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            kept = await ask(client, "context_offload", content=text)
            back = await ask(client, "context_restore", ref=kept.facts["ref"])
            into += back.pages

    found: list[str] = []
    async with anyio.create_task_group() as clients:
        for text in ("one", "two"):
            clients.start_soon(offload, text, found)

    assert sorted(found) == ["one", "two"]


async def test_a_client_that_hangs_up_cancels_its_call(
    url: str, http: httpx2.AsyncClient, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session(workspace.store, "mine")
    session.record(*conversation(10))
    before = everything_in(workspace.store.folder)
    reached, noticed = threading.Event(), threading.Event()
    real = call.Call.before_writing

    def held(self: call.Call) -> None:
        reached.set()
        try:
            while True:  # until the hanging up has come through
                real(self)
        finally:
            noticed.set()

    monkeypatch.setattr(call.Call, "before_writing", held)

    async with Client(streamable_http_client(url, http_client=http)) as client:
        async with anyio.create_task_group() as calls:
            asked = {"conversation": "mine", "target_tokens": 9_000}
            calls.start_soon(client.call_tool, "context_compress", asked)
            await anyio.to_thread.run_sync(reached.wait)
            calls.cancel_scope.cancel()
        await anyio.to_thread.run_sync(noticed.wait, 20)

    assert noticed.is_set()
    assert everything_in(workspace.store.folder) == before


HALVES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("tools/call", {"name": "context_offload", "arguments": {"content": "one \ud800 two"}}),
    ("tools/call", {"name": "context_status", "arguments": {"conver\udfff": "\udfff\ud800"}}),
    ("tools/call", {"name": "no\ud800ne", "arguments": {}}),
    ("prompts/get", {"name": "compact", "arguments": {"focus": "the \ud83d"}}),
)


@pytest.mark.parametrize(("method", "params"), HALVES)
async def test_half_characters_over_http_are_answered(
    url: str, method: str, params: dict[str, Any]
) -> None:
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": dict[str, Any](),
        "clientInfo": {"name": "test", "version": "1"},
    }
    first = await post(
        url, BEARING, {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    )
    headers = BEARING | {"MCP-Protocol-Version": "2025-11-25"}
    if known := first.headers.get("mcp-session-id"):
        headers |= {"Mcp-Session-Id": known}

    response = await post(
        url, headers, {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    )

    told = json.loads(response.text.partition("data: ")[2] or response.text)
    assert told["id"] == 7
    assert "Parse error" not in response.text


async def test_half_characters_of_the_archive_come_back_over_http_and_it_is_said(
    url: str, http: httpx2.AsyncClient, workspace: Workspace
) -> None:
    ref = Session(workspace.store, "kept").offload("one \ud800 two \U0001f600")

    async with Client(streamable_http_client(url, http_client=http)) as client:
        back = await ask(client, "context_restore", ref=ref)

    assert back.pages == ["one \\ud800 two \U0001f600"]
    assert r"spelled out, as \ud83d" in back.text


def test_other_machines_are_let_in_only_with_a_token_of_ones_own(tmp_path: Path) -> None:
    for host in ("0.0.0.0", "192.0.2.1", "example.org"):
        with pytest.raises(InvalidSettings, match="CONTEXT_COMPRESSION_TOKEN"):
            serve_http(workspace_in(tmp_path), host=host, port=0)


@pytest.mark.parametrize("token", ["short", "fifteen-letters", "sixteen letters ", "größer" * 9])
@pytest.mark.parametrize("given", ["option", "environment"])
def test_a_token_that_can_be_guessed_or_not_be_sent_is_refused(
    tmp_path: Path, given: str, token: str
) -> None:
    environ = {VARIABLE: token} if given == "environment" else {}
    option = token if given == "option" else None

    with pytest.raises(InvalidSettings, match="at least 16 characters") as refused:
        serve_http(workspace_in(tmp_path, environ), port=0, token=option)

    assert token not in str(refused.value)


def test_beyond_loopback_it_is_said_that_there_is_no_tls_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(_: uvicorn.Server, sockets: list[socket.socket]) -> None:
        sockets[0].close()

    monkeypatch.setattr(uvicorn.Server, "run", run)

    serve_http(workspace_in(tmp_path / "here"), port=0)
    at_home = capsys.readouterr().err
    serve_http(workspace_in(tmp_path / "there"), host="0.0.0.0", port=0, token=TOKEN)
    abroad = capsys.readouterr().err

    assert "TLS" not in at_home
    assert "no TLS" in abroad
    assert "caddy reverse-proxy --from YOUR.DOMAIN --to 127.0.0.1:" in abroad
    assert TOKEN not in abroad


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(InvalidSettings, match="Choose another with --port"),
    ):
        serve_http(workspace_in(tmp_path), port=taken.getsockname()[1])


@pytest.mark.slow
def test_without_a_token_one_is_made_up_and_written_to_stderr(tmp_path: Path) -> None:
    code = """
from pathlib import Path
from context_compression.mcp_server import serve_http
from context_compression.workspace import Workspace
serve_http(Workspace.here(home=Path.cwd().with_name("home")), port=0)
"""
    environ = {"PYTHONPATH": str(Path(__file__).parents[2] / "server")}
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, env=environ, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr
        try:
            address = process.stderr.readline().removeprefix("Serving ").strip()
            header = process.stderr.readline().strip().partition(": ")
            without = anyio.run(post, address, {"Authorization": ""})
            bearing = anyio.run(post, address, {header[0]: header[2]})
        finally:
            process.terminate()

    assert address.startswith("http://127.0.0.1:")
    assert header[2].startswith("Bearer ")
    assert without.status_code == 401
    assert bearing.status_code != 401
