"""What an agent's work costs if it must see the text: until all of it is done.

    python benchmarks/until_done.py [--windows 60000,200000] [--doors fit,loop] [--steps 100]
        [--processes 2] [--quick]

A scripted agent reads files, reads logs, or searches, one call after another: with `Session.fit`
before each request, or driven by `examples/openai_loop.py` (`--doors loop`). Of the
previews that it gets instead of a text, it restores a share with `context_restore`, page by page,
before it goes on. Beside it stands the same agent whose results are never shortened on arrival
(`offload_at_source` is 0 for all tools), only by compressions.

    requests       until the work is done, with those that restore
    billed         tokens of all requests at the input price: written to the prompt cache 1.25, read
                   from it 0.1; it never expires. All that is new in a request is written, so that
                   nothing is billed at 1. Answers, the system prompt and tools are left out.
    never          the same where nothing is shortened on arrival

The files and logs are made from seeds, and the searches are made in the files, so that the numbers
are the same everywhere. The script ends with 1 if a figure misses its bar (`missed`).
"""

import argparse
import asyncio
import json
import os
import random
import re
import runpy
import sys
import tempfile
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import chdir
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain, count, islice, product
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias

from comparison import Figure, Table, block
from replay import Tally, shared

from context_compression import Session, restore_tool
from context_compression.conversation import parse
from context_compression.session.restoring import RESTORE
from context_compression.tokens import Counter as TokenCounter

Message: TypeAlias = dict[str, Any]
WINDOWS = (60_000, 200_000)
SHARES = (0.0, 0.25, 0.5, 1.0)
FIT, LOOP = DOORS = ("fit", "loop")
EXAMPLE = Path(__file__).parents[1] / "examples/openai_loop.py"
STEPS = 100
QUICK, QUICK_WINDOW = 24, 30_000
TASK = "Make errors name the key that they are about, everywhere. Never touch src/vendor."
MODULES = 120
LARGEST, SMALLEST = 24_000, 6_000
"""Characters of the modules that are read: about 2,000 to 7,000 tokens."""
MOST_REQUESTS, MOST_BILLED = 1.05, 1.0
"""What reading sources may cost, as a multiple of what it costs if nothing is shortened."""
NOTHING: Mapping[str, Any] = {}
NEVER = {"offload_at_source": "*=0"}
HITS = 20, 130
"""In how many lines a word stands that is searched for."""
WORD = re.compile(r"[A-Za-z]\w{4,}")
REF = re.compile(r"\bref ([0-9a-f]{12})\b")
NEXT = re.compile(r"start=(\d+)")
READING, LOGS, SEARCHING, MIXED = "reading sources", "reading logs", "searching", "all three"


@dataclass(frozen=True)
class Step:
    """A call of the agent, and the text that it must see."""

    tool: str
    arguments: Mapping[str, Any]
    text: str


@dataclass(frozen=True)
class Work:
    """A run: what is done, in which window, and what share of previews the agent restores.

    Attributes:
        never: whether nothing is shortened on arrival.
        door: what drives the agent.
    """

    kind: str
    window: int
    share: float
    steps: int = STEPS
    never: bool = False
    door: str = FIT


@dataclass(frozen=True)
class Done:
    """What a run took.

    Attributes:
        billed: tokens at the input price.
        previews: how many results the agent got as previews.
        compressions: how often the conversation was compressed.
    """

    requests: int
    billed: float
    previews: int
    compressions: int


Calls: TypeAlias = Generator[Step, str]
"""Yields the calls of an agent, and receives what it is shown of their results."""


