"""The context provider for Microsoft Agent Framework, in the real framework."""

from typing import Any

import pytest
from agent_runs import STEPS, assert_kept, log
from frameworks import Framework

pytestmark = pytest.mark.slow

AGENT_FRAMEWORK = Framework("agent-framework")
PROGRAM = "agent_framework_agent.py"


@pytest.fixture(scope="module")
def rest(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return AGENT_FRAMEWORK.run(PROGRAM, "rest", folder=tmp_path_factory.mktemp("rest"))


def test_100_tool_steps_keep_the_prompt_prefix_and_lose_nothing(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    seen = AGENT_FRAMEWORK.run(PROGRAM, "ours", folder=tmp_path_factory.mktemp("hundred"))

    assert_kept(seen)
    assert seen["history"] == seen["included"] == 2 * STEPS + 2
    assert log(0)[:5_000] in seen["answers"]["ref"].replace("\\n", "\n")


def test_what_nobody_edited_is_the_very_object(rest: dict[str, Any]) -> None:
    kept = rest["kept"]

    assert kept["compressed"] >= 1
    assert kept["first"] == ["Ann", "first"]
    assert (kept["same"], kept["edited"]) > (20, 5)


def test_an_edited_message_keeps_its_names_and_its_other_contents(rest: dict[str, Any]) -> None:
    author, results, shortened = rest["kept"]["both"]

    assert (author, results) == ("logs", 2)
    assert shortened < 1_000
    assert rest["kept"]["pictures"] == 2  # the user's, and the one in an edited result


def test_a_message_that_is_unknown_is_passed_and_told_once(rest: dict[str, Any]) -> None:
    assert rest["kept"]["odd"] == 2
    assert rest["kept"]["warnings"] == 1


def test_a_later_run_goes_on_as_the_last_one_was_sent(rest: dict[str, Any]) -> None:
    assert rest["kept"]["continued"]


def test_sessions_agents_and_runs_without_a_session_are_apart(rest: dict[str, Any]) -> None:
    assert rest["apart"] == {"sessions": 5}


def test_a_streamed_run_sends_the_same_requests(rest: dict[str, Any]) -> None:
    assert rest["streamed"] == {"same": True}


def test_a_refused_request_is_sent_again_much_smaller_and_only_once(rest: dict[str, Any]) -> None:
    assert rest["refused"]["again"] < 0.7
    assert rest["refused"]["requests"] == 12


def test_a_history_that_the_service_keeps_is_left_alone(rest: dict[str, Any]) -> None:
    assert rest["service"] == {"recorded": 0}


def test_a_history_can_be_saved_around_each_request(rest: dict[str, Any]) -> None:
    assert rest["each"]["compressed"] >= 1
    assert rest["each"]["history"] == 26  # the question, 12 calls, their results and the answer


def test_the_strategy_works_without_the_provider(rest: dict[str, Any]) -> None:
    assert rest["alone"]["compressed"] >= 1
    assert rest["alone"]["unpaired"] == []
    assert rest["alone"]["history"] == 28


def test_the_window_of_the_model_counts(rest: dict[str, Any]) -> None:
    assert rest["window"] == 128_000


def test_the_page_and_the_example_run(rest: dict[str, Any]) -> None:
    documented = rest["documented"]

    assert (documented["answer"], documented["page"]) == ("Done.", ["Done.", "Done."])
    assert documented["largest"] < 100_000  # characters; the window is of 30,000 tokens
