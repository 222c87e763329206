"""An estimate of tokens from bytes, for when the tokenizer is not available.

Each kind of byte has a weight. In UTF-8 the first byte of a letter shows its script; all following
bytes share one weight. `benchmarks/calibrate.py bytes` fits the weights. The estimate is off by 7 %
on a page of conversation, by 4 % on a complete one (13 % at most), and by 14 % on a page in one of
many languages. No weight is negative, and the sum is kept between a twelfth of the bytes and all of
them. This limits the error for an unknown script.
"""

import math


def _span(first: int, last: int) -> bytes:
    return bytes(range(first, last + 1))


SENTENCE = b".,;:!?"
MOST_BYTES_PER_TOKEN = 12
"""The most bytes per token, so that text in an unknown script never counts as almost nothing."""
KINDS: tuple[tuple[bytes, float], ...] = (
    (_span(0x80, 0xBF), 0.16),  # the following bytes of any letter
    (b"\n", 0.46),
    (b" ", 0.12),
    (b"\t", 0.39),
    (_span(0x61, 0x7A), 0.22),  # a-z
    (_span(0x41, 0x5A), 0.42),  # A-Z
    (_span(0x30, 0x39), 0.67),  # 0-9
    (SENTENCE, 0.00),
    (bytes(b for b in _span(0x21, 0x7E) if not chr(b).isalnum() and b not in SENTENCE), 0.70),
    (_span(0xC2, 0xC3), 1.53),  # Western Europe
    (_span(0xC4, 0xC5), 1.90),  # Central Europe, Turkish
    (_span(0xC6, 0xCF), 0.25),  # Greek, combining marks
    (_span(0xD0, 0xD4), 0.27),  # Cyrillic, Armenian
    (_span(0xD5, 0xDF), 0.33),  # Hebrew, Arabic
    (b"\xe0", 0.20),  # Indic, Thai
    (b"\xe1", 0.24),  # Georgian, Ethiopic, Vietnamese
    (b"\xe2", 0.00),  # signs
    (b"\xe3", 0.45),  # kana
    (_span(0xE4, 0xE9), 0.36),  # Han
    (_span(0xEA, 0xED), 0.45),  # Hangul
    (_span(0xEE, 0xFF), 1.46),  # full-width forms, emoji
)
_WEIGHTS = [weight for _, weight in KINDS]
# Bytes of no kind (control characters) count as the first kind.
_TABLE = bytes(next((i for i, (kind, _) in enumerate(KINDS) if b in kind), 0) for b in range(256))


def kinds_in(text: str) -> list[int]:
    """The number of bytes of each kind in a text, in the order of `KINDS`."""
    kinds = text.encode("utf-8", "surrogatepass").translate(_TABLE)
    return [kinds.count(i) for i in range(len(KINDS))]


def estimate(text: str) -> int:
    """About the number of o200k tokens in a text."""
    counts = kinds_in(text)
    total = sum(counts)
    tokens = math.ceil(sum(map(float.__mul__, _WEIGHTS, map(float, counts))))
    return min(total, max(math.ceil(total / MOST_BYTES_PER_TOKEN), tokens))
