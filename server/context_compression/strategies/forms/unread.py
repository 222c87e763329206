"""Results that the model has not read: whole as far as they have room, else ends and errors."""

import re
from collections.abc import Sequence

from context_compression.conversation.messages import ToolResult
from context_compression.conversation.rendering import Span
from context_compression.evidence.facts import ERROR_WORDS, exit_status, has_failed, lines_with
from context_compression.planning.plan import Plan
from context_compression.planning.selection import end_of_output, landmarks, tokens_of_text
from context_compression.strategies import measured
from context_compression.strategies.forms.parts import fitting, outer_parts
from context_compression.strategies.offload import to_preview

LINE_END = re.compile(r"\n")
"""The place where results are cut."""


def unread_in(plan: Plan) -> Sequence[int]:
    """The messages with results after which no message of the model came."""
    said = [i for i in plan.open_step or () if plan.messages[i].role == "assistant"]
    behind = range(said[-1] + 1, len(plan.messages)) if said else ()
    return [i for i in behind if plan.messages[i].results and i not in plan.pins]


def error_begins(result: ToolResult) -> list[Span]:
    """The spans of the first lines of a failed result, and of its first line with an error.

    A result has failed if the tool or its exit status says so, or if its first line is an error.
    """
    text = result.text
    errors = [start for start, _ in lines_with(text[: end_of_output(text)], ERROR_WORDS)]
    if not has_failed(result) and exit_status(text) in (None, "0") and errors[:1] != [0]:
        return []
    starts = [0, *errors][:2]
    return [_lines_from(text, start, measured.ENDING_CHARS) for start in dict.fromkeys(starts)]


class UnreadResults:
    """The results that the model has not read, in the tokens that they may take together.

    The newest is whole if it fits, and so are those that are not larger than a preview. The others
    share what is left, smaller ones whole first. If they do not fit, they take less of it, the less
    the larger they are: other evidence tells more than a small part of a large result.
    """

    def __init__(self, plan: Plan, tokens: int) -> None:
        """The shares of the results.

        Args:
            plan: the plan of the conversation.
            tokens: the tokens of all results together.
        """
        self._plan = plan
        self._spans: dict[str, Sequence[Span]] = {}
        results = [result for index in unread_in(plan) for result in plan.messages[index].results]
        sizes = [(tokens_of_text(each, plan.counter), each.call_id) for each in results]
        preview = plan.settings.offload_preview_tokens
        sure = [each for each in sizes if each[0] <= (tokens if each == sizes[-1] else preview)]
        others = sorted(each for each in sizes if each not in sure)
        room = max(0, tokens - sum(size for size, _ in sure))
        fitting = room / max(1, room, sum(size for size, _ in others))
        left = int(room * max(measured.UNREAD_LEAST, fitting**measured.UNREAD_FALL))
        self._tokens = {call: size for size, call in sure}  # by the id of the call
        for number, (size, call) in enumerate(others):
            behind = len(others) - number - 1
            is_whole = size <= left - behind * min(size, preview)  # the others are not smaller
            self._tokens[call] = share = size if is_whole else left // (behind + 1)
            left -= share

    def share_of(self, result: ToolResult) -> int:
        """The tokens that a result may take."""
        return self._tokens.get(result.call_id, 0)

    def short(
        self, result: ToolResult, name: str, index: int, shown: Sequence[Span]
    ) -> ToolResult | None:
        """A result in its share: whole, or its receipt, its ends and its errors.

        The spans `shown` are added, whatever they take. `None` if nothing of it fits.
        """
        if tokens_of_text(result, self._plan.counter) <= self.share_of(result):
            return result
        spans = self._spans.get(result.call_id)
        if spans is None:
            spans = self._spans[result.call_id] = self._fitting(result, name, index)
        if not spans:
            return None
        return self._with(result, name, index, [*spans, *shown])

    def _with(self, result: ToolResult, name: str, index: int, spans: Sequence[Span]) -> ToolResult:
        def spans_of(_result: ToolResult, _index: int, _plan: Plan) -> Sequence[Span]:
            return spans

        return to_preview(self._plan, 0, spans_of)(result, name, index, ())

    def _fitting(self, result: ToolResult, name: str, index: int) -> Sequence[Span]:
        """The ends and errors that make a result about as large as its share, and not larger."""
        count, share = self._plan.counter, self.share_of(result)
        text, least = result.text, error_begins(result)
        bare = tokens_of_text(self._with(result, name, index, least), count)
        if bare > share:
            return ()
        tokens = tokens_of_text(result, count)
        chars, best = (share - bare) * len(text) / max(1, tokens), least
        for _ in range(measured.UNREAD_ROUNDS):
            spans = [*least, *ends_and_errors(text, int(chars))]
            taken = tokens_of_text(self._with(result, name, index, spans), count)
            if taken <= share:
                best = spans
                if taken >= measured.UNREAD_FILLED * share:
                    break
            chars *= max(0.5, min(1.5, (share - bare) / max(1, taken - bare)))
            chars *= 1 if taken <= share else measured.UNREAD_FILLED
        return best


def ends_and_errors(text: str, chars: int) -> list[Span]:
    """The beginning, the end and the lines of errors of a text, in about so many characters."""
    stop = end_of_output(text)
    for_errors = int(measured.UNREAD_ERRORS_SHARE * chars)
    errors = [
        (start, min(end, start + measured.ENDING_CHARS))
        for start, end in lines_with(text[:stop], ERROR_WORDS)
    ]
    first = fitting(errors, for_errors // 2)
    last = fitting(errors[len(first) :][::-1], for_errors // 2)
    spans = [*landmarks(text, for_errors), *first, *last]
    left = chars - sum(end - start for start, end in {*spans})
    if not 0 < left < stop:
        return spans
    return [*spans, *outer_parts(text[:stop], left, LINE_END)]


def _lines_from(text: str, start: int, most: int) -> Span:
    """The lines from a place on, in about so many characters; one line that is longer is cut."""
    stop = min(len(text), start + most)
    end = text.rfind("\n", start, stop) if stop < len(text) else stop
    return start, end if end > start else stop
