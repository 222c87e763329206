# pyright: basic, reportMissingImports=false
# LangChain is installed in an environment of its own.
"""An agent of LangChain over 100 tool steps, with our middleware or with LangChain's own.

python langchain_agent.py ours|own|edits|trim
"""

import json
import sys
import time

from agent_runs import TASK, WINDOW, AgentRun, log
from langchain.agents import create_agent
from langchain.agents.middleware import (
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    SummarizationMiddleware,
    wrap_model_call,
)
from langchain.tools import tool
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage, trim_messages
from langchain_core.outputs import ChatGeneration, ChatResult

from context_compression.integrations.langchain import ContextCompression
from context_compression.tokens import Counter

HOW = sys.argv[1]
RUN = AgentRun(restores=HOW == "ours")
DUE = int(0.8 * WINDOW)


class Fake(BaseChatModel):
    """A model that does what `AgentRun` says."""

    @property
    def _llm_type(self):
        return "fake"

    def bind_tools(self, tools, **options):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **options):
        calls = [call["id"] for m in messages if isinstance(m, AIMessage) for call in m.tool_calls]
        results = [m.tool_call_id for m in messages if isinstance(m, ToolMessage)]
        call = RUN.next([*map(shown, messages)], calls=calls, results=results)
        made = [{"id": call.id, "name": call.name, "args": call.arguments}] if call else []
        answer = AIMessage("Looking." if call else "Done.", tool_calls=made)
        return ChatResult(generations=[ChatGeneration(message=answer)])


def shown(message):
    """A message as one text."""
    return f"{message.type}: {message.text}\n{getattr(message, 'tool_calls', '')}"


def counted(messages):
    """Tokens as we count them, so that LangChain's own methods have the same window."""
    return sum(map(Counter().text, map(shown, messages)))


@tool
def logs(n: int) -> str:
    """The log of a build."""
    return log(n)


@wrap_model_call
def trimmed(request, handler):
    """As the tutorials trim: the system prompt stays, and the newest messages."""
    newest = trim_messages(
        request.messages, max_tokens=DUE, token_counter=counted, start_on=("human", "ai")
    )
    return handler(request.override(messages=newest))


compression = ContextCompression(store="store", settings={"token_budget": WINDOW})
middleware = {
    "ours": lambda: compression,
    "own": lambda: SummarizationMiddleware(
        FakeListChatModel(responses=[f"The task: {TASK} Some logs were read."]),
        trigger=("tokens", DUE), keep=("tokens", DUE // 2), token_counter=counted,
        trim_tokens_to_summarize=None,  # else nothing is left of a run with one user message
    ),
    "edits": lambda: ContextEditingMiddleware(
        edits=[ClearToolUsesEdit(trigger=DUE)], token_counter=counted
    ),
    "trim": lambda: trimmed,
}[HOW]()  # fmt: skip
agent = create_agent(Fake(), [logs], middleware=[middleware], system_prompt="You fix builds.")
began = time.perf_counter()
state = agent.invoke({"messages": [HumanMessage(TASK)]}, {"configurable": {"thread_id": "build"}})
seconds = (time.perf_counter() - began) / RUN.requests
logs_read = {*map(log, range(RUN.steps))}
report = RUN.report(compression.session_of("build")) | {
    "method": "trim_messages" if HOW == "trim" else type(middleware).__name__,
    "seconds": seconds,
    "whole": sum(m.content in logs_read for m in state["messages"] if m.type == "tool"),
}
print(json.dumps(report))
