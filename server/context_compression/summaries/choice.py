"""Who writes the summaries of a program: its own summarizer, or the model its settings name."""

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from context_compression.errors import InvalidSettings
from context_compression.setting_names import Provider
from context_compression.summaries.summarizer import Summarizer, SummaryFunction, why_no_summarizer

if TYPE_CHECKING:
    from context_compression.settings import Settings

BY_SETTINGS: Literal["by settings"] = "by settings"
Writer: TypeAlias = Summarizer | SummaryFunction | Literal["by settings"] | None
"""A summarizer or a function; `BY_SETTINGS` for the model that the settings name; `None` for no
model."""


def summarizer_for(writer: Writer, settings: "Settings") -> Summarizer | None:
    """The summarizer to ask; `None` if no model may be asked.

    If there is no key for the model, the summary fails, and `on_summary_failure` says what follows.

    Raises:
        InvalidSettings: it is no summarizer.
    """
    if writer is None:
        return None
    if writer != BY_SETTINGS:
        return _checked(writer)
    provider = settings.provider
    return provider and summarizer_of(provider, settings.summary_model, deadline_seconds=None)


def _checked(writer: Summarizer | SummaryFunction) -> Summarizer:
    if why := why_no_summarizer(writer):
        raise InvalidSettings(f"{why}.")
    return cast("Summarizer", writer)  # `asked` takes a function, too


def summarizer_of(provider: Provider, model: str | None, **options: Any) -> Summarizer:
    """The summarizer that asks an API for the summaries of a model; its module imports sockets.

    Args:
        provider: the API.
        model: the id of the model; `None` for that of the conversation.
        options: further arguments of the summarizer.
    """
    if provider == "openai":
        from context_compression.summaries.chat_completions import OpenAISummarizer

        return OpenAISummarizer(model, **options)
    from context_compression.summaries.anthropic import AnthropicSummarizer

    return AnthropicSummarizer(model, **options)
