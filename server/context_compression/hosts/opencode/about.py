"""Names, variables and folders of opencode, and the version they were seen in."""

from collections.abc import Mapping
from pathlib import Path

NAME = "opencode"
TITLE = "opencode"
SEEN = "1.18.33"
"""The version that transcripts and hooks were last seen working with."""

DATA_VARIABLE = "XDG_DATA_HOME"
"""Names the folder in place of `~/.local/share`, on every system."""
DATABASE_VARIABLE = "OPENCODE_DB"
"""Names the database file, if it is not `DATABASE`."""
CONFIG_VARIABLE = "OPENCODE_CONFIG_DIR"
"""Names the folder in place of `~/.config/opencode`."""
MARK_VARIABLE = "OPENCODE"
"""Set for every program that opencode starts."""
DATABASE = "opencode.db"


def data_folder(environ: Mapping[str, str], home: Path) -> Path:
    """`~/.local/share/opencode`; below XDG_DATA_HOME if that is set."""
    return Path(environ.get(DATA_VARIABLE) or home / ".local" / "share") / "opencode"


def database_file(environ: Mapping[str, str], home: Path) -> Path:
    """The database with all sessions."""
    return data_folder(environ, home) / environ.get(DATABASE_VARIABLE, DATABASE)
