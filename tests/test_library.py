"""`compress` and `acompress` with a store: the originals are on disk, whatever names the place."""

import ast
import asyncio
from collections.abc import Iterator
from inspect import iscoroutinefunction, signature
from pathlib import Path
from typing import Any

import pytest

import context_compression
from context_compression import Result, Session, Store, acompress, compress
from context_compression.hooks import session_of
from context_compression.hosts import Conversations
from context_compression.testing import conversation, summary_about
from context_compression.testing.messages_api import MessagesAPI
from context_compression.workspace import Workspace

pytestmark = pytest.mark.anyio


def mine(folder: Path) -> Session:
    return Session(folder, "mine")


@pytest.mark.parametrize("place", [str, Path, Store, mine])
async def test_with_a_store_the_originals_are_on_disk(place: Any, tmp_path: Path) -> None:
    messages = conversation(turns=8, seed=3)
    store = place(tmp_path / ".compression")

    result = compress(messages, target_tokens=2_000, store=store)

    assert result.changed
    kept = Store(tmp_path / ".compression")
    session = Session(kept, kept.sessions()[0])
    assert session.view() == result.messages
    assert all(session.original(ref) == whole for ref, whole in result.originals.items())
    again = await acompress(messages, target_tokens=2_000, store=store)
    assert again.messages == result.messages


def test_without_a_store_the_originals_are_in_the_result_alone() -> None:
    messages = conversation(turns=8, seed=3)

    result = compress(messages, target_tokens=2_000)

    assert result.originals
    assert "context_restore" not in str(result.messages)


async def test_auto_leaves_the_strategy_to_the_settings_as_nothing_does(tmp_path: Path) -> None:
    messages = conversation(turns=8, seed=3)
    session = Session(tmp_path, "mine", settings={"strategy": "truncate"})

    for place in ({"store": session}, {"settings": {"strategy": "truncate"}}):
        asked: dict[str, Any] = {"target_tokens": 2_000, "strategy": "auto", **place}
        assert compress(messages, **asked).strategy == "truncate"
        assert (await acompress(messages, **asked)).strategy == "truncate"


def test_an_empty_conversation_makes_no_folder(tmp_path: Path) -> None:
    result = compress([], store=tmp_path / ".compression", target_tokens=10)

    assert not result.changed
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("plain", "twin"),
    [
        (compress, acompress),
        (Session.compress, Session.acompress),
        (Session.compress_loop, Session.acompress_loop),
    ],
    ids=["library", "session", "loop"],
)
def test_the_twin_for_event_loops_takes_the_same_arguments(plain: Any, twin: Any) -> None:
    assert signature(twin) == signature(plain)
    assert iscoroutinefunction(twin)


async def test_an_unknown_argument_is_refused_by_both() -> None:
    with pytest.raises(TypeError, match="goal"):
        compress([], goal=1)  # pyright: ignore[reportCallIssue]  # that is the test
    with pytest.raises(TypeError, match="goal"):
        await acompress([], goal=1)  # pyright: ignore[reportCallIssue]  # that is the test


BY_MODEL: dict[str, Any] = {"summary_model": "claude-haiku-4-5"}


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[MessagesAPI]:
    with MessagesAPI([summary_about("Ship the build.")]) as api:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "any")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", api.base_url)
        yield api


def by_session(messages: Any, target_tokens: int, tmp_path: Path, **options: Any) -> Result:
    session = Session(tmp_path / "session", "any", **options)
    session.record(*messages)
    return session.compress(target_tokens=target_tokens)


