"""What tool calls put into files, and in place of what, where their arguments tell."""

from collections.abc import Iterator
from typing import NamedTuple

from context_compression.ledger.file_actions import TEXTS, by_name, clean, path_in, text_in, words
from context_compression.messages import ToolCall, is_array, is_object, strings_in

BEFORE, AFTER = words("oldstring oldstr oldtext"), words("newstring newstr newtext")
UPDATE = "*** Update File: "
"""Behind this stands in an `apply_patch` which file the hunks below change."""


class Change(NamedTuple):
    """What a call puts into a file: `after` where `before` stood, or into all of it for `None`."""

    path: str
    before: str | None
    after: str


def changes_of(call: ToolCall) -> Iterator[Change]:
    """What a call puts into files, where its arguments tell."""
    for text in strings_in(call.arguments):
        if UPDATE in text:
            yield from _of_hunks(text)
    if not is_object(call.arguments):
        return
    given = by_name(call.arguments)
    path = path_in(given)
    parts = [part for value in given.values() if is_array(value) for part in value]
    for part in (given, *map(by_name, filter(is_object, parts))):
        file = path_in(part) or path
        before, after = text_in(part, BEFORE), text_in(part, AFTER)
        if before is None or after is None:
            before, after = None, text_in(part, TEXTS)
        if file and after is not None:
            yield Change(file, before or None, after)


def _of_hunks(patch: str) -> Iterator[Change]:
    """What the hunks of an `apply_patch` put into files."""
    path, before, after = "", list[str](), list[str]()
    for line in [*patch.splitlines(), UPDATE]:
        if line.startswith(("@@", "***")):
            if path and before:
                yield Change(path, "\n".join(before), "\n".join(after))
            before, after = [], []
            if line.startswith("*** "):
                path = clean(line.removeprefix(UPDATE)) if line.startswith(UPDATE) else ""
        else:
            if line.startswith((" ", "-")):
                before.append(line[1:])
            if line.startswith((" ", "+")):
                after.append(line[1:])
