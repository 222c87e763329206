# pyright: basic, reportMissingImports=false
# The packages are installed in an environment of their own.
"""An agent of the OpenAI Agents SDK with strict schemas and a scripted model.

python openai_agents.py <tool> <arguments as JSON> <command of the server>...

Prints the tools, whether each schema is strict, and what the model is shown of the call.
"""

import asyncio
import json
import sys
from typing import Any

from agents import Agent, ModelResponse, RunConfig, Runner, Usage
from agents.mcp import MCPServerStdio
from agents.models.interface import Model
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

TOOL, ARGUMENTS, COMMAND, *OPTIONS = sys.argv[1:]


class Scripted(Model):
    """Makes one call, then ends."""

    def __init__(self) -> None:
        self.strict: dict[str, bool] = {}
        self.shown: list[Any] = []

    async def get_response(self, *, input: Any, tools: Any, **more: Any) -> ModelResponse:
        self.strict = {tool.name: tool.strict_json_schema for tool in tools}
        self.shown = [
            item["output"] for item in input if item.get("type") == "function_call_output"
        ]
        call = ResponseFunctionToolCall(
            type="function_call", call_id="1", name=TOOL, arguments=ARGUMENTS
        )
        text = ResponseOutputText(type="output_text", text="done", annotations=[])
        said = ResponseOutputMessage(
            id="m", type="message", role="assistant", status="completed", content=[text]
        )
        return ModelResponse(
            output=[said] if self.shown else [call], usage=Usage(), response_id=None
        )

    def stream_response(self, *more: Any, **named: Any) -> Any:
        raise NotImplementedError  # the class asks for it; a run without streaming never calls it


async def main() -> None:
    model = Scripted()
    async with MCPServerStdio(
        {"command": COMMAND, "args": OPTIONS}, client_session_timeout_seconds=60
    ) as server:
        agent = Agent(
            "agent",
            model=model,
            mcp_servers=[server],
            mcp_config={"convert_schemas_to_strict": True},
        )
        await Runner.run(agent, "Do it.", run_config=RunConfig(tracing_disabled=True))
    print(json.dumps({"strict": model.strict, "shown": model.shown}))


asyncio.run(main())
