# pyright: basic, reportMissingImports=false
# The framework is installed in an environment of its own.
"""Agents of Strands with a fake model: `ours` or `own` over 100 tool steps, or all the `rest`."""

import asyncio
import json
import logging
import re
import runpy
import sys
import time
from pathlib import Path

from agent_runs import TASK, WINDOW, AgentRun, log
from strands import Agent, tool
from strands.agent.conversation_manager import SlidingWindowConversationManager
from strands.models import Model
from strands.session import FileSessionManager
from strands.types.exceptions import ContextWindowOverflowException
from strands.vended_plugins.context_injector import ContextInjector

from context_compression import Store
from context_compression.integrations.strands import ContextCompression

HOW = sys.argv[1]
ROOT = Path(__file__).parents[3]
SMALL = {"token_budget": 16_000, "manual_target_usage": 0.5}  # messages are edited, none leaves
PICTURE = {"image": {"format": "png", "source": {"bytes": b"\x89PNG\r\n\x1a\n" + bytes(40)}}}
THOUGHT = {"reasoningContent": {"reasoningText": {"text": "Look.", "signature": "c2lnbmVk"}}}
logging.disable(logging.ERROR)


class Fake(Model):
    """The model of a run.

    Attributes:
        sent: the messages of each request.
        refuses: the numbers of requests that are too long for it.
    """

    def __init__(self, run, refuses=()):
        self.run, self.sent, self.refuses, self.config = run, [], {*refuses}, {}

    def get_config(self):
        return self.config

    def update_config(self, **_): ...

    def structured_output(self, *_, **__): ...

    async def count_tokens(self, *_, **__):
        return 0

    async def stream(self, messages, tools=(), *_, **__):
        self.sent.append(messages)
        if len(self.sent) in self.refuses:
            raise ContextWindowOverflowException("refused")
        blocks = [block for message in messages for block in message["content"]]
        call = self.run.next(
            [*map(shown, messages)],
            calls=[b["toolUse"]["toolUseId"] for b in blocks if "toolUse" in b],
            results=[b["toolResult"]["toolUseId"] for b in blocks if "toolResult" in b],
        )
        yield {"messageStart": {"role": "assistant"}}
        if call is None:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": "Done."}}}
        else:
            name, arguments = called(call, [spec["name"] for spec in tools])
            start = {"toolUseId": call.id, "name": name}
            yield {"contentBlockStart": {"start": {"toolUse": start}}}
            arguments = json.dumps(arguments)
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": arguments}}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if call else "end_turn"}}


def called(call, names):
    """The tool of the agent, and its arguments; that of the example has another name."""
    example = call.name not in names
    return ("read_log", {"build": call.arguments["n"]}) if example else (call.name, call.arguments)


def shown(message):
    return json.dumps([message["role"], message["content"]], default=repr)


@tool
def logs(n: int) -> str:
    """The log of a build."""
    return log(n)


def agent_of(manager, steps=12, refuses=(), **options):
    """An agent whose model reads some logs."""
    fake = Fake(AgentRun(steps=steps, restores=steps == 100 and HOW == "ours"), refuses)
    return Agent(
        model=fake, tools=[logs], system_prompt="You fix builds.", callback_handler=None,
        conversation_manager=manager, **options,
    )  # fmt: skip


def hundred():
    ours = ContextCompression(settings={"token_budget": WINDOW})
    own = SlidingWindowConversationManager(window_size=40, per_turn=True, pin_first=1)
    agent = agent_of(ours if HOW == "ours" else own, steps=100)
    began = time.perf_counter()
    agent(TASK)
    seconds = time.perf_counter() - began
    report = agent.model.run.report(ours.session_of(agent))
    return {
        **report, "seconds": seconds / report["requests"], "history": len(agent.messages),
        "method": "SlidingWindowConversationManager",
    }  # fmt: skip


def kept():
    """Pictures, reasoning, ids and metadata, of messages that nobody edited and of others."""
    ours = ContextCompression(store="kept", settings=SMALL)
    beginning = [
        {"role": "user", "content": [{"text": TASK}, PICTURE]},
        {"role": "assistant", "content": [THOUGHT, {"text": "I see."}]},
        {"role": "user", "content": [{"text": "?", "of": {1}}]},  # no JSON, so it is unknown
        {"role": "assistant", "content": [{"text": "So?"}]},
    ]
    agent = agent_of(ours, messages=beginning)
    agent([{"text": "Go on."}, PICTURE])
    last = agent.model.sent[-1]
    blocks = [block for message in last for block in message["content"]]
    session = ours.session_of(agent)
    return {
        "pictures": [b["image"]["source"]["bytes"] == PICTURE["image"]["source"]["bytes"]
                     for b in blocks if "image" in b],
        "thoughts": THOUGHT in agent.model.sent[0][1]["content"],
        "unknown": [b["of"] == {1} for b in blocks if "of" in b],
        "warnings": len(session.status().warnings),
        "compressed": session.status().compressions,
        "history": len(agent.messages),
        "tracked": all("tracking_id" in m for m in agent.messages[4:]),
        "direct": agent.tool.context_restore(query="v0_77")["content"][0]["text"],
    }  # fmt: skip


