"""A summarizer with a time limit for each request."""

from typing import Any

import anyio

from context_compression.errors import SummaryError
from context_compression.summaries.asking import asked
from context_compression.summaries.summarizer import Summarizer, SummaryRequest


class InTime:
    """Wraps a `Summarizer` with a time limit for each request; that of a request's own comes first.

    A request that takes longer counts as an attempt. It is repeated only if the settings chose the
    limit: otherwise an agent waits for its tool, and its client might give up.
    """

    @property
    def provider(self) -> Any:
        """The API of the wrapped summarizer, if it names one."""
        return getattr(self._other, "provider", None)

    @property
    def model(self) -> Any:
        """The model of the wrapped summarizer, if it names one."""
        return getattr(self._other, "model", None)

    def __init__(self, other: Summarizer, seconds: float | None = None) -> None:
        """The limit is `seconds`; `None` for none but that of a request."""
        self._other, self._seconds = other, seconds

    async def summarize(self, request: SummaryRequest) -> Any:
        """The summary for a request.

        Raises:
            SummaryError: no summary, or not in time.
        """
        seconds = request.seconds or self._seconds
        with anyio.move_on_after(seconds):
            return await asked(self._other, request)
        raise SummaryError(
            f"No summary within {seconds:g} s. Set summary_model to a faster model, or "
            "summary_seconds to more.",
            retryable=request.seconds is not None,
        )
