"""What competed for the room of a view, as the record from which a compression is explained.

The record is made from the choice itself: the order in which pieces were chosen, their worth at
that moment, and what is left. So an explanation says what happened, and weighs nothing again.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from context_compression.conversation.authors import user_words
from context_compression.conversation.messages import Message, Text, texts_of
from context_compression.evidence.words import Lexicon
from context_compression.planning import measured
from context_compression.planning.edits import Weighed, WeighedPart
from context_compression.planning.pieces import (
    DUE,
    FAILED,
    FAILURE,
    REASON,
    Choice,
    Pool,
    Weights,
    cover,
    known_in,
    piece_of,
    worth_per_token,
)
from context_compression.strategies.competing import KeptMessages, words_shown

BEST_EVIDENCE, BEST_PARTS = 3, 3
"""How much evidence, and how many parts that are left out, an explanation names."""
CERTAIN_CHARS = 12
"""A shorter text may be in a note by chance, so it must begin a line or follow a label."""
SIGNS: Sequence[tuple[int, str, float]] = (
    (FAILED, "failure", measured.FAILED_BONUS),
    (FAILURE, "failure", measured.ERROR_BONUS),
    (REASON, "decision", measured.REASON_BONUS),
    (DUE, "open task", measured.DUE_BONUS),
)
"""The signs of pieces, with the kind of evidence that they are, and their worth."""


class Weighing:
    """Makes the record of one choice."""

    def __init__(self, base: KeptMessages, pool: Pool, choice: Choice) -> None:
        self._base, self._pool, self._choice = base, pool, choice
        self._lexicon = Lexicon()

    def record(
        self, chosen: "array[int]", view: Mapping[int, Message], notes: Mapping[int, Message]
    ) -> Weighed:
        """The record.

        Args:
            chosen: the pieces that were not given back.
            view: the messages of the view, by index.
            notes: its notes, by index.
        """
        quoted = "\n".join(map(text_of, notes.values()))
        places: dict[int, str] = {}

        def is_shown(part: WeighedPart) -> bool:
            index = part.message
            if index not in places:
                places[index] = text_of(view[index]) if index in view else quoted
            return is_in(part.text, places[index])

        left_out: dict[int, list[WeighedPart]] = {}
        for rank in sorted(chain(self._given_back(chosen), self._choice.left())):
            of_message = left_out.setdefault(self._message(piece_of(rank)), [])
            if len(of_message) < BEST_PARTS:
                part = self._part(rank)
                if part.text and not is_shown(part):
                    of_message.append(part)
        return Weighed([*self._shown(chosen)], left_out)

    def _given_back(self, chosen: "array[int]") -> Iterator[int]:
        kept = {*chosen}
        return (rank for rank in self._choice.taken if piece_of(rank) not in kept)

    def _shown(self, chosen: "array[int]") -> Iterator[WeighedPart]:
        """The chosen parts, each with the evidence that was new when it was chosen."""
        kept, weights = {*chosen}, self._pool.weights(self._base.plan.used)
        cover(weights, words_shown(self._base, self._pool.cutter))
        for rank in self._choice.taken:
            piece = piece_of(rank)
            if piece in kept and (part := self._part(rank)).text:
                evidence = sorted(self._evidence(part, piece, weights), key=lambda each: -each[2])
                paid = (each for each in evidence[:BEST_EVIDENCE] if each[2] > 0)
                yield part._replace(evidence=tuple(paid))
            cover(weights, self._pool.words(piece))

    def _message(self, piece: int) -> int:
        return self._pool.sources[self._pool.source_of[piece]].message

    def _part(self, rank: int) -> WeighedPart:
        piece = piece_of(rank)
        number, start, stop = self._pool.place(piece)
        source, tokens = self._pool.sources[number], max(1, round(self._pool.tokens(piece)))
        text = source.text[start:stop].strip()
        return WeighedPart(
            source.message, text, tokens, worth_per_token(rank), source.key == "line"
        )

    def _evidence(
        self, part: WeighedPart, piece: int, weights: Weights
    ) -> Iterator[tuple[str, str, float]]:
        """What pays for a part, as `(kind, text, worth)`; the text is empty for the part itself."""
        known = known_in(weights)
        for word, kind in sorted(self._lexicon.words(part.text)):
            numbers = self._pool.cutter.numbering.numbers(word)
            yield kind, word, sum(weights[number] for number in numbers if number in known)
        signs = self._pool.signs[piece]
        yield from ((kind, "", bonus) for sign, kind, bonus in SIGNS if signs & sign)
        source = self._pool.sources[self._pool.source_of[piece]]
        message = self._base.plan.messages[part.message]
        by_result = not isinstance(message.blocks[source.slot], Text)
        by_user = (message.role == "user" and user_words(message)) or (by_result and message.said)
        author = "the user" if by_user else "a call or result" if by_result else "the assistant"
        yield f"words of {author}", "", source.worth


def is_in(text: str, place: str) -> bool:
    """Whether a stripped part of a message is in the text that the view shows in its place."""
    if len(text) >= CERTAIN_CHARS:
        return text in place
    return f"\n{text}" in place or f"] {text}" in place or place.startswith(text)


def text_of(message: Message) -> str:
    """All texts of a message as one, line by line."""
    return "\n".join(text for block in message.blocks for text in texts_of(block))
