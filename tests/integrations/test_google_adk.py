"""The plugin for Google ADK, in the real framework."""

import json
from typing import Any

import pytest
from agent_runs import STEPS, assert_kept, log
from frameworks import Framework

pytestmark = pytest.mark.slow

ADK = Framework("google-adk")
PROGRAM = "google_adk_agent.py"


@pytest.fixture(scope="module")
def rest(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return ADK.run(PROGRAM, "rest", folder=tmp_path_factory.mktemp("rest"))


def test_100_tool_steps_keep_the_prompt_prefix_and_lose_nothing(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    seen = ADK.run(PROGRAM, "ours", folder=tmp_path_factory.mktemp("hundred"))

    assert_kept(seen)
    assert seen["history"] == 2 * STEPS + 2
    assert log(0)[:5_000] in seen["answers"]["ref"].replace("\\n", "\n")


def test_what_nobody_edited_is_the_very_object(rest: dict[str, Any]) -> None:
    kept = rest["kept"]

    assert kept["compressed"] >= 1
    assert kept["same"] > 5
    assert kept["edited"] > 5


def test_edited_contents_keep_pictures_and_signatures(rest: dict[str, Any]) -> None:
    assert rest["kept"]["pictures"] == 1
    assert rest["kept"]["signed"]


def test_a_response_that_is_no_json_can_be_read(rest: dict[str, Any]) -> None:
    [part] = json.loads(rest["kept"]["odd"])["parts"]

    assert part["functionResponse"]["response"]["at"] == [1]


def test_a_later_turn_goes_on_as_the_last_one_was_sent(rest: dict[str, Any]) -> None:
    assert rest["kept"]["continued"]
    assert rest["kept"]["events"] == 28  # 12 calls, their results, two questions and answers


def test_users_and_agents_are_apart(rest: dict[str, Any]) -> None:
    assert rest["apart"]["sessions"] == 4


def test_our_tool_is_offered_only_where_gemini_takes_functions(rest: dict[str, Any]) -> None:
    assert rest["offered"] == {"tools": True, "none": True, "search": False, "schema": False}


def test_after_a_refused_request_the_next_run_sends_much_less(rest: dict[str, Any]) -> None:
    assert rest["refused"]["next"] < 0.7


def test_a_run_without_an_event_loop_sends_the_same_requests(rest: dict[str, Any]) -> None:
    assert rest["plain"] == {"same": True}


def test_an_instruction_beside_a_static_one_moves_on_and_is_not_recorded(
    rest: dict[str, Any],
) -> None:
    static = rest["static"]

    assert static["last"]
    assert not static["recorded"]
    assert static["compressed"] == 1
    assert static["unbroken"] > 0.9  # one of the eleven requests is the one that was compressed


def test_the_window_of_the_model_counts(rest: dict[str, Any]) -> None:
    assert rest["window"] == 128_000


def test_the_page_and_the_example_run(rest: dict[str, Any]) -> None:
    documented = rest["documented"]

    assert (documented["answer"], documented["page"]) == ("Done.", "Done.")
    assert documented["largest"] < 100_000  # characters; the window is of 30,000 tokens
