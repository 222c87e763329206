"""What put tokens into the context: tools and files, and results that came again and again."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal, TypeAlias

from context_compression.conversation.messages import ToolCall, ToolResult, is_object
from context_compression.display.strings import in_words
from context_compression.evidence.facts import commands_of
from context_compression.evidence.ledger.file_actions import (
    OF_GIT,
    QUESTIONS,
    by_name,
    file_of,
    folder_of,
    of_call,
    searches,
)
from context_compression.evidence.ledger.shell import of_command
from context_compression.report.measured import MeasuredStage
from context_compression.report.model import Consumer, Repeated
from context_compression.tokens import Counter

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


def uses_of(stages: Iterable[MeasuredStage], counter: Counter, project: str = "") -> list[Use]:
    """All tool calls of a session, in the order of their results; each once."""
    return [*chain.from_iterable(_uses(stage, counter, project) for stage in stages)]


def _uses(stage: MeasuredStage, counter: Counter, project: str) -> Iterator[Use]:
    open_calls: dict[str, ToolCall] = {}
    for block in chain.from_iterable(message.blocks for message in stage.added):
        if isinstance(block, ToolCall):
            open_calls[block.id] = block
        elif isinstance(block, ToolResult):
            new = open_calls.pop(block.call_id, None)
            yield _use(new, new or stage.calls.get(block.call_id), block, counter, project)
    for call in open_calls.values():
        yield _use(call, call, None, counter, project)


def _use(
    counted: ToolCall | None,
    call: ToolCall | None,
    result: ToolResult | None,
    counter: Counter,
    project: str,
) -> Use:
    """A call with its result.

    Args:
        counted: the call, if its tokens belong to this stage.
        call: the call, if it is known.
        result: its result, if there is one.
        counter: counts the tokens.
        project: the folder in which paths are given without it.
    """
    files = [_within(project, path) for path in files_of(call)] if call else []
    again, kind = _subject(call, files) if call else ("", "file")
    return Use(
        call_id=call.id if call else "",
        tool=call.name if call else (result.name if result else "") or "a tool",
        files=files,
        again=again,
        kind=kind,
        call_tokens=counter.block(counted) if counted else 0,
        result_tokens=counter.block(result) if result else 0,
        text=result.text if result else "",
    )


def files_of(call: ToolCall) -> list[str]:
    """The files that a call reads, changes or searches, by its arguments and commands."""
    actions = of_call(call)
    for command in commands_of(call):
        actions += of_command(command, folder_of(call))
    paths = [action.to or action.path for action in actions if action.deed not in OF_GIT]
    if not paths and (path := file_of(call)) and "." in path.rpartition("/")[2]:
        paths = [path]  # of a search
    return [*dict.fromkeys(path for path in paths if path and not path.endswith("/"))]


def _subject(call: ToolCall, files: Sequence[str]) -> tuple[str, Kind]:
    """What a repetition of a call would repeat, and its kind."""
    if command := next(commands_of(call), ""):
        return in_words(command, LONGEST_NAME), "command"
    if searches(call) and is_object(call.arguments):
        given = by_name(call.arguments)
        words = " ".join(str(given[name]) for name in sorted(QUESTIONS & given.keys()))
        where = file_of(call)
        return in_words(f"{words} in {where}" if where else words, LONGEST_NAME), "search"
    deeds = {action.deed for action in of_call(call)}
    return (files[0] if deeds == {"read"} and len(files) == 1 else ""), "file"


def _within(project: str, path: str) -> str:
    """A path without the project's folder: `/repo/src/a.py` -> `src/a.py`."""
    return path.removeprefix(f"{project.rstrip('/')}/") if project else path


def by_tool(uses: Iterable[Use]) -> list[Consumer]:
    """The largest consumers by tool."""
    return _largest((use.tool, use.tokens, use.result_tokens) for use in uses)


def by_file(uses: Iterable[Use]) -> list[Consumer]:
    """The largest consumers by file; a call on several files counts in equal parts for each."""
    return _largest(
        (file, use.tokens // len(use.files), use.result_tokens // len(use.files))
        for use in uses
        for file in use.files
    )


def _largest(parts: Iterable[tuple[str, int, int]]) -> list[Consumer]:
    sums: dict[str, Consumer] = {}
    for name, tokens, result in parts:
        so_far = sums.get(name, Consumer(name, 0, 0, 0))
        sums[name] = Consumer(
            name, so_far.tokens + tokens, so_far.calls + 1, max(so_far.largest, result)
        )
    return sorted(sums.values(), key=lambda consumer: -consumer.tokens)[:MOST]


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
