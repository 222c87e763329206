# pyright: basic, reportMissingImports=false
# The packages are installed in an environment of their own.
"""The tools of a server as LangChain's, and one call.

python langchain_tools.py <tool> <arguments as JSON> <command of the server>...

Prints the tools and what the model is shown of the call.
"""

import asyncio
import json
import sys

from langchain_mcp_adapters.client import MultiServerMCPClient

TOOL, ARGUMENTS, COMMAND, *OPTIONS = sys.argv[1:]


async def main() -> None:
    server = {"transport": "stdio", "command": COMMAND, "args": OPTIONS}
    tools = {tool.name: tool for tool in await MultiServerMCPClient({"ours": server}).get_tools()}
    call = {"type": "tool_call", "id": "1", "name": TOOL, "args": json.loads(ARGUMENTS)}
    message = await tools[TOOL].ainvoke(call)
    shown = {"content": message.content, "artifact": message.artifact}
    print(json.dumps({"tools": [*tools], "shown": shown}))


asyncio.run(main())
