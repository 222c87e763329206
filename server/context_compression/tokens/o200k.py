"""The base count: o200k tokens of texts, remembered; an estimate where there is no tokenizer.

`tiktoken.get_encoding` would download the ranks, so it is never called. The vocabulary is read at
the first count (about 0.13 s), not at import. No input may crash the program or make it slow:
tiktoken panics at 1,000,000 spaces in a row and needs 48 bytes per byte of one long run, so long
text is counted in pieces, which are cut where the tokenizer breaks the text anyway.

A thread counts texts in batches while the caller does other work or helps, which works because the
tokenizer releases the interpreter's lock. Counts are cached by a fingerprint of the text, a number
made of a keyed hash of 64 bits and a length, so that no text is counted twice, copied or kept
alive; hashing is some 300 times cheaper than counting.

In an estimate each kind of byte has a weight. In UTF-8 the first byte of a letter shows its script;
all following bytes share one weight. `benchmarks/calibrate.py bytes` fits the weights. It is off by
7 % on a page of conversation, by 4 % on a complete one (13 % at most), and by 14 % on a page in one
of many languages. No weight is negative, and the sum is kept between a twelfth of the bytes and all
of them, which limits the error for an unknown script.
"""

import json
import logging
import math
import re
import struct
import sys
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from threading import Lock, Thread
from typing import Any, TypeAlias

from context_compression.errors import InvalidConversation
from context_compression.listening import COUNTING, advance

Task: TypeAlias = tuple[int, str]
"""The key of a count in the cache, and the text."""

WORTH_A_THREAD = 50_000  # characters, some 2 ms of counting; for fewer a thread costs too much
# characters of a batch; a thread that returns from the tokenizer waits up to 5 ms for the lock
BATCH = 100_000


class Counting:
    """Texts that a thread is counting.

    Attributes:
        chars: the number of characters in all texts.
    """

    def __init__(
        self,
        tasks: Collection[Task],
        counts: Callable[[Sequence[str]], Sequence[int]],
        remember: Callable[[int, int], None],
    ) -> None:
        """Start to count.

        Args:
            tasks: the key and text of each count.
            counts: takes texts and returns the tokens of each.
            remember: takes the key and the tokens of each text.
        """
        self.chars = sum(len(text) for _, text in tasks)
        self._counts, self._remember = counts, remember
        self._batches = deque(batches(tasks))
        self._counted = 0  # characters
        self._thread = Thread(target=self._work, daemon=True)
        with suppress(Exception):  # without a thread, `finish` counts everything
            self._thread.start()

    def _work(self) -> None:
        # Until no batch is left. A text that cannot be counted raises its error when it is needed.
        with suppress(Exception):
            while True:
                batch = self._batches.popleft()
                tokens = self._counts([text for _, text in batch])
                for (key, _), count in zip(batch, tokens, strict=True):
                    self._remember(key, count)
                self._counted += sum(len(text) for _, text in batch)
                advance(COUNTING, self._counted, self.chars)

    def finish(self) -> None:
        """Count the remaining batches, and wait for the thread."""
        self._work()
        if self._thread.ident is not None:
            self._thread.join()


def batches(tasks: Iterable[Task], limit: int = BATCH) -> Iterator[Sequence[Task]]:
    """Tasks in batches of about `limit` characters; no text is divided."""
    batch: list[Task] = []
    size = 0
    for task in tasks:
        batch.append(task)
        size += len(task[1])
        if size >= limit:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


TextCounter: TypeAlias = Callable[[str], int]
"""A function that takes a text and returns its number of tokens."""

SCALARS = frozenset({int, float, bool, type(None)})
MANY_PARTS = 300_000  # a value with more parts may hold itself, and then never ends
_LENGTH = 40  # bits of a key that hold the length
SHORT = 32  # characters; shorter texts are counted one by one, not ahead in a thread
SHORT_ONES = 4_000  # short texts have a cache of their own, so that they displace no long texts


