"""`compress` with a store, before each request: it goes on from what it returned last."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from provider import refused
from written import SMALL, begin, broken_prefixes, build, built

from context_compression import Result, Session, Store, acompress, compress, count_tokens
from context_compression.testing import Run, ScriptedSummarizer, tool_step

WINDOW = 60_000


def kept_in(folder: Path) -> Session:
    store = Store(folder)
    [id] = store.sessions()
    return Session(store, id, settings=SMALL)


def test_the_prompt_prefix_stays_as_with_fit(tmp_path: Path):
    twin = Session(tmp_path / "twin", "s", settings={"token_budget": WINDOW})
    history, requests, others = begin(), list[list[Any]](), list[list[Any]]()
    for number in range(50):
        history += build(number, 120)
        result = compress(history, settings={"token_budget": WINDOW}, store=tmp_path / "store")
        requests.append(result.messages)
        others.append(twin.fit(history))

    assert broken_prefixes(requests) == broken_prefixes(others) <= 2
    assert [*map(len, requests)] == [*map(len, others)]
    assert max(map(count_tokens, requests)) < WINDOW


def test_the_result_says_what_is_true_of_the_whole_conversation(tmp_path: Path):
    history, result = begin(), compress([])
    for number in range(14):
        history += build(number)
        result = compress(history, settings=SMALL, store=tmp_path)
        session = kept_in(tmp_path)

        assert result.messages_in == len(history)
        assert result.tokens_before == count_tokens(history)
        assert result.tokens_after == count_tokens(result.messages)
        assert result.changed == (result.messages != history)
        assert (result.strategy != "none") == result.changed
        same = {id(message) for message in result.messages}
        gone = [i for i, message in enumerate(history) if id(message) not in same]
        assert list(result.compressed) == gone
        assert {*result.dropped} <= {*gone}
        assert refused(result.messages, "openai") == []
        assert dict(result.originals) == {ref: session.original(ref) for ref in result.refs}
        notes = json.dumps([m for m in result.messages if m not in history])
        assert all(ref in result.refs for ref in session.state().refs if ref in notes)
        if result.changed:
            assert result.loss["paths"].lost == 0
            assert "Message" in str(result.explain(gone[0]))
            assert result.first_changed == gone[0]
    assert result.changed


def test_the_same_call_again_changes_nothing(tmp_path: Path):
    first = compress(built(12), settings=SMALL, store=tmp_path)

    again = compress(built(12), settings=SMALL, store=tmp_path)

    assert again.messages == first.messages
    assert again.repeated
    assert again.refs == first.refs
    assert kept_in(tmp_path).status().compressions == 1


@pytest.mark.anyio
async def test_both_functions_and_every_way_to_name_the_store_go_on(tmp_path: Path):
    store = Store(tmp_path)
    history, requests = begin(), list[Result]()
    for number in range(12):
        history += build(number)
        place = (tmp_path, str(tmp_path), store, Store(tmp_path))[number % 4]
        call: dict[str, Any] = {"settings": SMALL, "store": place}
        done = await acompress(history, **call) if number % 2 else compress(history, **call)
        requests.append(done)

    assert broken_prefixes([result.messages for result in requests]) == len(
        kept_in(tmp_path).state().compressions
    )
    session = kept_in(tmp_path)
    assert compress(history, store=session).messages == requests[-1].messages


def test_another_process_goes_on_too(tmp_path: Path):
    history = built(12)
    first = compress(history, settings=SMALL, store=tmp_path)
    history += build(12)
    code = (
        "import json, sys\n"
        "from context_compression import compress\n"
        "history, settings, store = json.load(sys.stdin)\n"
        "print(json.dumps(compress(history, settings=settings, store=store).messages))"
    )
    given = json.dumps([history, SMALL.model_dump(), str(tmp_path)])

    done = subprocess.run(
        [sys.executable, "-c", code], input=given, capture_output=True, text=True, check=True
    )

    view = json.loads(done.stdout)
    assert view[: len(first.messages)] == first.messages
    assert compress(history, settings=SMALL, store=tmp_path).messages == view


def test_a_target_is_met_and_then_gone_on_from(tmp_path: Path):
    history = built(6)

    small = compress(history, target_tokens=600, settings=SMALL, store=tmp_path)
    history += build(6, 3)
    after = compress(history, settings=SMALL, store=tmp_path)
    smaller = compress(history, target_tokens=500, settings=SMALL, store=tmp_path)

    assert small.tokens_after <= 600
    assert after.messages[: len(small.messages)] == small.messages
    assert after.messages[-1] is history[-1]
    assert smaller.tokens_after <= 500


def test_a_broken_history_is_repaired_and_its_prefix_stays(tmp_path: Path):
    history, requests = [*begin(), build(99)[1]], list[list[Any]]()
    for number in range(12):
        history += build(number)
        result = compress(history, settings=SMALL, store=tmp_path)
        requests.append(result.messages)

        assert refused(result.messages, "openai") == []
        assert result.tokens_after == count_tokens(result.messages)

    assert broken_prefixes(requests) == len(kept_in(tmp_path).state().compressions)


def test_a_summary_in_the_system_prompt_is_returned_with_it(tmp_path: Path):
    writer = ScriptedSummarizer("## Goal\nFix the build.")
    settings = SMALL.changed({"summary_role": "system", "strategy": "summarize"})
    history: list[Any] = [{"role": "user", "content": "Fix the build."}]
    result = compress([])
    given: dict[str, Any] = {"system": "You build.", "settings": settings, "summarizer": writer}
    for number in range(14):
        history += tool_step([Run(f"c{number}", "logs", {}, f"line {number}\n" * 150)], "anthropic")
        result = compress(history, store=tmp_path, **given)

        counted = count_tokens(result.messages, system=result.system)
        assert result.tokens_after == counted

    assert "Fix the build." in str(result.system)
    assert str(result.system).startswith("You build.")


def test_a_store_that_is_named_by_its_path_keeps_its_session_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    opened: list[str] = []

    class Counted(Session):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            opened.append(arguments[1])
            super().__init__(*arguments, **options)

    monkeypatch.setattr("context_compression.session.continuing.Session", Counted)
    for number in range(4):
        compress(built(number), settings=SMALL, store=str(tmp_path))

    assert len(opened) == 1


def test_a_summarizer_is_that_of_its_call_alone(tmp_path: Path):
    store, writer = Store(tmp_path), ScriptedSummarizer()
    asks = SMALL.changed({"strategy": "summarize"})
    compress(built(1), settings=asks, store=store, summarizer=writer)

    compress(built(14), settings=asks, store=store)

    assert writer.requests == []
