"""Torn lines, full disks, kills and company: nothing is lost, and what fails changes nothing."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from full_disk import a_disk_that_takes
from provider import refused
from written import LOG, MORE, reopened, talk

from context_compression import Session
from context_compression.conversation import ref_of
from context_compression.errors import StoreDamaged, StoreUnwritable
from context_compression.testing import Run, tool_step

WORKED = [
    MORE,
    *tool_step([Run("a", "Bash", {"command": "make"}, LOG)], "anthropic"),
    *tool_step([Run("b", "Read", {"path": "a.py"}, "x = 1")], "anthropic"),
]


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """A session with 30 turns."""
    made = Session(tmp_path, "s")
    made.record(*talk(30))
    return made


def test_a_torn_last_line_is_reported_and_nothing_else_is_lost(session: Session) -> None:
    result = session.compress(target_tokens=2_000)
    with (session.store.folder / "sessions/s/events.jsonl").open("ab") as log:
        log.write(b'{"type": "message", "mess')

    status = reopened(session).status()

    assert ["the last line is torn" in warning for warning in status.warnings] == [True]
    assert reopened(session).view() == result.messages
    reopened(session).record(MORE)
    assert reopened(session).view() == [*result.messages, MORE]
    assert reopened(session).undo() == [*talk(30), MORE]


@pytest.mark.parametrize("left", [0, 2_000])
def test_on_a_full_disk_nothing_is_compressed_and_all_is_as_it_was(
    session: Session, left: int
) -> None:
    with a_disk_that_takes(left), pytest.raises(StoreUnwritable, match="Nothing was changed"):
        session.compress(target_tokens=2_000)

    assert session.view() == talk(30) == reopened(session).view()
    assert session.status().compressions == 0
    assert session.compress(target_tokens=2_000).changed
    assert session.undo() == talk(30)


def test_where_an_offloaded_file_cannot_be_written_nothing_is_compressed(tmp_path: Path) -> None:
    session = Session(tmp_path, "s")
    session.record(*WORKED)
    in_the_way = tmp_path / "sessions/s/offloaded"
    in_the_way.write_text("not a folder", "utf-8")

    with pytest.raises(StoreUnwritable):
        session.compress(strategy="offload", force=True)

    assert session.view() == WORKED
    in_the_way.unlink()
    assert session.compress(strategy="offload", force=True).changed
    assert session.restore(ref_of(LOG)) == LOG


def test_where_a_digest_cannot_be_noted_nothing_is_compressed(session: Session) -> None:
    summaries = session.store.folder / "summaries.json"
    summaries.write_text("not json", "utf-8")

    with pytest.raises(StoreDamaged, match=r"summaries\.json is not JSON"):
        session.compress(strategy="window", settings={"importance_threshold": 0.9})

    assert session.view() == talk(30)
    assert session.status().compressions == 0


KILLED = """
import os, signal, sys
from context_compression import Session
from context_compression.store import SessionLog, files
from context_compression.threads import before_writing

session, moment = Session(sys.argv[1], "s"), sys.argv[2]

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

def dying_at(name, owner, when):
    real = getattr(owner, name)
    def instead(*args, **kwargs):
        if when(*args):
            die()
        return real(*args, **kwargs)
    setattr(owner, name, instead)

def tearing(log, *events):
    with (log.folder / "events.jsonl").open("ab") as file:
        file.write(files.to_json(dict(events[0]))[:200])
    die()

match moment:
    case "before anything is written":
        with before_writing(die):
            session.compress(target_tokens=2_000)
    case "while the originals are written":
        dying_at("replace", os, lambda source, target: "compact-" in str(target))
    case "after the originals":
        dying_at("append", SessionLog, lambda log, event: event["type"] == "compression")
    case "in the middle of the line that counts":
        SessionLog.append = tearing
    case "after the line that counts":
        real = SessionLog.append
        SessionLog.append = lambda *args: die(real(*args))
session.compress(target_tokens=2_000)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
@pytest.mark.parametrize(
    "moment",
    [
        "before anything is written", "while the originals are written", "after the originals",
        "in the middle of the line that counts", "after the line that counts",
    ],
)  # fmt: skip
def test_a_kill_in_the_middle_of_a_compression_loses_nothing(session: Session, moment: str) -> None:
    killed = start(KILLED, session, moment)
    assert killed.returncode == -signal.SIGKILL

    again = reopened(session)

    done = moment == "after the line that counts"
    assert again.status().compressions == int(done)
    assert (again.undo() if done else again.view()) == talk(30)
    result = again.compress(target_tokens=2_000)
    assert result.target_met
    for index in result.compressed:
        assert again.original(ref_of(talk(30)[index])) == talk(30)[index]
    assert again.undo() == talk(30)


def start(code: str, session: Session, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, str(session.store.folder), *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )


COMPRESSING = """
import sys
from context_compression import Session
session = Session(sys.argv[1], "s")
for target in map(int, sys.argv[2:]):
    session.record({"role": "user", "content": f"for {target}"})
    print(session.compress(target_tokens=target).changed, flush=True)
"""


def test_processes_that_compress_the_same_session_at_once_do_not_hurt_each_other(
    session: Session,
) -> None:
    targets = [["5000", "3000", "1500"], ["4000", "2500", "1400"]]

    with ThreadPoolExecutor() as pool:
        waiting = [pool.submit(start, COMPRESSING, session, *each) for each in targets]
        done = [each.result() for each in waiting]

    assert [child.stderr for child in done] == ["", ""]
    again = reopened(session)
    said = {str(message["content"]) for message in again.view()}
    assert refused(again.view(), "anthropic") == []
    while again.status().compressions:
        again.undo()
    recorded = again.view()
    assert recorded[:60] == talk(30)
    assert {message["content"] for message in recorded[60:]} == {
        f"for {target}" for each in targets for target in each
    }
    assert recorded[-1]["content"] in said
    for ref in again.status().refs:
        assert ref_of(again.original(ref)) == ref
    assert again.store.verify() == []


def test_threads_that_compress_at_once_do_it_one_after_the_other(session: Session) -> None:
    with ThreadPoolExecutor() as pool:
        waiting = [pool.submit(session.compress, target_tokens=4_000) for _ in range(4)]
        results = [each.result() for each in waiting]

    assert sorted(result.changed for result in results) == [False, False, False, True]
    assert session.status().compressions == 1
