"""A link put in the place of a file, or of a folder above it, between the check and the reading."""

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest
from opencode_database import Host

from context_compression.errors import ContextCompressionError, TranscriptError
from context_compression.hosts import Readings
from context_compression.hosts.claude_code.hooks.outputs import saved_text
from context_compression.hosts.opencode.database import title_of
from context_compression.transcripts import Access, opened_once

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="Windows opens no file within a folder"),
    pytest.mark.slow,
]
SECRET = '{"role": "user", "content": "a secret"}\n'
HARMLESS = '{"role": "user", "content": "harmless"}\n'
TIMES = 4_000


@contextmanager
def swapping(place: Path, outside: Path) -> Generator[None]:
    """Put a file and a link to a file outside in the same place, in turn and all the time."""
    ended = Event()
    harmless = place.read_bytes()

    def swap() -> None:
        link, file = place.with_name("link"), place.with_name("file")
        while not ended.is_set():
            link.symlink_to(outside)
            link.replace(place)
            file.write_bytes(harmless)
            file.replace(place)

    swapper = Thread(target=swap)
    swapper.start()
    try:
        yield
    finally:
        ended.set()
        swapper.join()


def by_access(place: Path) -> str:
    with opened_once(Access((place.parent,)).check(place)) as (file, _):
        return file.read().decode()


def as_transcript(place: Path) -> str:
    return Readings().look(Access((place.parent,)).check(place)).messages[0]["content"]


def by_hook(place: Path) -> str:
    return saved_text(str(place), place.parent) or ""


@pytest.mark.parametrize("door", [by_access, as_transcript, by_hook])
def test_a_link_that_is_swapped_in_never_shows_a_file_outside(
    door: Callable[[Path], str], tmp_path: Path
):
    project, outside = tmp_path / "project", tmp_path / "secret.jsonl"
    project.mkdir()
    outside.write_text(SECRET, encoding="utf-8")
    place = project / "race.jsonl"
    place.write_text(HARMLESS, encoding="utf-8")
    seen = {"harmless": 0, "refused": 0}

    with swapping(place, outside):
        for _ in range(TIMES if door is not as_transcript else TIMES // 8):
            try:
                shown = door(place)
            except (OSError, ContextCompressionError):
                shown = ""
            assert "a secret" not in shown
            seen["harmless" if shown else "refused"] += 1

    assert min(seen.values()) > 0  # both were there to be seen


def database(path: Path, title: str) -> Path:
    """A database of opencode with one session, which is in no other file."""
    host = Host(path)
    host.keep("session", title=title)
    host.db.execute("PRAGMA journal_mode = DELETE")
    host.db.close()
    return path


def test_a_database_behind_a_link_that_is_swapped_in_is_never_read(tmp_path: Path):
    (tmp_path / "project").mkdir()
    outside = database(tmp_path / "secret.db", "a secret")
    place = database(tmp_path / "project" / "opencode.db", "harmless")
    checked = Access((place.parent,)).check(place)
    seen = {"harmless": 0, "refused": 0}

    with swapping(place, outside):
        for _ in range(TIMES // 8):
            try:
                shown = title_of(checked, "ses_cafe")
            except TranscriptError:
                shown = ""
            assert shown in ("harmless", "")
            seen["harmless" if shown else "refused"] += 1

    assert min(seen.values()) > 0


def test_a_folder_that_became_a_link_is_not_entered(tmp_path: Path):
    (tmp_path / "project" / "inner").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.txt").write_text("a secret", encoding="utf-8")
    (tmp_path / "project" / "inner" / "a.txt").write_text("harmless", encoding="utf-8")
    checked = Access((tmp_path / "project",)).check(tmp_path / "project" / "inner" / "a.txt")
    (tmp_path / "project" / "inner").rename(tmp_path / "project" / "before")
    (tmp_path / "project" / "inner").symlink_to(tmp_path / "outside")

    with pytest.raises(OSError), opened_once(checked):
        pass
