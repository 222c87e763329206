"""What people are told of hosts: what they did to a conversation, and whether our hooks are new.

An update of the package leaves the copies of its hooks in hosts' folders as they were. They then
ask the new server in an old way, so the server says so.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from context_compression.errors import SetupError
from context_compression.hosts.claude_code.host import CLAUDE_CODE
from context_compression.hosts.claude_code.install_plugin import other_version
from context_compression.hosts.host import Host
from context_compression.hosts.setup.machine import PROGRAM, Machine
from context_compression.hosts.table import INSTALLABLE, TITLES
from context_compression.plurals import short_number, times
from context_compression.transcripts.sessions import age
from context_compression.transcripts.transcript import Compaction


def in_words(compactions: Sequence[Compaction], now: float) -> str:
    """`compacted 3 times by Claude Code, last 156K → 38K tokens, auto, 2 hours ago`.

    Args:
        compactions: the oldest first.
        now: the present time, in seconds since 1970.

    Returns:
        An empty text if there are none.
    """
    whole = [compaction for compaction in compactions if not compaction.cleared]
    cleared = [compaction for compaction in compactions if compaction.cleared]
    kinds = (("compacted", whole), ("old tool results cleared", cleared))
    return "; ".join(
        ", ".join([f"{done} {_by(some)}", *_about(some[-1], now)]) for done, some in kinds if some
    )


def next_request(conversation: int, beside: int, host: str) -> str:
    """`20K conversation + 48K of Claude Code = 68K next request`; "" if nothing is beside it.

    Args:
        conversation: tokens of the conversation.
        beside: tokens that the host adds to each request.
        host: its name, as in `Transcript`.
    """
    if beside <= 0 or conversation < 0:  # as where less was charged than we count
        return ""
    of = TITLES.get(host, "system prompt and tools")
    sizes = map(short_number, (conversation, beside, conversation + beside))
    return "{} conversation + {} of {of} = {} next request".format(*sizes, of=of)


def due_words(reason: str, due_from: int, host: str, compacts_at: int) -> str:
    """Why a compression is or is not due, with the point at which the host itself compacts.

    `due from 167,000 tokens on: 83.5 % of 200,000, where Claude Code compacts`.

    Args:
        reason: as in `Due`.
        due_from: the number of tokens from which on a compression is due.
        host: its name, as in `Transcript`.
        compacts_at: the size at which the host itself compacts, in tokens; 0 if none is known.
    """
    if not compacts_at:
        return reason
    title = TITLES.get(host, host)
    if due_from == compacts_at:
        return f"{reason}, where {title} compacts"
    return f"{reason}; {title} compacts at {compacts_at:,}"


def _by(compactions: Sequence[Compaction]) -> str:
    counts = Counter(compaction.by for compaction in compactions)
    parts = [f"{times(n)} by {TITLES.get(by, by)}" for by, n in counts.items()]
    return " and ".join(parts)


def _about(last: Compaction, now: float) -> Iterator[str]:
    before, after = last.tokens_before, last.tokens_after
    if before is not None and after is not None:
        yield f"last {short_number(before)} → {short_number(after)} tokens"
    elif before is not None:
        yield f"last at {short_number(before)} tokens"
    if last.trigger:
        yield last.trigger
    if last.time is not None:
        yield f"{age(now - last.time)} ago"


def outdated_hooks(machine: Machine) -> list[str]:
    """A sentence for each host whose installed hooks are of another version than this package."""
    return [sentence for host in INSTALLABLE for sentence in _of_host(host, machine)]


def _of_host(host: Host, machine: Machine) -> Iterator[str]:
    for in_project in (False, True):
        try:
            states = {hooks.is_current(machine, in_project=in_project) for hooks in host.hooks}
        except SetupError:  # `doctor` reports it
            continue
        if False in states:
            yield _sentence(host, "another version", in_project=in_project)
    try:
        version = other_version(machine) if host is CLAUDE_CODE else None
    except SetupError:
        return
    if version is not None:
        yield _sentence(host, f"version {version}, and not of this one", in_project=False)


def _sentence(host: Host, version: str, *, in_project: bool) -> str:
    where = " for this project" if in_project else ""
    option = " --project" if in_project else ""
    return (
        f"the hooks installed in {host.title}{where} are of {version}; run `{PROGRAM} install "
        f"{host.name}{option}`"
    )
