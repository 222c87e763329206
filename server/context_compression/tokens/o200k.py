"""The base count: o200k tokens by tiktoken, with ranks from this package.

`tiktoken.get_encoding` would download the ranks, so it is never called. The vocabulary is read at
the first count (about 0.13 s), not at import. No input may take the program down or make it slow:
tiktoken panics at 1,000,000 spaces in a row and needs 48 bytes per byte of one long run, so long
text is counted in pieces, cut where the tokenizer breaks anyway.
"""

import logging
import re
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from threading import Lock
from typing import Any

from context_compression.tokens.estimate import estimate
from context_compression.tokens.remembered import Remembered, TextCounter

# Alternatives and special tokens as in tiktoken_ext.openai_public; a test compares them.
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
# Those before the first look-ahead as one group: tiktoken's engine tries them in one pass then,
# which makes counting a quarter faster.
PATTERN = f"(?:{'|'.join(ALTERNATIVES[:5])})|{'|'.join(ALTERNATIVES[5:])}"
SEPARATOR = "<|endoftext|>"
SPECIAL = {SEPARATOR: 199999, "<|endofprompt|>": 200018}
# Of data/o200k.bin, printed by data/tokenizer/build.py.
SHA256 = "0ba1be6ea71dcf6209e3bc56650b19244230721244ff704ca7785366fa13221e"

PIECE = 65_536  # characters; also kind to the processor's cache: 6-9 % faster than one long call
WINDOW = 4_096  # characters before the end of a piece in which a place to cut is looked for
BUFFER_FROM = 1_500  # characters from which counting bytes of a buffer beats a list of numbers

# Where the pattern must break: before a blank that follows a non-blank, and after a newline if the
# next line begins neither blank nor with `/` (which the pattern lets follow a newline).
_BREAK = re.compile(r"(?<=\S)(?=[ \t])|(?<=\n)(?=[^\S\r\n]{0,200}[^\s/])")
_GROUP = struct.Struct("<II")

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Native:
    """How tiktoken counts."""

    count: TextCounter
    """Tokens of one piece."""
    counts: Callable[[Sequence[str]], Sequence[int]] | None = None
    """Tokens of each of some pieces, by one call."""


class O200k:
    """Counts o200k tokens; estimates them from bytes where tiktoken cannot be had (`failed`)."""

    def __init__(self, resource: str = "o200k.bin") -> None:
        self._resource = resource
        self._native: Native | None = None
        self._lock = Lock()
        self.failed = False

    def count(self, text: str) -> int:
        """Tokens of a text, whatever is in it; text that looks like a special token is text."""
        limit = limit_of(text)
        if len(text) <= limit:
            return self._of_piece(text)
        total = 0
        runs: dict[tuple[int, int], int] = {}  # a run without places to cut repeats itself
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
        """Tokens of each of some texts: as `count`, but all that can be by one call of tiktoken."""
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
    # Rust's PanicException is no Exception, so that nobody catches it by accident. We mean to.
    return not isinstance(error, Exception) and type(error).__name__ != "PanicException"


def limit_of(text: str) -> int:
    """Characters of a text that are counted by one call at most."""
    # beyond ASCII a piece is copied to UTF-8 and back, several bytes a character
    return PIECE if text.isascii() else PIECE // 4


def pieces(text: str, limit: int = PIECE, window: int = WINDOW) -> Iterator[tuple[str, bool]]:
    """The text in pieces of at most `limit` characters, each with whether its end is clean.

    Counts of pieces add up to the count of the text if all ends are clean; each other end may cost
    a token or two (measured: 2 in 1.8 million).
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
    """How tiktoken counts; raises whatever keeps that from being built."""
    import tiktoken  # costs up to 20 ms: only where something is counted

    data = (files("context_compression.tokens") / "data" / resource).read_bytes()
    if sha256(data).hexdigest() != SHA256:
        raise ValueError(f"{resource} is damaged; reinstall context-compression")
    encoding = tiktoken.Encoding(
        "o200k", pat_str=PATTERN, mergeable_ranks=ranks(data), special_tokens=SPECIAL
    )
    # The core keeps its own copy of the ranks: without `encoding` the Python one is freed.
    core: Any = getattr(encoding, "_core_bpe", encoding)
    encode: Callable[[str], list[int]] = core.encode_ordinary
    buffer: Callable[[str, frozenset[str]], Any] | None
    buffer = getattr(core, "encode_to_tiktoken_buffer", None)
    no_special, separators = frozenset[str](), frozenset([SEPARATOR])
    mark = SPECIAL[SEPARATOR].to_bytes(4, sys.byteorder)

    def count(piece: str) -> int:
        if not piece.isascii():  # a copy: a string keeps the UTF-8 form that Rust is given
            piece = "".join((piece, ""))
        if buffer is None or len(piece) < BUFFER_FROM:
            return len(encode(piece))
        return memoryview(buffer(piece, no_special)).nbytes >> 2  # four bytes a token

    def counts(pieces: Sequence[str]) -> Sequence[int]:
        assert buffer
        joined = SEPARATOR.join((*pieces, ""))  # always a copy, see above
        # tokens are below 2 ** 18: no other has the bytes of the mark, nor have parts of two
        *parts, _ = bytes(buffer(joined, separators)).split(mark)
        return [len(tokens) >> 2 for tokens in parts]

    return Native(count, counts if buffer else None)


def ranks(data: bytes) -> dict[bytes, int]:
    """Token -> rank, from the form that `data/tokenizer/build.py` writes."""
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
    """o200k tokens of a text. The first call loads the vocabulary."""
    return BASE.text(text)
