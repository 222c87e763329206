"""`serve --http` for tenants: a real server in this process, asked by a real client."""

import gc
import threading
import weakref
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
import uvicorn
from click.testing import CliRunner
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_door import Answer, ask, refusal, workspace_in, write_messages, write_transcript
from replicas import token_of, write_tokens

from context_compression.cli import main
from context_compression.errors import InvalidSettings, StoreError
from context_compression.mcp_server import create_server, serve_http
from context_compression.mcp_server.calls import Call
from context_compression.mcp_server.serving import (
    HttpOptions,
    RequestLimits,
    gate_of,
    http_config,
    servers_of,
)
from context_compression.mcp_server.web import tenants as module
from context_compression.mcp_server.web.gate import allowed_names
from context_compression.mcp_server.web.running import Health
from context_compression.mcp_server.web.tenants import TenantTokens
from context_compression.store import Store
from context_compression.testing import conversation
from context_compression.workspace import Workspace

pytestmark = pytest.mark.anyio

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
JSON = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@dataclass
class Served:
    """A running server."""

    url: str
    health: Health
    workspace: Workspace

    @asynccontextmanager
    async def client(self, tenant: str) -> AsyncGenerator[Client]:
        headers = {"Authorization": f"Bearer {token_of(tenant)}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            Client(streamable_http_client(self.url, http_client=http)) as client,
        ):
            yield client

    async def post(self, tenant: str = "ann", **headers: str) -> httpx2.Response:
        bearing = {"Authorization": f"Bearer {token_of(tenant)}"}
        async with httpx2.AsyncClient(timeout=60) as http:
            return await http.post(self.url, headers=JSON | bearing | headers, json=LIST)

    async def get(self, path: str, **headers: str) -> httpx2.Response:
        async with httpx2.AsyncClient(timeout=60) as http:
            return await http.get(self.url.removesuffix("/mcp") + path, headers=headers)


