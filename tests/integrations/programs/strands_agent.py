# pyright: basic, reportMissingImports=false
# The framework is installed in an environment of its own.
"""An agent of Strands over 100 tool steps, with our manager or with one of its own."""

import json
import logging
import sys
import time

from agent_runs import TASK, WINDOW, AgentRun, log
from strands import Agent, tool
from strands.agent.conversation_manager import (
    NullConversationManager,
    SlidingWindowConversationManager,
)
from strands.models import Model

from context_compression import Session
from context_compression.integrations.strands import CompressingConversationManager

HOW = sys.argv[1]
logging.disable(logging.WARNING)


class Fake(Model):
    """The model of a run; the ids and names of its calls are those of the run."""

    def __init__(self, run: AgentRun) -> None:
        self.run = run

    def get_config(self):
        return {}

    def update_config(self, **_): ...

    def structured_output(self, *_, **__): ...

    async def count_tokens(self, *_, **__):
        return 0

    async def stream(self, messages, tool_specs=None, system_prompt=None, **_):
        blocks = [block for message in messages for block in message["content"]]
        call = self.run.next(
            [json.dumps({"role": m["role"], "content": m["content"]}, default=str) for m in messages],
            calls=[b["toolUse"]["toolUseId"] for b in blocks if "toolUse" in b],
            results=[b["toolResult"]["toolUseId"] for b in blocks if "toolResult" in b],
        )
        yield {"messageStart": {"role": "assistant"}}
        if call is None:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": "Done."}}}
        else:
            start = {"toolUseId": call.id, "name": call.name}
            yield {"contentBlockStart": {"start": {"toolUse": start}}}
            given = json.dumps(call.arguments)
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": given}}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if call else "end_turn"}}


@tool
def logs(n: int) -> str:
    """The log of a build."""
    return log(n)


OURS = CompressingConversationManager(settings={"token_budget": WINDOW})
OWN = SlidingWindowConversationManager(window_size=40, per_turn=True, pin_first=1)
MANAGER = {"ours": OURS, "own": OWN, "nothing": NullConversationManager()}[HOW]

run = AgentRun(restores=HOW == "ours")
agent = Agent(model=Fake(run), tools=[logs], conversation_manager=MANAGER, callback_handler=None,
              system_prompt="You fix builds.")
began = time.perf_counter()
agent(TASK)
report = {"seconds": time.perf_counter() - began, "history": len(agent.messages)}
session = OURS.session_of(agent)
print(json.dumps({**run.report(session), **report}))
