"""The loops as the tutorials of two clients write them, with `fit` and `restore_tool`."""

import json
from pathlib import Path
from typing import Any

import pytest
from examples import example
from scripted_model import ScriptedModel

from context_compression import Session, count_tokens
from context_compression.conversation import ref_of
from context_compression.testing.messages_api import Answer, MessagesAPI

BUDGET = 30_000


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path, "s", settings={"token_budget": BUDGET, "keep_recent_tokens": 4_000})


def script(read_log: Any, steps: int = 14) -> list[Answer]:
    """A model that reads logs, restores the first of them, and answers."""

    def calling(id: str, name: str, **arguments: Any) -> Answer:
        call = {"type": "tool_use", "id": id, "name": name, "input": arguments}
        return Answer("", stop_reason="tool_use", content=[call])

    return [
        *(calling(f"call_{build}", "read_log", build=build) for build in range(1, steps + 1)),
        calling("call_r", "context_restore", ref=ref_of(read_log(1)), pattern="ERROR"),
        Answer("Every build lacks a flush symbol."),
    ]


def test_a_loop_of_the_anthropic_tutorials_stays_small_and_restores(session: Session):
    anthropic = pytest.importorskip("anthropic")
    module = example("anthropic_fit")

    with MessagesAPI(script(module.read_log)) as api:
        client = anthropic.Anthropic(api_key="any", base_url=api.base_url)
        answer = module.ask(client, session, "What is wrong?")

    assert answer == "Every build lacks a flush symbol."
    bodies = [request.body for request in api.requests]
    assert max(count_tokens(body["messages"], tools=body["tools"]) for body in bodies) < BUDGET
    assert "ERROR build 1: undefined symbol `flush_1`" in json.dumps(bodies[-1]["messages"][-1])


@pytest.mark.parametrize(
    ("loop", "messages"), [("openai_fit", "messages"), ("openai_responses_fit", "input")]
)
def test_a_loop_of_the_openai_tutorials_stays_small_and_restores(
    loop: str, messages: str, session: Session
):
    openai = pytest.importorskip("openai")
    module = example(loop)

    with ScriptedModel(script(module.read_log)) as model:
        client = openai.OpenAI(api_key="any", base_url=f"{model.url}/v1")
        answer = module.ask(client, session, "What is wrong?")

    assert answer == "Every build lacks a flush symbol."
    bodies = [turn.body for turn in model.turns]
    assert max(count_tokens(body[messages], tools=body["tools"]) for body in bodies) < BUDGET
    assert "ERROR build 1: undefined symbol `flush_1`" in model.turns[-1].results[-1]
