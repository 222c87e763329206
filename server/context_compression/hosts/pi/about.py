"""Names, variables and folders of Pi; all were last seen in version 0.87.1."""

import re
from collections.abc import Mapping
from pathlib import Path

NAME = "pi"
TITLE = "Pi"
MCP_SINCE = (0, 99)
"""The first version that starts MCP servers."""

AGENT_VARIABLE = "PI_CODING_AGENT_DIR"
"""Names the folder in place of `~/.pi/agent`."""
SESSIONS_VARIABLE = "PI_CODING_AGENT_SESSION_DIR"
"""Names one folder for the sessions of all projects."""
MARK_VARIABLE = "PI_CODING_AGENT"
"""Set for every program that Pi starts."""


def agent_folder(environ: Mapping[str, str], home: Path) -> Path:
    """`~/.pi/agent`, or the folder that PI_CODING_AGENT_DIR names."""
    return Path(environ.get(AGENT_VARIABLE) or home / ".pi" / "agent")


def sessions_folder(environ: Mapping[str, str], home: Path, project: Path) -> Path:
    """The sessions of a project: `/home/me/app` -> `~/.pi/agent/sessions/--home-me-app--`."""
    name = re.sub(r"[/\\:]", "-", re.sub(r"^[/\\]", "", str(project)))
    return agent_folder(environ, home) / "sessions" / f"--{name}--"
