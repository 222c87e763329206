"""Who writes the summaries of a program: its own summarizer, or the model its settings name."""

from typing import Literal, TypeAlias

from context_compression.settings import Settings
from context_compression.summaries.summarizer import Summarizer

BY_SETTINGS: Literal["by settings"] = "by settings"
Writer: TypeAlias = Summarizer | Literal["by settings"] | None
"""A summarizer; `BY_SETTINGS` for the model that the settings name; `None` for no model."""


def summarizer_for(writer: Writer, settings: Settings) -> Summarizer | None:
    """The summarizer to ask; `None` if no model may be asked.

    If there is no key for the model, the summary fails, and `on_summary_failure` says what follows.
    """
    if not isinstance(writer, str):
        return writer
    if not settings.names_a_model:
        return None
    from context_compression.summaries.llms.anthropic import AnthropicSummarizer  # imports sockets

    return AnthropicSummarizer(settings.summary_model)
