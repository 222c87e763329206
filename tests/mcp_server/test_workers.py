"""Worker processes of `serve --http`: none holds up another, and none ends an answer in silence.

A worker that is stopped stands for one whose work holds its process.
"""

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from anyio.abc import TaskGroup
from mcp_door import ask, workspace_in
from replicas import NEWEST, Replica, client_of, replicas, token_of, write_tokens

from context_compression import Session
from context_compression.errors import InvalidSettings
from context_compression.mcp_server import serve_http
from context_compression.store import Store
from context_compression.testing import conversation
from context_compression.workspace import Workspace

pytestmark = [
    pytest.mark.slow,
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc"),
]

JSON = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
LIST = {"jsonrpc": "2.0", "id": "mine", "method": "tools/list"}
COMPRESS = {
    "jsonrpc": "2.0", "id": "mine", "method": "tools/call",
    "params": {
        "name": "context_compress",
        "arguments": {"messages": conversation(10), "target_tokens": 5_000, "conversation": "c"},
    },
}  # fmt: skip


def workers(server: Replica) -> list[int]:
    """The processes that answer."""
    of_threads = Path(f"/proc/{server.process.pid}/task").glob("*/children")
    return [int(pid) for file in of_threads for pid in file.read_text("utf-8").split()]


async def post(server: Replica, tenant: str, body: Any = LIST) -> httpx2.Response:
    headers = JSON | {"Authorization": f"Bearer {token_of(tenant)}"}
    async with httpx2.AsyncClient(timeout=60) as http:
        return await http.post(server.url, headers=headers, json=body)


class Asked:
    """A request whose worker is stopped, and its answer once it came."""

    def __init__(self, server: Replica, tenant: str) -> None:
        self.server, self.tenant = server, tenant
        self.answer: httpx2.Response | None = None
        self.stopped: list[int] = []

    async def begin(self, group: TaskGroup) -> None:
        """Stops the worker that waits, then asks; returns once the request has been let in."""
        await post(self.server, "warm")  # one waits before this is answered
        for pid in workers(self.server):
            os.kill(pid, signal.SIGSTOP)
            self.stopped.append(pid)
        assert len(self.stopped) == 1
        sent = anyio.Event()
        group.start_soon(self._ask, sent)
        await sent.wait()
        for _ in range(2):  # the server reads what was sent before this
            await health(self.server)

    async def _ask(self, sent: anyio.Event) -> None:
        async def watch(event: str, _: Any) -> None:
            if event == "http11.send_request_body.complete":
                sent.set()

        headers = JSON | {"Authorization": f"Bearer {token_of(self.tenant)}"}
        async with httpx2.AsyncClient(timeout=60) as http:
            self.answer = await http.post(
                self.server.url, headers=headers, json=COMPRESS, extensions={"trace": watch}
            )

    def go_on(self) -> None:
        for pid in self.stopped:
            os.kill(pid, signal.SIGCONT)


async def health(server: Replica) -> list[int]:
    paths = f"{server.base}/healthz", f"{server.base}/readyz"
    async with httpx2.AsyncClient(timeout=60) as http:
        return [(await http.get(path)).status_code for path in paths]


@pytest.fixture
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Replica]:
    tokens = str(write_tokens(tmp_path / "tokens", "warm", "ann", "bob"))
    options = getattr(request, "param", ())
    with replicas(tmp_path, "--tokens", tokens, "--drain", "0.1", *options) as [server]:
        yield server
        for pid in workers(server) if server.process.poll() is None else []:
            os.kill(pid, signal.SIGKILL)  # one that is stopped would outlive its server


async def test_a_request_that_holds_its_process_holds_up_no_other(server: Replica) -> None:
    held = Asked(server, "ann")
    async with anyio.create_task_group() as group:
        await held.begin(group)
        of_bob = [(await post(server, "bob", body)).status_code for body in (LIST, COMPRESS)]
        healthy = await health(server)
        assert held.answer is None
        held.go_on()
        assert (of_bob, healthy) == ([200, 200], [200, 200])

    assert held.answer and '"target_met":true' in held.answer.text


@pytest.mark.parametrize("server", [("--seconds", "5")], indirect=True)
async def test_a_request_that_takes_too_long_is_ended_and_its_answer_says_so(
    server: Replica,
) -> None:
    held = Asked(server, "ann")
    async with anyio.create_task_group() as group:
        await held.begin(group)
    after = await post(server, "ann")

    assert held.answer and held.answer.status_code == 503
    assert "ended after 5 seconds, the limit of this server" in held.answer.text
    assert after.status_code == 200
    assert not {*held.stopped} & {*workers(server)}


