"""The access log of a real process, and all else that it writes to stderr."""

import signal
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp_door import ask, refusal
from replicas import client_of, replicas, token_of, write_tokens

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
JSON = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


async def test_the_log_has_a_line_for_each_request_and_nothing_of_a_clients_words(
    tmp_path: Path,
) -> None:
    secret = "words-of-the-client"
    tokens = str(write_tokens(tmp_path / "tokens", "ann", "bob"))
    with replicas(tmp_path, "--tokens", tokens, "--access-log") as [server]:
        async with client_of("bob", [server]) as bob:
            kept = await ask(bob, "context_offload", content=secret)
            ref = kept.facts["ref"]
            await ask(bob, "context_restore", ref=ref)
            await ask(bob, "context_restore", query=secret)
            await refusal(bob, "context_compress", conversation=secret)
            await ask(bob, "context_compress", messages=[{"role": secret, "content": secret}])
            for call in (bob.call_tool(secret, {}), bob.read_resource(f"x://{secret}")):
                with pytest.raises(Exception, match=r"Unknown|no resource"):
                    await call
        bearing = {"Authorization": f"Bearer {token_of('ann')}"}
        async with httpx2.AsyncClient(timeout=60, headers=JSON) as http:
            url = server.url
            await http.post(url, headers={"Authorization": f"Bearer {secret}"}, json=LIST)
            await http.request("SECRET", f"{url}/{secret}?{secret}", headers=bearing)
            for body in ({**LIST, "method": secret}, {**LIST, "params": secret}, secret, [secret]):
                await http.post(url, headers=bearing, json=body)
            for told in (secret, "cancelled", "progress", "initialized"):
                note = {"jsonrpc": "2.0", "method": f"notifications/{told}", "params": secret}
                for version in ("2025-11-25", "2026-07-28"):
                    of = bearing | {"MCP-Protocol-Version": version}
                    await http.post(url, headers=of, json=note)
            await http.post(url, headers=bearing, content=b'{"' + secret.encode())
            for name in ("Host", "Origin"):
                await http.post(url, headers=bearing | {name: f"http://{secret}"}, json=LIST)
            await http.get(f"{server.base}/readyz")
        server.send(signal.SIGINT)
        await anyio.to_thread.run_sync(server.end)
    said, lines = "".join(server.stderr), server.logged()
    called = [each for each in lines if each["tool"]]

    assert secret not in said and "SECRET" not in said
    assert all(f"Invalid {name} header." in said for name in ("Host", "Origin"))
    assert not any(word in said for word in (ref, token_of("bob"), token_of("ann"), "x://"))
    assert [each["tool"] for each in called] == [
        "context_offload", "context_restore", "context_restore", "context_compress",
        "context_compress", "other",
    ]  # fmt: skip
    assert {each["tenant"] for each in called} == {"bob"}
    assert all(each["bytes_in"] > 100 and each["bytes_out"] > 100 for each in called)
    assert all(each["status"] == 200 for each in called[:5])
    assert {(each["tenant"], each["http_method"], each["status"]) for each in lines} >= {
        (None, "POST", 401), ("ann", "other", 405), ("ann", "POST", 421), ("ann", "POST", 403),
    }  # fmt: skip
    assert {frozenset(each) for each in lines} == {
        frozenset(
            ("time", "tenant", "http_method", "path", "mcp_method", "tool", "status", "bytes_in",
             "bytes_out", "milliseconds")
        )
    }  # fmt: skip
