"""A thread of Codex may go through several files; it is one conversation all the same."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from codex_rollouts import CodexFolder, Row, called, charged, compacted, id_of, said
from hypothesis import given
from hypothesis import strategies as st
from transcripts import shown

from context_compression import hosts
from context_compression.errors import TranscriptError
from context_compression.hosts import glance
from context_compression.hosts.codex import sessions
from context_compression.transcripts import damages

FIRST, FORK, NEXT, LAST = map(id_of, (1, 2, 3, 4))
ASKED = [said("user", "Find the port of the gateway."), *called("c1", "listening on 7441")]
ANSWERED = [*ASKED, said("assistant", "It is 7441."), charged(9_000)]
WHOLE = [
    "user | Find the port of the gateway.",
    "assistant | exec_command(c1)",
    "user | c1: listening on 7441",
    "assistant | It is 7441.",
]


@pytest.fixture
def codex(tmp_path: Path) -> CodexFolder:
    return CodexFolder(tmp_path / ".codex", tmp_path / "project")


def listed(codex: CodexFolder) -> list[tuple[str, Path]]:
    """Its sessions: id and file."""
    found = sessions({"CODEX_HOME": str(codex.folder)}, codex.folder.parent)
    return [(each.id, each.path) for each in found]


def test_a_fork_has_what_was_said_before_it(codex: CodexFolder):
    base = codex.write(FIRST, ANSWERED)
    fork = codex.write(FORK, [said("user", "And the host?"), charged(9_100)], base=base.base())

    transcript = hosts.read(fork.path)

    assert shown(transcript) == [*WHOLE, "user | And the host?"]
    assert (transcript.session_id, transcript.warnings) == (FORK, [])


def test_what_a_base_went_on_with_is_not_of_the_fork(codex: CodexFolder):
    base = codex.write(FIRST, [*ANSWERED, said("user", "Now close it.")])
    fork = codex.write(FORK, [said("user", "And the host?")], base=base.base(6))

    assert shown(hosts.read(fork.path)) == [*WHOLE, "user | And the host?"]
    assert shown(hosts.read(base.path)) == [*WHOLE, "user | Now close it."]


def test_a_base_has_a_base_in_any_of_the_folders(codex: CodexFolder):
    first = codex.write(FIRST, ANSWERED, archived=True)
    second = codex.write(FORK, [said("user", "And the host?")], base=first.base())
    subprocess.run(["zstd", "-q", "--rm", second.path], check=True)
    third = codex.write(NEXT, [said("user", "And why?")], base={**_named(FORK), **_end(8)})

    assert shown(hosts.read(third.path)) == [*WHOLE, "user | And the host?", "user | And why?"]


def _named(id: str) -> Row:
    return {"thread_id": id}


def _end(rows: int) -> Row:
    return {"end_ordinal_exclusive": rows, "end_byte_offset": 10**9}


def test_an_edited_prompt_takes_the_place_of_the_first_one(codex: CodexFolder):
    first = codex.write(FIRST, [*ANSWERED, said("user", "Close it."), said("assistant", "Done.")])
    edited = codex.write(NEXT, [said("user", "Leave it open.")], base=first.base(6), thread=FIRST)

    transcript = hosts.read(edited.path)

    assert shown(transcript) == [*WHOLE, "user | Leave it open."]
    assert transcript.session_id == FIRST
    assert listed(codex) == [(FIRST, edited.path)]


def test_the_file_begun_last_is_the_thread_whatever_was_touched_since(codex: CodexFolder):
    first = codex.write(FIRST, ANSWERED)
    edited = codex.write(NEXT, [said("user", "Leave it.")], base=first.base(), thread=FIRST)
    again = codex.write(LAST, [said("user", "Close it.")], base=first.base(3), thread=FIRST)
    for path, at in ((first.path, 9), (edited.path, 8), (again.path, 7)):
        os.utime(path, (at, at))

    assert listed(codex) == [(FIRST, again.path)]


def test_files_begun_in_the_same_moment_are_told_apart_by_their_ids(codex: CodexFolder):
    first = codex.write(FIRST, ANSWERED)
    later = codex.write(LAST, [said("user", "B")], base=first.base(), thread=FIRST, begun=5)
    codex.write(NEXT, [said("user", "A")], base=first.base(3), thread=FIRST, begun=5)

    assert listed(codex) == [(FIRST, later.path)]


def test_a_missing_base_is_said(codex: CodexFolder):
    base = codex.write(FIRST, ANSWERED)
    fork = codex.write(FORK, [said("user", "And the host?")], base=base.base())
    base.path.unlink()

    transcript = hosts.read(fork.path)

    assert shown(transcript) == ["user | And the host?"]
    [missing] = transcript.missing
    assert FIRST in missing and "missing" in missing
    assert missing in transcript.warnings


@pytest.mark.parametrize("base", [{"thread_id": 7}, {"segment": "x"}, "elsewhere", 3])
def test_a_base_that_is_named_in_another_way_is_said(codex: CodexFolder, base: object):
    codex.write(FIRST, ANSWERED)
    fork = codex.write(FORK, [said("user", "And the host?")])
    fork.path.write_text(
        fork.path.read_text().replace('"cwd"', f'"history_base": {json.dumps(base)}, "cwd"', 1)
    )

    assert "not known" in hosts.read(fork.path).missing[0]


@pytest.mark.parametrize("end", [{}, {"end_ordinal_exclusive": "3"}, {"end_ordinal_exclusive": -2},
                                 {"end_item": "x"}])  # fmt: skip
def test_an_end_of_a_base_that_is_named_in_another_way_is_said(codex: CodexFolder, end: Row):
    codex.write(FIRST, ANSWERED)
    fork = codex.write(FORK, [said("user", "And the host?")])
    base = json.dumps({**_named(FIRST), **end})
    fork.path.write_text(
        fork.path.read_text().replace('"cwd"', f'"history_base": {base}, "cwd"', 1)
    )

    transcript = hosts.read(fork.path)

    assert shown(transcript) == [*WHOLE, "user | And the host?"]
    assert "a row of the rollout" in transcript.missing[0]


def test_files_that_go_on_from_each_other_end_in_a_warning(codex: CodexFolder):
    one = codex.write(FIRST, [said("user", "A")], base={**_named(FORK), **_end(2)})
    codex.write(FORK, [said("user", "B")], base={**_named(FIRST), **_end(2)})

    transcript = hosts.read(one.path)

    assert "user | A" in shown(transcript)
    assert "itself" in transcript.missing[0]


def test_a_base_that_lost_its_last_rows_is_said(codex: CodexFolder):
    base = codex.write(FIRST, ANSWERED)
    fork = codex.write(FORK, [said("user", "And the host?")], base=base.base())
    kept = base.path.read_bytes().splitlines(keepends=True)[:3]
    base.path.write_bytes(b"".join(kept))

    assert "ends at row 2" in hosts.read(fork.path).missing[0]


def test_a_base_without_its_first_rows_is_said(codex: CodexFolder):
    base = codex.write(FIRST, ANSWERED)
    fork = codex.write(FORK, [said("user", "And the host?")], base=base.base())
    base.path.write_bytes(b"".join(base.path.read_bytes().splitlines(keepends=True)[2:]))

    assert "begins with row 2" in hosts.read(fork.path).missing[0]


def test_a_fork_that_grows_is_read_on(codex: CodexFolder):
    base = codex.write(FIRST, ANSWERED)
    fork = codex.write(FORK, [said("user", "And the host?")], base=base.base())
    readings = hosts.Readings()
    readings.look(fork.path)

    with fork.path.open("a") as file:
        file.write(json.dumps({"ordinal": 9} | said("assistant", "Localhost.")) + "\n")

    assert shown(readings.look(fork.path))[-2:] == [
        "user | And the host?",
        "assistant | Localhost.",
    ]
    assert len(readings.look(fork.path).messages) == 6


THREAD: list[Row] = [
    *ANSWERED,
    compacted(said("user", "Find the port of the gateway."), said("user", "A SUMMARY")),
    said("user", "Next."),
    *called("c2", "four\nlines\nof\noutput"),
    said("assistant", "Well."),
    charged(4_000),
    compacted(said("user", "ANOTHER SUMMARY")),
    said("user", "Last."),
    said("assistant", "Done."),
    charged(2_000),
]


@given(cuts=st.lists(st.integers(1, len(THREAD)), max_size=4, unique=True).map(sorted))
def test_however_a_thread_is_cut_into_files_the_same_conversation_is_read(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int]
):
    folder = tmp_path_factory.mktemp("codex")
    alone = CodexFolder(folder / "alone", folder).write(FIRST, THREAD)
    parts = CodexFolder(folder / "parts", folder)
    last = None
    for number, (start, stop) in enumerate(zip([0, *cuts], [*cuts, len(THREAD)], strict=True)):
        base = last.base() if last else None
        last = parts.write(id_of(number + 1), THREAD[start:stop], base=base)
    assert last

    whole, joined = hosts.read(alone.path), hosts.read(last.path)
    assert joined.messages == whole.messages
    assert (joined.usage, joined.window) == (whole.usage, whole.window)
    assert not joined.warnings
    of_whole, of_joined = hosts.history(alone.path), hosts.history(last.path)
    assert [s.messages for s in of_joined.stages] == [s.messages for s in of_whole.stages]
    assert len(of_joined.compactions) == 2


def test_the_listing_of_a_fork_of_a_long_thread_reads_no_more_than_its_end(codex: CodexFolder):
    long = [row for n in range(40) for row in called(f"x{n}", "word " * 8_000)]
    first = codex.write(FIRST, [*ASKED, *long, compacted(said("user", "SUMMARY")), charged(5_000)])
    fork = codex.write(FORK, [said("user", "Go on."), charged(77_000)], base=first.base())

    ends = glance(fork.path)

    assert ends and ends.transcript.usage and ends.transcript.usage[0] == 77_010
    assert [path for path, _ in ends.files] == [first.path, fork.path]


def test_a_packed_rollout_without_its_binding_is_told_by_name(
    codex: CodexFolder, monkeypatch: pytest.MonkeyPatch
):
    made = codex.write(FIRST, ANSWERED)
    subprocess.run(["zstd", "-q", "--rm", made.path], check=True)
    packed = made.path.with_name(f"{made.path.name}.zst")
    assert shown(hosts.read(packed)) == WHOLE
    assert hosts.read(packed).session_id == FIRST

    for name in ("compression.zstd", "backports.zstd", "backports"):
        monkeypatch.setitem(sys.modules, name, None)
    assert damages()
    with pytest.raises(TranscriptError, match=r"Zstandard; `zstd -d --keep .*jsonl\.zst`"):
        hosts.read(packed)
    assert [path for _, path in listed(codex)] == [packed]


def test_a_packed_rollout_that_is_cut_off_is_read_up_to_there(codex: CodexFolder):
    made = codex.write(FIRST, [*ANSWERED, *called("c2", os.urandom(300_000).hex())])
    subprocess.run(["zstd", "-q", "--rm", made.path], check=True)
    packed = made.path.with_name(f"{made.path.name}.zst")
    packed.write_bytes(packed.read_bytes()[:-60_000])

    transcript = hosts.read(packed)

    assert shown(transcript)[:3] == WHOLE[:3]
    assert any("cut off" in warning for warning in transcript.warnings)