async def test_a_worker_that_dies_fails_its_request_alone(server: Replica) -> None:
    held = Asked(server, "ann")
    async with anyio.create_task_group() as group:
        await held.begin(group)
        await post(server, "bob")
        for pid in held.stopped:
            os.kill(pid, signal.SIGKILL)
    after = await post(server, "ann", COMPRESS)

    assert held.answer and held.answer.status_code == 503
    assert "has ended. Ask again." in held.answer.text
    assert '"target_met":true' in after.text


@pytest.mark.parametrize("whole_group", [False, True])
async def test_a_call_that_takes_longer_than_drain_and_five_seconds_is_answered(
    server: Replica, whole_group: bool
) -> None:
    """Service managers send the signal to all processes of a group."""
    held = Asked(server, "ann")
    async with anyio.create_task_group() as group:
        await held.begin(group)
        await post(server, "bob")  # so ann's request, which came before, is in its worker's pipe
        pids = workers(server) if whole_group else []
        for pid in [*pids, server.process.pid]:
            os.kill(pid, signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            await anyio.to_thread.run_sync(server.process.wait, 6)
        held.go_on()
    code = await anyio.to_thread.run_sync(server.end)

    assert held.answer and '"target_met":true' in held.answer.text
    assert code == 0


async def test_no_worker_outlives_its_server(server: Replica) -> None:
    await post(server, "ann")
    [one, *_] = started = workers(server)
    watched = os.pidfd_open(one)
    server.send(signal.SIGKILL)
    await anyio.to_thread.run_sync(server.end)
    await anyio.wait_readable(watched)
    os.close(watched)

    assert started


async def test_a_rolling_restart_loses_no_answer(tmp_path: Path) -> None:
    """As a proxy does: it asks three replicas in turn, and another where one takes nothing."""
    tokens = str(write_tokens(tmp_path / "tokens", "ann", "bob"))
    options = ("--tokens", tokens, "--drain", "0.1")
    answered = {"ann": 0, "bob": 0}
    done = anyio.Event()

    async def work(tenant: str, servers: list[Replica]) -> None:
        while not done.is_set():
            async with client_of(tenant, servers, mode=NEWEST) as client:
                kept = await ask(client, "context_offload", content=f"{tenant} {answered[tenant]}")
                back = await ask(client, "context_restore", ref=kept.facts["ref"])
            assert f"{tenant} {answered[tenant]}" in back.text
            answered[tenant] += 1

    async def some(more: int) -> None:
        before = {**answered}
        while any(answered[name] < before[name] + more for name in answered):
            await anyio.lowlevel.checkpoint()

    with (
        replicas(tmp_path, *options, number=3) as first,
        replicas(tmp_path, *options, number=3) as second,
    ):
        serving = [*first]
        async with anyio.create_task_group() as group:
            for tenant in answered:
                group.start_soon(work, tenant, serving)
            for place, new in enumerate(second):
                await some(2)
                old, serving[place] = serving[place], new
                old.send(signal.SIGTERM)
                assert await anyio.to_thread.run_sync(old.end) == 0
            await some(2)
            done.set()


async def test_a_server_of_one_token_ends_at_once_although_a_client_waits_for_news(
    tmp_path: Path,
) -> None:
    environ = {"CONTEXT_COMPRESSION_TOKEN": token_of("ann")}
    with replicas(tmp_path, environ=environ) as [server]:
        async with client_of("ann", [server], mode="legacy") as client:
            before = await ask(client, "context_status")
            assert len(workers(server)) == 1
            server.send(signal.SIGTERM)
            code = await anyio.to_thread.run_sync(server.end)

    assert "conversation" in before.text
    assert code == 0


def test_a_store_that_a_program_made_itself_cannot_be_served_by_other_processes(
    tmp_path: Path,
) -> None:
    made = workspace_in(tmp_path)
    own = Workspace.here(environ={}, cwd=made.cwd, home=made.home, store=Store(tmp_path / "s"))
    with pytest.raises(InvalidSettings, match="Name the store's place"):
        serve_http(own, port=0)


def test_a_workspace_is_opened_again_with_the_same_store_settings_and_files(tmp_path: Path) -> None:
    made = workspace_in(tmp_path)
    environ = {"CONTEXT_COMPRESSION_TENANT": "ann", "A": "b"}
    workspace = Workspace.here(
        environ=environ, cwd=made.cwd, home=made.home, allow=["x"], token_budget=70_000
    )
    Session(workspace.store, "s").fit(conversation(10))
    again = pickle.loads(pickle.dumps(workspace.opened_again()))()

    assert again.store.sessions() == ["s"]
    assert again.settings() == workspace.settings()
    assert again.access == workspace.access
    assert (again.part, again.environ, again.cwd) == ("ann", workspace.environ, made.cwd)
