"""The files that were worked on, in one line: a small view of a long session names few of them.

`[Files in /home/me/app] changed: src/a.py, src/b.py; deleted: c.py; read: docs/d.md`
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate

from context_compression.evidence import commands_of, has_failed
from context_compression.labels import BREAKS
from context_compression.ledger import Entry, Kind, merge
from context_compression.ledger.file_actions import EDITOR_COMMANDS, FileAction, folder_of, of_call
from context_compression.ledger.shell import of_command
from context_compression.messages import ToolCall
from context_compression.plan import Plan

HEADINGS: Mapping[Kind, str] = {
    "created": "changed", "modified": "changed", "deleted": "deleted", "read": "read",
}  # fmt: skip
"""Under which heading a file stands, by the last that was done to it; in this order."""
UNFIT = re.compile(rf"[{BREAKS},;\[\]*]|/\Z|.{{200}}", re.DOTALL)
"""What a path holds that would not be read as one in a line: signs of ours, patterns, folders."""
BEFORE, BEHIND = re.compile(r"[\w.-]"), re.compile(r"[\w-]")
"""What stands before and behind a name where it is only part of another one."""
MOST = 0.9
"""Share of the absolute paths that lie in the folder that is named once for all of them."""


def files_of(plan: Plan) -> Mapping[str, str]:
    """The files that the calls of a conversation worked on, by path, each with its heading.

    Those used most come first, of those used alike the newest. What was compressed before, and is
    known from a ledger only, counts as used once, before all else.
    """
    earlier = [entry for entry in plan.archive.ledger if entry.kind in HEADINGS]
    times, newest = Counter(entry.text for entry in earlier), dict[str, int]()
    made: list[Entry] = []
    for at, (deed, path, to) in enumerate(_actions(plan)):
        if to:
            made.append(Entry("deleted", path))
        name = to or path
        times[name] += 1
        newest[name] = at
        made.append(Entry("modified" if deed in ("written", "renamed") else deed, name))
    found = {entry.text: HEADINGS[entry.kind] for entry in merge(earlier, made)}
    order = sorted(found, key=lambda path: (times[path], newest.get(path, -1)), reverse=True)
    return {path: found[path] for path in order if not UNFIT.search(path)}


def _actions(plan: Plan) -> Iterator[FileAction]:
    """What the calls did to files, but for those that did nothing."""
    results = {result.call_id: result for m in plan.messages for result in m.results}
    for call in (call for message in plan.messages for call in message.calls):
        result = results.get(call.id)
        if result is None or not has_failed(result):
            yield from _actions_of(call)


def _actions_of(call: ToolCall) -> Iterator[FileAction]:
    yield from of_call(call)
    for command in commands_of(call):
        if command not in EDITOR_COMMANDS:
            yield from of_command(command, folder_of(call))


def line_of_files(
    files: Mapping[str, str], view: str, count: Callable[[str], int], room: float
) -> str:
    """The line that names those of some files that a view does not; empty where there are none.

    Args:
        files: as `files_of` tells them.
        view: all texts of the view.
        count: tokens of a text.
        room: tokens that the line may take, about.
    """
    folder = folder_of_most(files)
    label = f"[Files in {folder}]" if folder else "[Files]"
    left = room - count(label)
    named: dict[str, list[str]] = {heading: [] for heading in HEADINGS.values()}
    for path, heading in files.items():
        name = path.removeprefix(f"{folder}/")
        if names(view, name):
            continue
        left -= count(name) + 1
        if left < 0:
            break
        named[heading].append(name)
    told = "; ".join(f"{heading}: {', '.join(paths)}" for heading, paths in named.items() if paths)
    return f"{label} {told}" if told else ""


def folder_of_most(paths: Iterable[str]) -> str:
    """The deepest folder that holds nearly all of the absolute paths; empty where none holds two.

    `folder_of_most(["/app/a.py", "/app/src/b.py"])` -> `"/app"`
    """
    within = Counter[str]()
    for path in paths:
        if path.startswith("/"):
            folders = path.split("/")[1:-1]
            within.update(accumulate(folders, "{}/{}".format, initial=""))
    del within[""]
    least = max(2.0, MOST * max(within.values(), default=0))
    return max((folder for folder, n in within.items() if n >= least), key=len, default="")


def names(text: str, name: str) -> bool:
    """Whether a name stands in a text, not just as part of another: `a.py` is none in `data.py`."""
    at = text.find(name)
    while at >= 0:
        stop = at + len(name)
        if not BEFORE.match(text, at - 1, at) and not BEHIND.match(text, stop):
            return True
        at = text.find(name, stop)
    return False
