"""A real server process, spoken to over its stdin and stdout."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_door import ask, refusal, write_messages

from context_compression.testing import conversation

pytestmark = pytest.mark.anyio

SERVE = """
from pathlib import Path
from context_compression.mcp_server import serve_stdio
from context_compression.workspace import Workspace
serve_stdio(Workspace.here(home=Path.cwd().with_name("home")), protocol={protocol!r})
"""


def server(folder: Path, protocol: str = "auto") -> StdioServerParameters:
    arguments = ["-W", "error", "-c", SERVE.format(protocol=protocol)]
    environ = {"PYTHONPATH": str(Path(__file__).parents[2] / "server")}
    return StdioServerParameters(
        command=sys.executable, args=arguments, cwd=str(folder), env=environ
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "spoken"),
    [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")],
)
async def test_a_conversation_goes_through_all_tools(
    tmp_path: Path, mode: Any, spoken: str
) -> None:
    write_messages(tmp_path / "talk.json", conversation(10))

    async with Client(server(tmp_path), mode=mode) as client:
        before = await ask(client, "context_status", conversation="talk.json")
        done = await ask(client, "context_compress", conversation="talk.json", target_tokens=9_000)
        back = await ask(client, "context_restore", ref=next(iter(done.facts["refs"])))
        await ask(client, "context_config", keep_recent=5)
        kept = await ask(client, "context_offload", content="a text")
        await ask(client, "context_compress", summary="so far so good")
        summaries = await ask(client, "context_summary")
        said = await refusal(client, "context_restore", ref="none")

        assert client.protocol_version == spoken
    assert before.facts["used_tokens"] == done.facts["tokens_before"]
    assert back.pages
    assert "so far so good" in summaries.pages
    assert kept.facts["ref"] in said


@pytest.mark.slow
async def test_what_was_kept_is_there_after_a_restart(tmp_path: Path) -> None:
    async with Client(server(tmp_path)) as client:
        kept = await ask(client, "context_offload", content="Größe\r\n" * 3_000)

    async with Client(server(tmp_path)) as client:
        back = await ask(client, "context_restore", ref=kept.facts["ref"])

    assert back.pages[0].startswith("Größe\r\nGröße\r\n")


async def test_half_characters_do_not_break_the_wire(tmp_path: Path) -> None:
    half = "a \ud83d b"
    messages = [{"role": "user", "content": half * 99}, {"role": "user", "content": "go on"}]
    write_messages(tmp_path / "talk.json", messages)

    async with Client(server(tmp_path)) as client:
        done = await ask(client, "context_compress", conversation="talk.json", target_tokens=90)
        back = await ask(client, "context_restore", ref=next(iter(done.facts["refs"])))

    assert r"a \ud83d b" in back.text


async def test_legacy_answers_a_probe_with_not_found_and_then_shakes_hands(tmp_path: Path) -> None:
    async with Client(server(tmp_path, "legacy"), mode="auto") as client:
        answer = await ask(client, "context_summary")

        assert client.protocol_version == "2025-11-25"
    assert answer.text.startswith("No summaries yet")


HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": dict[str, Any](),
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signals to send")
def test_an_interrupt_ends_it_while_the_host_still_holds_stdin_open(tmp_path: Path) -> None:
    asked = server(tmp_path)
    command = [asked.command, *asked.args]
    pipes: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)

    with subprocess.Popen(command, cwd=tmp_path, env=asked.env, text=True, **pipes) as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(json.dumps(HELLO) + "\n")
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        ended = process.wait(60)
        said = process.stderr.read()

    assert (ended, said) == (-signal.SIGINT, "")


def test_nothing_but_the_protocol_is_written_to_stdout(tmp_path: Path) -> None:
    asked = server(tmp_path)

    ended = subprocess.run(
        [asked.command, *asked.args],
        input=json.dumps(HELLO) + "\nnot json\n",
        cwd=tmp_path,
        env=asked.env,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    assert lines[0]["result"]["serverInfo"]["name"] == "context-compression"
    assert all(line["jsonrpc"] == "2.0" for line in lines)
    assert list(tmp_path.iterdir()) == []


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    code = (
        "import sys, context_compression.mcp_server;"
        "print([name for name in ('anthropic', 'tiktoken', 'openai') if name in sys.modules])"
    )

    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True,
        env={"PYTHONPATH": str(Path(__file__).parents[2] / "server")},
    )  # fmt: skip

    assert ended.stdout.strip() == "[]"


@pytest.mark.slow
async def test_explanations_come_only_where_they_are_asked_for_and_from_the_one_choice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_messages(tmp_path / "talk.json", conversation(30))
    call: dict[str, Any] = {"conversation": "talk.json", "target_tokens": 9_000, "dry_run": True}

    async with Client(server(tmp_path)) as client:
        without = await ask(client, "context_compress", **call)
        monkeypatch.delattr("context_compression.compression.run.recorded")  # makes another one
        explained = await ask(client, "context_compress", **call, explain=True)

    lines = explained.facts["explanations"]
    assert "explanations" not in without.facts
    assert 0 < len(lines) <= 20
    assert all(len(line) <= 240 and ": " in line for line in lines)
    assert all(line in explained.text for line in lines)
    assert len(explained.text) < 8_000
    assert explained.facts["tokens_after"] == without.facts["tokens_after"]
