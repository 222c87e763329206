"""A store of version 1, as it lies on disk: it is read the same for ever, and written the same.

The three sessions of `support/three_sessions.py` lie in `fixtures/store_version_1`. These files are
never written anew: they are what users have. Where a change of what is computed changes what is
written, `pytest tests/store/test_version_1.py --inline-snapshot=fix` notes the new hashes.
"""

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import external_file, snapshot

from context_compression import Session, Store

TESTS = Path(__file__).parents[1]
STORE = TESTS / "fixtures" / "store_version_1"
PROGRAM = TESTS / "support" / "three_sessions.py"
SESSIONS = ("compressed", "messages-9d2c0d44bd8b", "recorded")


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]


def files_in(folder: Path) -> dict[str, bytes]:
    """What a store keeps, without locks and its `.gitignore`."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not {".locks", ".gitignore"} & set(path.parts)
    }


@pytest.fixture
def store(tmp_path: Path) -> Store:
    shutil.copytree(STORE, tmp_path / "store")
    return Store(tmp_path / "store")


def content_of(session: Session) -> dict[str, Any]:
    originals = {ref: session.original(ref) for ref, _, _ in session.archived()}
    hashes = {
        ref: digest(json.dumps(original, sort_keys=True, ensure_ascii=False).encode())
        for ref, original in originals.items()
    }
    return {"view": session.view(), "originals": hashes}


def test_a_store_is_written_as_it_was(tmp_path: Path) -> None:
    """The program's clock and chance stand still."""
    subprocess.run([sys.executable, str(PROGRAM), "store"], cwd=tmp_path, check=True, timeout=300)

    written = {name: digest(data) for name, data in files_in(tmp_path / "store").items()}

    assert written == snapshot(
        {
            "sessions/compressed/compact-2026-02-03T04-05-06Z-1.json": "342f00057751",
            "sessions/compressed/compact-2026-02-03T04-05-06Z-2.json": "43c4561cd9c5",
            "sessions/compressed/events.jsonl": "4371baf2744f",
            "sessions/compressed/ledger.jsonl": "7c9402975aa5",
            "sessions/compressed/offloaded/5d380be1ccfe.txt": "5d380be1ccfe",
            "sessions/compressed/offloaded/b9f5021b355a.txt": "b9f5021b355a",
            "sessions/compressed/offloaded/ba219ae91ed3.txt": "ba219ae91ed3",
            "sessions/messages-9d2c0d44bd8b/compact-2026-02-03T04-05-06Z-1.json": "6642e53d6404",
            "sessions/messages-9d2c0d44bd8b/events.jsonl": "6b120e50bb52",
            "sessions/messages-9d2c0d44bd8b/offloaded/2df31a5c1a9a.txt": "2df31a5c1a9a",
            "sessions/messages-9d2c0d44bd8b/offloaded/88b6abd86500.txt": "88b6abd86500",
            "sessions/messages-9d2c0d44bd8b/offloaded/cea889bd13f5.txt": "cea889bd13f5",
            "sessions/messages-9d2c0d44bd8b/offloaded/d2c2fd326648.txt": "d2c2fd326648",
            "sessions/messages-9d2c0d44bd8b/offloaded/fe4dfec48be5.txt": "fe4dfec48be5",
            "sessions/recorded/events.jsonl": "557e6c46f04c",
            "sessions/recorded/offloaded/3b4945ade0ab.txt": "3b4945ade0ab",
            "summaries.json": "64000685a112",
        }
    )


def test_the_sessions_of_version_1_are_read_as_they_were(store: Store) -> None:
    assert sorted(store.sessions()) == sorted(SESSIONS)

    read = {name: content_of(Session(store, name)) for name in SESSIONS}

    assert read == external_file("../fixtures/store_version_1_read.json")
    assert store.verify() == []


def test_the_sessions_of_version_1_go_on(store: Store) -> None:
    for name in SESSIONS:
        session = Session(store, name)
        view = session.view()
        session.record({"role": "assistant", "content": "On we go."})

        assert Session(store, name).view() == [*view, {"role": "assistant", "content": "On we go."}]


def test_the_compressions_of_version_1_can_be_undone(store: Store) -> None:
    before = files_in(STORE)
    session = Session(store, "compressed")

    while session.state().compressions:
        session.undo()

    assert [*session.view()] == session.state().recorded
    assert files_in(STORE) == before
