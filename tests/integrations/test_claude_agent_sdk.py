"""Our hooks, our tool and our plugin in Claude Code, as the real Claude Agent SDK starts it.

The SDK brings its own Claude Code, whose formats are internal to it; seen with 2.1.332.
"""

from typing import Any

import pytest
from agent_runs import BY_REF, STEPS, assert_kept, log
from frameworks import Framework

pytestmark = pytest.mark.slow

SDK = Framework("claude-agent-sdk")


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a run of 100 tool steps saw, with our hooks."""
    folder = tmp_path_factory.mktemp("claude-agent-sdk")
    return SDK.run("claude_agent_sdk_agent.py", "ours", folder=folder)


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What became of sessions beside each other, of compactions, and of errors."""
    folder = tmp_path_factory.mktemp("claude-agent-sdk-kinds")
    return SDK.run("claude_agent_sdk_kinds.py", folder=folder)


def test_100_tool_steps_keep_the_prompt_prefix_and_lose_nothing(seen: dict[str, Any]) -> None:
    assert_kept(seen)


def test_large_results_are_archived_and_nothing_is_summarised(seen: dict[str, Any]) -> None:
    assert seen["summaries"] == 0
    assert seen["largest"] < STEPS * len(log(0)) / 5


def test_the_model_restores_one_log_by_its_ref(seen: dict[str, Any]) -> None:
    restored = [number for number in range(BY_REF) if log(number) in seen["answers"]["ref"]]

    assert len(restored) == 1


def test_two_sessions_at_the_same_time_are_apart(kinds: dict[str, Any]) -> None:
    assert kinds["apart"] == {
        "shown_whole": [False, False], "archived": [True, True], "found": [True, False],
        "calls": [True, True],
    }  # fmt: skip


def test_what_claude_code_summarises_is_archived_before(kinds: dict[str, Any]) -> None:
    assert kinds["compacted"] == {
        "summaries": 1, "told": True, "after": True, "shortened": True, "found": True
    }  # fmt: skip


def test_the_plugin_answers_a_compaction_without_a_model(kinds: dict[str, Any]) -> None:
    plugin = kinds["plugin"]

    assert (plugin["summaries"], plugin["after"], plugin["found"]) == (0, True, True)


def test_the_plugin_is_copied_once(kinds: dict[str, Any]) -> None:
    plugin = kinds["plugin"]

    assert (plugin["again"], plugin["left"]) == (True, ["context-compression"])


def test_without_our_hooks_the_tool_says_what_is_missing(kinds: dict[str, Any]) -> None:
    assert kinds["missing"]["hooks"].endswith(
        "Our hooks are missing: pass ClaudeAgentOptions(hooks=…), too."
    )


def test_a_store_that_cannot_be_written_leaves_results_whole(kinds: dict[str, Any]) -> None:
    assert kinds["missing"]["store"]


def test_a_store_and_settings_can_be_passed_as_to_every_adapter(kinds: dict[str, Any]) -> None:
    assert kinds["passed"] == [True, True, 77, "id"]


def test_the_example_archives_a_large_result(kinds: dict[str, Any]) -> None:
    assert kinds["example"] == {"printed": "They pass.\narchived: 1\n", "noted": True}


def test_the_blocks_of_the_page_run(kinds: dict[str, Any]) -> None:
    assert kinds["blocks"] == 2
