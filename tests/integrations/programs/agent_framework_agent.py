# pyright: basic, reportMissingImports=false
# The framework is installed in an environment of its own.
"""Agents with a fake model: `ours` or `own` over 100 tool steps, or all the `rest`."""

import asyncio
import json
import logging
import re
import runpy
import sys
import time
from pathlib import Path

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    InMemoryHistoryProvider,
    Message,
    ResponseStream,
    included_messages,
    tool,
)
from agent_runs import TASK, WINDOW, AgentRun, log

from context_compression import Session, Store
from context_compression.integrations.agent_framework import (
    ContextCompression,
    ContextCompressionStrategy,
)

HOW = sys.argv[1]
ROOT = Path(__file__).parents[3]
SMALL = {"token_budget": 16_000, "manual_target_usage": 0.5}  # messages are edited, none leaves
PICTURE = Content.from_data(b"\x89PNG\r\n\x1a\n" + bytes(40), "image/png")
THOUGHT = Content.from_text_reasoning(text="Look.", protected_data="c2lnbmVk")
logging.disable(logging.ERROR)


class Fake(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    """The model of a run.

    Attributes:
        sent: the messages of each request.
        refuses: the numbers of requests that are too long for it.
    """

    def __init__(self, run, refuses=()):
        super().__init__()
        self.run, self.sent, self.refuses = run, [], {*refuses}
        self.function_invocation_configuration["max_iterations"] = 200

    def _inner_get_response(self, *, messages, stream, options, **_):
        if not stream:
            return self._answered(messages, options)

        async def updates():
            response = await self._answered(messages, options)
            yield ChatResponseUpdate(role="assistant", contents=response.messages[0].contents)

        return ResponseStream(updates(), finalizer=ChatResponse.from_updates)

    async def _answered(self, messages, options):
        self.sent.append(messages)
        if len(self.sent) in self.refuses:
            raise ValueError("This model's maximum context length is 60000 tokens.")
        contents = [content for message in messages for content in message.contents]
        call = self.run.next(
            [*map(shown, messages)],
            calls=[c.call_id for c in contents if c.type == "function_call"],
            results=[c.call_id for c in contents if c.type == "function_result"],
        )
        answer = [Content.from_text("Done.")]
        if call is not None:
            name, arguments = called(call, [each.name for each in options["tools"]])
            arguments = json.dumps(arguments)
            answer = [THOUGHT, Content.from_function_call(call.id, name, arguments=arguments)]
        return ChatResponse(messages=[Message("assistant", answer)])


def called(call, names):
    """The tool of the agent, and its arguments; that of the example has another name."""
    example = call.name not in names
    return ("read_log", {"build": call.arguments["n"]}) if example else (call.name, call.arguments)


def shown(message):
    contents = [c.to_dict(exclude={"items", "id"}) for c in message.contents]
    return json.dumps([message.role, contents], default=repr)


@tool
def logs(n: int):
    """The log of a build, and a picture of it."""
    return log(n)


def agent_of(*providers, steps=12, refuses=(), name="builder", **options):
    """An agent whose model reads some logs."""
    client = Fake(AgentRun(steps=steps, restores=steps == 100 and HOW == "ours"), refuses)
    return Agent(
        client, "You fix builds.", name=name, tools=[logs], 
        context_providers=[InMemoryHistoryProvider(), *providers],
        **options,
    )  # fmt: skip


def history(session):
    return session.state["in_memory"]["messages"]


def own():
    """The framework's own strategy, which older versions do not have."""
    from agent_framework import CharacterEstimatorTokenizer, ContextWindowCompactionStrategy

    strategy = ContextWindowCompactionStrategy(
        max_context_window_tokens=WINDOW, max_output_tokens=4_000,
        tokenizer=CharacterEstimatorTokenizer(),
    )  # fmt: skip
    return {"compaction_strategy": strategy}


async def hundred():
    ours = ContextCompression(settings={"token_budget": WINDOW})
    options = own() if HOW == "own" else {}
    agent = agent_of(*[ours][: HOW == "ours"], steps=100, **options)
    session = agent.create_session()
    began = time.perf_counter()
    await agent.run(TASK, session=session)
    seconds = time.perf_counter() - began
    report = agent.client.run.report(ours.session_of(agent, session))
    return {
        **report, "seconds": seconds / report["requests"], "history": len(history(session)),
        "included": len(included_messages(history(session))),
        "method": "ContextWindowCompactionStrategy",
    }  # fmt: skip


async def kept():
    """Pictures, reasoning, names and ids, of messages nobody edited and of others; later turns."""
    ours = ContextCompression(store="kept", settings=SMALL)
    agent = agent_of(ours)
    session = agent.create_session()
    odd = Content.from_text("?", additional_properties={"of": {1}})
    strange = Content("text_reasoning", text="", additional_properties={"of": {1}})
    given = [
        Message("user", [TASK, PICTURE], author_name="Ann", message_id="first"),
        Message("assistant", [strange]),
        Message("user", [odd]),
        Message("assistant", [
            Content.from_function_call("p0", "logs", arguments='{"n": 50}'),
            Content.from_function_call("p1", "logs", arguments='{"n": 51}'),
        ]),
        Message("tool", [
            Content.from_function_result("p0", result=[Content.from_text(log(50)), PICTURE]),
            Content.from_function_result("p1", result=log(51)),
        ], author_name="logs", message_id="both"),
        Message("user", ["Go on."]),
    ]  # fmt: skip
    await agent.run(given, session=session)
    ours_of, view = ours.session_of(agent, session), agent.client.sent[-1]
    contents = {id(c): c for message in history(session) for c in message.contents}
    both = next(message for message in view if message.message_id == "both")
    report = {
        "first": [view[0].author_name, view[0].message_id],
        "same": sum(id(c) in contents for message in view for c in message.contents),
        "edited": sum(id(c) not in contents for message in view for c in message.contents),
        "both": [both.author_name, len(both.contents), len(both.contents[1].result)],
        "pictures": sum(c is PICTURE for m in view for c in m.contents)
        + sum(c is PICTURE for c in both.contents[0].items or ()),
        "odd": sum(odd is c or strange is c for message in view for c in message.contents),
        "warnings": len(ours_of.status().warnings),
        "compressed": ours_of.status().compressions,
    }
    await agent.run("And again.", session=session)
    later = agent.client.sent[-1]
    return {
        **report, "history": len(history(session)),
        "continued": [*map(shown, later[: len(view)])] == [*map(shown, view)],
    }  # fmt: skip


async def apart():
    """Two sessions, a second agent in one of them, and two runs without one."""
    ours = ContextCompression(store="apart", settings=SMALL)
    agent, other = agent_of(ours, steps=1), agent_of(ours, steps=1, name="reviewer")
    one, two = agent.create_session(), agent.create_session()
    for running, session in (
        (agent, one),
        (agent, two),
        (other, two),
        (agent, None),
        (other, None),
    ):
        await running.run(TASK, session=session)
    return {"sessions": len([*Store("apart").sessions()])}


async def streamed():
    """The requests of a streamed run, and of the same run at once."""
    requests = []
    for store in ("store-a", "store-b"):
        agent = agent_of(ContextCompression(store=store, settings=SMALL))
        session = agent.create_session(session_id="one")
        if store == "store-a":
            await agent.run(TASK, session=session)
        else:
            [update async for update in agent.run(TASK, session=session, stream=True)]
        sent = [[*map(shown, messages)] for messages in agent.client.sent]
        requests.append(json.dumps(sent).replace(store, "store"))
    return {"same": requests[0] == requests[1]}


async def refused():
    """Requests that the model finds too long: one, and then two, one after the other."""
    agent = agent_of(ContextCompression(store="refused"), refuses=(11,))
    await agent.run(TASK)
    sizes = [sum(map(len, map(shown, messages))) for messages in agent.client.sent]
    twice = agent_of(ContextCompression(store="twice"), refuses=(11, 12))
    try:
        await twice.run(TASK)
    except ValueError:
        return {"again": sizes[11] / sizes[10], "requests": len(twice.client.sent)}


async def of_service():
    """A conversation that the service keeps: requests hold only what is new."""
    agent = agent_of(ContextCompression(store="service", settings=SMALL), steps=1)
    session = agent.get_session(service_session_id="conv_1")
    await agent.run(TASK, session=session)
    return {"recorded": len([*Store("service").sessions()])}


async def each_call():
    """A history that is saved and loaded around each request."""
    ours = ContextCompression(store="each", settings=SMALL)
    agent = agent_of(ours, require_per_service_call_history_persistence=True)
    session = agent.create_session()
    await agent.run(TASK, session=session)
    status = ours.session_of(agent, session).status()
    return {"history": len(history(session)), "compressed": status.compressions}


async def alone():
    """The strategy without the provider."""
    strategy = ContextCompressionStrategy(Session("alone", "one", settings=SMALL))
    agent = agent_of(compaction_strategy=strategy)
    session = agent.create_session()
    await agent.run(TASK, session=session)
    await agent.run("And again.", session=session)
    return {
        "history": len(history(session)), "unpaired": [*agent.client.run.unpaired],
        "compressed": strategy.session.status().compressions,
    }  # fmt: skip


async def window():
    """The context window of the model that is asked."""
    ours = ContextCompression(store="window")
    agent = agent_of(ours, steps=0)
    session, agent.client.model = agent.create_session(), "gpt-4o"
    await agent.run(TASK, session=session)
    return ours.session_of(agent, session).status().usage.total_budget


async def documented():
    """The example and the blocks of the page run."""
    fake = Fake(AgentRun(steps=30, restores=False))
    example = runpy.run_path(str(ROOT / "examples" / "agent_framework_agent.py"))
    page = (ROOT / "docs" / "frameworks" / "agent-framework.md").read_text("utf-8")
    names = {"client": Fake(AgentRun(steps=1)), "tools": [logs]}
    for block in re.findall(r"(?s)```python\n(.*?)```", page):
        await asyncio.to_thread(exec, block, names)  # a block runs an event loop of its own
    alone = await names["agent"].run("?")
    return {
        "answer": await example["ask"](fake, "Why?"), "largest": fake.run.largest,
        "page": [names["response"].text, alone.text],
    }  # fmt: skip


async def rest():
    return {
        "kept": await kept(), "apart": await apart(), "streamed": await streamed(),
        "refused": await refused(), "service": await of_service(), "each": await each_call(),
        "alone": await alone(), "documented": await documented(), "window": await window(),
    }  # fmt: skip


print(json.dumps(asyncio.run(rest() if HOW == "rest" else hundred())))
