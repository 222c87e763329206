"""Tool results as one line."""

from collections.abc import Sequence

from context_compression.conversation.messages import ToolResult
from context_compression.conversation.rendering import Span, render
from context_compression.display.plurals import how_many
from context_compression.evidence.facts import exit_status
from context_compression.planning.selection import ref_of_full
from context_compression.strategies import measured
from context_compression.strategies.quoting import UNDONE, Quoting


class ShortResults:
    """Shortens the results of a conversation to one line each."""

    def __init__(self, quoting: Quoting) -> None:
        self._quoting = quoting
        self._lines: dict[str, str] = {}  # by the id of the call

    def short(self, result: ToolResult, spans: Sequence[Span]) -> ToolResult:
        """A result as its line and some spans; the same object if that is hardly shorter."""
        text, line = result.text, self._line(result)
        if len(text) <= len(line) + measured.LEAST_CUT_CHARS:
            return result
        return result.with_text(f"{line}\n{render(text, spans)}" if spans else line)

    def _line(self, result: ToolResult) -> str:
        """The line of a result: `[812 lines, exit 1; ref …]`; the call names the tool."""
        line = self._lines.get(result.call_id)
        if line is None:
            text = result.text
            ref = ref_of_full(text, self._quoting.plan.archive)
            parts = [how_many(text.count("\n") + 1, "line")]
            if (status := exit_status(text)) is not None:
                parts.append(f"exit {status}")
            if result.is_error:
                parts.append("error")
            if result.call_id in self._quoting.plan.outdated.undone:
                parts.append(UNDONE)
            line = self._lines[result.call_id] = f"[{', '.join(parts)}; ref {ref}]"
        return line
