"""What a clone may bring along to reach beyond itself: journals, links, pointers, lists."""

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from context_compression import Session
from context_compression.errors import StoreError
from context_compression.store import Store, store_folder_for
from context_compression.workspace import Workspace

HOUR = 3_600
ENVIRON = {name: os.environ[name] for name in ("PATH",)}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def clone(home: Path) -> Path:
    """A project whose store somebody else made, with one text in it."""
    folder = home / "clone"
    (folder / ".git").mkdir(parents=True)
    Session(folder / ".compression", "theirs").offload("a zebra crossing")
    return folder


def store_of(folder: Path, home: Path, **environ: str) -> Store:
    return Workspace.here(cwd=folder, home=home, environ=environ).store


def test_the_index_of_a_clone_is_not_opened_and_a_search_finds_the_same(
    clone: Path, home: Path
) -> None:
    precious = home / "precious.txt"
    precious.write_text("mine", encoding="utf-8")
    index = clone / ".compression/search.sqlite"
    with sqlite3.connect(index) as base:
        base.execute("CREATE TABLE t (x)")
    base.close()
    before = index.read_bytes()
    journal = index.with_name("search.sqlite-journal")
    journal.write_bytes(hot_journal(str(precious)))

    found = store_of(clone, home).search("zebra")

    assert [hit.session for hit in found.hits] == ["theirs"]
    assert "this user did not make the folder" in str(found.note)
    assert precious.read_text("utf-8") == "mine"
    assert (index.read_bytes(), journal.exists()) == (before, True)


def hot_journal(named: str) -> bytes:
    """A journal that asks for the deletion of the file it names, as SQLite reads it."""
    name = named.encode()
    header = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(4) + bytes(4) + (1).to_bytes(4, "big")
    header += (512).to_bytes(4, "big") + (4096).to_bytes(4, "big")
    tail = (1).to_bytes(4, "big") + name + len(name).to_bytes(4, "big")
    tail += sum(name).to_bytes(4, "big") + b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
    return header.ljust(512, b"\0") + tail


def victim(home: Path) -> Path:
    """A folder of the user's with files that look like what killed work leaves behind."""
    folder = home / "victim"
    (folder / "x").mkdir(parents=True)
    for name in ("a.log", "b.compression", ".new-1", "x/.new-2", "x/events.jsonl"):
        path = folder / name
        path.write_text("mine", encoding="utf-8")
        os.utime(path, (0, 0))
    return folder


@pytest.mark.parametrize("inside", [".locks", "sessions", "sessions/x", "sessions/theirs"])
def test_nothing_is_deleted_or_read_through_a_link(clone: Path, home: Path, inside: str) -> None:
    folder = victim(home)
    before = sorted(path.name for path in folder.rglob("*"))
    link = clone / ".compression" / inside
    if link.exists():
        shutil.rmtree(link)
    link.symlink_to(folder)
    store = store_of(clone, home)

    for deed in (
        lambda: store.prune(90 * 24 * HOUR),
        lambda: store.delete("x"),
        lambda: store.session("x").append({"type": "message"}),
        lambda: store.sessions(),
        lambda: store.verify(),
    ):
        try:
            deed()
        except StoreError as error:
            assert "link" in str(error)

    assert sorted(path.name for path in folder.rglob("*")) == before
    assert (folder / "x/events.jsonl").read_text("utf-8") == "mine"


def test_a_git_file_that_names_its_own_folder_leads_to_no_other_store(home: Path) -> None:
    secret, evil = home / "secret", home / "evil"
    (secret / ".git").mkdir(parents=True)
    Session(secret / ".compression", "s").offload("launch code")
    (evil / "g").mkdir(parents=True)
    (evil / ".git").write_text("gitdir: g\n", encoding="utf-8")
    (evil / "g/gitdir").write_text("../.git\n", encoding="utf-8")
    (evil / "g/commondir").write_text("../../secret/.git\n", encoding="utf-8")

    assert store_folder_for(evil, home=home, environ={}) == evil / ".compression"


def test_a_relative_folder_in_the_environment_is_not_followed_through_a_link(
    clone: Path, home: Path
) -> None:
    (home / ".ssh").mkdir()
    (clone / "ctx").symlink_to(home / ".ssh")

    place = store_folder_for(clone, home=home, environ={"CONTEXT_COMPRESSION_DIR": "ctx/inner"})

    assert place == home / ".compression"


@pytest.mark.parametrize("there", ["/dev/stdin", "pipe"])
def test_an_id_that_never_ends_is_none(clone: Path, home: Path, there: str) -> None:
    id = clone / ".compression/.locks/id"
    id.unlink()
    (clone / ".compression/config.json").write_text("{}", encoding="utf-8")
    if there == "pipe":
        os.mkfifo(id)
    else:
        id.symlink_to(there)

    assert "this user did not make" in store_of(clone, home).not_applied()


def configured(home: Path, settings: Callable[[Path], object]) -> Workspace:
    """A project with a store of the user's own, into which a repository then brings settings."""
    folder = home / "project"
    folder.mkdir()
    git(folder, "init", "-q")
    Workspace.here(cwd=folder, home=home, environ={}).store.update_config(
        lambda _: {"keep_recent": 7}
    )
    settings(folder)
    return Workspace.here(cwd=folder, home=home, environ={})


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, env=ENVIRON, check=True)


@pytest.mark.parametrize("setting", ["index.version=4", "core.splitIndex=true", "core.bare=false"])
def test_what_a_repository_brings_is_seen_however_git_keeps_its_list(
    home: Path, setting: str
) -> None:
    def brought(folder: Path) -> None:
        (folder / ".compression-readme").write_text("x", encoding="utf-8")
        git(folder, "config", *setting.split("="))
        git(folder, "add", "-f", ".compression-readme", ".compression/config.json")

    workspace = configured(home, brought)

    assert "are in the repository" in workspace.store.not_applied()
    assert workspace.settings().keep_recent == 10


def test_a_folder_whose_name_only_ends_so_changes_nothing(home: Path) -> None:
    def brought(folder: Path) -> None:
        (folder / "t/x.compression").mkdir(parents=True)
        (folder / "t/x.compression/a").write_text("x", encoding="utf-8")
        git(folder, "add", "-f", "t")

    assert configured(home, brought).settings().keep_recent == 7


def test_a_folder_unpacked_once_more_in_its_place_is_not_the_one_that_was_made(home: Path) -> None:
    def unpacked(folder: Path) -> None:
        shutil.make_archive(str(home / "packed"), "tar", folder / ".compression")
        shutil.rmtree(folder / ".compression")
        shutil.unpack_archive(str(home / "packed.tar"), folder / ".compression", filter="data")
        (folder / ".compression").chmod(0o700)

    workspace = configured(home, unpacked)

    assert workspace.settings().keep_recent == 10
