"""The files that were worked on, in one line: a small view of a long session names few of them.

`[Files in /srv/app] changed: src/a.py, src/b.py; deleted: c.py; read: docs/d.md; …`
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from context_compression.evidence.ledger import Entry, actions_in
from context_compression.evidence.ledger.entry import STATES
from context_compression.evidence.ledger.file_actions import ABSOLUTE
from context_compression.planning.plan import Plan

CHANGED, DELETED, READ = "changed", "deleted", "read"
"""The headings of a line, in its order: what became of a file, as far as calls tell."""
LINE = re.compile(r"^\[Files(?: in ([^\]\n]+))?\] (.+)$", re.MULTILINE)
SEPARATOR = re.compile(r"[/\\]")
DOUBLED = re.compile(r"(?<=[^/:])//+")
ROOT = re.compile(r"(?:[A-Za-z]:|~)?[/\\]+")
"""What an absolute path begins with before its first folder."""
OTHERS = "; …"
"""At the end of a line: it does not name all."""
LONGEST = 200
"""Characters from which on nobody reads a path: it is left out."""
UNFIT = re.compile(r'[,;*?"<>|]|: |\A\W*\Z|[/\\]\.?\Z')
"""What a path holds that would not be read as one in a line: our signs, patterns; or a folder."""
BEFORE, BEHIND = re.compile(r"[\w.-]"), re.compile(r"[\w-]|\.\w")
"""What stands before and behind a name where it is only part of another one."""
MOST = 0.9
"""Share of all paths that lie at least in the folder that is named once for them."""


@dataclass(frozen=True)
class Files:
    """The files that the calls of a conversation worked on.

    Attributes:
        headings: what became of each, by path: those that were only read come last, else the most
            used first, of those used alike the newest.
        folder: that holds nearly all of them, with the sign behind it; empty where none does.
    """

    headings: Mapping[str, str]
    folder: str

    @cached_property
    def ends(self) -> frozenset[str]:
        """The paths, and what they end in: of `src/app/a.py` also `app/a.py` and `a.py`."""
        within = (path[sign.end() :] for path in self.headings for sign in SEPARATOR.finditer(path))
        return frozenset(chain(self.headings, within))

    def line(self, texts: Iterable[str], count: Callable[[str], int], room: float) -> str:
        """The line of those that some texts do not name; empty where there are none.

        A line among the texts counts for the files that it tells the same of. Where some are left
        out for want of room, it ends with `…`.

        Args:
            texts: of the view.
            count: tokens of a text.
            room: tokens that the line may take, about: names are counted one by one.
        """
        view = "\n".join(texts)
        told = {(path, heading) for line in LINE.finditer(view) for path, heading in told_in(line)}
        view = LINE.sub("", view)
        label = f"[Files in {self.folder[:-1]}]" if self.folder else "[Files]"
        left = room - count(f"{label}{OTHERS}")
        others = ""
        named: dict[str, list[str]] = {CHANGED: [], DELETED: [], READ: []}
        for path, heading in self.headings.items():
            name = path.removeprefix(self.folder)
            if (path, heading) in told or names(view, name, self.folder):
                continue
            left -= count(f", {name}" if named[heading] else f" {heading}: {name}")
            if left < 0:
                others = OTHERS
                break
            named[heading].append(name)
        parts = (f"{heading}: {', '.join(paths)}" for heading, paths in named.items() if paths)
        said = "; ".join(parts)
        return f"{label} {said}{others}" if said else ""


def files_of(plan: Plan) -> Files:
    """The files of a plan's conversation, and of what was compressed before it."""
    actions = [
        (deed, DOUBLED.sub("/", path), DOUBLED.sub("/", to))
        for deed, path, to in chain(_compressed(plan.archive.ledger), actions_in(plan.messages))
        if len(path) < LONGEST and len(to) < LONGEST
    ]
    whole = _by_ending({path for _, *paths in actions for path in paths})
    times, found = Counter[str](), dict[str, str]()
    for deed, path, to in actions:
        path, to = whole.get(path, path), whole.get(to, to)
        if to:
            found[path] = DELETED
            path = to
        times[path] += 1
        known = found.pop(path, READ)
        if deed == READ:  # it is there then, whoever made it again
            found[path] = READ if known == DELETED else known
        else:
            found[path] = DELETED if deed == DELETED else CHANGED
    folders = {path[: sign.start()] for path in found for sign in SEPARATOR.finditer(path)}
    newest_first = [*reversed(found)]
    order = sorted(newest_first, key=lambda path: (found[path] == READ, -times[path]))
    fit = (p for p in order if p.isprintable() and not UNFIT.search(p) and p not in folders)
    headings = {path: found[path] for path in fit}
    folder = folder_of_most(headings)
    if folder:  # what is relative would seem to lie there
        headings = {path: told for path, told in headings.items() if ABSOLUTE.match(path)}
    return Files(headings, folder)


def _compressed(ledger: Iterable[Entry]) -> Iterator[tuple[str, str, str]]:
    """What was done to files before, as actions."""
    for entry in ledger:
        if entry.kind in STATES or entry.kind == "renamed":
            yield entry.kind, entry.text, entry.detail if entry.kind == "renamed" else ""


def _by_ending(paths: Iterable[str]) -> Mapping[str, str]:
    """For relative paths with a folder the absolute one that each is the end of, if it is one."""
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
    """The deepest folder that holds nearly all of some paths, with the sign behind it.

    `folder_of_most(["/app/a.py", "/app/src/b.py"])` -> `"/app/"`; empty where none holds two.
    """
    paths, within = [*paths], Counter[str]()
    for path in paths:
        if root := ROOT.match(path):
            signs = SEPARATOR.finditer(path, root.end())
            within.update(path[: sign.end()] for sign in signs)
    least = max(2.0, MOST * len(paths))
    return max((f for f, n in within.items() if n >= least and "]" not in f), key=len, default="")


def told_in(line: re.Match[str]) -> Iterator[tuple[str, str]]:
    """The files of a line, each with its heading."""
    folder, said = line.groups()
    sign = SEPARATOR.search(folder or "")
    folder = f"{folder}{sign[0]}" if sign else ""
    for part in said.removesuffix(OTHERS).split("; "):
        heading, _, paths = part.partition(": ")
        for name in paths.split(", "):
            yield name if ABSOLUTE.match(name) else folder + name, heading


def names(text: str, name: str, folder: str) -> bool:
    """Whether a text names a file of a folder, by its name there or its whole path.

    Part of another name is none: `a.py` in `data.py`, in `/other/a.py`.
    """
    at = text.find(name)
    while at >= 0:
        stop = at + len(name)
        apart = not BEFORE.match(text, at - 1, at) and not BEHIND.match(text, stop)
        within = folder and SEPARATOR.match(text, at - 1, at)
        if apart and (not within or text.endswith(folder, 0, at)):
            return True
        at = text.find(name, at + 1)
    return False
