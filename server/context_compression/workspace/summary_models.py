"""Which model may write summaries: only a model that the user has named.

A project's own file and an agent's arguments cannot enable calls to a model. The user names a model
in the environment or on the command line.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from context_compression.display.strings import one_line
from context_compression.settings import Settings
from context_compression.summaries.summarizer import Summarizer

CREDENTIALS = ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")


@dataclass(frozen=True)
class SummaryModels:
    """The choice of a model for summaries.

    Attributes:
        environ: the environment of the process.
        user_settings: settings that the user gave on the command line, and with this call.
        deadline_seconds: for all requests of a summary; `None` for no limit.
    """

    environ: Mapping[str, str]
    user_settings: Mapping[str, Any]
    deadline_seconds: float | None

    def summarizer(self, settings: Settings) -> Summarizer | None:
        """The model that writes summaries, a new one for each compression; `None` if none may."""
        if not settings.names_a_model or self.why_none(settings):
            return None
        from context_compression.summaries.llms.anthropic import AnthropicSummarizer
        from context_compression.summaries.llms.deadline import InTime

        seconds = self.deadline_seconds
        model = AnthropicSummarizer(
            settings.summary_model, environ=self.environ, deadline_seconds=seconds
        )
        return InTime(model, seconds)

    def why_none(self, settings: Settings) -> str | None:
        """Why a model that the settings name is not called; `None` if it is, or none is named.

        Args:
            settings: of the compression, from all their layers.
        """
        if settings.summarizer in ("caller", "none"):
            return None
        if not self.is_allowed():
            if not settings.names_a_model:
                return None
            by = "it is named" if settings.summary_model else "none is named; summarizer is set"
            return (
                f"{by} in config.json alone, and a project's own file may not send the "
                "conversation anywhere. Set CONTEXT_COMPRESSION_SUMMARY_MODEL in the environment, "
                "or name a model on the command line with --summary-model."
            )
        if settings.summarizer == "auto" and not any(map(self.environ.get, CREDENTIALS)):
            return f"neither {' nor '.join(CREDENTIALS)} is set."
        return None

    def doubt(self, settings: Settings) -> str | None:
        """Why a model that the settings name will not write summaries; `None` if it will."""
        named = settings.summary_model
        if named and settings.summarizer in ("caller", "none"):
            return (
                f"summary_model = {one_line(named)} will not be asked, because summarizer = "
                f"{settings.summarizer}."
            )
        reason = self.why_none(settings)
        if settings.summarizer == "anthropic" and not any(map(self.environ.get, CREDENTIALS)):
            reason = reason or f"neither {' nor '.join(CREDENTIALS)} is set."
        return f"No model will be asked: {reason}" if reason else None

    def is_allowed(self) -> bool:
        """Whether the user has named a model for summaries, or a summarizer that calls one."""
        return Settings.layered(environ=self.environ, arguments=self.user_settings).names_a_model
