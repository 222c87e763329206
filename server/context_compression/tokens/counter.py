"""`Counter`, which counts blocks, messages and conversations in the tokens of one model.

A model's family has a known ratio of its tokens to o200k's. Pictures, documents and base64 are not
counted as text. Claude's tokenizers are not public: `benchmarks/calibrate.py` fits a factor on
o200k and constants to the tokens that Claude Code was charged for 1,157 steps whose full text is
known.

Each block's count is rounded up to an integer. The count of a conversation is therefore exactly the
sum of its messages, and an unchanged message keeps its count.

An anchor is the usage that a provider reported. If the last request of a conversation had 150,000
tokens and the conversation has since grown by 10 %, the anchor plus a count of the messages after
it is right to within half a percent with any tokenizer.
"""

import binascii
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, assert_never, cast

from context_compression.conversation.formats import Conversation
from context_compression.conversation.messages import (
    COMPRESSED,
    Block,
    Document,
    Image,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    as_object,
    is_array,
    is_object,
    objects,
    strings_in,
    texts_of,
)
from context_compression.conversation.refs import REF
from context_compression.conversation.text_protocol import written
from context_compression.errors import InvalidCounter
from context_compression.plurals import how_many
from context_compression.tokens.o200k import BASE, O200K, Counting, Remembered, TextCounter


@dataclass(frozen=True, slots=True)
class Family:
    """The conversion of o200k tokens, blocks and pictures into the tokens of one model family."""

    name: str
    factor: float
    """The family's tokens per o200k token of text."""
    upper: float
    """The factor on the estimate below which 95 of 100 conversations stay."""
    per_message: int
    per_call: int
    per_argument: int
    """For each argument of a tool call (Claude seems to write them as markup, not as JSON)."""
    per_result: int
    per_definition: int
    """For each tool definition, in addition to its JSON."""
    with_tools: int
    """Once, if there are tools."""
    image_tokens: int
    """The most a picture costs; also the count of a picture of unknown size."""
    image_edge: int
    """The pixels to which the longer side is scaled down."""
    image_tiles: bool = False
    """Whether pictures are charged by tiles of 512 pixels instead of patches of 28."""

    @property
    def method(self) -> str:
        """The method of a count, in words."""
        if self.name == "openai":
            return "o200k"
        if self.name == "other":
            return "o200k (no family known for this model)"
        factor = "" if self.factor == 1 else f" x {self.factor:g}"
        return f"o200k{factor} ({self.name})"


# benchmarks/calibrate.py fits factor and constants to 686 and 471 steps. Calls and results come in
# pairs, so only their sum is known; it is halved. `upper` is based on charged / counted over runs
# of 40 steps. It is between the 95th percentile (1.061 and 1.038) and the maximum (1.116 and
# 1.052), because the steps are from three repositories in English only. 346 is the documented
# system prompt of Claude 4 (Anthropic, "Tool use"); pictures: Anthropic, "Vision".
# `per_definition` is a guess.
CLAUDE_OLDER = Family(
    "claude, older", 1.15, 1.10, 6, 21, 11, 21, 12, 346, image_tokens=1_568, image_edge=1_568
)
ANY = replace(CLAUDE_OLDER, per_message=8, per_call=40, per_argument=0, per_result=40)
"""The family for a caller's own counter without a model, because such a counter counts only texts
and not the structure around them. The 80 tokens for a call and its result are those of
`benchmarks/estimate.py`. That is more than any family has for a call of up to three arguments; it
is safer to count too much than too little."""
CLAUDE_NEWER = Family(
    "claude, newer", 1.52, 1.06, 6, 14, 11, 14, 16, 346, image_tokens=4_784, image_edge=2_576
)
OPENAI = Family(
    "openai", 1.0, 1.03, 3, 8, 0, 6, 12, 12,
    image_tokens=1_445, image_edge=2_048, image_tiles=True,
)  # fmt: skip
# Other vocabularies of 100-260 thousand tokens: between 0.9 and 1.3 times o200k, by kind of text.
OTHER = Family("other", 1.0, 1.30, 4, 10, 0, 8, 12, 0, image_tokens=1_568, image_edge=1_568)

