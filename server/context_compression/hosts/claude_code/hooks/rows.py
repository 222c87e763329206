"""A view as the rows of Claude Code's function hooks: handles of kept rows, and new rows.

    {"role": "user", "text": "…", "toolUses": [], "toolResults": [{"tool_use_id", "text", …}]}

The handle of a row is the id of its line in the transcript. A row kept by its handle stays
complete, with its images. But a tool step kept by its handles still follows its old lines, and a
resumed session walks them back past the compaction (seen in 2.1.329). So tool steps become new
rows. A new row cannot hold images or thinking. So a message of a tool step keeps its handles if it
has an image, or if it has thinking and is of the running turn.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

from context_compression.compression.result import Result
from context_compression.conversation.authors import HOST_NOTES, user_words
from context_compression.conversation.formats import parse
from context_compression.conversation.messages import Message, Text, Thinking, ToolCall, ToolResult
from context_compression.transcripts.transcript import Transcript

Row: TypeAlias = int | dict[str, Any]
"""The number of a kept row, or a new row."""

ROW_PARTS = 3  # of a row without tool results
LEFT_OUT = "<system-reminder>What is not text was left out here; it is archived.</system-reminder>"


def rows_of(result: Result, transcript: Transcript, handles: Sequence[str]) -> list[Row] | None:
    """The rows of a view; `None` if no handle is the id of a row in the transcript.

    Args:
        result: the result of compressing the transcript's messages.
        transcript: the conversation.
        handles: the handles of the host's rows, in order.
    """
    numbers = {handle: number for number, handle in enumerate(handles)}
    made_of = [sorted(numbers[u] for u in uuids if u in numbers) for uuids in transcript.rows]
    written = max((number for of_message in made_of for number in of_message), default=None)
    if written is None:
        return None
    messages = parse(transcript.messages).messages
    running = max((i for i, m in enumerate(messages) if user_words(m).strip()), default=0)
    rows: list[Row] = []
    for part in result.layout:
        if isinstance(part, dict):
            row = new_row(parse([part]).messages[0])
            rows += [row] if row["text"] or len(row) > ROW_PARTS or row["toolUses"] else []
            continue
        for index in range(part[0], part[1]):
            message = messages[index]
            if _needs_handle(message, running=index >= running):
                rows += made_of[index]
            elif made_of[index]:
                rows.append(new_row(message))
    return rows + list(range(written + 1, len(handles)))  # the newest, not yet in the transcript


def new_row(message: Message) -> dict[str, Any]:
    """A message as a new row, without the host's own notes, which the host adds again."""
    texts = [block.text for block in message.blocks if isinstance(block, Text)]
    texts = [text for text in texts if not text.lstrip().startswith(HOST_NOTES)]
    if not _is_text(message):
        texts.append(LEFT_OUT)
    uses = [{"tool_use_id": c.id, "tool": c.name, "input": c.arguments} for c in message.calls]
    row: dict[str, Any] = {"role": message.role, "text": "\n".join(texts), "toolUses": uses}
    if message.results:
        row["toolResults"] = [
            {"tool_use_id": result.call_id, "text": result.text, "isError": result.is_error}
            for result in message.results
        ]
    return row


def _needs_handle(message: Message, *, running: bool) -> bool:
    if not _is_text(message) or not (message.calls or message.results):
        return True
    return running and message.has_thinking


def _is_text(message: Message) -> bool:
    """Whether a new row can hold the message, apart from thinking."""
    parts = [part for result in message.results for part in result.content]
    return all(
        isinstance(block, Text | Thinking | ToolCall | ToolResult)
        for block in (*message.blocks, *parts)
    )
