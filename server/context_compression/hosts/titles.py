"""How people call the hosts, by the names that we use for them."""

from context_compression.hosts import copilot_cli
from context_compression.hosts.claude_code import about as claude_code
from context_compression.hosts.codex import messages as codex
from context_compression.hosts.gemini_cli import host as gemini_cli
from context_compression.hosts.opencode import context as opencode
from context_compression.hosts.pi import transcript as pi

TITLES = {
    host.NAME: host.TITLE for host in (claude_code, codex, copilot_cli, gemini_cli, opencode, pi)
}
