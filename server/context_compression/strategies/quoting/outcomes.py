"""Which calls failed or brought nothing, and the line of the result that gives the reason."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from context_compression.conversation.messages import Message, Text, ToolResult
from context_compression.evidence.facts import commands_of, error_lines, exit_status, has_failed
from context_compression.planning.selection import shortened
from context_compression.strategies import measured
from context_compression.strategies.quoting.calls import one_line


class Outcome(NamedTuple):
    """The outcome of a call that failed or brought nothing.

    Attributes:
        message: which one its result is in, by index.
        slot: of the result in it.
        label: what the label of the call adds: `; exit 1`.
        reason: a line of the result.
    """

    message: int
    slot: int
    label: str
    reason: str


def outcomes_in(messages: Sequence[Message]) -> Mapping[str, Outcome]:
    """The outcome of each call that failed or brought nothing, by the id of the call."""
    commands = {
        call.id for message in messages for call in message.calls if next(commands_of(call), "")
    }
    return {
        block.call_id: Outcome(index, slot, label, reason)
        for index, message in enumerate(messages)
        for slot, block in enumerate(message.blocks)
        if isinstance(block, ToolResult)
        for label, reason in (outcome(block, block.call_id in commands),)
        if label
    }


def outcome(result: ToolResult, ran: bool) -> tuple[str, str]:
    """What the label of a call adds for its result, and a line of it that may give the reason.

    `("; exit 1", "Error: no such file")`, `("; error", …)`, `("; empty", "")`; nothing of others.

    Args:
        result: of the call.
        ran: whether the call ran a command: texts about commands speak of exit codes, too.
    """
    if not result.text.strip() and all(isinstance(part, Text) for part in result.content):
        return "; empty", ""
    status = exit_status(result.text) if ran else None
    if has_failed(result) or status not in (None, "0"):
        beginning = result.text[: measured.FAILURE_CHARS]
        lines = error_lines(beginning) or result.text.strip().splitlines()
        what = "error" if status in (None, "0") else f"exit {status}"
        first = one_line(lines[0] if lines else "")
        return f"; {what}", shortened(first, measured.LABEL_CHARS)
    return "", ""
