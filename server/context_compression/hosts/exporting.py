"""Export of a view as a new session that a host resumes; the original session stays unchanged."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from context_compression.errors import ExportError, StoreUnwritable
from context_compression.hosts.table import HOSTS
from context_compression.store.files import replace_by_parts, to_json
from context_compression.transcripts.exporter import NewSession, portable

__all__ = ["EXPORTERS", "Exported", "NewSession", "export"]

EXPORTERS = {host.name: host.exporter for host in HOSTS if host.exporter}
"""The exporters by the name of their host."""


@dataclass(frozen=True)
class Exported:
    """A session that was written.

    Attributes:
        path: the file of the session.
        command: the shell command that resumes it.
        notes: the parts that were left out because the host cannot use them, in sentences.
    """

    host: str
    session_id: str
    path: Path
    command: str
    notes: Sequence[str]


def export(
    view: Sequence[Mapping[str, Any]],
    host: str,
    session: NewSession,
    *,
    written_by: str | None,
    home: Path,
    environ: Mapping[str, str],
) -> Exported:
    """Write a view as a new session of a host.

    Args:
        view: messages in any dialect of `formats`.
        host: a key of `EXPORTERS`.
        session: id, project and model of the new session.
        written_by: the host whose transcript the view was made from, if known.
        home: the user's home folder.
        environ: the environment variables, some of which move hosts' files.

    Raises:
        InvalidConversation: the messages are in no known format.
        ExportError: there are no messages, or the file exists already or cannot be written.
    """
    exporter = EXPORTERS[host]
    same_host = written_by == host
    carried = portable(
        view,
        thinking=same_host and exporter.thinking,
        opaque=same_host,
        documents=exporter.documents,
    )
    if not carried.messages:
        raise ExportError("There is nothing to export: the conversation holds no messages.")
    path = exporter.place(session, home, environ)
    rows = (to_json(row) + b"\n" for row in exporter.rows(carried.messages, session))
    write_new(path, rows)
    command = (
        f"cd {shlex.quote(str(session.project))} && {shlex.join(exporter.command(session, path))}"
    )
    return Exported(host, session.session_id, path, command, carried.notes)


def write_new(path: Path, parts: Iterable[bytes]) -> None:
    """Write a new file atomically; only its owner can read it.

    Raises:
        ExportError: the file exists already, or it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if path.exists():
            raise FileExistsError("it exists already")
        replace_by_parts(path, parts)
    except (OSError, StoreUnwritable) as error:
        reason = error.__cause__ if isinstance(error, StoreUnwritable) else error
        raise ExportError(
            f"{path} cannot be written: {reason}. Nothing was changed. Make room, or correct the "
            "permissions of its folder."
        ) from error
