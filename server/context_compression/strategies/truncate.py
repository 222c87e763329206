"""`truncate`: a tool output longer than the limit keeps its first and last half of the limit."""

import re
from collections.abc import Sequence

from context_compression.conversation.messages import ToolResult
from context_compression.conversation.refs import ref_of
from context_compression.conversation.rendering import Span
from context_compression.planning.plan import Plan
from context_compression.planning.selection import clip
from context_compression.settings import Settings
from context_compression.strategies.base import Proposal, without_model
from context_compression.strategies.tool_results import shorten_results

MARK = re.compile(r"\n\.\.\. \[truncated \d+ characters; ref \w+\] \.\.\.\n")
"""The mark of an earlier cut; it does not count, or each compression would cut it out again."""


def propose(plan: Plan) -> Proposal:
    """Edits that cut long tool outputs in the middle, oldest first.

    `shorten_results` walks through the results and asks `shorten` for each.
    """
    limit = plan.settings.max_tool_output

    def shorten(result: ToolResult, name: str, index: int, shown: Sequence[Span]) -> ToolResult:
        text = result.text
        if len(text) <= limit or len(MARK.sub("", text, count=1)) <= limit:
            return result
        return result.with_text(clip(text, limit, plan.archive.ref_of(text)))

    return without_model(shorten_results(plan, shorten, "truncate"))


def truncate_tool_output(text: str, *, max_chars: int | None = None) -> str:
    """One tool output shortened before it is recorded: first and last half around a mark.

    `max_chars` defaults to the setting `max_tool_output`. The ref in the mark is that of the full
    text; keep it yourself, or record the full message and let a `Session` do so.
    """
    limit = Settings().max_tool_output if max_chars is None else max_chars
    return min(text, clip(text, limit, ref_of(text)), key=len) if len(text) > limit else text
