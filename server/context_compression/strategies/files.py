"""A line of the files that were worked on, because a small view of a long session names only few.

`[Other files in /srv/app] changed: src/a.py, src/b.py; deleted: c.py; read: docs/d.md; …`
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from context_compression.evidence.ledger import Entry, actions_in
from context_compression.evidence.ledger.entry import STATES
from context_compression.evidence.ledger.file_actions import ABSOLUTE, OF_GIT, FileAction
from context_compression.evidence.ledger.undoing import undone_by
from context_compression.evidence.words import places_of
from context_compression.planning.plan import Plan
from context_compression.strategies import measured

CHANGED, DELETED, READ = "changed", "deleted", "read"
"""The headings of a line, in their order: the state of a file after the last known call."""
LABEL = "[Other files"
LINE = re.compile(r"^\[(?:Other f|F)iles(?: in ([^\]\n]+))?\] (.+)$", re.MULTILINE)
SEPARATOR = re.compile(r"[/\\]")
DOUBLED = re.compile(r"(?<=[^/:])//+")
ROOT = re.compile(r"(?:[A-Za-z]:|~)?[/\\]+")
"""The beginning of an absolute path, before its first folder."""
OTHERS = "; …"
"""The end of a line that does not name all files."""
UNFIT = re.compile(r'[,;*?"<>|]|: |\A\W*\Z|[/\\]\.?\Z')
"""A path that cannot be shown in a line: it has a sign of the line or a pattern, or is a folder."""
TEMPORARY = re.compile(r"/(?:private/|var/)?tmp/|/dev/|/proc/|[A-Za-z]:.*[/\\]Temp[/\\]")
"""The beginning of a path of a file that is not part of the work."""
BEHIND = re.compile(r"[\w-]|\.\w")
"""The text behind a name that is only the beginning of another name."""


@dataclass(frozen=True)
class Files:
    """The files that the calls of a conversation worked on.

    Attributes:
        headings: the state of each file, by path. Files that were only read come last; otherwise
            the most used come first, and of equally used files the newest.
        folder: the folder that holds nearly all of them, with its final sign; `""` if there is
            none.
    """

    headings: Mapping[str, str]
    folder: str

    @cached_property
    def changed(self) -> "Files":
        """The files that were changed or deleted."""
        headings = {path: state for path, state in self.headings.items() if state != READ}
        return Files(headings, self.folder)

    @cached_property
    def ends(self) -> frozenset[str]:
        """The paths and all their endings: for `src/app/a.py` also `app/a.py` and `a.py`."""
        within = (path[sign.end() :] for path in self.headings for sign in SEPARATOR.finditer(path))
        return frozenset(chain(self.headings, within))

    def line(self, texts: Iterable[str], count: Callable[[str], int], room: float) -> str:
        """The line of the files that some texts do not name; `""` if there are none.

        A line of files among the texts counts for the files that it lists in the same state. If
        files are left out for lack of room, the new line ends with `…`.

        Args:
            texts: the texts of the view.
            count: returns the tokens of a text.
            room: about how many tokens the line may take, because names are counted one by one.
        """
        view = "\n".join(texts)
        listed = {entry for line in LINE.finditer(view) for entry in files_in(line)}
        own = {path: path.removeprefix(self.folder) for path in self.headings}
        shown = named_in(LINE.sub("", view), own.values(), self.folder)
        label = f"{LABEL} in {self.folder[:-1]}]" if self.folder else f"{LABEL}]"
        left = room - count(f"{label}{OTHERS}")
        others = ""
        named: dict[str, list[str]] = {CHANGED: [], DELETED: [], READ: []}
        for path, heading in self.headings.items():
            name = own[path]
            if (path, heading) in listed or name in shown:
                continue
            left -= count(f", {name}" if named[heading] else f" {heading}: {name}")
            if left < 0:
                others = OTHERS
                break
            named[heading].append(name)
        parts = (f"{heading}: {', '.join(paths)}" for heading, paths in named.items() if paths)
        files = "; ".join(parts)
        return f"{label} {files}{others}" if files else ""


def files_of(plan: Plan) -> Files:
    """The files of a plan's conversation, and of the messages that were compressed before."""
    made = [*actions_in(plan.messages)]
    undone = undone_by(made).paths
    actions = [
        (kind, DOUBLED.sub("/", path), DOUBLED.sub("/", to))
        for kind, path, to in chain(
            _compressed(plan.archive.ledger),
            _on_files([action for _, action in made]),
        )
        if len(path) < measured.LONGEST_PATH_CHARS and len(to) < measured.LONGEST_PATH_CHARS
    ]
    absolute = _by_ending({path for _, *paths in actions for path in paths})
    times, states = Counter[str](), dict[str, str]()
    for kind, path, to in actions:
        path, to = absolute.get(path, path), absolute.get(to, to)
        if to:
            states[path] = DELETED
            path = to
        times[path] += 1
        known = states.pop(path, READ)
        if kind == READ:  # a file that was read exists, so it was created again
            states[path] = READ if known == DELETED else known
        else:
            states[path] = DELETED if kind == DELETED else CHANGED
    for path in {absolute.get(path, path) for path in undone}:
        if states.get(path) == CHANGED:
            states[path] = READ
    folders = {path[: sign.start()] for path in states for sign in SEPARATOR.finditer(path)}
    newest_first = [*reversed(states)]
    order = sorted(newest_first, key=lambda path: (states[path] == READ, -times[path]))
    fit = (
        path
        for path in order
        if path.isprintable()
        and not (UNFIT.search(path) or TEMPORARY.match(path))
        and path not in folders
    )
    headings = {path: states[path] for path in fit}
    folder = folder_of_most(headings)
    if folder:  # relative paths would seem to be in that folder
        headings = {path: heading for path, heading in headings.items() if ABSOLUTE.match(path)}
    return Files(headings, folder)


