"""The base count: o200k tokens of texts; an estimate where there is no tokenizer.

An estimate of tokens from bytes, for when the tokenizer is not available.

Each kind of byte has a weight. In UTF-8 the first byte of a letter shows its script; all following
bytes share one weight. `benchmarks/calibrate.py bytes` fits the weights. The estimate is off by 7 %
on a page of conversation, by 4 % on a complete one (13 % at most), and by 14 % on a page in one of
many languages. No weight is negative, and the sum is kept between a twelfth of the bytes and all of
them. This limits the error for an unknown script.

The base count: o200k tokens, counted by tiktoken with the ranks of this package.

`tiktoken.get_encoding` would download the ranks, so it is never called. The vocabulary is read at
the first count (about 0.13 s), not at import.

No input may crash the program or make it slow. tiktoken panics at 1,000,000 spaces in a row and
needs 48 bytes per byte of one long run. Long text is therefore counted in pieces, which are cut
where the tokenizer breaks the text anyway.
"""

import logging
import math
import re
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from threading import Lock
from typing import Any

from context_compression.tokens.remembered import Remembered, TextCounter


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


# The alternatives and special tokens are those of tiktoken_ext.openai_public; a test compares them.
_UPPER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}"
_LOWER = r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
_ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
ALTERNATIVES = (
    rf"[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]*[{_LOWER}]+{_ENDING}",
    rf"[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]+[{_LOWER}]*{_ENDING}",
    r"\p{N}{1,3}",
    r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
    r"\s*[\r\n]+",
    r"\s+(?!\S)",
    r"\s+",
)
# The alternatives before the first look-ahead are one group, so that tiktoken's engine tries them
# in one pass. This makes counting a quarter faster.
PATTERN = f"(?:{'|'.join(ALTERNATIVES[:5])})|{'|'.join(ALTERNATIVES[5:])}"
SEPARATOR = "<|endoftext|>"
SPECIAL = {SEPARATOR: 199999, "<|endofprompt|>": 200018}
# The hash of data/o200k.bin, printed by data/tokenizer/build.py.
SHA256 = "0ba1be6ea71dcf6209e3bc56650b19244230721244ff704ca7785366fa13221e"

PIECE = 65_536  # characters; 6-9 % faster than one long call because of the processor's cache
WINDOW = 4_096  # characters before the end of a piece that are searched for a place to cut
BUFFER_FROM = 1_500  # characters from which counting bytes of a buffer beats a list of numbers

# The places where the pattern must break: before a blank that follows a non-blank, and after a
# newline. The next line must not be blank or begin with `/`, which the pattern joins to a newline.
_BREAK = re.compile(r"(?<=\S)(?=[ \t])|(?<=\n)(?=[^\S\r\n]{0,200}[^\s/])")
_GROUP = struct.Struct("<II")

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Native:
    """The functions that count with tiktoken."""

    count: TextCounter
    """Takes one piece and returns its tokens."""
    counts: Callable[[Sequence[str]], Sequence[int]] | None = None
    """Takes several pieces and returns the tokens of each, by one call of tiktoken."""


class O200k:
    """Counts o200k tokens; estimates them from bytes if tiktoken cannot be loaded (`failed`)."""

    def __init__(self, resource: str = "o200k.bin") -> None:
        self._resource = resource
        self._native: Native | None = None
        self._lock = Lock()
        self.failed = False

    def count(self, text: str) -> int:
        """Tokens of any text; the text of a special token is counted as ordinary text."""
        limit = limit_of(text)
        if len(text) <= limit:
            return self._of_piece(text)
        total = 0
        runs: dict[tuple[int, int], int] = {}  # pieces of a run without places to cut repeat
        for piece, clean in pieces(text, limit):
            if clean:
                total += self._of_piece(piece)
                continue
            key = (hash(piece), len(piece))
            if key not in runs:
                runs[key] = self._of_piece(piece)
            total += runs[key]
        return total

    def counts(self, texts: Sequence[str]) -> Sequence[int]:
        """Tokens of each of several texts, as `count`, with one call of tiktoken where possible."""
        alone = [len(text) > limit_of(text) or SEPARATOR in text for text in texts]
        others = iter(self._together([t for t, a in zip(texts, alone, strict=True) if not a]))
        return [self.count(t) if a else next(others) for t, a in zip(texts, alone, strict=True)]

    def _together(self, pieces: Sequence[str]) -> Sequence[int]:
        native = self._native or self._load()
        if native.counts:
            try:
                return native.counts(pieces)
            except BaseException as error:
                if _must_rise(error):
                    raise
        return [*map(self.count, pieces)]

    def _of_piece(self, piece: str) -> int:
        native = self._native or self._load()
        try:
            return native.count(piece)
        except UnicodeEncodeError:  # lone surrogates, legal in JSON; repaired as tiktoken does
            return self._of_piece(
                piece.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            )
        except BaseException as error:
            if _must_rise(error):
                raise
            return estimate(piece)

    def _load(self) -> Native:
        with self._lock:
            if self._native is None:
                try:
                    self._native = native_counter(self._resource)
                except BaseException as error:
                    if _must_rise(error):
                        raise
                    logger.warning("no tokenizer, tokens are estimated from bytes: %r", error)
                    self._native = Native(estimate)
                    self.failed = True
            return self._native