_CLAUDE = re.compile(r"claude|anthropic|\b(?:opus|sonnet|haiku|fable)\b")
# Matches 4-5, 4.6 and 5, but no date, which has more digits.
_VERSION = re.compile(r"(?<!\d)(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")
BINDING = (5, 1)
"""The first version of Claude whose thinking is bound to what comes before it."""
_OPENAI = re.compile(r"(?:^|[/:.])(?:chatgpt-4o|gpt-(?:4o|4\.[15]|[5-9]|oss)|o[1-9]\b|codex)")
_WINDOWS = tuple(
    (re.compile(rf"(?:^|[/:.])(?:{name})"), window)
    for name, window in (
        (r"(?:chat)?gpt-4o|gpt-4\.5|gpt-4-turbo|o1-(?:mini|preview)|gpt-5[\w.]*-chat", 128_000),
        (r"gpt-4\.1", 1_047_576),
        (r"gpt-5", 400_000),
        (r"o[1-9]\b|codex", 200_000),
        (r"gpt-oss", 131_072),
        (r"gemini", 1_048_576),
    )
)


def family_of(model: str | None) -> Family:
    """The family of a model by its name, with or without a provider's prefix.

    Without a name it is the older Claude family.
    """
    if model is None:
        return CLAUDE_OLDER
    name = model.lower()
    if _CLAUDE.search(name):
        version = _claude_version(name)
        # An unknown Claude counts as a newer one: it is safer to count too much than too little.
        return CLAUDE_OLDER if version and version < (4, 7) else CLAUDE_NEWER
    return OPENAI if _OPENAI.search(name) else OTHER


def window_of(model: str | None) -> int | None:
    """Tokens of the model's context window; `None` if they are not well known."""
    if model is None:
        return None
    name = model.lower()
    if _CLAUDE.search(name):
        # Version 5 takes a million (seen in use: 400,879 tokens). Claude Code requests a million
        # with `[1m]`.
        million = "[1m]" in name or (_claude_version(name) or (0, 0)) >= (5, 0)
        return 1_000_000 if million else 200_000
    return next((window for known, window in _WINDOWS if known.search(name)), None)


def binds_thinking(model: str | None) -> bool:
    """Whether the model accepts its thinking only if everything before it is unchanged.

    Claude checks that from version 5.1 on (Claude docs, "Prefix checks on thinking blocks"). Older
    models refuse the parameters of this check, so a name without a version counts as an older
    model.
    """
    version = _version_of_claude(model)
    return version is not None and version >= BINDING


def takes_thinking_anywhere(model: str | None) -> bool:
    """Whether the model is known to accept its thinking even if messages before it changed.

    Claude does before version 5.1. For an unknown model or version the answer is `False`.
    """
    version = _version_of_claude(model)
    return version is not None and version < BINDING


def _version_of_claude(model: str | None) -> tuple[int, int] | None:
    name = (model or "").lower()
    return _claude_version(name) if _CLAUDE.search(name) else None


def _claude_version(name: str) -> tuple[int, int] | None:
    version = _VERSION.search(name, max(name.find("claude"), 0))
    return (int(version[1]), int(version[2] or 0)) if version else None


PAGE = 2_200  # tokens of a PDF page: about 1,590 for its picture, the rest for its text
PAGE_BYTES = 50_000  # assumed bytes per page of a PDF whose pages cannot be counted
UNSEEN_PAGES, MOST_UNSEEN_PAGES = 4, 10
"""The assumed pages of a document given by an id or an address: in the count, and in its upper
bound. A letter has one page, a paper ten. A larger assumption would make a compression due too
often."""
HEAD = 262_144  # base64 characters of a JPEG searched for its size; it may begin with a thumbnail
SLICE = 1_048_576  # base64 characters decoded at a time
BASE64_CHARS = 300
"""How many characters at the beginning of a text decide whether it is base64. Within that length,
prose has a space, and paths and addresses have a dot or a colon."""

NAMING = frozenset({"file_id", "fileId", "file_url", "url", "uri", "fileUri", "file_uri"})
"""The keys of a document's id or address."""
ADDRESS = re.compile(r"(?:https?|gs|s3)://")
_BASE64 = re.compile(r"(?:data:[^,\s]{0,200},)?[A-Za-z0-9+/_=\r\n-]+")
_DATA_URL = re.compile(r"data:[^,\s]{0,200},")
_JPEG_FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
_PDF_PAGE = re.compile(rb"/Type\s*/Page(?![a-zA-Z])")


