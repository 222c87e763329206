"""What one session keeps on disk."""

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from full_disk import a_disk_that_takes
from hypothesis import given
from hypothesis import strategies as st

from context_compression.errors import (
    StoreDamaged,
    StoreError,
    StoreTooNew,
    StoreUnwritable,
    UnknownRef,
)
from context_compression.store import SessionLog, Store

NOON = "2026-11-21T12:00:00Z"


def said(text: str) -> dict[str, Any]:
    return {"type": "message", "created_at": NOON, "message": {"role": "user", "content": text}}


@pytest.fixture
def log(tmp_path: Path) -> SessionLog:
    return Store(tmp_path / ".compression").session("s1")


def test_nothing_is_created_by_reading(tmp_path: Path) -> None:
    store = Store(tmp_path / "deep" / ".compression")
    log = store.session("s1")

    seen = (log.exists(), log.events().items, log.ledger(), log.refs(), store.sessions())

    assert seen == (False, [], [], {}, [])
    assert (store.read_config(), store.summaries(), store.verify()) == ({}, [], [])
    store.delete("s1")
    log.append()
    assert list(tmp_path.iterdir()) == []


def test_the_first_line_says_whose_file_it_is_and_in_which_format(log: SessionLog) -> None:
    log.append(said("hello"))

    header = json.loads((log.folder / "events.jsonl").read_text("utf-8").splitlines()[0])

    assert header == {"type": "session", "version": 1, "id": "s1", "created_at": NOON}


def test_folders_and_files_are_the_users_alone(log: SessionLog) -> None:
    store = Store(log.folder.parents[1])
    log.append(said("hello"))
    log.write_originals(1, NOON, ["x"])
    log.write_offloaded("c3f9", "text")
    log.append_ledger([{"kind": "path"}])
    store.update_config(dict)
    store.add_summary({"session": "s1"})

    modes = {
        (path.is_dir(), stat.S_IMODE(path.stat().st_mode))
        for path in [log.folder.parents[1], *log.folder.parents[1].rglob("*")]
    }

    assert {(True, 0o700), (False, 0o600)} == modes
    assert (log.folder.parents[1] / ".gitignore").read_text("utf-8") == "*\n"


def test_a_file_that_became_another_is_read_anew(log: SessionLog) -> None:
    log.append(said("one"))
    other = Store(log.folder.parents[1]).session("s1")
    other.events()

    log.backend.remove(log.id, 1, lambda: None)
    log.append(said("uno"), said("due"))

    assert [said("uno"), said("due")] == other.events().items


@pytest.mark.parametrize(
    "text", ["a", "\U0001f525 \u6211\u4eec", 'say "a\\b"\tand', "half \ud83d of one"]
)
def test_a_text_is_found_in_the_bytes_of_a_log_however_it_was_written_there(
    log: SessionLog, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr("context_compression.store.json_lines.CHUNK_BYTES", 7)
    assert not log.holds(text)
    log.append(said("what else was said"))
    log.append(said(f"It is {text}."), said(f"It is {text}. \ude00"))

    assert log.holds(text)
    assert not log.holds(f"{text}, no")


def test_a_torn_last_line_is_reported_and_kept(log: SessionLog) -> None:
    log.append(said("one"))
    with open(log.folder / "events.jsonl", "a", encoding="utf-8") as file:
        file.write('{"type":"message","cont')

    torn = log.events()
    log.append(said("two"))
    closed = log.events()

    where = '(23 bytes), it was not lost: \'{"type":"message","cont\''
    assert [f"events.jsonl: the last line is torn {where}"] == torn.warnings
    assert [said("one")] == torn.items
    assert [f"events.jsonl: line 3 cannot be read {where}"] == closed.warnings
    assert [said("one"), said("two")] == closed.items


def test_wherever_a_crash_cuts_the_log_whole_lines_stay_and_it_goes_on(tmp_path: Path) -> None:
    Store(tmp_path).session("whole").append(said("one"), said("zwölf"))
    data = (tmp_path / "sessions" / "whole" / "events.jsonl").read_bytes()
    ends = [place for place, byte in enumerate(data) if byte == ord("\n")]

    for cut in range(1, len(data)):
        log = Store(tmp_path).session("cut")
        log.backend.remove(log.id, 1, lambda: None)
        log.append(said("soon gone"))
        path = log.folder / "events.jsonl"
        path.write_bytes(data[:cut])

        read = log.events()
        log.append(said("more"))
        more = log.events()

        whole = [said("one"), said("zwölf")][: max(0, sum(end <= cut for end in ends) - 1)]
        assert whole == read.items
        assert (data[cut - 1 : cut] != b"\n") == len(read.warnings)
        assert [*whole, said("more")] == more.items
        assert path.read_bytes().startswith(data[:cut])
        assert b'\n{"type":"session","version":1' in b"\n" + path.read_bytes()


def test_a_damaged_line_in_the_middle_does_not_hide_the_others(log: SessionLog) -> None:
    log.append(said("one"), said("two"), said("three"))
    path = log.folder / "events.jsonl"
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([*lines[:2], b"\x00\xff\x00", b"", b"[1]", *lines[3:]]))

    events = log.events()

    assert [said("one"), said("three")] == events.items
    assert [warning.split(": ")[1][:6] for warning in events.warnings] == ["line 3", "line 5"]