@dataclass
class Agent:
    """The scripted agent: asks, restores what it must, and goes on."""

    session: Session
    share: float
    tally: Tally = field(default_factory=Tally)
    previews: int = 0
    restored: int = 0
    _before: list[Message] = field(default_factory=list[Message])
    _tokens: dict[int, tuple[Message, int]] = field(default_factory=dict[int, tuple[Message, int]])
    _counter: TokenCounter = field(default_factory=TokenCounter)

    def run(self, steps: Sequence[Step], door: str) -> Done:
        """Do all steps, and answer."""
        calls = self.calls(steps)
        if door == FIT:
            self.fit(calls)
        else:
            self.loop(calls, {step.tool for step in steps})
        compressions = self.session.status().compressions
        return Done(self.tally.requests, self.tally.cost, self.previews, compressions)

    def calls(self, steps: Sequence[Step]) -> Calls:
        """All calls: the steps, and behind each the pages of what it restores."""
        for step in steps:
            shown = yield step
            if shown != step.text:
                self.previews += 1
                if self.restored < int(self.share * self.previews):
                    self.restored += 1
                    yield from self.restore(REF.findall(shown)[0])

    def restore(self, ref: str) -> Calls:
        """Read an original, page by page."""
        tool, start = restore_tool(self.session), 0
        while True:
            arguments = {"ref": ref, "start": start} if start else {"ref": ref}
            text = tool.answer(arguments)
            if (yield Step(RESTORE, arguments, text)) != text:
                raise ValueError(f"a page of {ref} came as a preview")
            if (found := NEXT.search(text.split("\n", 1)[0])) is None:
                return
            start = int(found[1])

    def fit(self, calls: Calls) -> None:
        """Run a loop of our own, with `Session.fit` before each request."""
        history: list[Message] = [{"role": "user", "content": TASK}]
        tools = [restore_tool(self.session).openai]
        for number in count():
            shown = self.sent(self.session.fit(history, tools=tools))
            if (step := after(calls, number, shown)) is None:
                return
            history.append(message_of(step, number))
            result = {"role": "tool", "tool_call_id": f"c{number}", "content": step.text}
            history.append(result)

    def loop(self, calls: Calls, tools: set[str]) -> None:
        """Let the example's loop drive, with a model that makes these calls."""
        made: list[Step] = []

        async def create(*, messages: list[Message], **request: Any) -> Any:
            number = len(made)
            step = after(calls, number, self.sent(messages))
            made.extend([step] if step else [])
            answer = message_of(step, number) if step else {"role": "assistant", "content": "Done."}

            def model_dump(**how: object) -> Message:
                return answer

            choice = SimpleNamespace(
                message=SimpleNamespace(model_dump=model_dump), finish_reason="stop"
            )
            usage = SimpleNamespace(prompt_tokens=0, completion_tokens=1)
            return SimpleNamespace(choices=[choice], usage=usage)

        async def answered(arguments: object) -> str:
            return made[-1].text

        answer_to = runpy.run_path(str(EXAMPLE))["answer_to"]
        task: list[Message] = [{"role": "user", "content": TASK}]
        functions = dict.fromkeys(tools, answered)
        asyncio.run(answer_to(task, client(create), self.session, functions))

    def sent(self, request: list[Message]) -> str:
        """Tally a request; returns its last text."""
        sizes = [*map(self.tokens, request)]
        same = shared(self._before, request)
        self.tally += Tally(requests=1, sent=sum(sizes), cached=sum(sizes[:same]))
        self._before = request
        return request[-1]["content"]

    def tokens(self, message: Message) -> int:
        found = self._tokens.get(id(message))
        if found is None:  # the message is kept, so that nothing else may get its id
            count = self._counter.messages(parse([message]).messages)
            found = self._tokens[id(message)] = message, count
        return found[1]


def after(calls: Calls, number: int, shown: str) -> Step | None:
    """The next call, after what was shown of the one before; `None` if the work is done."""
    try:
        return calls.send(shown) if number else next(calls)
    except StopIteration:
        return None


def message_of(step: Step, number: int) -> Message:
    """A call, as an OpenAI client answers it."""
    function = {"name": step.tool, "arguments": json.dumps(step.arguments)}
    call = {"id": f"c{number}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def client(create: Any) -> Any:
    """A client of a model whose answers a function makes."""
    return SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))


def done(work: Work, settings: Mapping[str, Any] = NOTHING) -> Done:
    """One run, in a store of its own: of the same name each time, because previews show it."""
    settings = {"token_budget": work.window, **(NEVER if work.never else {}), **settings}
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        session = Session("store", "work", settings=settings)
        return Agent(session, work.share).run(steps_of(work.kind, work.steps), work.door)


def steps_of(kind: str, count: int) -> list[Step]:
    """The steps of a kind of work."""
    if kind == MIXED:
        all_kinds = zip(*(steps_of(each, count) for each in KINDS), strict=True)
        return [*islice(chain.from_iterable(all_kinds), count)]
    return [*islice(KINDS[kind](), count)]


@cache
def modules() -> Mapping[str, str]:
    """Made-up Python modules by path, of a size that is read as a whole."""
    return {f"src/{name_of(n)}.py": "\n".join(module(random.Random(n), n)) for n in range(MODULES)}


def name_of(number: int) -> str:
    return f"{NAMES[number % len(NAMES)]}_{NAMES[number // len(NAMES) % len(NAMES)]}_{number}"


