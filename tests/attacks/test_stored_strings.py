"""Strings of a store that somebody else wrote: at no door do they speak as we do."""

import os
import shutil
import subprocess
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from click.testing import CliRunner
from hostile_stores import (
    HOSTILE,
    MARK,
    Place,
    faults,
    forge,
    forged_offloads,
    hear_all,
    made_in,
    marked,
    places,
    record_all,
)
from mcp_door import ask, connected, workspace_in

from context_compression import Session
from context_compression.cli import main
from context_compression.errors import StoreError
from context_compression.store import Store
from context_compression.workspace import Workspace

pytestmark = pytest.mark.slow

SESSIONS = ("summarized", "windowed", "gone", "planned", "offloaded")
ALL_PLACES = os.environ.get("CONTEXT_COMPRESSION_LAWS") == "long"
"""Each place of a store costs half a second; a short run takes every eighth."""
STRATEGIES = ("offload", "truncate", "window", "extract", "summarize")
STRUCTURE = ("type", "role", "file", "originals", "sha256", "id", "tool_use_id", "kind", "session")
"""By these it is decided how the rest is read: forged all together, nothing would be."""


@pytest.fixture(scope="session")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A store that nobody forged."""
    return made_in(tmp_path_factory.mktemp("pristine"))


@pytest.fixture
def workspace(pristine: Workspace, tmp_path: Path) -> Workspace:
    """A workspace with a copy of that store."""
    return copy_of(pristine, tmp_path)


def copy_of(pristine: Workspace, folder: Path) -> Workspace:
    workspace = workspace_in(folder, pristine.environ)
    shutil.copytree(pristine.store.folder, workspace.store.folder)
    return workspace


def calls(store: Store, sessions: Sequence[str], refs: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls of tools that tell of a store, with up to twice so many refs of each session."""
    yield "context_config", {}
    yield "context_config", {"keep_recent": 3}
    yield "context_summary", {"limit": 50}
    yield "context_restore", {"ref": "no ref"}
    yield "context_restore", {"query": MARK}
    yield "context_restore", {"pattern": "."}
    for session in sessions:
        yield "context_status", {"conversation": session, "response_format": "detailed"}
        small = {"conversation": session, "dry_run": True, "target_tokens": 900}
        yield "context_compress", small
        yield "context_compress", {**small, "target_tokens": 1}
        if refs > 1:
            yield "context_summary", {"conversation": session}
            yield "context_restore", {"query": "src", "conversation": session}
            yield "context_compress", {**small, "strategy": "window", "settings": {"max_turns": 2}}
        yield "context_compress", {"conversation": session, "undo": True}
        try:
            state = Session(store, session).state()
        except StoreError:  # the calls above say so
            continue
        archived = [*state.refs]
        for ref in (*archived[:refs], *archived[-refs:]):
            yield "context_restore", {"ref": ref}
            yield "context_restore", {"ref": ref[:5], "lines": "1-3"}
        for plan in state.plans:
            written = {"plan_id": plan, "summary": "## Goal\nThe login works."}
            yield "context_compress", written
            yield "context_compress", {**written, "conversation": session}
    yield "context_compress", {"conversation": sessions[-1], "strategy": "summarize"}


async def attack(
    workspace: Workspace, sessions: Sequence[str] = SESSIONS, refs: int = 3
) -> tuple[Counter[str], list[str]]:
    """What all tools and hooks answered, in numbers, and what was wrong with it."""
    heard, wrong = Counter[str](), list[str]()
    async with connected(workspace) as client:
        for tool, arguments in calls(workspace.store, sessions, refs):
            answer = await ask(client, tool, **arguments)
            shown = {name: str(value)[:40] for name, value in arguments.items()}
            wrong += (f"{tool}({shown}): {fault}" for fault in faults(answer.text))
            said = answer.text.removeprefix(f"Error executing tool {tool}")
            heard["answers"] += 1
            heard["lines"] += marked(answer.text)
            heard["refusals"] += answer.failed
            heard[f"crashes of {tool}"] += answer.failed and said[:2] != ": "
    for name, text in hear_all(workspace, sessions):
        heard["lines"] += marked(text)
        wrong += (f"{name}: {fault}" for fault in faults(text))
    return +heard, wrong


@pytest.mark.parametrize("kind", HOSTILE)
def test_no_tool_and_no_hook_lets_a_store_speak_all_of_whose_strings_are_hostile(
    workspace: Workspace, kind: str
) -> None:
    forged = forge(workspace.store, HOSTILE[kind], lambda place: not _decides(place))
    forged_offloads(workspace.store)

    heard, wrong = anyio.run(attack, workspace)

    print(f"{kind}: {forged} strings forged; {dict(heard)}")
    assert not wrong, f"{len(wrong)} faults\n" + "\n".join(wrong[:40])
    assert forged > 100 and heard["lines"] > 20


