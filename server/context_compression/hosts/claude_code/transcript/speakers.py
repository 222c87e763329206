"""What the user said in a tool result of Claude Code, by what no tool can write into its row.

Newer versions (seen in 2.1.217 to 2.1.332) record that the user rejected a call
(`toolDenialKind`), and the comment (`userFeedback`), beside the message. Older ones only write a
sentence into the result. The results of MCP servers are their own text, also when they fail; those
of the host's own tools, if they fail, begin with words of the host (`Exit code 1`,
`<tool_use_error>`, `ENOENT: …`). So its sentence is believed in these alone.
"""

from collections.abc import Mapping
from typing import Any

from context_compression.conversation.authors import BY_USER, reason_in
from context_compression.hosts.claude_code.transcript.row import Row
from context_compression.transcripts.lines import string

REJECTED = "user-rejected"
SENTENCE = "The user doesn't want to proceed with this tool use. The tool use was rejected"
"""How the result of a call that the user rejected begins, in all versions."""
OF_SERVERS = "mcp__"
"""How the names of the tools of MCP servers begin."""


def with_speaker(result: Mapping[str, Any], tool: str, row: Row) -> Mapping[str, Any]:
    """A result, marked with the reason if the user rejected its call.

    Args:
        result: the block.
        tool: the name of the called tool; empty if it is not known.
        row: the row with the result.
    """
    if result.get("is_error") is not True:
        return result
    text = result.get("content")
    kind = row.get("toolDenialKind")
    sentence = isinstance(text, str) and text.startswith(SENTENCE)
    own = bool(tool) and not tool.startswith(OF_SERVERS)
    if kind != REJECTED and not (kind is None and sentence and own):
        return result
    words = string(row, "userFeedback") or (reason_in(text) if isinstance(text, str) else "")
    return {**result, BY_USER: words} if words else result
