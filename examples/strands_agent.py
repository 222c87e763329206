# pyright: basic, reportMissingImports=false
# Strands is an extra of the package.
"""An agent as the tutorial of Strands builds one, which never outgrows its context window.

    pip install ".[strands]"
    AWS_BEARER_TOKEN_BEDROCK=… python examples/strands_agent.py

The conversation manager is all that is added. `agent.messages` keeps the whole history; the model
is sent what fits, and brings back with `context_restore` what left.
"""

from strands import Agent, tool

from context_compression.integrations.strands import ContextCompression


@tool
def read_log(build: int) -> str:
    """Reads the log of a build."""
    lines = [f"{n:4} build {build} compiled unit_{n * build % 977}.o in {n} ms" for n in range(200)]
    lines[120] = f"ERROR build {build}: undefined symbol `flush_{build}`"
    return "\n".join(lines)


def agent_with(model=None) -> Agent:
    """The agent; without a model, Strands takes its usual one on Amazon Bedrock."""
    return Agent(
        model=model,
        tools=[read_log],
        system_prompt="You find out why builds fail.",
        conversation_manager=ContextCompression(settings={"token_budget": 30_000}),
    )


if __name__ == "__main__":
    agent_with()("Read the logs of all builds. What is wrong?")
