"""The capability for Pydantic AI, in the real framework."""

import pytest
from agent_runs import STEPS
from frameworks import Framework

PYDANTIC_AI = Framework("pydantic-ai")


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What a run of 100 tool steps saw."""
    folder = tmp_path_factory.mktemp("pydantic-ai")
    return PYDANTIC_AI.run("pydantic_ai_agent.py", "ours", folder=folder)


def test_all_requests_are_valid_and_keep_the_rule(seen: dict[str, object]) -> None:
    assert (seen["requests"], seen["unpaired"], seen["without_rule"]) == (STEPS + 1, [], 0)


def test_nothing_is_lost_and_the_agent_keeps_its_whole_history(seen: dict[str, object]) -> None:
    assert (seen["lost"], seen["history"], seen["warnings"]) == (0, 2 * STEPS + 2, [])
