"""A store with many sessions: a ref and a search are answered without a look at each session."""

import os
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from written import squeeze

from context_compression import Session, Store
from context_compression.store import file_backend
from context_compression.store.json_lines import LineFile
from context_compression.store.refs import NAME
from context_compression.testing import conversation

UNKNOWN = "0123456789ab"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store that counts as large, with a text in each of its sessions."""
    monkeypatch.setattr(file_backend, "FEW_TO_READ", 0)
    monkeypatch.setattr(file_backend, "FEW_TO_STAT", 0)
    store = Store(tmp_path / ".compression")
    for n in range(6):
        Session(store, f"talk-{n}").offload(f"the okapi number {n}")
    return store


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sessions whose logs are read or looked at."""
    seen: list[str] = []

    def noting(work: Callable[..., object]) -> Callable[..., object]:
        def noted(file: LineFile, *arguments: object) -> object:
            seen.append(file.path.parent.name)
            return work(file, *arguments)

        return noted

    for method in ("data", "read", "lines_with", "items_after"):
        monkeypatch.setattr(LineFile, method, noting(getattr(LineFile, method)))
    log_stamp = file_backend.log_stamp

    def noted_stamp(root: Path, name: str) -> tuple[int, int] | None:
        seen.append(name)
        return log_stamp(root, name)

    monkeypatch.setattr(file_backend, "log_stamp", noted_stamp)
    return seen


def ref_list(store: Store) -> Path:
    return store.folder / ".locks" / NAME


def archived_in(store: Store, session: str) -> str:
    """A ref that a session archived."""
    return next(iter(store.session(session).refs()))


@contextmanager
def unnoted(store: Store) -> Generator[None]:
    """What is written meanwhile is not noted, as by an older version."""
    before = ref_list(store).read_bytes()
    yield
    ref_list(store).write_bytes(before)


def test_an_unknown_ref_does_not_read_every_session(store: Store, read: list[str]) -> None:
    for ref in (UNKNOWN, UNKNOWN[:4], "no ref", ""):
        assert Store(store.folder).locate(ref) is None

    assert read == []


def test_a_ref_is_found_by_reading_its_session_alone(store: Store, read: list[str]) -> None:
    ref = archived_in(store, "talk-3")
    read.clear()

    for digits in (ref, ref[:6], ref.upper()[:8]):
        found = Store(store.folder).locate(digits)
        assert found and found.id == "talk-3"

    assert {*read} == {"talk-3"}


def test_a_ref_of_a_compression_is_found(store: Store) -> None:
    session = Session(store, "long")
    session.record(*conversation(6))
    squeeze(session)

    for ref, _, _ in session.archived():
        found = Store(store.folder).locate(ref)
        assert found and found.id == "long"


def test_the_newest_of_the_sessions_that_have_a_ref_is_its_owner(store: Store) -> None:
    ref = Session(store, "talk-5").offload("a text of two")
    Session(store, "talk-1").offload("a text of two")
    for age, id in enumerate(("talk-5", "talk-1")):
        os.utime(store.folder / "sessions" / id / "events.jsonl", (9e8 - age, 9e8 - age))

    found = store.locate(ref)

    assert found and found.id == "talk-5"


def test_sessions_of_an_older_version_are_added_to_the_list_once(
    store: Store, read: list[str]
) -> None:
    ref = archived_in(store, "talk-2")
    ref_list(store).unlink()
    found = Store(store.folder).locate(ref)
    read.clear()

    again = Store(store.folder).locate(ref)

    assert found and again and found.id == again.id == "talk-2"
    assert {*read} == {"talk-2"}


def test_the_refs_before_and_after_the_list_was_removed_are_found(store: Store) -> None:
    old = archived_in(store, "talk-2")
    ref_list(store).unlink()
    new = Session(store, "talk-2").offload("another okapi")

    for ref in (old, new):
        found = Store(store.folder).locate(ref)
        assert found and found.id == "talk-2"


def test_a_list_with_a_torn_or_foreign_line_still_finds_refs(store: Store) -> None:
    with open(ref_list(store), "ab") as file:
        file.write(b"\xff\xfe = talk-1\n\n=../../x 0123456789ab\n=torn 01234")
    new = Session(store, "talk-4").offload("another okapi")

    found = Store(store.folder).locate(new)

    assert found and found.id == "talk-4"
    assert store.locate(UNKNOWN) is None


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_a_list_that_is_a_link_is_neither_read_nor_written(store: Store, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"")
    ref_list(store).unlink()
    ref_list(store).symlink_to(elsewhere)

    ref = Session(store, "talk-2").offload("another okapi")

    found = Store(store.folder).locate(ref)
    assert found and found.id == "talk-2"
    assert elsewhere.read_bytes() == b""


def test_the_refs_of_a_deleted_session_are_in_the_list_no_more(store: Store) -> None:
    gone, kept = archived_in(store, "talk-2"), archived_in(store, "talk-3")

    store.delete("talk-2")

    assert store.locate(gone) is None
    assert store.locate(kept)
    assert gone.encode() not in ref_list(store).read_bytes()


def test_a_later_search_looks_only_at_the_logs_that_grew(store: Store, read: list[str]) -> None:
    assert store.search("okapi").total == 6
    Session(store, "talk-1").offload("the okapi at last")
    Session(store, "talk-3").offload("a zebra")
    read.clear()

    found = store.search("okapi")

    assert found.total == 7
    assert not {"talk-0", "talk-2", "talk-4"} & {*read}


def test_a_new_session_is_searched_at_once(store: Store) -> None:
    assert store.search("zebra").total == 0

    Session(store, "talk-9").offload("a zebra")

    assert store.search("zebra").total == 1


def test_a_session_deleted_by_hand_is_searched_no_more(store: Store) -> None:
    assert store.search("okapi").total == 6
    folder = store.folder / "sessions" / "talk-2"
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()

    assert store.search("okapi").total == 5


def test_what_an_older_version_wrote_is_searched_after_a_while(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert store.search("zebra").total == 0
    with unnoted(store):
        Session(Store(store.folder), "talk-2").offload("a zebra")
    monkeypatch.setattr(file_backend, "monotonic", lambda: float("inf"))

    assert store.search("zebra").total == 1


def test_a_disk_that_refuses_the_list_keeps_nothing_from_being_found(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("no space left")

    ref_list(store).unlink()
    monkeypatch.setattr("context_compression.store.refs._append", refuse)
    ref = Session(store, "talk-2").offload("another okapi")

    found = Store(store.folder).locate(ref)

    assert found and found.id == "talk-2"
    assert Store(store.folder).search("another okapi").hits


def test_threads_may_look_for_refs_and_search_at_once(store: Store) -> None:
    refs = {archived_in(store, f"talk-{n}"): f"talk-{n}" for n in range(6)}
    shared = Store(store.folder)

    def look(ref: str) -> tuple[str | None, int | None]:
        found = shared.locate(ref)
        return found.id if found else None, shared.search("okapi").total

    with ThreadPoolExecutor(4) as pool:
        found = [*pool.map(look, [*refs] * 3)]

    assert found == [(id, 6) for id in refs.values()] * 3
