"""The search index: it may be missing, damaged, or impossible; several processes use it at once."""

import os
import random
import signal
import sqlite3
import stat
import subprocess
import sys
import zlib
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from full_disk import a_disk_that_takes
from written import squeeze

from context_compression import Session, Store
from context_compression.store.file_backend import Catalog
from context_compression.store.search import index as index_file
from context_compression.testing import conversation

INDEX = "search.sqlite"
PRELUDE = """
import sys
from context_compression import Session, Store
store = Store(sys.argv[1])
"""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store in which something is archived, and nobody searched yet."""
    store = Store(tmp_path / ".compression")
    talk(store, "talk")
    Session(store, "texts").offload("the okapi lives in the forest")
    return store


def talk(store: Store, id: str, turns: int = 6) -> Session:
    session = Session(store, id)
    session.record(*conversation(turns, seed=len(id)))
    squeeze(session)
    return session


def start(store: Store, code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PRELUDE + code, str(store.folder), *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def finds_all(store: Store) -> bool:
    """Whether what the fixture archived is found, and the index is sound and of use."""
    found = store.search("okapi")
    with_results = store.search("tool:grep", limit=50)
    database = sqlite3.connect(store.folder / INDEX)
    check = database.execute("PRAGMA integrity_check").fetchone()
    database.execute("INSERT INTO words (words) VALUES ('integrity-check')")
    database.execute("INSERT INTO stems (stems) VALUES ('integrity-check')")
    database.close()
    return (
        found.note is None
        and [hit.session for hit in found.hits] == ["texts"]
        and len(with_results.hits) > 2
        and check == ("ok",)
    )


def texts_in(store: Store) -> list[bytes]:
    """All that the index holds compressed: texts, and what stands beside them."""
    with closing(sqlite3.connect(store.folder / INDEX)) as database:
        packed = database.execute("SELECT packed FROM texts UNION ALL SELECT packed FROM messages")
        return [zlib.decompress(each) for (each,) in packed]


def test_nothing_but_a_search_makes_it(store: Store) -> None:
    assert not (store.folder / INDEX).exists()

    store.search("okapi")

    assert (store.folder / INDEX).exists()


def test_sqlite_is_loaded_by_the_first_search_only() -> None:
    code = "import sys, context_compression.store; print('sqlite3' in sys.modules)"

    said = subprocess.check_output([sys.executable, "-c", code], text=True)

    assert said == "False\n"


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
def test_only_its_owner_may_read_it(store: Store) -> None:
    store.search("okapi")

    assert stat.S_IMODE((store.folder / INDEX).stat().st_mode) == 0o600


def test_it_may_be_deleted_at_any_time(store: Store) -> None:
    before = store.search("okapi forest")
    (store.folder / INDEX).unlink()
    (store.folder / f"{INDEX}-journal").write_bytes(b"left behind")

    assert store.search("okapi forest") == before
    assert finds_all(store)


def test_what_was_archived_since_is_found(store: Store) -> None:
    store.search("zebra")

    Session(store, "texts").offload("the zebra")
    more = talk(store, "another", 8)

    assert len(store.search("zebra").hits) == 1
    assert store.search("tool:read", session="another").hits
    more.record({"role": "user", "content": "gnu " * 500}, *conversation(2))
    squeeze(more)
    assert store.search("gnu").hits
    assert finds_all(store)


def test_a_log_is_read_on_and_not_anew(store: Store) -> None:
    Session(store, "texts").offload("another text, which is longer " * 9)
    store.search("okapi")
    log = store.folder / "sessions" / "texts" / "events.jsonl"

    log.write_bytes(log.read_bytes().replace(b"okapi", b"gnu  "))  # long before its end
    Session(store, "texts").offload("the zebra")

    assert len(store.search("zebra").hits) == 1
    assert store.search("gnu").hits == ()


def test_a_log_in_the_place_of_another_is_read_from_its_beginning(store: Store) -> None:
    store.search("okapi")
    log = store.folder / "sessions" / "texts" / "events.jsonl"
    log.unlink()

    Session(store, "texts").offload("the zebra, with some more words, so that it is longer " * 9)

    assert len(store.search("zebra").hits) == 1
    assert store.search("okapi").hits == ()


def test_a_torn_line_is_left_for_the_next_time(store: Store) -> None:
    log = store.folder / "sessions" / "texts" / "events.jsonl"
    with open(log, "ab") as file:
        file.write(b'{"type":"offload","refs":{"c3')

    assert finds_all(store)
    assert finds_all(store)


def test_what_is_deleted_leaves_no_trace_in_it(store: Store) -> None:
    Session(store, "private").offload("the secret password xyzzyplugh")
    session = Session(store, "told")
    session.record({"role": "user", "content": "plughxyzzy is known"})
    assert store.search("xyzzyplugh").hits

    store.delete("private")
    store.delete("told")

    data = (store.folder / INDEX).read_bytes() + b"".join(texts_in(store))
    assert b"okapi" in data
    assert b"xyzzyplugh" not in data
    assert b"plughxyzzy" not in data
    assert finds_all(store)


def test_a_session_deleted_by_hand_is_forgotten(store: Store) -> None:
    Session(store, "private").offload("the zebra")
    store.search("zebra")
    for file in (store.folder / "sessions" / "private").rglob("*.*"):
        file.unlink()

    assert store.search("zebra").hits == ()
    assert finds_all(store)


@pytest.mark.parametrize("size", [0, 1, 99, 5_000, 20_000])
def test_one_that_was_cut_off_is_made_anew(store: Store, size: int) -> None:
    store.search("okapi")
    os.truncate(store.folder / INDEX, size)

    assert finds_all(store)


def test_one_that_is_none_is_made_anew(store: Store) -> None:
    (store.folder / INDEX).write_bytes(b"SQLite format 3\0" + random.Random(1).randbytes(50_000))

    assert finds_all(store)


@pytest.mark.parametrize("value", ["5", "NULL", "'text'", "x'ff'"])
def test_one_with_values_of_another_type_is_made_anew(store: Store, value: str) -> None:
    store.search("okapi")
    other = sqlite3.connect(store.folder / INDEX)
    other.executescript(f"UPDATE texts SET packed = {value};")
    other.close()

    assert finds_all(store)


def test_one_of_another_version_or_program_is_made_anew(store: Store) -> None:
    for statements in ("PRAGMA user_version = 99; CREATE TABLE x (y);", "CREATE TABLE logs (id);"):
        (store.folder / INDEX).unlink(missing_ok=True)
        other = sqlite3.connect(store.folder / INDEX)
        other.executescript(statements)
        other.close()

        assert finds_all(store)


def test_one_of_the_version_before_is_made_anew(store: Store) -> None:
    store.search("okapi")
    other = sqlite3.connect(store.folder / INDEX)
    other.executescript(
        "DROP TABLE stems; ALTER TABLE documents DROP COLUMN place; PRAGMA user_version = 6;"
    )
    other.close()

    assert finds_all(store)
    assert [hit.session for hit in store.search("Who was living in forests?").hits] == ["texts"]


@pytest.mark.slow
def test_bytes_changed_in_it_never_show_what_is_not_archived(store: Store) -> None:
    store.search("okapi")
    sound = (store.folder / INDEX).read_bytes()
    for seed in range(40):
        dice = random.Random(seed)
        data = bytearray(sound)
        for _ in range(30):
            data[dice.randrange(len(data))] = dice.randrange(256)
        (store.folder / INDEX).write_bytes(data)

        for query in ("okapi", "error tool:bash", "path:src", "timeout worker"):
            for hit in store.search(query).hits:
                original = Session(store, hit.session).restore(hit.ref, note=False)
                assert all(line in original for _, line in hit.lines if hit.numbered)


def test_without_an_index_as_much_is_searched_as_with_one(store: Store) -> None:
    session = talk(store, "again")
    session.undo()
    squeeze(session)
    indexed = store.search("okapi")
    (store.folder / INDEX).unlink()
    (store.folder / INDEX).mkdir()

    scanned = store.search("okapi")

    assert scanned.searched == indexed.searched
    assert {hit.ref for hit in scanned.hits} == {hit.ref for hit in indexed.hits}


def test_something_else_in_its_place_is_left_alone(store: Store) -> None:
    (store.folder / INDEX).mkdir()

    found = store.search("okapi")

    assert [hit.session for hit in found.hits] == ["texts"]
    assert found.note
    assert "without an index" in found.note


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_a_link_in_its_place_is_not_followed(store: Store, tmp_path: Path) -> None:
    (store.folder / INDEX).symlink_to(tmp_path / "elsewhere")

    found = store.search("okapi")

    assert len(found.hits) == 1
    assert found.note
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("size", [0, 1_000, 10_000, 60_000, 100_000])
def test_a_full_disk_makes_the_search_slower_not_poorer(store: Store, size: int) -> None:
    with a_disk_that_takes(size):
        found = store.search("okapi")

    assert [hit.session for hit in found.hits] == ["texts"]
    assert finds_all(store)


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
@pytest.mark.parametrize("indexed", [False, True])
def test_in_a_folder_that_cannot_be_written_is_searched_all_the_same(indexed: bool) -> None:
    code = """
