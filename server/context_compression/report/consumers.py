"""What put tokens into the context: tools and files, and results that came again and again."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest
from itertools import chain, islice
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from context_compression.conversation.messages import ToolCall, ToolResult, is_object
from context_compression.evidence.facts import commands_of
from context_compression.evidence.ledger.actions import (
    OF_GIT,
    QUESTIONS,
    FileAction,
    by_name,
    file_of,
    folder_of,
    of_call,
    of_command,
    searches,
)
from context_compression.report.model import Consumer, Repeated
from context_compression.report.rough import CALLS, RESULTS, Part, Rough, id_in, value_of
from context_compression.strings import in_words
from context_compression.transcripts.transcript import Stage

One = TypeVar("One", Consumer, Repeated)
Kind: TypeAlias = Literal["file", "command", "search"]
MOST = 50
"""How many consumers of a kind a report lists."""
LONGEST_NAME = 200
NUMBER = re.compile(r"(?<!\d)\d+[\t→:|]")
"""The number of a line, which changes when lines are added before it."""


@dataclass(frozen=True)
class Use:
    """One call of a tool and its result.

    Attributes:
        call_id: the id of the call.
        tool: the name of the tool.
        files: the files that it is about.
        again: the path, command or words of a search that a repetition would repeat; empty for a
            call that changes a file.
        kind: what `again` is.
        call_tokens: of the call.
        result_tokens: of the result.
        text: of the result.
    """

    call_id: str
    tool: str
    files: Sequence[str]
    again: str
    kind: Kind
    call_tokens: int
    result_tokens: int
    text: str

    @property
    def tokens(self) -> int:
        """Of the call and the result."""
        return self.call_tokens + self.result_tokens


class CallWithResult(NamedTuple):
    """A call of a tool and its result, either of which may be missing; each with its tokens.

    They are as the parts have them, because of a long session few are looked into.
    """

    tool: str
    call: Any
    call_tokens: int
    result: Any
    result_tokens: int


def asked_in(stages: Iterable[Stage], rough: Rough) -> Iterator[CallWithResult]:
    """All tool calls of a session, in the order of their results; each once."""
    for stage, parts in zip(stages, rough.parts, strict=True):
        known = {id_in(part[3]): part for each in parts for part in each if part[0][0] == CALLS}
        open_calls: dict[str, Part] = {}
        for part in chain.from_iterable(islice(parts, stage.carried, None)):
            (kind, tool), _, _, block = part
            if kind == CALLS:
                open_calls[id_in(block)] = part
            elif kind == RESULTS:
                new = open_calls.pop(id_in(block), None)
                call = new or known.get(id_in(block))
                size = rough.tokens(new) if new else 0
                tool = call[0][1] if call else tool
                yield CallWithResult(
                    tool or "a tool", call and call[3], size, block, rough.tokens(part)
                )
        for part in open_calls.values():
            yield CallWithResult(part[0][1], part[3], rough.tokens(part), None, 0)


def uses_of(
    asked: Sequence[CallWithResult], project: str = "", most: int | None = None
) -> tuple[list[Use], float]:
    """What calls were about, and how many calls each use stands for.

    Paths in the project are given without it. With `most`, about so many calls are looked into.
    """
    looked_into = asked[:: 1 + len(asked) // most] if most else asked
    times = len(asked) / len(looked_into) if asked else 1
    return [_use(each, project) for each in looked_into], times


def _use(asked: CallWithResult, project: str) -> Use:
    call, result = value_of(asked.call), value_of(asked.result)
    call = call if isinstance(call, ToolCall) else None
    actions = of_call(call) if call else []
    files = [_within(project, path) for path in _files(call, actions)] if call else []
    again, kind = _subject(call, actions, files) if call else ("", "file")
    return Use(
        call_id=call.id if call else "",
        files=files,
        again=again,
        kind=kind,
        tool=asked.tool,
        call_tokens=asked.call_tokens,
        result_tokens=asked.result_tokens,
        text=result.text if isinstance(result, ToolResult) else "",
    )


def _files(call: ToolCall, of_arguments: Sequence[FileAction]) -> list[str]:
    """The files that a call reads, changes or searches, by its arguments and commands."""
    actions = [*of_arguments]
    for command in commands_of(call):
        actions += of_command(command, folder_of(call))
    paths = [action.to or action.path for action in actions if action.deed not in OF_GIT]
    if not paths and (path := file_of(call)) and "." in path.rpartition("/")[2]:
        paths = [path]  # of a search
    return [*dict.fromkeys(path for path in paths if path and not path.endswith("/"))]


def _subject(
    call: ToolCall, actions: Sequence[FileAction], files: Sequence[str]
) -> tuple[str, Kind]:
    """What a repetition of a call would repeat, and its kind."""
    if command := next(commands_of(call), ""):
        return in_words(command, LONGEST_NAME), "command"
    if searches(call) and is_object(call.arguments):
        given = by_name(call.arguments)
        words = " ".join(str(given[name]) for name in sorted(QUESTIONS & given.keys()))
        where = file_of(call)
        return in_words(f"{words} in {where}" if where else words, LONGEST_NAME), "search"
    deeds = {action.deed for action in actions}
    return (files[0] if deeds == {"read"} and len(files) == 1 else ""), "file"


def _within(project: str, path: str) -> str:
    """A path without the project's folder: `/repo/src/a.py` -> `src/a.py`."""
    return path.removeprefix(f"{project.rstrip('/')}/") if project else path


