"""An agent of Pydantic AI that reads many long logs in a small context window.

    pip install ".[pydantic-ai]" "pydantic-ai-slim[anthropic]"
    ANTHROPIC_API_KEY=… python examples/pydantic_ai_agent.py

Only `capabilities` is ours. The agent keeps all of its messages.
"""

# The framework is not installed where this is developed.
# pyright: reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUntypedFunctionDecorator=false
# pyright: reportUnknownArgumentType=false

from pydantic_ai import Agent

from context_compression.integrations.pydantic_ai import ContextCompression

compression = ContextCompression(settings={"token_budget": 30_000, "keep_recent_tokens": 4_000})
agent = Agent(
    "anthropic:claude-sonnet-5",
    instructions="You find out why builds fail.",
    capabilities=[compression],
)


@agent.tool_plain
def read_log(build: int) -> str:
    """Reads the log of a build, some 3,000 tokens."""
    lines = [f"{n:4} build {build} compiled unit_{n * build % 977}.o in {n} ms" for n in range(200)]
    lines[120] = f"ERROR build {build}: undefined symbol `flush_{build}`"
    return "\n".join(lines)


if __name__ == "__main__":
    result = agent.run_sync("Read the logs of the builds 1 to 20. What is wrong?")
    print(result.output)
    print(compression.session_of(result.conversation_id).status().usage)
