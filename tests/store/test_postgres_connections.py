"""A connection that is lost, at any moment: a write is made once, or the caller is told."""

import logging
import os
import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Event, Thread
from typing import Any

import cut_proxy
import psycopg
import pytest
from cut_proxy import Proxy
from postgres import ROLE, Server

from context_compression import Session, Store
from context_compression.errors import StoreError, StoreUnreachable
from context_compression.store import PostgresBackend
from context_compression.store.postgres import connections, database
from context_compression.store.postgres import connections as pools
from context_compression.threads import before_writing

pytestmark = pytest.mark.slow

KILL = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    f"WHERE usename = '{ROLE}' AND application_name = %s"
)
SMALL = {"token_budget": 2_000, "keep_recent_tokens": 300, "strategy": "window"}


def message(text: str) -> dict[str, object]:
    return {"type": "message", "message": {"role": "user", "content": text}}


def texts(store: Store, id: str = "s") -> list[str]:
    events = store.session(id).events()
    assert events.warnings == []
    return [event["message"]["content"] for event in events.items]


class Place:
    """One tenant's store, over a proxy and without one."""

    def __init__(self, server: Server, proxy: Proxy) -> None:
        self.server, self.proxy = server, proxy
        self.tenant, self.name = f"t-{secrets.token_hex(6)}", f"p-{secrets.token_hex(6)}"
        far = server.url.replace(str(server.port), str(proxy.port))
        self.backend = PostgresBackend(f"{far}?application_name={self.name}", self.tenant)
        self.store = Store(self.backend)
        self.near = Store(PostgresBackend(server.url, self.tenant))

    def kill_connections(self) -> None:
        with psycopg.connect(self.server.admin) as admin:
            admin.execute(KILL, [self.name])


@pytest.fixture
def place(postgres_server: Server) -> Iterator[Place]:
    with cut_proxy.before(postgres_server.port) as proxy:
        place = Place(postgres_server, proxy)
        yield place
        place.backend.database.close()


@pytest.mark.parametrize("after", [True, False], ids=["its answer", "the commit itself"])
def test_a_write_whose_commit_is_cut_off_is_made_once(place: Place, after: bool) -> None:
    log = place.store.session("s")
    log.append(message("one"))

    for text in ("two", "three"):
        place.proxy.cuts, place.proxy.after = b"COMMIT", after
        log.append(message(text))

    assert place.proxy.cut == 2
    assert texts(place.near) == texts(place.store) == ["one", "two", "three"]


