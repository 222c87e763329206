"""The conversation manager for Strands Agents, in the real framework."""

from typing import Any

import pytest
from agent_runs import STEPS, assert_kept, log
from frameworks import Framework

pytestmark = pytest.mark.slow

STRANDS = Framework("strands")
PROGRAM = "strands_agent.py"


@pytest.fixture(scope="module")
def rest(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return STRANDS.run(PROGRAM, "rest", folder=tmp_path_factory.mktemp("rest"))


def test_100_tool_steps_keep_the_prompt_prefix_and_lose_nothing(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    seen = STRANDS.run(PROGRAM, "ours", folder=tmp_path_factory.mktemp("hundred"))

    assert_kept(seen)
    assert seen["history"] == 2 * STEPS + 2
    assert log(0)[:5_000] in seen["answers"]["ref"].replace("\\n", "\n")


def test_what_nobody_edited_is_sent_as_it_is(rest: dict[str, Any]) -> None:
    kept = rest["kept"]

    assert kept["compressed"] >= 1
    assert kept["pictures"] == [True, True]
    assert kept["thoughts"]
    assert kept["tracked"]


def test_a_message_that_is_unknown_is_passed_and_told_once(rest: dict[str, Any]) -> None:
    assert rest["kept"]["unknown"] == [True]
    assert rest["kept"]["warnings"] == 1


def test_the_tool_answers_a_direct_call(rest: dict[str, Any]) -> None:
    assert "v0_77" in rest["kept"]["direct"]


def test_a_saved_conversation_is_whole_and_goes_on_as_it_was_sent(rest: dict[str, Any]) -> None:
    saved = rest["saved"]

    assert saved["continued"]
    assert len(saved["sessions"]) == 1
    assert saved["later"] == 3 * 26  # 12 calls, their results, the question and the answer, thrice


def test_what_another_manager_removed_comes_back(rest: dict[str, Any]) -> None:
    assert rest["saved"]["own"] < 10
    assert rest["saved"]["taken"] == 26


def test_conversations_and_agents_are_apart(rest: dict[str, Any]) -> None:
    assert rest["apart"]["sessions"] == 5
    found, other = rest["apart"]["found"]
    assert "variable v0_77" in found
    assert other.startswith("Nothing of ")


def test_an_event_loop_is_sent_the_same_requests(rest: dict[str, Any]) -> None:
    assert rest["streamed"] == {"same": True, "streamed": True}


def test_a_refused_request_is_sent_again_much_smaller_and_only_once(rest: dict[str, Any]) -> None:
    assert rest["refused"]["again"] < 0.7
    assert rest["refused"]["requests"] == 12


def test_what_a_plugin_adds_to_a_request_is_sent_but_not_recorded(rest: dict[str, Any]) -> None:
    injected = rest["injected"]

    assert all(injected["sent"])
    assert not injected["recorded"]
    assert injected["compressed"] >= 1


def test_the_window_of_the_model_counts(rest: dict[str, Any]) -> None:
    assert rest["windows"] == [128_000, 50_000]


def test_the_page_and_the_example_run(rest: dict[str, Any]) -> None:
    documented = rest["documented"]

    assert (documented["answer"], documented["page"]) == ("Done.", "Done.")
    assert documented["largest"] < 100_000  # characters; the window is of 30,000 tokens
