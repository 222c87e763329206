"""What may go from a store, what stays, and that nothing goes by half."""

import os
import sqlite3
import time
import zlib
from pathlib import Path

import pytest
from written import squeeze

from context_compression import Session, Store
from context_compression.errors import ObjectsLeft, StoreError, StoreUnwritable
from context_compression.testing import conversation

INDEX = "search.sqlite"
DAY = 86_400.0
NOW = time.time()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Three conversations, written 100, 50 and 0 days before now, and an index."""
    store = Store(tmp_path / ".compression")
    for days, id in ((100, "old"), (50, "middle"), (0, "new")):
        talk(store, id)
        written(store, id, days)
    store.search("anything")
    return store


def talk(store: Store, id: str) -> None:
    session = Session(store, id)
    session.record(
        {"role": "user", "content": f"only {id} knows zebra{id}"},
        *conversation(6, seed=sum(map(ord, id)))[1:],
    )
    squeeze(session)


def written(store: Store, id: str, days: float) -> None:
    stamp = NOW - days * DAY
    os.utime(store.session(id).folder / "events.jsonl", (stamp, stamp))


def file_of(store: Store, name: str, age: float) -> Path:
    path = store.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"left behind")
    os.utime(path, (NOW - age, NOW - age))
    return path


def test_what_was_not_written_for_long_goes_and_all_else_stays(store: Store) -> None:
    pruned = store.prune(90 * DAY, now=NOW)

    assert pruned.sessions == ("old",)
    assert store.sessions() == ["new", "middle"]
    assert store.search("zebraold").hits == ()
    assert store.search("zebranew zebramiddle").note is None
    assert store.verify() == []


def test_to_ask_what_would_go_changes_nothing(store: Store) -> None:
    before = {path: path.stat().st_mtime_ns for path in store.folder.rglob("*")}

    assert store.prunable(90 * DAY, now=NOW).sessions == ("old",)
    assert store.prunable(10 * DAY, now=NOW).sessions == ("middle", "old")

    assert {path: path.stat().st_mtime_ns for path in store.folder.rglob("*")} == before


def test_what_a_session_that_stays_refers_to_stays_and_why_is_told(store: Store) -> None:
    ref = next(iter(Session(store, "old").state().refs))
    Session(store, "new").record({"role": "user", "content": f"Restore\n{ref} and go on."})

    pruned = store.prune(10 * DAY, now=NOW)

    assert pruned.sessions == ("middle",)
    assert pruned.kept == {"old": "new"}
    assert Session(store, "old").restore(ref, note=False)


def test_what_is_referred_to_by_way_of_another_stays_too(store: Store) -> None:
    of_old = next(iter(Session(store, "old").state().refs))
    Session(store, "middle").record({"role": "user", "content": f"See {of_old}."})
    written(store, "middle", 50)
    of_middle = next(iter(Session(store, "middle").state().refs))
    Session(store, "new").record({"role": "user", "content": f"See {of_middle}."})

    assert store.prune(10 * DAY, now=NOW).sessions == ()


def test_what_is_at_work_or_named_stays(store: Store) -> None:
    with store.session("old").locked():
        assert store.prune(90 * DAY, now=NOW).sessions == ()
        with pytest.raises(StoreError, match="another process is compressing"):
            store.delete("old", timeout=0)
    assert store.prune(90 * DAY, keep=["old"], now=NOW).sessions == ()
    assert "old" in store.sessions()


def test_a_session_written_to_since_it_was_listed_stays(store: Store) -> None:
    listed = store.prunable(90 * DAY, now=NOW)
    os.utime(store.session("old").folder / "events.jsonl", (NOW, NOW))

    assert listed.sessions == ("old",)
    assert store.prune(90 * DAY, now=NOW).sessions == ()


def test_a_deletion_gives_the_room_of_the_index_back_and_leaves_no_word_in_it(store: Store) -> None:
    before = (store.folder / INDEX).stat().st_size

    store.delete("old")

    data = (store.folder / INDEX).read_bytes()
    assert len(data) < before
    assert b"zebraold" not in data
    database = sqlite3.connect(store.folder / INDEX)
    database.execute("INSERT INTO words (words) VALUES ('integrity-check')")
    for table in ("texts", "messages"):
        packed = database.execute(f"SELECT packed FROM {table}").fetchall()
        assert packed
        assert not any(b"zebraold" in zlib.decompress(each) for (each,) in packed)
    assert database.execute("PRAGMA freelist_count").fetchone() == (0,)
    assert database.execute("SELECT count(*) FROM logs").fetchone() == (2,)
    database.close()
    assert store.search("zebranew").hits


def test_a_deletion_that_was_killed_is_finished_by_the_next(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("shutil.rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            store.delete("old")

    assert "old" not in store.sessions()
    assert store.search("zebraold").hits == ()
    store.prune(90 * DAY, now=NOW + 2 * 3_600)
    assert {path.name for path in (store.folder / "sessions").iterdir()} == {"new", "middle"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        ".new-a1b2", "sessions/new/.new-a1b2", "sessions/new/offloaded/.new-a1b2",
        ".locks/gone.log", ".locks/gone.compression", ".locks/gone.refs", ".locks/gone.fitting",
    ],
)  # fmt: skip
def test_what_a_kill_left_behind_goes_once_nobody_can_be_writing_it(
    store: Store, name: str
) -> None:
    path = file_of(store, name, age=60)
    store.prune(90 * DAY, now=NOW)
    assert path.exists()

    os.utime(path, (NOW - 3_700, NOW - 3_700))
    assert path in store.prunable(90 * DAY, now=NOW).left_over
    store.prune(90 * DAY, now=NOW)
    assert not path.exists()


def test_the_journal_of_an_index_that_is_there_is_left_to_sqlite(store: Store) -> None:
    journal = file_of(store, f"{INDEX}-journal", age=9_999)
    assert journal not in store.prunable(90 * DAY, now=NOW).left_over

    (store.folder / INDEX).unlink()
    assert journal in store.prunable(90 * DAY, now=NOW).left_over


def test_locks_of_what_is_there_and_files_of_a_persons_own_stay(store: Store) -> None:
    mine = file_of(store, "sessions/new/notes.txt", age=99 * DAY)
    lock = file_of(store, ".locks/new.log", age=99 * DAY)
    prompt = file_of(store, "prompts/summary.md", age=99 * DAY)

    store.prune(90 * DAY, now=NOW)

    assert mine.exists()
    assert lock.exists()
    assert prompt.exists()


def test_a_link_is_removed_and_not_followed(store: Store, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").write_text("mine", "utf-8")
    link = store.folder / "sessions" / "new" / ".new-link"
    link.symlink_to(elsewhere)
    os.utime(link, (NOW - 9_999, NOW - 9_999), follow_symlinks=False)

    store.prune(90 * DAY, now=NOW)

    assert not link.is_symlink()
    assert (elsewhere / "file").exists()


def test_the_size_of_a_session_is_that_of_its_files(store: Store) -> None:
    folder = store.session("new").folder
    files = [path for path in folder.rglob("*") if path.is_file()]

    assert store.size_of("new") == sum(path.stat().st_size for path in files)
    assert store.size_of("nobody") == 0


def test_each_session_has_its_share_of_the_index(store: Store) -> None:
    shares = store.backend.stats([]).shares

    size = (store.folder / INDEX).stat().st_size
    assert set(shares) == {"old", "middle", "new"}
    assert abs(sum(shares.values()) - size) <= len(shares)
    (store.folder / INDEX).unlink()
    assert store.backend.stats([]).shares == {}


def test_of_what_was_deleted_no_byte_is_left_in_the_folder(tmp_path: Path) -> None:
    store = Store(tmp_path)
    session = Session(store, "mine")
    session.offload("Sehr geheimes Tagebuch von Frau Zwiebelkuchen", what="text that begins 'Sehr'")
    Session(store, "other").offload("Something else.", what="text that begins 'Something'")
    assert store.search("Tagebuch").hits

    store.delete("mine")

    left = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"Tagebuch" not in left
    assert b"Sehr" not in left
    assert b"Something" in left


def test_a_rule_on_how_long_to_keep_deletes_also_what_others_refer_to(store: Store) -> None:
    ref = next(iter(store.session("old").refs()))
    Session(store, "new").record({"role": "user", "content": f"see {ref}"})
    assert "old" not in store.prunable(older_than=60 * DAY, now=NOW).sessions

    assert store.expire(60 * DAY, now=NOW) == ["old"]

    assert sorted(store.sessions()) == ["middle", "new"]
    assert store.locate(ref) is None
    assert store.summaries(session="old") == []
    assert store.verify() == []


@pytest.mark.slow
def test_what_a_process_works_in_is_not_deleted_by_the_rule(store: Store) -> None:
    with store.session("old").locked():
        assert store.expire(40 * DAY, now=NOW) == ["middle"]

    assert store.expire(40 * DAY, now=NOW) == ["old"]


def test_what_may_not_be_deleted_by_the_rule_is_told(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(*_: object) -> None:
        raise StoreUnwritable("no right to delete")

    monkeypatch.setattr(store.backend, "remove", refusing)

    with pytest.raises(ObjectsLeft, match=r"^Not deleted: old, middle\. no right to delete"):
        store.expire(40 * DAY, now=NOW)
