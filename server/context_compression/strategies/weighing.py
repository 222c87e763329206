"""What competed for the room of a view, as the record from which a compression is explained.

The record is made from the choice itself: the order in which pieces were chosen, their worth at
that moment, and what is left. So an explanation says what happened, and weighs nothing again.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from context_compression.conversation.authors import user_words
from context_compression.conversation.messages import Message, Text, texts_of
from context_compression.evidence.words import Lexicon
from context_compression.planning.edits import PartEvidence, Weighed, WeighedPart
from context_compression.planning.pieces import (
    BONUSES,
    DUE,
    FAILED,
    FAILURE,
    REASON,
    Choice,
    Place,
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
KINDS_OF_SIGNS: Mapping[int, str] = {
    FAILED: "failure", FAILURE: "failure", REASON: "decision", DUE: "open task",
}  # fmt: skip
"""The kind of evidence that a sign of a piece is."""


def record_of(
    base: KeptMessages,
    pool: Pool,
    choice: Choice,
    places: Sequence[Place],
    view: Mapping[int, Message],
) -> Weighed:
    """The record of a choice.

    Args:
        base: the messages that stay.
        pool: the pieces that competed.
        choice: the choice among them.
        places: what is shown in addition to the messages that stay: chosen pieces and others.
        view: the messages of the view, by index.
    """
    known = base.plan.cutter.known
    kept, lexicon, weights = {*places}, Lexicon(known=known), pool.weights(base.plan.used)
    cover(weights, words_shown(base, pool.cutter))
    shown: list[WeighedPart] = []
    others: list[int] = []
    for rank in choice.taken:  # evidence pays for the first part that brings it into view
        piece = piece_of(rank)
        if pool.place(piece) in kept:
            part = _part(pool, rank)
            pays = sorted(
                _evidence(base, pool, weights, lexicon, piece, part.text), key=lambda each: -each[2]
            )
            paid = (each for each in pays[:BEST_EVIDENCE] if each[2] > 0)
            shown.append(part._replace(evidence=tuple(paid)))
        else:
            others.append(rank)
        cover(weights, pool.words(piece))
    in_notes = {pool.sources[number].text[start:stop].strip() for number, start, stop in places}
    texts = {index: text_of(message) for index, message in view.items()}
    left_out: dict[int, dict[str, WeighedPart]] = {}
    for rank in sorted(chain(others, choice.left())):
        best = left_out.setdefault(pool.sources[pool.source_of[piece_of(rank)]].message, {})
        if len(best) < BEST_PARTS:
            part = _part(pool, rank)
            text, place = part.text, texts.get(part.message, "")
            if text and text not in in_notes and text not in place:
                best.setdefault(text, part)
    best_of = {index: [*best.values()] for index, best in left_out.items()}
    return Weighed([part for part in shown if part.text], best_of)


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
    kinds = KINDS_OF_SIGNS.items()
    yield from ((kind, "", BONUSES[sign]) for sign, kind in kinds if signs & sign)
    source = pool.sources[pool.source_of[piece]]
    message = base.plan.messages[source.message]
    by_result = not isinstance(message.blocks[source.slot], Text)
    by_user = (message.role == "user" and user_words(message)) or (by_result and message.said)
    author = "the user" if by_user else "a call or result" if by_result else "the assistant"
    yield f"words of {author}", "", source.worth


def text_of(message: Message) -> str:
    """All texts of a message as one, line by line."""
    return "\n".join(text for block in message.blocks for text in texts_of(block))
