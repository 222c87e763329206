# pyright: basic, reportMissingImports=false
# The framework is installed in an environment of its own.
"""What a person says to an agent of Strands beside the prompts; prints an object of facts."""

import json

from spoken import RULE, SETTINGS, STEPS, TASK, drop, logs, spoken
from strands import Agent, tool
from strands.hooks import BeforeToolCallEvent, BeforeToolsEvent, HookProvider
from strands.models import Model
from strands.session import FileSessionManager
from strands.types.tools import ToolContext
from strands.vended_tools.handoff_to_user import make_handoff_to_user

from context_compression.integrations.strands import ContextCompression

FACTS = {}


class Scripted(Model):
    """A model that makes the calls of a list, and keeps the requests."""

    def __init__(self, calls):
        self.calls, self.sent = [*calls], []

    def get_config(self):
        return {}

    def update_config(self, **_): ...

    def structured_output(self, *_, **__): ...

    async def count_tokens(self, *_, **__):
        return 0

    async def stream(self, messages, *_, **__):
        self.sent.append(messages)
        call = self.calls.pop(0) if self.calls else None
        yield {"messageStart": {"role": "assistant"}}
        if call is None:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": "Done."}}}
        else:
            name, given = call
            id = f"{name}-{'-'.join(map(str, given.values()))}"
            start = {"toolUseId": id, "name": name}
            yield {"contentBlockStart": {"start": {"toolUse": start}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(given)}}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if call else "end_turn"}}


logs, drop = tool(logs), tool(drop)


@tool(context=True)
def plan(step: str, tool_context: ToolContext) -> str:
    """Show a plan to the operator, and go on as they say."""
    answer = tool_context.interrupt("plan", reason=step)
    said = answer["text"] if isinstance(answer, dict) else answer
    return f"Plan {step} was shown.\nThe operator: {said}\nGo on."


class Review(HookProvider):
    """Asks a person before a call, or before all calls of a message."""

    def __init__(self, event):
        self.event = event

    def register_hooks(self, registry, **_):
        registry.add_callback(self.event, self.ask)

    def ask(self, event):
        one = isinstance(event, BeforeToolCallEvent)
        if one and event.tool_use["name"] != "drop":
            return
        if not one and "drop" not in str(event.message):
            return
        answer = event.interrupt("review", reason="drop")
        if answer != "yes":
            no = f"Not done: {answer}"
            if one:
                event.cancel_tool = no
            else:
                event.cancel = no


def run(name, asked, answer=None, *, hooks=(), later=False):
    """Run an agent until it asks, answer it, and see what is left of the answer."""
    reads = [("logs", {"n": n}) for n in range(2 * STEPS)]
    compression = ContextCompression(store=f"store-{name}", settings=SETTINGS)
    model = Scripted([*reads[:STEPS], asked, *reads[STEPS:]])

    def agent_of(manager):
        return Agent(
            model=model, tools=[logs, drop, plan, make_handoff_to_user(name="tell")],
            hooks=[*hooks], callback_handler=None, conversation_manager=manager,
            session_manager=FileSessionManager(f"session-{name}", storage_dir="saved"),
        )  # fmt: skip

    agent = agent_of(compression)
    result = agent(TASK)
    if answer is not None:
        assert result.stop_reason == "interrupt", result.stop_reason
        [asks] = result.interrupts
        response = {"interruptId": asks.id, "response": answer}
        result = agent([{"interruptResponse": response}])
    assert result.stop_reason == "end_turn", result.stop_reason
    if later:  # another process does not know the answer any more
        compression = ContextCompression(store=f"store-{name}", settings=SETTINGS)
        agent = agent_of(compression)
        agent("And now?")
    marked = "said_by_user" in str(model.sent) + str(agent.messages)
    FACTS[name] = spoken(compression.session_of(agent)) | {"marked": marked}


DROP, ONE = ("drop", {"table": "users"}), ("plan", {"step": "one"})
run("a call rejected", DROP, RULE, hooks=[Review(BeforeToolCallEvent)])
run("all calls rejected", DROP, RULE, hooks=[Review(BeforeToolsEvent)])
run("interrupt", ONE, RULE)
run("interrupt with an object", ONE, {"text": RULE, "ok": False})
run("interrupt, then another process", ONE, RULE, later=True)
run("handed off by another name", ("tell", {"message": "What else?"}), RULE)
run("approved", DROP, "yes", hooks=[Review(BeforeToolCallEvent)])
run("not asked", DROP)
print(json.dumps(FACTS))
