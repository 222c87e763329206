"""An agent of the OpenAI Agents SDK, as its documentation writes it, in a context that stays small.

    OPENAI_API_KEY=… python examples/openai_agents_agent.py

Three things are ours: the tool, the session, and the input filter.
"""

# pyright: basic, reportMissingImports=false
# The framework is an extra, and not installed where this is checked.

import asyncio

from agents import Agent, RunConfig, Runner, function_tool

from context_compression.integrations.openai_agents import ContextCompression

MODEL = "gpt-5"
compression = ContextCompression(model=MODEL, settings={"token_budget": 30_000})


@function_tool
def read_log(build: int) -> str:
    """Reads the log of a build.

    Args:
        build: its number, from 1 to 20.
    """
    lines = [f"{n:4} build {build} compiled unit_{n * build % 977}.o in {n} ms" for n in range(200)]
    lines[120] = f"ERROR build {build}: undefined symbol `flush_{build}`"
    return "\n".join(lines)


agent = Agent(
    name="Builder",
    instructions="You find out why builds fail. Read one log at a time.",
    tools=[read_log, compression.tool],
    model=MODEL,
)


async def main() -> None:
    """Two questions in one conversation."""
    session = compression.session("builds")
    config = RunConfig(call_model_input_filter=compression.filter("builds"))
    for question in ("Read the logs of builds 1 to 20. What is wrong?", "And in build 3?"):
        answer = await Runner.run(agent, question, session=session, run_config=config, max_turns=50)
        print(answer.final_output)


if __name__ == "__main__":
    asyncio.run(main())
