"""What git commands do to files: commits, and changes that they take back or put aside."""

import re
from collections.abc import Iterator, Sequence

from context_compression.evidence.ledger.file_actions import FileAction, clean

BACK = re.compile(r"(?:HEAD|@)(?:~(\d*)|(\^+))")
"""A commit before the current one: `HEAD~2`, `HEAD^`."""
ALL = frozenset({".", ":/", "./"})
WITH_VALUE = frozenset({"-m", "--message", "-s", "--source", "-b", "-B", "--orphan"})


def actions_of_git(words: Sequence[str], folder: str) -> Iterator[FileAction]:
    """The actions of a git command, from the words after `git`.

    `restored`, `stashed` and `unstashed` have the path of a file or folder, or `""` for all files;
    `uncommitted` has the number of commits in `to`.
    """
    if not words:
        return
    verb, rest = words[0], [*words[1:]]
    options = {word for word in rest if word.startswith("-")}
    match verb:
        case "commit" if "--dry-run" not in options:
            yield FileAction("committed", "")
        case "checkout" if not options & {"-b", "-B", "--orphan"}:
            everything = bool(options & {"-f", "--force"})
            yield from _restored(_paths(rest), folder, everything=everything)
        case "restore" if not options & {"--staged", "-S"} or options & {"--worktree", "-W"}:
            yield from _restored(_paths(rest), folder, everything=False)
        case "reset" if "--hard" in options:
            yield FileAction("restored", "")
            if back := next(filter(None, map(BACK.fullmatch, rest)), None):
                yield FileAction("uncommitted", "", str(_commits(back)))
        case "revert" if "HEAD" in rest:
            yield FileAction("uncommitted", "", "1")
        case "stash":
            yield from _of_stash(rest, folder)
        case _:
            return


def _of_stash(words: Sequence[str], folder: str) -> Iterator[FileAction]:
    verb = next((word for word in words if not word.startswith("-")), "push")
    if verb in ("pop", "apply"):
        yield FileAction("unstashed", "")
    elif verb in ("push", "save"):
        named = [*words[words.index("--") + 1 :]] if "--" in words else []
        yield FileAction("stashed", clean(named[0], folder) if len(named) == 1 else "")


def _paths(words: Sequence[str]) -> list[str]:
    """The words that may be paths: those after `--`, or all that are no options."""
    if "--" in words:
        return [*words[words.index("--") + 1 :]]
    return [
        word
        for before, word in zip(("", *words), words, strict=False)
        if not word.startswith("-") and before not in WITH_VALUE
    ]


def _restored(paths: Sequence[str], folder: str, *, everything: bool) -> Iterator[FileAction]:
    """A restored file for each path; a path may also be a branch, which names no changed file."""
    if everything or ALL.intersection(paths):
        yield FileAction("restored", "")
    else:
        yield from (FileAction("restored", clean(path, folder)) for path in paths)


def _commits(back: re.Match[str]) -> int:
    return int(back[1] or 1) if back[1] is not None else len(back[2])
