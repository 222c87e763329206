"""Workers and the database itself are killed at any moment: nothing is lost, nothing doubled."""

import signal
from pathlib import Path
from random import Random

import pytest
from postgres import Server, programs, running
from store_fleet import check, working

from context_compression import Session, Store
from context_compression.store import PostgresBackend

pytestmark = pytest.mark.slow

ROUNDS, EACH_KILLS_SERVER = 200, 5
WORKERS, ROUNDS_OF_A_SESSION = 4, 25
TOGETHER = 8


@pytest.mark.skipif(programs() is None, reason="no PostgreSQL server is installed")
def test_killed_workers_and_a_killed_server_lose_and_double_nothing(tmp_path: Path) -> None:
    random = Random(40)
    with running() as server, working(server, "killed", tmp_path / "notes") as workers:
        for round in range(ROUNDS):
            while len(workers.alive) < WORKERS:
                workers.start(f"s{round // ROUNDS_OF_A_SESSION}")
            if round % EACH_KILLS_SERVER in (0, 2):  # the others die right after one
                workers.wait_for_writes(random.randint(1, 4))
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


def test_eight_processes_in_one_session_lose_and_double_nothing(
    postgres_server: Server, tmp_path: Path
) -> None:
    with working(postgres_server, "eight", tmp_path / "notes") as workers:
        for _ in range(TOGETHER):
            workers.start("shared", rounds=16)
        workers.wait_for_the_end()

        store = Store(PostgresBackend(postgres_server.url, "eight"))
        check(store, "shared", map(workers.noted, workers.sessions))
        for name in workers.sessions:
            assert {said for said, _ in workers.noted(name)} == {"written", "ended"}
    assert Session(store, "shared").state().compressions
    assert store.verify() == []


def test_eight_processes_that_fit_one_history_record_it_once(
    postgres_server: Server, tmp_path: Path
) -> None:
    with working(postgres_server, "fit", tmp_path / "notes", TOGETHER) as workers:
        for _ in range(TOGETHER):
            workers.start("shared", work="fit", rounds=12)
        workers.wait_for_the_end()

        store = Store(PostgresBackend(postgres_server.url, "fit"))
        seen = [workers.noted(name) for name in workers.sessions]
    texts = [
        message["content"].split("\n")[0] for message in Session(store, "shared").state().recorded
    ]
    assert texts == [text for n in range(12) for text in (f"all-{n}", f"go on {n}")]
    assert all(notes == seen[0] for notes in seen)
    warned = "".join(text for said, text in seen[0] if said == "warned")
    assert "store" not in warned and "process" not in warned
    assert Session(store, "shared").state().compressions
    assert store.verify() == []
