"""`archive`: how much room things take, and how they go."""

import os
import subprocess
import time
from collections.abc import Sequence

import pytest

from context_compression import Session, Store

from .conftest import COMMAND, Desk, Snapshot

DAY = 86_400


def age(desk: Desk, session: str, days: float) -> None:
    then = time.time() - days * DAY
    os.utime(desk.store / "sessions" / session / "events.jsonl", (then, then))


def another(desk: Desk) -> None:
    """A second, old session."""
    Session(Store(desk.store), "earlier").record({"role": "user", "content": "Hello " * 50})
    age(desk, "earlier", 100)


def at_a_terminal(desk: Desk, arguments: Sequence[str], typed: str) -> tuple[int, str]:
    ours, theirs = pytest.importorskip("pty").openpty()
    os.write(ours, typed.encode())
    with subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=desk.folder, env=desk.environ(), stdin=theirs,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        said, _ = process.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    return process.returncode, said.decode()


def test_it_says_how_much_room_each_session_takes(used: Desk) -> None:
    used.does("restore", "--query", "value_1_1")

    found = used.json("archive")
    said = used.does("archive").stdout.decode()

    [chat] = found["sessions"]
    files = [path for path in (used.store / "sessions" / "chat").rglob("*") if path.is_file()]
    assert chat["session"] == "chat"
    assert (chat["messages"], chat["compressions"]) == (32, 1)
    assert chat["of_which_index"] > 0
    size = sum(path.stat().st_size for path in files)
    assert chat["bytes"] == size + chat["of_which_index"]
    assert found["bytes"] == chat["bytes"]
    assert "chat" in said
    assert "total" in said


def test_where_nothing_is_archived_it_says_so(desk: Desk) -> None:
    assert "Nothing is archived" in desk.does("archive").stdout.decode()
    assert not desk.store.exists()


def test_to_look_writes_nothing(used: Desk, snapshot: Snapshot) -> None:
    before = snapshot(used.folder)

    used.does("archive")
    used.does("archive", "prune", "--older-than", "1h")

    assert snapshot(used.folder) == before


def test_what_can_be_pruned_and_what_was_left_behind_is_told(used: Desk) -> None:
    another(used)
    (used.store / ".new-abc").write_bytes(b"half")
    os.utime(used.store / ".new-abc", (1, 1))

    found = used.json("archive")
    said = used.does("archive").stdout.decode()

    assert found["prunable"]["sessions"] == ["earlier"]
    assert found["left_over"] == {"files": 1, "bytes": 4}
    assert "archive prune --older-than 90d" in said
    assert "1 file left behind" in said


def test_deleting_takes_a_session_and_all_of_it(used: Desk, refs: dict[str, int]) -> None:
    another(used)

    done = used.does("archive", "delete", "chat", "--yes")

    told = done.stderr.decode()
    assert "chat: " in told
    assert " refs that nothing will bring back" in told
    assert not (used.store / "sessions" / "chat").exists()
    assert used.run("restore", next(iter(refs))).returncode == 2
    assert [each["session"] for each in used.json("archive")["sessions"]] == ["earlier"]


def test_without_a_terminal_and_without_yes_nothing_is_deleted(used: Desk) -> None:
    done = used.run("archive", "delete", "chat")

    assert done.returncode == 2
    assert b"add --yes" in done.stderr
    assert (used.store / "sessions" / "chat").exists()


@pytest.mark.parametrize(("typed", "stays"), [("n\n", True), ("y\n", False)])
def test_at_a_terminal_it_asks(used: Desk, typed: str, stays: bool) -> None:
    status, said = at_a_terminal(used, ["archive", "delete", "chat"], typed)

    assert status == 0
    assert "Delete chat?" in said
    assert (used.store / "sessions" / "chat").exists() == stays


def test_what_other_sessions_refer_to_is_told(used: Desk, refs: dict[str, int]) -> None:
    ref = next(iter(refs))
    Session(Store(used.store), "later").record({"role": "user", "content": f"Read {ref}."})

    done = used.does("archive", "delete", "chat", "--yes")

    assert "stand in later" in done.stderr.decode()


def test_nobody_deletes_what_somebody_works_in(used: Desk) -> None:
    with Store(used.store).session("chat").locked():
        done = used.run("archive", "delete", "chat", "--yes")

    assert done.returncode == 2
    assert b"another process is compressing" in done.stderr
    assert (used.store / "sessions" / "chat").exists()


def test_a_session_nobody_has_is_named(used: Desk) -> None:
    done = used.run("archive", "delete", "nobody", "--yes")

    assert done.returncode == 2
    assert b"nobody" in done.stderr


def test_pruning_lists_first_and_deletes_when_told_to(used: Desk) -> None:
    another(used)

    listed = used.does("archive", "prune", "--older-than", "90d")
    assert "earlier" in listed.stderr.decode()
    assert "chat" not in listed.stderr.decode()
    assert (used.store / "sessions" / "earlier").exists()

    pruned = used.json("archive", "prune", "--older-than", "12w", "--yes")
    assert pruned["deleted"] == ["earlier"]
    assert not (used.store / "sessions" / "earlier").exists()
    assert (used.store / "sessions" / "chat").exists()


def test_what_a_live_session_refers_to_is_not_pruned(used: Desk, refs: dict[str, int]) -> None:
    ref = next(iter(refs))
    Session(Store(used.store), "later").record({"role": "user", "content": f"Read {ref}."})
    age(used, "chat", 100)

    pruned = used.json("archive", "prune", "--older-than", "90d", "--yes")

    assert pruned["deleted"] == []
    assert pruned["kept"] == {"chat": "later"}


@pytest.mark.parametrize("text", ["90", "d", "-3d", "0d", "90 days", "1.5d", "9y", "", "999999d"])
def test_a_time_that_is_none_is_refused_in_words(used: Desk, text: str) -> None:
    done = used.run("archive", "prune", "--older-than", text, "--yes")

    assert done.returncode == 2
    assert b"12h, 90d or 8w" in done.stderr