def saved():
    """A conversation that is continued later, by an agent and a manager made anew."""

    def again(manager):
        return agent_of(manager, session_manager=FileSessionManager("build-7", storage_dir="saved"))

    own = again(SlidingWindowConversationManager(window_size=8, per_turn=True))
    own(TASK)
    ours = again(ContextCompression(store="again", settings=SMALL))
    taken = len(ours.messages)
    ours("Once more.")
    later = again(ContextCompression(store="again", settings=SMALL))
    later("And again.")
    before, after = ours.model.sent[-1], later.model.sent[0]
    return {
        "own": len(own.messages), "taken": taken, "later": len(later.messages),
        "continued": [*map(shown, after[: len(before)])] == [*map(shown, before)],
        "sessions": [*Store("again").sessions()],
    }  # fmt: skip


def apart():
    """Two conversations, and two agents in one of them, with one manager."""
    ours = ContextCompression(store="apart", settings=SMALL)
    sessions = [FileSessionManager(name, storage_dir="two") for name in ("a", "b")]
    agents = [
        agent_of(ours, session_manager=sessions[0]),
        agent_of(ours, session_manager=sessions[1]),
        agent_of(ours, session_manager=sessions[1], agent_id="reviewer"),
        agent_of(ours),
        agent_of(ours),
    ]
    agents[0](TASK)
    return {
        "sessions": len({ours.session_of(agent).id for agent in agents}),
        "found": [a.tool.context_restore(query="v0_77")["content"][0]["text"] for a in agents[:2]],
    }


async def streamed():
    """The requests of a run in an event loop, and of the same run without one."""

    def agent_in(store):
        return agent_of(ContextCompression(store=store, settings=SMALL, conversation_id="one"))

    plain, agent = agent_in("store-a"), agent_in("store-b")
    await asyncio.to_thread(plain, TASK)
    events = [event async for event in agent.stream_async(TASK)]
    requests = [shown({"role": "", "content": each}) for each in plain.model.sent]
    same = [shown({"role": "", "content": each}) for each in agent.model.sent]
    return {
        "same": same == [text.replace("store-a", "store-b") for text in requests],
        "streamed": len(events) > len(same),
    }


def refused():
    """Requests that the model finds too long: one, and then two, one after the other."""
    agent = agent_of(ContextCompression(store="refused"), refuses=(11,))
    agent(TASK)
    sizes = [sum(map(len, map(shown, messages))) for messages in agent.model.sent]
    twice = agent_of(ContextCompression(store="twice"), refuses=(11, 12))
    try:
        twice(TASK)
    except ContextWindowOverflowException:
        return {"again": sizes[11] / sizes[10], "requests": len(twice.model.sent)}


def injected():
    """What a plugin adds to each request is sent, and is no part of the history."""
    ours = ContextCompression(store="injected", settings=SMALL)
    times = iter(range(1_000))
    clock = ContextInjector(lambda _: f"The time is {next(times)}.", trigger="everyTurn")
    agent = agent_of(ours, plugins=[clock])
    agent(TASK)
    recorded = json.dumps(ours.session_of(agent).view())
    return {
        "sent": ["The time is" in shown(messages[-1]) for messages in agent.model.sent],
        "recorded": "The time is" in recorded,
        "compressed": ours.session_of(agent).status().compressions,
    }


def windows():
    """The context window of the model that is asked, as its name or its configuration says."""
    named, configured = ContextCompression(store="windows"), ContextCompression(store="windows")
    agents = [agent_of(named, steps=0), agent_of(configured, steps=0)]
    agents[0].model.config = {"model_id": "gpt-4o"}
    agents[1].model.config = {"model_id": "gpt-4o", "context_window_limit": 50_000}
    for agent in agents:
        agent(TASK)
    sessions = [named.session_of(agents[0]), configured.session_of(agents[1])]
    return [session.status().usage.total_budget for session in sessions]


def documented():
    """The example and the blocks of the page run."""
    fake = Fake(AgentRun(steps=30, restores=False))
    example = runpy.run_path(str(ROOT / "examples" / "strands_agent.py"))["agent_with"](fake)
    answer = str(example("Why?")).strip()
    page = (ROOT / "docs" / "frameworks" / "strands.md").read_text("utf-8")
    names = {"model": Fake(AgentRun(steps=1)), "tools": [logs]}
    for block in re.findall(r"(?s)```python\n(.*?)```", page):
        exec(block, names)
    return {"answer": answer, "largest": fake.run.largest, "page": str(names["agent"]("?")).strip()}


def rest():
    return {
        "kept": kept(), "saved": saved(), "apart": apart(), "refused": refused(),
        "streamed": asyncio.run(streamed()), "injected": injected(),
        "documented": documented(), "windows": windows(),
    }  # fmt: skip


report = rest() if HOW == "rest" else hundred()
print("\n" + json.dumps(report))
