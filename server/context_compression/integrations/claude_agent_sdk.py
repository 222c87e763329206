"""Claude Agent SDK: our plugin for Claude Code, or its hooks and a tool in the program itself.

    ClaudeAgentOptions(plugins=[{"type": "local", "path": plugin_path()}])

    ours = ContextCompression()
    ClaudeAgentOptions(hooks=ours.hooks(), mcp_servers=ours.mcp_servers())

The SDK runs Claude Code, which keeps the conversation. The plugin answers its compactions with our
view. Hooks in the program cannot do that: Claude Code summarises, and all that it leaves out is
archived before. Pass one of the two, not both.
"""

# The framework is not installed where this is developed.
# pyright: reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUntypedFunctionDecorator=false
# pyright: reportUnknownParameterType=false

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from platformdirs import user_data_path

from context_compression.errors import ContextCompressionError, StoreError
from context_compression.extras import extra
from context_compression.hosts.claude_code.install_plugin import plugin_for
from context_compression.hosts.events import answered
from context_compression.session import Session
from context_compression.session.restoring import RestoreTool, restore_tool
from context_compression.settings import Settings
from context_compression.store import Store
from context_compression.tokens.usage import for_model
from context_compression.transcripts.transcript import folder_name
from context_compression.workspace import Workspace

with extra("claude-agent-sdk"):
    from claude_agent_sdk import HookMatcher, create_sdk_mcp_server, tool

SERVER = "context-compression"
SESSION = "session_id"
"""The argument that our hook adds to a call of `context_restore`: a server is not told it."""
RESULTS = rf"Bash|Read|Grep|Glob|WebFetch|Agent|Task|mcp__(?!{SERVER}__).*"
"""The tools whose large results are archived."""
PATIENCE = 60.0  # seconds for a hook; archiving a conversation of 200K tokens takes 2


class ContextCompression:
    """Our hooks and our tool for Claude Code, in the process that uses the SDK.

    Each session of Claude Code has a session of ours with the same id.

    Claude Code has its own model, counts by itself and writes its own summaries. So of the options
    of the other adapters, `model`, `counter` and `summarizer` have no meaning here.

    Args:
        store: a `Store`, the path of its folder, or the address of a database; by default the store
            that the command would use here, with the tenant that the environment names.
        settings: a `Settings`, or some of its values, such as `offload_min_tokens`.

    Raises:
        InvalidSettings: an unknown name or an impossible value.
    """

    def __init__(
        self,
        store: Store | str | Path | None = None,
        *,
        settings: Settings | Mapping[str, Any] | None = None,
    ) -> None:
        given = for_model(settings, None)  # an error is raised here, not in a hook
        self._workspace = Workspace.here(
            store=store if store is None or isinstance(store, Store) else Store(store),
            **given.model_dump(exclude_unset=True),
        )

    def session_of(self, id: str) -> Session:
        """The session of a session of Claude Code, by its id, as `ResultMessage` has it."""
        workspace = self._workspace
        settings = workspace.settings()
        return Session(workspace.store, folder_name(id), settings=settings, summarizer=None)

    session = session_of

    def hooks(self) -> dict[Any, list[HookMatcher]]:
        """Hooks that archive large results, and everything before Claude Code summarises it."""
        ours = rf"mcp__{SERVER}__{RestoreTool.name}"
        matched = (("PostToolUse", RESULTS), ("PreCompact", None), ("SessionStart", "compact"))
        return {
            "PreToolUse": [HookMatcher(matcher=ours, hooks=[_with_session])],
            **{
                event: [HookMatcher(matcher=matcher, hooks=[self._answer], timeout=PATIENCE)]
                for event, matcher in matched
            },
        }

    def mcp_servers(self) -> dict[str, Any]:
        """The server with `context_restore`, in this process. It needs `hooks`, too."""

        @tool(RestoreTool.name, RestoreTool.description, dict(RestoreTool.schema))
        async def restore(arguments: dict[str, Any]) -> dict[str, Any]:
            id = arguments.pop(SESSION, None)
            if not isinstance(id, str):
                raise StoreError("Our hooks are missing: pass ClaudeAgentOptions(hooks=…), too.")
            text = await restore_tool(self.session_of(id)).aanswer(arguments)
            return {"content": [{"type": "text", "text": text}]}

        return {SERVER: create_sdk_mcp_server(SERVER, tools=[restore])}

    async def _answer(self, event: Any, tool_use_id: str | None, context: Any) -> Any:
        try:
            return await answered("claude-code", self._workspace, event)
        except ContextCompressionError as error:  # Claude Code goes on without us, and shows it
            return {"systemMessage": f"context-compression: {error}"}


async def _with_session(event: Any, tool_use_id: str | None, context: Any) -> Any:
    """Lets the model call our tool, for the session in which it calls it and no other."""
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "allow",
            "updatedInput": {**event["tool_input"], SESSION: event["session_id"]},
        }
    }


def plugin_path(folder: str | Path | None = None) -> str:
    """The folder of our plugin for Claude Code, as it starts with this Python.

    The plugin in our package looks for an installed command. A program may run from an environment
    that has none on its path, so the SDK gets a copy that names the Python it runs in.

    Args:
        folder: where to keep the copy; by default among the user's data.

    Raises:
        SetupError: the copy cannot be written.
    """
    plugins = Path(folder) if folder else user_data_path("context-compression", False) / "plugins"
    return str(plugin_for([sys.executable, "-P", "-m", "context_compression"], plugins))