@asynccontextmanager
async def served(
    folder: Path, options: HttpOptions | None = None, environ: dict[str, str] | None = None
) -> AsyncGenerator[Served]:
    workspace = workspace_in(folder, environ)
    tokens = TenantTokens(str(write_tokens(folder / "tokens", "ann", "bob", "cyd")))
    health = Health(workspace.settings)
    options = options or HttpOptions()
    servers = servers_of(
        lambda: workspace,
        allowed_names("127.0.0.1", options.allow_hosts),
        RequestLimits().most_bytes,
        tenants=True,
    )
    gate = gate_of(options, tokens, health, servers)
    server = uvicorn.Server(http_config(gate))
    listening = await anyio.to_thread.run_sync(_listening)
    async with anyio.create_task_group() as running:
        running.start_soon(server.serve, [listening])
        yield Served(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", health, workspace)
        server.should_exit = True


def _listening() -> Any:
    import socket

    return socket.create_server(("127.0.0.1", 0))


@pytest.fixture
def tenant(workspace: Workspace) -> Workspace:
    """The workspace of a tenant, on a machine with files, transcripts and folders of its own."""
    cwd, home = workspace.cwd, workspace.home
    write_messages(cwd / "chat.json", conversation(5))
    (cwd / "notes.txt").write_text("a secret of the machine", encoding="utf-8")
    project = home / ".claude" / "projects" / str(cwd).replace("/", "-")
    write_transcript(project / "0b1c.jsonl", conversation(5), session="0b1c")
    return workspace.of_tenant("ann")


NAMED = ("notes.txt", "./notes.txt", "{cwd}/notes.txt", "~/.claude", "/etc/passwd", "/no/such/file")
FILES = ("chat.json", "{cwd}/chat.json", "no-such.json", "/no/such.json", "~", "0b1c")


@pytest.mark.parametrize("path", NAMED)
async def test_no_file_of_the_server_can_be_archived_nor_its_existence_be_told(
    tenant: Workspace, workspace: Workspace, path: str
) -> None:
    async with Client(create_server(tenant)) as client:
        said = await refusal(client, "context_offload", path=path.format(cwd=workspace.cwd))
        other = await refusal(client, "context_offload", path="other")

    assert said == other
    assert "This server reads no files" in said


@pytest.mark.parametrize("path", FILES)
@pytest.mark.parametrize("tool", ["context_status", "context_compress"])
async def test_no_transcript_of_the_server_can_be_opened_nor_its_existence_be_told(
    tenant: Workspace, workspace: Workspace, tool: str, path: str
) -> None:
    named = path.format(cwd=workspace.cwd)
    async with Client(create_server(tenant)) as client:
        said = await refusal(client, tool, conversation=named)

    assert said == (
        f"No session {named!r} is recorded, and this server reads no files. Pass the id of a "
        "recorded session, or the messages."
    )


@pytest.mark.parametrize("name", ["a client", "claude-code", "codex-mcp-client", "gemini-cli"])
async def test_there_is_no_current_conversation_whoever_asks(
    tenant: Workspace, workspace: Workspace, name: str
) -> None:
    from mcp_door import connected

    async with connected(tenant, name=name) as client:
        status = await ask(client, "context_status", response_format="detailed")
        compress = await ask(client, "context_compress")

    for answer in (status, compress):
        assert answer.facts["conversation_known"] is False
        assert "it runs on another machine" in answer.text
        for folder in (workspace.home, workspace.cwd):
            assert str(folder) not in answer.text.replace(str(tenant.store.folder), "")
        assert "0b1c" not in answer.text and "CONTEXT_COMPRESSION_" not in answer.text


async def test_a_session_may_have_the_name_of_a_file_of_the_server(tenant: Workspace) -> None:
    async with Client(create_server(tenant)) as client:
        kept = await ask(
            client, "context_compress", conversation="chat.json", messages=conversation(5)
        )

    assert not kept.failed, kept.text


KEY = {"CONTEXT_COMPRESSION_SUMMARY_MODEL": "cheap", "ANTHROPIC_API_KEY": "a-key-of-the-operator"}
DEAR: tuple[dict[str, Any], ...] = (
    {"summary_model": "dear"},
    {"summaryModel": "dear"},
    {"summarizer": "openai"},
    {"summarizer": "anthropic"},
    {"allowed_paths": ["/"]},
    {"read_host_transcripts": True},
)


@pytest.mark.parametrize("settings", DEAR)
async def test_a_tenant_cannot_set_what_reaches_the_server(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    tenant = workspace_in(tmp_path, KEY).of_tenant("ann")
    async with Client(create_server(tenant)) as client:
        kept = await refusal(client, "context_config", settings=settings)
        once = await refusal(client, "context_compress", messages=[], settings=settings)
        shown = await ask(client, "context_config")

    assert "Nothing was changed." in kept and "Nothing was changed." in once
    assert KEY["ANTHROPIC_API_KEY"] not in shown.text
    assert shown.facts["settings"]["summary_model"]["value"] == "cheap"
    assert shown.facts["settings"]["read_host_transcripts"]["value"] is False


async def test_a_tenant_chooses_to_write_summaries_itself(tmp_path: Path) -> None:
    tenant = workspace_in(tmp_path, KEY).of_tenant("ann")
    async with Client(create_server(tenant)) as client:
        changed = await ask(client, "context_config", summarizer="caller")

    assert changed.facts["changed"]["summarizer"]["to"] == "caller"


async def test_folders_that_the_operator_allows_himself_are_not_those_of_tenants(
    tmp_path: Path,
) -> None:
    opened = {"CONTEXT_COMPRESSION_ALLOWED_PATHS": str(tmp_path)}
    tenant = workspace_in(tmp_path, opened).of_tenant("ann")
    async with Client(create_server(tenant)) as client:
        shown = await ask(client, "context_config")

    assert shown.facts["settings"]["allowed_paths"]["value"] == []
    assert tenant.access.roots == ()


async def test_no_stream_of_changes_is_offered_which_would_keep_a_place_for_nothing(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as server, server.client("ann") as ann:
        offered = ann.server_capabilities
        with pytest.raises(MCPError, match="Method not found"):
            async with ann.listen(tools_list_changed=True):
                pass

    assert offered.tools and not offered.tools.list_changed
    assert offered.resources and not offered.resources.subscribe


async def test_one_who_goes_away_while_sending_is_no_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with served(tmp_path, HttpOptions(limits=RequestLimits(at_once=1))) as server:
        port = int(server.url.rpartition(":")[2].removesuffix("/mcp"))
        head = [
            "POST /mcp HTTP/1.1", f"Host: 127.0.0.1:{port}", "Content-Length: 99",
            f"Authorization: Bearer {token_of('ann')}", "Content-Type: application/json", "", "{",
        ]  # fmt: skip
        async with await anyio.connect_tcp("127.0.0.1", port) as client:
            await client.send("\r\n".join(head).encode())
            while (await server.post("ann")).status_code != 429:  # it has a place now
                pass
        while (answer := await server.post("ann")).status_code == 429:  # its place is free again
            pass

    assert answer.status_code == 200
    assert caplog.records == []


async def test_a_store_that_is_away_at_the_first_request_of_a_tenant_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Workspace.of_tenant

    def away(_: Workspace, name: str) -> Workspace:
        raise StoreError("The database at db is away.")

    async with served(tmp_path) as server:
        monkeypatch.setattr(Workspace, "of_tenant", away)
        refused = await server.post("ann")
        monkeypatch.setattr(Workspace, "of_tenant", real)
        served_again = await server.post("ann")

    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
    assert refused.json()["error"] == "The store cannot be reached."
    assert served_again.status_code == 200


async def test_settings_of_a_tenant_are_its_own(tmp_path: Path) -> None:
    async with served(tmp_path) as server:
        async with server.client("ann") as ann:
            await ask(ann, "context_config", token_budget=70_000)
        async with server.client("bob") as bob, server.client("ann") as ann:
            shown = [await ask(each, "context_config", key="token_budget") for each in (ann, bob)]

    values = [each.facts["settings"]["token_budget"]["value"] for each in shown]
    assert values == [70_000, 200_000]


@pytest.fixture
def rare_collections() -> Generator[None]:
    """As in the command, which hardly ever looks for cycles of objects by itself."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.slow
@pytest.mark.usefixtures("rare_collections")
async def test_a_server_that_is_dropped_meanwhile_is_made_again_and_leaves_nothing_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    stores: list[weakref.ref[Store]] = []
    real = Workspace.of_tenant

    def of_tenant(self: Workspace, name: str) -> Workspace:
        workspace = real(self, name)
        made.append(name)
        stores.append(weakref.ref(workspace.store))
        return workspace

    monkeypatch.setattr(Workspace, "of_tenant", of_tenant)
    monkeypatch.setattr(module, "MOST", 1)
    monkeypatch.setattr(module, "RENEWED_AFTER", 5)
    async with served(tmp_path) as server:
        answers: list[Answer] = []
        for _ in range(2):
            for name in ("ann", "bob"):
                async with server.client(name) as client:
                    answers.append(await ask(client, "context_offload", content=f"of {name}"))
                    answers += [await ask(client, "context_status") for _ in range(4)]

    assert not any(each.failed for each in answers)
    assert {name: made.count(name) > 2 for name in ("ann", "bob")} == {"ann": True, "bob": True}
    assert sum(store() is not None for store in stores) <= 3 < len(stores)  # the latest


async def test_a_call_that_runs_when_its_server_is_dropped_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST", 1)
    reached, go_on = threading.Event(), threading.Event()
    real = Call.before_writing

    def held(self: Call) -> None:
        if self.workspace.tenant == "ann":
            reached.set()
            go_on.wait(30)
        real(self)

    monkeypatch.setattr(Call, "before_writing", held)
    kept: list[Answer] = []

    async with served(tmp_path) as server, server.client("ann") as ann:

        async def offload() -> None:
            kept.append(await ask(ann, "context_offload", content="text of ann"))

        async with anyio.create_task_group() as calls:
            calls.start_soon(offload)
            await anyio.to_thread.run_sync(reached.wait)
            async with server.client("bob") as bob:
                await ask(bob, "context_status")
            go_on.set()
        back = await ask(ann, "context_restore", ref=kept[0].facts["ref"])

    assert back.pages == ["text of ann"]


async def test_one_who_asks_too_much_is_told_when_to_ask_again_and_others_are_served(
    tmp_path: Path,
) -> None:
    options = HttpOptions(limits=RequestLimits(per_minute=2))
    async with served(tmp_path, options) as server:
        of_ann = [await server.post("ann") for _ in range(3)]
        of_bob = await server.post("bob")

    assert [each.status_code for each in of_ann] == [200, 200, 429]
    assert of_ann[2].headers["Retry-After"] == "30"
    assert of_ann[2].json() == {
        "error": "More than 2 requests of yours in a minute.",
        "retry_after": 30,
    }
    assert of_bob.status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "archive.example.org"}, 200),
        ({"Host": "archive.example.org:443"}, 200),
        ({"Host": "archive.example.org", "Origin": "https://archive.example.org"}, 200),
        ({"Host": "exact.example.org:8443"}, 200),
        ({"Host": "exact.example.org"}, 421),
        ({"Host": "archive.example.org.evil.example"}, 421),
        ({"Host": "evil.example", "X-Forwarded-Host": "archive.example.org"}, 421),
        ({"Host": "archive.example.org", "Origin": "https://evil.example"}, 403),
        (
            {
                "Host": "archive.example.org",
                "Origin": "http://evil.example",
                "X-Forwarded-Host": "evil.example",
                "X-Forwarded-Proto": "https",
            },
            403,
        ),
    ],
)
async def test_the_names_that_a_proxy_uses_are_those_the_operator_allows(
    tmp_path: Path, headers: dict[str, str], status: int
) -> None:
    options = HttpOptions(allow_hosts=("archive.example.org", "exact.example.org:8443"))
    async with served(tmp_path, options) as server:
        response = await server.post("ann", **headers)

    assert response.status_code == status


@pytest.mark.parametrize("name", ["https://a.example", "a.example/mcp", "a b", "*", "", "a:x"])
def test_what_is_no_name_of_a_host_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidSettings, match="is no name of a host"):
        serve_http(workspace_in(tmp_path), options=HttpOptions(port=0, allow_hosts=(name,)))


async def test_health_needs_no_token_and_says_nothing_else(tmp_path: Path) -> None:
    async with served(tmp_path) as server:
        lives, ready = [await server.get(path, Host="10.0.0.7") for path in ("/healthz", "/readyz")]

    assert (lives.status_code, lives.json()) == (200, {"lives": True})
    assert (ready.status_code, ready.json()) == (200, {"ready": True})


async def test_a_store_that_cannot_be_reached_is_said_and_the_operator_is_told_why_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("context_compression.mcp_server.web.running.VALID_SECONDS", 0.0)

    def away() -> None:
        raise StoreError("The database at db is away.")

    async with served(tmp_path) as server:
        server.health.check = away
        lives, ready, _ = [await server.get(path) for path in ("/healthz", "/readyz", "/readyz")]

    assert lives.status_code == 200
    assert ready.status_code == 503
    assert ready.json() == {"ready": False, "reason": "The store cannot be reached."}
    assert capsys.readouterr().err == "Not ready: The database at db is away.\n"


async def test_a_store_that_hangs_is_told_and_asked_by_one_thread_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("context_compression.mcp_server.web.running.SECONDS", 0.05)
    monkeypatch.setattr("context_compression.mcp_server.web.running.VALID_SECONDS", 0.0)
    asked, go_on = list[int](), threading.Event()

    def hang() -> None:
        asked.append(1)
        go_on.wait(30)

    health = Health(hang)
    reasons = [await health.not_ready() for _ in range(3)]
    go_on.set()

    assert set(reasons) == {"The store did not answer within 2 seconds."}
    assert len(asked) == 1


async def test_while_it_drains_a_server_answers_and_ends_each_connection(tmp_path: Path) -> None:
    async with served(tmp_path) as server:
        before = await server.post()
        server.health.draining = True
        ready, after = await server.get("/readyz"), await server.post()

    assert before.headers.get("Connection") != "close"
    assert (ready.status_code, ready.json()["reason"]) == (503, "This server is shutting down.")
    assert (after.status_code, after.headers["Connection"]) == (200, "close")


@pytest.mark.parametrize(
    ("options", "environ", "says"),
    [
        (HttpOptions(token="a-token-for-tests", tokens="tokens"), {}, "Leave out one of them"),
        (
            HttpOptions(tokens="tokens"),
            {"CONTEXT_COMPRESSION_TOKEN": "a-token-for-tests"},
            "Leave out one of them",
        ),
        (HttpOptions(tokens="./no-file"), {}, "The tokens in ./no-file cannot be read: No"),
        (HttpOptions(), {"CONTEXT_COMPRESSION_TOKENS": "ann short\nbob"}, "has no token"),
        (HttpOptions(limits=RequestLimits()), {}, "limits of tenants"),
        (HttpOptions(host="0.0.0.0"), {}, "choose a token"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    tmp_path: Path, options: HttpOptions, environ: dict[str, str], says: str
) -> None:
    with pytest.raises(InvalidSettings, match=says):
        serve_http(workspace_in(tmp_path, environ), options=options)


@pytest.mark.parametrize(
    "option",
    ["--tokens=x", "--allow-host=x", "--at-once=1", "--per-minute=1", "--in-all=1", "--drain=0",
     "--workers=1", "--seconds=1", "--megabytes=1", "--access-log",
     "--host=127.0.0.1", "--port=8765", "--token=x"],
)  # fmt: skip
def test_options_of_http_are_refused_without_it(option: str) -> None:
    done = CliRunner().invoke(main, ["serve", option])

    assert done.exit_code == 2
    assert f"{option.partition('=')[0]} goes only with HTTP. Add --http" in done.output


@pytest.mark.parametrize(
    "option",
    ["--drain", "--at-once", "--per-minute", "--in-all", "--port", "--workers", "--seconds",
     "--megabytes"],
)  # fmt: skip
@pytest.mark.parametrize("value", ["nan", "inf", "-1", "1e300", "9" * 400])
def test_a_number_without_a_sensible_bound_is_refused(option: str, value: str) -> None:
    done = CliRunner().invoke(main, ["serve", "--http", option, value])

    assert done.exit_code == 2
    assert f"Invalid value for '{option}'" in done.output


def test_a_protocol_that_only_stdio_has_is_refused_over_http() -> None:
    done = CliRunner().invoke(main, ["serve", "--http", "--protocol", "legacy"])

    assert done.exit_code == 2
    assert "--protocol legacy goes only with stdio" in done.output


@pytest.mark.parametrize("by", ["--tenant", "environment"])
def test_a_run_for_one_tenant_takes_no_tokens_of_tenants(tmp_path: Path, by: str) -> None:
    tokens = write_tokens(tmp_path / "tokens", "ann", "bob")
    variable = {"CONTEXT_COMPRESSION_TENANT": "acme"} if by == "environment" else {}
    option = ["--tenant", "acme"] if by == "--tenant" else []
    serve = ["serve", "--http", "--tokens", str(tokens)]
    done = CliRunner(env=variable).invoke(main, ["--store", str(tmp_path), *option, *serve])

    assert done.exit_code == 2
    assert "Leave out the tenant acme" in done.output


def test_beyond_loopback_a_server_of_tenants_is_told_what_is_right_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(_: uvicorn.Server, sockets: list[Any]) -> None:
        sockets[0].close()

    monkeypatch.setattr(uvicorn.Server, "run", run)
    tokens = str(write_tokens(tmp_path / "tokens", "ann", "bob"))

    serve_http(workspace_in(tmp_path), options=HttpOptions(host="0.0.0.0", port=0, tokens=tokens))
    said = capsys.readouterr().err

    assert "no TLS" in said
    assert "keeps the Host that clients send; --allow-host names that Host" in said
    assert not any(word in said for word in ("caddy", "--change-host-header", "serve --http"))


def test_the_command_passes_on_all_options_of_http(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed: list[HttpOptions] = []

    def serve(_: Workspace, *, options: HttpOptions) -> None:
        passed.append(options)

    monkeypatch.setattr("context_compression.mcp_server.serve_http", serve)
    given = (
        "serve --http --host ::1 --port 1 --tokens t --allow-host a --allow-host b --at-once 2 "
        "--per-minute 3 --in-all 4 --workers 5 --seconds 6 --megabytes 7 --drain 5 --access-log"
    )
    done = CliRunner().invoke(main, ["--store", str(tmp_path), *given.split()])

    assert done.exit_code == 0, done.output
    assert passed == [
        HttpOptions(
            host="::1", port=1, tokens="t", allow_hosts=("a", "b"),
            limits=RequestLimits(
                at_once=2, per_minute=3, in_all=4, workers=5, seconds=6, megabytes=7
            ),
            drain_seconds=5, access_log=True,
        )
    ]  # fmt: skip
