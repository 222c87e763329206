"""`archive`: how much room things take, and how they go."""

import json
import os
import subprocess
import time
from collections.abc import Sequence

import click
import pytest

from context_compression import Session, Store
from context_compression.cli.arguments import seconds_in

from .conftest import COMMAND, Desk, conversation

DAY = 86_400


def age(desk: Desk, session: str, days: float) -> None:
    then = time.time() - days * DAY
    os.utime(desk.store / "sessions" / session / "events.jsonl", (then, then))


def indexed(desk: Desk) -> None:
    """The store as the user's own, with an index of all that is in it."""
    desk.does("trust", "--yes")
    desk.does("restore", "--query", "value_1_1")


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


def size_listed(desk: Desk, session: str) -> str:
    [row] = [
        line
        for line in desk.does("archive").stdout.decode().splitlines()
        if line.startswith(session)
    ]
    *_, size, unit = row.split()
    return f"{size} {unit}"


@pytest.mark.slow
def test_it_says_how_much_room_each_session_takes(used: Desk) -> None:
    indexed(used)

    found = used.json("archive")
    said = used.does("archive").stdout.decode()

    [chat] = found["sessions"]
    files = [path for path in (used.store / "sessions" / "chat").rglob("*") if path.is_file()]
    assert chat["session"] == "chat"
    assert (chat["messages_recorded"], chat["compressions"]) == (32, 1)
    assert chat["of_which_index"] > 0
    size = sum(path.stat().st_size for path in files)
    assert chat["bytes"] == size + chat["of_which_index"]
    assert found["bytes"] == chat["bytes"]
    assert "chat" in said
    assert "1 session, " in said
    assert "90 days" not in said


@pytest.mark.slow
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


@pytest.mark.slow
def test_deleting_takes_a_session_and_all_of_it(used: Desk, refs: dict[str, int]) -> None:
    another(used)

    done = used.does("archive", "delete", "chat", "--yes")

    told = done.stderr.decode()
    assert "chat: " in told
    assert "They cannot be restored afterwards" in told
    assert not (used.store / "sessions" / "chat").exists()
    assert used.run("restore", next(iter(refs))).returncode == 2
    assert [each["session"] for each in used.json("archive")["sessions"]] == ["earlier"]


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

    assert "in later will not work" in done.stderr.decode()


def test_nobody_deletes_what_somebody_works_in(used: Desk) -> None:
    with Store(used.store).session("chat").locked():
        done = used.run("archive", "delete", "chat", "--yes")

    assert done.returncode == 2
    assert b"another process is compressing" in done.stderr
    assert (used.store / "sessions" / "chat").exists()


def test_pruning_lists_first_and_deletes_when_told_to(used: Desk) -> None:
    another(used)

    listed = used.run("archive", "prune", "--older-than", "90d")
    assert listed.returncode == 2
    assert b"Add --yes" in listed.stderr
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


def test_expiring_deletes_also_what_a_live_session_refers_to(
    used: Desk, refs: dict[str, int]
) -> None:
    ref = next(iter(refs))
    Session(Store(used.store), "later").record({"role": "user", "content": f"Read {ref}."})
    age(used, "chat", 100)

    asked = used.run("archive", "expire", "90d")
    assert asked.returncode == 2
    assert b"Add --yes" in asked.stderr
    assert (used.store / "sessions" / "chat").exists()

    assert used.json("archive", "expire", "90d", "--yes") == {"deleted": ["chat"]}
    assert not (used.store / "sessions" / "chat").exists()
    assert (used.store / "sessions" / "later").exists()


@pytest.mark.parametrize("text", ["90", "d", "-3d", "0d", "90 days", "1.5d", "9y", "", "999999d"])
def test_a_time_that_is_none_is_refused_in_words(text: str) -> None:
    with pytest.raises(click.BadParameter, match="Write 12h, 90d or 8w"):
        seconds_in(text, "--older-than")


