"""The hosts that our server can be installed in."""

from context_compression.hosts.claude_code.host import CLAUDE_CODE
from context_compression.hosts.claude_desktop.configuration import CLAUDE_DESKTOP
from context_compression.hosts.codex.host import CODEX
from context_compression.hosts.cursor.configuration import CURSOR
from context_compression.hosts.gemini_cli.host import GEMINI_CLI
from context_compression.hosts.goose.configuration import GOOSE
from context_compression.hosts.opencode.host import OPENCODE
from context_compression.hosts.pi.host import PI
from context_compression.hosts.vscode.configuration import VSCODE
from context_compression.hosts.zed.configuration import ZED

HOSTS = (
    CLAUDE_CODE, CLAUDE_DESKTOP, CODEX, GEMINI_CLI, OPENCODE,
    PI, CURSOR, VSCODE, ZED, GOOSE,
)  # fmt: skip
BY_NAME = {host.name: host for host in HOSTS}
"""The hosts by the name that the user types."""