def test_no_place_of_a_store_can_be_made_to_speak_alone(
    pristine: Workspace, tmp_path: Path
) -> None:
    heard, told, kinds = Counter[str](), list[str](), [*HOSTILE.values()]
    found = places(pristine.store)

    for number, place in [*enumerate(found)][:: 1 if ALL_PLACES else 8]:
        workspace = copy_of(pristine, tmp_path / str(number))
        forge(
            workspace.store,
            kinds[(number + number // 4) % len(kinds)],
            lambda at, place=place: at == place,
        )
        answers, wrong = anyio.run(attack, workspace, ("summarized", "gone", "planned"), 1)
        heard += answers
        told += (f"{place}: {fault}" for fault in wrong)
        shutil.rmtree(workspace.store.folder)

    print(f"of {len(found)} places, forged alone: {dict(heard)}")
    assert len(found) > 80
    assert not told, f"{len(told)} faults\n" + "\n".join(told[:40])


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_we_archived_of_a_hostile_conversation_ourselves_does_not_speak(
    tmp_path: Path, kind: str
) -> None:
    workspace = workspace_in(tmp_path)
    record_all(workspace.store, HOSTILE[kind])

    heard, wrong = anyio.run(attack, workspace, STRATEGIES)

    print(f"{kind}: {dict(heard)}")
    assert not wrong, f"{len(wrong)} faults\n" + "\n".join(wrong[:40])
    assert heard["lines"] > 20


@pytest.mark.parametrize("kind", HOSTILE)
def test_no_command_lets_a_store_speak(
    workspace: Workspace, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    record_all(workspace.store, HOSTILE[kind])
    forge(workspace.store, HOSTILE[kind], lambda place: not _decides(place))
    refs = forged_offloads(workspace.store)
    with suppress(OSError, ValueError):  # what is the name of no file here
        (workspace.store.folder / "sessions" / "gone" / f"compact-{HOSTILE[kind]}.json").touch()
    with suppress(OSError, ValueError):
        (workspace.store.folder / "sessions" / HOSTILE[kind]).mkdir()
    monkeypatch.chdir(workspace.cwd)
    heard, wrong = Counter[str](), list[str]()

    for command in commands(refs):
        done = CliRunner().invoke(main, command, env={"HOME": str(workspace.home)})
        for text in (done.stdout, done.stderr):
            heard["lines"] += marked(text)
            wrong += (f"{' '.join(command)[:80]}: {fault}" for fault in faults(text))
        crashed = done.exception and not isinstance(done.exception, SystemExit)
        heard |= {"commands": heard["commands"] + 1}
        heard[f"crashes of {command[0]}"] += bool(crashed)

    print(f"{kind}: {dict(+heard)}")
    assert not wrong, f"{len(wrong)} faults\n" + "\n".join(wrong[:40])
    assert heard["lines"] > 20


def commands(refs: Iterable[str]) -> Iterator[list[str]]:
    """What can be asked for on the command line that tells of a store."""
    yield ["status"]
    yield ["config"]
    yield ["config", "keep_recent=4"]
    yield ["summaries", "--limit", "50"]
    yield ["summaries", "--session", "windowed"]
    yield ["restore", "--query", MARK]
    yield ["restore", "--query", "src", "--limit", "60"]
    yield ["restore", "--pattern", "."]
    yield ["restore", "0000"]
    yield ["doctor"]
    for session in (*SESSIONS, *STRATEGIES):
        yield ["status", session]
        yield ["compress", session, "--dry-run", "--target-tokens", "900"]
        yield ["compress", session, "--target-tokens", "900", "--output", "view.json"]
        yield ["compress", session, "--undo", "--output", "view.json"]
        yield ["export", session, "--host", "pi"]
    for ref in refs:
        yield ["restore", ref, "--pattern", "no such line"]


def test_a_pipe_gets_the_exact_bytes_and_a_terminal_none_that_move_it(workspace: Workspace) -> None:
    for ref, text in forged_offloads(workspace.store).items():
        exact = text.encode("utf-8", "surrogatepass")
        command = [sys.executable, "-m", "context_compression", "restore", ref]
        environ = {**os.environ, "HOME": str(workspace.home)}

        piped = subprocess.run(command, cwd=workspace.cwd, env=environ, capture_output=True)
        shown = on_a_terminal(command, workspace.cwd, environ)

        assert piped.stdout == exact
        assert MARK in shown
        seen = {sign for sign in shown if unicodedata.category(sign) in ("Cc", "Cf", "Zl", "Zp")}
        assert seen <= {"\n", "\t"}


def on_a_terminal(command: Sequence[str], cwd: Path, environ: dict[str, str]) -> str:
    """What a command shows on a terminal; the `\\r` before each `\\n` is the terminal's own."""
    ours, its = os.openpty()
    with subprocess.Popen(command, cwd=cwd, env=environ, stdout=its, stderr=its) as running:
        os.close(its)
        shown = b""
        with suppress(OSError):  # so Linux tells that nobody writes any more
            while read := os.read(ours, 65_536):
                shown += read
        running.wait()
    os.close(ours)
    return shown.decode().replace("\r\n", "\n")


def _decides(place: Place) -> bool:
    return place[-1] == "(key)" or place[-1] in STRUCTURE
