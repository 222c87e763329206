"""`demo`: a recorded conversation, taken through all six tools of a real server.

In conversation.jsonl, an agent adds a strategy to this project; `benchmarks/make_demo.py` made it
from real commands. The server is started as hosts do, and its tools are called as clients do. The
archive is checked twice: by the answers of the tools, and on disk with the library.
"""

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from context_compression.cli.app import examples
from context_compression.cli.terminal import above_the_bar, is_coloured, is_terminal, size, working
from context_compression.conversation.formats import parse
from context_compression.conversation.messages import ToolResult
from context_compression.hosts.setup.machine import unavailable
from context_compression.listening import SHOWING, advance
from context_compression.session import Session
from context_compression.store import Store
from context_compression.store.file_backend import FileBackend
from context_compression.strings import without_end
from context_compression.tokens.usage import count_tokens

if TYPE_CHECKING:  # the help waits for neither
    from mcp import Client
    from mcp.types import CallToolResult

TRANSCRIPT = "session.jsonl"
TARGET = 20_000  # tokens
TOOLS = {
    f"context_{tool}" for tool in ("status", "compress", "config", "summary", "offload", "restore")
}
CHECKPOINT = (
    "Goal: a strategy `collapse`. Decided: by name only, runs of at least 4 equal lines, first and "
    "last line verbatim. Rules: no pathlib, mcp or httpx in the core; never change data/; no "
    "commits. Open: whether auto should run it."
)
WIDTH = 96
STEPS = 8
"""How many headings the tour prints, for its progress."""
Printing = Callable[[Callable[[], object]], object]
"""Runs what prints, for example in place of a bar on the terminal."""


@click.command(
    short_help="Run a recorded conversation through all six tools.",
    epilog=examples(("demo", "about ten seconds; everything is deleted")),
)
def demo() -> None:
    """Run a recorded conversation through all six tools of a real server; check every result."""
    import anyio

    if error := unavailable():
        raise error
    screen = size(sys.stdout).columns if is_terminal(sys.stdout) else None
    board = Board(above_the_bar, width=screen, coloured=is_coloured(sys.stdout))
    with (
        working("starting the server", SHOWING),
        TemporaryDirectory(prefix="context-compression-demo-") as folder,
    ):
        project = Path(folder).resolve() / "project"
        project.mkdir()
        raise SystemExit(anyio.run(_play, project, board))


class Board:
    """Prints the demo and counts the checks that passed or failed."""

    def __init__(
        self,
        printing: Printing = lambda print_it: print_it(),
        *,
        width: int | None = None,
        coloured: bool | None = None,
    ) -> None:
        """A board of `width` columns; `coloured` is for click, which decides by itself else."""
        self._printing, self._coloured = printing, coloured
        self._width = min(width or WIDTH + 3, WIDTH + 3) - 3
        self.passed = 0
        self.failed: list[str] = []
        self._steps = 0
        self._began = time.monotonic()

    def heading(self, text: str) -> None:
        """Prints the heading of the next step."""
        advance(SHOWING, self._steps, STEPS)
        self._steps += 1
        self.print(f"\n{self._steps}. {text}", bold=True)

    def show(self, lines: Iterable[str]) -> None:
        """Prints lines of an answer without tabs, cut to the width of the page."""
        for line in lines:
            self.print(f"   {without_end(line.expandtabs(), self._width)}")

    def check(self, passed: bool, what: str) -> None:
        """Prints a check with its result."""
        self.print(f"   {'✓' if passed else '✗'} {what}", fg="green" if passed else "red")
        if passed:
            self.passed += 1
        else:
            self.failed.append(what)

    def close(self) -> int:
        """Prints the last line; returns 0 if all checks passed, else 1."""
        seconds = time.monotonic() - self._began
        if self.failed:
            self.print(f"\nChecks failed: {'; '.join(self.failed)}", fg="red")
            return 1
        self.print(f"\nAll {self.passed} checks passed in {seconds:.1f} s. All files are deleted.")
        return 0

    def print(self, text: str, **style: Any) -> None:
        """Prints lines, in a style of click."""
        self._printing(lambda: click.secho(text, color=self._coloured, **style))


