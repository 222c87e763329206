"""The shapes of what Copilot CLI's events hold."""

from context_compression.hosts.copilot_cli.about import TITLE
from context_compression.transcripts.shapes import Shape, Shapes

FILES: Shape = [{"type": str, "path": str, "mimeType": str, "data": str}]
CALLS: Shape = [{"toolCallId": str, "name": str}]
SPOKEN: Shape = {"content": str, "reasoningText": str, "reasoningOpaque": str}
SHAPES = Shapes(
    TITLE,
    {
        "system.message": {"data": {"content": str}},
        "system.notification": {"data": {"content": str}},
        "user.message": {"data": {"content": str, "transformedContent": str, "attachments": FILES}},
        "assistant.message": {"data": {**SPOKEN, "toolRequests": CALLS, "apiCallId": str}},
        "tool.execution_complete": {
            "data": {
                "toolCallId": str,
                "result": {"content": str, "binaryResultsForLlm": FILES},
                "error": {"message": str},
            }
        },
        "session.compaction_complete": {"data": {"summaryContent": str}},
    },
)
