"""An MCP server with one tool, `talk`, whose answers are long."""

from mcp.server import MCPServer

server = MCPServer("talkative")


@server.tool()
def talk(words: int) -> str:
    """Says so many words."""
    return "\n".join(f"word {n} is said" for n in range(words // 4))


if __name__ == "__main__":
    server.run("stdio")