def fingerprint(value: Any) -> int:
    """A hash of parsed JSON, the same for equal values within one process.

    It uses a stack instead of recursion, so depth has no limit. It includes the type and size of
    each container and the spelling of each number. Values with equal hashes of their own, such as
    -1 and -2 or 1 and True, therefore get different fingerprints.
    """
    parts: list[Any] = []
    stack: list[Any] = [value]
    most = MANY_PARTS
    while stack:
        if len(parts) > most:
            _check_end(value)
            most = math.inf
        item = stack.pop()
        kind = type(item)  # pyright: ignore[reportUnknownVariableType]  # parsed JSON
        if kind is str:
            parts.append(item)
        elif kind is dict:
            parts += (dict, len(item), *item)
            stack.extend(item.values())
        elif kind is list or kind is tuple:
            parts += (list, len(item))
            stack.extend(item)
        elif kind not in SCALARS and callable(dump := getattr(item, "model_dump", None)):
            stack.append(dump())  # an object of a provider's library
        else:
            # Python refuses to write long integers as decimals
            parts += (kind, hex(item) if kind is int else repr(item))
    return hash(tuple(parts))


def _check_end(value: Any) -> None:
    """Refuse a value that holds itself.

    Raises:
        InvalidConversation: it does.
    """
    try:
        json.dumps(value, default=str, skipkeys=True)
    except RecursionError:
        pass  # it is only deep
    except ValueError:
        raise InvalidConversation(
            "A value holds itself, so it cannot be written as JSON."
        ) from None


def key_of(text: str) -> int:
    """The key of a text within one process."""
    return hash(text) << _LENGTH | len(text)


class Recent:
    """A cache of counts: at least the `size / 2` counts used last, at most `size`.

    It has two generations instead of one ordered list. A hit in the young generation moves nothing,
    and threads that use the cache at the same time can at worst count a text twice.
    """

    def __init__(self, size: int = 50_000) -> None:
        self._half = size // 2
        self._young: dict[int, int] = {}
        self._old: dict[int, int] = {}

    def get(self, key: int) -> int | None:
        """The count under `key`, marked as recently used; `None` if there is none."""
        count = self._young.get(key)
        if count is None and (count := self._old.get(key)) is not None:
            self.put(key, count)
        return count

    def put(self, key: int, count: int) -> None:
        """Store a count; a full cache drops the half that was used longest ago."""
        if len(self._young) >= self._half:
            self._old, self._young = self._young, {}
        self._young[key] = count

    def __len__(self) -> int:
        return len(self._young) + len(self._old)


class Remembered:
    """A text counter with a cache."""

    def __init__(
        self, count: TextCounter, counts: Callable[[Sequence[str]], Sequence[int]] | None = None
    ) -> None:
        """A counter with a cache.

        Args:
            count: returns the tokens of one text.
            counts: returns the tokens of each of many texts; a thread may call it. Without it,
                `ahead` counts nothing.
        """
        self._count, self._counts = count, counts
        self._recent, self._short = Recent(), Recent(SHORT_ONES)

    def text(self, text: str) -> int:
        """Tokens of a text."""
        if not text:
            return 0
        recent = self._short if len(text) < SHORT else self._recent
        key = key_of(text)
        count = recent.get(key)
        if count is None:
            count = self._count(text)
            recent.put(key, count)
        return count

    def ahead(self, texts: Iterable[str]) -> Counting | None:
        """Start to count texts in a thread; `None` if there is too little text."""
        if self._counts is None:
            return None
        tasks = {key_of(text): text for text in texts if len(text) >= SHORT}
        tasks = {key: text for key, text in tasks.items() if self._recent.get(key) is None}
        if sum(map(len, tasks.values())) < WORTH_A_THREAD:
            return None
        return Counting(tasks.items(), self._counts, self._recent.put)

    def json(self, value: Any) -> int:
        """Tokens of parsed JSON, written compactly; a string is counted as plain text."""
        if isinstance(value, str):
            return self.text(value)
        key = fingerprint(value) << _LENGTH  # no text in the cache has the length 0
        count = self._recent.get(key)
        if count is None:
            written = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
            count = self._count(written)
            self._recent.put(key, count)
        return count


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
