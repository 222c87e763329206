"""Every door of the package, in one table: a history goes in, what would be sent comes out.

    @pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
    @given(talk=broken_talks())
    def test_a_law(door: Door, talk: Talk) -> None:
        for request in door.requests(talk, Ask(target=2_000)): …

A law that holds behind every door is one test over this table. A door that grows is given the
history request by request, as a program's loop would; the others are given all of it once.
"""

import asyncio
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

from click.testing import CliRunner
from generated import DIALECTS, Messages
from mcp_door import ask, connected, workspace_in
from talks import Talk

from context_compression import BudgetTooSmall, Session, compress, count_tokens
from context_compression.cli import main
from context_compression.conversation.messages import is_by_model
from context_compression.hooks.requests import view_to_send
from context_compression.integrations.translation import Translation, fit
from context_compression.testing import Dialect

REQUESTS = 4
"""How many requests a door that grows makes at most."""


@dataclass(frozen=True)
class Ask:
    """What a caller asks for.

    Attributes:
        share: of the history's tokens, for doors that take a target.
        settings: of the call or session.
    """

    share: float = 0.5
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def target(self, messages: Messages) -> int:
        """The target in tokens."""
        return max(1, int(count_tokens(messages) * self.share))


@dataclass(frozen=True)
class Request:
    """What one request sends.

    Attributes:
        history: what the caller had.
        view: what goes out for it.
        told: what the caller can read of it: repairs, notes, warnings.
    """

    history: Messages
    view: Messages
    told: Sequence[str] = ()


Send: TypeAlias = Callable[[Dialect, Messages, Ask, Path], Iterator[Request]]


@dataclass(frozen=True)
class Door:
    """One way into the package.

    Attributes:
        name: of the door.
        send: makes its requests; the folder is empty and belongs to them.
        grows: whether it is given a growing history.
        dialects: those that it takes.
        is_slow: whether a request of it takes long, so that a law should try fewer examples.
        makes_own: whether it makes the messages anew, so that nothing is the very object.
        tells: whether its caller can read what was repaired.
    """

    name: str
    send: Send
    grows: bool = False
    dialects: Sequence[Dialect] = DIALECTS
    is_slow: bool = False
    makes_own: bool = False
    tells: bool = True

    def requests(self, talk: Talk, asked: Ask) -> list[Request]:
        """The requests for a conversation."""
        with tempfile.TemporaryDirectory() as folder:
            return [*self.send(*talk, asked, Path(folder))]