def module(draw: random.Random, number: int) -> Iterator[str]:
    """The lines of a module with some classes, each with functions of its own."""
    yield f'"""The {name_of(number).replace("_", " ")} of the service."""\n\nimport json\n'
    chars, most = 0, draw.randrange(SMALLEST, LARGEST)
    for at in count():
        lines = [*function(draw, f"{draw.choice(NAMES)}_{draw.choice(NAMES)}_{at}")]
        chars += sum(map(len, lines))
        if chars > most:
            return
        yield from lines


def function(draw: random.Random, name: str) -> Iterator[str]:
    first, second = draw.sample(NAMES, 2)
    yield f"\n\ndef {name}({first}: dict[str, int], {second}: str) -> int:"
    yield f'    """The {second} of a {first}, {draw.randrange(90)} at most."""'
    for _ in range(draw.randrange(2, 7)):
        key = f"{draw.choice(NAMES)}_{draw.choice(NAMES)}"
        yield f'    {key} = {first}.get("{key}", {draw.randrange(999)}) + len({second})'
        if draw.random() < 0.4:
            yield f"    if {key} > {draw.randrange(9_999)}:"
            yield f'        raise ValueError(f"{{{second}}}: no {key} is left")'
    yield f"    return {draw.randrange(99)}"


def sources() -> Iterator[Step]:
    """Files, each read once, in the ways in which tools read them."""
    for number, (path, text) in enumerate(modules().items()):
        match number % 4:
            case 0:
                yield Step("read_file", {"path": path}, text)
            case 1:
                yield Step("bash", {"command": f"cat {path}"}, text)
            case 2:
                numbered = "\n".join(f"{n:6}\t{t}" for n, t in enumerate(text.split("\n"), 1))
                yield Step("view", {"path": path}, numbered)
            case _:
                yield Step("shell", {"command": ["bash", "-lc", f"sed -n 1,900p {path}"]}, text)


def searches() -> Iterator[Step]:
    """Lines of all files with a word, in the ways in which tools search."""
    lines = [
        (f"{path}:{at}:{line}", {*WORD.findall(line)})
        for path, text in modules().items()
        for at, line in enumerate(text.split("\n"), 1)
    ]
    counts = Counter(word for _, words in lines for word in words)
    common = sorted(word for word, count in counts.items() if HITS[0] <= count <= HITS[1])
    for number, word in enumerate(common):
        text = "\n".join(line for line, words in lines if word in words)
        if number % 2:
            yield Step("bash", {"command": f"grep -rnw {word} src"}, text)
        else:
            yield Step("grep", {"pattern": word, "path": "src"}, text)


def logs() -> Iterator[Step]:
    """Outputs of programs, each with an error that is in no other one, made from a seed."""
    for number in count():
        make, tool, command = PROGRAMS[number % len(PROGRAMS)]
        text = "\n".join(make(random.Random(number), number))
        if tool == "bash":
            yield Step(tool, {"command": f"{command} {number}"}, text)
        else:
            yield Step(tool, {"name": f"{command}{number}"}, text)


def build_log(draw: random.Random, number: int) -> Iterator[str]:
    at = draw.randrange(30, 90)
    for line in range(110):
        unit = f"{draw.choice(NAMES)}_{draw.choice(NAMES)}"
        yield f"[{line + 1}/110] Building C object src/CMakeFiles/core.dir/{unit}.c.o"
        if draw.random() < 0.2:
            yield f"src/{unit}.c:{draw.randrange(900)}:9: warning: unused variable '{unit}_size'"
        if line == at:
            yield f"src/{unit}.c:{draw.randrange(900)}:12: error: no member named 'part_{number}'"
    yield "ninja: build stopped: subcommand failed."


def test_log(draw: random.Random, number: int) -> Iterator[str]:
    failed = f"test_{draw.choice(NAMES)}_{number}"
    for line in range(100):
        name = failed if line == 61 else f"test_{draw.choice(NAMES)}_{draw.choice(NAMES)}"
        word = "FAILED" if line == 61 else "PASSED"
        yield f"tests/test_{draw.choice(NAMES)}.py::{name} {word} [{line + 1:3}%]"
    yield "=================================== FAILURES ==================================="
    yield f"    def {failed}():\n>       assert load({number}) == {draw.randrange(9_999)}"
    yield f"E       assert {draw.randrange(9_999)} == {draw.randrange(9_999)}"
    yield f"1 failed, 99 passed in {draw.randrange(100, 900) / 100:.2f}s"