def test_what_a_newer_version_wrote_is_neither_read_nor_written(log: SessionLog) -> None:
    log.append(said("one"))
    path = log.folder / "events.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"version":1', b'"version":2'))
    before = path.read_bytes()

    with pytest.raises(StoreTooNew, match=r"\(format 2, this one knows 1\): upgrade, or use"):
        log.events()
    with pytest.raises(StoreTooNew):
        log.append(said("two"))

    assert before == path.read_bytes()


def test_a_full_disk_leaves_the_log_as_it_was(log: SessionLog) -> None:
    log.append(said("one"))
    path = log.folder / "events.jsonl"
    before = path.read_bytes()

    with a_disk_that_takes(len(before) + 100), pytest.raises(StoreUnwritable) as refused:
        log.append(said("two"), said("x" * 1000))

    assert before == path.read_bytes()
    assert str(path) in str(refused.value)
    assert "CONTEXT_COMPRESSION_DIR" in str(refused.value)
    log.append(said("two"))
    assert [said("one"), said("two")] == log.events().items


def test_a_full_disk_leaves_no_half_of_an_archive(log: SessionLog) -> None:
    log.append(said("one"))
    before = sorted(path.name for path in log.folder.iterdir())

    with a_disk_that_takes(1000), pytest.raises(StoreUnwritable):
        log.write_originals(1, NOON, ["x" * 2000])

    assert before == sorted(path.name for path in log.folder.iterdir())


def test_an_archive_that_the_log_cannot_name_is_withdrawn(log: SessionLog) -> None:
    log.append(said("x" * 1000))

    size = (log.folder / "events.jsonl").stat().st_size
    with a_disk_that_takes(size), pytest.raises(StoreUnwritable):
        log.write_originals(1, NOON, ["short"])

    assert [path.name for path in log.folder.iterdir()] == ["events.jsonl"]


def test_a_link_in_place_of_the_log_is_not_followed(log: SessionLog, tmp_path: Path) -> None:
    log.folder.mkdir(parents=True)
    (tmp_path / "elsewhere").write_text("mine", encoding="utf-8")
    (log.folder / "events.jsonl").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(StoreUnwritable):
        log.append(said("one"))

    assert (tmp_path / "elsewhere").read_text("utf-8") == "mine"


def test_events_without_a_type_or_with_one_of_ours_are_refused(log: SessionLog) -> None:
    for event in ({"text": "no type"}, {"type": "session"}, {"type": "originals"}):
        with pytest.raises(StoreError, match='"session" and "originals" are reserved'):
            log.append(said("fine"), event)

    assert not log.exists()


def test_originals_are_an_indented_list_and_nothing_else(log: SessionLog) -> None:
    messages = [{"role": "user", "content": "größer 重要 👍"}, {"role": "tool", "content": None}]

    name = log.write_originals(3, "2026-11-21T10:18:02.75+01:00", messages)

    assert name == "compact-2026-11-21T09-18-02Z-3.json"
    assert json.dumps(messages, indent=2, ensure_ascii=False) == (log.folder / name).read_text(
        "utf-8"
    )
    assert messages == log.read_originals(name)
    assert log.events().items == []


def test_a_time_that_is_none_is_refused(log: SessionLog) -> None:
    with pytest.raises(StoreError, match="'yesterday' is not an ISO 8601 time"):
        log.write_originals(1, "yesterday", [])


