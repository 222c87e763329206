"""`restore_tool`: our tool for any loop, and loops as the tutorials of two clients write them."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pydantic import TypeAdapter
from scripted_model import ScriptedModel

from context_compression import Session, count_tokens, restore_tool
from context_compression.conversation.refs import ref_of
from context_compression.testing.messages_api import Answer, MessagesAPI

EXAMPLES = Path(__file__).parents[2] / "examples"
BUDGET = 30_000
SMALL = {"token_budget": BUDGET, "keep_recent_tokens": 4_000}
LOG = "\n".join(f"{n} compiled unit_{n}.o" for n in range(1_000)) + "\nERROR: undefined flush_7"


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path, "s")


def example(name: str) -> ModuleType:
    if not EXAMPLES.is_dir():
        pytest.skip(f"no examples at {EXAMPLES}")
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
    session.settings = session.settings.changed(SMALL)

    with MessagesAPI(script(module.read_log)) as api:
        client = anthropic.Anthropic(api_key="any", base_url=api.base_url)
        answer = module.ask(client, session, "What is wrong?")

    assert answer == "Every build lacks a flush symbol."
    bodies = [request.body for request in api.requests]
    assert max(count_tokens(body["messages"], tools=body["tools"]) for body in bodies) < BUDGET
    assert "ERROR build 1: undefined symbol `flush_1`" in json.dumps(bodies[-1]["messages"][-1])


def test_a_loop_of_the_openai_tutorials_stays_small_and_restores(session: Session):
    openai = pytest.importorskip("openai")
    module = example("openai_fit")
    session.settings = session.settings.changed(SMALL)

    with ScriptedModel(script(module.read_log)) as model:
        client = openai.OpenAI(api_key="any", base_url=f"{model.url}/v1")
        answer = module.ask(client, session, "What is wrong?")

    assert answer == "Every build lacks a flush symbol."
    bodies = [turn.body for turn in model.turns]
    assert max(count_tokens(body["messages"], tools=body["tools"]) for body in bodies) < BUDGET
    assert "ERROR build 1: undefined symbol `flush_1`" in model.turns[-1].results[-1]


def test_the_model_restores_a_text_in_pages(session: Session):
    ref = session.offload(LOG)
    tool = restore_tool(session)

    first = tool.answer({"ref": ref})
    second = tool.answer(json.dumps({"ref": ref[:8], "start": 8_000}))

    assert first.startswith(f"ref {ref}, characters 1-8,000 of {len(LOG):,}; next page: start=8000")
    assert "```text quoted from the archive\n0 compiled unit_0.o" in first
    assert LOG[8_000:8_100] in second
    assert session.status().refs


@pytest.mark.anyio
async def test_an_event_loop_gets_the_same_answer(session: Session):
    ref = session.offload(LOG)
    tool = restore_tool(session)

    assert await tool.aanswer({"ref": ref}) == tool.answer({"ref": ref})


def test_the_model_asks_for_lines(session: Session):
    ref = session.offload(LOG)
    tool = restore_tool(session)

    assert "\n10 compiled unit_10.o\n```" in tool.answer({"ref": ref, "lines": "11", "query": ""})
    assert "1001: ERROR: undefined flush_7" in tool.answer({"ref": ref, "pattern": "ERROR"})


def test_the_model_searches_and_then_restores(session: Session):
    ref = session.offload(LOG, what="log of the build")
    tool = restore_tool(session)

    found = tool.answer({"query": "undefined flush_7"})

    assert f"ref {ref}, log of the build" in found
    assert "1001: ERROR: undefined flush_7" in found
    assert tool.answer({"query": "nowhere_to_be_found"}).startswith("No hits for")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "Pass ref"),
        (None, "Pass ref"),
        ({"ref": "abcd1234"}, "Nothing is archived under 'abcd1234'"),
        ({"ref": 7}, "ref must be of type string"),
        ({"ref": "abcd", "start": "x"}, "start must be of type integer"),
        ({"reference": "abcd"}, "reference is no argument; allowed: ref, lines"),
        ({"ref": "abcd", "lines": "many"}, "lines must be as 10-40 or 7"),
        ('{"ref": ', "not JSON"),
        ("[1]", "must be a JSON object"),
        ({"query": "   "}, "no words"),
    ],
)
def test_an_error_is_a_text_that_tells_the_model_what_to_do(
    session: Session, arguments: Any, words: str
):
    answer = restore_tool(session).answer(arguments)

    assert answer.startswith("Error: ")
    assert words in answer


def test_the_definition_has_the_form_of_each_provider(session: Session):
    tool = restore_tool(session)

    chat = pytest.importorskip("openai.types.chat")
    responses = pytest.importorskip("openai.types.responses")
    anthropic = pytest.importorskip("anthropic.types")
    TypeAdapter(anthropic.ToolParam).validate_python(tool.anthropic)
    TypeAdapter(chat.ChatCompletionFunctionToolParam).validate_python(tool.openai)
    TypeAdapter(responses.FunctionToolParam).validate_python(tool.openai_responses)
    assert tool.gemini["parameters"]["type"] == "OBJECT"
    assert tool.gemini["parameters"]["properties"]["start"]["type"] == "INTEGER"
    names = {
        tool.name,
        tool.gemini["name"],
        tool.anthropic["name"],
        tool.openai["function"]["name"],
    }
    assert names == {"context_restore"}
