"""Workers that record and compress in a shared store until they are killed.

Run as a program, it starts one worker (a fork, which costs no time) for each line of its input:
`NAME SESSION`. It answers with the worker's process id. A worker notes in a file of its name what
each call did: `written`, `refused` or `unknown`, and the text.
"""

import os
import signal
import sys
from itertools import count
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
    return {"role": "assistant", "content": f"{text}\n" + " ".join(random.choices(WORDS, k=60))}


def text_of(message: Any) -> str:
    """The text that `message` was called with."""
    return message["content"].partition("\n")[0]


def work(store: Store, name: str, session: str, folder: Path) -> None:
    """Record, compress and restore until killed."""
    notes = os.open(folder / name, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    talk = Session(store, session, settings=SETTINGS)
    for n in count():
        text = f"{name}-{n}"
        try:
            talk.record(message(text))
            said = "written"
        except StoreError as error:
            said = "unknown" if "not known" in str(error) else "refused"
            os.write(notes, f"failed {type(error).__name__}: {error}\n".encode())
        os.write(notes, f"{said} {text}\n".encode())
        try:
            if n % 3 == 0:
                talk.restore(talk.offload(f"output of {text}"))
            if n % 8 == 7:
                talk.compress()
        except ContextCompressionError as error:
            os.write(notes, f"failed {type(error).__name__}: {error}\n".encode())


def main(url: str, tenant: str, folder: str) -> None:
    """Start a worker for each line of the input."""
    from context_compression.store.postgres.backend import PostgresBackend

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        name, session = line.split()
        pid = os.fork()
        if pid == 0:
            work(Store(PostgresBackend(url, tenant)), name, session, Path(folder))
        print(pid, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
