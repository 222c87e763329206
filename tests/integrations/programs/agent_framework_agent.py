# pyright: basic, reportMissingImports=false
# The framework is installed in an environment of its own.
"""An agent of Agent Framework over 100 tool steps, with our provider or with its own strategy."""

import asyncio
import json
import logging
import sys
import time

from agent_framework import (
    Agent,
    BaseChatClient,
    CharacterEstimatorTokenizer,
    ChatMiddlewareLayer,
    ChatResponse,
    Content,
    ContextWindowCompactionStrategy,
    FunctionInvocationLayer,
    Message,
    tool,
)
from agent_runs import TASK, WINDOW, AgentRun, log

from context_compression.integrations.agent_framework import ContextCompression

HOW = sys.argv[1]
logging.disable(logging.WARNING)


class Fake(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    """The model of a run."""

    def __init__(self, run: AgentRun, **kwargs) -> None:
        super().__init__(**kwargs)
        self.run = run
        self.function_invocation_configuration["max_iterations"] = 200

    def _inner_get_response(self, *, messages, stream, options, **_):
        async def respond():
            contents = [content for message in messages for content in message.contents]
            call = self.run.next(
                [json.dumps([m.role, [c.to_dict() for c in m.contents]]) for m in messages],
                calls=[c.call_id for c in contents if c.type == "function_call"],
                results=[c.call_id for c in contents if c.type == "function_result"],
            )
            if call is None:
                answer = Content.from_text("Done.")
            else:
                answer = Content.from_function_call(
                    call.id, call.name, arguments=json.dumps(call.arguments)
                )
            return ChatResponse(messages=[Message("assistant", [answer])])

        return respond()


@tool
def logs(n: int) -> str:
    """The log of a build."""
    return log(n)


async def main() -> None:
    run = AgentRun(restores=HOW == "ours")
    ours = ContextCompression(settings={"token_budget": WINDOW})
    own = ContextWindowCompactionStrategy(
        max_context_window_tokens=WINDOW,
        max_output_tokens=4_000,
        tokenizer=CharacterEstimatorTokenizer(),
    )
    agent = Agent(
        Fake(run),
        "You fix builds.",
        tools=[logs],
        context_providers=[ours] if HOW == "ours" else [],
        compaction_strategy=own if HOW == "own" else None,
    )
    session = agent.create_session()
    began = time.perf_counter()
    await agent.run(TASK, session=session)
    report = {"seconds": time.perf_counter() - began}
    report["history"] = len(session.state["in_memory"]["messages"])
    print(json.dumps({**run.report(ours.session_of(agent, session)), **report}))


asyncio.run(main())
