"""The end of `serve --http`: after SIGTERM no request fails. And tokens that change in its life."""

import signal
from pathlib import Path

import anyio
import httpx2
import pytest
from replicas import Replica, replicas, token_of, write_tokens

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
JSON = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


async def status(server: Replica, tenant: str) -> int:
    headers = JSON | {"Authorization": f"Bearer {token_of(tenant)}"}
    async with httpx2.AsyncClient(timeout=60) as http:
        return (await http.post(server.url, headers=headers, json=LIST)).status_code


async def drained(server: Replica) -> httpx2.Response:
    """The answer of /readyz as soon as it is no longer ready."""
    async with httpx2.AsyncClient(timeout=60) as http:
        while (answer := await http.get(f"{server.base}/readyz")).status_code == 200:
            pass
    return answer


async def test_after_sigterm_requests_are_answered_until_a_proxy_has_noticed(
    tmp_path: Path,
) -> None:
    tokens = write_tokens(tmp_path / "tokens", "ann", "bob")
    with replicas(tmp_path, "--tokens", str(tokens), "--drain", "600", "--access-log") as [server]:
        server.send(signal.SIGTERM)
        ready = await drained(server)
        meanwhile = await status(server, "ann")
        server.send(signal.SIGTERM)  # its end at once
        code = await anyio.to_thread.run_sync(server.end)

    assert (ready.status_code, ready.json()["ready"]) == (503, False)
    assert meanwhile == 200
    assert code == 0
    assert server.logged()[-1]["tenant"] == "ann"


@pytest.mark.parametrize(("sig", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
async def test_a_server_ends_by_itself_when_it_has_drained_or_is_interrupted(
    tmp_path: Path, sig: int, code: int
) -> None:
    tokens = write_tokens(tmp_path / "tokens", "ann")
    drain = "0.2" if sig == signal.SIGTERM else "600"
    with replicas(tmp_path, "--tokens", str(tokens), "--drain", drain) as [server]:
        server.send(sig)

        assert await anyio.to_thread.run_sync(server.end) == code


async def test_a_call_that_is_longer_than_the_drain_is_answered(tmp_path: Path) -> None:
    tokens = write_tokens(tmp_path / "tokens", "ann")
    lines = [f"line {n} error in src/a{n % 50}.py value {n * 7}\n" for n in range(60_000)]
    said = ["".join(lines[part::6]) for part in range(6)]
    messages = [
        {"role": role, "content": text}
        for each in said
        for role, text in (("user", "go on"), ("assistant", each))
    ]
    arguments = {"messages": messages, "target_tokens": 3_000}
    call = {
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "context_compress", "arguments": arguments},
    }  # fmt: skip
    answers: list[httpx2.Response] = []

    async def ask(server: Replica) -> None:
        headers = JSON | {"Authorization": f"Bearer {token_of('ann')}"}
        async with (
            httpx2.AsyncClient(timeout=120) as http,
            http.stream("POST", server.url, headers=headers, json=call) as answer,
        ):
            started.set()  # its stream is open, and the work goes on
            await answer.aread()
            answers.append(answer)

    with replicas(tmp_path, "--tokens", str(tokens), "--drain", "0.1") as [server]:
        started = anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(ask, server)
            await started.wait()
            server.send(signal.SIGTERM)
        code = await anyio.to_thread.run_sync(server.end)

    assert "target" in answers[0].text and '"isError":true' not in answers[0].text
    assert code == 0


async def test_tokens_rotate_while_the_server_runs(tmp_path: Path) -> None:
    file = write_tokens(tmp_path / "tokens", "ann")
    with replicas(tmp_path, environ={"CONTEXT_COMPRESSION_TOKENS": str(file)}) as [server]:
        before = [await status(server, name) for name in ("ann", "bob")]
        write_tokens(file, "bob", "cyd")
        after = [await status(server, name) for name in ("ann", "bob", "cyd")]
        file.write_text("damaged", encoding="utf-8")
        kept = [await status(server, name) for name in ("ann", "bob", "bob")]
        server.send(signal.SIGINT)
        await anyio.to_thread.run_sync(server.end)

    assert before == [200, 401]
    assert after == [401, 200, 200]
    assert kept == [401, 200, 200]
    assert sum("The tokens of before stay valid" in line for line in server.stderr) == 1
