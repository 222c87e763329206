# pyright: basic, reportMissingImports=false
# The framework is installed in an environment of its own.
"""What a person says to agents of ADK beside the prompts; prints an object of facts."""

import asyncio
import json
import logging
import warnings

from google.adk.agents import LlmAgent, RunConfig
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import InMemoryRunner
from google.adk.tools import FunctionTool, LongRunningFunctionTool, ToolContext
from google.genai.types import Content, FunctionCall, FunctionResponse, Part
from pydantic import PrivateAttr
from spoken import RULE, SETTINGS, STEPS, TASK, drop, logs, spoken

from context_compression.integrations.google_adk import ContextCompression

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
FACTS = {}


class Scripted(BaseLlm):
    """A model that makes the calls of a list."""

    _parts: list = PrivateAttr()
    _sent: list = PrivateAttr(default_factory=list)

    def __init__(self, parts):
        super().__init__(model="fake")
        self._parts = parts

    async def generate_content_async(self, llm_request, stream=False):
        self._sent.append([c.model_dump_json(exclude_none=True) for c in llm_request.contents])
        yield LlmResponse(content=Content(role="model", parts=[self._parts.pop(0)]))


class Watch(BasePlugin):
    """Remembers the session of ours of the last request."""

    def __init__(self, ours):
        super().__init__("watch")
        self.ours = ours

    async def before_model_callback(self, *, callback_context, llm_request):
        self.session = self.ours.session_of(callback_context)


def call(name, **arguments):
    return Part(function_call=FunctionCall(name=name, args=arguments))


def script(*asked):
    reads = [call("logs", n=n) for n in range(2 * STEPS)]
    return [*reads[:STEPS], *asked, *reads[STEPS:], Part(text="Done.")]


def book(day: str, tool_context: ToolContext) -> dict:
    """Book a day, if the person who is asked agrees."""
    if not tool_context.tool_confirmation:
        tool_context.request_confirmation(hint="Which day?", payload={"wish": ""})
        tool_context.actions.skip_summarization = True
        return {"status": "a person is asked"}
    return {"status": "noted", "by the person": tool_context.tool_confirmation.payload["wish"]}


def ask_user(question: str) -> None:
    """Ask the user."""


def fetch(page: str) -> None:
    """Fetch a page, which takes long."""


TOOLS = [
    logs, book, FunctionTool(drop, require_confirmation=True), LongRunningFunctionTool(ask_user),
    LongRunningFunctionTool(fetch),
]  # fmt: skip


async def run(name, asked, answer=None, prompt=TASK):
    """Run an agent until it asks, answer it, and see what is left of the answer."""
    ours = ContextCompression(store=f"store-{name}", settings=SETTINGS)
    watch = Watch(ours)
    agent = LlmAgent(name="builder", model=Scripted(script(asked)), tools=TOOLS)
    runner = InMemoryRunner(app=App(name="builds", root_agent=agent, plugins=[watch, ours]))
    of = {"user_id": "ann", "session_id": "one"}
    await runner.session_service.create_session(app_name="builds", **of)

    async def say(*parts):
        given = {"new_message": Content(role="user", parts=[*parts]),
                 "run_config": RunConfig(max_llm_calls=200)}  # fmt: skip
        return [event async for event in runner.run_async(**of, **given)]

    events = await say(Part(text=prompt))
    if answer is not None:
        waiting = [
            c
            for e in events
            for c in e.get_function_calls()
            if c.id in (e.long_running_tool_ids or ())
        ][-1]
        response = FunctionResponse(id=waiting.id, name=waiting.name, response=answer)
        events = await say(Part(function_response=response))
    assert events[-1].content.parts[0].text == "Done.", events[-1]
    FACTS[name] = spoken(watch.session) | {"marked": "said_by_user" in str(agent.model._sent)}


async def handed_over(name, prompt):
    """One agent reads a rule and hands over to another, which ADK tells in the user's role."""
    ours = ContextCompression(store=f"store-{name}", settings=SETTINGS)
    watch = Watch(ours)
    other = LlmAgent(
        name="other",
        description="Goes on.",
        model=Scripted(script(call("logs", n=77))),
        tools=[logs],
    )
    first = LlmAgent(
        name="first",
        sub_agents=[other],
        tools=[logs],
        model=Scripted(
            [Part(text=f"I decide: {RULE}"), call("transfer_to_agent", agent_name="other")]
        ),
    )
    runner = InMemoryRunner(app=App(name="builds", root_agent=first, plugins=[watch, ours]))
    of = {"user_id": "ann", "session_id": "one"}
    await runner.session_service.create_session(app_name="builds", **of)
    for text in (TASK, prompt):
        message = Content(role="user", parts=[Part(text=text)])
        events = [
            e
            async for e in runner.run_async(
                **of, new_message=message, run_config=RunConfig(max_llm_calls=200)
            )
        ]
    assert events[-1].content.parts[0].text == "Done.", events[-1]
    assert any("For context:" in text for text in other.model._sent[-1]), "nothing was handed over"
    FACTS[name] = spoken(watch.session) | {"marked": "said_by_user" in str(other.model._sent)}


async def all_ways():
    await run("confirmed with words", call("book", day="x"),
              {"confirmed": True, "payload": {"wish": RULE}})  # fmt: skip
    wrapped = json.dumps({"confirmed": True, "payload": {"wish": RULE}})
    await run("confirmed by a client", call("book", day="x"), {"response": wrapped})
    await run("confirmed", call("drop", table="users"), {"confirmed": True})
    await run("rejected", call("drop", table="users"), {"confirmed": False})
    await run("answered", call("ask_user", question="What else?"), {"answer": RULE})
    await run("fetched", call("fetch", page="a"), {"text": RULE})
    await handed_over("another agent", "Go on with it.")
    await handed_over("the user after another agent", f"For context: {RULE}")


asyncio.run(all_ways())
print(json.dumps(FACTS))
