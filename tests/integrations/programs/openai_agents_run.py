# pyright: basic, reportMissingImports=false
# The framework is installed in an environment of its own.
"""An agent of the OpenAI Agents SDK over 100 tool steps in ten runs, fitted by us or trimmed by it.

The first argument: `ours` (input filter), `both` (input filter and session), `own`, or `nothing`.
"""

import asyncio
import json
import sys
import time

from agent_runs import TASK, WINDOW, AgentRun, log
from agents import Agent, RunConfig, Runner, SQLiteSession, function_tool, set_tracing_disabled
from agents.extensions import ToolOutputTrimmer
from agents.testing import ModelStep, ScriptedModel
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseReasoningItem,
)
from openai.types.responses.response_reasoning_item import Summary

from context_compression.integrations.openai_agents import ContextCompression

HOW = sys.argv[1]
STEPS_OF_A_RUN = 10
set_tracing_disabled(True)
run = AgentRun(restores=HOW in ("ours", "both"))
pauses = 0


def answer(request):
    """What the model says: reasoning and a call; after ten calls, an answer to the user."""
    global pauses
    items = request.input
    if run.requests and run.requests == STEPS_OF_A_RUN * (pauses + 1):
        pauses += 1
        return [said(f"{run.requests} logs are read.")]
    call = run.next(
        [json.dumps(item) for item in items],
        calls=[item["call_id"] for item in items if item.get("type") == "function_call"],
        results=[item["call_id"] for item in items if item.get("type") == "function_call_output"],
    )
    if call is None:
        return [said("Done.")]
    thought = [Summary(type="summary_text", text=f"Now to {call.id}.")]
    reasoning = ResponseReasoningItem(
        id=f"rs_{call.id}", type="reasoning", summary=thought, encrypted_content=f"seal-{call.id}"
    )
    called = ResponseFunctionToolCall(
        id=f"fc_{call.id}", type="function_call", call_id=call.id, name=call.name,
        arguments=json.dumps(call.arguments), status="completed",
    )  # fmt: skip
    return [reasoning, called]


def said(text: str) -> ResponseOutputMessage:
    """A message of the model."""
    part = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(
        id=f"msg_{run.requests}", type="message", role="assistant", status="completed",
        content=[part],
    )  # fmt: skip


@function_tool
def logs(n: int) -> str:
    """The log of a build."""
    return log(n)


compression = ContextCompression(settings={"token_budget": WINDOW})
ours = compression.filter("thread-7")
session = compression.session("thread-7") if HOW == "both" else SQLiteSession("thread-7")
filter = {"own": ToolOutputTrimmer(), "nothing": None}.get(HOW, ours)
model = ScriptedModel([ModelStep.respond(answer) for _ in range(120)])
tools = [logs, compression.tool] if filter is ours else [logs]
agent = Agent(name="Builder", instructions="You fix builds.", tools=tools, model=model)

began = time.perf_counter()
said_by_user = TASK
while run.requests <= run.steps:
    Runner.run_sync(
        agent, said_by_user, session=session, run_config=RunConfig(call_model_input_filter=filter),
        max_turns=50,
    )  # fmt: skip
    said_by_user = "Go on."
seconds = time.perf_counter() - began
history = asyncio.run(session.get_items(limit=10_000))
read = [item["output"] for item in history if item.get("type") == "function_call_output"]
whole = sum(log(n) in read for n in range(run.steps))
report = {
    "seconds": seconds / run.requests,
    "runs": pauses + 1,
    "whole": whole,
    "items": len(history),
}
report["method"] = "ToolOutputTrimmer"
print(json.dumps(run.report(ours.session_of()) | report))
