"""The files and the names that a small view lacks, in two lines at the end of its last note.

A line of the files that were worked on, because a small view of a long session names only few.
`[Other files in /srv/app] changed: src/a.py, src/b.py; deleted: c.py; read: docs/d.md; …`

A line of names that a very small view lacks, so that they can be used again and searched. `[More
names used] retryPolicy, MAX_RETRIES, apps/web, --dry-run, owner/name#12`
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice

from context_compression.conversation.authors import is_our_note, user_words
from context_compression.conversation.labels import sections
from context_compression.conversation.messages import Message, Text, named_strings
from context_compression.evidence.facts import commands_of
from context_compression.evidence.ledger import Entry
from context_compression.evidence.ledger.actions import ABSOLUTE, OF_GIT, FileAction, steps
from context_compression.evidence.ledger.changes import Undoing
from context_compression.evidence.ledger.entries import STATES, names_in_calls
from context_compression.evidence.names import Names, goes_on, is_cased
from context_compression.evidence.redaction import MARK, redact
from context_compression.evidence.words import Kind, Lexicon, occurrences
from context_compression.planning.plan import Plan
from context_compression.strategies import measured

CHANGED, DELETED, READ = "changed", "deleted", "read"
"""The headings of a line, in their order: the state of a file after the last known call."""
FILES_LABEL = "[Other files"
FILES_LINE = re.compile(r"^\[(?:Other f|F)iles(?: in ([^\]\n]+))?\] (.+)$", re.MULTILINE)
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
        listed = {entry for line in FILES_LINE.finditer(view) for entry in files_in(line)}
        own = {path: path.removeprefix(self.folder) for path in self.headings}
        shown = named_in(FILES_LINE.sub("", view), own.values(), self.folder)
        label = f"{FILES_LABEL} in {self.folder[:-1]}]" if self.folder else f"{FILES_LABEL}]"
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
    made = [*plan.outdated.actions()]
    undone = Undoing(made).paths
    actions = [
        (kind, DOUBLED.sub("/", path), DOUBLED.sub("/", to))
        for kind, path, to in chain(
            _compressed(plan.archive.ledger), _on_files([action for _, action in made])
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
        for name, start, stop in Names(names).places(text)
        if not goes_on(text, stop)
        and (
            not (folder and SEPARATOR.match(text, start - 1, start))
            or text.endswith(folder, 0, start)
        )
    )


NAMES_LABEL = "[More names used]"
NAMES_LINE = re.compile(rf"^{re.escape(NAMES_LABEL)} .*", re.MULTILINE)
GAP = re.compile(r"\[…[^\]\n]{0,400}\]")
"""The mark of a gap, whose ref is not a name that was used."""
BLANK = re.compile(r"\s")
BOTH = re.compile(r"[^\W\d_]+(?:[/-][^\W\d_]+)+")
"""Plain words joined by a slash or hyphen, which mostly means one or the other."""
ESCAPES = re.compile(r"\A\\(?!\\)|\\[^\w\\]|\A[^/]*+/[^\\]*+\\|\A[^\\]*+\\[^/]*+/")
"""Signs of a word that is part of an expression or a quoted text, and not a path."""
FIGURE = re.compile(r"(?!#\d{1,5}\Z)[^.]*(?:\.[^.]*)?")
"""A number that is not a name, unlike an issue (`#12`) or a version (`1.2.3`)."""


def names_of(plan: Plan) -> Sequence[str]:
    """The names that were used, the most valuable first.

    Names in many messages, names that were used recently, and short names come first. Names that
    occur only in a tool's output were not used; names in a note of this package were used once.
    Secrets that are recognised by their form are left out. (Measured on recorded sessions: in this
    order, a line holds most of the names that later steps need.)
    """
    known = names_in_calls(plan.messages)
    lexicon, times, last = Lexicon(known=known), Counter[str](), dict[str, int]()
    for index, message in enumerate(plan.messages):
        used = names_in(message, lexicon)
        times.update(used)
        last |= dict.fromkeys(used, index)

    def worth(name: str) -> float:
        age = measured.OLDEST_NAME_WORTH + last[name] / len(plan.messages)
        return (
            times[name]
            * age
            / (measured.TOKENS_BETWEEN_NAMES + len(name) / measured.NAME_CHARS_PER_TOKEN)
        )

    return sorted(times, key=lambda name: (-worth(name), -last[name], name))


def names_in(message: Message, lexicon: Lexicon) -> set[str]:
    """The names that the user or the model uses in a message."""
    texts_with_names = [message.text if message.role == "assistant" else user_words(message)]
    texts_with_names.append(message.said)
    for block in message.blocks:
        if isinstance(block, Text) and is_our_note(block.text):
            texts_with_names += quoted_in(block.text)
    alone: list[str] = []
    for call in message.calls:
        arguments = [argument(name, text) for name, text in named_strings(call.arguments)]
        texts_with_names += arguments
        lines = (MARK.sub("", redact(line)) for line in commands_of(call))
        words = (word for line in lines for step in steps(line) for word in step.words)
        alone += (text for text in chain(arguments, words) if not BLANK.search(text))
    return {
        word
        for texts, plain in ((texts_with_names, False), (alone, True))
        for text in texts
        for word, kind in lexicon.words(redact(text))
        if is_name(word, kind, plain=plain)
    }


def argument(name: str, text: str) -> str:
    """An argument without secrets, which are recognised by the argument's name."""
    if not name or len(text) >= measured.LONGEST_NAME_CHARS:
        return text
    shown = redact(f"{name}={text}")
    return text if shown.endswith(text) else MARK.sub("", shown.removeprefix(f"{name}="))


