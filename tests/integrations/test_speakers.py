"""What a person says beside the prompts counts as the user's, in every real framework."""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import pytest
from frameworks import ROOT, Framework
from spoken import KEPT, is_unsaid

pytestmark = pytest.mark.slow

Heard: TypeAlias = Callable[[str], dict[str, Any]]
SAID = {
    "langchain": [
        "rejected", "rejected, each by itself", "responded", "interrupt",
        "interrupt with an object",
    ],
    "openai-agents": [
        "rejected", "rejected, restored", "rejected, then another process", "answered",
        "a server's tool rejected",
    ],
    "pydantic-ai": ["denied", "answered"],
    "strands": [
        "a call rejected", "all calls rejected", "interrupt", "interrupt with an object",
        "interrupt, then another process", "handed off by another name",
    ],
    "google-adk": [
        "confirmed with words", "confirmed by a client", "answered",
        "the user after another agent",
    ],
}  # fmt: skip
"""By framework, the ways in which a person speaks: decisions, answers, confirmations."""
UNSAID = {
    "langchain": ["rejected without a word", "approved", "edited", "a task that ended"],
    "openai-agents": ["rejected without a word", "a program's words", "approved"],
    "pydantic-ai": [
        "denied without a word", "approved", "fetched", "to be tried again", "to be written again",
    ],
    "strands": ["approved", "not asked"],
    "google-adk": ["confirmed", "rejected", "fetched", "another agent"],
}  # fmt: skip
"""By framework, what a tool, a program or the framework says."""


@pytest.fixture(scope="module")
def heard(tmp_path_factory: pytest.TempPathFactory) -> Heard:
    """What is left of what a person says in a framework, by the way to say it."""

    @cache
    def of(framework: str) -> dict[str, Any]:
        program = f"{framework.replace('-', '_')}_speakers.py"
        return Framework(framework).run(program, folder=tmp_path_factory.mktemp(framework))

    return of


@pytest.mark.parametrize(
    ("framework", "way"), [(f, way) for f, ways in SAID.items() for way in ways]
)
def test_a_rule_that_a_person_says_is_kept_and_counted(heard: Heard, framework: str, way: str):
    marks = {} if framework == "pydantic-ai" else {"marked": False}

    assert heard(framework)[way] == KEPT | marks


@pytest.mark.parametrize(
    ("framework", "way"), [(f, way) for f, ways in UNSAID.items() for way in ways]
)
def test_what_others_say_is_not_the_users(heard: Heard, framework: str, way: str):
    assert is_unsaid(heard(framework)[way])


def test_approvals_of_servers_tools_pair_in_every_request(heard: Heard):
    approvals = heard("openai-agents")["approvals"]

    assert approvals["requests"] == 41
    assert approvals["compressions"] >= 2
    assert approvals["with some"] > 30
    assert (approvals["orphans"], approvals["refused"]) == (0, 0)


@pytest.mark.parametrize(("framework", "blocks"), [("openai-agents", 2), ("litellm", 1)])
def test_the_page_and_the_example_run_as_they_stand(
    tmp_path_factory: pytest.TempPathFactory, framework: str, blocks: int
):
    """Those of other frameworks run in the programs of their tests."""
    page = ROOT / "docs" / "frameworks" / f"{framework}.md"
    example = ROOT / "examples" / f"{framework.replace('-', '_')}_agent.py"

    of_page, of_example = (
        Framework(framework).run(
            "example_run.py", str(file), folder=tmp_path_factory.mktemp(framework)
        )
        for file in (page, example)
    )

    assert len(of_page["sizes"]) == blocks
    assert "Done." in of_example["printed"]
    assert max(of_example["sizes"]) < 100_000  # 20 logs have 200,000 characters