async def _play(folder: Path, board: Board) -> int:
    from mcp import Client, StdioServerParameters

    recorded = files("context_compression.cli").joinpath("conversation.jsonl").read_bytes()
    (folder / TRANSCRIPT).write_bytes(recorded)
    messages = [json.loads(line) for line in recorded.splitlines()]
    board.print(
        f"An agent worked on this project: {len(messages)} messages, "
        f"{count_tokens(messages):,} tokens.\nA real server runs on this machine. You see the "
        "answers of its six tools over stdio."
    )
    environment = {"HOME": str(folder.parent), "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "context_compression", "--store", str(folder / ".compression"), "serve"],
        cwd=folder,
        env=environment,
    )
    async with Client(server) as client:
        tour = Tour(client, folder, messages, board)
        try:
            await tour.all()
        except ToolFailed as failure:
            tour.board.check(False, str(failure))
    return board.close()


class ToolFailed(Exception):
    """A tool answered with an error."""


class Tour:
    """Calls the tools with the recorded conversation."""

    def __init__(
        self, client: "Client", folder: Path, messages: Sequence[dict[str, Any]], board: Board
    ) -> None:
        self.board = board
        self._client, self._messages = client, list(messages)
        self._session = Session(Store(FileBackend(folder / ".compression")), Path(TRANSCRIPT).stem)

    async def all(self) -> None:
        """Calls every tool, in the order in which an agent needs them."""
        offered = {tool.name for tool in (await self._client.list_tools()).tools}
        self.board.heading("tools/list")
        names = ", ".join(name.removeprefix("context_") for name in sorted(offered))
        self.board.check(offered == TOOLS, f"{len(offered)} tools, context_…: {names}")
        await self.status()
        await self.config()
        await self.compress()
        await self.restore()
        await self.offload()
        await self.summary()
        await self.undo()

    async def status(self) -> None:
        """Shows how full the context is, and what fills it."""
        text, facts = await self._call("context_status", conversation=TRANSCRIPT)
        self.board.show(_lines(text, "tokens by kind", "largest"))
        counted = count_tokens(self._messages)
        self.board.check(facts["used_tokens"] == counted, f"{counted:,} tokens are in use")

    async def config(self) -> None:
        """Changes a setting for all later calls."""
        text, _ = await self._call("context_config", keep_recent=5)
        self.board.show(_lines(text))
        _, facts = await self._call("context_config", quiet=True)
        now = facts["settings"]["keep_recent"]["value"]
        self.board.check(now == 5, "the setting is in config.json")

    async def compress(self) -> None:
        """Compacts the conversation and checks the result on disk."""
        text, facts = await self._call(
            "context_compress", conversation=TRANSCRIPT, target_tokens=TARGET
        )
        self.board.show(_lines(text, "steps", "evidence"))
        self._compare(facts["evidence"]["paths"]["in context"])
        view = self._session.view()
        tokens, before = count_tokens(view), count_tokens(self._messages)
        within = f"the compacted context has {tokens:,} tokens on disk; the target is {TARGET:,}"
        self.board.check(tokens <= TARGET, within)
        reported = facts["tokens_before"], facts["tokens_after"]
        self.board.check(reported == (before, tokens), "the report has the same numbers")
        self.board.check(_paired(view), "every tool call still has its result")
        self.board.check(view[-1] == self._messages[-1], "the last message is unchanged")
        lost = sum(loss["lost"] for loss in facts["evidence"].values())
        self.board.check(lost == 0, "no evidence is lost")

    def _compare(self, kept: int) -> None:
        """Shows why `auto` did not stop at previews: how many paths they keep in the same room."""
        from context_compression import compress

        alone = compress(self._messages, target_tokens=TARGET, strategy="offload").loss["paths"]
        alone_keeps = f"offload alone keeps {alone.retained} of {alone.total} paths in context"
        self.board.show([f"why extract, too: in the same room, {alone_keeps}, not {kept}"])

    async def restore(self) -> None:
        """Restores one original with the tool, page by page, and all originals from disk."""
        index, result = max(_results(self._messages), key=lambda entry: len(entry[1].text))
        before = result.text
        after = {r.call_id: r.text for _, r in _results(self._session.view())}
        refs = {text: ref for ref, _, text in self._session.archived() if isinstance(text, str)}
        self.board.heading(f"context_restore ref={refs.get(before)}")
        self.board.show([f"message {index}, a tool result of {len(before):,} characters, is now:"])
        self.board.show(f"| {line}" for line in after.get(result.call_id, "gone").splitlines()[:6])
        pages = await self._pages(refs.get(before, ""))
        same = "".join(pages) == before
        size = f"{len(before.encode()):,} bytes in {len(pages)} pages"
        self.board.check(same, f"{size} equal the original")
        archived = [original for _, _, original in self._session.archived()]
        known = [*self._messages, *_texts(self._messages)]
        self.board.check(
            bool(archived) and all(original in known for original in archived),
            f"all {len(archived)} originals in the archive equal what was recorded",
        )

    async def offload(self) -> None:
        """Archives a long text and finds one line of it."""
        log = "\n".join(f"{n:04} ok: 测试 {n} passed" for n in range(2_000))
        text, facts = await self._call("context_offload", content=log)
        self.board.show(_lines(text))
        answer = await self._client.call_tool(
            "context_restore", {"ref": facts["ref"], "pattern": "^1234 "}
        )
        self.board.check("1234 ok: 测试 1234 passed" in _text(answer), "one line of it comes back")

    async def summary(self) -> None:
        """Keeps a checkpoint and reads it as a new chat would."""
        await self._call("context_compress", quiet=True, summary=CHECKPOINT)
        text, _ = await self._call("context_summary", limit=1)
        self.board.show([*text.splitlines()[:1], CHECKPOINT])
        self.board.check(CHECKPOINT in text, "a new chat gets the checkpoint")

    async def undo(self) -> None:
        """Undoes the compression."""
        session = self._session.id
        text, _ = await self._call("context_compress", conversation=session, undo=True)
        self.board.show(_lines(text))
        same = self._session.view() == self._messages
        back = f"the conversation has its original {len(self._messages)} messages"
        self.board.check(same, back)
        self.board.check(self._session.store.verify() == [], "every file in the store is valid")

    async def _call(
        self, tool: str, *, quiet: bool = False, **arguments: Any
    ) -> tuple[str, dict[str, Any]]:
        """Calls a tool; returns the text and the structured content of its answer."""
        if not quiet:
            shown = ", ".join(f"{name}={_short(value)}" for name, value in arguments.items())
            self.board.heading(f"{tool} {shown}")
        answer = await self._client.call_tool(tool, arguments)
        if answer.is_error:
            raise ToolFailed(_text(answer))
        return _text(answer), answer.structured_content or {}

    async def _pages(self, ref: str) -> list[str]:
        """All pages of an original, without their fences."""
        pages: list[str] = []
        cursor: dict[str, str] = {}
        while True:
            answer = _text(await self._client.call_tool("context_restore", {"ref": ref, **cursor}))
            header, _, quoted = answer.partition("\n")
            pages.append(quoted.partition("\n")[2].rpartition("\n")[0])
            following = re.search(r"cursor (\S+)", header)
            if not following:
                return pages
            cursor = {"cursor": following[1]}


