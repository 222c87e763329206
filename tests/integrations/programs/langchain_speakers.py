# pyright: basic, reportMissingImports=false
# LangChain and LangGraph are installed in an environment of their own.
"""What a person says to an agent beside the prompts; prints an object of facts.

python langchain_speakers.py
"""

import asyncio
import json

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.tools import tool
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, add_notification_metadata
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from pydantic import Field
from spoken import RULE, SETTINGS, STEPS, TASK, drop, logs, spoken

from context_compression.integrations.langchain import ContextCompression

FACTS = {}


class Scripted(BaseChatModel):
    """A model that gives the answers of a list, and keeps the requests."""

    answers: list
    requests: list = Field(default_factory=list)

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **options):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **options):
        self.requests.append(list(messages))
        return ChatResult(generations=[ChatGeneration(message=self.answers.pop(0))])


logs, drop = tool(logs), tool(drop)


@tool
def plan(step: str) -> str:
    """Show a plan to the operator, and go on as they say."""
    answer = interrupt({"plan": step})
    said = answer["text"] if isinstance(answer, dict) else answer
    return f"Plan {step} was shown.\nThe operator: {said}\nGo on."


def calls(*named):
    return AIMessage(
        "",
        tool_calls=[
            {"name": n, "args": a, "id": f"{n}-{'-'.join(map(str, a.values()))}"} for n, a in named
        ],
    )


def script(*asked):
    reads = [calls(("logs", {"n": n})) for n in range(2 * STEPS)]
    return [*reads[:STEPS], calls(*asked), *reads[STEPS:], AIMessage("Done.")]


def run(
    name,
    asked,
    answer,
    *,
    tools=(logs, drop, plan),
    review=None,
    first: str | list = TASK,
    wait=False,
    **options,
):
    """Run an agent until it asks, answer it, and see what is left of the answer."""
    compression = ContextCompression(store=f"store-{name}", settings=SETTINGS)
    model = Scripted(answers=script(asked))
    reviews = [HumanInTheLoopMiddleware(interrupt_on=review, **options)] if review else []
    agent = create_agent(
        model, [*tools], middleware=[*reviews, compression], checkpointer=InMemorySaver()
    )
    thread = {"configurable": {"thread_id": "t"}, "recursion_limit": 200}
    messages = first if isinstance(first, list) else [HumanMessage(first)]

    def go_on(given):
        if wait:
            return asyncio.run(agent.ainvoke(given, thread))
        return agent.invoke(given, thread)

    state = go_on({"messages": messages})
    if answer is not None:
        assert state["__interrupt__"], "it did not ask"
        state = go_on(Command(resume=answer))
    assert not state.get("__interrupt__")
    sent = json.dumps([m.model_dump(mode="json", include={"content"}) for m in model.requests[-1]])
    FACTS[name] = spoken(compression.session_of("t")) | {"marked": "said_by_user" in sent}


REVIEW = {"drop": {"allowed_decisions": ["approve", "edit", "reject", "respond"]}}
DROP = ("drop", {"table": "users"})
run("rejected", DROP, {"decisions": [{"type": "reject", "message": RULE}]}, review=REVIEW)
run("responded", DROP, {"decisions": [{"type": "respond", "message": RULE}]}, review=REVIEW)
run("rejected without a word", DROP, {"decisions": [{"type": "reject"}]}, review=REVIEW)
run("approved", DROP, {"decisions": [{"type": "approve"}]}, review=REVIEW)
run(
    "edited", DROP,
    {"decisions": [{"type": "edit", "edited_action": {"name": "drop", "args": {"table": "old"}}}]},
    review=REVIEW,
)  # fmt: skip
run("rejected, each by itself", DROP, {"type": "reject", "message": RULE}, review=REVIEW,
    interrupt_mode="per_call")  # fmt: skip
run("interrupt", ("plan", {"step": "one"}), RULE)
run("interrupt with an object", ("plan", {"step": "one"}), {"text": RULE, "ok": False}, wait=True)
notice = add_notification_metadata(
    HumanMessage(f"Task 7 ended: {RULE}"), source="async_subagent", data={"task_id": "7"}
)
run("a task that ended", ("logs", {"n": 77}), None,
    first=[HumanMessage(TASK), AIMessage("Started."), notice])  # fmt: skip
print(json.dumps(FACTS))
