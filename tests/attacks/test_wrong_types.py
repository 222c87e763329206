"""Whoever edits a store by hand, or has a disk that fails, may leave any value in any place.

Every JSON value of a real store is replaced by values of other types, one at a time, and all that
is done with a store is done with that one: it works, or is refused in words of ours.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import context_compression
from context_compression import Session
from context_compression.cli import status as pages
from context_compression.cli.page import Page
from context_compression.conversation import is_array, is_object, ref_of
from context_compression.errors import ContextCompressionError
from context_compression.hosts import INSTALLABLE, Host, Machine, Server, examine, read
from context_compression.hosts.claude_code.install_plugin import FOLDER, MARKET, PLUGIN
from context_compression.hosts.setup import installing
from context_compression.mcp_server.tools.summary import page as page_of_summaries
from context_compression.report.facts import status_facts
from context_compression.session import SummaryAssignment
from context_compression.settings import Settings
from context_compression.store import Store
from context_compression.testing import ScriptedSummarizer
from context_compression.workspace import Opened, Workspace

pytestmark = pytest.mark.slow

RECORDING = Path(context_compression.__file__).parent / "cli" / "conversation.jsonl"
ID = "recording"
TEXT = "a long text that belongs to nobody"
ANSWER = "## Goal\nMend the parser in src/reader.py.\n"
OTHERS: tuple[Any, ...] = (None, True, -1, float("inf"), "no such thing", [None], {"a": []})
"""One of each type that JSON has."""
ALL_PLACES = os.environ.get("CONTEXT_COMPRESSION_LAWS") == "long"
FILES = ("config.json", "summaries.json", "ledger.jsonl", "compact-*.json", "events.jsonl")

Place = tuple[str | int, ...]


def recorded() -> list[dict[str, Any]]:
    """The beginning of a recording: a call of a tool and its result, cut; and what was said."""
    asked, called, answered = (dict(message) for message in read(RECORDING).messages[:3])
    called["content"] = called["content"][:2]
    answered["content"] = [{**answered["content"][0], "content": "src/reader.py:7: error\n" * 30}]
    said = {"role": "assistant", "content": "I have read it. " * 60}
    return [asked, called, answered, said, {"role": "user", "content": "Go on, please."}]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which all was done that leaves something behind; a plan waits for its summary."""
    folder = tmp_path_factory.mktemp("sound") / ".compression"
    store = Store(folder)
    store.update_config(
        lambda _: {"keep_recent": 5, "important_keywords": ["wichtig"], "strategy": "auto"}
    )
    session = Session(store, ID, summarizer=ScriptedSummarizer(ANSWER))
    origin = {"host": "claude-code", "model": "claude-opus-4-5", "window": 200_000}
    session.origin = lambda: {**origin, "beside": 0}
    session.follow(recorded())
    session.compress(strategy="extract", target_tokens=400)
    session.undo()
    assert session.compress(strategy="summarize", target_tokens=400).changed
    session.offload(TEXT)
    session.restore(ref_of(TEXT))
    for role in ("assistant", "user"):
        session.record({"role": role, "content": "So it went on. " * 120})
    asked = session.ask(strategy="summarize", target_tokens=700, focus="the parser", pins=[-1])
    assert isinstance(asked, SummaryAssignment)
    return folder


def deeds(store: Store, changed: str) -> Iterator[Callable[[], object]]:
    """All that is done with a store and depends on the file that was changed; writing comes last.

    The printed pages are made, too.
    """

    def session() -> Session:
        return Session(store, ID, settings=Settings.layered(store.read_config()))

    def restore() -> None:
        for ref in session().state().refs:
            store.locate(ref)
            session().restore(ref, note=False)

    def answer() -> None:
        for plan in session().state().plans:
            session().answer(plan, ANSWER)

    yield store.verify
    if changed in ("summaries.json", "ledger.jsonl"):
        yield lambda: pages.summaries_page(store.summaries())
        yield lambda: page_of_summaries(store.summaries(), 5)
    if changed in ("events.jsonl", "compact-*.json"):
        yield restore
        yield lambda: store.search("reader", session=ID)
        yield lambda: [*session().archived()]
    if changed in ("events.jsonl", "config.json"):
        workspace = Workspace.here(environ={}, store=str(store.folder))

        def status() -> Page:
            full = session().status()
            facts = status_facts(
                workspace, Opened(session()), full, detailed=True, next_call="compress"
            )
            return pages.status_page(facts, full)

        yield status
        yield lambda: pages.sessions_page(store.name, pages.recorded(store, store.sessions()))
    yield answer
    yield lambda: session().compress(target_tokens=300, force=True)
    yield lambda: session().undo()