def test_missing_or_damaged_originals_are_an_error_that_names_the_file(log: SessionLog) -> None:
    name = log.write_originals(1, NOON, ["first"])

    (log.folder / name).write_text('{"not": "a list"}', encoding="utf-8")
    with pytest.raises(StoreDamaged, match=f"{name} is not a list of messages"):
        log.read_originals(name)
    (log.folder / name).unlink()
    with pytest.raises(StoreDamaged, match=f"{name} is missing"):
        log.read_originals(name)


def test_offloaded_text_is_written_to_the_byte(log: SessionLog) -> None:
    text = "a\r\nb\rc\n\x00\u2028 \ud800 ende"

    path = log.write_offloaded("c3f9a1", text)

    assert text.encode("utf-8", "surrogatepass") == Path(path).read_bytes()
    assert str(log.folder / "offloaded" / "c3f9a1.txt") == log.offloaded_path("c3f9a1") == path


def test_removing_offloaded_files_names_what_could_not_be_removed(log: SessionLog) -> None:
    log.write_offloaded("aaaa", "text")
    Path(log.offloaded_path("bbbb")).mkdir()

    removed, warnings = log.remove_offloaded(["aaaa", "bbbb", "cccc"])

    assert removed == ["aaaa"]
    assert [log.offloaded_path("bbbb")] == [warning.split(" ")[0] for warning in warnings]
    assert not Path(log.offloaded_path("aaaa")).exists()


def test_a_ref_can_be_cut_to_four_characters(log: SessionLog) -> None:
    log.append({"type": "compression", "refs": {"c3f91a20": {"file": "x"}, "c3f91b77": {}}})
    log.append({"type": "offload", "refs": {"77aa0b12": {"tokens": 3}}}, said('"refs"'))
    log.append({"type": "restore", "refs": {"00000000": {}}}, {"type": "offload", "refs": None})

    found = [log.full_ref(ref) for ref in ("c3f91a20", "C3F91A", "77aa", "77a", "0000", "zzzz")]

    assert found == ["c3f91a20", "c3f91a20", "77aa0b12", None, None, None]
    assert log.refs()["77aa0b12"] == {"tokens": 3}
    with pytest.raises(UnknownRef, match="take one: c3f91a20, c3f91b77"):
        log.full_ref("c3f9")


def test_an_append_inside_the_compressions_lock_goes_through(log: SessionLog) -> None:
    with log.locked():
        log.append(said("one"))
        log.write_originals(1, NOON, ["x"])

    with log.locked(timeout=0):
        assert [said("one")] == log.events().items


@pytest.mark.parametrize(
    "id", ["", ".", "..", "../s1", "a/b", "a\\b", ".hidden", "a" * 129, "a\n", "C:", "ü", "a\x00"]
)
def test_an_id_or_ref_cannot_lead_out_of_the_folder(log: SessionLog, id: str) -> None:
    uses: list[Callable[[str], object]] = [
        Store(log.folder.parents[1]).session,
        Store(log.folder.parents[1]).delete,
        log.offloaded_path,
        log.read_originals,
        lambda ref: log.write_offloaded(ref, "text"),
        lambda ref: log.remove_offloaded([ref]),
    ]

    for use in uses:
        with pytest.raises(StoreError, match="does not begin with a dot"):
            use(id)

    assert not log.folder.parents[1].exists()


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(blacklist_categories=())).filter(
        lambda text: text == json.loads(json.dumps(text))
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@given(st.lists(json_values, max_size=4))
def test_every_json_value_comes_back_as_it_went_in(values: list[Any]) -> None:
    with TemporaryDirectory() as folder:
        log = Store(folder).session("s1")

        log.append(*({"type": "message", "value": value} for value in values))
        name = log.write_originals(1, NOON, values)

        fresh = Store(folder).session("s1")
        read = [event["value"] for event in fresh.events().items]
        assert repr(values) == repr(read) == repr(fresh.read_originals(name))
        assert Store(folder).verify() == []


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps open files from being replaced")
def test_writing_leaves_no_temporary_files(log: SessionLog) -> None:
    log.write_originals(1, NOON, ["x"])
    log.write_offloaded("c3f9", "x")
    Store(log.folder.parents[1]).update_config(lambda _: {"a": 1})

    assert [
        path for path in log.folder.parents[1].rglob("*") if path.name.startswith(".new-")
    ] == []
