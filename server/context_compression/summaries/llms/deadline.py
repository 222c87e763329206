"""A summarizer with a deadline, because an agent waits for the answer."""

from typing import Any

import anyio

from context_compression.errors import SummaryError
from context_compression.summaries.summarizer import Summarizer, SummaryReply, SummaryRequest


class InTime:
    """Wraps a `Summarizer` with one deadline for all requests of a compression.

    A failed request is not repeated: the wrapped summarizer has its own attempts.
    """

    @property
    def provider(self) -> Any:
        """The API of the wrapped summarizer, if it names one."""
        return getattr(self._other, "provider", None)

    @property
    def model(self) -> Any:
        """The model of the wrapped summarizer, if it names one."""
        return getattr(self._other, "model", None)

    def __init__(self, other: Summarizer, seconds: float | None) -> None:
        """The deadline is `seconds` after the first request; `None` for no deadline."""
        self._other, self._seconds = other, seconds
        self._deadline: float | None = None

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """The summary for a request.

        Raises:
            SummaryError: no summary, or not in time.
        """
        now = anyio.current_time()
        if self._deadline is None and self._seconds is not None:
            self._deadline = now + self._seconds
        left = None if self._deadline is None else self._deadline - now
        with anyio.move_on_after(left):
            try:
                return await self._other.summarize(request)
            except SummaryError as error:
                raise SummaryError(str(error), retryable=False, too_long=error.too_long) from error
        raise SummaryError(
            f"No summary within {self._seconds:g} s. Set summary_model to a faster model, or ask "
            "for a smaller part of the conversation.",
            retryable=False,
        )
