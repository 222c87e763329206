"""Sessions in pieces: what a version shares with another, what damage costs, who may write."""

import io
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_compression.errors import NotOurs, StoreDamaged
from context_compression.store.kept import LARGEST, KeptSession, KeptSessions, WrittenFile, cut

LINE = 2_000


def lines(count: int, seed: int = 0) -> bytes:
    """Lines of a transcript that cannot be guessed from one another."""
    random = Random(seed)
    made = (f'{{"n":{n},"text":"{random.randbytes(LINE // 2).hex()}"}}\n' for n in range(count))
    return "".join(made).encode()


def added(
    kept: KeptSessions, data: bytes, id: str = "s-1", earlier: list[KeptSession] | None = None
) -> KeptSession:
    about = KeptSession("codex", id, f"/home/you/{id}.jsonl", 1.0, "/work/app", title=id)
    written = [WrittenFile(f"app/{id}.jsonl", io.BytesIO(data), (len(data), 1))]
    return kept.add(about, written, earlier or [])


@pytest.fixture
def kept(tmp_path: Path) -> KeptSessions:
    return KeptSessions(tmp_path / "share" / "kept")


def pieces_in(kept: KeptSessions) -> set[str]:
    return {path.stem for path in (kept.folder / "objects").glob("*/*.zst")}


@given(st.lists(st.binary(max_size=300)).map(b"\n".join))
def test_pieces_are_the_file(data: bytes) -> None:
    assert b"".join(cut(io.BytesIO(data))) == data


def test_a_file_comes_back_byte_for_byte(kept: KeptSessions) -> None:
    data = lines(2_500)

    session = added(kept, data)

    assert kept.unpacked(session).read_bytes() == data
    assert kept.sessions() == [session]
    assert len(session.files[0].pieces) > 2


def test_a_line_of_any_length_is_kept(kept: KeptSessions) -> None:
    data = b"x" * (LARGEST + 5) + b"\n" + b"short"

    assert kept.unpacked(added(kept, data)).read_bytes() == data


