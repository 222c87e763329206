"""The adapter runs in the real OpenAI Agents SDK, with a fake model."""

from pathlib import Path
from typing import Any

import pytest
from agent_runs import assert_kept
from frameworks import Framework

pytestmark = pytest.mark.slow

OPENAI_AGENTS = Framework("openai-agents")


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the program of all kinds says."""
    return OPENAI_AGENTS.run("openai_agents_kinds.py", folder=tmp_path_factory.mktemp("kinds"))


def test_filter_and_session_together_keep_the_prompt_cache_over_100_steps(tmp_path: Path):
    seen = OPENAI_AGENTS.run("openai_agents_run.py", "both", folder=tmp_path)

    assert_kept(seen)
    assert seen["answers"]["ref"].count("unused variable v0_") == 120
    assert (seen["runs"], seen["whole"]) == (11, 98)  # the SDK's history; two steps restored


def test_items_that_were_not_edited_are_the_very_objects(facts: dict[str, Any]):
    assert all(facts["passed"]["same"])  # media, reasoning, hosted tools, compaction, unknown ones
    assert all(facts["passed"]["again"])


@pytest.mark.parametrize("way", [0, 1, 2], ids=["async", "sync", "streamed"])
def test_each_way_to_run_sends_the_same_and_restores(facts: dict[str, Any], way: int):
    assert facts["equal"][way]
    assert facts["restored"][way]
    assert facts["kept"][way] == 26  # 25 logs and what was restored: the run's own items are whole


def test_the_tools_of_servers_count_with_every_mcp(facts: dict[str, Any]):
    [tool] = facts["with_server"]
    assert (tool["name"], tool["inputSchema"]) == ("find", {"type": "object"})


def test_threads_that_run_at_once_stay_apart(facts: dict[str, Any]):
    assert all(facts["restored"])  # the three ways ran beside each other
    assert facts["other_thread"].startswith("Error: Nothing is archived")


def test_the_tool_without_a_filter_says_what_is_missing(facts: dict[str, Any]):
    assert facts["no_filter"].startswith("Error: nothing was moved out of this conversation")


def test_the_tool_finds_our_filter_in_a_filter_that_wraps_it(facts: dict[str, Any]):
    assert facts["wrapped"]


def test_handoffs_share_a_session_and_an_agent_as_a_tool_has_its_own(facts: dict[str, Any]):
    ids = facts["helpers"]["ids"]

    assert facts["helpers"]["answer"] == "Done."
    assert ids["Builder"] == ids["Second"] != ids["Helper"]


def test_a_session_alone_gives_what_fits_and_keeps_everything(facts: dict[str, Any]):
    memory = facts["memory"]

    assert (memory["whole"], memory["lost"]) == (52, 0)
    assert memory["fitted"] < 0.5
    assert (memory["popped"], memory["last"]) == ("Done.", "function_call_output")


def test_a_later_run_with_filter_and_session_continues_the_prompt(facts: dict[str, Any]):
    assert facts["continuing"] == [True] * 4


def test_a_cleared_session_leaves_nothing_behind(facts: dict[str, Any]):
    assert facts["memory"]["known"]
    assert facts["memory"]["cleared"] == [[], False]


def test_a_history_on_the_server_of_openai_is_left_alone(facts: dict[str, Any]):
    assert facts["on_server"]


@pytest.mark.parametrize("way", ["delete", "prune", "expire", "clear"])
def test_a_deletion_takes_the_history_of_the_sdk_along(facts: dict[str, Any], way: str):
    history = facts["histories"][way]

    assert history["modes"] == {"events.jsonl": "600", "history.sqlite3": "600"}
    assert history["problems"] == []
    assert history["before"] == [f"What {way} must not leave."]
    assert history["left"] == []
    assert history["after"] == []
    assert history["begun_again"] == history["before"]


def test_no_history_is_opened_in_a_store_of_someone_else(facts: dict[str, Any]):
    assert "may come from someone else" in facts["not_ours"]


def test_without_a_folder_the_session_says_what_to_pass(facts: dict[str, Any]):
    assert "Pass a session of the SDK that keeps it: session('thread-7'" in facts["no_folder"]


def test_the_session_of_a_conversation_can_be_had(facts: dict[str, Any]):
    assert facts["session_of"]
