"""`Undoing`: which changes of files were taken back later, by git or because the file was deleted.

A change counts as taken back only if that is certain. What git committed stays after
`git checkout .`, as do staged changes and files that git does not know; what a stash put aside
comes back with `git stash pop`.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from context_compression.evidence.ledger.file_actions import FileAction
from context_compression.evidence.ledger.git import NO_FOLDER, UNTRACKED

MOST_FOLDERS = 64
"""How many last parts of a path may name the same file without the parts before them."""


class _Made(NamedTuple):
    """A change that holds: the call that made it, and the path of its file."""

    call: str
    path: str


class Undoing:
    """Follows the actions on files of a conversation, in order."""

    def __init__(self) -> None:
        self._pending: list[_Made] = []  # not committed
        self._staged: set[_Made] = set()
        self._existing: set[str] = set()  # files that were read or changed
        self._ends: set[str] = set()  # those, and what stands behind each of their slashes
        self._new: set[str] = set()  # files that git may not know
        self._commits: list[list[_Made]] = []
        self._stashes: list[list[_Made]] = []
        self._made: Counter[str] = Counter()
        self._undone: list[_Made] = []

    def follow(self, call: str, action: FileAction) -> None:
        """Take the next action into account; `call` is the id of the call that took it."""
        match action.deed:
            case "read":
                self._learn(action.path)
            case "committed":
                self._commits.append(self._pending)
                self._pending = []
                self._staged.clear()
                self._new.clear()
            case "uncommitted":
                for _ in range(min(int(action.to), len(self._commits))):
                    self._undone += self._commits.pop()
            case "staged":
                self._staged.update(made for made in self._pending if _is_named(action, made))
                self._new -= {made.path for made in self._staged}
            case "restored" | "reset" | "stashed":
                taken = self._take(lambda made: self._takes_back(action, made))
                if action.deed == "stashed":
                    self._stashes.append(taken)
                self._undone += taken
            case "cleaned":
                self._undone += self._take(lambda made: made.path in self._new)
            case "unstashed":
                back = self._stashes.pop() if self._stashes else []
                self._undone = [made for made in self._undone if made not in back]
                self._pending += back
            case "deleted":
                self._undone += self._take(lambda made: is_same(action.path, made.path))
            case deed:
                path = action.to or action.path
                if deed in ("created", "renamed") or (deed == "written" and not self._exists(path)):
                    self._new.add(path)
                self._learn(path)
                self._made[call] += 1
                self._pending.append(_Made(call, path))

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

    def _learn(self, path: str) -> None:
        self._existing.add(path)
        self._ends.update(_ends_of(path))

    def _exists(self, path: str) -> bool:
        """Whether a known path may name the same file; as `is_same`, without asking each."""
        return path in self._ends or any(end in self._existing for end in _ends_of(path))

    def _takes_back(self, action: FileAction, made: _Made) -> bool:
        """Whether a command of git certainly takes a change back."""
        if action.deed == "restored" and made in self._staged:
            return False
        untracked = made.path in self._new and action.to != UNTRACKED
        return _is_named(action, made) and (is_same(action.path, made.path) or not untracked)

    def _take(self, is_taken: Callable[[_Made], bool]) -> list[_Made]:
        taken = [made for made in self._pending if is_taken(made)]
        self._pending = [made for made in self._pending if not is_taken(made)]
        return taken


def _is_named(action: FileAction, made: _Made) -> bool:
    """Whether a command of git names the file of a change."""
    if action.path and action.to == NO_FOLDER:
        return is_same(action.path, made.path)
    return covers(action.path, made.path)


def _ends_of(path: str) -> Iterator[str]:
    """A path, and what stands behind each of its last slashes."""
    yield path
    at = len(path)
    for _ in range(MOST_FOLDERS):
        if (at := path.rfind("/", 0, at)) < 0:
            return
        yield path[at + 1 :]


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
