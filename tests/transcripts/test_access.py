from pathlib import Path

import pytest

from context_compression.errors import PathNotAllowed
from context_compression.hosts import Access


def test_a_file_in_an_allowed_folder_is_found_where_it_really_is(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    access = Access(roots=(tmp_path / "link",))

    found = access.check(str(tmp_path / "link" / "sub" / ".." / "chat.json"))

    assert found == (tmp_path / "real" / "chat.json").resolve()


def test_the_home_folder_may_be_written_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    access = Access(roots=(Path("~/chats"),))

    found = access.check("~/chats/a.json")

    assert found == (tmp_path / "chats" / "a.json").resolve()


@pytest.mark.parametrize(
    "path", ["../secret", "in/../../secret", "in/way-out/secret", "/etc/passwd"]
)
def test_no_way_leads_out_of_the_allowed_folders(path: str, tmp_path: Path):
    inside = tmp_path / "inside"
    (inside / "in").mkdir(parents=True)
    (inside / "in" / "way-out").symlink_to(tmp_path)
    access = Access(roots=(inside,))

    with pytest.raises(PathNotAllowed) as raised:
        access.check(inside / path)

    assert str(inside) in str(raised.value)
    assert "CONTEXT_COMPRESSION_ALLOWED_PATHS" in str(raised.value)
    assert "--allow" in str(raised.value)


def test_a_folder_whose_name_begins_alike_is_not_allowed(tmp_path: Path):
    access = Access(roots=(tmp_path / "chat",))

    with pytest.raises(PathNotAllowed):
        access.check(tmp_path / "chats" / "a.json")


@pytest.mark.parametrize("path", ["a\0b", "~nobody-of-that-name/x"])
def test_a_path_that_cannot_be_followed_is_not_allowed(path: str, tmp_path: Path):
    with pytest.raises(PathNotAllowed):
        Access(roots=(tmp_path,)).check(path)


def test_a_loop_of_links_is_not_allowed(tmp_path: Path):
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "inside" / "a")

    with pytest.raises(PathNotAllowed):
        Access(roots=(tmp_path / "inside",)).check(tmp_path / "inside" / "a")


def test_the_hosts_live_transcript_is_allowed_unless_switched_off(tmp_path: Path):
    live = tmp_path / "elsewhere" / "live.jsonl"

    assert Access(roots=()).check_current(live) == live.resolve()
    with pytest.raises(PathNotAllowed, match="switched off"):
        Access(roots=(), read_host_transcripts=False).check_current(live)


def test_the_home_of_nobody_is_allowed_as_a_folder_and_opens_nothing_else(tmp_path: Path):
    access = Access(roots=(Path("~nobody-of-this-name"), tmp_path))

    assert access.check(tmp_path / "chat.json") == (tmp_path / "chat.json").resolve()
    with pytest.raises(PathNotAllowed):
        access.check("/etc/passwd")
