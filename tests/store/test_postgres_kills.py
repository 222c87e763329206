"""Workers and the database itself are killed at any moment: nothing is lost, nothing doubled."""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from time import sleep

import pytest
import store_workers
from postgres import Server, programs, running
from store_workers import text_of

from context_compression import Session, Store
from context_compression.conversation.formats import parse
from context_compression.store.postgres.backend import PostgresBackend

ROUNDS, EACH_KILLS_SERVER = 200, 5
WORKERS, ROUNDS_OF_A_SESSION = 4, 25


@dataclass
class Workers:
    """Workers that were started, by name."""

    program: "subprocess.Popen[str]"
    folder: Path
    alive: dict[str, int] = field(default_factory=dict[str, int])
    sessions: dict[str, str] = field(default_factory=dict[str, str])

    def start(self, session: str) -> None:
        """Start one more, in a session."""
        assert self.program.stdin and self.program.stdout
        name = f"w{len(self.sessions)}"
        self.program.stdin.write(f"{name} {session}\n")
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

    def _size(self) -> int:
        return sum(path.stat().st_size for path in self.folder.iterdir())


@contextmanager
def working(server: Server, tenant: str, folder: Path) -> Generator[Workers]:
    """Workers over a store; all are killed in the end."""
    folder.mkdir()
    program = subprocess.Popen(
        [sys.executable, store_workers.__file__, server.url, tenant, str(folder)],
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


@pytest.mark.skipif(programs() is None, reason="no PostgreSQL server is installed")
def test_killed_workers_and_a_killed_server_lose_and_double_nothing(tmp_path: Path) -> None:
    random = Random(40)
    with running() as server, working(server, "killed", tmp_path / "notes") as workers:
        for round in range(ROUNDS):
            while len(workers.alive) < WORKERS:
                workers.start(f"s{round // ROUNDS_OF_A_SESSION}")
            if round % EACH_KILLS_SERVER in (0, 1, 3):  # the others are killed at once after one
                workers.wait_for_writes(random.randint(1, 5))
            if round % EACH_KILLS_SERVER == 0:
                server.stop(signal.SIGKILL)
                server.start()
            else:
                workers.kill(random.choice([*workers.alive]))
        for name in [*workers.alive]:
            workers.kill(name)

        store = Store(PostgresBackend(server.url, "killed"))
        for id in store.sessions():
            check(store, id, (workers.noted(n) for n, s in workers.sessions.items() if s == id))
        compressions = sum(len(Session(store, id).state().compressions) for id in store.sessions())

        assert len(store.sessions()) == ROUNDS // ROUNDS_OF_A_SESSION
        assert compressions > 0
        assert store.verify() == []
