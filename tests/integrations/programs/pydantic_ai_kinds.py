# pyright: basic, reportMissingImports=false
# The framework is installed in an environment of its own.
"""What Pydantic AI's messages carry beside text, and its ways to run, in a window soon full."""

import asyncio
import json
import os
import re
import runpy
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import chdir, redirect_stdout
from io import StringIO
from operator import is_
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from agent_runs import log
from pydantic_ai import Agent, ModelRetry, ToolReturn
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    BinaryContent,
    CachePoint,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.usage import RequestUsage, UsageLimits

from context_compression.integrations.pydantic_ai import ContextCompression
from context_compression.integrations.pydantic_ai_messages import TranslatedHistory
from context_compression.integrations.translation import Translation, fit
from context_compression.testing.messages_api import Answer, MessagesAPI

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "frameworks" / "pydantic-ai.md"
EXAMPLE = ROOT / "examples" / "pydantic_ai_agent.py"
STEPS = 12
SETTINGS = {"token_budget": 12_000}
LIMITS = UsageLimits(request_limit=None)
PICTURE = BinaryContent(b"\x89PNG" + bytes(400), media_type="image/png")
PROMPT = ["Read the logs.", PICTURE, ImageUrl("https://example.com/a.png"), CachePoint(), "Now."]
FIRST_LOG = {"alpha": 200, "beta": 400}
"""The number before the logs of a conversation that names itself."""


class Watching(AbstractCapability[Any]):
    """Sees each request behind ours, and the agent's own messages."""

    def __init__(self) -> None:
        self.requests: list[list[ModelMessage]] = []
        self.own: list[ModelMessage] = []

    async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
        self.requests.append(list(request_context.messages))
        self.own = list(ctx.messages)
        return request_context


def shown(messages: list[ModelMessage]) -> list[str]:
    """What the model is shown, without times."""
    texts = []
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                text = f"{part.tool_call_id} {part.args_as_json_str()}"
            elif isinstance(part, ToolReturnPart):
                text = f"{part.tool_call_id} {part.model_response_str()}"
            else:
                text = str(getattr(part, "content", ""))
            texts.append(f"{part.part_kind} {text}")
    return texts


