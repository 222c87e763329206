"""What the proxy adds to a turn, over the direct way and beside a bare reverse proxy.

    python benchmarks/proxy.py [--clients 1,50] [--tokens 200000] [--turns 20]

Each client has a session of its own and sends its whole history, of --tokens and 5,000 more each
turn, as coding agents do. All send at once. The provider is a process on loopback that answers with
a stream at once, so that what is left is what stands between. The three ways take turns with the
same bytes, so that they meet the same weather. A turn lasts from the first byte sent to the last
byte received. The bare reverse proxy is Starlette and httpx2 in 20 lines, and reads nothing.

    a window of 200K    our proxy has compacted the history, and does so again and again
    a window of 1M      nothing is due; requests go out as they came

Many clients are measured with the second alone: their first requests take minutes with the first.

The exit code is 1 if our median is 15 ms or more over the direct way, for one client.
"""

import argparse
import asyncio
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import median, quantiles
from time import perf_counter
from typing import Any

import httpx2
import uvicorn
from comparison import OURS, Figure, Table, block
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from context_compression.testing import conversation, log

BAR = 0.015
"""Seconds over the direct way, in the median of one client."""
TOKENS, TURNS = 200_000, 20
"""Of a session, and how many turns of one client are measured."""
TURN = 220
"""Lines of a log of about 5,000 tokens."""
PATH = "/v1/messages"
TOOL: dict[str, Any] = {"name": "Bash", "description": "Runs.", "input_schema": {"type": "object"}}
DIRECT, BARE = "the direct way", "a bare reverse proxy"
WINDOWS = {f"{OURS}, a window of 200K": 200_000, f"{OURS}, a window of 1M": 1_000_000}


def said(turn: str) -> list[dict[str, Any]]:
    """What the model says in a turn."""
    about = {"type": "tool_use", "id": f"toolu_{turn}", "name": "Bash"}
    call: dict[str, Any] = {**about, "input": {}}
    return [{"type": "text", "text": f"Next is {turn}."}, call]


def events(turn: str) -> Iterator[bytes]:
    """The same as a stream."""
    about = {"id": f"msg_{turn}", "type": "message", "role": "assistant", "model": "claude"}
    usage = {"input_tokens": 1, "output_tokens": 1}
    made: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**about, "content": [], "usage": usage}}
    ]
    text, call = said(turn)
    empty = {"type": "text", "text": ""}
    made.append({"type": "content_block_start", "index": 0, "content_block": empty})
    for word in re.findall(r"\S+\s*", text["text"]):
        delta = {"type": "text_delta", "text": word}
        made.append({"type": "content_block_delta", "index": 0, "delta": delta})
    made.append({"type": "content_block_stop", "index": 0})
    made.append({"type": "content_block_start", "index": 1, "content_block": call})
    made.append({"type": "content_block_stop", "index": 1})
    stop = {"stop_reason": "tool_use", "stop_sequence": None}
    made.append({"type": "message_delta", "delta": stop, "usage": usage})
    made.append({"type": "message_stop"})
    yield from (f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in made)


def provider() -> Starlette:
    """A provider that answers at once."""

    async def answer(request: Request) -> Response:
        await request.body()
        turn = request.headers["x-turn"]
        return StreamingResponse(events(turn), media_type="text/event-stream")

    return Starlette(routes=[Route(PATH, answer, methods=["POST"])])


def bare(upstream: str) -> Starlette:
    """A reverse proxy that passes on what comes."""
    client = httpx2.AsyncClient(base_url=upstream, timeout=None, limits=httpx2.Limits())

    async def pass_on(request: Request) -> Response:
        kept = {n: v for n, v in request.headers.items() if n not in ("host", "content-length")}
        asked = client.build_request("POST", PATH, headers=kept, content=await request.body())
        answered = await client.send(asked, stream=True)

        async def pieces() -> AsyncIterator[bytes]:
            async for piece in answered.aiter_raw():
                yield piece
            await answered.aclose()

        kind = answered.headers["content-type"]
        return StreamingResponse(pieces(), answered.status_code, media_type=kind)

    return Starlette(routes=[Route(PATH, pass_on, methods=["POST"])])


@dataclass
class Client:
    """One agent with its history."""

    number: int
    history: list[dict[str, Any]]
    turn: int = 0

    @property
    def name(self) -> str:
        """Of its next turn."""
        return f"{self.number}_{self.turn}"

    def body(self) -> bytes:
        """Its next request."""
        system = f"You are agent {self.number}. Be brief."
        request = {"model": "claude", "max_tokens": 1_000, "stream": True, "system": system}
        return json.dumps(request | {"tools": [TOOL], "messages": self.history}).encode()

    def go_on(self) -> None:
        """The turn is over: what the model said, and 5,000 tokens more."""
        text = log(Random(self.name), TURN)
        result = {"type": "tool_result", "tool_use_id": f"toolu_{self.name}", "content": text}
        self.history.append({"role": "assistant", "content": said(self.name)})
        self.history.append({"role": "user", "content": [result]})
        self.turn += 1


