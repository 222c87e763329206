# pyright: basic, reportMissingImports=false
# The framework is installed in an environment of its own.
"""Agents of ADK with a fake model: `ours` or `own` over 100 tool steps, or all the `rest`."""

import asyncio
import json
import logging
import re
import runpy
import sys
import time
import warnings
from itertools import pairwise
from pathlib import Path

from agent_runs import TASK, WINDOW, AgentRun, log
from google.adk.agents import LlmAgent, RunConfig, SequentialAgent
from google.adk.apps import App
from google.adk.apps.app import EventsCompactionConfig
from google.adk.apps.llm_event_summarizer import LlmEventSummarizer
from google.adk.models import BaseLlm, LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import InMemoryRunner
from google.adk.tools import google_search
from google.genai.types import (
    Blob,
    Content,
    FunctionCall,
    GenerateContentResponseUsageMetadata,
    Part,
)
from pydantic import BaseModel, PrivateAttr

from context_compression.integrations.google_adk import CONTENTS, ContextCompression

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

HOW = sys.argv[1]
ROOT = Path(__file__).parents[3]
SMALL = {"token_budget": 16_000}
SIGNATURE = b"signed \xff"
PICTURE = Part(inline_data=Blob(mime_type="image/png", data=b"\x89PNG\r\n\x1a\n" + bytes(40)))
ODD = Part(function_response={"id": "x", "name": "odd", "response": {"at": {1}, "raw": b"\xff"}})


class Fake(BaseLlm):
    """The model of a run; it keeps the requests."""

    _run: AgentRun = PrivateAttr()
    _sent: list = PrivateAttr(default_factory=list)
    _refuses: set = PrivateAttr(default_factory=set)

    def __init__(self, run, refuses=()):
        super().__init__(model="fake")
        self._run, self._refuses = run, {*refuses}

    async def generate_content_async(self, llm_request, stream=False):
        contents = llm_request.contents
        self._sent.append((contents, llm_request.config.tools or []))
        if len(self._sent) in self._refuses:
            raise ValueError("The input token count (70000) exceeds the maximum of 60000.")
        parts = [part for content in contents for part in content.parts or []]
        call = self._run.next(
            [*map(shown, contents)],
            calls=[part.function_call.id for part in parts if part.function_call],
            results=[part.function_response.id for part in parts if part.function_response],
        )
        part = Part(text="Done.")
        if call is not None:
            name, arguments = called(call, llm_request.tools_dict)
            function_call = FunctionCall(id=call.id, name=name, args=arguments)
            part = Part(function_call=function_call, thought_signature=SIGNATURE)
        usage = GenerateContentResponseUsageMetadata(
            prompt_token_count=sum(map(len, map(shown, contents))) // 3
        )
        yield LlmResponse(content=Content(role="model", parts=[part]), usage_metadata=usage)


class Summary(BaseLlm):
    """The model of ADK's own summarizer."""

    async def generate_content_async(self, llm_request, stream=False):
        text = f"The user wants this: {TASK} Some logs were read."
        yield LlmResponse(content=Content(role="model", parts=[Part(text=text)]))


def called(call, names):
    """The tool of the agent, and its arguments; that of the example has another name."""
    example = call.name not in names
    return ("read_log", {"build": call.arguments["n"]}) if example else (call.name, call.arguments)


def shown(content):
    return content.model_dump_json(exclude_none=True, fallback=repr)


def logs(n: int) -> str:
    """The log of a build."""
    return log(n)


def agent_of(name="builder", steps=12, refuses=(), **options):
    """An agent whose model reads some logs."""
    fake = Fake(AgentRun(steps=steps, restores=steps == 100 and HOW == "ours"), refuses)
    options = {"tools": [logs], **options}
    return LlmAgent(name=name, model=fake, instruction="You fix builds.", **options)