import os
from context_compression.store.search import index as index_file, lookup  # before setuid
if os.geteuid() == 0:
    os.setuid(65_534)  # root may write everywhere
found = store.search("okapi")
print(len(found.hits), found.note)
"""
    with TemporaryDirectory() as folder:
        store = Store(Path(folder, "store"))
        Session(store, "texts").offload("the okapi")
        if indexed:
            store.search("okapi")
        everything = [Path(folder), *Path(folder).rglob("*")]
        for path in everything:
            if os.geteuid() == 0:
                os.chown(path, 65_534, 65_534)
            path.chmod(0o500 if path.is_dir() else 0o400)

        said, _ = start(store, code).communicate()
        for path in everything:
            path.chmod(0o700)

        assert said.startswith("1 None" if indexed else "1 searched without an index")


def test_without_sqlite_the_same_is_found(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    queries = ("okapi forest", "tool:bash error:", "path:src/app", "timeout", "nothing of it")
    with_index = [store.search(query, limit=50) for query in queries]
    for module in ("index", "lookup"):
        monkeypatch.delitem(sys.modules, f"context_compression.store.search.{module}")
    monkeypatch.setitem(sys.modules, "sqlite3", None)

    without = [store.search(query, limit=50) for query in queries]

    for one, other in zip(with_index, without, strict=True):
        assert {hit.ref for hit in one.hits} <= {hit.ref for hit in other.hits}
        assert one.searched == other.searched
        assert other.note
    assert without[0].hits[0] == with_index[0].hits[0]
    assert store.search("okapi forest", pattern="oka.i").hits == without[0].hits


def test_a_session_that_another_process_made_meanwhile_is_found_and_stays_indexed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    stamps = Catalog(store.folder).stamps()
    Session(store, "late").offload("another okapi")
    assert store.search("okapi").total == 2

    def as_a_moment_before(_: Catalog) -> Mapping[str, tuple[int, int]]:
        return stamps

    monkeypatch.setattr(Catalog, "stamps", as_a_moment_before)

    assert {hit.session for hit in store.search("okapi").hits} == {"texts", "late"}
    with sqlite3.connect(store.folder / INDEX) as database:
        assert ("late",) in database.execute("SELECT name FROM logs").fetchall()


def test_processes_that_archive_and_search_at_once_find_all(store: Store) -> None:
    code = """
