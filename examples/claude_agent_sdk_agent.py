"""Claude Code in a program, with our hooks and our tool.

    pip install ".[claude-agent-sdk]"
    ANTHROPIC_API_KEY=… python examples/claude_agent_sdk_agent.py

Large results of tools are archived before Claude reads them. Claude sees a preview of each.
"""

# The framework is not installed where this is developed.
# pyright: reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

import asyncio

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query

from context_compression.integrations.claude_agent_sdk import ContextCompression


async def main() -> None:
    """One question, until Claude has answered it."""
    compression = ContextCompression()
    options = ClaudeAgentOptions(
        hooks=compression.hooks(),
        mcp_servers=compression.mcp_servers(),
        allowed_tools=["Bash", "Read"],
    )
    async for message in query(prompt="Run the tests. Why do they fail?", options=options):
        if isinstance(message, ResultMessage):
            print(message.result)
            print("archived:", len(compression.session_of(message.session_id).state().refs))


if __name__ == "__main__":
    asyncio.run(main())
