"""Token counts: offline, exact for o200k, estimates with an upper bound for other tokenizers.

    text ──o200k──▶ base count ──family──▶ the model's tokens ──anchor──▶ corrected by real usage

The base count is made by tiktoken's o200k, with ranks shipped in the package, so nothing is
downloaded. The tokens of other models are the base count times a factor, plus constants for the
structure around each block. The caches hold base counts only, so one cache serves every model.
This package only counts. `compression` and `session` decide what follows from a count.

    o200k.py        the base count: o200k tokens of texts, remembered; an estimate where there is no
                    tokenizer
    counter.py      `Counter`, which counts blocks, messages and conversations in the tokens of one
                    model, and adds up on the usage that a provider reported
    prices.py       what a model's tokens cost in dollars, by a table with its date
    usage.py        how full a context window is, and whether a compression is due
"""

from context_compression.tokens.counter import (
    CHARACTERS_A_TOKEN,
    UNDERSTATED,
    Anchor,
    Count,
    Counter,
    Family,
    anchor_in,
    anchored,
    binds_thinking,
    family_of,
    is_understated,
    sure_characters,
    takes_thinking_anywhere,
    window_of,
)
from context_compression.tokens.o200k import BASE, Counting, TextCounter, base_count, fingerprint

__all__ = [
    "BASE", "CHARACTERS_A_TOKEN", "UNDERSTATED", "Anchor", "Count", "Counter", "Counting", "Family",
    "TextCounter", "anchor_in", "anchored", "base_count", "binds_thinking", "family_of",
    "fingerprint", "is_understated", "sure_characters", "takes_thinking_anywhere", "window_of",
]  # fmt: skip
