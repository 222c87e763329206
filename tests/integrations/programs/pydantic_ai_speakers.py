# pyright: basic, reportMissingImports=false
# The framework is installed in an environment of its own.
"""What a person says to an agent of Pydantic AI beside the prompts; prints an object of facts."""

import json
from typing import Any

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ModelRetry, ToolDenied
from pydantic_ai.exceptions import CallDeferred
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import UsageLimits
from spoken import RULE, SETTINGS, STEPS, TASK, drop, logs, spoken

from context_compression.integrations.pydantic_ai import ContextCompression

LIMITS = UsageLimits(request_limit=None)
FACTS: dict[str, Any] = {}


def script(asked: Any) -> list[Any]:
    """What the model does: it reads, makes one other call or says a text, and reads again."""
    reads = [ToolCallPart("logs", {"n": n}, f"logs-{n}") for n in range(2 * STEPS)]
    return [*reads[:STEPS], asked, *reads[STEPS:], TextPart("Done.")]


def run(name: str, asked: Any, results: DeferredToolResults | None = None) -> None:
    """Run an agent until it asks, answer it, and see what is left of the answer."""
    answers = script(asked)
    agent = Agent(
        FunctionModel(lambda messages, info: ModelResponse(parts=[answers.pop(0)])),
        output_type=[str, DeferredToolRequests],
        capabilities=[ours := ContextCompression(store=f"store-{name}", settings=SETTINGS)],
        retries=3,
    )

    agent.tool_plain(logs)
    agent.tool_plain(requires_approval=True)(drop)

    @agent.tool_plain
    def ask_user(question: str) -> str:
        raise CallDeferred

    @agent.tool_plain
    def fetch(page: str) -> str:
        raise CallDeferred

    @agent.tool_plain
    def flaky(n: int) -> str:
        raise ModelRetry(f"The user rejected the tool call. Reason: {RULE}")

    @agent.output_validator
    def checked(text: Any) -> Any:
        if text == "Draft.":
            raise ModelRetry(f"The text breaks a rule of the style: {RULE}")
        return text

    result = agent.run_sync(TASK, usage_limits=LIMITS)
    if results is not None:
        assert isinstance(result.output, DeferredToolRequests), result.output
        result = agent.run_sync(
            message_history=result.all_messages(), deferred_tool_results=results,
            usage_limits=LIMITS,
        )  # fmt: skip
    assert result.output == "Done.", result.output
    FACTS[name] = spoken(ours.session_of(result.conversation_id))


def approval(decision: Any) -> DeferredToolResults:
    return DeferredToolResults(approvals={"x": decision})


DROP = ToolCallPart("drop", {"table": "users"}, "x")
run("denied", DROP, approval(ToolDenied(RULE)))
run("denied without a word", DROP, approval(False))
run("approved", DROP, approval(True))
asking = ToolCallPart("ask_user", {"question": "What else?"}, "x")
run("answered", asking, DeferredToolResults(calls={"x": RULE}))
fetching = ToolCallPart("fetch", {"page": "a"}, "x")
run("fetched", fetching, DeferredToolResults(calls={"x": RULE}))
run("to be tried again", ToolCallPart("flaky", {"n": 1}, "x"))
run("to be written again", TextPart("Draft."))
print(json.dumps(FACTS))
