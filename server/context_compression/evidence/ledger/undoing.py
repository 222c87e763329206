"""`Undoing`: which changes of files were taken back later, by git or because the file was deleted.

A change counts as taken back only if that is certain. What git committed stays after
`git checkout .`; what a stash put aside comes back with `git stash pop`.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from context_compression.evidence.ledger.file_actions import FileAction


class _Made(NamedTuple):
    """A change that holds: the call that made it, and the path of its file."""

    call: str
    path: str


class Undoing:
    """Follows the actions on files of a conversation, in order."""

    def __init__(self) -> None:
        self._pending: list[_Made] = []  # not committed
        self._commits: list[list[_Made]] = []
        self._stashes: list[list[_Made]] = []
        self._made: Counter[str] = Counter()
        self._undone: list[_Made] = []

    def follow(self, call: str, action: FileAction) -> None:
        """Take the next action into account; `call` is the id of the call that took it."""
        match action.deed:
            case "read":
                pass
            case "committed":
                self._commits.append(self._pending)
                self._pending = []
            case "uncommitted":
                for _ in range(min(int(action.to), len(self._commits))):
                    self._undone += self._commits.pop()
            case "restored" | "stashed":
                taken = self._take(lambda made: covers(action.path, made.path))
                if action.deed == "stashed":
                    self._stashes.append(taken)
                self._undone += taken
            case "unstashed":
                back = self._stashes.pop() if self._stashes else []
                self._undone = [made for made in self._undone if made not in back]
                self._pending += back
            case "deleted":
                self._undone += self._take(lambda made: is_same(action.path, made.path))
            case _:
                self._made[call] += 1
                self._pending.append(_Made(call, action.to or action.path))

    @property
    def calls(self) -> frozenset[str]:
        """The ids of calls all of whose changes were taken back."""
        undone = Counter(made.call for made in self._undone)
        return frozenset(call for call, times in undone.items() if times >= self._made[call])

    @property
    def paths(self) -> frozenset[str]:
        """The files all of whose changes were taken back."""
        hold = {made.path for kept in (self._pending, *self._commits) for made in kept}
        return frozenset({made.path for made in self._undone} - hold)

    def _take(self, is_taken: Callable[[_Made], bool]) -> list[_Made]:
        taken = [made for made in self._pending if is_taken(made)]
        self._pending = [made for made in self._pending if not is_taken(made)]
        return taken


def covers(target: str, path: str) -> bool:
    """Whether a target of git names a file: the file, one of its folders, or `""` for all files."""
    folder = target.rstrip("/") + "/"
    return not target or is_same(target, path) or path.startswith(folder) or f"/{folder}" in path


def is_same(one: str, other: str) -> bool:
    """Whether two paths may name the same file: they are equal, or one ends with the other."""
    return one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")


def undone_by(actions: Sequence[tuple[str, FileAction]]) -> Undoing:
    """The `Undoing` after some actions, each with the id of its call."""
    undoing = Undoing()
    for call, action in actions:
        undoing.follow(call, action)
    return undoing
