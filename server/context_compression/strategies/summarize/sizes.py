"""How large the requests for a summary may be, after a model said that one was too long."""

from dataclasses import dataclass

from context_compression.errors import SummaryError
from context_compression.settings import Settings
from context_compression.strategies import measured


@dataclass(frozen=True)
class RequestSize:
    """How large a request for a summary may be, in tokens.

    Attributes:
        record: of the part of the record that it holds.
        answer: of the answer, at most.
        summary: at which the summary aims.
    """

    record: int
    answer: int
    summary: int

    @classmethod
    def of_settings(cls, settings: Settings, summary: int) -> "RequestSize":
        """The size of the first request, which a window of the settings' budget holds."""
        room = int(measured.RECORD_SHARE * settings.token_budget) - settings.summary_limit
        return cls(max(measured.LEAST_RECORD_TOKENS, room), settings.summary_limit, summary)

    def after(self, refused: SummaryError, record: int, rest: int) -> "RequestSize | None":
        """The size after a request that was too long; `None` if no smaller one makes sense.

        If the provider named its window, the request fills it. Otherwise the record is halved, from
        its own size on, so that no request is made twice.

        Args:
            refused: the error.
            record: tokens of the record in the refused request.
            rest: its other tokens: instructions and an earlier summary.
        """
        if refused.window:
            named = self._in_window(refused.window, refused.used, record, rest)
            if named.record < measured.LEAST_NAMED_PART_TOKENS:
                return None
            if named.record < record or named.answer < self.answer:
                return named
        if record <= measured.LEAST_PART_TOKENS:
            return None
        half = max(measured.LEAST_PART_TOKENS, record // 2)
        return self._with(half, min(self.answer, half))

    def _in_window(self, window: int, used: int, record: int, rest: int) -> "RequestSize":
        """The size of a request that fills a window."""
        share = used / max(1, record + rest) if used else measured.MARGIN_OF_WINDOW
        counted = min(max(1.0, share), measured.MOST_MARGIN)  # by the provider, for each of ours
        answer = min(self.answer, max(1, int(measured.ANSWER_OF_WINDOW * window)))
        room = int((window - answer) / counted) - rest - int(measured.SUMMARY_OF_ANSWER * answer)
        return self._with(min(record, room), answer)

    def _with(self, record: int, answer: int) -> "RequestSize":
        summary = min(self.summary, max(1, int(measured.SUMMARY_OF_ANSWER * answer)))
        return RequestSize(record, answer, summary)
