# pyright: basic, reportMissingImports=false
# The framework is installed in an environment of its own.
"""An agent of Google ADK over 100 tool steps, with our plugin or with its own compaction."""

import asyncio
import json
import logging
import sys
import time
import warnings

from agent_runs import TASK, WINDOW, AgentRun, log

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)

from google.adk.agents import LlmAgent, RunConfig  # noqa: E402
from google.adk.apps import App  # noqa: E402
from google.adk.models import BaseLlm, LlmResponse  # noqa: E402
from google.adk.runners import InMemoryRunner  # noqa: E402
from google.genai.types import Content, FunctionCall, Part  # noqa: E402

from context_compression.integrations.google_adk import ContextCompression  # noqa: E402

HOW = sys.argv[1]
run = AgentRun(restores=HOW == "ours")


class Fake(BaseLlm):
    """The model of a run."""

    async def generate_content_async(self, llm_request, stream=False):
        parts = [part for content in llm_request.contents for part in content.parts]
        call = run.next(
            [content.model_dump_json(exclude_none=True) for content in llm_request.contents],
            calls=[part.function_call.id for part in parts if part.function_call],
            results=[part.function_response.id for part in parts if part.function_response],
        )
        if call is None:
            part = Part(text="Done.")
        else:
            called = FunctionCall(id=call.id, name=call.name, args=call.arguments)
            part = Part(function_call=called, thought_signature=b"signed \xff")
        yield LlmResponse(content=Content(role="model", parts=[part]))


def logs(n: int) -> str:
    """The log of a build."""
    return log(n)


async def main() -> None:
    ours = ContextCompression(settings={"token_budget": WINDOW})
    agent = LlmAgent(
        name="builder", model=Fake(model="fake"), instruction="You fix builds.", tools=[logs]
    )
    app = App(name="builds", root_agent=agent, plugins=[ours] if HOW == "ours" else [])
    runner = InMemoryRunner(app=app)
    session = await runner.session_service.create_session(app_name="builds", user_id="ann")
    began = time.perf_counter()
    message = Content(role="user", parts=[Part(text=TASK)])
    async for event in runner.run_async(
        user_id="ann",
        session_id=session.id,
        new_message=message,
        run_config=RunConfig(max_llm_calls=1000),
    ):
        pass
    seconds = time.perf_counter() - began
    kept = await runner.session_service.get_session(
        app_name="builds", user_id="ann", session_id=session.id
    )
    print(
        ours.sessions.store.sessions() if hasattr(ours.sessions.store, "sessions") else "",
        file=sys.stderr,
    )
    [opened] = ours.sessions._open.values() if HOW == "ours" else [ours.sessions["none"]]
    print(opened.id, file=sys.stderr)
    print(json.dumps({**run.report(opened), "seconds": seconds, "history": len(kept.events)}))


asyncio.run(main())