def growing(messages: Messages) -> Iterator[Messages]:
    """The histories of some requests, which follow the user's words or results; the last is all."""
    ends = [end for end in range(1, len(messages)) if not is_by_model(messages[end - 1])]
    for end in (*ends[:: max(1, len(ends) // REQUESTS)], len(messages)):
        yield messages[:end]


def _compress(dialect: Dialect, messages: Messages, asked: Ask, folder: Path) -> Iterator[Request]:
    yield _compressed(messages, asked)


def _with_store(
    dialect: Dialect, messages: Messages, asked: Ask, folder: Path
) -> Iterator[Request]:
    yield _compressed(messages, asked, store=folder / "store")


def _compressed(messages: Messages, asked: Ask, **options: Any) -> Request:
    """`compress` to the target; where that is below the floor, to the floor."""
    options |= {"settings": asked.settings}
    try:
        result = compress(messages, target_tokens=asked.target(messages), **options)
    except BudgetTooSmall as refused:
        result = compress(messages, target_tokens=refused.floor_tokens, **options)
    return Request(messages, result.messages, [*result.repairs, *result.notes])


def _session(asked: Ask, folder: Path) -> Session:
    return Session(folder / "store", "one", settings=asked.settings, summarizer=None)


def _prepare(dialect: Dialect, messages: Messages, asked: Ask, folder: Path) -> Iterator[Request]:
    session, recorded = _session(asked, folder), 0
    for history in growing(messages):
        session.record(*history[recorded:])
        recorded = len(history)
        try:
            view = session.prepare()
        except BudgetTooSmall:
            view = session.view()
        yield Request(history, view, session.status().warnings)


def _fit(dialect: Dialect, messages: Messages, asked: Ask, folder: Path) -> Iterator[Request]:
    session = _session(asked, folder)
    for history in growing(messages):
        yield Request(history, session.fit(history), session.status().warnings)


def _afit(dialect: Dialect, messages: Messages, asked: Ask, folder: Path) -> Iterator[Request]:
    session = _session(asked, folder)
    for history in growing(messages):
        view = asyncio.run(session.afit(history))
        yield Request(history, view, session.status().warnings)


def _reopened(dialect: Dialect, messages: Messages, asked: Ask, folder: Path) -> Iterator[Request]:
    """`fit` in a new process for each request."""
    for history in growing(messages):
        session = _session(asked, folder)
        yield Request(history, session.fit(history), session.status().warnings)


def _in_memory(dialect: Dialect, messages: Messages, asked: Ask, folder: Path) -> Iterator[Request]:
    (folder / "file").write_text("no folder can be here")
    session = _session(asked, folder / "file")
    for history in growing(messages):
        yield Request(history, session.fit(history), session.status().warnings)


def _recovered(dialect: Dialect, messages: Messages, asked: Ask, folder: Path) -> Iterator[Request]:
    session = _session(asked, folder)
    for history in growing(messages):
        view = session.fit(history)
        again = session.recover("prompt is too long: 300000 tokens > 200000 maximum")
        yield Request(history, view if again is None else again, session.status().warnings)


def _undone(dialect: Dialect, messages: Messages, asked: Ask, folder: Path) -> Iterator[Request]:
    session = _session(asked, folder)
    if messages:
        session.record(*messages)
    try:
        result = session.compress(target_tokens=asked.target(messages))
    except BudgetTooSmall:
        result = None
    told = [*session.status().warnings, *(result.repairs if result else ())]
    yield Request(messages, session.view(), told)
    if result and result.changed:
        yield Request(messages, session.undo(), session.status().warnings)


def _tool(dialect: Dialect, messages: Messages, asked: Ask, folder: Path) -> Iterator[Request]:
    """The tool `context_compress`, given all messages."""

    async def called() -> Any:
        async with connected(workspace_in(folder)) as client:
            target = asked.target(messages)
            call = partial(
                ask, client, "context_compress", messages=messages, settings=asked.settings
            )
            answer = await call(target_tokens=target)
            return await call() if answer.failed else answer

    answer = asyncio.run(called())
    if not answer.failed:
        yield Request(messages, answer.facts.get("messages", messages), [answer.text])


def _command(dialect: Dialect, messages: Messages, asked: Ask, folder: Path) -> Iterator[Request]:
    """The command `compress`, given a file."""
    given, out = folder / "chat.json", folder / "small.json"
    given.write_text(json.dumps(messages))
    settings = [f"--set={name}={value}" for name, value in asked.settings.items()]
    command = ["compress", str(given), "--output", str(out), *settings]
    environ = {
        "CONTEXT_COMPRESSION_DIR": str(folder / "store"), "HOME": str(folder), "USERPROFILE": ""
    }  # fmt: skip
    runner = CliRunner(env=environ)
    done = runner.invoke(main, [*command, "--target-tokens", str(asked.target(messages))])
    if done.exit_code and "--target-tokens" in command:
        done = runner.invoke(main, command)
    if out.exists():
        yield Request(messages, json.loads(out.read_text()), [done.output])


def _hooks(dialect: Dialect, messages: Messages, asked: Ask, folder: Path) -> Iterator[Request]:
    """The hooks of hosts that let us replace a request; each event is a process of its own."""
    for history in growing(messages):
        session = _session(asked, folder)
        view = view_to_send(session, history)
        yield Request(history, history if view is None else view, session.status().warnings)


def _adapter(
    translation: Callable[[Sequence[Any]], Translation[Any]],
    dialect: Dialect,
    messages: Messages,
    asked: Ask,
    folder: Path,
) -> Iterator[Request]:
    """The messages of a framework, made of ours, as far as it has such messages."""
    given = [*_made(translation(()), messages)]
    session = _session(asked, folder)
    for so_far in growing([translation(given).read(each) or {} for each in given]):
        history = given[: len(so_far)]
        translated = translation(history)
        view = fit(session, history, translated)
        read: list[Any] = [[*map(translated.read, each)] for each in (history, view)]
        if all(message is not None for each in read for message in each):
            given_to_us, sent = read
            yield Request(given_to_us, sent, session.status().warnings)


def _made(translation: Translation[Any], messages: Messages) -> Iterator[Any]:
    for message in messages:
        try:
            made = translation.write(message)
            if translation.read(made) is not None:
                yield made
        except (KeyError, TypeError, ValueError, AttributeError):
            continue  # the framework has no such message


def _of_langchain(history: Sequence[Any]) -> Translation[Any]:
    from context_compression.integrations.langchain_messages import translation

    return translation(history)


def _of_pydantic_ai(history: Sequence[Any]) -> Translation[Any]:
    from context_compression.integrations.pydantic_ai_messages import History

    read = History(history)
    return Translation(read.read, read.write)


def _of_google_adk(history: Sequence[Any]) -> Translation[Any]:
    from context_compression.integrations.google_adk import CONTENTS

    return CONTENTS


_ALL = (
    Door("compress", _compress),
    Door("compress with a store", _with_store),
    Door("prepare", _prepare, grows=True),
    Door("fit", _fit, grows=True),
    Door("afit", _afit, grows=True, is_slow=True),
    Door("fit, reopened", _reopened, grows=True),
    Door("fit in memory", _in_memory, grows=True),
    Door("recover", _recovered, grows=True),
    Door("undo", _undone),
    Door("context_compress", _tool, is_slow=True, makes_own=True),
    Door("command", _command, is_slow=True, makes_own=True),
    Door("hooks", _hooks, grows=True, tells=False),
)
_ADAPTERS: Sequence[tuple[str, Any, Dialect]] = (
    ("langchain_core", _of_langchain, "vercel"),
    ("pydantic_ai", _of_pydantic_ai, "anthropic"),
    ("google.adk", _of_google_adk, "gemini"),
)


def _is_there(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False


DOORS: Mapping[str, Door] = {
    door.name: door
    for door in (
        *_ALL,
        *(
            Door(
                f"adapter of {package}", partial(_adapter, of), grows=True, dialects=(dialect,),
                is_slow=True, makes_own=True,
            )
            for package, of, dialect in _ADAPTERS
            if _is_there(package)
        ),
    )
}  # fmt: skip
"""All doors that can be opened here, by name."""
