"""Lines that are no message, written to the stdin of a real server."""

import json
import os
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp_door import write_messages, write_transcript

SERVE = """
from pathlib import Path
from context_compression.mcp_server import serve_stdio
from context_compression.workspace import Workspace
serve_stdio(Workspace.here(home=Path.cwd().with_name("home")), protocol={protocol!r})
"""
HELLO = {
    "jsonrpc": "2.0",
    "id": "hello",
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": dict[str, Any](),
        "clientInfo": {"name": "test", "version": "1"},
    },
}
DEEP = "[" * 5_000 + "]" * 5_000


class Wire:
    """Both ends of a server's pipe."""

    def __init__(self, process: "subprocess.Popen[Any]") -> None:
        assert process.stdin and process.stdout
        self._to, self._answers = process.stdin, process.stdout

    def write(self, line: str | bytes | dict[str, Any]) -> None:
        text = json.dumps(line) if isinstance(line, dict) else line
        data = text.encode() if isinstance(text, str) else text
        self._to.write(data + b"\n")
        self._to.flush()

    def answers_up_to(self, request: str | int) -> list[dict[str, Any]]:
        """What is written up to and with the answer to a request."""
        read: list[dict[str, Any]] = []
        while not read or read[-1].get("id") != request:
            line = self._answers.readline()
            assert line, ("the server ended", read)
            read.append(json.loads(line))
        return read

    def answers_to(self, line: str | bytes) -> list[dict[str, Any]]:
        """What is written before a ping that follows the line is answered."""
        self.write(line)
        self.write({"jsonrpc": "2.0", "id": "still there", "method": "ping"})
        *before, ping = self.answers_up_to("still there")
        assert ping["result"] == {}
        return before

    def told(self, line: str | bytes) -> tuple[Any, int, str]:
        """Id, code and message of the one error that a line is answered with."""
        (answer,) = self.answers_to(line)
        assert answer["jsonrpc"] == "2.0"
        return answer["id"], answer["error"]["code"], answer["error"]["message"]

    def call(self, tool: str, arguments: str | dict[str, Any]) -> dict[str, Any]:
        """A tool's result; arguments may be given as raw JSON."""
        raw = arguments if isinstance(arguments, str) else json.dumps(arguments)
        params = f'{{"name":"{tool}","arguments":{raw}}}'
        self.write(f'{{"jsonrpc":"2.0","id":"call","method":"tools/call","params":{params}}}')
        return self.answers_up_to("call")[-1]["result"]


@contextmanager
def serving(folder: Path, protocol: str = "auto") -> Generator[Wire]:
    """A server that has shaken hands with nobody yet."""
    command = [sys.executable, "-W", "error", "-c", SERVE.format(protocol=protocol)]
    environ = {"PYTHONPATH": str(Path(__file__).parents[2] / "server")}
    pipes: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, cwd=folder, env=environ, **pipes) as process:
        try:
            yield Wire(process)
            assert process.stdin and process.stderr
            process.stdin.close()
            assert process.wait(60) == 0
            assert process.stderr.read() == b""
        finally:
            process.kill()


@pytest.fixture(scope="module", params=["auto", "legacy"])
def wire(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Wire]:
    with serving(tmp_path_factory.mktemp("served"), request.param) as wire:
        wire.write(HELLO)
        wire.answers_up_to("hello")
        yield wire


@pytest.mark.slow
@pytest.mark.parametrize(
    ("written", "kept"),
    [
        (r"a \ud83d b", "a \ufffd b"),
        (r"a \uDE00", "a \ufffd"),
        (r"\ud83d\ud83d\ude00\ude00", "\ufffd\U0001f600\ufffd"),
        (r"\ud83d\\ud83d\\\ud83d", "\ufffd\\ud83d\\\ufffd"),
    ],
)
def test_half_an_emoji_becomes_a_replacement_character(wire: Wire, written: str, kept: str) -> None:
    done = wire.call("context_offload", f'{{"content":"{written}"}}')
    back = wire.call("context_restore", {"ref": done["structuredContent"]["ref"]})

    assert f"\n{kept}\n" in back["content"][0]["text"]


@pytest.mark.slow
def test_half_an_emoji_in_a_name_is_mended_too(wire: Wire) -> None:
    answer = wire.call("context_status", r'{"conver\ud83d":1}')

    assert answer["isError"]
    assert "Unknown argument 'conver\ufffd'" in answer["content"][0]["text"]


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["auto", "legacy"])
def test_lines_before_the_handshake_are_mended_and_answered(tmp_path: Path, protocol: str) -> None:
    hello = json.dumps(HELLO).replace('"test"', r'"te\ud83dst"')

    with serving(tmp_path, protocol) as wire:
        for line in ["nonsense"] * 20:
            wire.write(line)
        wire.write("\ufeff" + hello)
        *errors, hand = wire.answers_up_to("hello")

    assert [error["error"]["code"] for error in errors] == [-32700] * 20
    assert hand["result"]["serverInfo"]["name"] == "context-compression"


