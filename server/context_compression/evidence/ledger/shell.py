"""Actions on files by shell commands.

A command is read word by word, far enough to find the names of files. The effects of variables,
loops and scripts are not guessed. The corresponding commands of PowerShell are known too. No
function here raises: an incomplete command is read as far as possible.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from context_compression.evidence.ledger.file_actions import FileAction, clean, of_patch, words
from context_compression.evidence.ledger.git import actions_of_git

LONGEST = 20_000
"""How many characters of a command are read, not counting here-documents."""
HEREDOC = re.compile(r"""(?<!<)<<(?!<)-?\s*(["']?)\\?([A-Za-z_]\w*)\1""")
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
