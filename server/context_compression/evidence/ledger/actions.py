"""Actions on files by tool calls, shell commands and git.

A command is read word by word, far enough to find the names of files. The effects of variables,
loops and scripts are not guessed. The corresponding commands of PowerShell are known too. No
function here raises: an incomplete command is read as far as possible.

The name of a tool hardly matters: a call with a path and a text writes, and a call with only a path
reads.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeAlias

from context_compression.conversation.messages import ToolCall, is_array, is_object

Deed: TypeAlias = Literal[
    "read", "written", "created", "modified", "deleted", "renamed",
    "staged", "committed", "uncommitted", "restored", "reset", "stashed", "unstashed", "cleaned",
]  # fmt: skip
"""`written` means created or modified, if the call does not show which. The deeds of the second
line are those of git; `undoing` says what becomes of earlier changes."""


class FileAction(NamedTuple):
    """One action on a file; `to` is the new name of a renamed file."""

    deed: Deed
    path: str
    to: str = ""


def words(text: str) -> frozenset[str]:
    """`words("a b")` -> `frozenset({"a", "b"})`."""
    return frozenset(text.split())


OF_GIT = words("staged committed uncommitted restored reset stashed unstashed cleaned")
"""The deeds that take earlier changes back, or make them stay."""

PATHS = words(
    "path filepath filename notebookpath targetfile absolutepath relativepath abspath file"
)
PATH_LISTS = words("paths files filepaths filenames")
FOLDERS = words("workdir cwd directory dirpath workingdirectory workingdir")
TEXTS = words("content contents filetext filecontent")
EDITS = words(
    "newstring newstr newtext oldstring oldstr oldtext edits replacement replacementtext replace"
    " newsource codeedit inserttext insertline diff patch"
)
PATCHES = words("input patch patchtext diff unifieddiff")
QUESTIONS = words("pattern query regex")
ENDS = (("source", "destination"), ("oldpath", "newpath"), ("sourcepath", "destinationpath"))
"""The names of arguments, in lower case and without `_`."""
EDITOR_COMMANDS = words("view create str_replace insert undo_edit delete rename")
"""The commands of the text editor tool of Anthropic's models, which are not shell commands."""
LISTS = re.compile(r"list|dir|tree|glob|grep|search|find|^ls$", re.I)
DELETES = re.compile(r"delete|remove|unlink", re.I)
RENAMES = re.compile(r"move|rename", re.I)
CREATES = re.compile(r"creat", re.I)
MAKES_FOLDER = re.compile(r"mkdir|create_?(?:dir|folder)", re.I)
ABSOLUTE = re.compile(r"[/~\\]|[A-Za-z]:")
CREATED_WORDS = re.compile(r"\bcreat(?:ed|ing)\b|\bnew file\b", re.I)
CHANGED_WORDS = re.compile(r"\b(?:updated|overwr\w+|modified|replaced)\b", re.I)


def of_call(call: ToolCall, answer: str = "") -> list[FileAction]:
    """The actions on files in a call's arguments; `shell.of_command` gives those of its command.

    Args:
        call: the call.
        answer: the beginning of its result, which may say that a file is new.
    """
    if not is_object(call.arguments):
        return of_patch(call.arguments) if isinstance(call.arguments, str) else []
    given = by_name(call.arguments)
    command = given.get("command", given.get("cmd"))
    patches = [value for key, value in given.items() if key in PATCHES and isinstance(value, str)]
    actions = [action for patch in patches for action in of_patch(patch)]
    if command is None or (isinstance(command, str) and command in EDITOR_COMMANDS):
        verb = f"{call.name} {command or ''}"
        actions += _of_arguments(given, verb, answer)
        actions += _of_parts(given)
    return list(dict.fromkeys(actions))


