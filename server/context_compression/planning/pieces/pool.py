"""`Pool`, which cuts sources into pieces, marks the signs of each piece, and counts their words."""

from bisect import bisect, bisect_left
from collections.abc import Iterable, Sequence
from itertools import islice

from context_compression.conversation.rendering import Span, gap_tokens
from context_compression.evidence import facts as evidence
from context_compression.planning import measured
from context_compression.planning.cuts import Cutter
from context_compression.planning.pieces.choice import Choice
from context_compression.planning.pieces.table import (
    DUE,
    FAILED,
    OUTDATED,
    REASON,
    PieceTable,
    Source,
)
from context_compression.planning.pieces.weights import Weights, weights_in_one, weights_of_all


class Pool(PieceTable):
    """All pieces that compete for one view."""

    def __init__(self, cutter: Cutter) -> None:
        super().__init__(cutter)
        self._seen_in = bytearray()  # for each word the number of its messages, at most `MANY`
        self._message, self._words = -1, set[int]()  # the last message, and its words

    def add(self, source: Source, outdated: Iterable[Span] = (), due: Iterable[Span] = ()) -> None:
        """Cut a source into pieces and add them.

        Args:
            source: the text.
            outdated: the spans of its outdated parts.
            due: the spans of open tasks in it.
        """
        pieces = self._pieces_of(source)
        self.shifts.append(pieces.start - len(self))
        self.per_char.append(source.tokens / max(1, len(source.text)))
        self.source_of.extend([len(self.sources)] * len(pieces))
        self.firsts.append(len(self))
        self.signs.extend(self._signs_of(source, pieces, outdated, due))
        if pieces:
            self.edges.extend(bytes(len(pieces)))
            self.edges[len(self) - len(pieces)] += 1
            self.edges[-1] += 1
        self.sources.append(source)
        self.gap_tokens.append(gap_tokens(source.text, explicit=source.key == source.text))
        if source.message != self._message:
            if self._words:
                self._count()
            self._message = source.message
        self._words.update(self.cutter.words_of(pieces))

    def _pieces_of(self, source: Source) -> range:
        """The pieces of a source that compete, by the cutter's numbers."""
        cutter, pieces = self.cutter, self.cutter(source.text)
        if source.start:
            first = bisect(cutter.stops, source.start, pieces.start, pieces.stop)
            pieces = range(first, pieces.stop)
        if source.end is not None:
            end = bisect_left(cutter.starts, source.end, pieces.start, pieces.stop)
            pieces = range(pieces.start, end)
        return pieces

    def _signs_of(
        self, source: Source, pieces: range, outdated: Iterable[Span], due: Iterable[Span]
    ) -> bytearray:
        """The signs of each piece; an outdated piece is not due."""
        here = slice(pieces.start, pieces.stop)
        starts, stops = self.cutter.starts[here], self.cutter.stops[here]
        signs = self.cutter.fails[here]

        def within(span: Span) -> range:
            """The pieces that a span overlaps, counted from the first piece of the source."""
            return range(bisect(stops, span[0]), bisect_left(starts, span[1]))

        if source.failed:
            failures = (at for at, fails in enumerate(signs) if fails)
            for at in islice(failures, measured.FIRST_FAILURES):
                signs[at] |= FAILED
        printed = not source.key and not source.spoken
        if printed and (tests := evidence.count_of_tests(source.text)):
            for at in within(tests):
                signs[at] |= FAILED
        for spoken in source.spoken:
            for at in within(spoken):
                if evidence.DECISION.search(source.text, starts[at], stops[at]):
                    signs[at] |= REASON
        for span in due:
            for at in within(span):
                signs[at] |= DUE
        for replaced in outdated:
            for at in within(replaced):
                signs[at] = signs[at] & ~DUE | OUTDATED
        return signs

    def _count(self) -> None:
        """Count the words of the last message as seen in one more message."""
        seen_in, most = self._seen_in, measured.MANY
        seen_in.extend(bytes(len(self.cutter.numbering) - len(seen_in)))
        for number in self._words:
            if seen_in[number] < most:
                seen_in[number] += 1
        self._words.clear()

    def choice(self, shown: Iterable[int], used: Sequence[int]) -> Choice:
        """A choice among the pieces.

        Args:
            shown: the evidence words that are already in view, by number.
            used: for each word, by number, not 0 if it was spoken or passed to a tool.
        """
        return Choice(self, shown, self.weights(used))

    def weights(self, used: Sequence[int]) -> Weights:
        """The worth of each word, by its kind, the number of its messages, and whether it was used.

        `used` is the same as for `choice`.
        """
        kinds = self.cutter.numbering.kinds
        if not self._seen_in:  # a single message holds only few of all words
            return weights_in_one(self._words, kinds, used)
        self._count()
        return weights_of_all(kinds, self._seen_in, used)