def sealed_tokens(characters: int) -> int:
    """Estimated tokens of the text in this many characters of encrypted base64 reasoning."""
    return math.ceil(characters * 3 / 4 / 4)


def payload(source: Any) -> str:
    """The data of a picture or document in any dialect: its longest string, without `data:…,`."""
    longest = max(strings_in(source), key=len, default="")
    url = _DATA_URL.match(longest)
    return longest[url.end() :] if url else longest


def image_tokens(source: Any, family: Family) -> int:
    """Tokens of a picture by its size in pixels; the family's maximum if the size is unknown."""
    size = image_size(payload(source))
    if size is None:
        return family.image_tokens
    width, height = size
    scale = min(1.0, family.image_edge / max(width, height))
    if family.image_tiles:
        # OpenAI, gpt-4o: scale to 2048 x 2048, then the shorter side to 768; 85 + 170 per tile.
        scale = min(scale, 768 / min(width, height))
        tokens = 85 + 170 * _cells(width * scale, 512) * _cells(height * scale, 512)
    else:
        tokens = _cells(width * scale, 28) * _cells(height * scale, 28)
    return min(tokens, family.image_tokens)


def _cells(pixels: float, side: int) -> int:
    return max(1, math.ceil(round(pixels) / side))


def image_size(data: str) -> tuple[int, int] | None:
    """Width and height in pixels from the header of a PNG, GIF, WebP or JPEG in base64.

    `None` for other data.
    """
    head = _decoded(data, 0, 64)
    size: tuple[int, int] | None = None
    if head[:8] == b"\x89PNG\r\n\x1a\n":
        size = _number(head[16:20]), _number(head[20:24])
    elif head[:4] == b"GIF8":
        size = _little(head[6:8]), _little(head[8:10])
    elif head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        size = _webp_size(head)
    elif head[:2] == b"\xff\xd8":
        size = _jpeg_size(_decoded(data, 0, HEAD))
    return size if size and min(size) > 0 else None


def _webp_size(head: bytes) -> tuple[int, int]:
    match head[12:16]:
        case b"VP8X":
            return _little(head[24:27]) + 1, _little(head[27:30]) + 1
        case b"VP8L":
            bits = _little(head[21:25])
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case _:
            return _little(head[26:28]) & 0x3FFF, _little(head[28:30]) & 0x3FFF


