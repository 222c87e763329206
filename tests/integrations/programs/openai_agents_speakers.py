# pyright: basic, reportMissingImports=false, reportArgumentType=false
# The framework is installed in an environment of its own.
"""What a person says to an agent of the OpenAI Agents SDK beside the prompts, and approvals of MCP.

Prints an object of facts.
"""

import asyncio
import json

from agents import (
    Agent,
    HostedMCPTool,
    RunConfig,
    Runner,
    RunState,
    function_tool,
    set_tracing_disabled,
)
from agents.testing import ScriptedModel
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)
from openai.types.responses.response_output_item import McpApprovalRequest
from provider import refused
from spoken import RULE, SETTINGS, STEPS, TASK, drop, logs, spoken

from context_compression.integrations.openai_agents import ContextCompression

set_tracing_disabled(True)
FACTS = {}
APPROVALS = 20


logs, drop = function_tool(logs), function_tool(needs_approval=True)(drop)


@function_tool
def ask_user(question: str) -> str:
    """Ask the user."""
    return RULE


def called(name, **arguments):
    """A response that calls a tool."""
    given = json.dumps(arguments)
    id = f"c_{name}_{given}"
    return [ResponseFunctionToolCall(type="function_call", call_id=id, name=name, arguments=given)]


def said(text):
    """A response that answers."""
    part = ResponseOutputText(type="output_text", text=text, annotations=[])
    about = {"id": f"m_{text}", "type": "message", "role": "assistant", "status": "completed"}
    return [ResponseOutputMessage(**about, content=[part])]


def wanted(number):
    """A response with which a server's tool asks for approval."""
    about = {"name": "drop", "arguments": "{}", "server_label": "db"}
    id = f"mcpr_{number}"
    return [McpApprovalRequest(id=id, type="mcp_approval_request", **about)]


def script(*asked):
    reads = [called("logs", n=n) for n in range(2 * STEPS)]
    return [*reads[:STEPS], *asked, *reads[STEPS:], said("Done.")]


def agent_of(steps, *tools):
    return Agent(name="Builder", model=ScriptedModel(steps),
                 tools=[logs, drop, ask_user, *tools])  # fmt: skip


async def run(name, asked, decide=None, *, tools=(), restored=False, later=False, formatter=None):
    """Run an agent until it asks, decide, and see what is left of it."""
    ours = ContextCompression(store=f"store-{name}", settings=SETTINGS)
    agent = agent_of(script(asked), *tools, ours.tool)
    settings = RunConfig(call_model_input_filter=ours.filter("t"), tool_error_formatter=formatter)
    options = {"run_config": settings, "max_turns": 200}
    result = await Runner.run(agent, TASK, **options)
    if decide is not None:
        state = result.to_state()
        for item in result.interruptions:
            decide(state, item)
        if restored:
            state = await RunState.from_json(agent, state.to_json())
        result = await Runner.run(agent, state, **options)
    assert result.final_output == "Done.", result
    requests = [call.input for call in agent.model.calls]
    if later:  # another process does not know the run any more
        ours = ContextCompression(store=f"store-{name}", settings=SETTINGS)
        agent = agent_of([said("Yes.")], ours.tool)
        given = [*result.to_input_list(), {"role": "user", "content": "And now?"}]
        settings = RunConfig(call_model_input_filter=ours.filter("t"))
        await Runner.run(agent, given, run_config=settings)
    marked = "said_by_user" in str(requests)
    FACTS[name] = spoken(ours.session_of("t")) | {"marked": marked}


def reject(**words):
    return lambda state, item: state.reject(item, **words)


def servers(answer):
    return HostedMCPTool(
        {"type": "mcp", "server_label": "db", "server_url": "https://example.com",
         "require_approval": "always"},
        on_approval_request=answer,
    )  # fmt: skip


async def approvals():
    """Many approvals of a server's tool among logs, with compressions between them."""
    ours = ContextCompression(store="approvals", settings={"token_budget": 12_000})
    steps = [step for n in range(APPROVALS) for step in (called("logs", n=n), wanted(n))]
    tool = servers(lambda request: {"approve": False, "reason": f"Not now. {RULE}"})
    agent = agent_of([*steps, said("Done.")], tool, ours.tool)
    settings = RunConfig(call_model_input_filter=ours.filter("t"))
    await Runner.run(agent, TASK, run_config=settings, max_turns=200)
    requests = [call.input for call in agent.model.calls]
    asks = [{i["id"] for i in r if i.get("type") == "mcp_approval_request"} for r in requests]
    answers = [
        {i["approval_request_id"] for i in r if i.get("type") == "mcp_approval_response"}
        for r in requests
    ]
    return {
        "requests": len(requests),
        "orphans": sum(asked != answered for asked, answered in zip(asks, answers, strict=True)),
        "refused": sum(bool(refused(request, "responses")) for request in requests),
        "compressions": ours.session_of("t").status().compressions,
        "with some": sum(map(bool, asks)),
    }


async def main():
    await run("rejected", called("drop", table="a"), reject(rejection_message=RULE))
    await run("rejected, restored", called("drop", table="a"), reject(rejection_message=RULE),
              restored=True)  # fmt: skip
    await run("rejected, then another process", called("drop", table="a"),
              reject(rejection_message=RULE), later=True)  # fmt: skip
    await run("rejected without a word", called("drop", table="a"), reject())
    await run("a program's words", called("drop", table="a"), reject(), formatter=lambda of: RULE)
    await run("approved", called("drop", table="a"), lambda state, item: state.approve(item))
    await run("answered", called("ask_user", question="What else?"))
    no = servers(lambda request: {"approve": False, "reason": RULE})
    await run("a server's tool rejected", wanted(1), tools=[no])
    print(json.dumps(FACTS | {"approvals": await approvals()}))


asyncio.run(main())
