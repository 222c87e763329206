# pyright: basic, reportMissingImports=false
# LangChain, LangGraph, deepagents and langchain-anthropic are installed in an environment of their
# own.
"""What happens to each kind of message, thread, agent and graph; prints an object of facts.

python langchain_kinds.py
"""

import asyncio
import json
import re
import runpy
from itertools import pairwise
from pathlib import Path

from agent_runs import RESTORE, log
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain.tools import tool
from langchain_anthropic import ChatAnthropic
from langchain_core.exceptions import ContextOverflowError
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from provider import refused as refused_by
from pydantic import Field

from context_compression.errors import InvalidSettings
from context_compression.integrations.langchain import ContextCompression
from context_compression.integrations.langchain_messages import read, translation

ROOT = Path(__file__).parents[3]
SETTINGS = {"token_budget": 16_000, "manual_target_usage": 0.5}
PICTURE = {"type": "image", "base64": "iVBORw0KGgo" + "A" * 400, "mime_type": "image/png"}
THOUGHT = {"type": "thinking", "thinking": "I should look.", "signature": "c2lnbmVk" * 20}
FACTS = {}


class Scripted(BaseChatModel):
    """A model that gives the answers of a list, and keeps the requests."""

    answers: list
    requests: list = Field(default_factory=list)
    refuses: int = 0
    model_name: str = "claude-sonnet-4-5"

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **options):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **options):
        self.requests.append(list(messages))
        if self.refuses == len(self.requests):
            raise ContextOverflowError("prompt is too long: 213462 tokens > 200000 maximum")
        answer = self.answers.pop(0).model_copy(deep=True)
        return ChatResult(generations=[ChatGeneration(message=answer)])


class Event(BaseMessage):
    """A message of a program's own kind."""

    type: str = "event"


@tool
def logs(n: int) -> str:
    """The log of a build."""
    return log(n)


def calling(name="logs", **arguments):
    """An answer that calls a tool."""
    id = f"{name}-{'-'.join(map(str, arguments.values()))}"
    return AIMessage("Looking.", tool_calls=[{"name": name, "args": arguments, "id": id}])


def script(steps=12):
    """The answers of an agent that reads so many logs."""
    return [*(calling(n=n) for n in range(steps)), AIMessage("Done.")]


def texts(messages):
    """The texts of a request."""
    return [f"{m.type}: {m.text} {getattr(m, 'tool_calls', '')}" for m in messages]


def thread(name):
    """The configuration of a thread."""
    return {"configurable": {"thread_id": name}}


def unbroken(requests):
    """How many requests begin with all of the one before."""
    pairs = [(texts(a), texts(b)) for a, b in pairwise(requests)]
    return sum(now[: len(before)] == before for before, now in pairs)


def every_kind():
    """A conversation with a message of every kind, followed by many tool steps."""
    cited = {"type": "text", "text": "It says 7.", "citations": [{"type": "char_location"}]}
    call = {"name": "logs", "args": {"n": 90}, "id": "toolu_90"}
    block = {"type": "tool_use", "id": "toolu_90", "name": "logs", "input": {"n": 90}}
    usage = {"input_tokens": 9, "output_tokens": 9, "total_tokens": 18}
    wrong = {"name": "logs", "args": '{"n": ', "id": "toolu_91", "error": "no JSON"}
    messages = [
        HumanMessage([{"type": "text", "text": "Fix it."}, PICTURE], id="h1", name="alice"),
        AIMessage(
            [THOUGHT, cited, block], id="a1", tool_calls=[call], usage_metadata=usage,
            response_metadata={"model_provider": "anthropic"},
        ),
        ToolMessage(log(90), tool_call_id="toolu_90", id="t1", name="logs", artifact={"rows": 9}),
        AIMessage("Again.", invalid_tool_calls=[wrong], id="a2"),
        ToolMessage("no JSON", tool_call_id="toolu_91", id="t2", name="logs", status="error"),
        ChatMessage("Be brief.", role="moderator", id="c1"),
        FunctionMessage("4", name="add", id="f1"),
        Event("started", id="e1"),
        HumanMessage("Go on.", id="h2"),
    ]  # fmt: skip
    for n in range(20):
        messages += [calling(n=n), ToolMessage(log(n), tool_call_id=f"logs-{n}", id=f"log-{n}")]
    return [*messages, AIMessage("All are read."), HumanMessage("And now?", id="h3")]


