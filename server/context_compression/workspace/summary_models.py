"""Which model may write summaries: only a model of an API that the user has named.

A project's own file and an agent's arguments cannot enable calls to a model, nor choose another API
than the user did. The user names a model in the environment or on the command line. The addresses
of the APIs come from the environment alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from context_compression.setting_names import Provider
from context_compression.settings import Settings
from context_compression.strings import one_line
from context_compression.summaries.choice import summarizer_of
from context_compression.summaries.summarizer import Summarizer

CREDENTIALS: Mapping[Provider, tuple[str, str]] = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    "openai": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
}
"""For each API, the variables with its key and its address; one of them is needed."""


def no_credentials(provider: Provider, environ: Mapping[str, str]) -> str | None:
    """That neither the key nor the address of an API is set; `None` if one is."""
    names = CREDENTIALS[provider]
    if any(map(environ.get, names)):
        return None
    return f"neither {' nor '.join(names)} is set."


@dataclass(frozen=True)
class SummaryModels:
    """The choice of a model for summaries.

    Attributes:
        environ: the environment of the process.
        user_settings: settings that the user gave on the command line, and with this call.
        seconds: for each request of a summary, if no setting says how long it may take; `None` for
            no limit.
    """

    environ: Mapping[str, str]
    user_settings: Mapping[str, Any]
    seconds: float | None

    def summarizer(self, settings: Settings) -> Summarizer | None:
        """The model that writes summaries, a new one for each compression; `None` if none may."""
        if not settings.provider or self.why_none(settings):
            return None
        from context_compression.summaries.attempts import InTime

        model = summarizer_of(
            settings.provider, settings.summary_model, environ=self.environ, deadline_seconds=None
        )
        return InTime(model, self.seconds)

    def why_none(self, settings: Settings) -> str | None:
        """Why a model that the settings name is not called; `None` if it is, or none is named.

        Args:
            settings: of the compression, from all their layers.
        """
        if settings.summarizer in ("caller", "none"):
            return None
        if not (named := self.provider):
            if not settings.provider:
                return None
            by = "it is named" if settings.summary_model else "none is named; summarizer is set"
            return (
                f"{by} in the store's settings alone, and those may not send the conversation "
                "anywhere. Set CONTEXT_COMPRESSION_SUMMARY_MODEL in the environment, "
                "or name a model on the command line with --summary-model."
            )
        if settings.provider not in (None, named):
            return (
                f"summarizer = {settings.summarizer} is set in the store's settings alone, and "
                f"those may not choose who gets the conversation; you named {named}. Set "
                f"CONTEXT_COMPRESSION_SUMMARIZER={settings.summarizer} in the environment, or "
                "run `context-compression config --reset summarizer`."
            )
        if settings.summarizer == "auto" and (missing := no_credentials(named, self.environ)):
            other = " For a server like OpenAI's, set CONTEXT_COMPRESSION_SUMMARIZER=openai."
            return missing + other * (no_credentials("openai", self.environ) is None)
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
        if settings.provider:
            reason = reason or no_credentials(settings.provider, self.environ)
        return f"No model will be asked: {reason}" if reason else None

    @property
    def provider(self) -> Provider | None:
        """The API of the model that the user has named for summaries."""
        return Settings.layered(environ=self.environ, arguments=self.user_settings).provider
