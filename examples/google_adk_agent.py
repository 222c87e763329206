# pyright: basic, reportMissingImports=false
# ADK is an extra of the package.
"""An agent as the tutorial of Google ADK builds one, which never outgrows its context window.

    pip install ".[google-adk]"
    GOOGLE_API_KEY=… python examples/google_adk_agent.py

The plugin is all that is added. The session keeps all events; the model is sent what fits, and
brings back with `context_restore` what left.
"""

import asyncio

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.runners import InMemoryRunner

from context_compression.integrations.google_adk import ContextCompression


def read_log(build: int) -> str:
    """Reads the log of a build."""
    lines = [f"{n:4} build {build} compiled unit_{n * build % 977}.o in {n} ms" for n in range(200)]
    lines[120] = f"ERROR build {build}: undefined symbol `flush_{build}`"
    return "\n".join(lines)


async def ask(model, question: str) -> str:
    """The agent's answer, after all tools that it calls."""
    agent = LlmAgent(
        name="builder", model=model, instruction="You find out why builds fail.", tools=[read_log]
    )
    compression = ContextCompression(settings={"token_budget": 30_000})
    runner = InMemoryRunner(app=App(name="builds", root_agent=agent, plugins=[compression]))
    events = await runner.run_debug(question, quiet=True)
    return events[-1].content.parts[0].text


if __name__ == "__main__":
    print(asyncio.run(ask("gemini-3.5-flash", "Read the logs of all builds. What is wrong?")))