class Conversation:
    """A session of ADK with an agent."""

    def __init__(self, agent, *plugins, user="ann", id="one", **options):
        app = App(name="builds", root_agent=agent, plugins=[*plugins], **options)
        self.runner, self.of = InMemoryRunner(app=app), {"user_id": user, "session_id": id}

    async def say(self, *parts):
        service, app = self.runner.session_service, {"app_name": "builds"}
        if not await service.get_session(**app, **self.of):
            await service.create_session(**app, **self.of)
        message, config = Content(role="user", parts=[*parts]), RunConfig(max_llm_calls=1000)
        running = self.runner.run_async(**self.of, new_message=message, run_config=config)
        seen = [event async for event in running]
        self.events = (await service.get_session(**app, **self.of)).events
        return seen


class Watch(BasePlugin):
    """Sees the contents before our plugin does, and the sessions of ours."""

    def __init__(self, ours):
        super().__init__("watch")
        self.ours, self.given, self.sessions = ours, [], set()

    async def before_model_callback(self, *, callback_context, llm_request):
        self.given, self.context = llm_request.contents, callback_context
        self.sessions.add(self.ours.session_of(callback_context).id)

    def session(self):
        return self.ours.session_of(self.context)


def own():
    """ADK's own compaction, which its newest versions do in the middle of a run."""
    compaction = EventsCompactionConfig(
        token_threshold=WINDOW * 3 // 4, event_retention_size=20,
        summarizer=LlmEventSummarizer(llm=Summary(model="fake")),
    )  # fmt: skip
    return {"events_compaction_config": compaction}


async def hundred():
    ours = ContextCompression(settings={"token_budget": WINDOW})
    watch, agent = Watch(ours), agent_of(steps=100)
    options = own() if HOW == "own" else {}
    conversation = Conversation(agent, watch, *[ours][: HOW == "ours"], **options)
    began = time.perf_counter()
    await conversation.say(Part(text=TASK))
    seconds = time.perf_counter() - began
    report = agent.model._run.report(watch.session())
    events = [event for event in conversation.events if event.content]
    return {
        **report, "seconds": seconds / report["requests"], "history": len(events),
        "method": "EventsCompactionConfig",
    }  # fmt: skip


async def kept():
    """Pictures, signatures and what is no JSON, on contents that nobody edited; later turns."""
    ours, agent = ContextCompression(store="kept", settings=SMALL), agent_of()
    watch = Watch(ours)
    conversation = Conversation(agent, watch, ours)
    await conversation.say(Part(text=TASK), PICTURE)
    (view, _), session = agent.model._sent[-1], watch.session()
    calls = [part for content in view for part in content.parts if part.function_call]
    report = {
        "pictures": sum(PICTURE.inline_data == p.inline_data for c in view for p in c.parts),
        "odd": json.dumps(CONTENTS.read(Content(role="user", parts=[ODD]))),
        "signed": all(part.thought_signature == SIGNATURE for part in calls),
        "same": sum(any(content is given for given in watch.given) for content in view),
        "edited": sum(all(content is not given for given in watch.given) for content in view),
        "compressed": session.status().compressions,
    }
    await conversation.say(Part(text="And again."))
    later, _ = agent.model._sent[-1]
    return {
        **report, "events": len([event for event in conversation.events if event.content]),
        "continued": [*map(shown, later[: len(view)])] == [*map(shown, view)],
    }  # fmt: skip


async def apart():
    """Two users with one session id each, and two agents in one session."""
    ours = ContextCompression(store="apart", settings=SMALL)
    watch = Watch(ours)
    for user in ("ann", "bob"):
        await Conversation(agent_of(steps=1), watch, ours, user=user).say(Part(text=TASK))
    both = SequentialAgent(
        name="both", sub_agents=[agent_of("one", steps=1), agent_of("two", steps=1)]
    )
    await Conversation(both, watch, ours, user="cas").say(Part(text=TASK))
    return {"sessions": len(watch.sessions)}


