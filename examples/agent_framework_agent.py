# pyright: basic, reportMissingImports=false
# The framework is an extra of the package.
"""An agent as the tutorial of Agent Framework builds one, which never outgrows its window.

    pip install ".[agent-framework]" agent-framework-openai
    OPENAI_API_KEY=… python examples/agent_framework_agent.py

The context provider is all that is added. The session keeps the whole history; the model is sent
what fits, and brings back with `context_restore` what left.
"""

import asyncio

from agent_framework import Agent, tool

from context_compression.integrations.agent_framework import ContextCompression


@tool
def read_log(build: int) -> str:
    """Reads the log of a build."""
    lines = [f"{n:4} build {build} compiled unit_{n * build % 977}.o in {n} ms" for n in range(200)]
    lines[120] = f"ERROR build {build}: undefined symbol `flush_{build}`"
    return "\n".join(lines)


async def ask(client, question: str) -> str:
    """The agent's answer, after all tools that it calls."""
    agent = Agent(
        client,
        "You find out why builds fail.",
        tools=[read_log],
        context_providers=[ContextCompression(settings={"token_budget": 30_000})],
    )
    return (await agent.run(question)).text


async def main() -> None:
    """Ask a model of OpenAI."""
    from agent_framework.openai import OpenAIChatCompletionClient

    client = OpenAIChatCompletionClient(model="gpt-5.2")
    print(await ask(client, "Read the logs of all builds. What is wrong?"))


if __name__ == "__main__":
    asyncio.run(main())