@pytest.mark.slow
@pytest.mark.parametrize("settings", [BY_MODEL, {"summarizer": "anthropic"}], ids=str)
def test_a_model_that_the_settings_name_writes_the_summary(
    settings: dict[str, Any], api: MessagesAPI, tmp_path: Path
) -> None:
    messages, model = conversation(30), "claude-haiku-4-5"

    results = [
        compress(messages, target_tokens=3_000, model=model, settings=settings),
        compress(
            messages, target_tokens=3_000, model=model, settings=settings, store=tmp_path / "s"
        ),
        by_session(messages, 3_000, tmp_path, model=model, settings=settings),
        asyncio.run(acompress(messages, target_tokens=3_000, model=model, settings=settings)),
    ]

    for result in results:
        assert result.strategy == "summarize"
        assert result.summary is not None
        assert result.summary.text.startswith("## Goal\nShip the build.")
    assert {request.body["model"] for request in api.requests} == {model}


def test_without_a_key_the_result_says_so_and_is_made_without_a_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)

    result = compress(conversation(30), target_tokens=3_000, settings=BY_MODEL)

    assert (result.strategy, result.target_met) == ("extract", True)
    assert result.notes[0] == (
        "no summary: No key for the summary's model: set ANTHROPIC_API_KEY, or hand in a client."
    )


def test_no_model_is_asked_that_is_not_named_or_that_the_caller_rules_out(
    api: MessagesAPI, tmp_path: Path
) -> None:
    messages = conversation(30)

    compress(messages, target_tokens=3_000)
    compress(messages, target_tokens=3_000, settings=BY_MODEL, summarizer=None)
    compress(messages, target_tokens=3_000, settings={**BY_MODEL, "summarizer": "none"})
    by_session(messages, 3_000, tmp_path, settings=BY_MODEL, summarizer=None)

    assert api.requests == []


def test_a_model_in_the_file_of_a_project_is_asked_at_no_door(
    api: MessagesAPI, tmp_path: Path
) -> None:
    store = Store.of_user(tmp_path / ".compression", tmp_path)
    store.update_config(lambda _: BY_MODEL)
    environ = {"ANTHROPIC_API_KEY": "any", "ANTHROPIC_BASE_URL": api.base_url}
    here = Workspace.here(environ=environ, cwd=tmp_path, home=tmp_path)
    assert here.settings().summary_model == BY_MODEL["summary_model"]
    messages, doors = conversation(30), Conversations(here)

    session = doors.session_for(messages)
    session.compress(messages=messages, target_tokens=3_000)
    doors.open(session.id).session.compress(target_tokens=1_500)
    session_of(here, {"session_id": "hooked"}, "claude-code").compress(
        messages=messages, target_tokens=3_000
    )

    assert api.requests == []


def test_no_door_leaves_a_session_to_ask_what_its_settings_name() -> None:
    """They come from files, too: a door says itself who writes a summary."""
    above = ("cli", "doors", "hooks", "hosts", "mcp_server", "workspace")
    package = Path(context_compression.__file__).parent
    calls = [
        (path, call)
        for room in above
        for path in (package / room).rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "Session"
    ]
    passed = [(path, {each.arg for each in call.keywords}) for path, call in calls]

    assert len(passed) > 10
    assert [
        path for path, names in passed if "settings" in names and "summarizer" not in names
    ] == []


def test_a_result_prints_its_sizes_and_no_message() -> None:
    messages = conversation(turns=12)

    result = compress(messages, target_tokens=4_000)

    sizes = (
        f"{result.tokens_before:,} -> {result.tokens_after:,} tokens, strategy {result.strategy}"
    )
    refs = f"{len(result.refs)} refs"
    assert repr(result) == f"<Result: 66 -> {len(result.messages)} messages, {sizes}, {refs}>"
    assert len(result.refs) > 1
    assert repr(compress([])) == "<Result: 0 -> 0 messages, 0 -> 0 tokens, strategy none>"


def test_a_missed_target_is_in_what_a_result_prints() -> None:
    messages = [{"role": "user", "content": "Keep every word. " * 400}]

    result = compress(messages, target_tokens=20, strategy="extract")

    assert repr(result).endswith(", strategy none, target of 20 missed>")
    assert "Keep every word" not in repr(result)