def clients(count: int, tokens: int) -> list[Client]:
    """Clients with histories of their own."""
    base = conversation(4, seed=1)
    made = [Client(number, [*base, {"role": "user", "content": f"Go on, agent {number}."}])
            for number in range(count)]  # fmt: skip
    for client in made:
        for _ in range(tokens // 5_000):
            client.go_on()
    return made


@dataclass
class Way:
    """One way to the provider: seconds of each turn, on the clock and of the CPU; megabytes."""

    url: str
    process: "subprocess.Popen[str]"
    seconds: list[float] = field(default_factory=list[float])
    first: float = 0
    cpu: list[float] = field(default_factory=list[float])
    megabytes: float = 0


async def measured(ways: Mapping[str, Way], agents: Sequence[Client], turns: int) -> None:
    """Let agents work on all ways at once, one way after the other in each turn."""
    async with httpx2.AsyncClient(timeout=600, limits=httpx2.Limits()) as http:

        async def turn(url: str, agent: Client, body: bytes) -> float:
            headers = {"x-turn": agent.name, "x-api-key": "sk-test"}
            began = perf_counter()
            answered = await http.post(url + PATH, content=body, headers=headers)
            took = perf_counter() - began
            assert answered.status_code == 200, answered.text[:300]
            assert answered.content.endswith(b"\n\n"), answered.content[-100:]
            return took

        for number in range(turns + 1):
            bodies = [agent.body() for agent in agents]
            for way in ways.values():
                pairs, before = zip(agents, bodies, strict=True), ran(way.process)
                took = await asyncio.gather(*(turn(way.url, *pair) for pair in pairs))
                if number:
                    way.seconds += took
                    way.cpu.append((ran(way.process) - before) / len(took))
                else:
                    way.first = median(took)  # connections are made, sessions begin
            for agent in agents:
                agent.go_on()
    for way in ways.values():
        way.megabytes = memory(way.process)


def ran(process: "subprocess.Popen[str]") -> float:
    """CPU seconds of the threads of a process; 0 where the system does not tell."""
    threads = Path(f"/proc/{process.pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text("utf-8").split()[0]) for thread in threads) / 1e9


def memory(process: "subprocess.Popen[str]") -> float:
    """Megabytes of a process."""
    status = Path(f"/proc/{process.pid}/status").read_text("utf-8")
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(found[1]) / 1_024 if found else 0


@contextmanager
def running(*command: str, budget: int = 0, folder: str | None = None) -> Generator[Way]:
    """A process that serves, and prints its address."""
    environ = {"PATH": "/usr/bin:/bin", "CONTEXT_COMPRESSION_TOKEN_BUDGET": str(budget or 1)}
    process = subprocess.Popen(
        [sys.executable, *command], cwd=folder, env=environ, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr
        lines = iter(process.stderr.readline, "")
        found = next(filter(None, (re.search(r"http://[\d.]+:\d+", line) for line in lines)))
        yield Way(found[0], process)
    finally:
        process.kill()
        process.communicate()


def everything(counts: Sequence[int], tokens: int, turns: int) -> dict[int, dict[str, Way]]:
    """All ways, measured with so many clients at once."""
    found: dict[int, dict[str, Way]] = {}
    for count in counts:
        with ExitStack() as stack:
            upstream = stack.enter_context(running(__file__, "--serve", "provider"))
            url = upstream.url
            plain = stack.enter_context(running(__file__, "--serve", url))
            ways = {DIRECT: upstream, BARE: plain}
            windows = [*WINDOWS.items()] if count == 1 else [*WINDOWS.items()][-1:]
            for name, budget in windows:
                folder = stack.enter_context(tempfile.TemporaryDirectory())
                command = ("-m", "context_compression", "proxy", "--port", "0", "--upstream", url)
                ours = running(*command, budget=budget, folder=folder)
                ways[name] = stack.enter_context(ours)
            asyncio.run(measured(ways, clients(count, tokens), turns if count == 1 else 3))
            found[count] = ways
    return found


def tables(found: Mapping[int, Mapping[str, Way]]) -> Iterator[Table]:
    """Ours beside the other two ways, for each number of clients."""
    for count, ways in found.items():
        who = f"{count} client{'s at once' * (count > 1)}"
        rows = {name: dict(columns(way, ways[DIRECT])) for name, way in ways.items()}
        del rows[DIRECT]["CPU"], rows[DIRECT]["MB"]  # those of the provider
        shown = [*rows[BARE]]
        yield Table("proxy", who, shown, rows, "seconds", lower_is_better=True,
                    units={"MB": "count"})  # fmt: skip


def columns(way: Way, direct: Way) -> Iterator[tuple[str, Figure]]:
    """The figures of a way, by the names of their columns."""
    yield "median", Figure(median(way.seconds))
    yield "over the direct way", Figure(median(way.seconds) - median(direct.seconds))
    yield "p95", Figure(quantiles(way.seconds, n=20)[-1])
    yield "the first request", Figure(way.first)
    yield "CPU", Figure(median(way.cpu))
    yield "MB", Figure(way.megabytes)


def serve(what: str) -> None:
    """Serve the provider, or a bare reverse proxy before one; the address goes to stderr."""
    app = provider() if what == "provider" else bare(what)
    config = uvicorn.Config(app, port=0, access_log=False, timeout_keep_alive=600)
    uvicorn.Server(config).run()


def main() -> None:
    parser = argparse.ArgumentParser(description="What the proxy adds to a turn.")
    parser.add_argument("--clients", default="1,50")
    parser.add_argument("--tokens", type=int, default=TOKENS)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options.serve)
    counts = [*map(int, options.clients.split(","))]
    found = everything(counts, options.tokens, options.turns)
    print(block([*tables(found)]))
    for count in counts[:1]:
        ways = found[count]
        ours = [way for name, way in ways.items() if name in WINDOWS]
        over = [median(way.seconds) - median(ways[DIRECT].seconds) for way in ours]
        sys.exit(int(max(over) >= BAR))
    return None


if __name__ == "__main__":
    main()
