"""`truncate`: a long tool output keeps its beginning and end, each half of the limit.

So does a long argument of a call, with half of that: the model wrote it and the tool has it.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from context_compression.conversation.labels import Span
from context_compression.conversation.messages import ToolCall, ToolResult
from context_compression.conversation.refs import ref_of
from context_compression.planning.plan import Plan
from context_compression.planning.selection import clip
from context_compression.settings import Settings
from context_compression.strategies.base import Proposal, without_model
from context_compression.strategies.tool_results import Shortening, longest_argument, shorten_steps

MARK = re.compile(r"\n\.\.\. \[truncated \d+ characters; ref \w+\] \.\.\.\n")
"""The mark of an earlier cut. It does not count towards the limit, because otherwise each
compression would cut the text again."""


def propose(plan: Plan) -> Proposal:
    """Edits that cut long tool outputs and arguments in the middle, the oldest first."""

    def cut(text: str, limit: int) -> str:
        if len(text) <= limit or len(MARK.sub("", text, count=1)) <= limit:
            return text
        return clip(text, limit, plan.archive.ref_of(text))

    def result(block: ToolResult, tool: str, index: int, shown: Sequence[Span]) -> ToolResult:
        text = cut(block.text, plan.settings.max_tool_output)
        return block if text == block.text else block.with_text(text)

    def argument(call: ToolCall, name: str, text: str, index: int, shown: Sequence[Span]) -> str:
        return cut(text, longest_argument(plan))

    return without_model(shorten_steps(plan, Shortening(result, argument), "truncate"))


def truncate_tool_output(
    text: str,
    *,
    max_chars: int | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
) -> str:
    """A tool output shortened before it is recorded: its beginning and end around a mark.

    The mark holds the ref of the full text. An output that would not become shorter is returned
    unchanged. Keep the full text yourself, or record the full message and let a `Session` keep it.

    Args:
        text: the output.
        max_chars: the most characters of text that are kept; default: `max_tool_output` of the
            settings.
        settings: a `Settings`, or some of its values.

    Raises:
        InvalidSettings: an unknown name or an impossible value.
    """
    checked = settings if isinstance(settings, Settings) else Settings.checked(settings or {})
    limit = checked.max_tool_output if max_chars is None else max_chars
    return min(text, clip(text, limit, ref_of(text)), key=len) if len(text) > limit else text
