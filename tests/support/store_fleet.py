"""Worker processes over one store, as a test starts, watches and kills them."""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import sleep

import store_workers
from postgres import Server
from store_workers import text_of

from context_compression import Session, Store
from context_compression.conversation import parse


@dataclass
class Workers:
    """Workers that were started, by name."""

    program: "subprocess.Popen[str]"
    folder: Path
    alive: dict[str, int] = field(default_factory=dict[str, int])
    sessions: dict[str, str] = field(default_factory=dict[str, str])

    def start(self, session: str, work: str = "record", rounds: int = 10**9) -> None:
        """Start one more, in a session."""
        assert self.program.stdin and self.program.stdout
        name = f"w{len(self.sessions)}"
        self.program.stdin.write(f"{name} {session} {work} {rounds}\n")
        self.program.stdin.flush()
        self.alive[name] = int(self.program.stdout.readline())
        self.sessions[name] = session

    def kill(self, name: str) -> None:
        """Kill one as a power cut would."""
        os.kill(self.alive.pop(name), signal.SIGKILL)

    def noted(self, name: str) -> list[tuple[str, str]]:
        """What a worker noted: what became of each text."""
        path = self.folder / name
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [(said, text) for said, _, text in (line.partition(" ") for line in lines)]

    def wait_for_writes(self, number: int) -> None:
        """Wait until the workers alive noted as many lines more."""
        size = self._size()
        while self._size() < size + 15 * number:
            assert self.program.poll() is None
            sleep(0.002)

    def wait_for_the_end(self) -> None:
        """Wait until all workers ended."""
        while not all(("ended", "") in self.noted(name) for name in self.alive):
            assert self.program.poll() is None
            sleep(0.01)

    def _size(self) -> int:
        return sum(path.stat().st_size for path in self.folder.iterdir())


@contextmanager
def working(server: Server, tenant: str, folder: Path, number: int = 1) -> Generator[Workers]:
    """Workers over a store, of which `number` fit together; all are killed in the end."""
    folder.mkdir()
    program = subprocess.Popen(
        [sys.executable, store_workers.__file__, server.url, tenant, str(folder), str(number)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    workers = Workers(program, folder)
    try:
        yield workers
    finally:
        for name in [*workers.alive]:
            with suppress(ProcessLookupError):
                workers.kill(name)
        program.communicate()


def check(store: Store, id: str, notes: Iterable[list[tuple[str, str]]]) -> None:
    """Whether a session holds what its workers were told, each in its order, and no more."""
    session = Session(store, id)
    state = session.state()
    texts = [text_of(message) for message in state.recorded]

    assert [text for text, times in Counter(texts).items() if times > 1] == []
    for lines in notes:
        told = [(said, text) for said, text in lines if said != "failed"]
        assert {text for said, text in told if said == "written"} <= {*texts}
        assert not {text for said, text in told if said == "refused"} & {*texts}
        mine = [text for text in texts if told and text.startswith(told[0][1].split("-")[0] + "-")]
        assert mine == sorted(mine, key=lambda text: int(text.split("-")[1]))
        assert len(mine) <= sum(said != "refused" for said, _ in told) + 1
    assert not state.warnings
    parse(session.view())
    for ref in state.refs:
        assert session.restore(ref, note=False)