def _on_files(actions: Sequence[FileAction]) -> Iterator[FileAction]:
    """The actions that are not git's; a deleted file that git restored was read, as it exists."""
    deleted = {action.path for action in actions if action.deed == "deleted"}
    for action in actions:
        if action.deed not in OF_GIT:
            yield action
        elif action.deed in ("restored", "reset") and action.path in deleted:
            yield FileAction("read", action.path)


def _compressed(ledger: Iterable[Entry]) -> Iterator[tuple[str, str, str]]:
    """The actions on files in the ledger of earlier compressions."""
    for entry in ledger:
        if entry.kind in STATES or entry.kind == "renamed":
            yield entry.kind, entry.text, entry.detail if entry.kind == "renamed" else ""


def _by_ending(paths: Iterable[str]) -> Mapping[str, str]:
    """For relative paths with a folder: the only absolute path that ends with each, if any."""
    ends: dict[str, set[str]] = {}
    relative: list[str] = []
    for path in paths:
        if ABSOLUTE.match(path):
            for sign in SEPARATOR.finditer(path):
                ends.setdefault(path[sign.end() :], set()).add(path)
        elif SEPARATOR.search(path):
            relative.append(path)
    return {path: next(iter(ends[path])) for path in relative if len(ends.get(path, ())) == 1}


def folder_of_most(paths: Iterable[str]) -> str:
    """The deepest folder that holds nearly all of some paths, with its final sign.

    `folder_of_most(["/app/a.py", "/app/src/b.py"])` -> `"/app/"`; `""` if no folder holds two.
    """
    paths, within = [*paths], Counter[str]()
    for path in paths:
        if root := ROOT.match(path):
            signs = SEPARATOR.finditer(path, root.end())
            within.update(path[: sign.end()] for sign in signs)
    least = max(2.0, measured.FOLDER_SHARE * len(paths))
    return max((f for f, n in within.items() if n >= least and "]" not in f), key=len, default="")


def files_in(line: re.Match[str]) -> Iterator[tuple[str, str]]:
    """The files of a line, each with its heading."""
    folder, files = line.groups()
    sign = SEPARATOR.search(folder or "")
    folder = f"{folder}{sign[0]}" if sign else ""
    for part in files.removesuffix(OTHERS).split("; "):
        heading, _, paths = part.partition(": ")
        for name in paths.split(", "):
            yield name if ABSOLUTE.match(name) else folder + name, heading


def named_in(text: str, names: Iterable[str], folder: str) -> frozenset[str]:
    """The names of files that a text holds, each by its name within a folder or its full path.

    Part of another name does not count: `a.py` in `data.py` or in `/other/a.py`.
    """
    return frozenset(
        name
        for name, start, stop in places_of(names, text)
        if not BEHIND.match(text, stop)
        and (
            not (folder and SEPARATOR.match(text, start - 1, start))
            or text.endswith(folder, 0, start)
        )
    )
