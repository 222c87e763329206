"""The files of Codex's threads, called rollouts: a thread may have several.

    sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl
    sessions/YYYY/MM/DD/rollout-<time>-<thread>_<rollout>.jsonl   goes on after an edited prompt
    archived_sessions/rollout-….jsonl                             of threads that the user archived
    ….jsonl.zst                                                   packed (Zstandard)

The last id in a name is the rollout's own; a thread's first rollout has the thread's id. Seen in
version 0.169.0.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from context_compression.conversation.messages import as_object
from context_compression.transcripts.damaged_lines import first_row
from context_compression.transcripts.lines import string

SESSIONS, ARCHIVED = "sessions", "archived_sessions"
FOLDERS = (f"{SESSIONS}/*/*/*", ARCHIVED)
ID = r"[0-9A-Za-z]{8}(?:-[0-9A-Za-z]{4}){3}-[0-9A-Za-z]{12}"
NAME = re.compile(rf"rollout-.*?(?P<thread>{ID})(?:_(?P<rollout>{ID}))?\.jsonl(?:\.zst)?")
SAFE = re.compile(r"[A-Za-z0-9-]+")
SORTED = "7"
"""The version of an id that begins with the time it was made (RFC 9562)."""


@dataclass(frozen=True)
class Rollout:
    """One file of a thread."""

    path: Path
    thread: str
    id: str
    """The rollout's own id."""

    @property
    def is_packed(self) -> bool:
        """Whether the file is packed."""
        return self.path.suffix == ".zst"


def rollout(path: Path) -> Rollout | None:
    """The rollout that a file's name tells; `None` for other files."""
    if found := NAME.fullmatch(path.name):
        return Rollout(path, found["thread"], found["rollout"] or found["thread"])
    return None


def rollouts(home: Path, id: str = "") -> Iterator[Rollout]:
    """The rollouts below Codex's folder; with `id`, only those of that thread or rollout."""
    name = f"rollout-*{id}*.jsonl*" if id else "rollout-*.jsonl*"
    for folder in FOLDERS:
        paths = home.glob(f"{folder}/{name}")
        yield from (each for each in map(rollout, paths) if each)


def by_thread(found: Iterable[Rollout]) -> dict[str, list[Rollout]]:
    """Rollouts by their thread."""
    threads: dict[str, list[Rollout]] = {}
    for each in found:
        threads.setdefault(each.thread, []).append(each)
    return threads


def newest(found: Iterable[Rollout]) -> Rollout:
    """The rollout with which a thread goes on: the one begun last.

    Every edited prompt begins a file, so the one written last may be an older one that was copied,
    packed or touched. A file that another one goes on from is never the newest.
    """
    plain = _one_each(found)
    if len(plain) == 1:
        return plain[0]
    metas = {each: meta(each.path) for each in plain}
    bases = {string(as_object(about.get("history_base")), "thread_id") for about in metas.values()}
    leaves = [each for each in plain if each.id not in bases] or plain
    return max(leaves, key=lambda each: _began(each, metas[each]))


def _one_each(found: Iterable[Rollout]) -> list[Rollout]:
    """The rollouts, each once: the plain file, if it is there packed and plain."""
    found = sorted(found, key=lambda each: (each.is_packed, each.path))
    return [*{each.id: each for each in reversed(found)}.values()]


def _began(each: Rollout, about: Mapping[str, Any]) -> tuple[str, str, float]:
    """When a rollout was begun: as it says, by its id, by its file."""
    by_id = each.id if each.id[14:15] == SORTED else ""
    try:
        written = each.path.stat().st_mtime
    except OSError:  # deleted since it was found
        written = 0.0
    return string(about, "timestamp"), by_id, written


def home_of(path: Path) -> Path | None:
    """Codex's folder, from the path of a rollout in it; `None` for a file that lies elsewhere."""
    for folder in path.parents:
        if folder.name in (SESSIONS, ARCHIVED):
            return folder.parent
    return None


def rollout_named(id: str, near: Path) -> Rollout | None:
    """The rollout with an id, beside another one or anywhere in the same folder of Codex's."""
    home = home_of(near)
    beside = (each for each in map(rollout, near.parent.glob(f"rollout-*{id}.jsonl*")) if each)
    everywhere = rollouts(home, id) if home else iter(())
    named = [each for found in (beside, everywhere) for each in found if each.id == id]
    return next(iter(_one_each(named)), None)


def meta(path: Path) -> Mapping[str, Any]:
    """The payload of a rollout's first line, which describes the thread."""
    return as_object(first_row(path).get("payload"))
