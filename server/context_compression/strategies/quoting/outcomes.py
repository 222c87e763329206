"""The outcomes of calls that failed or returned nothing, with the line that gives the reason."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from context_compression.conversation.messages import Message, Text, ToolResult
from context_compression.evidence.facts import commands_of, error_lines, exit_status, has_failed
from context_compression.evidence.ledger.outcomes import test_counts
from context_compression.planning.selection import shortened
from context_compression.strategies import measured
from context_compression.strategies.quoting.calls import without_line_breaks

WRAPPER = re.compile(r"\s*</?[\w-]+>(?:-?\d+</[\w-]+>)?\s*|\W*(?:exit|return) ?code\W*\d+\s*", re.I)
"""A line that only wraps an output, or repeats its exit status."""
UNDONE = "undone later"
"""What a label says of an edit that was taken back."""


class CallOutcome(NamedTuple):
    """The outcome of a call that failed or returned nothing.

    Attributes:
        label: the end of the call's label: `; exit 1`.
        reason: the line of the result that may give the reason.
    """

    label: str
    reason: str


def outcomes_in(messages: Sequence[Message]) -> Mapping[str, CallOutcome]:
    """The outcome of each call that failed or returned nothing, by call id."""
    commands = {
        call.id for message in messages for call in message.calls if next(commands_of(call), "")
    }
    return {
        block.call_id: CallOutcome(label, reason)
        for message in messages
        for block in message.results
        for label, reason in (outcome(block, block.call_id in commands),)
        if label
    }


def end_of(result: ToolResult, known: CallOutcome | None, *, success: bool = True) -> str:
    """How a call ended, for a quote without its result: `exit 1, 1 failed, 3 passed`.

    A call that succeeded says how its tests ended, or `exit 0` if its result does; else `""`.

    Args:
        result: the result of the call.
        known: the outcome of the call if it failed or returned nothing.
        success: whether to say `exit 0`.
    """
    counts = test_counts(result.text[-measured.FAILURE_CHARS :])
    if known is None:
        return counts or ("exit 0" if success and exit_status(result.text) == "0" else "")
    parts = [known.label.removeprefix("; "), counts or known.reason]
    return ", ".join(filter(None, parts))


def outcome(result: ToolResult, ran: bool) -> tuple[str, str]:
    """The end of the call's label for a result, and a line of it that may give the reason.

    `("; exit 1", "Error: no such file")`, `("; error", …)`, `("; empty", "")`; `("", "")` for any
    other result.

    Args:
        result: the result of the call.
        ran: whether the call ran a command. Only then is an exit status searched, because other
            texts may mention exit codes.
    """
    if not result.text.strip() and all(isinstance(part, Text) for part in result.content):
        return "; empty", ""
    status = exit_status(result.text) if ran else None
    if has_failed(result) or status not in (None, "0"):
        beginning = result.text[: measured.FAILURE_CHARS]
        lines = error_lines(beginning) or [
            line for line in beginning.splitlines() if line.strip() and not WRAPPER.fullmatch(line)
        ]
        what = "error" if status in (None, "0") else f"exit {status}"
        first = without_line_breaks(lines[0] if lines else "")
        return f"; {what}", shortened(first, measured.LABEL_CHARS)
    return "", ""
