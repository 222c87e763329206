"""Each engine that keeps a store passes the same checks."""

import json
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import backend_contract
import pytest
import shared_backends
from backend_contract import CONTRACT, Check, name_of
from postgres import Server
from pytest import MonkeyPatch

from context_compression import Session, Store, compress, restore_tool
from context_compression.conversation import strings_in
from context_compression.settings import StrategyName
from context_compression.store import Backend, FileBackend, PostgresBackend
from context_compression.store.objects import objects_at
from context_compression.store.postgres import rows
from context_compression.store.sealing import Seal
from context_compression.testing import conversation

SMALL = {"token_budget": 6_000, "keep_recent_tokens": 500, "offload_min_tokens": 100}


class Elsewhere:
    """An engine that is no folder, and whose texts no agent can read."""

    name = "elsewhere://archive"
    folder = None

    def __init__(self, folder: Path) -> None:
        self._files = FileBackend(folder)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)


@pytest.mark.parametrize("check", CONTRACT, ids=name_of)
def test_files(check: Check, tmp_path: Path) -> None:
    check(lambda: FileBackend(tmp_path / ".compression"))


KINDS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "postgres": lambda _: {},
    "objects": lambda folder: {"objects": objects_at(str(folder))},
    "encrypted": lambda _: {"seal": Seal([b"k" * 32])},
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("check", CONTRACT, ids=name_of)
def test_a_database(
    check: Check, kind: str, postgres_server: Server, tmp_path: Path, monkeypatch: MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "LARGE", 20)
    tenant = f"t-{secrets.token_hex(8)}"
    check(lambda: PostgresBackend(postgres_server.url, tenant, **KINDS[kind](tmp_path)))


def test_the_contract_has_every_check() -> None:
    written = {
        name
        for module in (backend_contract, shared_backends)
        for name, value in vars(module).items()
        if getattr(value, "__module__", "") == module.__name__ and callable(value)
    }
    assert written == {check.__name__ for check in CONTRACT}


def test_a_store_without_a_folder_does_all_that_a_session_needs(tmp_path: Path) -> None:
    engine = cast("Backend", Elsewhere(tmp_path / "hidden"))
    store, messages = Store(engine), conversation(12)
    session = Session(store, "talk", settings=SMALL)

    view = session.fit(messages, tools=[restore_tool(session).anthropic])
    result = compress(messages, settings=SMALL, store=store)

    assert session.status().warnings == []
    assert result.changed
    shown = "\n".join(strings_in([view, result.messages]))
    assert "context_restore" in shown
    assert "hidden" not in shown
    assert "/offloaded/" not in shown
    ref = next(iter(session.state().refs))
    assert ref in restore_tool(session).answer({"ref": ref})
    assert store.locate(ref) is not None
    assert store.update_config(lambda values: {**values, "max_turns": 3}) == {"max_turns": 3}
    assert store.verify() == []
    assert store.size_of("talk") > 0
    assert "talk" in store.prunable(older_than=0).sessions
    store.delete("talk")
    assert "talk" not in store.sessions()


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["auto", "window", "offload", "truncate"])
def test_a_view_is_the_same_bytes_over_a_database_as_over_files(
    strategy: StrategyName, tmp_path: Path, postgres_server: Server
) -> None:
    tenant = f"t-{secrets.token_hex(8)}"
    files = Store(cast("Backend", Elsewhere(tmp_path / "hidden")))
    database = Store(PostgresBackend(postgres_server.url, tenant))
    for seed in range(3):
        messages = conversation(12, seed=seed)

        here, there = (
            compress(messages, settings=SMALL, strategy=strategy, store=store).messages
            for store in (files, database)
        )

        assert json.dumps(there) == json.dumps(here)