def places(value: Any, at: Place = ()) -> Iterator[Place]:
    """Every place in a JSON value, the whole of it first."""
    yield at
    parts = value.items() if is_object(value) else enumerate(value) if is_array(value) else ()
    for name, part in parts:
        yield from places(part, (*at, name))


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def replaced(value: Any, at: Place, other: Any) -> Any:
    """The same value with another one in a place."""
    if not at:
        return other
    first, rest = at[0], at[1:]
    parts: Any = value.items() if is_object(value) else enumerate(value)
    pairs = [(key, replaced(part, rest, other) if key == first else part) for key, part in parts]
    return dict(pairs) if is_object(value) else [part for _, part in pairs]


def changed(path: Path) -> Iterator[tuple[str, bytes]]:
    """The file once for every place in it and every other type: what was done, and its content."""
    text = path.read_text(encoding="utf-8")
    rows: Sequence[Any] = [
        *map(json.loads, text.splitlines() if path.suffix == ".jsonl" else [text])
    ]
    rows = [  # as an older version wrote them
        {key: part for key, part in row.items() if key != "crc32"} if is_object(row) else row
        for row in rows
    ]
    for number, at in tried(rows):
        there = row = rows[number]
        for name in at:
            there = there[name]
        for other in OTHERS:
            same = type(other) is type(there) and other != {"a": []}
            if not same and (is_number(there) or other != float("inf")):
                lines = [*rows[:number], replaced(row, at, other), *rows[number + 1 :]]
                content = "".join(f"{json.dumps(line)}\n" for line in lines)
                yield f"line {number + 1}, {at}: {other}", content.encode()


def tried(rows: Sequence[Any]) -> Sequence[tuple[int, Place]]:
    """The places that are changed: a line and a place in it.

    Of those that are called the same, as the texts of many messages, a short run takes the last.
    """
    found = [(number, at) for number, row in enumerate(rows) for at in places(row)]
    called: dict[Any, list[tuple[int, Place]]] = {}
    for number, at in found:
        row, names = rows[number], [name for name in at if isinstance(name, str)]
        kind = row.get("type") if is_object(row) else None
        called.setdefault((kind, len(at), *names), []).append((number, at))
    if ALL_PLACES:
        return found
    return [same[-1] for same in called.values()]


def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody cuts the power here, and waiting for disks takes long."""

    def fsync(_: int) -> None:
        return

    monkeypatch.setattr(os, "fsync", fsync)


@pytest.mark.parametrize("name", FILES)
def test_a_wrong_type_in_any_place_of_a_store_is_borne_or_refused_in_our_words(
    sound: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
):
    in_a_hurry(monkeypatch)
    folder = tmp_path / ".compression"
    crashes: list[str] = []

    for file in sorted(sound.rglob(name)):
        for what, content in changed(file):
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(sound, folder)
            (folder / file.relative_to(sound)).write_bytes(content)
            for number, deed in enumerate(deeds(Store(folder), name)):
                try:
                    deed()
                except ContextCompressionError:
                    pass
                except Exception as error:
                    crashes.append(f"{what}; deed {number}: {error!r}")

    assert crashes == []


NOT_THERE = Server("/gone/context-compression")
PLUGGED_IN = {
    "enabledPlugins": {PLUGIN: True},
    "extraKnownMarketplaces": {MARKET: {"source": {"source": "directory", "path": str(FOLDER)}}},
    "pluginConfigs": {PLUGIN: {"options": {"command": "/gone"}}},
    "enabledMcpjsonServers": ["context-compression"],
    "disableAllHooks": False,
}
GEMINIS = {
    "security": {"folderTrust": {"enabled": True}},
    "hooksConfig": {"enabled": True},
    "mcp": {"allowed": ["context-compression"], "excluded": []},
}
BESIDE: dict[str, dict[str, Any]] = {
    "claude-code": {".claude/settings.json": PLUGGED_IN},
    "gemini-cli": {".gemini/settings.json": GEMINIS, ".gemini/trustedFolders.json": {"/": "x"}},
}


@pytest.mark.parametrize("host", INSTALLABLE, ids=lambda host: host.name)
def test_a_wrong_type_in_any_place_of_a_hosts_files_is_borne_or_refused_in_our_words(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_a_hurry(monkeypatch)
    home = tmp_path / "home"
    (home / "project").mkdir(parents=True)
    machine = Machine("linux", {"PATH": "/nowhere"}, home, home / "project")
    for name, said in BESIDE.get(host.name, {}).items():
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).write_text(json.dumps(said), encoding="utf-8")
    additions = [host.server_entry(machine, NOT_THERE), *host.hook_additions(machine, NOT_THERE)]
    installing.install(additions, home)
    crashes: list[str] = []

    def try_all(what: str) -> None:
        for deed in (
            lambda: examine(host, machine, NOT_THERE),
            lambda: installing.install(additions, home, dry_run=True),
            lambda: installing.uninstall(additions, home, dry_run=True),
        ):
            try:
                deed()
            except ContextCompressionError:
                pass
            except Exception as error:
                crashes.append(f"{what}: {error!r}")

    for file in sorted(home.rglob("*.json")):
        before = file.read_bytes()
        for what, content in changed(file):
            file.write_bytes(content)
            try_all(f"{file.name} {what}")
        file.write_bytes(before)

    assert crashes == []