def server_log(draw: random.Random, number: int) -> Iterator[str]:
    for line in range(90):
        time = f"2026-03-{number % 28 + 1:02}T10:{line // 2:02}:{draw.randrange(60):02}Z"
        path = f"/{draw.choice(NAMES)}/{draw.randrange(9_999)}"
        yield f"{time} INFO {draw.choice(NAMES)} GET {path} 200 {draw.randrange(400)}ms"
        if line == 50:
            yield f"{time} ERROR {draw.choice(NAMES)} request {number}: connection reset by peer"


NAMES = (
    "cache", "parser", "index", "queue", "writer", "header", "route", "token", "worker", "schema",
    "ledger", "filter", "socket", "bucket", "cursor", "lexer", "session", "merge", "digest", "pool",
)  # fmt: skip
PROGRAMS = (
    (build_log, "bash", "make -C build part"),
    (test_log, "bash", "python -m pytest -v -k part"),
    (server_log, "read_logs", "service-"),
    (test_log, "run_tests", "part-"),
    (build_log, "shell_output", "build-"),
)
KINDS = {READING: sources, LOGS: logs, SEARCHING: searches}


def everything(works: Sequence[Work], processes: int) -> dict[Work, Done]:
    """What each run took."""
    with ProcessPoolExecutor(processes) as pool:
        return dict(zip(works, pool.map(done, works), strict=True))


def works_of(
    windows: Sequence[int], shares: Sequence[float], steps: int, doors: Sequence[str] = (FIT,)
) -> list[Work]:
    """All runs, each with its twin of which nothing is shortened on arrival."""
    each = product(doors, windows, (*KINDS, MIXED), shares, (False, True))
    return [
        Work(kind, window, share, steps, never, door) for door, window, kind, share, never in each
    ]


def tables(found: Mapping[Work, Done]) -> Iterator[Table]:
    """The tables for a page, one for each door and window."""
    for door, window in dict.fromkeys((work.door, work.window) for work in found):
        rows: dict[str, dict[str, Figure]] = {}
        for work, ours in found.items():
            if (work.door, work.window) == (door, window) and not work.never:
                never = found[replace(work, never=True)]
                values = (ours.requests, never.requests, ours.billed, never.billed,
                          ours.previews, ours.compressions, never.compressions)  # fmt: skip
                name = f"{work.kind}, {100 * work.share:.0f} % restored"
                rows[name] = dict(zip(COLUMNS, map(Figure, values), strict=True))
        steps = next(iter(found)).steps
        by = "" if door == FIT else f", with {door}"
        heading = f"{steps} results, in a window of {window:,}{by}"
        yield Table("until_done", heading, [*COLUMNS], rows, units=COLUMNS)


COLUMNS = {
    "requests": "count", "never: requests": "count", "billed": "thousands",
    "never: billed": "thousands", "previews": "count", "compressions": "count",
    "never: compressions": "count",
}  # fmt: skip


def missed(found: Mapping[Work, Done]) -> Iterator[str]:
    """A sentence for each bar that is missed."""
    for work, ours in found.items():
        if work.never:
            continue
        never = found[replace(work, never=True)]
        name = f"{work.kind}, {work.door}, {work.window:,}, {100 * work.share:.0f} % restored"
        if work.kind == READING:
            if ours.requests > MOST_REQUESTS * never.requests:
                yield f"{name}: {ours.requests} requests against {never.requests}"
            if ours.billed > MOST_BILLED * never.billed:
                yield f"{name}: {ours.billed:,.0f} billed against {never.billed:,.0f}"
        if work.kind == LOGS and not work.share and ours.billed >= never.billed:
            yield f"{name}: {ours.billed:,.0f} billed against {never.billed:,.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--windows", default="60000,200000", help="in tokens")
    parser.add_argument("--doors", default=FIT, help=f"of {', '.join(DOORS)}")
    parser.add_argument("--steps", type=int, default=STEPS, help="results of each run")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--quick", action="store_true", help="a small window and few results")
    options = parser.parse_args()
    windows = [int(window) for window in options.windows.split(",")]
    doors = options.doors.split(",")
    works = works_of(windows, SHARES, options.steps, doors)
    if options.quick:
        works = works_of([QUICK_WINDOW], (0.0, 1.0), QUICK, doors)
    found = everything(works, options.processes)
    print(block([*tables(found)]))
    if sentences := [*missed(found)]:
        sys.exit("\n".join(["Bars that are missed:", *sentences]))


if __name__ == "__main__":
    main()
