"""What competed for the room of a view, as the record from which a compression is explained.

The record is made from the choice itself: the order in which pieces were chosen, their worth at
that moment, and what is left. So an explanation says what happened, and weighs nothing again.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from context_compression.conversation.authors import user_words
from context_compression.conversation.messages import Message, Text, texts_of
from context_compression.evidence.words import Lexicon
from context_compression.planning import measured
from context_compression.planning.edits import PartEvidence, Weighed, WeighedPart
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


def weighed(
    base: KeptMessages,
    pool: Pool,
    choice: Choice,
    chosen: Iterable[int],
    view: Mapping[int, Message],
    notes: Mapping[int, Message],
) -> Weighed:
    """The record of a choice.

    Args:
        base: the messages that stay.
        pool: the pieces that competed.
        choice: the choice among them.
        chosen: the pieces that were not given back.
        view: the messages of the view that they made, by index.
        notes: its notes, by index.
    """
    kept, lexicon, weights = {*chosen}, Lexicon(), pool.weights(base.plan.used)
    cover(weights, words_shown(base, pool.cutter))
    shown: list[WeighedPart] = []
    others: list[int] = []
    for rank in choice.taken:  # evidence pays for the first part that brings it into view
        piece = piece_of(rank)
        if piece in kept:
            part = _part(pool, rank)
            pays = sorted(
                _evidence(base, pool, weights, lexicon, piece, part.text), key=lambda each: -each[2]
            )
            paid = (each for each in pays[:BEST_EVIDENCE] if each[2] > 0)
            shown.append(part._replace(evidence=tuple(paid)))
        else:
            others.append(rank)
        cover(weights, pool.words(piece))
    left_out: dict[int, list[WeighedPart]] = {}
    quoted = "\n".join(map(text_of, notes.values()))
    texts = {index: text_of(message) for index, message in view.items()}
    for rank in sorted(chain(others, choice.left())):
        best = left_out.setdefault(pool.sources[pool.source_of[piece_of(rank)]].message, [])
        if len(best) < BEST_PARTS:
            part = _part(pool, rank)
            if part.text and not is_in(part.text, texts.get(part.message, quoted)):
                best.append(part)
    return Weighed([part for part in shown if part.text], left_out)


def _part(pool: Pool, rank: int) -> WeighedPart:
    number, start, stop = pool.place(piece_of(rank))
    source, tokens = pool.sources[number], max(1, round(pool.tokens(piece_of(rank))))
    text, worth = source.text[start:stop].strip(), worth_per_token(rank)
    return WeighedPart(source.message, text, tokens, worth, source.key == "line")


def _evidence(
    base: KeptMessages, pool: Pool, weights: Weights, lexicon: Lexicon, piece: int, text: str
) -> Iterator[PartEvidence]:
    """What pays for a piece, of which `text` is shown."""
    known = known_in(weights)
    for word, kind in sorted(lexicon.words(text)):
        numbers = pool.cutter.numbering.numbers(word)
        yield kind, word, sum(weights[number] for number in numbers if number in known)
    signs = pool.signs[piece]
    yield from ((kind, "", bonus) for sign, kind, bonus in SIGNS if signs & sign)
    source = pool.sources[pool.source_of[piece]]
    message = base.plan.messages[source.message]
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
