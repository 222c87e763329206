"""Workers that record and compress in a shared store until they are killed.

Run as a program, it starts one worker (a fork, which costs no time) for each line of its input:
`NAME SESSION WORK ROUNDS`. It answers with the worker's process id. A worker notes in a file of
its name what each call did: `written`, `refused` or `unknown`, and the text; `ended` at the end.
"""

import hashlib
import json
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from context_compression import Session, Store
from context_compression.errors import ContextCompressionError, StoreError

SETTINGS = {"token_budget": 2_000, "keep_recent_tokens": 300, "strategy": "window"}
WORDS = ("build", "cache", "failed", "full", "service", "second", "because", "today", "again")


def message(text: str) -> dict[str, Any]:
    """A message that is worth compressing."""
    random = Random(text)
    return {"role": "assistant", "content": f"{text}\n" + " ".join(random.choices(WORDS, k=90))}


def text_of(message: Any) -> str:
    """The text that `message` was called with."""
    return message["content"].partition("\n")[0]


class Notes:
    """What a worker notes; a line is kept also if it is killed right after."""

    def __init__(self, path: Path) -> None:
        """Notes in a file."""
        self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    def add(self, said: str, text: object = "") -> None:
        """Add a line."""
        os.write(self._file, f"{said} {text}\n".encode())


def record(session: Session, name: str, rounds: int, notes: Notes) -> None:
    """Record, archive, restore and compress."""
    for n in range(rounds):
        text = f"{name}-{n}"
        try:
            session.record(message(text))
            said = "written"
        except StoreError as error:
            said = "unknown" if "not known" in str(error) else "refused"
            notes.add("failed", error)
        notes.add(said, text)
        try:
            if n % 3 == 0:
                session.restore(session.offload(f"output of {text}"))
            if n % 8 == 7:
                session.compress()
        except ContextCompressionError as error:
            notes.add("failed", error)


def fit(session: Session, rounds: int, together: Callable[[], object], notes: Notes) -> None:
    """Pass a history that grows, at the same time as others pass the same."""
    history: list[dict[str, Any]] = []
    for n in range(rounds):
        history += [message(f"all-{n}"), {"role": "user", "content": f"go on {n}"}]
        together()
        session.fit(history)
        together()
        view = json.dumps(session.fit(history))
        notes.add("saw", hashlib.sha256(view.encode()).hexdigest())
        notes.add("warned", session.status().warnings)


def main(url: str, tenant: str, folder: str, workers: int) -> None:
    """Start a worker for each line of the input."""
    from context_compression.store import PostgresBackend

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    together = multiprocessing.get_context("fork").Barrier(workers)
    for line in sys.stdin:
        name, id, work, rounds = line.split()
        if pid := os.fork():
            print(pid, flush=True)
            continue
        notes = Notes(Path(folder) / name)
        session = Session(Store(PostgresBackend(url, tenant)), id, settings=SETTINGS)
        if work == "record":
            record(session, name, int(rounds), notes)
        else:
            fit(session, int(rounds), together.wait, notes)
        notes.add("ended")
        os._exit(0)


if __name__ == "__main__":
    _, url, tenant, folder, workers = sys.argv
    main(url, tenant, folder, int(workers))
