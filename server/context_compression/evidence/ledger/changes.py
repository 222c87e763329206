"""Changes: the texts that tool calls write into files, and which were taken back later.

Only certain changes count. A call that names only the line at which its text is inserted does not
count, because it does not hold the text it replaces. What git committed stays after
`git checkout .`, as do staged changes and files that git does not know; what a stash put aside
comes back with `git stash pop`.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from context_compression.conversation.messages import ToolCall, is_array, is_object
from context_compression.evidence.facts import commands_of
from context_compression.evidence.ledger.actions import (
    HEREDOC,
    NO_FOLDER,
    PATCHES,
    PATHS,
    TEXTS,
    UNTRACKED,
    FileAction,
    by_name,
    clean,
    of_command,
    path_in,
    plain_name,
    text_in,
    words,
)

BEFORE = words("old oldstring oldstr oldtext oldcode oldcontent")
AFTER = words("new newstring newstr newtext newcode newcontent")
REWRITING = PATHS | TEXTS | words("command description instructions overwrite")
"""Names of arguments; a call that has only these writes the full file."""
BEGIN, UPDATE, MOVE = "*** Begin Patch", "*** Update File: ", "*** Move to: "
"""The beginning of an `apply_patch`, and the lines before the hunks of a file."""
TARGET = re.compile(r"""(?<![>\d&])>\s*([^\s|;&<>]+)|\btee\s+(?!-)([^\s|;&<>]+)""")
"""The file that a command overwrites."""
CAT = re.compile(r"(?:^|[;&({]|\bsudo)\s*cat\b")
"""A program that copies a here-document; the output of others is another text."""
HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
"""The beginning of a hunk in a unified diff, with the numbers of lines before and after."""
APPLIES = re.compile(r"\bgit apply\b|(?:^|[;&|(]|\bsudo)[^\S\n]*+patch\s", re.MULTILINE)
TRIES = re.compile(
    r"\b(?:git apply|patch)\b(?:(?!\b(?:git apply|patch)\b)[^\n])*"
    r" (?:--check|--stat|--numstat|--summary|--dry-run|-R|--reverse)\b"
)
SED = re.compile(
    r"\bsed\s+(?:-[nErz]+\s+)*-i(?:\.\w+)?\s+(?:''\s+|-[Erz]\s+)?(?:-e\s+)?(?P<q>[\"'])(?:\d+(?:,\d+)?)?"
    r"s(?P<sign>[/|#,])(?P<old>(?:(?!(?P=sign))[^\n]){1,400})(?P=sign)"
    r"(?P<new>(?:(?!(?P=sign))[^\n]){0,400})(?P=sign)g?(?P=q)"
    r"\s+(?P<path>[^\s;&|<>\"']+)"
)
SPECIAL = re.compile(r"[\\.*\[\]^$&]")
"""Signs with a meaning in the patterns of sed, which may match other texts."""


class Change(NamedTuple):
    """A change of a file: `after` replaces `before`, or the complete file if `before` is `None`."""

    path: str
    before: str | None
    after: str


def changes_of(call: ToolCall) -> Iterator[Change]:
    """The changes of files that a call requests, even if it failed."""
    if isinstance(call.arguments, str):
        yield from _of_patch(call.arguments)
    if not is_object(call.arguments):
        return
    given = by_name(call.arguments)
    path = path_in(given)
    parts = [part for value in given.values() if is_array(value) for part in value]
    for part in (given, *map(by_name, filter(is_object, parts))):
        if before := text_in(part, BEFORE):
            yield Change(path_in(part) or path, before, text_in(part, AFTER) or "")
    after = text_in(given, TEXTS)
    rewrites = given.keys() <= REWRITING and given.get("command", "create") == "create"
    if path and after is not None and rewrites:
        yield Change(path, None, after)
    patches = [value for name, value in given.items() if name in PATCHES and isinstance(value, str)]
    for patch in (*commands_of(call), *patches):
        yield from _of_patch(patch)
    for diff in (*filter(_applies, commands_of(call)), *patches):
        yield from _of_diff(diff)
    for command in commands_of(call):
        yield from _of_documents(command)
        yield from _of_sed(command)


@lru_cache(1_000)
def is_before(name: str) -> bool:
    """Whether an argument of this name holds the text that an edit replaces."""
    return plain_name(name) in BEFORE


def is_after(name: str) -> bool:
    """Whether an argument of this name holds the text that an edit writes."""
    return plain_name(name) in AFTER


def _of_documents(command: str) -> Iterator[Change]:
    """The files that a command writes from here-documents: `cat > a.py <<'EOF'`."""
    if "<<" not in command:
        return
    lines = command.split("\n")
    ends: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        ends.setdefault(line.strip(), []).append(number)
    position = 0
    for number, line in enumerate(lines):
        document = HEREDOC.search(line) if number >= position else None
        if document is None:
            continue
        later = ends.get(document[2], [])
        end = bisect_right(later, number)
        if end == len(later):
            continue
        position = later[end] + 1
        if path := _target(line):
            text = "\n".join(lines[number + 1 : later[end]])
            yield Change(_within(command, path), None, text)


def _target(line: str) -> str:
    """The file into which a line copies its here-document; `""` if that is not certain."""
    targets = [*TARGET.finditer(line)]
    pipes = line.count("|") - 2 * line.count("||")
    if len(targets) != 1 or pipes > bool(targets[0][2]):
        return ""
    copies = targets[0][2] or CAT.search(line)
    return (targets[0][1] or targets[0][2]).strip("'\"") if copies else ""


def _within(command: str, name: str) -> str:
    """The path of a file that a command writes, in the folder to which the command changed."""
    name = clean(name)
    if "cd " not in command:
        return name
    paths = (action.path for action in of_command(command) if action.deed != "read")
    return next((path for path in paths if path == name or path.endswith(f"/{name}")), name)


def _of_sed(command: str) -> Iterator[Change]:
    """The replacements of plain texts by `sed -i 's/before/after/' a.py`."""
    if "sed " not in command:
        return
    for sed in SED.finditer(command):
        if not SPECIAL.search(sed["old"]) and not SPECIAL.search(sed["new"]):
            yield Change(_within(command, sed["path"]), sed["old"], sed["new"])


def _applies(command: str) -> bool:
    """Whether a command applies a diff; one that only checks it, or takes it back, does not."""
    return APPLIES.search(command) is not None and not TRIES.search(command)


def _of_diff(text: str) -> Iterator[Change]:
    """The changes of the hunks in a unified diff."""
    if "+++ " not in text or "@@ -" not in text:
        return
    path, before, after, left = "", list[str](), list[str](), [0, 0]
    for line in text.split("\n"):
        if max(left) > 0 and not line.startswith("\\"):
            if not line.startswith("+"):
                before.append(line[1:])
                left[0] -= 1
            if not line.startswith("-"):
                after.append(line[1:])
                left[1] -= 1
            if max(left) <= 0 and path and before:
                yield Change(path, "\n".join(before), "\n".join(after))
        elif line.startswith("+++ "):
            name = line[4:].partition("\t")[0].strip()
            path = "" if name == "/dev/null" else clean(re.sub(r"^[ab]/", "", name))
        elif hunk := HUNK.match(line):
            before, after = [], []
            left = [int(hunk[1] or 1), int(hunk[2] or 1)]


def _of_patch(patch: str) -> Iterator[Change]:
    """The changes of the hunks in an `apply_patch`."""
    if BEGIN not in patch:
        return
    path, before, after = "", list[str](), list[str]()
    for line in [*patch.splitlines(), "***"]:
        if line.startswith(("@@", "***")):
            if path and before:
                yield Change(path, "\n".join(before), "\n".join(after))
            before, after = [], []
            if line.startswith("***") and not line.startswith(MOVE):
                path = clean(line.removeprefix(UPDATE)) if line.startswith(UPDATE) else ""
        else:
            if not line.startswith("+"):
                before.append(line[1:])
            if not line.startswith("-"):
                after.append(line[1:])


MOST_FOLDERS = 64
"""How many last parts of a path may name the same file without the parts before them."""


class _Made(NamedTuple):
    """A change that holds: the call that made it, and the path of its file."""

    call: str
    path: str


class Undoing:
    """Follows the actions on files of a conversation, in order."""

    def __init__(self, actions: Iterable[tuple[str, FileAction]] = ()) -> None:
        """The state after some actions, each with the id of its call."""
        self._pending: list[_Made] = []  # not committed
        self._staged: set[_Made] = set()
        self._existing: set[str] = set()  # files that were read or changed
        self._ends: set[str] = set()  # those, and what stands behind each of their slashes
        self._new: set[str] = set()  # files that git may not know
        self._commits: list[list[_Made]] = []
        self._stashes: list[list[_Made]] = []
        self._made: Counter[str] = Counter()
        self._undone: list[_Made] = []
        for call, action in actions:
            self.follow(call, action)

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
