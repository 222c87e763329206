"""What git commands do to files: commits, and changes that they take back or put aside."""

import re
from collections.abc import Iterable, Iterator, Sequence

from context_compression.evidence.ledger.file_actions import Deed, FileAction, clean

BACK = re.compile(r"(?:HEAD|@)(?:~(\d*)|(\^+))")
"""A commit before the current one: `HEAD~2`, `HEAD^`."""
ALL = frozenset({".", ":/", "./", "*"})
WITH_VALUE = frozenset({"-m", "--message", "-s", "--source", "-b", "-B", "--orphan", "-c", "-C"})
"""Options with a value in the next word."""
NO_FOLDER, UNTRACKED = "no folder", "untracked"
"""What `FileAction.to` says of a deed of git: its path may be the name of a branch, and thus names
no folder; files that git does not know are meant, too."""


def actions_of_git(words: Sequence[str], folder: str) -> Iterator[FileAction]:
    """The actions of a git command, from the words after `git`.

    The path of `staged`, `restored` (from the index), `reset` (from a commit), `stashed`,
    `unstashed` and `cleaned` is that of a file or folder, or `""` for all files; `uncommitted` has
    the number of commits in `to`.
    """
    while words and words[0].startswith("-"):  # options of git itself
        words = words[2 if words[0] in WITH_VALUE else 1 :]
    if not words:
        return
    verb, rest = words[0], [*words[1:]]
    options = {word for word in rest if word.startswith("-")}
    match verb:
        case "add" | "stage":
            everything = not options.isdisjoint({"-A", "--all", "-u", "--update"})
            yield from _named("staged", _paths(rest), folder, everything=everything)
        case "commit" if "--dry-run" not in options:
            yield FileAction("committed", "")
        case "checkout" | "switch" if not options & {"-b", "-B", "--orphan", "-c", "-C"}:
            forced = not options.isdisjoint({"-f", "--force", "--discard-changes"})
            before = rest[: rest.index("--")] if "--" in rest else []
            commit = any(not word.startswith("-") for word in before)
            deed = "reset" if forced or commit else "restored"
            if verb == "checkout" or forced:
                actions = _named(deed, _paths(rest), folder, everything=forced)
                yield from actions if "--" in rest else map(_maybe_branch, actions)
        case "restore" if not options & {"--staged", "-S"} or options & {"--worktree", "-W"}:
            whole = any(
                option.startswith(("--source", "-s", "--staged", "-S")) for option in options
            )
            yield from _named("reset" if whole else "restored", _paths(rest), folder)
        case "reset" if "--hard" in options:
            yield FileAction("reset", "")
            if back := next(filter(None, map(BACK.fullmatch, rest)), None):
                yield FileAction("uncommitted", "", str(_commits(back)))
        case "revert" if "HEAD" in rest:
            yield FileAction("uncommitted", "", "1")
        case "stash":
            yield from _of_stash(rest, folder)
        case "clean" if "f" in (letters := _letters(options)) and "n" not in letters:
            yield FileAction("cleaned", "")
        case _:
            return


def _of_stash(words: Sequence[str], folder: str) -> Iterator[FileAction]:
    verb = next((word for word in words if not word.startswith("-")), "push")
    if verb in ("pop", "apply"):
        yield FileAction("unstashed", "")
    elif verb in ("push", "save"):
        named = [path for path in _paths(words) if path != verb] if verb == "push" else []
        untracked = not {"-u", "--include-untracked", "-a", "--all"}.isdisjoint(words)
        path = clean(named[0], folder) if named else ""
        if len(named) < 2:
            yield FileAction("stashed", path, UNTRACKED if untracked else "")


def _paths(words: Sequence[str]) -> list[str]:
    """The words that may be paths: those after `--`, or all that are no options."""
    if "--" in words:
        return [*words[words.index("--") + 1 :]]
    return [
        word
        for before, word in zip(("", *words), words, strict=False)
        if not word.startswith("-") and before not in WITH_VALUE
    ]


def _named(
    deed: Deed, paths: Sequence[str], folder: str, *, everything: bool = False
) -> Iterator[FileAction]:
    """The deed for each path, or for all files."""
    if everything or ALL.intersection(paths):
        yield FileAction(deed, "")
    else:
        yield from (FileAction(deed, clean(path, folder)) for path in paths)


def _maybe_branch(action: FileAction) -> FileAction:
    """The action on a path that may also be the name of a branch, as `docs` or `main`."""
    return action._replace(to=NO_FOLDER) if not {"/", "."}.intersection(action.path) else action


def _letters(options: Iterable[str]) -> str:
    """The letters of options: `{"-fd", "--dry-run"}` -> `"fdn"`."""
    long = {"--force": "f", "--dry-run": "n"}
    return "".join(
        long.get(option, "" if option.startswith("--") else option) for option in options
    )


def _commits(back: re.Match[str]) -> int:
    return int(back[1] or 1) if back[1] is not None else len(back[2])
