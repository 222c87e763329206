"""Names, variables and folders of Copilot CLI."""

from collections.abc import Mapping
from pathlib import Path

NAME = "copilot-cli"
TITLE = "Copilot CLI"
SEEN = "1.0.64"
"""The version whose events were last seen."""

HOME_VARIABLE = "COPILOT_HOME"
"""Names the folder in place of `~/.copilot` (docs.github.com: "CLI configuration directory")."""


def home_folder(environ: Mapping[str, str], home: Path) -> Path:
    """`~/.copilot`, or the folder that COPILOT_HOME names."""
    return Path(environ.get(HOME_VARIABLE) or home / ".copilot")
