"""Our command as the `statusLine` in Claude Code's settings, unless the user has one of their own.

It goes into the user's settings, because a plugin cannot bring a status line along (seen in version
2.1.329, which takes only `agent` and `subagentStatusLine` from a plugin's settings).
"""

import json
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from context_compression.conversation.messages import as_object
from context_compression.errors import SetupError
from context_compression.hosts.claude_code import status_line
from context_compression.hosts.claude_code.configuration import CLAUDE_CODE, folder
from context_compression.setup import jsonc
from context_compression.setup.additions import Value, checked
from context_compression.setup.finding import Finding
from context_compression.setup.installing import is_current, naming_file, opened
from context_compression.setup.machine import PROGRAM, Machine

KEY = "statusLine"
SCRIPT = Path(status_line.__file__)
OURS = ("context_compression/hosts/claude_code/status_line.py", f"{PROGRAM} statusline")
"""What our command contains, in any installation."""
CHECK = "status line"


@dataclass(frozen=True)
class StatusLine:
    """Our command in a settings file. A status line that is not ours stays as it is.

    Attributes:
        path: the file.
        command: what Claude Code runs.
    """

    path: Path
    command: str

    @classmethod
    def on(cls, machine: Machine, python: str = sys.executable) -> "StatusLine":
        """The command that runs `status_line` by its path, without any package."""
        parts = [python, "-I", "-S", str(SCRIPT)]
        if machine.system == "win32":  # it is run in Git Bash, which takes slashes
            command = " ".join(f'"{part}"' for part in parts).replace("\\", "/")
        else:
            command = shlex.join(parts)
        return cls(folder(machine) / "settings.json", command)

    @property
    def value(self) -> Value:
        """The value of the setting."""
        return {"type": "command", "command": self.command}

    @property
    def by_hand(self) -> str:
        """How the user sets it in place of their own."""
        return f"to show ours instead, set in {self.path}: {json.dumps({KEY: self.value})[1:-1]}"

    def is_in(self, text: str) -> bool:
        """Whether the status line is ours."""
        command = str(as_object(self._current(text)).get("command", ""))
        return any(ours in command.replace("\\", "/") for ours in OURS)

    def is_of_user(self, text: str) -> bool:
        """Whether there is a status line that is not ours."""
        return self._current(text) is not None and not self.is_in(text)

    def added_to(self, text: str) -> str:
        """The text with our status line, unless it has another."""
        current = as_object(self._current(text))
        if self.is_of_user(text) or current.get("command") == self.command:
            return text
        return jsonc.with_value(text, (KEY,), {**self.value, **current, "command": self.command})

    def removed_from(self, text: str, before: str | None) -> str:
        """The text without our status line."""
        del before
        return jsonc.without_value(text, (KEY,), keep=0)

    def _current(self, text: str) -> Any:
        checked(text, strict=True)
        return jsonc.value_at(text, (KEY,))


def user_has_own(line: StatusLine) -> bool:
    """Whether the user has a status line of their own.

    Raises:
        SetupError: the settings cannot be read.
    """
    path, data = opened(line.path)
    with naming_file(path):
        return line.is_of_user((data or b"").decode())


def check_status_line(machine: Machine) -> Finding:
    """A finding on whether Claude Code shows our status line."""
    line = StatusLine.on(machine)
    install = f"{PROGRAM} install {CLAUDE_CODE.name}"
    try:
        if user_has_own(line):
            return Finding(CHECK, None, f"your own; {line.by_hand}")
        current = is_current(line)
    except SetupError as error:
        return Finding(CHECK, False, str(error), "Correct the file.")
    if current is None:
        return Finding(CHECK, None, f"none; {install} adds one to {line.path}")
    if current:
        return Finding(CHECK, True, f"of this version, in {line.path}")
    state = f"{line.path} has the command of another installation"
    return Finding(CHECK, False, state, install)