def in_a_graph_of_ones_own():
    """A node calls `fit`, and a `ToolNode` has our tool."""
    compression = ContextCompression(
        store="graph", settings=SETTINGS | {"manual_target_usage": 0.5}, model="claude-sonnet-5-2"
    )
    tools = [logs, *compression.tools]
    seen = []
    model = Scripted(answers=[calling(RESTORE, query="v0_77"), AIMessage("Done.")])

    def agent(state: MessagesState):
        view = compression.fit(state["messages"], system="You fix.", tools=tools, model=model)
        seen.append(view)
        return {"messages": [model.invoke([SystemMessage("You fix."), *view])]}

    graph = StateGraph(MessagesState).add_node("agent", agent).add_node("tools", ToolNode(tools))
    graph.add_edge(START, "agent").add_conditional_edges("agent", tools_condition)
    built = graph.add_edge("tools", "agent").compile()
    history = every_kind()
    state = built.invoke({"messages": history}, thread("kinds"))["messages"]
    originals = {message.id: message for message in state}
    edited = [m for m in seen[0] if m.id and m is not originals[m.id]]
    FACTS["kinds"] = {
        "state is whole": [m.content for m in state[: len(history)]]
        == [m.content for m in every_kind()],
        "shown": [m.id for m in seen[0] if m is originals.get(m.id) and len(m.id) == 2],
        "edited": [m.id for m in edited if not m.id.startswith("log-")],
        "kept": [
            (m.name, m.artifact, m.tool_call_id, m.status)
            == (o.name, o.artifact, o.tool_call_id, o.status)
            for m in edited if isinstance(m, ToolMessage) for o in [originals[m.id]]
        ],
        "signed": any(THOUGHT in [*m.content] for m in seen[0]),
        "warnings": len(compression.sessions["kinds"].status().warnings),
        "answer": state[-2].content,
    }  # fmt: skip
    wire = ChatAnthropic(model="claude-sonnet-5-2", api_key="none")._get_request_payload(
        [m for m in seen[1] if m.id not in ("c1", "f1", "e1")]
    )
    FACTS["anthropic"] = {
        "refused": refused_by(wire["messages"], "anthropic"),
        "calls": sum(b["type"] == "tool_use" for m in wire["messages"] for b in blocks(m)),
        "results": sum(b["type"] == "tool_result" for m in wire["messages"] for b in blocks(m)),
    }
    try:
        built.invoke({"messages": [HumanMessage("Hi.")]})
    except InvalidSettings as error:
        FACTS["no thread"] = str(error)


def blocks(message):
    """The blocks of a message in Anthropic's form."""
    return message["content"] if isinstance(message["content"], list) else []


