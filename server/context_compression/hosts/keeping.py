"""Keeps the sessions of hosts as they were written, past the host's own deletion.

A look goes through the sessions of all hosts, and keeps those whose files have another size or time
than what is kept of them. A session that goes on is kept again at the next look, as one version.
Before a host shortens a conversation, its session is kept as it is.

Who looks: `keep on` and `keep status`; a process of its own when a server or a host's hook process
begins, and when it has ended (`workspace.kept.look_around`).
"""

import os
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from io import BytesIO
from os import fstat
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast

from context_compression.errors import ContextCompressionError, MissingExtra
from context_compression.guard import in_our_words
from context_compression.hosts.conversations import Conversations
from context_compression.hosts.exporting import Exported, write_new
from context_compression.hosts.host import Host
from context_compression.hosts.listing import described
from context_compression.hosts.projects import BY_HOST, FoundSession, sessions_of_hosts, worked_in
from context_compression.listening import KEEPING as STAGE
from context_compression.listening import counted
from context_compression.store.kept import KeptSession, KeptSessions, WrittenFile
from context_compression.transcripts.lines import string
from context_compression.transcripts.opening import CHUNK, PACKED_NAMES, opened_once, unpacked
from context_compression.transcripts.sessions import CandidateConversation
from context_compression.workspace import Workspace
from context_compression.workspace.kept import kept_in, may_keep

PATIENCE = 600.0
"""Seconds that a look waits for that of another process."""


@dataclass(frozen=True)
class Looked:
    """What a look found.

    Attributes:
        sessions: how many sessions the hosts have.
        kept: what was kept anew, or again.
        problems: why some could not be kept, in sentences for the user.
    """

    sessions: int
    kept: Sequence[KeptSession]
    problems: Sequence[str]


def look(workspace: Workspace, patience: float = PATIENCE) -> Looked:
    """Keep all sessions of hosts that have changed since they were kept, if sessions are kept.

    Raises:
        MissingExtra: there is no Zstandard.
        StoreError: the folder belongs to another user, or cannot be written; or another process
            still looks after `patience` seconds.
    """
    kept = kept_in(workspace)
    if not may_keep(workspace) or not kept.is_on:
        return Looked(0, [], [])
    with kept.looking(patience):
        conversations = Conversations(workspace)
        found, problems = sessions_of_hosts(workspace)
        there, damaged = kept.read()
        versions = _by_session(there)
        added: list[KeptSession] = []
        for each in counted(STAGE, found):
            if each.written_at < kept.since:
                continue
            try:
                with in_our_words(MissingExtra):
                    version = _keep(each, kept, versions, conversations)
            except MissingExtra:
                raise
            except ContextCompressionError as error:
                problems.append(f"{each.candidate.path} was not kept: {error}")
                continue
            added += [version] if version else []
        if added:
            kept.sweep()
    return Looked(len(found), added, [*problems, *damaged])


def keep_before(workspace: Workspace, host_name: str, event: Mapping[str, Any]) -> None:
    """Keep the session of an event as it is, before its host shortens it."""
    path, id = string(event, "transcript_path"), string(event, "session_id")
    kept = kept_in(workspace)
    if not may_keep(workspace) or not kept.is_on:
        return
    host = BY_HOST[host_name]
    for candidate in host.stored.sessions(workspace.environ, workspace.home):
        if str(candidate.path) == path or (candidate.id and id.startswith(candidate.id)):
            versions = _by_session(kept.sessions())
            found = FoundSession(candidate.written_at, candidate, host)
            _keep(found, kept, versions, Conversations(workspace))
            return


Versions = Mapping[tuple[str, str], Sequence[KeptSession]]
"""The versions of each session, by host and path, the newest first."""


def _by_session(sessions: Sequence[KeptSession]) -> Versions:
    found: dict[tuple[str, str], list[KeptSession]] = {}
    for each in sessions:
        found.setdefault((each.host, each.path), []).append(each)
    return found


