"""Several processes share the folder, and any of them may be killed at any moment."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from context_compression.errors import StoreError
from context_compression.store import Store

PRELUDE = """
import sys
from context_compression.store import Store
store = Store(sys.argv[1])
log = store.session("shared")
"""


def start(folder: Path, code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PRELUDE + code, str(folder), *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def lines(child: subprocess.Popen[str], count: int) -> list[str]:
    assert child.stdout is not None
    return [child.stdout.readline().strip() for _ in range(count)]


def finish(child: subprocess.Popen[str]) -> None:
    child.communicate()
    assert child.returncode == 0


def kill(child: subprocess.Popen[str]) -> str:
    """Ends it as a power cut would; returns what it had still said."""
    child.send_signal(signal.SIGKILL)
    return child.communicate()[0]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
@pytest.mark.parametrize("after", [1, 4, 9, 16, 25])
def test_a_killed_process_loses_nothing_it_had_written(tmp_path: Path, after: int) -> None:
    child = start(
        tmp_path,
        """
for n in range(10**9):
    log.append({"type": "message", "n": n, "text": "x" * 3_000_000})
    print("event", n, flush=True)
    log.write_originals(n, "2026-11-21T12:00:00Z", [n, "y" * 1_000_000])
    print("originals", n, flush=True)
""",
    )
    told = lines(child, after)
    told += [line for line in kill(child).split("\n") if len(line.split()) == 2]
    log = Store(tmp_path).session("shared")

    events = log.events()
    archives = sorted(log.folder.glob("compact-*.json"))

    numbers = [event["n"] for event in events.items]
    promised = [int(line.split()[1]) for line in told if line.startswith("event")]
    assert list(range(len(numbers))) == numbers
    assert len(promised) <= len(numbers) <= len(promised) + 1
    assert all(len(event["text"]) == 3_000_000 for event in events.items)
    assert len(events.warnings) <= 1
    assert all(len(log.read_originals(path.name)[1]) == 1_000_000 for path in archives)
    assert len(archives) >= sum(line.startswith("originals") for line in told)
    assert len(events.warnings) == len(Store(tmp_path).verify())
    log.append({"type": "message", "n": "next"})
    assert log.events().items[-1]["n"] == "next"


def test_processes_that_append_at_once_lose_nothing(tmp_path: Path) -> None:
    code = """
sys.stdin.readline()
for n in range(60):
    log.append({"type": "message", "who": sys.argv[2], "n": n, "text": "x" * 10_000})
    log.append_ledger([{"who": sys.argv[2], "n": n}])
    store.update_config(lambda values: {"count": values.get("count", 0) + 1})
    store.add_summary({"session": sys.argv[2], "content": f"part {n}"})
"""
    children = [start(tmp_path, code, who) for who in "abc"]
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()

    for child in children:
        finish(child)

    store = Store(tmp_path)
    log = store.session("shared")
    for lines_read in (log.events().items, log.ledger()):
        for who in "abc":
            assert list(range(60)) == [line["n"] for line in lines_read if line["who"] == who]
    assert store.read_config() == {"count": 180}
    assert len(store.summaries()) == 180
    assert store.verify() == []


def test_a_reader_never_takes_a_line_being_written_for_a_torn_one(tmp_path: Path) -> None:
    child = start(
        tmp_path,
        """
for n in range(30):
    log.append({"type": "message", "n": n, "text": "x" * 5_000_000})
    if n in (9, 19):
        sys.stdin.readline()  # until the reader is there, too
""",
    )
    log = Store(tmp_path).session("shared")
    assert child.stdin

    counts = {0}
    while child.poll() is None:
        events = log.events()
        assert events.warnings == []
        if len(events.items) in {10, 20} - counts:
            child.stdin.write("\n")
            child.stdin.flush()
        counts.add(len(events.items))

    finish(child)
    assert len(log.events().items) == 30
    assert len(counts) > 2


HOLD = """
with log.locked():
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_another_process_compresses_alone_while_messages_still_arrive(tmp_path: Path) -> None:
    child = start(tmp_path, HOLD)
    assert lines(child, 1) == ["held"]
    log = Store(tmp_path).session("shared")

    with pytest.raises(StoreError, match="another process is compressing"), log.locked(timeout=0):
        pass
    log.append({"type": "message"})

    assert len(log.events().items) == 1
    finish(child)
    with log.locked(timeout=0):
        pass


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_killed_process_lets_go_of_its_lock(tmp_path: Path) -> None:
    child = start(tmp_path, HOLD)
    assert lines(child, 1) == ["held"]

    kill(child)

    with Store(tmp_path).session("shared").locked(timeout=0):
        pass