def test_a_probe_says_at_once_that_the_server_is_away_and_calls_go_on_trying(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = place.store.session("s")
    log.append(message("one"))
    monkeypatch.setattr(database, "RETRY_SECONDS", 600.0)

    place.backend.database.probe()
    place.proxy.refuses = True
    place.proxy.cut_all()
    for _ in range(2):
        with pytest.raises(StoreUnreachable, match="does not answer"):
            place.backend.database.probe()
    place.proxy.refuses = False
    log.append(message("two"))
    place.backend.database.probe()

    assert texts(place.near) == ["one", "two"]


@pytest.mark.parametrize("after", [True, False], ids=["its answer", "the commit itself"])
def test_under_a_lock_a_write_counts_only_if_it_was_committed(place: Place, after: bool) -> None:
    log = place.store.session("s")
    log.append(message("one"))

    with log.locked():
        place.proxy.cuts, place.proxy.after = b"COMMIT", after
        if after:
            log.append(message("two"))
        else:
            with pytest.raises(StoreUnreachable, match=r"with it the lock .* Nothing was changed"):
                log.append(message("two"))
        with pytest.raises(StoreUnreachable, match="with it the lock"):
            log.append(message("three"))
    log.append(message("four"))

    assert texts(place.near) == ["one", *(["two"] if after else []), "four"]


def test_a_write_whose_answer_never_comes_is_told_as_not_known(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "RETRY_SECONDS", 0.1)
    log = place.store.session("s")
    log.append(message("one"))

    place.proxy.cuts, place.proxy.stays_away = b"COMMIT", True
    with pytest.raises(StoreUnreachable, match="not known: all of it was, or nothing"):
        log.append(message("two"))
    with pytest.raises(StoreUnreachable, match=r"does not answer.* Nothing was changed"):
        log.append(message("three"))

    assert texts(place.near) == ["one", "two"]


def test_nothing_is_written_under_a_lock_that_another_process_has_by_now(place: Place) -> None:
    log, other = place.store.session("s"), place.near.session("s")
    log.append(message("one"))

    with log.fitting(), log.locked():
        place.kill_connections()
        with other.fitting(timeout=10), other.locked(timeout=10):
            with pytest.raises(StoreUnreachable, match="with it the lock"):
                log.append(message("two"))
            with pytest.raises(StoreUnreachable, match="with it the lock"), log.archiving():
                pass
            other.append(message("other"))

    log.append(message("four"))
    with other.locked(timeout=0), other.fitting(timeout=0):
        assert texts(place.near) == ["one", "other", "four"]


def test_threads_whose_connections_are_cut_again_and_again_write_each_text_once(
    place: Place,
) -> None:
    done, written = Event(), list[str]()

    def write(who: int) -> None:
        for n in range(20):
            place.store.session("s").append(message(f"{who}-{n}"))
            written.append(f"{who}-{n}")

    def cut() -> None:
        for n in count():
            at = len(written)
            while len(written) < at + 8:
                if done.wait(0.001):
                    return
            if n % 2:
                place.proxy.cut_all()
            else:
                place.kill_connections()

    cutter = Thread(target=cut)
    cutter.start()
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(write, range(8)))
    finally:
        done.set()
        cutter.join()

    found = texts(place.near)
    assert sorted(found) == sorted(written)
    for who in range(8):
        mine = [text for text in found if text.startswith(f"{who}-")]
        assert mine == [f"{who}-{n}" for n in range(20)]


def test_more_threads_than_connections_hold_their_locks_and_write(place: Place) -> None:
    threads = 3 * pools.POOLED

    def work(who: int) -> None:
        log = place.store.session(f"s{who % 20}")
        with log.fitting(), log.locked(), log.archiving():
            log.append(message(str(who)))

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(2 * threads)))

    found = [text for id in place.near.sessions() for text in texts(place.near, id)]
    assert sorted(found, key=int) == [str(who) for who in range(2 * threads)]


def test_locks_that_all_connections_hold_are_waited_for(place: Place) -> None:
    logs = [place.store.session(f"s{n}") for n in range(pools.POOLED_LOCKS + 1)]
    held, go = Event(), Event()

    def hold(left: int) -> None:
        with logs[left].locked():
            if left:
                hold_in_thread = Thread(target=hold, args=(left - 1,))
                hold_in_thread.start()
                hold_in_thread.join()
            else:
                held.set()
                go.wait()

    first = Thread(target=hold, args=(pools.POOLED_LOCKS - 1,))
    first.start()
    held.wait()
    try:
        told = f"all {pools.POOLED_LOCKS} connections of this process .* in use; waited 0 s"
        with pytest.raises(StoreError, match=told):
            logs[-1].locked(timeout=0).__enter__()
    finally:
        go.set()
    with logs[-1].locked(timeout=30):
        logs[-1].append(message("now"))
    first.join()
    assert texts(place.near, f"s{pools.POOLED_LOCKS}") == ["now"]


def test_an_interruption_in_the_middle_leaves_nothing_and_no_lock(place: Place) -> None:
    log = place.store.session("s")
    log.append(message("one"))

    def interrupted(connection: connections.Connection) -> None:
        connection.execute("DELETE FROM rows")
        raise KeyboardInterrupt

    for _ in range(2 * pools.POOLED):
        with pytest.raises(KeyboardInterrupt), log.locked():
            place.backend.database.write(place.tenant, interrupted)
        with pytest.raises(KeyboardInterrupt):
            place.backend.database.write(place.tenant, interrupted)

    with place.near.session("s").locked(timeout=0):
        assert texts(place.near) == ["one"]
    log.append(message("two"))
    assert texts(place.near) == ["one", "two"]