def _must_rise(error: BaseException) -> bool:
    # Rust's PanicException is not an Exception, so that it is not caught by accident. Here it must
    # be caught.
    return not isinstance(error, Exception) and type(error).__name__ != "PanicException"


def limit_of(text: str) -> int:
    """How many characters of a text are counted by one call at most."""
    # text beyond ASCII is copied to UTF-8 and back, with several bytes per character
    return PIECE if text.isascii() else PIECE // 4


def pieces(text: str, limit: int = PIECE, window: int = WINDOW) -> Iterator[tuple[str, bool]]:
    """The pieces of a text, each with whether its end is clean.

    The counts of pieces add up to the count of the text if all ends are clean. Each other end may
    add a token or two (measured: 2 in 1.8 million).

    Args:
        text: any text.
        limit: the most characters of a piece.
        window: how many characters before the end of a piece are searched for a place to cut.
    """
    start = 0
    while len(text) - start > limit:
        stop = start + limit
        cut = 0
        for place in _BREAK.finditer(text, max(start + 1, stop - window), stop):
            cut = place.start()
        yield text[start : cut or stop], cut > 0
        start = cut or stop
    yield text[start:], True


def native_counter(resource: str) -> Native:
    """The functions that count with tiktoken; any error while they are built is raised.

    Raises:
        ValueError: the vocabulary is damaged.
    """
    import tiktoken  # costs up to 20 ms, so it is imported only when tokens are counted

    data = (files("context_compression.tokens") / "data" / resource).read_bytes()
    if sha256(data).hexdigest() != SHA256:
        raise ValueError(f"{resource} is damaged; reinstall context-compression")
    encoding = tiktoken.Encoding(
        "o200k", pat_str=PATTERN, mergeable_ranks=ranks(data), special_tokens=SPECIAL
    )
    # The core has its own copy of the ranks; Python's copy is freed together with `encoding`.
    core: Any = getattr(encoding, "_core_bpe", encoding)
    encode: Callable[[str], list[int]] = core.encode_ordinary
    buffer: Callable[[str, frozenset[str]], Any] | None
    buffer = getattr(core, "encode_to_tiktoken_buffer", None)
    no_special, separators = frozenset[str](), frozenset([SEPARATOR])
    mark = SPECIAL[SEPARATOR].to_bytes(4, sys.byteorder)

    def count(piece: str) -> int:
        if not piece.isascii():  # a copy, because a string keeps the UTF-8 form made for Rust
            piece = "".join((piece, ""))
        if buffer is None or len(piece) < BUFFER_FROM:
            return len(encode(piece))
        return memoryview(buffer(piece, no_special)).nbytes >> 2  # four bytes a token

    def counts(pieces: Sequence[str]) -> Sequence[int]:
        assert buffer
        joined = SEPARATOR.join((*pieces, ""))  # always a copy, see above
        # tokens are below 2 ** 18, so neither another token nor parts of two equal the mark
        *parts, _ = bytes(buffer(joined, separators)).split(mark)
        return [len(tokens) >> 2 for tokens in parts]

    return Native(count, counts if buffer else None)


def ranks(data: bytes) -> dict[bytes, int]:
    """The rank of each token, from the bytes that `data/tokenizer/build.py` writes."""
    result: dict[bytes, int] = {}
    at = 0
    while at < len(data):
        length, number = _GROUP.unpack_from(data, at)
        at += _GROUP.size
        values = struct.Struct(f"<{number}I").unpack_from(data, at)
        at += 4 * number
        tokens = struct.Struct(f"{length}s" * number).unpack_from(data, at)
        at += length * number
        result.update(zip(tokens, values, strict=True))
    return result


O200K = O200k()
BASE = Remembered(O200K.count, O200K.counts)


def base_count(text: str) -> int:
    """The o200k tokens of a text. The first call loads the vocabulary."""
    return BASE.text(text)
