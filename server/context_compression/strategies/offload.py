"""`offload`: a tool result goes to a file; one line and an evidence preview stay in its place."""

from context_compression.messages import ToolResult
from context_compression.plan import Plan, ref_of
from context_compression.selection import describe, preview, receipt
from context_compression.strategies.base import Proposal, without_model
from context_compression.strategies.tool_results import Shorten, shorten_results


def propose(plan: Plan) -> Proposal:
    """Edits that replace large tool results by their previews, oldest first."""
    return without_model(shorten_results(plan, to_preview(plan), "offload"))


def to_preview(plan: Plan) -> Shorten:
    """How a large result becomes its preview."""

    def shorten(result: ToolResult, name: str, index: int) -> ToolResult:
        tokens = plan.counter.block(result)
        text = result.text
        if tokens < plan.settings.offload_min_tokens or not text:
            return result
        what = describe(result, name, tokens)
        line = receipt(what, ref_of(text), plan.archive, with_file=True)
        shown = preview(text, plan.settings.offload_preview_tokens, plan, index)
        kept = result.with_text(f"{line}\n{shown}" if shown else line)
        return kept if plan.counter.block(kept) < tokens else result

    return shorten
