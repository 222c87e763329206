# pyright: basic, reportMissingImports=false
# LangChain is installed in an environment of its own.
"""An agent of LangChain over 100 tool steps, with our middleware or with LangChain's own.

python langchain_agent.py ours|own
"""

import json
import sys
import time

from agent_runs import TASK, WINDOW, AgentRun, log
from langchain.agents import create_agent
from langchain.tools import tool
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from context_compression.integrations.langchain import ContextCompression

[HOW] = sys.argv[1:]
RUN = AgentRun(restores=HOW == "ours")


class Fake(BaseChatModel):
    """A model that does what `AgentRun` says."""

    @property
    def _llm_type(self):
        return "fake"

    def bind_tools(self, tools, **options):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **options):
        texts = [f"{m.type}: {m.text}\n{getattr(m, 'tool_calls', '')}" for m in messages]
        calls = [call["id"] for m in messages if isinstance(m, AIMessage) for call in m.tool_calls]
        results = [m.tool_call_id for m in messages if isinstance(m, ToolMessage)]
        call = RUN.next(texts, calls=calls, results=results)
        made = [{"id": call.id, "name": call.name, "args": call.arguments}] if call else []
        answer = AIMessage("Looking." if call else "Done.", tool_calls=made)
        return ChatResult(generations=[ChatGeneration(message=answer)])


@tool
def logs(n: int) -> str:
    """The log of a build."""
    return log(n)


compression = ContextCompression(
    "store", settings={"token_budget": WINDOW}, model="claude-sonnet-4-5"
)
agent = create_agent(Fake(), [logs], middleware=[compression], system_prompt="You fix builds.")
began = time.perf_counter()
state = agent.invoke({"messages": [HumanMessage(TASK)]}, {"configurable": {"thread_id": "build"}})
seconds = (time.perf_counter() - began) / RUN.requests
session = compression.sessions["build"]
whole = sum(m.content == log(n) for m in state["messages"] if m.type == "tool" for n in range(100))
print(json.dumps(RUN.report(session) | {"seconds": seconds, "whole": whole}))
