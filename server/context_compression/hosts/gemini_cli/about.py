"""Names, variables and folders of Gemini CLI, and the version they were seen in."""

from collections.abc import Mapping
from pathlib import Path

NAME = "gemini-cli"
TITLE = "Gemini CLI"
SEEN = "0.61.0"
"""The version that transcripts and hooks were last seen working with."""

HOME_VARIABLE = "GEMINI_CLI_HOME"
"""Names the folder that Gemini CLI uses in place of the user's home folder."""
MARK_VARIABLE = "GEMINI_CLI"
"""Set for every program that Gemini CLI starts."""


def settings_folder(environ: Mapping[str, str], home: Path) -> Path:
    """`~/.gemini`; below GEMINI_CLI_HOME if that is set."""
    return Path(environ.get(HOME_VARIABLE) or home) / ".gemini"
