# pyright: basic, reportMissingImports=false
# LangChain is an extra of the package.
"""An agent as LangChain's tutorial builds one, which never outgrows its context window.

    pip install ".[langchain]" langchain-anthropic
    ANTHROPIC_API_KEY=… python examples/langchain_agent.py

The middleware is all that is added. The state of the agent keeps the whole history; its model is
sent what fits, and brings back with `context_restore` what left.
"""

from langchain.agents import create_agent
from langchain.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from context_compression.integrations.langchain import ContextCompression


@tool
def read_log(build: int) -> str:
    """Reads the log of a build."""
    lines = [f"{n:4} build {build} compiled unit_{n * build % 977}.o in {n} ms" for n in range(200)]
    lines[120] = f"ERROR build {build}: undefined symbol `flush_{build}`"
    return "\n".join(lines)


def ask(model, question: str) -> str:
    """The agent's answer, after all tools that it calls."""
    agent = create_agent(
        model,
        [read_log],
        system_prompt="You find out why builds fail.",
        middleware=[ContextCompression(settings={"token_budget": 30_000})],
        checkpointer=InMemorySaver(),
    )
    asked = {"messages": [{"role": "user", "content": question}]}
    state = agent.invoke(asked, {"configurable": {"thread_id": "builds"}})
    return state["messages"][-1].text


if __name__ == "__main__":
    print(ask("anthropic:claude-sonnet-5", "Read the logs of all builds. What is wrong?"))
