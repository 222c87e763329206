"""A database that a framework writes in the folder of a session is as private, and as mortal."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Generator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from context_compression import Session
from context_compression.errors import StoreError
from context_compression.store import Store, session_files
from context_compression.store.root_folder import holding
from context_compression.testing import said_by_user

NAME = "history.sqlite3"
HELLO = "The word is okapi."


@pytest.fixture(autouse=True)
def usual_umask() -> Generator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / ".compression")
    store.session("s").append({"type": "history", "created_at": "2026-11-21T12:00:00Z"})
    return store


def write(store: Store) -> set[str]:
    """Write in the database of the session `s`; the modes of its files meanwhile."""
    with (
        store.files.session("s").database(NAME) as path,
        closing(sqlite3.connect(path)) as database,
    ):
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("CREATE TABLE IF NOT EXISTS items (text)")
        database.execute("INSERT INTO items VALUES (?)", [HELLO])
        database.commit()
        return {f"{each.name} {each.stat().st_mode & 0o777:o}" for each in path.parent.iterdir()}


def test_the_database_and_its_journals_are_private(store: Store) -> None:
    modes = write(store)

    assert modes == {
        "events.jsonl 600", f"{NAME} 600", f"{NAME}-wal 600", f"{NAME}-shm 600",
    }  # fmt: skip


def test_whatever_walks_the_sessions_passes_it_by(store: Store) -> None:
    write(store)

    assert store.verify() == []
    assert store.sessions() == ["s"]
    assert store.sizes(["s"])["s"] > 4_096
    assert store.search("okapi").hits == ()
    assert store.prunable(0).left_over == ()
    session = Session(store, "s")
    assert session.status().warnings == []
    assert session.fit([said_by_user("Hello.", "openai")]) == [said_by_user("Hello.", "openai")]


def test_it_goes_with_its_session(store: Store) -> None:
    write(store)

    store.delete("s")

    left = [path for path in store.folder.rglob("*") if path.is_file()]
    assert not any(HELLO.encode() in path.read_bytes() for path in left)


def test_a_journal_without_its_database_is_not_followed(store: Store) -> None:
    journal = store.session("s").folder / f"{NAME}-journal"
    journal.write_bytes(b"put here by somebody")

    write(store)

    assert not journal.exists()


def test_a_link_in_its_place_is_not_followed(store: Store, tmp_path: Path) -> None:
    (store.session("s").folder / NAME).symlink_to(tmp_path / "elsewhere")

    with pytest.raises(StoreError, match="cannot be written"):
        write(store)

    assert not (tmp_path / "elsewhere").exists()


KILLED = f"""
import os, sqlite3, sys
database = sqlite3.connect(sys.argv[1])
database.execute("PRAGMA journal_mode=WAL")
database.execute("CREATE TABLE items (text)")
database.execute("INSERT INTO items VALUES ('{HELLO}')")
database.commit()
os._exit(0)
"""


def test_what_a_killed_process_wrote_in_a_store_of_ours_stays_when_it_is_trusted(
    tmp_path: Path,
) -> None:
    ours = Store.of_user(tmp_path / "ours", tmp_path / "home")
    ours.session("s").append({"type": "history", "created_at": "2026-11-21T12:00:00Z"})
    with ours.files.session("s").database(NAME) as path:
        subprocess.run([sys.executable, "-c", KILLED, str(path)], check=True)
    assert path.with_name(f"{NAME}-wal").stat().st_size > 0

    ours.files.trust()

    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT text FROM items").fetchall() == [(HELLO,)]


def test_a_store_is_not_trusted_while_a_conversation_is_written(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = Store.of_user(store.folder, tmp_path / "home")
    with store.files.session("s").database(NAME) as path:
        journal = path.with_name(f"{NAME}-wal")
        journal.write_bytes(b"what is being written")
        monkeypatch.setattr(session_files, "holding", partial(holding, timeout=0))

        with pytest.raises(StoreError, match="another process is writing to this conversation"):
            theirs.files.trust()

        assert journal.exists()
    assert not theirs.is_ours()


def test_a_store_is_trusted_without_the_journals_in_it(store: Store, tmp_path: Path) -> None:
    write(store)
    journal = store.session("s").folder / f"{NAME}-journal"
    journal.write_bytes(b"put here by somebody")

    Store.of_user(store.folder, tmp_path / "home").files.trust()

    assert not journal.exists()
