"""Actions on files by tool calls, recognised by the calls' arguments and patches.

The tool's name hardly matters: a call with a path and a text writes, and a call with only a path
reads. `shell` reads the actions of shell commands.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
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