def quoted_in(note: str) -> Iterator[str]:
    """The quotes and names in a note of this package, except quotes of tool results."""
    for label, start, stop in sections(note):
        if not label.startswith("[Result"):
            yield GAP.sub("", note[start:stop])


def is_name(word: str, kind: Kind, *, plain: bool) -> bool:
    """Whether a word of a text is understood without its context.

    Args:
        word: the word.
        kind: its kind of evidence.
        plain: whether plain words count as names, because the word is a complete argument of a tool
            or a command.
    """
    if len(word) >= measured.LONGEST_NAME_CHARS or ESCAPES.search(word):
        return False
    if kind == "number":
        return not FIGURE.fullmatch(word)
    shouted = word.isalpha() and word.isupper()
    return plain or not (shouted or BOTH.fullmatch(word))


def line(
    names: Iterable[str], texts: Iterable[str], count: Callable[[str], int], room: float
) -> str:
    """A line of the names that are in none of some texts; `""` if no name fits.

    Args:
        names: the names, in the order in which they are taken.
        texts: the texts of the view.
        count: returns the tokens of a text.
        room: about how many tokens the line may take, because names are counted one by one.
    """
    view = "\n".join(texts)
    left = room - count(NAMES_LABEL)
    taken: list[str] = []
    for name in islice(names, measured.MOST_NAMES_TRIED):
        if left < measured.LEAST_NAME_TOKENS or len(taken) == measured.MOST_NAMES:
            break
        if stands_in(view, name) or any(name in other or other in name for other in taken):
            continue
        tokens = count(f", {name}")
        if tokens <= left:
            left -= tokens
            taken.append(name)
    return f"{NAMES_LABEL} {', '.join(taken)}" if taken else ""


def stands_in(text: str, name: str) -> bool:
    """Whether a name is in a text, but not as part of a longer word."""
    return any(
        not (is_cased(text[start - 1 : start]) or is_cased(text[stop : stop + 1]))
        for start, stop in occurrences(name, text)
    )


def lines_in(texts: Iterable[str]) -> Iterator[str]:
    """The lines of names in some texts."""
    return (line for text in texts for line in NAMES_LINE.findall(text))