@pytest.mark.slow
def test_the_size_that_is_listed_is_the_size_that_is_deleted(used: Desk) -> None:
    another(used)
    indexed(used)
    [size] = [e["bytes"] for e in used.json("archive")["sessions"] if e["session"] == "earlier"]
    earlier = size_listed(used, "earlier")

    pruned = used.does("archive", "prune", "--older-than", "90d", "--yes", "--json")

    assert json.loads(pruned.stdout)["bytes"] == size
    assert earlier in pruned.stderr.decode()
    chat = size_listed(used, "chat")
    deleted = used.does("archive", "delete", "chat", "--yes")
    assert chat in deleted.stderr.decode()
    assert f"Deleted chat, {chat}." in deleted.stdout.decode()


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [("delete", "chat"), ("prune", "--older-than", "1d")], ids=["delete", "prune"]
)
def test_with_the_last_session_the_index_goes(used: Desk, arguments: tuple[str, ...]) -> None:
    indexed(used)
    age(used, "chat", 2)
    assert (used.store / "search.sqlite").exists()

    used.does("archive", *arguments, "--yes")

    assert not (used.store / "search.sqlite").exists()
    assert used.json("archive")["bytes"] == 0


@pytest.mark.slow
def test_what_an_empty_archive_holds_as_yet_is_told(used: Desk) -> None:
    indexed(used)
    Store(used.store).delete("chat")
    (used.store / ".new-abc").write_bytes(b"half")
    os.utime(used.store / ".new-abc", (1, 1))

    said, found = used.does("archive").stdout.decode(), used.json("archive")

    index = (used.store / "search.sqlite").stat().st_size
    assert found["index_beside"] == index
    assert found["bytes"] == index + 4
    assert "Nothing is archived" in said
    assert "of the search index" in said
    assert "1 file left behind" in said


def test_an_index_that_cannot_be_read_counts_too(used: Desk) -> None:
    (used.store / "search.sqlite").write_bytes(b"no database" * 1_000)

    found = used.json("archive")

    assert found["index_beside"] == 11_000
    assert found["bytes"] == found["sessions"][0]["bytes"] + 11_000


@pytest.mark.slow
def test_its_columns_are_those_of_status(used: Desk) -> None:
    session = Session(Store(used.store), "chat")
    ours, [listed] = used.json("status")["sessions"], used.json("archive")["sessions"]
    head, other = (used.does(*words).stdout.decode() for words in (("archive",), ("status",)))

    assert listed["messages"] == ours[0]["messages"] == len(session.view())
    assert listed["messages_recorded"] == ours[0]["messages_recorded"] == 32
    for name in ("session", "last written", "messages"):
        assert name in head
        assert name in other


def test_sessions_of_our_own_say_what_they_keep(used: Desk) -> None:
    for id in ("offloaded", "checkpoint"):
        Session(Store(used.store), id).record(*conversation()[:2])

    said = used.does("archive").stdout.decode()

    assert "offloaded: offloaded texts" in said
    assert "checkpoint: checkpoints" in said
    keeps = {each["session"]: each["keeps"] for each in used.json("archive")["sessions"]}
    assert keeps == {"offloaded": "offloaded texts", "checkpoint": "checkpoints", "chat": None}


@pytest.mark.slow
def test_pruning_with_nobody_to_ask_is_refused_only_where_something_would_go(used: Desk) -> None:
    assert used.json("archive", "prune", "--older-than", "90d")["deleted"] == []
    another(used)

    for done in (
        used.run("archive", "prune", "--older-than", "90d"),
        used.with_stdin_closed("archive", "prune", "--older-than", "90d"),
        used.with_stdin_closed("archive", "delete", "chat"),
    ):
        assert done.returncode == 2
        assert b"Add --yes" in done.stderr
        assert b"nobody foresaw" not in done.stderr
    assert len(used.json("archive")["sessions"]) == 2


def test_a_server_whose_stdin_is_closed_says_so(desk: Desk) -> None:
    done = desk.with_stdin_closed("serve")

    assert done.returncode == 2
    assert b"Stdin is closed" in done.stderr
    assert b"nobody foresaw" not in done.stderr


def test_the_list_of_commands_says_each_in_full(desk: Desk) -> None:
    said = desk.does("-h").stdout.decode() + desk.does("archive", "-h").stdout.decode()

    for word in ("archive", "trust", "delete", "prune", "expire"):
        [line] = [line for line in said.splitlines() if line.startswith(f"  {word} ")]
        assert line.endswith(".")
        assert not line.endswith("...")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no such device here")
@pytest.mark.parametrize("arguments", [("archive",), ("trust",)])
def test_an_answer_that_finds_no_room_is_told(used: Desk, arguments: tuple[str, ...]) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*COMMAND, *arguments],
            cwd=used.folder, env=used.environ(), stdin=subprocess.DEVNULL,
            stdout=full, stderr=subprocess.PIPE, timeout=60, check=False,
        )  # fmt: skip

    assert done.returncode == 2
    assert b"The answer cannot be written" in done.stderr
