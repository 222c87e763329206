"""Names, variables and folders of Claude Code, and the version they were seen in."""

import re
from collections.abc import Mapping
from pathlib import Path

NAME = "claude-code"
TITLE = "Claude Code"
SEEN = "2.1.329"
"""The version that transcripts, hooks, exports and the plugin were last seen working with."""

CONFIG_VARIABLE = "CLAUDE_CONFIG_DIR"
"""Names the folder in place of `~/.claude`, which then also holds `.claude.json`."""
SESSION_VARIABLE = "CLAUDE_CODE_SESSION_ID"
"""Set for every program that Claude Code starts: the id of the session it began with."""
MANAGED_SETTINGS = {
    "linux": "/etc/claude-code/managed-settings.json",
    "darwin": "/Library/Application Support/ClaudeCode/managed-settings.json",
    "win32": "C:/Program Files/ClaudeCode/managed-settings.json",
}
"""The file with an organisation's settings for Claude Code, by `sys.platform`."""

LONGEST_FOLDER = 200  # characters of a project folder's name before Claude Code shortens it
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def config_folder(environ: Mapping[str, str], home: Path) -> Path:
    """`~/.claude`, or the folder that CLAUDE_CONFIG_DIR names."""
    return Path(environ.get(CONFIG_VARIABLE) or home / ".claude")


def user_file(environ: Mapping[str, str], home: Path) -> Path:
    """`~/.claude.json`, with the MCP servers; inside CLAUDE_CONFIG_DIR if that is set."""
    return Path(environ.get(CONFIG_VARIABLE) or home) / ".claude.json"


def projects_folder(environ: Mapping[str, str], home: Path) -> Path:
    """`~/.claude/projects`: a folder for each project, a transcript for each session."""
    return config_folder(environ, home) / "projects"


def project_folder_name(project: str) -> str:
    """`/home/me/my_app` -> `-home-me-my-app`; a long path is cut, and a hash of it is added.

    The hash is the one of Java's strings, in base 36. Characters are UTF-16 units, as in
    JavaScript.
    """
    name = re.sub(r"[^A-Za-z0-9]", lambda match: "-" * (1 + (match[0] > "\uffff")), project)
    if len(name) <= LONGEST_FOLDER:
        return name
    units = project.encode("utf-16-le", "surrogatepass")
    number = 0
    for low, high in zip(units[::2], units[1::2], strict=True):
        number = (31 * number + low + 256 * high) % 2**32
    number = min(number, 2**32 - number)  # the absolute value of a signed 32-bit number
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = DIGITS[digit] + digits
    return f"{name[:LONGEST_FOLDER]}-{digits or '0'}"
