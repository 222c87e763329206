"""A view as a new session of a host, which the host resumes; the original is never touched."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from context_compression.errors import ExportError, StoreUnwritable
from context_compression.hosts.claude_code import export as claude_code
from context_compression.hosts.codex import export as codex
from context_compression.hosts.pi import export as pi
from context_compression.store.files import replace_file, to_json
from context_compression.transcripts.exporter import Copy, Exporter
from context_compression.transcripts.portable_messages import portable

__all__ = ["EXPORTERS", "Copy", "Exported", "export"]

HOSTS: tuple[Exporter, ...] = (claude_code, codex, pi)
EXPORTERS = {exporter.NAME: exporter for exporter in HOSTS}


@dataclass(frozen=True)
class Exported:
    """A session that was written.

    Attributes:
        path: its file.
        command: what to type to go on in it.
        notes: what of the view the host cannot be given, in plain words.
    """

    host: str
    session_id: str
    path: Path
    command: str
    notes: Sequence[str]


def export(
    view: Sequence[Mapping[str, Any]],
    host: str,
    copy: Copy,
    *,
    written_by: str | None,
    home: Path,
    environ: Mapping[str, str],
) -> Exported:
    """Write a view as a new session of a host.

    Args:
        view: messages in any dialect of `formats`.
        host: one of `EXPORTERS`.
        copy: what the new session says of itself.
        written_by: the host whose transcript the view was made of, where that is known.
        home: the user's home folder.
        environ: variables by which hosts are told to keep their files elsewhere.

    Raises:
        InvalidConversation: not messages in a format we know.
        ExportError: there is nothing to go on from, or the file cannot be written.
    """
    exporter = EXPORTERS[host]
    same = written_by == exporter.NAME
    taken = portable(
        view, thinking=same and exporter.THINKING, opaque=same, documents=exporter.DOCUMENTS
    )
    if not taken.messages:
        raise ExportError("There is nothing to export: the conversation holds no messages.")
    path = exporter.place(copy, home, environ)
    rows = (to_json(row) + b"\n" for row in exporter.rows(taken.messages, copy))
    _write(path, b"".join(rows))
    command = f"cd {shlex.quote(str(copy.project))} && {shlex.join(exporter.command(copy, path))}"
    return Exported(host, copy.session_id, path, command, taken.notes)


def _write(path: Path, data: bytes) -> None:
    """Put a new file there, whole or not at all, for its owner alone.

    Raises:
        ExportError: there is one already, or it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if path.exists():
            raise FileExistsError("there is one already")
        replace_file(path, data)
    except (OSError, StoreUnwritable) as error:
        reason = error.__cause__ if isinstance(error, StoreUnwritable) else error
        raise ExportError(
            f"{path} cannot be written: {reason}. Nothing was changed. Make room, or correct the "
            "permissions of its folder."
        ) from error
