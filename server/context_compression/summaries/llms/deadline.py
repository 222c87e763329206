"""A summarizer that takes only so long: somebody waits for the answer."""

import anyio

from context_compression.errors import SummaryError
from context_compression.summaries.summarizer import Summarizer, SummaryReply, SummaryRequest


class InTime:
    """Another `Summarizer`, with one deadline for all the requests of one compression.

    What it was refused is not asked again: the other one has its own attempts already.
    """

    def __init__(self, other: Summarizer, seconds: float | None) -> None:
        """From the first request on, `seconds` are left; `None`: as long as it takes."""
        self._other, self._seconds = other, seconds
        self._deadline: float | None = None

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """The summary asked for.

        Raises:
            SummaryError: there is none, or not in time.
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