def edited_blocks():
    """Messages of every provider come back with a text more and all their blocks."""
    usage = {"input_tokens": 9, "output_tokens": 9, "total_tokens": 18}
    called = [{"name": "logs", "args": {"n": 1}, "id": "call_1", "type": "tool_call"}]
    of_openai = [
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]},
        {"type": "text", "text": "One.", "id": "msg_1", "annotations": []},
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "logs",
         "arguments": '{"n": 1}'},
    ]  # fmt: skip
    contents = {
        "anthropic": [THOUGHT, {"type": "redacted_thinking", "data": "x" * 40}, PICTURE],
        "openai": of_openai,
        "bedrock": [{"type": "reasoning_content",
                     "reasoning_content": {"text": "Hm.", "signature": "s" * 40}}],
        "gemini": [{"type": "reasoning", "reasoning": "Hm.", "extras": {"signature": "s" * 40}}],
        "server tools": [
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
        ],
        "files": [{"type": "file", "base64": "JVBERi0" * 60, "mime_type": "application/pdf"},
                  {"type": "audio", "url": "https://a.b/c.wav"}, {"type": "a_new_kind", "x": 1}],
    }  # fmt: skip
    for name, content in contents.items():
        told = {"model_provider": name, "token_usage": usage}
        message = AIMessage(
            content, id="m", tool_calls=called, usage_metadata=usage, response_metadata=told
        )
        made = dict(read(message) or {})
        more = {"type": "text", "text": "[note]"}
        made |= {"content": [*made["content"], more]}
        written = translation([message]).write(made)
        FACTS[f"blocks of {name}"] = {
            "content": written.content == [*content, more],
            "rest": (written.id, written.tool_calls, written.usage_metadata) == ("m", called, None),
            "bound": any("signature" in str(part) for part in made["content"]),
        }
    message = AIMessage(of_openai, id="m", tool_calls=called)
    made = dict(read(message) or {})
    made["content"][2] = made["content"][2] | {"input": {"n": 2}}
    written = translation([message]).write({**made, "content": made["content"][1:]})
    FACTS["without its reasoning"] = [written.content, written.tool_calls]
    shot = [{"type": "text", "text": "It broke."}, PICTURE]
    message = ToolMessage(shot, id="t", tool_call_id="call_1", status="error", name="logs")
    [part] = dict(read(message) or {})["content"]
    part["output"]["value"][0] = {"type": "text", "text": "[note]"}
    made = translation([message]).write({"role": "tool", "content": [part]})
    FACTS["a failed tool"] = [made.content, made.status] == [
        [{"type": "text", "text": "[note]"}, PICTURE], "error",
    ]  # fmt: skip
    message = HumanMessage("x" * 50, id="h", name="alice")
    made = translation([message]).write(dict(read(message) or {}) | {"content": "[note]"})
    FACTS["a named user"] = [made.name, made.content]


def apart():
    """Threads, agents of one name each, and runs without a thread have sessions of their own."""
    compression = ContextCompression(store="apart", settings=SETTINGS)
    saver = InMemorySaver()
    requests = []
    for name, id in ((None, "one"), (None, "two"), ("boss", "one")):
        model = Scripted(answers=script())
        kept = None if name else saver
        agent = create_agent(model, [logs], middleware=[compression], checkpointer=kept, name=name)
        agent.invoke({"messages": [HumanMessage(f"Read all, {id}.")]}, thread(id))
        requests.append(model.requests)
    for _ in range(2):
        model = Scripted(answers=script(2))
        create_agent(model, [logs], middleware=[compression]).invoke(
            {"messages": [HumanMessage("Hi.")]}
        )
    FACTS["sessions"] = sorted(compression.sessions.store.sessions())
    FACTS["named"] = [
        len(compression.session_of("one", agent).status().refs) for agent in (None, "boss")
    ]
    [ref, *_] = compression.session_of("one").status().refs
    model = Scripted(answers=[calling(RESTORE, ref=ref), AIMessage("Done.")])
    agent = create_agent(model, [logs], middleware=[compression])
    state = agent.invoke({"messages": [HumanMessage("Hi.")]})
    FACTS["a ref of another thread"] = state["messages"][-2].content
    # a later process goes on where the first one stopped
    later = ContextCompression(store="apart", settings=SETTINGS)
    model = Scripted(answers=[AIMessage("Yes.")])
    agent = create_agent(model, [logs], middleware=[later], checkpointer=saver)
    agent.invoke({"messages": [HumanMessage("And now?")]}, thread("one"))
    FACTS["later process"] = unbroken([requests[0][-1], model.requests[0]])


