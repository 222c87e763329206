"""The folder: where it is found, its config, its summaries, its sessions."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from context_compression import Session
from context_compression.errors import (
    StoreDamaged,
    StoreError,
    StoreTooNew,
    StoreUnwritable,
    UnknownRef,
)
from context_compression.store import FileBackend, Store
from context_compression.store.files import opened
from context_compression.workspace import Workspace

NOON = "2026-11-21T12:00:00Z"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / ".compression")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home" / "work" / "deep").mkdir(parents=True)
    return tmp_path / "home"


@pytest.mark.parametrize(
    ("variable", "says"),
    [
        ("CONTEXT_COMPRESSION_KEY", "encrypts only a store in PostgreSQL; this store is a folder"),
        (
            "CONTEXT_COMPRESSION_OBJECTS",
            "is only for a store in PostgreSQL; this store is a folder",
        ),
    ],
)
def test_what_only_a_database_does_is_not_believed_of_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, says: str
) -> None:
    environ, home, old = {variable: "a-secret"}, tmp_path / "home", tmp_path / "old"
    for store in (Store(old), Store(old).of_tenant("ann")):
        store.session("before").append({"type": "message"})
        store.session("gone").append({"type": "message"})
    monkeypatch.setenv(variable, "a-secret")

    for store in (
        Store(old),
        Store(old).of_tenant("ann"),
        Store.of_user(old, home, environ),
        Workspace.here(environ=environ, home=home, store=str(old)).store,
        Store.find(tmp_path, home=home, environ=environ),
    ):
        log = store.session("before")
        writes: list[Callable[[], object]] = [
            lambda log=log: log.append({"type": "message"}),
            lambda log=log: log.write_originals(1, NOON, [{"role": "user", "content": "x"}]),
            lambda store=store: store.backend.session("before").append("ledger", [{}], NOON),
            lambda store=store: store.backend.session("before").write_text("0" * 12, "x"),
            lambda store=store: store.add_summary({"session": "before", "content": "x"}),
            lambda store=store: store.files.session("before").database("history").__enter__(),
            lambda store=store: Session(store, "before").record({"role": "user", "content": "x"}),
        ]
        for write in writes:
            with pytest.raises(StoreUnwritable, match=f"{variable} {says}.*passes FileBackend"):
                write()
        [doubt] = store.doubts()
        assert f"{variable} {says}" in doubt
        assert "a-secret" not in doubt
        assert len(log.events().items) == store.sessions().count("before")

    Store(old).delete("gone")
    assert Store(old).sessions() == ["before"]
    named = Store(FileBackend(tmp_path / "named")).of_tenant("ann")
    named.session("a").append({"type": "message"})
    monkeypatch.setenv(variable, " ")
    Store(old).session("before").append({"type": "message"})


@pytest.mark.parametrize("name", ["TENANT", "KEY", "OBJECTS"])
def test_a_store_that_a_program_made_is_used_as_it_is(store: Store, home: Path, name: str) -> None:
    made_elsewhere = Store("postgresql://127.0.0.1:1/archive")
    environ = {f"CONTEXT_COMPRESSION_{name}": "acme"}

    for made in (store, made_elsewhere):
        workspace = Workspace.here(environ=environ, cwd=home, home=home, store=made)

        assert workspace.store is made
        assert workspace.part is None


def found(start: Path, home: Path, **environ: str) -> Path:
    return Store.find(start, home=home, environ=environ).folder


def test_the_home_folder_is_its_own_place_though_it_lies_in_a_repository(
    home: Path, tmp_path: Path
) -> None:
    (tmp_path / ".git").mkdir()

    assert found(home, home) == home / ".compression"
    assert found(home / "work", home) == tmp_path / ".compression"


def test_the_environment_names_the_folder(home: Path, tmp_path: Path) -> None:
    work = home / "work"
    (work / ".compression").mkdir()

    assert tmp_path / "x" == found(work, home, CONTEXT_COMPRESSION_DIR=str(tmp_path / "x"))
    assert work / "y" / "z" == found(work, home, CONTEXT_COMPRESSION_DIR="y/z")
    assert home / "kept" == found(work, home, CONTEXT_COMPRESSION_DIR="~/kept")
    assert work / ".compression" == found(work, home, CONTEXT_COMPRESSION_DIR="")


def test_the_nearest_folder_up_to_the_repositorys_root_is_taken(home: Path) -> None:
    work = home / "work"
    (work / ".git").mkdir()
    (work / ".compression").mkdir()

    assert work / ".compression" == found(work / "deep", home)

    (work / "deep" / ".compression").mkdir()
    assert work / "deep" / ".compression" == found(work / "deep", home)


def test_in_a_repository_without_one_it_is_made_at_the_root(home: Path) -> None:
    (home / ".compression").mkdir()
    (home / "work" / ".git").write_text("gitdir: a worktree", encoding="utf-8")

    assert home / "work" / ".compression" == found(home / "work" / "deep", home)
    assert not (home / "work" / ".compression").exists()


def test_without_a_repository_it_is_made_where_one_stands(home: Path) -> None:
    (home / "work" / ".compression").mkdir()

    assert home / "work" / "deep" / ".compression" == found(home / "work" / "deep", home)
    assert home / "work" / ".compression" == found(home / "work", home)


def test_from_the_root_or_the_home_folder_it_is_the_one_at_home(home: Path) -> None:
    assert home / ".compression" == found(Path("/"), home)
    assert home / ".compression" == found(home, home)


def test_a_link_that_came_with_a_repository_is_not_taken_for_one(home: Path) -> None:
    repository = home / "repository"
    (repository / ".git").mkdir(parents=True)
    (repository / ".compression").symlink_to("/")

    assert found(repository, home) == home / ".compression"


def test_where_a_file_is_in_the_way_it_is_the_one_at_home(home: Path) -> None:
    (home / "work" / ".compression").write_text("not a folder", encoding="utf-8")

    assert home / ".compression" == found(home / "work", home)
    assert home / ".compression" == found(home / "nowhere", home)


@pytest.mark.skipif(os.name == "nt", reason="permissions work otherwise on Windows")
def test_where_one_may_not_write_it_is_the_one_at_home() -> None:
    ask = (
        "import os, sys; from pathlib import Path; from context_compression.store import Store\n"
        "if os.getuid() == 0: os.setuid(65534)  # nothing is forbidden to root\n"
        "for start in sys.argv[2:]:\n"
        "    print(Store.find(Path(start), home=Path(sys.argv[1]), environ={}).folder)\n"
    )
    with TemporaryDirectory(dir="/tmp") as name:
        base = Path(name).resolve()
        for folder in ("home", "closed", "repository/.git", "repository/.compression"):
            (base / folder).mkdir(parents=True)
        for folder in ("", "home", "closed", "repository", "repository/.compression"):
            (base / folder).chmod(0o555)
        starts = [str(base / "closed"), str(base / "repository")]

        asked = [sys.executable, "-c", ask, str(base / "home"), *starts]
        printed = subprocess.run(asked, env=environment(), capture_output=True, text=True)

        base.chmod(0o700)
        for folder in ("home", "closed", "repository", "repository/.compression"):
            (base / folder).chmod(0o700)
        assert [str(base / "home" / ".compression")] * 2 == printed.stdout.split(), printed.stderr


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def test_config_is_a_plain_file_with_a_version(store: Store) -> None:
    store.update_config(lambda _: {"token_budget": 100_000, "important_keywords": ["重要"]})

    values = Store(store.folder).read_config()

    assert values == {"token_budget": 100_000, "important_keywords": ["重要"]}
    text = (store.folder / "config.json").read_text("utf-8")
    assert {"version": 1, **values} == json.loads(text)
    assert '"重要"' in text


def test_config_written_by_hand_is_read(store: Store) -> None:
    store.folder.mkdir()
    (store.folder / "config.json").write_text('{"max_turns": 7}', encoding="utf-8-sig")

    changed = store.update_config(lambda values: {**values, "keep_recent": 3})

    assert {"max_turns": 7, "keep_recent": 3} == changed == store.read_config()


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"text"', "\x00", "[" * 100_000])
def test_a_damaged_config_is_named_and_never_overwritten(store: Store, text: str) -> None:
    store.folder.mkdir()
    path = store.folder / "config.json"
    path.write_text(text, encoding="utf-8")

    for use in (store.read_config, lambda: store.update_config(lambda _: {"a": 1})):
        with pytest.raises(StoreDamaged, match="Correct it by hand, or move it away") as error:
            use()
        assert str(path) in str(error.value)

    assert text == path.read_text("utf-8")
    assert len(store.verify()) == 1


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"version": 1, "summaries": {}}', '{"summaries": ["text"]}']
)
def test_damaged_summaries_are_named_and_never_overwritten(store: Store, text: str) -> None:
    store.folder.mkdir()
    path = store.folder / "summaries.json"
    path.write_text(text, encoding="utf-8")

    for use in (store.summaries, lambda: store.add_summary({"session": "s1"})):
        with pytest.raises(StoreDamaged, match=r"summaries\.json"):
            use()

    assert text == path.read_text("utf-8")
    assert len(store.verify()) == 1


def test_files_of_a_newer_version_are_left_alone(store: Store) -> None:
    store.folder.mkdir()
    for name in ("config.json", "summaries.json"):
        (store.folder / name).write_text('{"version": 2}', encoding="utf-8")

    for use in (
        store.read_config,
        store.summaries,
        lambda: store.update_config(dict),
        lambda: store.add_summary({}),
    ):
        with pytest.raises(StoreTooNew, match="CONTEXT_COMPRESSION_DIR"):
            use()

    assert (store.folder / "config.json").read_text("utf-8") == '{"version": 2}'
    assert len(store.verify()) == 2


def test_a_change_that_fails_leaves_the_config_as_it_was(store: Store) -> None:
    store.update_config(lambda _: {"a": 1})

    with pytest.raises(ZeroDivisionError):
        store.update_config(lambda values: {"a": 1 // 0})

    assert store.read_config() == {"a": 1}
    store.update_config(lambda _: {"a": 2})


def test_summaries_come_newest_first(store: Store) -> None:
    for number, session in enumerate(["a", "b", "a"]):
        store.add_summary({"session": session, "content": f"lone \ud800 {number}"})

    everything = store.summaries()

    assert [s["content"] for s in everything] == ["lone \ud800 2", "lone \ud800 1", "lone \ud800 0"]
    assert everything[:2] == store.summaries(limit=2)
    assert [everything[0], everything[2]] == store.summaries(session="a")
    assert [] == store.summaries(session="c") == store.summaries(limit=0)


def test_a_place_that_cannot_be_written_is_named_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a file", encoding="utf-8")

    for folder in (tmp_path / "file", tmp_path / "file" / ".compression"):
        store = Store(folder)
        for use in (
            lambda store=store: store.update_config(dict),
            lambda store=store: store.add_summary({}),
            lambda store=store: store.session("s1").append({"type": "message"}),
            lambda store=store: store.session("s1").write_originals(1, NOON, []),
            lambda store=store: store.session("s1").write_offloaded("c3f9", ""),
            lambda store=store: store.session("s1").locked().__enter__(),
        ):
            with pytest.raises(StoreUnwritable, match="CONTEXT_COMPRESSION_DIR") as error:
                use()
            assert str(folder) in str(error.value)
        with pytest.raises(StoreUnwritable, match="a file stands where"):
            store.read_config()
        assert len(store.verify()) == 3

    assert (tmp_path / "file").read_text("utf-8") == "a file"


def test_a_ref_is_found_in_the_newest_session_that_archived_it(store: Store) -> None:
    for time, (id, ref) in enumerate([("a", "c3f91a20"), ("b", "c3f91a20"), ("c", "c3f9ffff")]):
        log = store.session(id)
        log.append({"type": "compression", "refs": {ref: {}}})
        os.utime(log.folder / "events.jsonl", (time, time))

    located = [store.locate(ref) for ref in ("c3f91a20", "c3f91", "c3f9f", "0000", "not a ref")]

    assert [log.id if log else None for log in located] == ["b", "b", "c", None, None]
    with pytest.raises(UnknownRef, match="c3f91a20, c3f9ffff"):
        store.locate("c3f9")


def test_verify_is_silent_about_a_sound_folder_and_names_what_is_not(store: Store) -> None:
    log = store.session("s1")
    log.append({"type": "message"})
    names = [log.write_originals(n, NOON, [f"message {n}"]) for n in (1, 2, 3)]
    log.append_ledger([{"kind": "path"}])
    (log.folder / ".new-of-a-killed-process").write_text("half", encoding="utf-8")
    assert store.verify() == []

    (log.folder / names[0]).write_text('["message one"]', encoding="utf-8")
    (log.folder / names[1]).write_text('["mess', encoding="utf-8")
    (log.folder / names[2]).unlink()
    for name in ("events.jsonl", "ledger.jsonl"):
        with open(log.folder / name, "a", encoding="utf-8") as file:
            file.write("torn")
    (store.folder / "sessions" / "empty").mkdir()
    problems = store.verify()

    told = "\n".join(problems)
    assert len(problems) == 6
    assert "sessions/s1/events.jsonl: the last line is torn (4 bytes)" in told
    assert "sessions/s1/ledger.jsonl: the last line is torn (4 bytes)" in told
    assert f"sessions/s1/{names[0]} was changed: its hash does not match the log's" in told
    assert f"{names[1]} is not JSON" in told
    assert f"{names[2]} is missing" in told
    assert "sessions/empty/events.jsonl is missing" in told


@pytest.mark.parametrize("level", [("sessions",), ("sessions", "s")])
def test_nothing_is_written_through_a_link_inside(
    level: tuple[str, ...], store: Store, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    link = store.folder.joinpath(*level)
    link.parent.mkdir(parents=True)
    link.symlink_to(elsewhere)

    with pytest.raises(StoreError, match="is a link"):
        store.session("s").append({"type": "message"})

    assert list(elsewhere.iterdir()) == []


def test_a_link_to_a_device_in_place_of_a_file_is_not_followed(store: Store) -> None:
    folder = store.folder / "sessions" / "s"
    folder.mkdir(parents=True)
    for path in (store.folder / "config.json", folder / "events.jsonl"):
        path.symlink_to("/dev/zero")

    for use in (store.read_config, store.session("s").events, store.session("s").refs):
        with pytest.raises(StoreDamaged, match="is a link"):
            use()


def test_a_summary_without_a_text_is_told_and_not_returned(store: Store) -> None:
    store.add_summary({"session": "s", "content": "whole"})
    store.add_summary({"session": "s", "content": "to be cut"})
    file = store.folder / "summaries.json"
    file.write_text(file.read_text("utf-8").replace('"content": "to be cut"', '"x": 1'), "utf-8")

    assert [each["content"] for each in store.summaries()] == ["whole"]
    assert store.verify() == ["summaries: summary 2 has no text"]


@pytest.mark.skipif(os.name == "nt", reason="Windows makes links only for administrators")
def test_what_becomes_a_link_or_a_pipe_while_it_is_opened_is_not_read(tmp_path: Path) -> None:
    place, outside = tmp_path / "place", tmp_path / "secret"
    outside.write_text("a secret")
    for becomes in (lambda: place.symlink_to(outside), lambda: os.mkfifo(place), place.mkdir):
        becomes()
        with pytest.raises(StoreDamaged):
            opened(place)
        place.rmdir() if place.is_dir() and not place.is_symlink() else place.unlink()
    place.write_text("harmless")
    with opened(place) as file:
        place.unlink()
        place.symlink_to(outside)
        assert file.read() == b"harmless"
