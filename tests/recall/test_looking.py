"""What a search of a process sees of what hosts wrote since its last search."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from homes import ID, claude_session

from context_compression import Store
from context_compression.recall import looking
from context_compression.workspace import Workspace


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with a project, in which one session is about kestrels."""
    home = tmp_path / "home"
    (home / "work" / "app" / ".git").mkdir(parents=True)
    for name in ("XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "OPENCODE_DB"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    claude_session(home, home / "work" / "app", "Count the kestrels.")
    return home


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows by one with each look at all sessions."""
    taken: list[str] = []
    every: Callable[[Workspace], Any] = looking.sessions_of_hosts

    def counted(workspace: Workspace) -> Any:
        taken.append("look")
        return every(workspace)

    monkeypatch.setattr(looking, "sessions_of_hosts", counted)
    monkeypatch.setattr(looking, "AGAIN", 1e6)
    return taken


def store_in(home: Path) -> Store:
    return Workspace.here(cwd=home / "work" / "app", environ=os.environ).store


def test_searches_share_a_look_as_long_as_nothing_changes(home: Path, looks: list[str]) -> None:
    store = store_in(home)

    found = [len(store.search("kestrels").hits) for _ in range(3)]

    assert found == [1, 1, 1]
    assert len(looks) == 1


def test_a_session_that_grew_is_searched_without_a_look_at_all(
    home: Path, looks: list[str]
) -> None:
    store = store_in(home)
    assert not store.search("plover").hits
    claude_session(home, home / "work" / "app", "Count the plovers by the sluice.")

    assert store.search("plover").hits
    assert len(looks) == 1


def test_a_session_that_began_or_ended_is_seen_at_once(home: Path) -> None:
    store = store_in(home)
    assert not store.search("dunlin").hits

    new = claude_session(home, home / "work" / "app", "Count the dunlins.", ID.format(2))
    assert store.search("dunlin").hits
    new.unlink()
    assert not store.search("dunlin").hits


def test_a_session_that_went_on_in_another_project_is_seen_no_more(home: Path) -> None:
    store = store_in(home)
    path = claude_session(home, home / "work" / "app", "Count the gannets.", ID.format(2))
    assert store.search("gannet").hits

    elsewhere = f'{{"type": "relocated", "relocatedCwd": "{home}/work/other"}}\n'
    path.write_text(path.read_text(encoding="utf-8") + elsewhere, encoding="utf-8")

    assert not store.search("gannet").hits


def test_an_index_that_is_deleted_is_made_again(home: Path) -> None:
    store = store_in(home)
    assert store.search("kestrels").hits
    for file in home.rglob("search.sqlite*"):
        file.unlink()

    assert store.search("kestrels").hits


def test_an_old_look_is_taken_again(
    home: Path, looks: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "AGAIN", 0)
    store = store_in(home)

    for _ in range(2):
        store.search("kestrels")

    assert len(looks) == 2
