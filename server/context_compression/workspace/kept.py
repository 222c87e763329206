"""The sessions of hosts that this user keeps, and the processes that look for what changed.

They stand in the user's data folder, one for all projects. What this module imports is light: every
hook and every server asks whether anything is kept.
"""

import os
import subprocess
import sys
from contextlib import suppress

from context_compression.errors import StoreError
from context_compression.store.kept import NAME, KeptSessions
from context_compression.store.location import user_data
from context_compression.workspace.workspace import Workspace

LOOK = (sys.executable, "-P", "-m", "context_compression", "keep", "look")
"""The command that keeps what changed."""
AT_END = "--at-end"
"""Its option: to wait until stdin ends."""
_waiting: list["subprocess.Popen[bytes]"] = []


def kept_in(workspace: Workspace) -> KeptSessions:
    """What the user of a workspace keeps; nothing need be there."""
    return KeptSessions(user_data(workspace.home) / NAME)


def may_keep(workspace: Workspace) -> bool:
    """Whether the sessions of hosts may be read, and are this user's."""
    access = workspace.access
    return access.read_host_transcripts and not access.no_files


def keeps(workspace: Workspace) -> bool:
    """Whether sessions are kept now; no where that cannot be known."""
    with suppress(StoreError):
        return may_keep(workspace) and kept_in(workspace).is_on
    return False


def look_around(workspace: Workspace) -> None:
    """Have other processes keep what changed: one now, and one when this process has ended.

    The second waits for the end of a pipe, so it comes however this process ends, and outlives it.
    They do nothing but look, and give way to all other work. Nothing begins if nothing is kept.
    """
    if not keeps(workspace):
        return
    with suppress(OSError):
        for command, stdin in ((LOOK, subprocess.DEVNULL), ((*LOOK, AT_END), subprocess.PIPE)):
            process = subprocess.Popen(
                command, stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env={**workspace.environ}, cwd=workspace.home, start_new_session=os.name != "nt",
            )  # fmt: skip
            _waiting.append(process)