def asynchronously():
    """`ainvoke` and `astream` send what `invoke` sends."""
    sent = {}
    for how in ("invoke", "ainvoke", "astream"):
        compression = ContextCompression(store=f"async-{how}", settings=SETTINGS)
        model = Scripted(answers=script())
        agent = create_agent(model, [logs], middleware=[compression], system_prompt="You fix.")
        call = getattr(agent, how)({"messages": [HumanMessage("Read all.")]}, thread("a"))
        if how == "ainvoke":
            asyncio.run(call)
        if how == "astream":
            asyncio.run(_all(call))
        sent[how] = json.loads(
            json.dumps([texts(request) for request in model.requests]).replace(how, "invoke")
        )  # notes name the folder
    FACTS["async"] = [
        sent["invoke"] == sent["ainvoke"] == sent["astream"], len(sent["invoke"]),
        max(sum(map(len, request)) for request in sent["invoke"]),
    ]  # fmt: skip


async def _all(stream):
    return [part async for part in stream]


def refused():
    """A request that was too long is sent once more, compressed."""
    compression = ContextCompression(store="refused", settings={"token_budget": 200_000})
    model = Scripted(answers=script(), refuses=8)
    agent = create_agent(model, [logs], middleware=[compression])
    agent.invoke({"messages": [HumanMessage("Read all.")]}, thread("a"))
    sizes = [sum(map(len, texts(request))) for request in model.requests]
    FACTS["refused"] = [len(sizes), sizes[8] < sizes[7] / 2]


def passed_again():
    """A program that passes its whole history as dicts each time keeps the prompt cache."""
    compression = ContextCompression(store="again", settings=SETTINGS)
    history, requests = [], []
    for n in range(40):
        history.append({"role": "user", "content": log(n, 20)})
        model = Scripted(answers=[AIMessage(f"Read {n}.")])
        agent = create_agent(model, [], middleware=[compression])
        agent.invoke({"messages": list(history)}, thread("a"))
        history.append({"role": "assistant", "content": f"Read {n}."})
        requests += model.requests
    FACTS["passed again"] = [unbroken(requests), len(requests)]


def with_deepagents():
    """Ours takes the place of deepagents' own summarizer; a sub-agent has a session of its own."""
    compression = ContextCompression(
        store="deep", settings={"token_budget": 24_000}, name="SummarizationMiddleware"
    )
    task = {"description": "Read the logs.", "subagent_type": "general-purpose"}
    answers = [calling("task", **task), *script(), *script()]
    model = Scripted(answers=answers)
    agent = create_deep_agent(
        model=model, tools=[logs], middleware=[compression], checkpointer=InMemorySaver()
    )
    state = agent.invoke({"messages": [HumanMessage("Read all.")]}, thread("deep"))
    calls = [m for m in state["messages"] if m.type == "tool"]
    FACTS["deepagents"] = {
        "own summaries": "_summarization_event" in str(agent.get_graph().nodes)
        or "_summarization_event" in state,
        "logs in the state": sum(m.content in map(log, range(12)) for m in calls),
        "sessions": len(compression.sessions.store.sessions()),
        "largest": max(sum(map(len, texts(request))) for request in model.requests),
    }


def documented():
    """The blocks of the page run, one after the other, and the example does."""
    model = Scripted(answers=script(1) + script(1) + script(1), model_name="claude-sonnet-5-2")
    names = {"model": model, "tools": [logs]}
    page = (ROOT / "docs" / "frameworks" / "langchain.md").read_text("utf-8")
    answers = []
    for number, block in enumerate(re.findall(r"(?s)```python\n(.*?)```", page)):
        exec(block, names)
        asked = {"messages": [HumanMessage("Read.")]}
        answers.append(names["agent"].invoke(asked, thread(f"page-{number}"))["messages"][-1].text)
    FACTS["page"] = answers
    example = runpy.run_path(str(ROOT / "examples" / "langchain_agent.py"))
    answers = [*(calling("read_log", build=n) for n in range(20)), AIMessage("All fail.")]
    model = Scripted(answers=answers)
    FACTS["example"] = [
        example["ask"](model, "Why?"),
        max(sum(map(len, texts(request))) for request in model.requests),
    ]


in_a_graph_of_ones_own()
documented()
edited_blocks()
apart()
asynchronously()
refused()
passed_again()
with_deepagents()
print(json.dumps(FACTS))