def _keep(
    found: FoundSession, kept: KeptSessions, versions: Versions, conversations: Conversations
) -> KeptSession | None:
    """The new version of a session; `None` if its files are those of the one before."""
    candidate, host = found.candidate, found.host
    assert host, "a host's own session"
    earlier = versions.get((host.name, str(candidate.path)), ())
    stamps = _stamps(candidate, host)
    if earlier and {each.name: each.stamp for each in earlier[0].files} == stamps:
        return None
    about, folders = described(found, conversations), tuple(worked_in(found))
    session = KeptSession(
        host=host.name,
        id=about.id or candidate.path.stem,
        path=str(candidate.path),
        written_at=found.written_at,
        project=about.project or next(iter(folders), ""),
        folders=folders,
        title=about.title,
        tokens=about.tokens,
        window=about.window,
        compactions=about.compactions,
        subagents=about.subagents,
        is_subagent=host.stored.is_subagent(candidate),
    )
    with ExitStack() as stack:
        return kept.add(session, _written(candidate, host, stack), earlier)


def _paths(candidate: CandidateConversation, host: Host) -> Iterator[tuple[str, Path]]:
    """The files of a session, each with the name that it is kept under."""
    folder = candidate.path.parent
    for path in dict.fromkeys((candidate.path, *host.stored.beside(candidate))):
        inside = path.relative_to(folder) if path.is_relative_to(folder) else Path(path.name)
        name = PurePosixPath(folder.name, *inside.parts)
        yield str(name.with_suffix("") if name.suffix in PACKED_NAMES else name), path


def _stamps(candidate: CandidateConversation, host: Host) -> dict[str, tuple[int, int]]:
    """Size and time of each file of a session, by its name, without reading any."""
    if host.stored.exported:
        return {_document(candidate): (0, int(candidate.written_at * 1e9))}
    stamps: dict[str, tuple[int, int]] = {}
    for name, path in _paths(candidate, host):
        with suppress(OSError):
            about = path.stat()
            stamps[name] = about.st_size, about.st_mtime_ns
    return stamps


def _document(candidate: CandidateConversation) -> str:
    return f"{candidate.path.parent.name}/{candidate.path.name}.json"


def _written(
    candidate: CandidateConversation, host: Host, stack: ExitStack
) -> Iterator[WrittenFile]:
    """The files of a session, open one after the other; only the transcript must be there."""
    if host.stored.exported:
        stream = BytesIO(b"".join(host.stored.exported(candidate)))
        yield WrittenFile(_document(candidate), stream, (0, int(candidate.written_at * 1e9)))
        return
    for name, path in _paths(candidate, host):
        try:
            file, _ = stack.enter_context(opened_once(path))
        except OSError:
            if path == candidate.path:
                raise
            continue
        about = fstat(file.fileno())
        stream = cast(BinaryIO, file)
        if path.suffix in PACKED_NAMES:
            start = file.peek(CHUNK)[:4]
            stream = unpacked(file, start, path) or stream
        yield WrittenFile(name, stream, (about.st_size, about.st_mtime_ns))


def put_back(workspace: Workspace, session: KeptSession) -> Exported:
    """Write a kept session where its host had it, byte for byte; of opencode, a file to import.

    Raises:
        StoreDamaged: a piece of it is damaged; nothing was written.
        ExportError: its transcript is there again, or cannot be written.
    """
    host, folder = BY_HOST[session.host], Path(session.path).parent.parent
    copy = kept_in(workspace).unpacked(session)
    root = copy.parents[len(PurePosixPath(session.files[0].name).parts) - 1]
    places = [(root / each.name, folder / each.name) for each in session.files]
    if host.stored.exported:
        places = [(copy, workspace.cwd / copy.name)]
    place = places[0][1]
    for source, target in places[::-1]:  # the transcript last, so that nothing half is found
        if target == place or not os.path.lexists(target):
            with opened_once(source) as (file, _):
                write_new(target, iter(lambda file=file: file.read(CHUNK), b""))
    command = [part.format(id=session.id, path=place) for part in host.resumes]
    project = session.project or str(workspace.cwd)
    shown = f"cd {shlex.quote(project)} && {shlex.join(command)}"
    return Exported(session.host, session.id, place, shown, [])


def wait_for_end(stream: BinaryIO, settle: float = 2.0) -> None:
    """Return once a pipe has ended, and a host had time to write its last lines."""
    while stream.read(CHUNK):
        pass
    time.sleep(settle)