def _text(answer: "CallToolResult") -> str:
    return "\n".join(block.text for block in answer.content if block.type == "text")


def _lines(text: str, *labels: str) -> list[str]:
    """The first line of an answer, and the facts with one of the labels."""
    lines: list[str] = []
    inside = False
    for number, line in enumerate(text.splitlines()):
        if not line.startswith("- "):
            inside = number == 0 or line.startswith(labels)
        if inside:
            lines.append(line)
    return lines


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 32 else f"({len(text):,} characters)"


def _results(messages: Sequence[dict[str, Any]]) -> list[tuple[int, ToolResult]]:
    """Every tool result, with the index of its message."""
    parsed = parse(messages).messages
    return [(index, result) for index, message in enumerate(parsed) for result in message.results]


def _texts(messages: Sequence[dict[str, Any]]) -> list[str]:
    """Every text in the messages that may have its own ref."""
    texts = [message.text for message in parse(messages).messages]
    return texts + [result.text for _, result in _results(messages)]


def _paired(messages: Sequence[dict[str, Any]]) -> bool:
    """Whether the results in each message belong to exactly the calls of the message before."""
    parsed = parse(messages).messages
    calls = [{call.id for call in message.calls} for message in parsed]
    results = [{result.call_id for result in message.results} for message in parsed]
    return [set[str](), *calls] == [*results, set[str]()]
