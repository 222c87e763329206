"""Many workers on one archive: turns in a second, and answers from an archive of a team's size.

    python benchmarks/fleet.py [--only turns,archive] [--workers 1,2,4,8] [--seconds 10]
        [--sessions 100000] [--events 200] [--json FILE]

A real PostgreSQL server is started in a temporary folder and stopped at the end; it syncs its
writes to the disk, as in a team. A worker is a process of its own.

    turns    each worker runs an agent: a tool call and a result of about 1,000 tokens, then the
             request (`fit`), in a session of its own; a new one after 100 turns
    archive  sessions are made with so many events; of each, 20 messages of 40 words are archived.
             The library makes one of 25, and SQL makes copies of it with numbers of their own. Then
             single calls are timed; the 95th percentile counts

The exit code is 1 if a limit was missed.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from random import Random
from statistics import median, quantiles
from typing import Any

import psycopg
from lengths import conversation

from context_compression import Session, Store
from context_compression.conversation import digest_of, ref_of
from context_compression.store import file_name

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests" / "support"))

from postgres import Server, running  # noqa: E402  # it is in the folder of the line above

WINDOW = 60_000  # tokens
TURNS = 100  # of one session
WORDS = 130  # of a result, for about 1,000 tokens
START = 3.0  # seconds, in which all workers have started
TENANT = "fleet"
MAKERS = 2  # processes that make sessions
ARCHIVED = 20  # messages of each session
VOCABULARY, OF_A_TEXT = 50_000, 40  # words
LONG_SESSION, TURN = 200_000, 1_000  # tokens
CALLS = 200  # of each kind, whose times are taken
UNKNOWN = "0123456789ab"
NOON = "2026-11-21T12:00:00Z"
COPIES = 25
COPY_BEGINS = """
SET session_replication_role = replica;
SET search_path = context_compression, public;
SET synchronous_commit = off;
SET maintenance_work_mem = '1GB';
DROP INDEX lexemes_by_word;
CREATE TABLE made AS SELECT no, id FROM sessions WHERE tenant = 'fleet'
"""
COPY = """
CREATE TEMP TABLE copied AS
WITH new AS (
    INSERT INTO sessions (tenant, id, created_at, last, event_bytes, other_bytes, written)
    SELECT tenant, id || '-{copy}', created_at, last, event_bytes, other_bytes, written
    FROM sessions JOIN made USING (no, id) RETURNING no, id
) SELECT made.no AS old, new.no AS new FROM new JOIN made ON new.id = made.id || '-{copy}';
INSERT INTO rows SELECT tenant, new, kind, n, body FROM rows JOIN copied ON session = old;
INSERT INTO archives SELECT tenant, new, name, contents FROM archives JOIN copied ON session = old;
INSERT INTO refs SELECT tenant, new, n, place, ref, is_message, sha256, entry
FROM refs JOIN copied ON session = old;
CREATE TEMP TABLE shelved AS SELECT no AS old, nextval(
    pg_get_serial_sequence('context_compression.shelves', 'no')
) AS new FROM shelves WHERE no IN (SELECT shelf FROM texts JOIN made ON session = made.no);
INSERT INTO shelves OVERRIDING SYSTEM VALUE
SELECT tenant, new, texts, words FROM shelves JOIN shelved ON no = old;
INSERT INTO texts (tenant, session, shelf, ref, n, place, length, message, at, failed, by_us, tool,
    call, beside)
SELECT tenant, c.new, s.new, ref, n, place, length, message, at, failed, by_us, tool, call, beside
FROM texts JOIN copied c ON session = c.old JOIN shelved s ON shelf = s.old;
INSERT INTO lexemes (tenant, no, session, shelf, words)
SELECT t.tenant, t.no, t.session, t.shelf,
    replace(words::text, quote || s.old || ':', quote || s.new || ':')::tsvector
