"""The real `context-compression proxy` in a process of its own, between clients and a provider.

with Proxied(folder, provider.url, token_budget=60_000) as proxy:
    agent(proxy.url, ...)
    proxy.kill()  # as when the machine dies
    proxy.start()  # at the same address
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any, Self

from context_compression import Session
from context_compression.store import Store

ADDRESS = re.compile(r"ANTHROPIC_BASE_URL=(http://\S+:(\d+))")
PATIENCE = 30  # seconds until it listens


@dataclass
class Proxied:
    """The proxy; it runs inside `with`.

    Attributes:
        folder: where it runs, with its store.
        upstream: the address of the provider.
        token_budget: tokens of the window.
        options: of the command.
        port: where it listens; 0 until it does.
        told: the lines that it printed.
    """

    folder: Path
    upstream: str
    token_budget: int = 200_000
    options: Sequence[str] = ()
    port: int = 0
    told: list[str] = field(default_factory=list[str])
    _process: subprocess.Popen[str] | None = None
    _reader: Thread | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    @property
    def url(self) -> str:
        """What a client of Anthropic is told; also by the name that hosts in tests ask for."""
        return f"http://127.0.0.1:{self.port}"

    base_url = url

    @property
    def of_sdk(self) -> str:
        """What the SDK is told whose provider it is: that of OpenAI wants `/v1`."""
        return f"{self.url}/v1" if self.upstream.endswith("/v1") else self.url

    @property
    def process(self) -> subprocess.Popen[str]:
        """It, as it runs."""
        assert self._process is not None
        return self._process

    @property
    def store(self) -> Store:
        """Where it keeps its sessions."""
        return Store(self.folder / ".compression")

    def start(self) -> None:
        """Start it, at the address that it had before; returns when it listens."""
        command = [sys.executable, "-m", "context_compression", "proxy"]
        given = ["--port", str(self.port), "--upstream", self.upstream, *self.options]
        environ = {name: value for name, value in os.environ.items() if "CONTEXT_COMP" not in name}
        self.folder.mkdir(parents=True, exist_ok=True)
        process = self._process = subprocess.Popen(
            [*command, *given],
            cwd=self.folder,
            env=environ
            | {
                "CONTEXT_COMPRESSION_TOKEN_BUDGET": str(self.token_budget),
                "CONTEXT_COMPRESSION_DIR": str(self.folder / ".compression"),
            },
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr
        for line in process.stderr:
            self.told.append(line.rstrip())
            if found := ADDRESS.search(line):
                self.port = int(found[2])
                break
        else:
            raise AssertionError("\n".join(self.told))
        self._reader = Thread(target=self._read, args=(process.stderr,), daemon=True)
        self._reader.start()

    def kill(self) -> None:
        """SIGKILL: it ends at once, with what it was doing."""
        self._end(signal.SIGKILL)

    def end(self) -> None:
        """SIGTERM: it ends as it should."""
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        self.process.send_signal(how)
        self.process.wait(PATIENCE)
        if self._reader:
            self._reader.join(PATIENCE)

    def _read(self, lines: Any) -> None:
        with lines:
            self.told += (line.rstrip() for line in lines)

    def memory(self) -> float:
        """Megabytes that the process has in memory; 0 where the system does not tell."""
        status = Path(f"/proc/{self.process.pid}/status")
        found = (
            re.search(r"VmRSS:\s+(\d+) kB", status.read_text("utf-8")) if status.exists() else None
        )
        return int(found[1]) / 1_024 if found else 0

    def originals(self) -> dict[str, Any]:
        """Everything that its sessions archived, by ref."""
        store = self.store
        kept = [Session(store, id).archived() for id in store.sessions()]
        return {ref: original for session in kept for ref, _, original in session}
