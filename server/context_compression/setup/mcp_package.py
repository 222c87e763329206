"""The package `mcp`: frameworks hold it at versions that are too old for the server.

Only the server and what talks to it import it: the library, the hooks and the other commands work
with any version, and with none.
"""

import re
import sys
from importlib.metadata import PackageNotFoundError, version

from context_compression.errors import ServerUnavailable

OLDEST = (2, 1)
"""The first version with which the server works."""


def unavailable() -> ServerUnavailable | None:
    """The error that says why the server cannot run in this environment; `None` if it can."""
    try:
        installed = version("mcp")
    except PackageNotFoundError:
        installed = "none"
    numbers = re.match(r"(\d+)\.(\d+)", installed)
    if numbers and (int(numbers[1]), int(numbers[2])) >= OLDEST:
        return None
    return ServerUnavailable(
        f"it needs the package mcp 2.1 or newer, and {installed} is installed",
        f'Install it: {sys.executable} -m pip install "mcp>=2.1,<3". If another package here needs '
        "the older one, install ours once more, in an environment of its own, and let your hosts "
        "start that one.",
    )