def by_name(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call by their `plain_name`."""
    return {plain_name(key): value for key, value in arguments.items()}


def plain_name(name: str) -> str:
    """An argument's name in lower case without `_` and `-`: `"old_string"` -> `"oldstring"`."""
    return name.replace("_", "").replace("-", "").lower()


def _of_arguments(given: Mapping[str, Any], verb: str, answer: str) -> Iterator[FileAction]:
    for old, new in ENDS:
        if isinstance(given.get(old), str) and isinstance(given.get(new), str):
            a, b = clean(given[old]), clean(given[new])
            yield FileAction("renamed", a, b) if RENAMES.search(verb) else FileAction("written", b)
            return
    path = path_in(given)
    if not path:
        return
    if given.keys() & TEXTS or "" in (given.get("oldstring"), given.get("oldstr")):
        yield FileAction(_written_or_created(answer), path)
    elif given.keys() & EDITS:
        yield FileAction("modified", path)
    elif MAKES_FOLDER.search(verb):
        yield FileAction("created", path.rstrip("/") + "/")
    elif DELETES.search(verb):
        yield FileAction("deleted", path)
    elif CREATES.search(verb):
        yield FileAction("created", path)
    elif not (given.keys() & QUESTIONS or LISTS.search(verb)):
        yield FileAction("read", path)


def _written_or_created(answer: str) -> Deed:
    if CREATED_WORDS.search(answer):
        return "created"
    return "modified" if CHANGED_WORDS.search(answer) else "written"


def _of_parts(given: Mapping[str, Any]) -> Iterator[FileAction]:
    """The actions of a call on several files: a list of paths, or of objects with a path each."""
    for key, value in given.items():
        if not is_array(value):
            continue
        for part in value:
            if isinstance(part, str) and key in PATH_LISTS:
                yield FileAction("read", clean(part))
            elif is_object(part):
                inner = by_name(part)
                if inner.keys() & (TEXTS | EDITS):
                    yield from _of_arguments(inner, "", "")


def file_of(call: ToolCall) -> str:
    """The file that an argument of a call names, or `""`."""
    return path_in(by_name(call.arguments)) if is_object(call.arguments) else ""


def text_in(given: Mapping[str, Any], names: frozenset[str]) -> str | None:
    """The first argument with one of these names that is a text; `None` if there is none."""
    return next((v for k, v in given.items() if k in names and isinstance(v, str)), None)


def path_in(given: Mapping[str, Any]) -> str:
    """The file that one of the arguments names, or `""`."""
    return clean(text_in(given, PATHS) or "")


def searches(call: ToolCall) -> bool:
    """Whether a call searches files, by the names of its arguments."""
    return is_object(call.arguments) and not by_name(call.arguments).keys().isdisjoint(QUESTIONS)


def folder_of(call: ToolCall) -> str:
    """The working folder that a call names, or `""`."""
    return text_in(by_name(call.arguments), FOLDERS) or "" if is_object(call.arguments) else ""


def clean(path: str, folder: str = "") -> str:
    """A path in its normal form, within a folder: `clean("./b.py", "src")` -> `"src/b.py"`."""
    path = path.strip().removeprefix("file://")
    if folder and not ABSOLUTE.match(path):
        path = f"{folder.rstrip('/')}/{path}"
    if path.startswith("./") or "/./" in path or "/../" in path:
        ending = "/" if path.endswith("/") else ""
        path = posixpath.normpath(path) + ending
    return path


PATCH = re.compile(
    r"^\*\*\* (?P<deed>Add File|Update File|Delete File|Move to): (?P<path>.*\S)[^\S\n]*+$"
    r"|^--- (?P<old>[^\t\n]++).*+\n\+\+\+ (?P<new>[^\t\n]+)"
    r"|^rename from (?P<from>.+)\nrename to (?P<to>.+)",
    re.M,
)


def of_patch(text: str, folder: str = "") -> list[FileAction]:
    """The actions of a patch: an `apply_patch` (`*** Update File: a`) or a unified diff."""
    actions: list[FileAction] = []
    for m in PATCH.finditer(text):
        path = clean(m["path"] or "", folder)
        match m["deed"]:
            case "Add File":
                actions.append(FileAction("created", path))
            case "Update File":
                actions.append(FileAction("modified", path))
            case "Delete File":
                actions.append(FileAction("deleted", path))
            case "Move to":
                if actions:
                    actions[-1] = FileAction("renamed", actions[-1].path, path)
            case _:
                actions += _of_diff(m, folder)
    return actions


def _of_diff(m: re.Match[str], folder: str) -> Iterator[FileAction]:
    if m["from"]:
        yield FileAction("renamed", clean(m["from"], folder), clean(m["to"], folder))
        return
    old, new = (clean(re.sub(r"^[ab]/", "", m[k].strip()), folder) for k in ("old", "new"))
    if m["old"].startswith("/dev/null"):
        yield FileAction("created", new)
    elif m["new"].startswith("/dev/null"):
        yield FileAction("deleted", old)
    else:
        yield FileAction("modified", new)


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


LONGEST = 20_000
"""How many characters of a command are read, not counting here-documents."""
HEREDOC = re.compile(r"""(?<!<)<<(?!<)-?\s*(["']?)\\?([A-Za-z_]\w*)\1""")
"""The beginning of a here-document, with the line that ends it."""
TOKEN = re.compile(
    r"""(?P<end>\n|;|&&|\|\|?|&(?!>)|[()`])
      | (?P<comment>\#[^\n]*)
      | (?P<redirect>(?:\d|&)?>>?\|?|<)(?P<copy>&[\d-])?
      | (?P<word>(?:'[^']*'|"[^"\\]*(?:\\.[^"\\]*)*"|\\.|[^\s'"|&;<>()`\\])+)""",
    re.X | re.S,
)
QUOTED = re.compile(r"""'([^']*)'|"((?:[^"\\]|\\.)*)"|\\([\s"'$&|;()<>*?#!])""", re.S)
SED_CHANGES = re.compile(r"-[a-zA-Z]*i|--in-place")
FOUND_CHANGES = re.compile(r"-(?:delete|exec|ok|fprint|o\b|x\b|X\b|-output|-exec)")
"""Options of find, fd and sort with which these change files, or run other programs."""
GIT_CHANGES = words("-d -D -m -M -f --delete --move --output")
PREFIXES = words("sudo do then else time nohup env command exec if while ! {")
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
NO_PATH = re.compile(r"[-+]?\d+$|/dev/|-|.*[$`{}\n]|https?:|$")
READ = words("cat head tail less more nl bat get-content gc")
DELETE = words("rm rmdir unlink trash del erase remove-item ri")
RENAME = words("mv move ren move-item rename-item")
COPY = words("cp copy copy-item")
CREATE = words("touch new-item")
LOOK = READ | words(
    "cd ls dir pwd find fd tree stat wc file which rg grep egrep fgrep ag sort uniq cut tr awk jq"
    " sed echo printf true test [ diff xargs column du date for done fi sleep basename dirname"
    " realpath readlink select-string get-childitem get-item set export"
)
"""Commands that only show or look up content."""
EDIT = (
    LOOK | DELETE | RENAME | COPY | CREATE | words("tee patch mkdir chmod set-content add-content")
)
"""Commands that look up content or change files, and have no other effects."""
GIT_LOOK = words("status diff log show blame grep branch ls-files rev-parse remote")


class SimpleCommand(NamedTuple):
    """One simple command: its words, and its redirections as `(sign, target)`."""

    words: list[str]
    redirects: list[tuple[str, str]]

    @property
    def verb(self) -> str:
        """The name of the program, in lower case."""
        return re.split(r"[/\\]", self.words[0])[-1].lower() if self.words else ""


def of_command(command: str, folder: str = "") -> list[FileAction]:
    """The actions of a command on files.

    `of_command("cd src && mv a.py b.py")` -> `[FileAction("renamed", "src/a.py", "src/b.py")]`
    """
    actions: list[FileAction] = []
    if "*** Begin Patch" in command or re.search(r"\b(?:git apply|patch -)", command):
        actions += of_patch(command, folder)
    for step in steps(command):
        if step.verb in {"cd", "pushd", "set-location"}:
            there = next((w for w in step.words[1:] if not NO_PATH.match(w)), "")
            folder = clean(there, folder) if there else ""
            continue
        actions += _of_step(step, folder)
    return actions


def only_looks(command: str) -> bool:
    """Whether every part of a command only shows files and folders; `False` for an empty command.

    The names of the programs decide, for git also its subcommand, for sed its options, and
    redirections to files.
    """
    seen = False
    for step in steps(command):
        seen = True
        if any(sign != "<" and not NO_PATH.match(target) for sign, target in step.redirects):
            return False
        if not _looks(step.verb, step.words[1:]):
            return False
    return seen


def only_edits(command: str) -> bool:
    """Whether every part of a command shows, edits, copies or removes files, and runs nothing."""
    return all(step.verb in EDIT or step.verb == "git" for step in steps(command))


def _looks(verb: str, words: Sequence[str]) -> bool:
    """Whether a program only shows content, by its name and the words after it."""
    match verb:
        case "git":
            plain = [word for before, word in pairwise(("", *words)) if _is_plain(before, word)]
            name, named = (plain or [""])[0], plain[1:]
            lists = name not in ("branch", "remote") or named[:1] in ([], ["show"], ["get-url"])
            return name in GIT_LOOK and lists and GIT_CHANGES.isdisjoint(words)
        case "sed":
            return not any(map(SED_CHANGES.match, words))
        case "find" | "sort" | "fd":
            return not any(map(FOUND_CHANGES.match, words))
        case "awk":
            return not any(">" in word or "system(" in word for word in words)
        case "xargs":
            called = next((at for at, word in enumerate(words) if word[:1].isalpha()), None)
            return called is not None and _looks(words[called].lower(), words[called + 1 :])
        case _:
            return verb in LOOK


def _is_plain(before: str, word: str) -> bool:
    """Whether a word of git is no option, and no value of the option before it."""
    return not word.startswith("-") and before not in ("-C", "-c")


def steps(command: str) -> Iterator[SimpleCommand]:
    """The simple commands in a command line, in order, without the variables set before them."""
    step = SimpleCommand([], [])
    redirect = ""
    for token in TOKEN.finditer(_without_documents(command).replace("\\\n", " ")[:LONGEST]):
        if token["end"]:
            redirect = ""
            yield from _finished(step)
            step = SimpleCommand([], [])
        elif token["redirect"]:
            redirect = "" if token["copy"] else token["redirect"]
        elif token["comment"]:
            continue
        elif redirect:
            step.redirects.append((redirect, _plain(token["word"])))
            redirect = ""
        elif step.words or not (token["word"] in PREFIXES or ASSIGNMENT.match(token["word"])):
            step.words.append(_plain(token["word"]))
    yield from _finished(step)


def _finished(step: SimpleCommand) -> Iterator[SimpleCommand]:
    """The step; for `bash -lc "..."` the steps inside."""
    if step.verb in {"bash", "sh", "zsh", "dash"} and len(step.words) > 2:
        option, inner = step.words[1], step.words[2:]
        if re.fullmatch(r"-[a-z]*c", option):
            if len(inner) == 1 or " " in inner[0]:
                yield from steps(inner[0])
            else:
                yield SimpleCommand(inner, step.redirects)
            return
    if step.words or step.redirects:
        yield step


def _without_documents(command: str) -> str:
    """The command without the texts of its here-documents."""
    if "<<" not in command:
        return command
    lines = command.split("\n")
    last = {line.strip(): number for number, line in enumerate(lines)}
    kept: list[str] = []
    until = ""
    for number, line in enumerate(lines):
        if until:
            until = "" if line.strip() == until else until
            continue
        for heredoc in HEREDOC.finditer(line):
            if last.get(heredoc[2], -1) > number:
                until = heredoc[2]
        kept.append(HEREDOC.sub("", line))
    return "\n".join(kept)


def _plain(word: str) -> str:
    """A word without its quotes; the backslashes of Windows paths are kept."""
    return QUOTED.sub(lambda m: m[1] or m[2] or m[3] or "", word)


def _of_step(step: SimpleCommand, folder: str) -> Iterator[FileAction]:
    for sign, target in step.redirects:
        if not (NO_PATH.match(target) or sign.startswith("2")):
            path = clean(target, folder)
            deed = "read" if sign == "<" else "modified" if ">>" in sign else "written"
            yield FileAction(deed, path)
    verb, rest = step.verb, step.words[1:]
    if verb == "git" and len(rest) > 2 and rest[0] == "-C":
        folder, rest = clean(rest[1], folder), rest[2:]
    if verb == "git" and rest and rest[0] in {"mv", "rm"} and "--cached" not in rest:
        verb, rest = rest[0], rest[1:]
    if verb == "git":
        yield from actions_of_git(rest, folder)
        return
    names = [clean(word, folder) for word in rest if not NO_PATH.match(word)]
    if "-" in verb:  # PowerShell: further words are values of options
        names = names[: 2 if verb in RENAME | COPY else 1]
    if verb in READ:
        yield from (FileAction("read", name) for name in names)
    elif verb == "sed":
        options = [word for word in rest if word.startswith("-")]
        deed = "modified" if any(SED_CHANGES.match(option) for option in options) else "read"
        scripts = max(1, options.count("-e"))
        files = [word for word in rest if word and not word.startswith("-")][scripts:]
        yield from (FileAction(deed, clean(f, folder)) for f in files if not NO_PATH.match(f))
    elif verb in DELETE:
        yield from (FileAction("deleted", name) for name in names)
    elif verb in CREATE:
        yield from (FileAction("written", name) for name in names)
    elif verb in {"mkdir", "md"}:
        yield from (FileAction("created", name.rstrip("/") + "/") for name in names)
    elif verb in {"tee", "set-content", "out-file", "add-content"}:
        added = "-a" in rest or verb == "add-content"
        yield from (FileAction("modified" if added else "written", name) for name in names)
    elif verb in RENAME | COPY and len(names) > 1:
        *sources, target = names
        into = len(sources) > 1 or target.endswith("/") or target.split("/")[-1] in {".", ".."}
        for source in sources:
            to = (
                clean(f"{target.rstrip('/')}/{source.rstrip('/').split('/')[-1]}")
                if into
                else target
            )
            yield FileAction("renamed", source, to) if verb in RENAME else FileAction("written", to)
