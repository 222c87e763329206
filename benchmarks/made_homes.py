"""Home folders with the sessions of agent hosts, for benchmarks: written as the hosts write them.

`write` writes one session. `fill` makes as many as are wanted from the recorded conversations: each
is a stretch of one, with ids, a time and a folder of its own, and with its own names and numbers,
because real sessions do not repeat each other.
"""

import gzip
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import recordings
from recordings import Messages

from context_compression import Store
from context_compression.conversation.messages import is_array, is_object
from context_compression.hosts.exporting import EXPORTERS, NewSession
from context_compression.store import SearchResult
from context_compression.store.files import to_json
from context_compression.transcripts.exporter import portable
from context_compression.workspace import Workspace

HOSTS: Mapping[str, int] = {"claude-code": 6, "codex": 3, "pi": 1}
"""The hosts of made sessions, and how many of ten are theirs."""
UNREAD = "still to be indexed"
"""What a search notes if sessions are left to be read."""
FIRST = datetime(2025, 6, 1, 8, 0, tzinfo=UTC)
APART = timedelta(minutes=37)
SIZES = (200, 4_000)
"""Tokens of a made session: from the first to about the second, twice as long half as likely."""
LONGEST = 4_000
"""Characters of a text in a made session, at most: many sessions, none of them large."""
CHARS = 4  # of a token, about
OTHERS = 10  # of so many sessions, one more is made in another project
NAMING = ("type", "id", "tool_use_id", "name", "source")
_NAME = re.compile(r"\b[A-Za-z]\w*_\w+\b|\b[a-z]+(?:[A-Z][a-z0-9]+)+\b|\b\d{3,}\b")


@dataclass(frozen=True)
class Home:
    """A home folder with a project.

    Attributes:
        project: the root of a repository, which has a worktree and folders in it.
        text: characters of all texts that the project's sessions hold.
        bytes: of their transcripts.
    """

    home: Path
    project: Path
    text: int = 0
    bytes: int = 0


def made(folder: Path) -> Home:
    """An empty home folder, with a project that is a repository."""
    project = folder / "work" / "app"
    tree = project / ".claude" / "worktrees" / "other"
    git = project / ".git" / "worktrees" / "other"
    for each in (git, tree, project / "server"):
        each.mkdir(parents=True)
    (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (git / "gitdir").write_text(f"{tree / '.git'}\n", encoding="utf-8")
    (git / "commondir").write_text("../..\n", encoding="utf-8")
    (git / "HEAD").write_text("ref: refs/heads/other\n", encoding="utf-8")
    (tree / ".git").write_text(f"gitdir: {git}\n", encoding="utf-8")
    return Home(folder, project)


def environ(home: Path) -> dict[str, str]:
    """The environment of a program with this home folder."""
    return {"HOME": str(home), "PATH": os.environ.get("PATH", os.defpath)}


def workspace(home: Home) -> Workspace:
    """The workspace of an agent in the project."""
    return Workspace.here(environ=environ(home.home), cwd=home.project, home=home.home)


def search(store: Store, query: str, **more: Any) -> SearchResult:
    """A search of all sessions, which are all read before."""
    result = store.search(query, **more)
    if result.note and UNREAD in result.note:
        index(store)
        result = store.search(query, **more)
    assert not (result.note and UNREAD in result.note)
    return result


def index(store: Store) -> None:
    """Read all sessions that are not indexed yet."""
    recall: Any = store.beside
    recall.update()


def index_of(home: Home) -> Path:
    """The folder of the indexes, which may not be there."""
    return home.home / ".local" / "share" / "context-compression" / "recall"


def write(
    home: Path, host: str, name: str, messages: Messages, project: Path, began: datetime
) -> Path:
    """Write a session of a host; returns its transcript.

    Args:
        home: of the user.
        host: a key of `EXPORTERS`.
        name: of the session; its id is made of it.
        messages: in blocks; nothing of them is left out but what the host cannot have.
        project: the folder that the agent worked in.
        began: when; it is also the time of the file.
    """
    exporter = EXPORTERS[host]
    session = NewSession(id_of(name), project, began)
    carried = portable(messages, thinking=False, opaque=False, documents=exporter.documents)
    path = exporter.place(session, home, {})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(to_json(r) + b"\n" for r in exporter.rows(carried.messages, session)))
    os.utime(path, (began.timestamp(), began.timestamp()))
    return path