@pytest.mark.parametrize(
    ("line", "known", "said"),
    [
        ('{"jsonrpc":"2.0","id":3,"method":"ping","params":{"a":"b', 3, "EOF while parsing"),
        ('{"id":"x-1","method":"ping",,}', "x-1", "key must be a string"),
        ('{"method":"ping","params":{"id":9,"a":"\\"id\\":8,"},"id":4,', 4, "EOF while parsing"),
        ('{"jsonrpc":"2.0","id":12', None, "EOF while parsing"),
        ('{"jsonrpc":"2.0","method":"ping","params":{"id":9', None, "EOF while parsing"),
        ('{"id":5,"method":"ping","params":{"id":"\\ud83d"', 5, "EOF while parsing"),
        ('{"id":6,"method":"ping","params":{"a":"\t"}}', 6, "control character"),
        (f'{{"id":7,"method":"ping","params":{{"id":1,"a":{DEEP}}}}}', 7, "nested too deep"),
        (f'{{"method":"ping","params":{{"id":1,"a":{DEEP}}},"id":8}}', 8, "nested too deep"),
        (DEEP, None, "nested too deep"),
        ("hello?", None, "expected value"),
        (b"\xff\xfe\x00", None, "expected value"),
        ('}{"id":1}', None, "expected value"),
    ],
)
def test_what_is_no_json_is_answered_under_its_id(
    wire: Wire, line: str | bytes, known: Any, said: str
) -> None:
    told, code, message = wire.told(line)

    assert (told, code) == (known, -32700)
    assert message.startswith(f"This line cannot be read as JSON: {said}")
    assert message.endswith((" in UTF-8.", " as JSON in a text."))


@pytest.mark.parametrize(
    ("line", "known", "said"),
    [
        ("42", None, "This line is not a message."),
        ("null", None, "This line is not a message."),
        ("[]", None, "This line is a list"),
        ('[{"jsonrpc":"2.0","id":7,"method":"ping"}]', 7, "This line is a list"),
        ('{"id":3,"method":"ping"}', 3, 'This is not a JSON-RPC request: jsonrpc must be "2.0".'),
        (
            '{"jsonrpc":"2.0","id":"a"}',
            "a",
            "This is not a JSON-RPC request: method must be a text.",
        ),
        ('{"jsonrpc":"2.0","id":3,"method":"ping","params":[]}', 3, "params must be an object."),
        ('{"jsonrpc":"2.0","method":1}', None, "id must be a text or a whole number, method"),
        ('{"jsonrpc":"2.0","id":true,"method":"ping"}', None, "ping is a request: its id must be"),
        ('{"jsonrpc":"2.0","id":null,"method":"ping"}', None, "ping is a request: its id must be"),
        ('{"jsonrpc":"2.0","id":[1],"method":"tools/call"}', None, "tools/call is a request"),
    ],
)
def test_json_that_is_no_request_is_answered_with_what_is_wrong(
    wire: Wire, line: str, known: Any, said: str
) -> None:
    told, code, message = wire.told(line)

    assert (told, code) == (known, -32600)
    assert said in message


def test_each_request_of_a_batch_is_answered(wire: Wire) -> None:
    batch: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "result": {}},
        {"jsonrpc": "2.0", "id": "b", "method": "ping"},
    ]

    answers = wire.answers_to(json.dumps(batch))

    assert [answer["id"] for answer in answers] == [1, "b"]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "  \t",
        '{"jsonrpc":"2.0","id":true,"result":{}}',
        '{"jsonrpc":"2.0","id":3,"error":"no"}',
        '{"jsonrpc":"2.0","id":3,"result":{"a":',
        '{"jsonrpc":"1.0","id":3,"result":{},"error":{}}',
        '{"jsonrpc":"2.0","method":"notifications/x","params":[1]}',
        '{"jsonrpc":"2.0","method":"notifications/x","params":{"a":',
        '{"jsonrpc":"2.0","method":"$/ours"}',
    ],
)
def test_nothing_is_said_where_nobody_waits(wire: Wire, line: str) -> None:
    assert wire.answers_to(line) == []


@pytest.mark.slow
def test_half_an_emoji_in_a_transcript_can_be_counted_compressed_and_found(
    wire: Wire, tmp_path: Path
) -> None:
    said = [{"role": "user", "content": f"step {n} cut \ud83d here " * 200} for n in range(5)]
    messages = [
        part for ask in said for part in (ask, {"role": "assistant", "content": "yes \ud83d"})
    ]
    messages.append({"role": "user", "content": "go on"})
    write_transcript(tmp_path / "claude.jsonl", messages, session="s-1")
    write_messages(tmp_path / "plain.json", messages)

    with serving(tmp_path) as wire:
        wire.write(HELLO)
        for name in ("claude.jsonl", "plain.json"):
            status = wire.call("context_status", {"conversation": name})
            asked = {"conversation": name, "target_tokens": 3_000}
            done = wire.call("context_compress", asked)
            found = wire.call("context_restore", {"query": "step cut here"})
            back = wire.call(
                "context_restore", {"ref": next(iter(done["structuredContent"]["refs"]))}
            )

            assert not any(answer["isError"] for answer in (status, done, found, back))
            assert r"cut \ud83d here" in back["content"][0]["text"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such a name")
def test_a_refusal_that_names_a_path_without_utf_8_is_sent(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"odd\xff")
    folder.mkdir()

    with serving(folder) as wire:
        wire.write(HELLO)
        answer = wire.call("context_status", {"conversation": "none.json"})

    assert answer["isError"]
    assert r"odd\udcff/none.json" in answer["content"][0]["text"]
