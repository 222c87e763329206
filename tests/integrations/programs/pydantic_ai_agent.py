# pyright: basic, reportMissingImports=false
# The framework is installed in an environment of its own.
"""A Pydantic AI agent over 100 tool steps: `ours`, or `own`, a processor that keeps the newest."""

import json
import sys
import time

from agent_runs import TASK, WINDOW, AgentRun, log
from pydantic_ai import Agent
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import UsageLimits

from context_compression.integrations.pydantic_ai import ContextCompression

run = AgentRun(restores=sys.argv[1] == "ours")


def shown(message: ModelMessage) -> str:
    """A message as one text, without its times."""
    texts = []
    for part in message.parts:
        texts.append(part.part_kind)
        if isinstance(part, ToolCallPart):
            texts.append(part.args_as_json_str())
        elif hasattr(part, "model_response_str"):
            texts.append(part.model_response_str())
        else:
            texts.append(str(part.content))
    return "\n".join(texts)


def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    parts = [part for message in messages for part in message.parts]
    call = run.next(
        [*map(shown, messages)],
        calls=[part.tool_call_id for part in parts if part.part_kind == "tool-call"],
        results=[part.tool_call_id for part in parts if part.part_kind == "tool-return"],
    )
    if call is None:
        return ModelResponse(parts=[TextPart("The build is green.")])
    return ModelResponse(parts=[ToolCallPart(call.name, call.arguments, call.id)])


def newest(messages: list[ModelMessage]) -> list[ModelMessage]:
    """As the framework's page on message history keeps the newest, with the task."""
    return messages if len(messages) <= 41 else [messages[0], *messages[-40:]]


settings = {"token_budget": WINDOW}
compression = ContextCompression(store="store", settings=settings)
own = ProcessHistory(newest)
agent = Agent(
    FunctionModel(model),
    system_prompt="You fix builds.",
    capabilities=[compression if sys.argv[1] == "ours" else own],
)


@agent.tool_plain
def logs(n: int) -> str:
    return log(n)


started = time.perf_counter()
result = agent.run_sync(TASK, usage_limits=UsageLimits(request_limit=None))
seconds = time.perf_counter() - started
session = compression.session_of(result.conversation_id)
report = run.report(session)
report |= {"seconds": seconds / run.requests, "history": len(result.all_messages())}
report["method"] = "ProcessHistory, newest 40"
report["warnings"] = list(session.status().warnings)
print(json.dumps(report))