def _jpeg_size(head: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        marker = head[at + 1]
        if marker in _JPEG_FRAMES:
            return _number(head[at + 7 : at + 9]), _number(head[at + 5 : at + 7])
        at += 1 if marker == 0xFF else 2 + _number(head[at + 2 : at + 4])
    return None


def document_tokens(source: Any) -> int | None:
    """Tokens of a PDF by its pages; `None` if `source` does not hold a PDF."""
    data = payload(source)
    if _decoded(data, 0, 64)[:4] != b"%PDF":
        return None
    pages = sum(
        len(_PDF_PAGE.findall(_decoded(data, at, SLICE))) for at in range(0, len(data), SLICE)
    )
    return PAGE * (pages or math.ceil(len(data) * 3 / 4 / PAGE_BYTES))


def is_reference(source: Any) -> bool:
    """Whether a document is given only by an id or an address, without its data."""
    if isinstance(source, Mapping):
        mapping = cast("Mapping[str, Any]", source)
        named = any(key in NAMING and isinstance(value, str) for key, value in mapping.items())
        return (named and not _holds_data(mapping)) or any(map(is_reference, mapping.values()))
    return isinstance(source, str) and ADDRESS.match(source) is not None


def _holds_data(source: Mapping[str, Any]) -> bool:
    return any(isinstance(source.get(key), str | bytes) for key in ("data", "bytes", "file_data"))


def without_base64(value: Any) -> tuple[Any, int]:
    """Parsed JSON with `""` in place of long base64 strings, and the removed characters' number."""
    if isinstance(value, str):
        return ("", len(value)) if _is_base64(value) else (value, 0)
    if isinstance(value, Mapping):
        mapping = cast("Mapping[str, Any]", value)
        items, removed = without_base64(list(mapping.values()))
        return dict(zip(mapping, items, strict=True)), removed
    if isinstance(value, list | tuple):
        pairs = [without_base64(item) for item in cast("Sequence[Any]", value)]
        return [item for item, _ in pairs], sum(removed for _, removed in pairs)
    return value, 0


def _is_base64(text: str) -> bool:
    return len(text) >= BASE64_CHARS and _BASE64.fullmatch(text, 0, BASE64_CHARS) is not None


_OF_URLS = str.maketrans("-_", "+/")
"""The characters of base64 for addresses, which Google's packages write, in those of base64."""


def _decoded(data: str, start: int, characters: int) -> bytes:
    part = "".join(data[start : start + characters].split())
    part = part.translate(_OF_URLS)
    try:
        return binascii.a2b_base64(part[: len(part) // 4 * 4])
    except ValueError:  # not base64, or cut within a group because of line breaks
        return b""


def _number(big_endian: bytes) -> int:
    return int.from_bytes(big_endian, "big")


def _little(little_endian: bytes) -> int:
    return int.from_bytes(little_endian, "little")


WITHOUT_TOKENIZER = 1.15
"""The factor on the upper bound without a tokenizer, because the estimate from bytes was off by
13 % at most (see `estimate`)."""


class Count(int):
    """A number of tokens, with the method by which it was counted and an upper bound."""

    method: str
    """For example "o200k" or "usage + o200k x 1.15 (claude, older)"."""
    upper: int
    """The upper bound: 95 of 100 such conversations have at most this many tokens."""

    def __new__(cls, tokens: int, method: str = "given", upper: int | None = None) -> "Count":
        """A count, which is exact if no `upper` is given."""
        count = super().__new__(cls, tokens)
        count.method = method
        count.upper = tokens if upper is None else upper
        return count


class Counter:
    """Counts in the tokens of one model."""

    family: Family

    def __init__(self, model: str | None = None, counter: TextCounter | None = None) -> None:
        """A counter for a model, or with the caller's own function.

        Args:
            model: the name of the model; default: the older Claude family, or with `counter` the
                family `ANY`.
            counter: a function that takes a text and returns its number of tokens.

        Raises:
            InvalidCounter: `counter` is not a function. The counting methods raise it if `counter`
                does not return a number of tokens.
        """
        self._custom = counter is not None
        self.family = ANY if self._custom and model is None else family_of(model)
        self._base = BASE if counter is None else Remembered(_checked(counter))
        self._percent = 100 if self._custom else round(self.family.factor * 100)

    @property
    def method(self) -> str:
        """The method of this counter in words: `"o200k x 1.15 (claude, older)"`."""
        if self._custom:
            return "custom"
        return "bytes (tokenizer unavailable)" if O200K.failed else self.family.method

    def count(self, tokens: int) -> Count:
        """A number of tokens from this counter, with its method and upper bound."""
        if self._custom:
            return Count(tokens, self.method)
        doubt = self.family.upper * (WITHOUT_TOKENIZER if O200K.failed else 1)
        return Count(tokens, self.method, math.ceil(tokens * doubt))

    def text(self, text: str) -> int:
        """Tokens of a text, without any structure around it."""
        return self._scaled(self._base.text(text))

    def block(self, block: Block) -> int:
        """Tokens of a block, including the structure around it."""
        match block:
            case Text():
                return self.text(block.text)
            case ToolCall():
                return self._call(block)
            case ToolResult():
                return self.family.per_result + sum(map(self.block, block.content))
            case Thinking():
                if block.text and not block.redacted:
                    return self.text(block.text)
                return self._scaled(sealed_tokens(len(payload(block.source))))
            case Image():
                return image_tokens(block.source, self.family)
            case Document():
                return self._document(block)
            case Opaque():
                return self._opaque(block.source)
            case _:
                assert_never(block)

    def message(self, message: Message) -> int:
        """Tokens of a message, including the structure around it."""
        message = written(message)
        return self.family.per_message + sum(map(self.block, message.blocks))

    def messages(self, messages: Sequence[Message]) -> int:
        """Tokens of a conversation, without the system prompt and tools outside the messages."""
        if counting := self.ahead(messages):
            counting.finish()
        return sum(map(self.message, messages))

    def total(self, messages: Sequence[Message], overhead: int = 0) -> Count:
        """The count of a conversation plus `overhead`, the tokens outside the messages.

        A document given by an id or an address is counted with an assumed length, and the count's
        method names that assumption. The upper bound assumes a long document.
        """
        count = self.count(overhead + self.messages(messages))
        unseen = sum(map(_is_unseen, chain.from_iterable(map(_parts, messages))))
        if not unseen:
            return count
        what = how_many(unseen, "document")
        assumed = f"{what} by reference taken for {UNSEEN_PAGES} pages each"
        more = unseen * PAGE * (MOST_UNSEEN_PAGES - UNSEEN_PAGES)
        return Count(int(count), f"{count.method}, {assumed}", count.upper + more)

    def ahead(self, messages: Iterable[Message]) -> Counting | None:
        """Start to count the texts of messages in a thread; `None` if there is too little text."""
        blocks = chain.from_iterable(message.blocks for message in messages)
        parts = chain.from_iterable(
            b.content if isinstance(b, ToolResult) else (b,) for b in blocks
        )
        return self._base.ahead(part.text for part in parts if isinstance(part, Text))

    def system(self, system: str | Sequence[Mapping[str, Any]] | None) -> int:
        """Tokens of a system prompt outside the messages: a text or text blocks."""
        if not system:
            return 0
        if isinstance(system, str):
            return self.text(system)
        if not is_array(system):
            return self._opaque(system)
        return sum(
            self.text(block["text"])
            if is_object(block) and isinstance(block.get("text"), str)
            else self._opaque(block)
            for block in system
        )

    def tools(self, tools: Sequence[Mapping[str, Any]] | None) -> int:
        """Tokens of tool definitions in any format."""
        if not tools:
            return 0
        each = sum(self.family.per_definition + self._scaled(self._base.json(t)) for t in tools)
        return self.family.with_tools + each

    def _scaled(self, base: int) -> int:
        return -int(-base * self._percent // 100)

    def _call(self, call: ToolCall) -> int:
        arguments = call.arguments
        named = len(cast("dict[str, Any]", arguments)) if isinstance(arguments, dict) else 0
        base = self._base.text(call.name) + self._base.json(arguments)
        return self.family.per_call + self.family.per_argument * named + self._scaled(base)

    def _document(self, document: Document) -> int:
        if document.text:
            return self.text(document.text)
        pages = document_tokens(document.source)
        if pages is None and is_reference(document.source):
            return UNSEEN_PAGES * PAGE
        return self._opaque(document.source) if pages is None else pages

    def _opaque(self, source: Any) -> int:
        # The base64 may be reasoning, sound or a picture: at most the tokens of a picture.
        shown, removed_chars = without_base64(source)
        sealed = min(sealed_tokens(removed_chars), self.family.image_tokens)
        return self._scaled(self._base.json(shown)) + sealed


def _parts(message: Message) -> Iterator[Block]:
    """The blocks of a message, with the parts of each result in its place."""
    for block in message.blocks:
        yield from block.content if isinstance(block, ToolResult) else (block,)


def _is_unseen(block: Block) -> bool:
    return isinstance(block, Document) and not block.text and is_reference(block.source)


def _checked(counter: TextCounter) -> TextCounter:
    """The caller's counter, with a check that it returns numbers of tokens."""
    if not callable(counter):
        raise InvalidCounter(
            f"counter is {counter!r:.60}; it must be a function: text in, tokens out."
        )

    def count(text: str) -> int:
        tokens: Any = counter(text)
        with suppress(TypeError, ValueError, ArithmeticError):  # no number, or none that counts
            if tokens >= 0:
                return math.ceil(tokens)
        raise InvalidCounter(
            f"counter gave {tokens!r:.60} for a text of {len(text):,} characters; it must give a "
            "number of tokens, 0 or more."
        )

    return count


CHARACTERS_A_TOKEN = 10
"""No text has more of these characters per token."""
_RUN = re.compile(r"(.)\1{7,}")


def sure_characters(text: str) -> int:
    """How many characters of a text surely cost tokens.

    A token may hold a hundred blanks, newlines or `=`, so white space is left out, and so is a
    character that is repeated eight times or more.
    """
    return len(_RUN.sub("", "".join(text.split())))


_INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
UNDERSTATED = (
    "the usage in some messages is too small for the text before them, as from a gateway that "
    "leaves out cached tokens; it is not used, and our own count is"
)
_WRITTEN_BY_US = re.compile(rf"^{re.escape(COMPRESSED)}|; ref {REF}[;\]]")


@dataclass(frozen=True, slots=True)
class Anchor:
    """The tokens that a provider reported for the first messages, with system prompt and tools.

    Attributes:
        tokens: input and output tokens of the request.
        messages: the number of messages that these tokens are for.
    """

    tokens: int
    messages: int


def anchored(counter: Counter, messages: Sequence[Message], anchor: Anchor) -> Count:
    """The anchor's tokens plus a count of the messages after it.

    An anchor for more messages than there are belongs to an earlier state and is ignored.
    """
    if anchor.messages > len(messages):
        return counter.total(messages)
    tail = counter.total(messages[anchor.messages :])
    return Count(anchor.tokens + tail, f"usage + {tail.method}", anchor.tokens + tail.upper)


def anchor_in(messages: Sequence[Mapping[str, Any]]) -> Anchor | None:
    """The last `message["usage"]` in a conversation of provider dicts; `None` if there is none.

    Usage after a text of this package is ignored, because it may be from before a compression. In a
    `Conversation`, so is usage that is too small for the texts before it.
    """
    understated = _understated(messages) if isinstance(messages, Conversation) else iter(())
    next_understated = next(understated, None)
    for at, usage, charged in _charges(messages):
        if at == next_understated:
            next_understated = next(understated, None)
            continue
        if any(map(_WRITTEN_BY_US.search, strings_in(messages[:at]))):
            return None
        answered = _tokens(usage, "completion_tokens") or _tokens(usage, "output_tokens")
        if _plausible(answered, messages[at]):
            return Anchor(charged + answered, at + 1)
        # One answer may be split over messages that repeat its id and usage. The request held
        # only the messages before the first of them.
        id_ = messages[at].get("id")
        while id_ is not None and at > 0 and messages[at - 1].get("id") == id_:
            at -= 1
        return Anchor(charged, at)
    return None


def is_understated(conversation: Conversation) -> bool:
    """Whether messages report usage that is too small for the texts before them."""
    return any(True for _ in _understated(conversation))


def _charges(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, Mapping[str, Any], int]]:
    """The messages with usage, the last one first: index, usage, and the tokens of the input."""
    for at in range(len(messages) - 1, -1, -1):
        usage = messages[at].get("usage")
        if not isinstance(usage, Mapping):
            continue
        usage = cast("Mapping[str, Any]", usage)
        # OpenAI's `prompt_tokens` includes cached tokens, Anthropic's `input_tokens` does not.
        charged = _tokens(usage, "prompt_tokens") or sum(_tokens(usage, key) for key in _INPUT)
        if charged:  # else a placeholder, or a reply without a request
            yield at, usage, charged


def _understated(conversation: Conversation) -> Iterator[int]:
    """The messages whose usage is too small for the texts before them, the last one first."""
    all_before: Sequence[int] | None = None
    sure_before: Sequence[int] | None = None
    for at, _, charged in _charges(conversation.raw):
        most = (charged + _cleared(conversation.raw[at])) * CHARACTERS_A_TOKEN
        all_before = all_before or _characters_before(conversation.messages, len)
        if most < all_before[at]:  # only then, because it takes 20 times as long
            sure_before = sure_before or _characters_before(conversation.messages, sure_characters)
            if most < sure_before[at]:
                yield at


def _characters_before(messages: Sequence[Message], size: Callable[[str], int]) -> list[int]:
    """For each message, the characters before it in texts that its request surely held.

    A provider may leave out thinking, and all that is before a conversation that it compacted.
    """
    before: list[int] = []
    characters = 0
    for message in messages:
        if message.stands_for_earlier:
            characters = 0
        before.append(characters)
        texts = (t for b in message.blocks if not isinstance(b, Thinking) for t in texts_of(b))
        characters += sum(map(size, texts))
    return before


def _cleared(answer: Mapping[str, Any]) -> int:
    """The tokens that Anthropic's context editing left out of the request."""
    edits = objects(as_object(answer.get("context_management")).get("applied_edits"))
    return sum(_tokens(edit, "cleared_input_tokens") for edit in edits)


def _tokens(usage: Mapping[str, Any], key: str) -> int:
    """A number of tokens; 0 if it is none."""
    value = usage.get(key)
    return value if type(value) is int and value > 0 else 0


def _plausible(answered: int, message: Mapping[str, Any]) -> bool:
    # Streamed answers are often recorded with a placeholder (8, 6, 0 and 1 instead of 173, 243, 212
    # and 94). No tokenizer needs less than one token for 8 characters of ordinary text or code.
    content = [message.get("content"), message.get("tool_calls")]
    return answered * 8 >= sum(map(len, strings_in(content))) and answered > 0
