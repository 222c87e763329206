"""The process that indexes what a search had no time to read; one at a time in a project."""

import os
import sys
from contextlib import suppress
from pathlib import Path

from context_compression.errors import ContextCompressionError
from context_compression.recall.searching import Recall
from context_compression.workspace import Workspace

NICENESS = 10
"""How much the process gives way to others."""


def main(folder: str, *options: str) -> None:
    """Index all sessions of the project in a folder, or of all projects with `--everywhere`."""
    with suppress(ContextCompressionError):  # the next search says what is wrong
        Recall(Workspace.here(cwd=Path(folder)), "--everywhere" in options).update()


if __name__ == "__main__":
    with suppress(OSError, AttributeError):  # Windows has no such call
        os.nice(NICENESS)
    main(*sys.argv[1:])
