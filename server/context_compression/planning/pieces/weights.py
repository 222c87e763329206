"""The worth of words: by kind, by number of messages, and by whether a word is used."""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TypeAlias

from context_compression.evidence.numbering import PROSE_KINDS
from context_compression.evidence.words import KINDS
from context_compression.planning import measured

Weights: TypeAlias = "array[float] | dict[int, float]"
"""The worth of each word, by its number."""


def word_weights() -> Mapping[tuple[int, int, int], float]:
    """The worth of a word by `(number of its kind, number of its messages, whether it is used)`.

    A word that is in no piece is worth nothing.
    """
    most = measured.MANY
    times = [0.0, *(0.5 + 0.5 * messages for messages in range(1, most + 1))]
    in_code = {
        (kind, messages, used): (
            measured.KIND_WEIGHT[name] * times[messages] * (measured.USED if used else 1.0)
        )
        for kind, name in enumerate(KINDS)
        for messages in range(most + 1)
        for used in range(2)
    }
    in_prose = {
        (kind, messages, used): measured.PROSE_WEIGHT[name] if messages else 0.0
        for kind, name in enumerate(PROSE_KINDS, len(KINDS))
        for messages in range(most + 1)
        for used in range(2)
    }
    return in_code | in_prose


WEIGHTS = word_weights()


def weights_in_one(
    words: Iterable[int], kinds: Sequence[int], used: Sequence[int]
) -> dict[int, float]:
    """The worth of words that are in one message, by number.

    Args:
        words: the numbers of the words.
        kinds: the kinds of all words, by number.
        used: for each word, by number, not 0 if it is used; words after the last are not used.
    """
    known = len(used)
    return {n: WEIGHTS[kinds[n], 1, n < known and used[n]] for n in words}


def weights_of_all(
    kinds: Sequence[int], seen_in: Sequence[int], used: Sequence[int]
) -> "array[float]":
    """The worth of all words, by number.

    `seen_in` holds for each word the number of its messages, at most `MANY`. The other arguments
    are those of `weights_in_one`.
    """
    later = bytes(len(kinds) - len(used))
    keys = zip(kinds, seen_in, chain(used, later), strict=True)
    return array("f", map(WEIGHTS.__getitem__, keys))
