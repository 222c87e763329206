"""`HOSTS`: the hosts whose sessions we can find on this machine, by name."""

from collections.abc import Mapping

from context_compression.hosts.claude_code import stored_sessions as claude_code
from context_compression.hosts.codex import stored_sessions as codex
from context_compression.hosts.copilot_cli import stored_sessions as copilot_cli
from context_compression.hosts.gemini_cli import stored_sessions as gemini_cli
from context_compression.hosts.opencode import stored_sessions as opencode
from context_compression.hosts.pi import stored_sessions as pi
from context_compression.transcripts.host_sessions import HostSessions

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