def test_an_interruption_while_a_lock_is_taken_leaves_it_free(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = place.store.session("s")
    log.append(message("one"))
    execute = connections.TenantConnection.execute

    def interrupted(self: connections.TenantConnection, query: Any, *arguments: Any) -> Any:
        result: Any = execute(self, query, *arguments)
        if "try_advisory_lock" in str(query):
            raise KeyboardInterrupt
        return result

    with monkeypatch.context() as patch:
        patch.setattr(connections.TenantConnection, "execute", interrupted)
        with pytest.raises(KeyboardInterrupt):
            log.locked().__enter__()

    with place.near.session("s").locked(timeout=10):
        pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_of_a_fork_has_connections_of_its_own_and_no_locks(place: Place) -> None:
    log = place.store.session("s")
    log.append(message("one"))

    with log.locked():
        child = os.fork()
        if not child:
            said = 1
            try:
                log.append(message("child"))
                with pytest.raises(StoreError, match="another process is compressing"):
                    log.locked(timeout=0).__enter__()
                said = 0
            finally:
                os._exit(said)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        log.append(message("two"))
        with pytest.raises(StoreError, match="another process is compressing"):
            place.near.session("s").locked(timeout=0).__enter__()
    assert texts(place.near) == ["one", "child", "two"]


def test_a_server_that_is_stuck_is_told_after_a_while(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = place.store.session("s")
    log.append(message("one"))
    monkeypatch.setattr(connections.TenantConnection, "patience", 0.2)
    monkeypatch.setattr(database, "RETRY_SECONDS", 0.1)
    monkeypatch.setattr(database, "AWAY_SECONDS", 0.0)
    monkeypatch.setitem(place.backend.database.address.parameters, "connect_timeout", "1")  # pyright: ignore[reportArgumentType]  # typed as read-only, and a dict

    place.proxy.flows.clear()
    with pytest.raises(StoreUnreachable, match="does not answer"):
        texts(place.store)
    with pytest.raises(StoreUnreachable, match="does not answer"), log.locked():
        pass
    place.proxy.flows.set()

    log.append(message("two"))
    assert texts(place.store) == ["one", "two"]


def test_marks_of_writes_do_not_pile_up(place: Place) -> None:
    log = place.store.session("s")
    query = "SELECT count(*) FROM context_compression.writes"
    log.append(message("one"))
    with psycopg.connect(place.server.admin) as admin:
        before = admin.execute(query).fetchall()

    for n in range(50):
        log.append(message(str(n)))

    with psycopg.connect(place.server.admin) as admin:
        assert admin.execute(query).fetchall() == before


@pytest.mark.anyio
@pytest.mark.parametrize("beside", [False, True], ids=["sync", "async"])
async def test_a_compression_that_loses_its_lock_is_not_written(place: Place, beside: bool) -> None:
    session = Session(place.store, "s", settings=SMALL)
    session.record(*({"role": "assistant", "content": f"{n} " + "word " * 60} for n in range(40)))

    async def compress() -> None:
        with before_writing(place.kill_connections):
            if beside:
                await session.acompress(target_tokens=1_000)
            else:
                session.compress(target_tokens=1_000)

    with pytest.raises(StoreUnreachable, match="with it the lock"):
        await compress()

    assert Session(place.near, "s").state().compressions == []
    assert place.near.verify() == []
    assert session.compress(target_tokens=1_000).changed
    assert len(Session(place.near, "s").state().compressions) == 1


def test_only_our_own_pools_are_silent(caplog: pytest.LogCaptureFixture) -> None:
    for name in (pools.NAME, "a pool of the program"):
        logging.getLogger("psycopg.pool").warning("error connecting in %r: %s", name, "refused")

    assert caplog.messages == ["error connecting in 'a pool of the program': refused"]