FROM texts o JOIN copied c ON o.session = c.old JOIN lexemes l ON l.no = o.no
JOIN shelved s ON s.old = o.shelf JOIN texts t ON t.session = c.new AND t.ref = o.ref
CROSS JOIN chr(39) AS quote;
DROP TABLE copied, shelved
"""
COPY_ENDS = """
UPDATE contents SET uses = uses * {copies};
DROP TABLE made;
CREATE INDEX lexemes_by_word ON lexemes USING gin (words) WITH (gin_pending_list_limit = 256);
RESET ALL
"""
BARS = {  # milliseconds at the 95th percentile
    "an unknown ref": 5,
    "a search by a name and two words": 50,
    "a search by two common words": 50,
    "a search in one session": 50,
    "prepare of a session of 200K": 50,
}
AGENTS, STEP_SECONDS = 1_000, 10.0  # an agent makes a request in so many seconds


def main() -> None:
    parser = argparse.ArgumentParser(description="Many workers on one archive.")
    parser.add_argument("--only", default="turns,archive")
    parser.add_argument("--workers", default="1,2,4,8")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--sessions", type=int, default=100_000)
    parser.add_argument("--events", type=int, default=200, help="of each session")
    parser.add_argument("--json", type=Path, help="all figures go there")
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--make", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        place, number, begin = options.work
        print(turns(place, int(number), float(begin), options.seconds))
    elif options.make:
        place, first, last = options.make
        make(place, range(int(first), int(last)), options.events)
    else:
        with running(durable=True) as server:
            missed = report(server, options)
        sys.exit(missed)


def report(server: Server, options: argparse.Namespace) -> int:
    """Measure and print all that is asked for; returns 1 if a limit was missed."""
    figures: dict[str, Any] = {}
    missed = 0
    if "turns" in options.only:
        workers = [*map(int, options.workers.split(","))]
        figures["turns"] = compared(server.url, workers, options.seconds)
        best = max(figures["turns"]["PostgreSQL"].values())
        print(
            f"{AGENTS:,} agents with a request in {STEP_SECONDS:.0f} s each make "
            f"{AGENTS / STEP_SECONDS:.0f} turns in a second: "
            f"{AGENTS / STEP_SECONDS / best:.1f} machines like this, database and workers together."
        )
    if "archive" in options.only:
        fill(server, options.sessions, options.events)
        figures["archive"] = asked(server.url, options.sessions // COPIES)
        for name, (median_ms, high, cpu) in figures["archive"].items():
            over = "  MISSED" * (high > BARS[name])
            print(f"{name:36}{median_ms:9.1f}{high:9.1f}{cpu:9.1f}{BARS[name]:9} ms{over}")
            missed |= high > BARS[name]
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    return int(missed)


def compared(url: str, workers: Sequence[int], seconds: float) -> dict[str, dict[int, float]]:
    """Turns in a second by the number of workers, over files and over the database."""
    print(f"{'workers':>8}{'files':>12}{'PostgreSQL':>12}   turns in a second")
    rates: dict[str, dict[int, float]] = {"files": {}, "PostgreSQL": {}}
    for number in workers:
        with tempfile.TemporaryDirectory() as folder:
            for name, place in (("files", folder), ("PostgreSQL", url)):
                rates[name][number] = rate(place, number, seconds)
        shown = "".join(f"{rates[name][number]:12.1f}" for name in rates)
        print(f"{number:8}{shown}", flush=True)
    return rates


def rate(place: str, workers: int, seconds: float) -> float:
    """The turns that so many workers make in a second, together."""
    begin = time.time() + START + 0.5 * workers
    command = [sys.executable, __file__, "--seconds", str(seconds), "--work", place]
    children = [
        subprocess.Popen([*command, str(n), str(begin)], stdout=subprocess.PIPE)
        for n in range(workers)
    ]
    return sum(int(child.communicate()[0]) for child in children) / seconds


def turns(place: str, number: int, begin: float, seconds: float) -> int:
    """How many turns a worker makes between two times."""
    rng, store, made = Random(number), Store(place), 0
    steps = endless_steps(rng)
    list(zip(range(3), one_session(store, f"warm-{number}", steps), strict=False))
    time.sleep(max(0.0, begin - time.time()))
    while True:
        for _ in one_session(store, f"{number}-{made}-{rng.random()}", steps):
            if time.time() > begin + seconds:
                return made
            made += 1


def one_session(store: Store, id: str, steps: Iterator[list[dict[str, Any]]]) -> Iterator[None]:
    """Make the requests of a session, one for each step."""
    session = Session(store, id, settings={"token_budget": WINDOW})
    history: list[dict[str, Any]] = [{"role": "user", "content": "Find out why the build fails."}]
    for _ in range(TURNS):
        history += next(steps)
        session.fit(history)
        yield


def endless_steps(rng: Random) -> Iterator[list[dict[str, Any]]]:
    """Tool calls with their results, all different."""
    number = 0
    while True:
        number += 1
        result = "\n".join(
            f"{rng.randrange(10**9)} src/module_{rng.randrange(500)}.py:{rng.randrange(999)} ok"
            for _ in range(WORDS // 4)
        )
        call = {"name": "bash", "arguments": json.dumps({"command": f"make check-{number}"})}
        yield [
            {
                "role": "assistant", "content": None,
                "tool_calls": [{"id": f"call-{number}", "type": "function", "function": call}],
            },
            {"role": "tool", "tool_call_id": f"call-{number}", "content": result},
        ]  # fmt: skip


def fill(server: Server, sessions: int, events: int) -> None:
    """Make sessions, some by the library and the others as copies of these."""
    begin = time.monotonic()
    originals = -(-sessions // COPIES)
    step = -(-originals // MAKERS)
    command = [sys.executable, __file__, "--events", str(events), "--make", server.url]
    children = [
        subprocess.Popen([*command, str(first), str(min(originals, first + step))])
        for first in range(0, originals, step)
    ]
    assert not any(child.wait() for child in children)
    with psycopg.connect(server.admin, autocommit=True) as connection:
        connection.execute(COPY_BEGINS)
        for copy in range(1, COPIES):
            connection.execute(COPY.replace("{copy}", str(copy)).encode())
        connection.execute(COPY_ENDS.replace("{copies}", str(COPIES)).encode())
        connection.execute("VACUUM (ANALYZE)")
        [[size]] = connection.execute("SELECT pg_database_size(current_database())")
        [[rows, texts]] = connection.execute(
            "SELECT (SELECT count(*) FROM context_compression.rows),"
            "(SELECT count(*) FROM context_compression.texts)"
        )
    took = time.monotonic() - begin
    print(
        f"{originals * COPIES:,} sessions, {rows:,} events, {texts:,} texts, {size / 1e9:.1f} GB; "
        f"made in {took:.0f} s",
        flush=True,
    )


def make(url: str, numbers: range, events: int) -> None:
    """Make sessions with these numbers."""
    backend = Store(url).of_tenant(TENANT).backend
    words = Words()
    for number in numbers:
        id, name = f"session-{number:06}", file_name(NOON, 1)
        texts = [f"{words.some(6)} step {at}" for at in range(events - ARCHIVED - 2)]
        recorded = [message_event({"role": "user", "content": text}) for text in texts]
        messages = [
            {"role": "user", "content": f"ticket-{number}-{at} {words.some(OF_A_TEXT)}"}
            for at in range(ARCHIVED)
        ]
        refs = {
            ref_of(each): {
                "what": "message", "message": at, "block": None, "sha256": digest_of(each)
            }
            for at, each in enumerate(messages)
        }  # fmt: skip
        done = {"type": "compression", "created_at": NOON, "n": 1, "originals": name, "refs": refs}
        backend.session(id).append("events", [*recorded, *map(message_event, messages)], NOON)
        backend.session(id).write_originals(name, messages, NOON)
        backend.session(id).append("events", [done], NOON)
        backend.forget(id)


def message_event(message: dict[str, Any]) -> dict[str, Any]:
    """The event that records a message."""
    return {"type": "message", "created_at": NOON, "message": message}


class Words:
    """Words of which few are common and most are rare, as in any language."""

    def __init__(self) -> None:
        self._rng = Random(5)
        letters = "abcdefghijklmnopqrstuvwxyz"
        made = Random(7)
        self._words = [
            "".join(made.choices(letters, k=4 + made.randrange(6))) for _ in range(VOCABULARY)
        ]
        self._weights = [*accumulate(1 / (rank + 2) for rank in range(VOCABULARY))]

    def some(self, number: int) -> str:
        """So many words."""
        return " ".join(self._rng.choices(self._words, cum_weights=self._weights, k=number))

    def common(self, rank: int) -> str:
        """The word of a rank, from 0."""
        return self._words[rank]


def asked(url: str, sessions: int) -> dict[str, tuple[float, float, float]]:
    """Milliseconds of calls in an archive of so many sessions: median, 95th percentile, CPU."""
    store, words, rng = Store(url).of_tenant(TENANT), Words(), Random(3)
    some = [rng.randrange(sessions) for _ in range(CALLS)]
    long_session = recorded_session(store)
    print(f"{'':36}{'median':>9}{'p95':>9}{'CPU':>9}{'bar':>9}")

    def known(number: int) -> None:
        query = f"ticket-{number}-7 {words.some(2)}"
        assert store.search(query).hits[0].session.startswith(f"session-{number:06}")

    def common(number: int) -> None:
        store.search(f"{words.common(number % 40)} {words.common(40 + number % 40)}")

    def within(number: int) -> None:
        store.search(words.some(3), session=f"session-{number:06}")

    def prepare(_: int) -> None:
        long_session.prepare()

    def turn(_: int) -> None:
        long_session.record({"role": "user", "content": words.some(TURN // 3)})

    return {
        "an unknown ref": timed(lambda number: store.locate(f"{UNKNOWN[:6]}{number:06x}"), some),
        "a search by a name and two words": timed(known, some),
        "a search by two common words": timed(common, some),
        "a search in one session": timed(within, some),
        "prepare of a session of 200K": timed(prepare, some[:40], turn),
    }


def recorded_session(store: Store) -> Session:
    """A session of 200,000 tokens in a window that it does not fill."""
    session = Session(store, f"long-{time.time_ns()}", settings={"token_budget": 1_000_000})
    session.record(*conversation(LONG_SESSION))
    session.prepare()
    return session


def timed(
    call: Callable[[int], object],
    numbers: Sequence[int],
    before: Callable[[int], object] = lambda _: None,
) -> tuple[float, float, float]:
    """In ms: median and 95th percentile of wall time, mean of the CPU time of this process."""
    times: list[float] = []
    spent = 0.0
    for number in numbers:
        before(number)
        begin, cpu = time.perf_counter(), time.process_time()
        call(number)
        times.append(1000 * (time.perf_counter() - begin))
        spent += 1000 * (time.process_time() - cpu)
    return median(times), quantiles(times, n=20)[-1], spent / len(times)


if __name__ == "__main__":
    main()
