"""Bytes of a store that change by themselves: told, and never used without a word.

Every byte of a small log is changed in turn, in three ways; then lines are taken out of it.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from context_compression import Session
from context_compression.errors import StoreError
from context_compression.store import Store
from context_compression.testing import Run, tool_step

pytestmark = pytest.mark.slow

TALK = [
    {"role": "user", "content": "Why is the build slow?"},
    *tool_step([Run("a", "Bash", {"command": "make"}, "one part done\n" * 60)], "anthropic"),
    *tool_step([Run("b", "Bash", {"command": "make"}, "another done\n" * 60)], "anthropic"),
    *tool_step([Run("c", "Bash", {"command": "ls"}, "a.py")], "anthropic"),
    {"role": "user", "content": "Go on."},
]
MORE = {"role": "assistant", "content": "It is the linker."}
STEP = 29
"""Every so many-th byte is changed; a number that shares no factor with what repeats."""


def a_store(folder: Path) -> Store:
    """With a compression, its undo, another one, a text, a rewind and what followed."""
    store = Store(folder)
    session = Session(store, "s")
    small = {"max_tool_output": 200, "offload_min_tokens": 50, "offload_preview_tokens": 10}
    session.compress(messages=TALK, strategy="truncate", target_tokens=300, settings=small)
    session.undo()
    session.compress(strategy="offload", target_tokens=300, settings=small)
    session.offload("a text of its own")
    session.record(MORE)
    session.follow([*TALK, {"role": "assistant", "content": "It is not."}])
    return store


def everything(store: Store) -> dict[str, Any]:
    """All that a store says, read anew."""
    session = Session(Store(store.folder), "s")
    state = session.state()
    found: dict[str, Any] = {"view": state.view, "recorded": state.recorded, "refs": {}}
    for ref in state.refs:
        try:
            found["refs"][ref] = session.original(ref)
        except StoreError as error:
            found["refs"][ref] = error
    return found


def changed(data: bytes, at: int) -> Iterator[bytes]:
    """The data with one byte changed: one bit, the case of a letter, a digit."""
    for mask in (0x01, 0x20, 0x80):
        yield b"%b%c%b" % (data[:at], data[at] ^ mask, data[at + 1 :])


def test_a_changed_byte_of_a_log_is_told_or_changes_nothing(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    path = tmp_path / "sessions/s/events.jsonl"
    sound, before = path.read_bytes(), everything(store)
    counts = {"told": 0, "nothing changed": 0}
    messages = {json.dumps(message) for message in (*before["recorded"], MORE)}
    for at in range(0, len(sound), STEP):
        for data in changed(sound, at):
            path.write_bytes(data)
            now, told = everything(store), Store(tmp_path).verify()
            assert told or now == before, (at, data[max(0, at - 40) : at + 40])
            counts["told" if told else "nothing changed"] += 1
            assert messages.issuperset(map(json.dumps, now["recorded"])), at
            for ref, original in now["refs"].items():
                assert isinstance(original, StoreError) or original == before["refs"][ref]
    print(counts)
    assert counts["told"] > 30 * counts["nothing changed"]


def test_a_changed_byte_of_a_file_of_originals_is_told_and_no_other_text_comes_back(
    tmp_path: Path,
) -> None:
    store = a_store(tmp_path)
    sound_store = everything(store)
    before, messages = sound_store["refs"], [*sound_store["recorded"], MORE]
    for path in sorted((tmp_path / "sessions/s").glob("compact-*.json")):
        sound = path.read_bytes()
        for at in range(0, len(sound), STEP):
            path.write_bytes(next(changed(sound, at)))
            now = everything(store)
            assert Store(tmp_path).verify()
            assert all(message in messages for message in now["recorded"])
            for ref, original in now["refs"].items():
                assert isinstance(original, StoreError) or original == before[ref]
        path.write_bytes(sound)


def test_what_is_left_of_a_log_that_lost_a_line_is_applied_to_no_other_messages(
    tmp_path: Path,
) -> None:
    store = a_store(tmp_path)
    path = tmp_path / "sessions/s/events.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    events: list[dict[str, Any]] = [json.loads(line) for line in lines]
    known = [event.get("message") for event in events]
    ever: list[Any] = []  # stood in a view
    for stop in range(1, len(lines)):
        path.write_bytes(b"".join(lines[: stop + 1]))
        ever += Session(Store(tmp_path), "s").view()
    for lost in range(1, len(lines)):
        path.write_bytes(b"".join([*lines[:lost], b"lost\n", *lines[lost + 1 :]]))
        state = Session(Store(tmp_path), "s").state()
        assert any("cannot be read" in warning for warning in state.warnings)
        for message in state.view:
            assert message in known or message in ever
        if events[lost]["type"] == "messages":
            assert state.compressions == []
    assert store.session("s").exists()


def test_verify_restores_every_ref_and_names_those_that_do_not_come_back(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    refs = Session(store, "s").state().refs
    held = {ref for ref, about in refs.items() if about.get("file")}
    first, second = sorted((tmp_path / "sessions/s").glob("compact-*.json"))
    second.unlink()

    assert ["is missing" in problem for problem in Store(tmp_path).verify()] == [True]
    assert {type(original) for original in everything(store)["refs"].values()} == {str, dict}

    first.unlink()
    *missing, lost = sorted(Store(tmp_path).verify())

    assert ["is missing" in problem for problem in missing] == [True, True]
    assert "cannot be restored" in lost
    assert {ref for ref in refs if ref in lost} == held


def test_a_line_of_an_older_version_is_read_as_it_is(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    path = tmp_path / "sessions/s/events.jsonl"
    before = everything(store)
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    for line in lines:
        for name in ("crc32", "over", "of"):
            line.pop(name, None)
        for about in line.get("refs", {}).values():
            about.pop("sha256", None)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")

    assert everything(store) == before
    assert Store(tmp_path).verify() == []
    session = Session(Store(tmp_path), "s")
    session.record(MORE)
    assert session.state().recorded == [*before["recorded"], MORE]


@pytest.mark.parametrize("name", ["crc32", "CRC32", "sum"])
def test_a_checksum_is_no_part_of_what_an_event_says(tmp_path: Path, name: str) -> None:
    log = Store(tmp_path).session("s")
    log.append({"type": "other", "created_at": "2026-11-01T12:00:00Z", name: "mine"})

    [event] = Store(tmp_path).session("s").events().items

    assert event.get(name) == (None if name == "crc32" else "mine")


def test_a_compression_behind_a_lost_rewind_is_applied_to_no_other_messages(tmp_path: Path) -> None:
    def branch(name: str) -> list[dict[str, Any]]:
        runs = [
            Run(f"{name}{n}", "Bash", {"command": name}, f"{name} done\n" * 90) for n in range(5)
        ]
        return [message for run in runs for message in tool_step([run], "anthropic")]

    session = Session(tmp_path, "s")
    session.follow([*TALK, *branch("abandoned")])
    session.follow([*TALK, *branch("taken")])
    session.compress(strategy="extract", target_tokens=700, force=True)
    assert session.state().compressions
    path = tmp_path / "sessions/s/events.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(b"lost\n" if b'"type":"rewind"' in line else line for line in lines))

    assert Session(Store(tmp_path), "s").state().compressions == []
