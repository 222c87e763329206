"""`HOSTS`: every host. What is done for all of them goes through this tuple."""

from context_compression.hosts.claude_code.host import CLAUDE_CODE
from context_compression.hosts.codex import CODEX
from context_compression.hosts.copilot_cli import COPILOT_CLI
from context_compression.hosts.desktop import CLAUDE_DESKTOP, CURSOR, GOOSE, VSCODE, ZED
from context_compression.hosts.gemini_cli import GEMINI_CLI
from context_compression.hosts.opencode import OPENCODE
from context_compression.hosts.pi import PI

HOSTS = (
    CLAUDE_CODE, CLAUDE_DESKTOP, CODEX, COPILOT_CLI, GEMINI_CLI, OPENCODE, PI, CURSOR, VSCODE, ZED,
    GOOSE,
)  # fmt: skip
INSTALLABLE = tuple(host for host in HOSTS if host.user)
"""The hosts that our server can be installed in."""
BY_NAME = {host.name: host for host in INSTALLABLE}
"""These by the names that users type."""
KEEPING = tuple(host for host in HOSTS if host.formats)
"""The hosts whose sessions we find and read."""
TITLES = {host.name: host.title for host in KEEPING}
"""How people call these hosts."""