def by_tool(asked: Iterable[CallWithResult]) -> list[Consumer]:
    """The largest consumers by tool."""
    return _largest(
        (each.tool, each.call_tokens + each.result_tokens, each.result_tokens) for each in asked
    )


def by_file(uses: Iterable[Use]) -> list[Consumer]:
    """The largest consumers by file; a call on several files counts in equal parts for each."""
    return _largest(
        (file, use.tokens // len(use.files), use.result_tokens // len(use.files))
        for use in uses
        for file in use.files
    )


def _largest(parts: Iterable[tuple[str, int, int]]) -> list[Consumer]:
    sums: dict[str, list[int]] = {}
    for name, tokens, result in parts:
        so_far = sums.get(name) or sums.setdefault(name, [0, 0, 0])
        so_far[0] += tokens
        so_far[1] += 1
        so_far[2] = max(so_far[2], result)
    largest = nsmallest(MOST, sums.items(), key=lambda each: -each[1][0])
    return [Consumer(name, *numbers) for name, numbers in largest]


def in_proportion(of_sample: Sequence[One], times: float) -> list[One]:
    """Consumers of all calls, by those of a sample that is a part of them."""
    names = ("tokens", "calls", "times", "again")
    return [
        replace(one, **{name: round(n * times) for name, n in vars(one).items() if name in names})
        for one in of_sample
    ]


def repeated(uses: Iterable[Use]) -> list[Repeated]:
    """The files and commands whose results came again and again, the most costly first."""
    groups: dict[tuple[str, str], list[Use]] = {}
    for use in uses:
        if use.again and use.text:
            groups.setdefault((use.tool, use.again), []).append(use)
    several = [group for group in groups.values() if len(group) > 1]
    costly = sorted(map(_repeated, several), key=lambda repeated: -repeated.again)
    return [repeated for repeated in costly if repeated.again][:MOST]


def _repeated(group: Sequence[Use]) -> Repeated:
    seen = set[int]()
    texts = set[str]()
    again = 0
    for use in group:
        if use.text in texts:
            again += use.result_tokens
            continue
        texts.add(use.text)
        came = known = 0
        for line in use.text.splitlines():
            key = hash(NUMBER.sub("", line, count=1).strip())
            came += len(line)
            known += len(line) if key in seen else 0
            seen.add(key)
        again += use.result_tokens * known // came if use is not group[0] and came else 0
    first = group[0]
    return Repeated(
        name=first.again,
        times=len(group),
        tokens=sum(use.result_tokens for use in group),
        again=again,
        tool=first.tool,
        kind=first.kind,
    )
