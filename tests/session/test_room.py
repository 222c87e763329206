"""What one request gave up comes back, and what exceeds the window or the store is told."""

import asyncio
import copy
import logging
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_compression import Session, compress, count_tokens, restore_tool
from context_compression.testing import ScriptedSummarizer

RULE = "Never restart the billing gateway."
WINDOW = 12_000


def words(tokens: int) -> str:
    return " ".join(f"part{n % 97}" for n in range(tokens // 2))


def history(steps: int, rule: str = RULE) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": f"Find why the export is slow. {rule}"}
    ]
    for n in range(steps):
        log = "\n".join(f"{n}:{line} shard id={line * 7919} took {line} ms" for line in range(60))
        call = {"name": "look", "arguments": f'{{"n": {n}}}'}
        messages += [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"c{n}", "type": "function", "function": call}],
            },
            {"role": "tool", "tool_call_id": f"c{n}", "content": log},
        ]
    return messages


def said(view: Any) -> str:
    return "\n".join(str(message.get("content")) for message in view)


def test_what_one_request_gave_up_comes_back_with_the_next(tmp_path: Path) -> None:
    session = Session(tmp_path, "s", settings={"token_budget": WINDOW})
    before = session.fit(history(5), system="Be careful.")

    squeezed = session.fit(history(6), system=words(10_000))
    after = session.fit(history(6), system="Be careful.")

    assert count_tokens(squeezed) < count_tokens(before) / 2 < count_tokens(after)
    assert RULE in said(squeezed)
    assert RULE in said(after)
    assert after[: len(before)] == before


def test_what_left_for_a_large_result_comes_back_once_the_model_has_read_it(tmp_path: Path) -> None:
    session = Session(tmp_path, "s", settings={"token_budget": WINDOW})
    asked, large, found = history(4), words(8_150), "src/net.c:41: error: expected ';'"
    asked[2] |= {"content": f"{asked[2]['content']}\n{found}"}
    asked[-1] |= {"content": large}

    crowded = session.fit(asked)
    again = session.fit(asked)
    answered = session.fit([*asked, {"role": "assistant", "content": "No."}, *history(1)])

    assert crowded[-1]["content"] == again[-1]["content"] == large
    assert found not in said(crowded)
    assert found in said(answered)
    assert large not in said(answered)
    assert RULE in said(crowded)


def test_prepare_brings_it_back_too(tmp_path: Path) -> None:
    session = Session(tmp_path, "s", settings={"token_budget": WINDOW}, system="Be careful.")
    session.record(*history(5))
    before = session.prepare()

    session.system = words(10_000)
    squeezed = asyncio.run(session.aprepare())
    session.system = "Be careful."

    assert count_tokens(squeezed) < count_tokens(before) / 2
    assert session.prepare() == before


def test_after_a_smaller_model_and_back_the_originals_are_there_again(tmp_path: Path) -> None:
    small = Session(tmp_path, "s", settings={"token_budget": 4_000})
    assert count_tokens(small.fit(history(8))) < 3_500

    large = Session(tmp_path, "s", settings={"token_budget": 100_000})

    assert large.fit(history(8)) == history(8)


def test_a_compression_that_was_asked_for_does_not_come_back(tmp_path: Path) -> None:
    session = Session(tmp_path, "s", settings={"token_budget": 4_000})
    session.fit(history(8))
    asked = session.compress(target_tokens=1_200).messages

    large = Session(tmp_path, "s", settings={"token_budget": 100_000})
    large.fit(asked)

    assert large.view() == asked


@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from((10, 3_000, 9_000, 11_500, 20_000)), min_size=1, max_size=6))
def test_rules_stay_while_the_room_shrinks_and_grows(tmp_path_factory: Any, beside: list[int]):
    session = Session(tmp_path_factory.mktemp("s"), "s", settings={"token_budget": WINDOW})
    views: list[Any] = []
    for n, tokens in enumerate([*beside, 10]):
        views.append(session.fit(history(2 + n), system=words(tokens)))
        assert len(views[-1]) > 1
        assert RULE in said(views[-1])

    assert count_tokens(views[-1]) >= min(1_500, count_tokens(history(2 + len(beside))) // 2)


def test_what_exceeds_the_window_is_told_with_by_how_much(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    session = Session(tmp_path, "s", settings={"token_budget": WINDOW})
    with caplog.at_level(logging.WARNING):
        session.fit(history(2), system=words(20_000))

    [warning] = session.status().warnings
    assert "more than the window of 12,000" in warning
    assert warning in caplog.text

    session.fit(history(2), system="Be careful.")
    assert session.status().warnings == []


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
def test_a_target_usage_that_was_set_is_what_a_compression_leaves(
    tmp_path: Path, share: float
) -> None:
    session = Session(tmp_path, "s", settings={"token_budget": WINDOW, "target_usage": share})
    tools: list[Any] = [
        {"type": "function", "function": {"name": "context_restore", "parameters": {}}}
    ]
    sizes = [count_tokens(session.fit(history(n), tools=tools)) for n in range(2, 40)]

    left = [int(c["tokens_after"]) for c in session.state().compressions]
    assert left
    assert max(sizes) < WINDOW
    assert all(0.75 * share * WINDOW < tokens <= share * WINDOW for tokens in left)


def test_refs_of_a_store_that_cannot_be_written_come_back_while_the_session_lives() -> None:
    session = Session("/proc/nowhere", "s", settings={"token_budget": 4_000})
    view = session.fit(history(8))
    tool = restore_tool(session)

    originals = session.in_memory
    named = [ref for ref in originals if f"ref {ref}" in said(view)]

    assert named
    for ref in named:
        whole = session.restore(ref[:6])
        assert whole == originals[ref] or isinstance(originals[ref], (dict, list))
        assert whole[:40] in tool.answer({"ref": ref}) or isinstance(originals[ref], (dict, list))


def test_a_result_is_plain_data(tmp_path: Path) -> None:
    given_ = history(8)
    session = Session(tmp_path, "s")
    session.record(*given_)
    summary = ScriptedSummarizer("## Goal\nFind why the export is slow.")
    results = [
        compress(given_, target_tokens=1_500),
        compress(given_, target_tokens=1_500, counter=lambda text: len(text) // 3),
        compress(given_, target_tokens=3_000, summarizer=summary),
        session.compress(target_tokens=1_500),
        compress(given_),
    ]
    for result in results:
        for again in (copy.deepcopy(result), copy.copy(result), pickle.loads(pickle.dumps(result))):
            assert again == result
            assert again.loss == result.loss
            assert again.user_sentences == result.user_sentences
            assert again.explain(3) == result.explain(3)
            assert again.most_telling(100) == result.most_telling(100)
