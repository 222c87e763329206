"""Real processes `serve --http` for tenants, with a client's side of a round robin, or `proxy`."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

SERVER = Path(__file__).parents[2] / "server"
SHORTEST = "-token-for-tests"
NEWEST = "2026-07-28"
"""The protocol as a mode of clients: they ask at once. Others ask first which protocol it is, and
on a busy machine their late answer to that fails the client when it ends.
"""


def token_of(tenant: str) -> str:
    """The token of a tenant in `tokens_file`."""
    return f"{tenant}{SHORTEST}"


def write_tokens(file: Path, *tenants: str) -> Path:
    """A file with a token for each tenant; the first is written as it is, all others hashed."""
    first, *others = tenants
    hashed = (f"{name} sha256:{sha256(token_of(name).encode()).hexdigest()}" for name in others)
    lines = ["# of a test", "", f"{first}   {token_of(first)}", *hashed]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def interruptible() -> None:
    """Take SIGINT as at a terminal: a shell starts what runs in the background without it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@dataclass
class Replica:
    """One process."""

    process: "subprocess.Popen[str]"
    url: str = ""
    stderr: list[str] = field(default_factory=list[str])
    _reader: threading.Thread | None = None

    def begin(self) -> None:
        """Waits until it answers."""
        assert self.process.stderr
        for line in self.process.stderr:
            self.stderr.append(line)
            if line.startswith("Serving "):
                self.url = line.removeprefix("Serving ").strip().replace("0.0.0.0", "127.0.0.1")
                break
            if told := re.search(r"ANTHROPIC_BASE_URL=http://\S+:(\d+)", line):
                self.url = f"http://127.0.0.1:{told[1]}"
                break
        assert self.url, self.stderr
        with urlopen(f"{self.base}/healthz", timeout=60) as answer:
            assert answer.status == 200
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr
        self.stderr.extend(self.process.stderr)

    @property
    def base(self) -> str:
        """Its address without the path."""
        return self.url.removesuffix("/mcp")

    def send(self, sig: int) -> None:
        """Sends it a signal."""
        self.process.send_signal(sig)

    def end(self) -> int:
        """Waits for its end; returns its exit code."""
        code = self.process.wait(60)
        if self._reader:
            self._reader.join(60)
        return code

    def logged(self) -> list[dict[str, Any]]:
        """The lines of its access log; complete after its end."""
        return [json.loads(line) for line in self.stderr if line.startswith("{")]


@contextmanager
def replicas(
    folder: Path,
    *options: str,
    number: int = 1,
    environ: dict[str, str] | None = None,
    command: Sequence[str] = ("serve", "--http"),
) -> Generator[list[Replica]]:
    """Processes over one store, with these options of the command.

    It is in `folder`, unless `environ` names another.
    """
    home = folder / "home"
    home.mkdir(exist_ok=True)
    variables = {
        "HOME": str(home), "PATH": os.environ["PATH"], "PYTHONPATH": str(SERVER),
        "CONTEXT_COMPRESSION_STORE": str(folder / "store"),
    }  # fmt: skip
    program = [sys.executable, "-m", "context_compression"]
    started = [
        Replica(
            subprocess.Popen(
                [*program, *command, "--port", "0", *options],
                cwd=folder, env=variables | (environ or {}), stderr=subprocess.PIPE, text=True,
                preexec_fn=interruptible,
            )
        )
        for _ in range(number)
    ]  # fmt: skip
    try:
        for each in started:
            each.begin()
        yield started
    finally:
        for each in started:
            if each.process.poll() is None:
                each.send(signal.SIGKILL)
            each.end()
            if each.process.stderr:
                each.process.stderr.close()


class RoundRobin(httpx2.AsyncBaseTransport):
    """Sends each request to the next replica; one that fails on the way to another, once."""

    def __init__(self, bases: Sequence[str], first: int = 0) -> None:
        self._bases, self._next = bases, count(first)
        self._transport = httpx2.AsyncHTTPTransport(verify=False)  # no TLS, so no certificates
        self.retried = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        content = await request.aread()
        try:
            return await self._ask(request, content)
        except httpx2.TransportError:
            self.retried += 1
            return await self._ask(request, content)

    async def _ask(self, request: httpx2.Request, content: bytes) -> httpx2.Response:
        base = httpx2.URL(self._bases[next(self._next) % len(self._bases)])
        url = request.url.copy_with(port=base.port)
        headers = [(k, v) for k, v in request.headers.raw if k.lower() != b"host"]
        sent = httpx2.Request(
            request.method, url, headers=headers, content=content, extensions=request.extensions
        )
        response = await self._transport.handle_async_request(sent)
        await response.aread()
        return response

    async def aclose(self) -> None:
        await self._transport.aclose()


@asynccontextmanager
async def client_of(
    tenant: str, servers: Sequence[Replica], *, mode: Any = "auto", first: int = 0
) -> AsyncGenerator[Client]:
    """A client of a tenant, behind a round robin."""
    robin = RoundRobin([each.base for each in servers], first)
    headers = {"Authorization": f"Bearer {token_of(tenant)}"}
    async with (
        httpx2.AsyncClient(transport=robin, headers=headers, timeout=60) as http,
        Client(streamable_http_client(servers[0].url, http_client=http), mode=mode) as client,
    ):
        yield client
