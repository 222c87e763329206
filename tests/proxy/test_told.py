"""What the proxy tells the user who started it: a line for each compaction, and for each fault."""

import re
from pathlib import Path
from typing import Any

import httpx2
import pytest
from replicas import Replica, replicas

from context_compression.testing.messages_api import MessagesAPI

pytestmark = pytest.mark.slow
BUDGET = {"CONTEXT_COMPRESSION_TOKEN_BUDGET": "6000"}
TOOL = {"name": "read", "description": "Reads.", "input_schema": {"type": "object"}}


def long_history() -> list[dict[str, Any]]:
    """Twenty steps of an agent, about 28,000 tokens."""
    found: list[dict[str, Any]] = [{"role": "user", "content": "Look at all parts."}]
    for step in range(20):
        lines = "\n".join(f"src/part_{step}/file_{n}.py: value_{n} = {n}" for n in range(50))
        call = {"type": "tool_use", "id": f"t{step}", "name": "read", "input": {"part": step}}
        result = {"type": "tool_result", "tool_use_id": f"t{step}", "content": lines}
        found += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return found


def ask(proxy: Replica, messages: list[dict[str, Any]]) -> int:
    body = {"model": "claude-opus-4-8", "max_tokens": 9, "messages": messages, "tools": [TOOL]}
    headers = {"x-api-key": "sk-ant-secret", "anthropic-version": "2023-06-01"}
    answer = httpx2.post(f"{proxy.url}/v1/messages", json=body, headers=headers, timeout=60)
    return answer.status_code


def lines_of(proxy: Replica) -> list[str]:
    """What it has told, without the line of its start; it ends."""
    proxy.process.terminate()
    proxy.end()
    return proxy.stderr[1:]


def test_a_compaction_is_told_in_one_line(tmp_path: Path) -> None:
    with (
        MessagesAPI() as api,
        replicas(tmp_path, "--upstream", api.base_url, command=["proxy"], environ=BUDGET) as [
            proxy
        ],
    ):
        assert ask(proxy, [{"role": "user", "content": "Hi."}]) == 200
        assert ask(proxy, long_history()) == 200
        told = lines_of(proxy)

    assert len(told) == 1
    assert re.fullmatch(
        r"proxy-\w{16}: 41 → \d+ messages, 2\d,\d{3} → [\d,]+ tokens, [\d,]+ freed, "
        r"0 files removed, refs \w+, \w+, \w+ and [\d,]+ more\n",
        told[0],
    )
    assert len(str(api.requests[1].body)) < len(str(long_history())) / 2


def test_without_a_store_requests_go_out_as_they_came_and_the_log_says_so(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file, where a folder should be", encoding="utf-8")
    with (
        MessagesAPI() as api,
        replicas(tmp_path, "--upstream", api.base_url, command=["proxy"], environ=BUDGET) as [
            proxy
        ],
    ):
        assert ask(proxy, long_history()) == 200
        assert httpx2.get(f"{proxy.url}/readyz").status_code == 200
        told = lines_of(proxy)

    assert api.requests[0].body["messages"] == long_history()
    assert len(told) == 1
    assert told[0].startswith("A request goes out as it came: ")
    assert "src/part" not in told[0]