sys.stdin.readline()
who = sys.argv[2]
for n in range(15):
    Session(store, who).offload(f"{who} number {n}")
    found = store.search(f"{who} {n}", session=who, limit=50)
    assert found.note is None, found.note
    assert found.total == n + 1, (found.total, n)
    store.search("number")
"""
    children = [start(store, code, who) for who in ("ann", "bob", "eve")]
    for child in children:
        assert child.stdin
        child.stdin.write("go\n")
        child.stdin.flush()

    for child in children:
        child.communicate()
        assert child.returncode == 0
    assert finds_all(store)
    assert store.search("number").total == 45


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps a file that is open")
@pytest.mark.parametrize("again", [True, False], ids=["and made again", "and not made again"])
def test_an_index_removed_by_another_process_during_a_search_is_made_again(
    store: Store, again: bool
) -> None:
    code = """
from context_compression.store.search.index import Index
prepare = Index.prepare
def waiting(index):
    Index.prepare = prepare
    print("opened", flush=True)
    sys.stdin.readline()
    prepare(index)
Index.prepare = waiting
found = store.search("okapi")
print(found.note, [hit.session for hit in found.hits])
"""
    child = start(store, code)
    assert child.stdout and child.stdout.readline() == "opened\n"
    index_file.remove(store.folder)
    if again:
        assert finds_all(store)

    said, _ = child.communicate("go\n")

    assert said == "None ['texts']\n"
    assert finds_all(store)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
@pytest.mark.parametrize("after", [1, 2, 4])
def test_a_process_killed_while_it_makes_the_index_leaves_a_sound_one(
    store: Store, after: int
) -> None:
    for n in range(6):
        talk(store, f"talk-{n}", 10)
    code = """
from context_compression.store.search import tables
words_of = tables.words_of
def printing(*arguments):
    print("adding", flush=True)
    return words_of(*arguments)
tables.words_of = printing
store.search("okapi")
"""
    child = start(store, code)
    assert child.stdout
    for _ in range(40 * after):
        assert child.stdout.readline() == "adding\n"

    child.send_signal(signal.SIGKILL)
    child.communicate()

    assert finds_all(store)


def test_a_session_that_cannot_be_read_keeps_no_other_from_being_found(store: Store) -> None:
    log = store.folder / "sessions" / "talk" / "events.jsonl"
    log.write_bytes(b'{"type":"session","version":99}\n' + log.read_bytes())

    assert [hit.session for hit in store.search("okapi").hits] == ["texts"]


@pytest.mark.parametrize(
    "event",
    [
        '{"type": "compression"}',
        '{"type": "compression", "originals": "../../x", "refs": {"c3f9c3f9c3f9": {"what": "x"}}}',
        '{"type": "compression", "originals": "x.json", "refs": []}',
        '{"type": "offload", "refs": {"c3f9c3f9c3f9": {"text": "a lie", "what": "x"}}}',
        '{"type": "offload", "refs": {"x": 5}}',
        '{"type": "message"}',
        '{"type": "message", "message": {"role": "user", "content": [{"type": 5}]}}',
        '{"type": "message", "message": {"role": [], "content": 5}}',
        '{"type": "rewind", "to": -5}',
        '{"type": "rewind", "to": 5e99}',
        "[]",
        "5",
        '"\\ud83d"',
    ],
)
def test_an_event_that_makes_no_sense_is_passed_over(store: Store, event: str) -> None:
    log = store.folder / "sessions" / "talk" / "events.jsonl"
    log.write_bytes(log.read_bytes() + event.encode() + b"\n")
    Session(store, "talk").offload("the zebra")

    found = store.search("zebra")

    assert len(found.hits) == 1
    assert found.note is None
    assert store.search("lie").hits == ()
    assert finds_all(store)