def id_of(name: str) -> str:
    """The id of the session with this name; hosts' ids are UUIDs."""
    return str(UUID(bytes=sha256(name.encode()).digest()[:16], version=4))


def fill(home: Home, sessions: int) -> Home:
    """Make so many sessions of the project, and some of another; returns the home with its sizes.

    The same number gives the same sessions.
    """
    rng = Random(sessions)
    talks = [*sources()]
    folders = (home.project, home.project, home.project / "server",
               home.project / ".claude" / "worktrees" / "other")  # fmt: skip
    hosts = [host for host, share in HOSTS.items() for _ in range(share)]
    text = size = 0
    for number in range(sessions + sessions // OTHERS):
        elsewhere = number >= sessions
        messages = renamed(stretch(rng, rng.choice(talks)), number)
        folder = home.home / "work" / "elsewhere" if elsewhere else rng.choice(folders)
        began = FIRST + APART * number
        path = write(home.home, rng.choice(hosts), f"made {number}", messages, folder, began)
        if not elsewhere:
            text += sum(map(len, strings(messages)))
            size += path.stat().st_size
    return Home(home.home, home.project, text, size)


def sources() -> Iterator[Messages]:
    """The recorded conversations that use tools."""
    for path in recordings.paths():
        with gzip.open(path, "rt", encoding="utf-8") as file:
            messages = recordings.plain(json.load(file)["messages"])
        if any(block["type"] == "tool_use" for message in messages for block in message["content"]):
            yield messages


def stretch(rng: Random, messages: Messages) -> Messages:
    """A part of a conversation that begins with a text of the user, and has about a size."""
    begins = [at for at, message in enumerate(messages) if _is_said_by_the_user(message)] or [0]
    least, most = SIZES
    left = CHARS * least * (most / least) ** rng.random()
    start = stop = rng.choice(begins)
    while stop < len(messages) and left > 0:
        left -= sum(min(len(text), LONGEST) for text in strings(messages[stop]))
        stop += 1
    return messages[start:stop]


def renamed(messages: Messages, number: int) -> Messages:
    """The messages with other numbers, and with other names for half of the names in them."""
    changed = partial(_NAME.sub, partial(_other, str(number)))
    return [{**each, "content": _changed(each["content"], changed)} for each in messages]


def _changed(value: Any, changed: Callable[[str], str]) -> Any:
    """A JSON value with other texts; what names a block or a call stays."""
    if isinstance(value, str):
        return changed(value[:LONGEST])
    if is_array(value):
        return [_changed(each, changed) for each in value]
    if is_object(value):
        return {k: v if k in NAMING else _changed(v, changed) for k, v in value.items()}
    return value


def _other(salt: str, match: "re.Match[str]") -> str:
    """Another name or number, always the same for the same one."""
    name = match[0]
    digest = sha256(f"{salt} {name}".encode()).digest()
    if name.isdigit():
        return "".join(
            str((int(digit) + add) % 10) for digit, add in zip(name, digest, strict=False)
        )
    return f"{name}_{digest.hex()[:4]}" if digest[0] % 2 else name


def strings(value: Any) -> Iterator[str]:
    """All texts in a JSON value."""
    if isinstance(value, str):
        yield value
    elif is_array(value) or is_object(value):
        for each in value.values() if is_object(value) else value:
            yield from strings(each)


def _is_said_by_the_user(message: Mapping[str, Any]) -> bool:
    blocks: Sequence[Mapping[str, Any]] = message["content"]
    return message["role"] == "user" and any(block["type"] == "text" for block in blocks)
