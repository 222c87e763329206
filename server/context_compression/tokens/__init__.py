"""Token counts: offline, exact for o200k, estimates with an upper bound for other tokenizers.

    text ──o200k──▶ base count ──family──▶ the model's tokens ──anchor──▶ corrected by real usage

The base count is made by tiktoken's o200k, with ranks shipped in the package, so nothing is
downloaded. The tokens of other models are the base count times a factor, plus constants for the
structure around each block. The caches hold base counts only, so one cache serves every model.
This package only counts. `compression` and `session` decide what follows from a count.

    o200k.py        the base count, from the vocabulary in data/
    families.py     the tokenizer and context window of each model
    counter.py      `Counter`: blocks, messages and conversations in one model's tokens
    media.py        pictures, documents and base64
    characters.py   characters that surely cost tokens
    anchors.py      counts corrected by the usage that a provider charged
    usage.py        how full a context window is, and whether a compression is due
    remembered.py   caches of base counts
    counting.py     counting in a thread, without the interpreter's lock
    estimate.py     an estimate from bytes, if the vocabulary cannot be loaded
"""

from context_compression.tokens.anchors import (
    UNDERSTATED,
    Anchor,
    anchor_in,
    anchored,
    is_understated,
)
from context_compression.tokens.characters import CHARACTERS_A_TOKEN, sure_characters
from context_compression.tokens.counter import Count, Counter
from context_compression.tokens.families import (
    Family,
    binds_thinking,
    family_of,
    takes_thinking_anywhere,
    window_of,
)
from context_compression.tokens.o200k import base_count
from context_compression.tokens.remembered import TextCounter, fingerprint

__all__ = [
    "CHARACTERS_A_TOKEN",
    "UNDERSTATED",
    "Anchor",
    "Count",
    "Counter",
    "Family",
    "TextCounter",
    "anchor_in",
    "anchored",
    "base_count",
    "binds_thinking",
    "family_of",
    "fingerprint",
    "is_understated",
    "sure_characters",
    "takes_thinking_anywhere",
    "window_of",
]