def test_what_grew_shares_its_pieces_and_replaces_what_it_contains(kept: KeptSessions) -> None:
    data = lines(5_000)
    first = added(kept, data[: len(data) // 2])  # ends within a line

    second = added(kept, data, earlier=[first])
    kept.sweep()

    assert kept.sessions() == [second]
    shared = {*first.files[0].pieces} & {*second.files[0].pieces}
    assert len(shared) == len(first.files[0].pieces) - 1
    assert pieces_in(kept) == {*second.files[0].pieces}


def test_what_was_rewritten_is_kept_beside_what_was_there(kept: KeptSessions) -> None:
    first = added(kept, lines(3_000))

    second = added(kept, lines(10, seed=9) + lines(3_000)[LINE * 200 :], earlier=[first])

    assert {each.name for each in kept.sessions()} == {first.name, second.name}
    assert {*first.files[0].pieces} & {*second.files[0].pieces}, "what stayed is shared"


def test_a_damaged_piece_is_named_and_costs_nothing_else(kept: KeptSessions) -> None:
    data = lines(2_500)
    hurt, whole = added(kept, data), added(kept, lines(50, seed=3), "s-2")
    first, *others = hurt.files[0].pieces
    path = kept.folder / "objects" / first[:2] / f"{first}.zst"
    path.write_bytes(path.read_bytes()[:-50])

    with pytest.raises(StoreDamaged, match=path.name):
        kept.unpacked(hurt)
    told: list[str] = []
    left = kept.unpacked(hurt, told).read_bytes()

    assert path.name in told[0]
    assert left == b"".join(map(kept.piece, others))
    assert left.startswith(b'{"n":'), "the rest begins with a line"
    assert kept.unpacked(whole).read_bytes() == lines(50, seed=3)


def test_a_piece_that_is_missing_is_named(kept: KeptSessions) -> None:
    session = added(kept, b"one line\n")
    [piece] = session.files[0].pieces
    path = kept.folder / "objects" / piece[:2] / f"{piece}.zst"
    path.unlink()

    with pytest.raises(StoreDamaged, match=f"{path} is missing"):
        kept.unpacked(session)


@pytest.mark.parametrize(
    "text",
    [b"{", b"[]", b'{"host":1}', b'{"version":1,"files":[]}', b'{"version":99}'],
    ids=["cut off", "a list", "other types", "no files", "newer"],
)
def test_a_damaged_manifest_is_told_and_no_piece_goes_with_it(
    kept: KeptSessions, text: bytes
) -> None:
    hurt, whole = added(kept, b"one\n"), added(kept, b"two\n", "s-2")
    path = kept.folder / "sessions" / f"{hurt.name}.json"
    path.write_bytes(text)

    sessions, problems = kept.read()
    kept.sweep()

    assert sessions == [whole]
    assert len(problems) == 1
    assert path.name in problems[0]
    assert len(pieces_in(kept)) == 2


def test_a_manifest_cannot_name_a_place_outside(kept: KeptSessions) -> None:
    session = added(kept, b"one\n")
    path = kept.folder / "sessions" / f"{session.name}.json"
    path.write_bytes(path.read_bytes().replace(b"app/s-1.jsonl", b"../../out.txt"))

    sessions, problems = kept.read()

    assert not sessions
    assert problems


def test_only_the_user_can_read_it(kept: KeptSessions) -> None:
    kept.unpacked(added(kept, b"one\n"))

    modes = {stat.S_IMODE(path.stat().st_mode) for path in kept.folder.rglob("*")}
    assert modes == {0o700, 0o600}
    assert stat.S_IMODE(kept.folder.stat().st_mode) == 0o700


@pytest.mark.skipif(os.name == "nt", reason="Windows has other rights")
def test_a_folder_that_others_may_write_to_is_refused(kept: KeptSessions) -> None:
    added(kept, b"one\n")
    kept.folder.chmod(0o777)

    with pytest.raises(NotOurs, match="chmod"):
        kept.sessions()


def test_a_link_is_not_followed(kept: KeptSessions, tmp_path: Path) -> None:
    elsewhere = KeptSessions(tmp_path / "elsewhere")
    added(elsewhere, b"one\n")
    kept.folder.parent.mkdir()
    kept.folder.symlink_to(elsewhere.folder)

    with pytest.raises(StoreDamaged, match="link"):
        kept.sessions()


def test_deleting_frees_what_no_other_version_has(kept: KeptSessions) -> None:
    shared = lines(3_000)
    one, other = added(kept, shared), added(kept, shared + lines(5, seed=2), "s-2")
    before = kept.stored()

    freed = kept.delete([other])

    assert freed == before - kept.stored() > 0
    assert kept.sessions() == [one]
    assert kept.unpacked(one).read_bytes() == shared
    assert kept.delete([one]) > 0
    assert not pieces_in(kept)


WORKER = """
import io, sys
from pathlib import Path
from random import Random
from context_compression.store.kept import KeptSessions, KeptSession, WrittenFile
kept, name = KeptSessions(Path(sys.argv[1])), sys.argv[2]
print("ready", flush=True)
earlier, data = [], b""
for n in range(int(sys.argv[3])):
    data += Random(f"{name} {n}").randbytes(50_000).hex().encode() + b"\\n"
    about = KeptSession("pi", name, f"/{name}", float(n))
    written = [WrittenFile(f"a/{name}", io.BytesIO(data), (len(data), n))]
    earlier = [kept.add(about, written, earlier)]
    if n % 5 == 4:
        kept.sweep()
    print(n, len(data), flush=True)
"""


def worker(kept: KeptSessions, name: str, rounds: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", WORKER, str(kept.folder), name, str(rounds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def noted(process: "subprocess.Popen[str]") -> Iterator[int]:
    """The sizes that a worker says it has kept."""
    assert process.stdout
    for line in process.stdout:
        if line != "ready\n":
            yield int(line.split()[1])


@pytest.mark.slow
def test_two_processes_keep_at_once(kept: KeptSessions) -> None:
    with worker(kept, "one", 12) as one, worker(kept, "other", 12) as other:
        sizes = [[*noted(each)][-1] for each in (one, other)]

    assert (one.returncode, other.returncode) == (0, 0)
    found = {each.id: each for each in kept.sessions()}
    assert [found[name].size for name in ("one", "other")] == sizes
    assert all(kept.unpacked(each).stat().st_size == each.size for each in found.values())
    assert len(kept.sessions()) == 2


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no kill -9")
def test_what_a_killed_process_said_it_kept_is_there(kept: KeptSessions) -> None:
    for number in range(4):
        with worker(kept, f"s-{number}", 1_000) as process:
            sizes = noted(process)
            size = [next(sizes) for _ in range(1 + 2 * number)][-1]
            process.send_signal(signal.SIGKILL)
            size = [size, *sizes][-1]

        sessions, problems = kept.read()
        kept.sweep()
        own = [each for each in sessions if each.id == f"s-{number}"]
        assert not problems
        assert max(each.size for each in own) >= size
        for each in sessions:
            assert kept.unpacked(each).stat().st_size == each.size

    left = [*kept.folder.glob("*/.new-*"), *(kept.folder / "objects").glob("*/.new-*")]
    assert not left
