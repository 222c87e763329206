"""Names, variables and folders of Codex, and the version they were seen in."""

from collections.abc import Mapping
from pathlib import Path

NAME = "codex"
TITLE = "Codex"
SEEN = "0.169.0"
"""The version that transcripts, hooks and exports were last seen working with."""

HOME_VARIABLE = "CODEX_HOME"
"""Replaces `~/.codex`. Codex passes it on to a server only if the entry's `env_vars` lists it."""
THREAD_VARIABLE = "CODEX_THREAD_ID"
"""Set for the commands that Codex runs: the id of their thread."""


def home_folder(environ: Mapping[str, str], home: Path) -> Path:
    """`~/.codex`, or the folder that CODEX_HOME names."""
    return Path(environ.get(HOME_VARIABLE) or home / ".codex")


def sessions_folder(environ: Mapping[str, str], home: Path) -> Path:
    """`~/.codex/sessions`: a folder for each year, month and day, with that day's new rollouts."""
    return home_folder(environ, home) / "sessions"