class Model:
    """The fake model: thinks, reads a log in each step, looks into the archive, and answers."""

    def __init__(self) -> None:
        self.steps: Counter[str] = Counter()
        self.found: dict[str, str] = {}

    def respond(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        texts = shown(messages)
        name = next((name for name in FIRST_LOG if any(name in text for text in texts)), "")
        self.steps[name] += 1
        step, number = self.steps[name], FIRST_LOG.get(name, 0) + self.steps[name]
        if step % (STEPS + 2) == 0:
            self.found[name] = texts[-1]
            return ModelResponse(parts=[TextPart("Done.")])
        call = ToolCallPart("logs", {"n": number}, f"c{number}", provider_details={"n": number})
        if step % (STEPS + 2) == STEPS + 1:
            call = ToolCallPart("context_restore", {"query": "v202_77"}, f"c{number}")
        thinking = ThinkingPart(f"thought {number}", signature="s", provider_name="function")
        return ModelResponse(
            parts=[thinking, TextPart("Let me look."), call],
            usage=RequestUsage(input_tokens=9),
            provider_response_id=f"resp-{number}",
        )

    async def stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        for at, part in enumerate(self.respond(messages, info).parts):
            if isinstance(part, ToolCallPart):
                about = {"json_args": part.args_as_json_str(), "tool_call_id": part.tool_call_id}
                yield {at: DeltaToolCall(part.tool_name, **about)}
            elif isinstance(part, ThinkingPart):
                yield {at: DeltaThinkingPart(content=part.content, signature=part.signature)}
            else:
                yield part.content


def agent_with(model: Model, *capabilities: Any, **profile: Any) -> Agent:
    agent = Agent(
        FunctionModel(model.respond, stream_function=model.stream, profile=profile or None),
        system_prompt="Be brief.",
        instructions="Fix builds.",
        capabilities=capabilities,
    )

    @agent.tool_plain(retries=2)
    def logs(n: int) -> ToolReturn:
        if n == 3:
            raise ModelRetry("The log is not ready.")
        content = [log(n), PICTURE] if n == 2 else log(n)
        return ToolReturn(content, metadata={"n": n})

    return agent


def kinds() -> dict[str, Any]:
    """A run whose messages hold all kinds of parts."""
    watching, ours = Watching(), ContextCompression(store="kinds", settings=SETTINGS)
    result = agent_with(Model(), ours, watching).run_sync(PROMPT, usage_limits=LIMITS)
    own, history = {id(message) for message in watching.own}, result.all_messages()
    last = watching.requests[-1]
    edited = [message for message in last if id(message) not in own]
    parts = [part for message in edited for part in message.parts]
    returns = [part for part in parts if isinstance(part, ToolReturnPart)]
    calls = [part for part in parts if isinstance(part, ToolCallPart)]
    responses = [message for message in edited if isinstance(message, ModelResponse)]
    texts = "\n".join(shown(history))
    return {
        "untouched": all(id(message) in own for message in watching.requests[1]),
        "task": id(last[0]) in own,
        "history": [
            len(history), texts.count("thought"), sum(log(n) in texts for n in range(1, STEPS + 1))
        ],
        "returns": len(returns) > 0
        and all(part.metadata == {"n": int(part.tool_call_id[1:])} for part in returns),
        "names": sorted({part.tool_name for part in returns}),
        "calls": len(calls) > 0
        and all(part.provider_details == part.args_as_dict() for part in calls),
        "responses": len(responses) > 0
        and all((m.usage.input_tokens, m.provider_response_id) == (0, None) for m in responses),
        "thoughts": sum(isinstance(part, ThinkingPart) for part in parts),
    }  # fmt: skip


async def apart() -> dict[str, Any]:
    """Two conversations of one agent at the same time; both search for a log of the first."""
    ours, model = ContextCompression(store="apart", settings=SETTINGS), Model()
    agent = agent_with(model, ours)
    await asyncio.gather(
        *(
            agent.run(f"Read the logs of {name}.", conversation_id=f"{name}/1", usage_limits=LIMITS)
            for name in FIRST_LOG
        )
    )
    sessions = len(ours.session("alpha/1").store.sessions())
    return {"found": {name: model.found[name][:90] for name in FIRST_LOG}, "sessions": sessions}


async def ways() -> dict[str, Any]:
    """Whether the last request is the same for all ways to run an agent."""

    async def streamed(context: Any, events: Any) -> None:
        async for _ in events:
            pass

    async def last_request(way: str) -> list[str]:
        with chdir(
            mkdtemp(dir=".")
        ):  # notes name files, and may be quoted under a ref of their own
            watching, ours = Watching(), ContextCompression(store="store", settings=SETTINGS)
            agent = agent_with(Model(), ours, watching)
            options: dict[str, Any] = {"usage_limits": LIMITS, "conversation_id": "one"}
            if way == "sync":
                await asyncio.to_thread(agent.run_sync, PROMPT, **options)
            else:
                handler = streamed if way == "stream" else None
                await agent.run(PROMPT, event_stream_handler=handler, **options)
            return shown(watching.requests[-1])

    seen = [await last_request(way) for way in ("async", "sync", "stream")]
    return {
        "same": seen[0] == seen[1] == seen[2],
        "noted": any("; ref " in text for text in seen[0]),
    }


def again() -> dict[str, Any]:
    """The next run gets the history; a new capability, as in another process, goes on."""
    model, requests, sessions = Model(), [], []
    history: list[ModelMessage] = []
    for _ in range(2):
        watching, ours = Watching(), ContextCompression(store="again")
        agent = agent_with(model, ours, watching, context_window=SETTINGS["token_budget"])
        result = agent.run_sync("Read.", message_history=history, usage_limits=LIMITS)
        history = result.all_messages()
        requests.append([shown(watching.requests[0]), shown(watching.requests[-1])])
        sessions = ours.session(result.conversation_id).store.sessions()
    before = requests[0][1]
    return {
        "goes_on": requests[1][0][: len(before)] == before,
        "sessions": len(sessions),
        "noted": any("; ref " in text for text in before),
    }


def copied(message: Any) -> dict[str, Any]:
    return {**message}


def rewritten() -> dict[str, Any]:
    """Messages for edited dicts: all that was not edited is kept."""
    prompt = UserPromptPart(["long words", PICTURE, "short"])
    native = [
        NativeToolCallPart("web_search", {"query": "q"}, "w1", provider_name="anthropic"),
        NativeToolReturnPart("web_search", [{"url": "u"}], "w1", provider_name="anthropic"),
    ]
    messages: list[Any] = [
        ModelRequest([SystemPromptPart("Be brief."), prompt], metadata={"mine": 1}),
        ModelResponse([*native, TextPart("An answer.", id="msg_1", provider_name="openai")]),
    ]
    history = TranslatedHistory(messages)
    system, user, assistant = (copied(history.read(each)) for each in history.messages)
    user["content"] = [{"type": "text", "text": "[note]"}, *user["content"][1:]]
    assistant["content"] = [*assistant["content"][:2], {"type": "text", "text": "[note]"}]
    request, response = history.write(user), history.write(assistant)
    odd, session = object(), ContextCompression(store="odd").session("1")
    mixed = TranslatedHistory([messages[0], odd, messages[1]])
    view = mixed.joined(fit(session, mixed.messages, Translation(mixed.read, mixed.write)))
    return {
        "roles": [system["role"], user["role"], assistant["role"]],
        "prompt": [part.content for part in request.parts] == ["[note]", [PICTURE, "short"]],
        "times": request.parts[1].timestamp == prompt.timestamp,
        "metadata": request.metadata,
        "native": [*map(is_, response.parts, native)],
        "text": [response.parts[2].content, response.parts[2].id],
        "odd": [*map(is_, view, [messages[0], odd, messages[1]])],
        "warnings": len(session.status().warnings),
    }


def searched() -> dict[str, bool]:
    """Whether the result of a tool search is kept, with and without a later call of the tool."""
    search = {"tool_name": "search_tools", "tool_call_id": "s1", "tool_kind": "tool-search"}
    found = {"discovered_tools": [{"name": "rare"}]}
    kept = {}
    for later in ("rare", "logs"):
        messages: list[Any] = [
            ModelRequest([UserPromptPart("Read the logs.")]),
            ModelResponse([ToolCallPart(**search, args={"queries": ["rare"]})]),
            ModelRequest([ToolReturnPart(**search, content=found)]),
        ]
        for n in range(12):
            messages.append(ModelResponse([ToolCallPart(later, {"n": n}, f"c{n}")]))
            messages.append(ModelRequest([ToolReturnPart(later, log(n), f"c{n}")]))
        session = ContextCompression(store=later, settings={"token_budget": 8_000}).session("1")
        history = TranslatedHistory(messages)
        translation = Translation(history.read, history.write)
        view = history.joined(fit(session, history.messages, translation))
        [result] = messages[2].parts
        kept[later] = any(part is result for message in view for part in message.parts)
    return kept


def blocks() -> int:
    """How many blocks the page of this framework has; each runs."""
    found = re.findall(r"(?ms)^```python\n(.*?)^```", PAGE.read_text("utf-8"))
    for block in found:
        exec(block, {})
    return len(found)


def example() -> dict[str, Any]:
    """The example as it stands, with the client of a real provider."""

    def respond(body: dict[str, Any]) -> Answer | str:
        sizes.append(len(json.dumps(body["messages"])))
        build = len(sizes)
        if build > 20:
            return "All builds lack a symbol."
        call = {"id": f"toolu_{build}", "name": "read_log", "input": {"build": build}}
        return Answer("", "tool_use", content=[{"type": "tool_use", **call}])

    sizes: list[int] = []
    with MessagesAPI([respond]) as api, redirect_stdout(StringIO()) as printed:
        os.environ |= {"ANTHROPIC_BASE_URL": api.base_url, "ANTHROPIC_API_KEY": "sk-test"}
        runpy.run_path(str(EXAMPLE), run_name="__main__")
    return {"printed": printed.getvalue(), "requests": len(sizes), "largest": max(sizes)}


report = {"kinds": kinds(), "apart": asyncio.run(apart()), "ways": asyncio.run(ways())}
report |= {
    "again": again(),
    "rewritten": rewritten(),
    "searched": searched(),
    "example": example(),
    "blocks": blocks(),
}
print(json.dumps(report))
