"""`HOSTS`: the hosts whose sessions we can find on this machine, by name."""

from collections.abc import Mapping

from context_compression.hosts import copilot_cli
from context_compression.hosts.claude_code import host as claude_code
from context_compression.hosts.codex import host as codex
from context_compression.hosts.gemini_cli import host as gemini_cli
from context_compression.hosts.opencode import host as opencode
from context_compression.hosts.pi import host as pi
from context_compression.transcripts.sessions import HostSessions

HOSTS: Mapping[str, HostSessions] = {
    host.name: host
    for host in (
        claude_code.SESSIONS,
        codex.SESSIONS,
        copilot_cli.SESSIONS,
        gemini_cli.SESSIONS,
        opencode.SESSIONS,
        pi.SESSIONS,
    )
}
