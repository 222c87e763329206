"""The middleware runs in the real LangChain, LangGraph and deepagents, with a fake model."""

from pathlib import Path
from typing import Any

import pytest
from agent_runs import assert_kept, log
from frameworks import Framework

pytestmark = pytest.mark.slow

LANGCHAIN = Framework("langchain")


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the program of all kinds says."""
    return LANGCHAIN.run("langchain_kinds.py", folder=tmp_path_factory.mktemp("kinds"))


def test_an_agent_keeps_its_prompt_cache_over_100_steps_and_loses_nothing(tmp_path: Path):
    seen = LANGCHAIN.run("langchain_agent.py", "ours", folder=tmp_path)

    assert_kept(seen)
    assert log(0) in seen["answers"]["ref"]
    assert seen["whole"] == 98  # the state of the graph: all logs; two steps restored instead


def test_messages_that_were_not_edited_are_the_very_objects(facts: dict[str, Any]):
    kinds = facts["kinds"]

    assert kinds["state is whole"]
    assert {"a2", "t2", "h2"} <= {*kinds["shown"]}


def test_an_edited_message_keeps_what_it_carries_beside_its_text(facts: dict[str, Any]):
    kinds = facts["kinds"]

    assert "t1" in kinds["edited"]
    assert len(kinds["kept"]) > 10
    assert all(kinds["kept"])
    assert facts["a named user"] == ["alice", "[note]"]
    assert facts["a failed tool"]


def test_messages_of_an_unknown_kind_pass_and_each_kind_is_told_once(facts: dict[str, Any]):
    assert {"c1", "f1", "e1"} <= {*facts["kinds"]["shown"]}
    assert facts["kinds"]["warnings"] == 3


def test_what_is_sent_has_the_form_that_anthropic_accepts(facts: dict[str, Any]):
    assert not facts["kinds"]["signed"]  # it was bound to messages that were edited
    assert facts["anthropic"] == {"refused": [], "calls": 23, "results": 23}


@pytest.mark.parametrize(
    ("provider", "bound"),
    [
        ("anthropic", True), ("bedrock", True), ("gemini", True), ("openai", False),
        ("server tools", False), ("files", False),
    ],
)  # fmt: skip
def test_the_blocks_of_each_provider_stay_in_an_edited_message(
    facts: dict[str, Any], provider: str, bound: bool
):
    assert facts[f"blocks of {provider}"] == {"content": True, "rest": True, "bound": bound}


def test_blocks_that_lost_their_reasoning_do_not_name_it_any_more(facts: dict[str, Any]):
    [text, call], [called] = facts["without its reasoning"]

    assert text == {"type": "text", "text": "One.", "annotations": []}
    assert "id" not in call
    assert (call["arguments"], called["args"]) == ('{"n": 2}', {"n": 2})


def test_the_tool_restores_in_a_graph_of_ones_own(facts: dict[str, Any]):
    assert "unused variable v0_77" in facts["kinds"]["answer"]


def test_a_graph_of_ones_own_without_a_thread_is_refused_with_what_to_do(facts: dict[str, Any]):
    assert '{"configurable": {"thread_id": "…"}}' in facts["no thread"]


def test_each_thread_agent_and_run_has_a_session_of_its_own(facts: dict[str, Any]):
    runs = [id for id in facts["sessions"] if len(id) == len("langchain-") + 32]
    threads = [id for id in facts["sessions"] if id not in runs]

    assert len(runs) == 2
    assert threads[:2] == ["langchain-one", "langchain-two"]
    assert threads[2].startswith("langchain.one-boss-")
    assert all(facts["named"])  # `session_of` finds those with archived texts
    assert facts["a ref of another thread"].startswith("Error: Nothing is archived under")


def test_a_later_process_continues_what_was_sent(facts: dict[str, Any]):
    assert facts["later process"] == 1


def test_async_and_streamed_runs_send_the_same(facts: dict[str, Any]):
    same, requests, _ = facts["async"]

    assert (same, requests) == (True, 13)


def test_a_request_that_was_too_long_is_compressed_and_sent_once_more(facts: dict[str, Any]):
    assert facts["refused"] == [14, True]


def test_a_history_passed_as_dicts_each_time_keeps_the_prompt_cache(facts: dict[str, Any]):
    unbroken, requests = facts["passed again"]

    assert requests == 40
    assert unbroken >= 36


def test_in_deepagents_it_takes_the_place_of_the_summarizer_also_in_sub_agents(
    facts: dict[str, Any],
):
    deep = facts["deepagents"]

    assert not deep["own summaries"]
    assert (deep["sessions"], deep["logs in the state"]) == (2, 12)
    assert deep["largest"] < 50_000


def test_the_page_and_the_example_run(facts: dict[str, Any]):
    assert facts["page"] == ["Done."] * 3
    answer, largest = facts["example"]
    assert answer == "All fail."
    assert largest < 80_000
