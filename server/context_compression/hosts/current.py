"""`current`: the live transcript of the host that started this process.

The client names the host when it connects. On the command line there is no client; there we go by
the environment variables that a host sets for each program it starts.
"""

from pathlib import Path

from context_compression.errors import ConversationNotFound
from context_compression.hosts.claude_code import host as claude_code
from context_compression.hosts.codex import host as codex
from context_compression.hosts.gemini_cli import host as gemini_cli
from context_compression.hosts.opencode import host as opencode
from context_compression.hosts.pi import host as pi
from context_compression.transcripts.sessions import (
    INSTEAD,
    Caller,
    LiveHost,
    newest_first,
    uncertain,
)

HOSTS = (claude_code.HOST, codex.HOST, gemini_cli.HOST, opencode.HOST, pi.HOST)


def find_current(caller: Caller) -> Path:
    """The transcript of the conversation we are called from.

    Blocks for a moment: call it in a worker thread.

    Raises:
        ConversationNotFound: no known host started us, or it is not certain which transcript is
            ours.
    """
    hosts = _hosts_of(caller)
    if len(hosts) == 1:
        return hosts[0].find(caller)
    if not hosts:
        names = ", ".join(host.name for host in HOSTS)
        client = f" but by {caller.request.client!r}" if caller.request.client else ""
        raise ConversationNotFound(
            f"This process was not started by a host whose transcripts we know ({names}){client}, "
            f"so there is no current one. {INSTEAD}"
        )
    names = " and ".join(host.name for host in hosts)
    raise uncertain(
        caller,
        f"Several hosts are around this process ({names}), so it is not certain which conversation "
        "is the current one",
        newest_first(candidate for host in hosts for candidate in host.here(caller)),
    )


def is_of_this_project(caller: Caller, path: Path) -> bool:
    """Whether a path is a transcript of the host that started us, for the working directory."""
    listed = (known for host in _hosts_of(caller) for known in host.here(caller))
    return path.resolve() in {known.path.resolve() for known in listed}


def _hosts_of(caller: Caller) -> list[LiveHost]:
    """The host that started us; several hosts if one runs inside another and the client names none.

    A client with another name may run inside a host, which set its variable for every program. Then
    only hosts with `is_proved` count, because they identify the conversation by the call itself.
    """
    client, meta = caller.request.client.lower(), caller.request.meta
    named = [h for h in HOSTS if h.meta_key in meta or f"{client}-".startswith(f"{h.client}-")]
    around = [host for host in HOSTS if caller.environ.get(host.variable)]
    return named or [host for host in around if host.is_proved or not client]