async def offered():
    """Whether agents of several kinds are offered our tool."""

    class Answer(BaseModel):
        text: str

    offers = {}
    kinds = {"tools": {}, "none": {"tools": []}, "search": {"tools": [google_search]},
             "schema": {"tools": [], "output_schema": Answer}}  # fmt: skip
    for kind, options in kinds.items():
        ours, agent = ContextCompression(store="offered"), agent_of(steps=0, **options)
        if kind == "search":
            agent.model.model = "gemini-2.5-flash"  # ADK looks at the name
        await Conversation(agent, ours).say(Part(text=TASK))
        [(_, tools)] = agent.model._sent
        offers[kind] = "context_restore" in str(tools)
    return offers


async def refused():
    """A request that the model finds too long ends the run; the next run sends much less."""
    ours, agent = ContextCompression(store="refused"), agent_of(refuses=(11,))
    conversation = Conversation(agent, ours)
    try:
        await conversation.say(Part(text=TASK))
    except ValueError:
        await conversation.say(Part(text="Go on."))
    sizes = [sum(map(len, map(shown, view))) for view, _ in agent.model._sent]
    return {"next": sizes[11] / sizes[10]}


def plain():
    """The requests of a run without an event loop, and of the same run with one."""
    requests = []
    for store in ("store-a", "store-b"):
        agent = agent_of()
        conversation = Conversation(agent, ContextCompression(store=store, settings=SMALL))
        if store == "store-a":
            asyncio.run(conversation.say(Part(text=TASK)))
        else:
            runner = conversation.runner
            service = runner.session_service
            asyncio.run(service.create_session(app_name="builds", **conversation.of))
            message = Content(role="user", parts=[Part(text=TASK)])
            list(runner.run(**conversation.of, new_message=message))
        sent = [[*map(shown, view)] for view, _ in agent.model._sent]
        requests.append(json.dumps(sent).replace(store, "store"))
    return {"same": requests[0] == requests[1]}


async def static():
    """An instruction that ADK puts behind the last response, beside a static one."""
    ours, agent = ContextCompression(store="static", settings=SMALL), agent_of()
    agent.static_instruction = Content(role="user", parts=[Part(text="You fix builds.")])
    agent.instruction = "Be quick."
    watch = Watch(ours)
    await Conversation(agent, watch, ours).say(Part(text=TASK))
    views = [[*map(shown, view)] for view, _ in agent.model._sent]
    pairs = [*pairwise(views)][1:]
    return {
        "last": all("Be quick." in view[-1] for view in views[1:]),
        "unbroken": sum(later[: len(view) - 1] == view[:-1] for view, later in pairs) / len(pairs),
        "recorded": "Be quick." in json.dumps(watch.session().view()),
        "compressed": watch.session().status().compressions,
    }


async def window():
    """The context window of the model that is asked."""
    ours, agent = ContextCompression(store="window"), agent_of(steps=0)
    watch, agent.model.model = Watch(ours), "gpt-4o"
    conversation = Conversation(agent, watch, ours)
    await conversation.say(Part(text=TASK))
    return watch.session().status().usage.total_budget


async def documented():
    """The example and the block of the page run."""
    fake = Fake(AgentRun(steps=30, restores=False))
    example = runpy.run_path(str(ROOT / "examples" / "google_adk_agent.py"))
    page = (ROOT / "docs" / "frameworks" / "google-adk.md").read_text("utf-8")
    [block] = re.findall(r"(?s)```python\n(.*?)```", page)
    names = {"model": Fake(AgentRun(steps=1)), "tools": [logs]}
    exec(block, names)
    events = await names["runner"].run_debug("?", quiet=True)
    return {
        "answer": await example["ask"](fake, "Why?"), "largest": fake._run.largest,
        "page": events[-1].content.parts[0].text,
    }  # fmt: skip


async def rest():
    return {
        "kept": await kept(), "apart": await apart(), "offered": await offered(),
        "refused": await refused(), "documented": await documented(), "window": await window(),
        "static": await static(),
    }  # fmt: skip


report = {**asyncio.run(rest()), "plain": plain()} if HOW == "rest" else asyncio.run(hundred())
print(json.dumps(report))
