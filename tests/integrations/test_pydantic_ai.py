"""The capability for Pydantic AI, in the real framework."""

from typing import Any

import pytest
from agent_runs import BY_REF, STEPS, assert_kept, log
from frameworks import Framework

pytestmark = pytest.mark.slow

PYDANTIC_AI = Framework("pydantic-ai")


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a run of 100 tool steps saw."""
    folder = tmp_path_factory.mktemp("pydantic-ai")
    return PYDANTIC_AI.run("pydantic_ai_agent.py", "ours", folder=folder)


@pytest.fixture(scope="module")
def carried(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What became of all that messages carry, and of other ways to run an agent."""
    folder = tmp_path_factory.mktemp("pydantic-ai-kinds")
    return PYDANTIC_AI.run("pydantic_ai_kinds.py", folder=folder)


def test_100_tool_steps_keep_the_prompt_prefix_and_lose_nothing(seen: dict[str, Any]) -> None:
    assert_kept(seen)


def test_the_agent_keeps_its_whole_history(seen: dict[str, Any]) -> None:
    assert (seen["history"], seen["warnings"]) == (2 * STEPS + 2, [])


def test_the_model_restores_one_log_by_its_ref(seen: dict[str, Any]) -> None:
    restored = [number for number in range(BY_REF) if log(number) in seen["answers"]["ref"]]

    assert len(restored) == 1


def test_messages_that_nobody_edited_are_the_very_objects(carried: dict[str, Any]) -> None:
    kinds = carried["kinds"]

    assert kinds["untouched"]
    assert kinds["task"], "the system prompt and the prompt with pictures"


def test_the_agents_own_messages_stay_whole(carried: dict[str, Any]) -> None:
    messages, thoughts, full_logs = carried["kinds"]["history"]

    assert (messages, thoughts, full_logs) == (28, 13, 11)


def test_edited_messages_keep_ids_and_metadata_but_no_usage(carried: dict[str, Any]) -> None:
    kinds = carried["kinds"]

    assert kinds["returns"]
    assert kinds["names"] == ["logs"]
    assert kinds["calls"]
    assert kinds["responses"]
    assert kinds["thoughts"] == 0, "their signatures are bound to what was compressed"


def test_edited_dicts_become_messages_of_their_own_parts(carried: dict[str, Any]) -> None:
    rewritten = carried["rewritten"]

    assert rewritten["roles"] == ["system", "user", "assistant"]
    assert rewritten["prompt"]
    assert rewritten["times"]
    assert rewritten["metadata"] == {"mine": 1}
    assert rewritten["native"] == [True, True]
    assert rewritten["text"] == ["[note]", None], "a text under its id would not be read"


def test_a_message_of_an_unknown_kind_is_passed_on(carried: dict[str, Any]) -> None:
    rewritten = carried["rewritten"]

    assert rewritten["odd"] == [True, True, True]
    assert rewritten["warnings"] == 1


def test_a_tool_search_stays_as_long_as_calls_of_what_it_found(carried: dict[str, Any]) -> None:
    assert carried["searched"] == {"rare": True, "logs": False}


def test_two_conversations_of_one_agent_are_apart(carried: dict[str, Any]) -> None:
    found = carried["apart"]["found"]

    assert carried["apart"]["sessions"] == 2
    assert " 1 of 1 original" in found["alpha"]
    assert "No hits" in found["beta"]


def test_async_sync_and_streamed_runs_send_the_same(carried: dict[str, Any]) -> None:
    assert carried["ways"] == {"same": True, "noted": True}


def test_the_next_run_goes_on_in_the_window_of_its_model(carried: dict[str, Any]) -> None:
    assert carried["again"] == {"goes_on": True, "sessions": 1, "noted": True}


def test_the_example_stays_below_its_window(carried: dict[str, Any]) -> None:
    example = carried["example"]

    assert example["requests"] == 21
    assert example["printed"].startswith("All builds lack a symbol.\n")
    assert example["largest"] < 60_000, "characters, of 190,000"


def test_the_blocks_of_the_page_run(carried: dict[str, Any]) -> None:
    assert carried["blocks"] == 1
