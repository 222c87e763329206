"""The shapes of what Pi's entries hold."""

from context_compression.hosts.pi.about import TITLE
from context_compression.transcripts.shapes import Each, Known, Shape, Shapes

ROLES = Known(
    frozenset(
        {"user", "custom", "hookMessage", "assistant", "toolResult", "bashExecution", "system"}
    )
)
BLOCK: Shape = {"type": str, "thinking": str, "thinkingSignature": str}
CONTENT: Shape = (str, [BLOCK], BLOCK)
TOOLS: Shape = [{"name": str}]
PROMPT: Shape = {"content": CONTENT, "sections": Each(str)}
SHAPES = Shapes(
    TITLE,
    {
        "message": {
            "message": {
                **PROMPT,
                "role": ROLES,
                "toolCallId": str,
                "command": str,
                "output": str,
                "toolsAdded": TOOLS,
                "toolsRemoved": TOOLS,
            }
        },
        "compaction": {
            "summary": None,
            "firstKeptEntryId": str,
            "systemMessage": {**PROMPT, "toolsAdded": TOOLS, "toolsRemoved": TOOLS},
        },
        "context_edit": {"targetId": str, "replacement": {"content": CONTENT}},
    },
)
