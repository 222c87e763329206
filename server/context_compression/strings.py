r"""Strings from conversations and stores, made safe to show, and their width on a terminal.

Texts as a reader sees them: look-alikes as Latin letters, invisible characters removed.

`folded("［Ｕs\u200ber］")` -> `"[user]"`

Such strings can come from any source. A line break in a string must not begin a line that reads
like a text of this package. A string must not move the cursor of a terminal or hide text from the
reader.
"""

import re
import unicodedata
from collections.abc import Iterator
from unicodedata import category, normalize

CUT = "…"
SHOWN_VALUE = 120
"""The most characters of the `repr` of a value that a person sees in a shell."""


def cells(text: str) -> int:
    """The cells that a text takes: `cells("a中")` -> `3`; marks over letters take none."""
    return len(text) if text.isascii() else sum(map(_cells_of, text))


def _cells_of(sign: str) -> int:
    if unicodedata.combining(sign) or unicodedata.category(sign) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1


IDEOGRAPHS = re.compile(r"[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
SYLLABLES = re.compile(r"[\u3041-\u30ff\u31f0-\u31ff\uac00-\ud7af\uff66-\uff9f]")
LETTERS_OF_IDEOGRAPH, LETTERS_OF_SYLLABLE = 4, 2


def english_length(text: str) -> int:
    """About how many characters the text has in English: `english_length("端口？")` -> `9`.

    An ideograph says what four letters say, a kana or a Korean syllable what two say, measured on
    translated questions. So a limit in English characters treats every language alike.
    """
    if text.isascii():
        return len(text)
    more = (LETTERS_OF_IDEOGRAPH - 1) * len(IDEOGRAPHS.findall(text))
    return len(text) + more + (LETTERS_OF_SYLLABLE - 1) * len(SYLLABLES.findall(text))


def is_shorter(text: str, chars: int) -> bool:
    """Whether a text without the blanks around it is shorter than so many English characters."""
    return english_length(text.strip()[:chars]) < chars


def padded(text: str, width: int, *, right: bool = False) -> str:
    """A text with spaces to a width; with `right`, the spaces stand before it."""
    space = " " * (width - cells(text))
    return space + text if right else text + space


def without_middle(text: str, width: int) -> str:
    """`without_middle("/home/ana/work/chat.jsonl", 15)` -> `"/home/…at.jsonl"`."""
    if cells(text) <= width:
        return text
    end = _beginning(text[::-1], (width - 1) - (width - 1) // 2)[::-1]
    start = _beginning(text, width - 1 - cells(end))
    return f"{start}{CUT}{end}" if width > 1 else CUT


def without_end(text: str, width: int) -> str:
    """`without_end("a long line", 6)` -> `"a lon…"`."""
    return text if cells(text) <= width else f"{_beginning(text, width - 1)}{CUT}"


def wrapped(text: str, width: int, *, hanging: int = 0) -> list[str]:
    """Lines of at most `width` cells; all but the first begin with `hanging` spaces.

    Spaces at the start of the text stay, also before the following lines. A longer word is broken.
    """
    body = text.lstrip(" ")
    indent = " " * min(len(text) - len(body), max(0, width - hanging - 1))
    later = indent + " " * hanging
    lines, line = list[str](), indent
    for word in _pieces(body, max(1, width - len(later))):
        candidate = word if not line.strip(" ") else f" {word}"
        if cells(line) + cells(candidate) > width and line.strip(" "):
            lines.append(line)
            line, candidate = later, word
        line += candidate
    return [*lines, line.rstrip(" ")]


def _pieces(text: str, width: int) -> Iterator[str]:
    """The words of a text, those that are wider than `width` in pieces; double spaces stay."""
    for word in text.split(" "):
        rest = word
        while cells(rest) > width:
            piece = _beginning(rest, width) or rest[0]
            yield piece
            rest = rest[len(piece) :]
        yield rest


def _beginning(text: str, width: int) -> str:
    """As much of a text as fits."""
    taken = 0
    for index, sign in enumerate(text):
        taken += _cells_of(sign)
        if taken > width:
            return text[:index]
    return text


BREAKS = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
"""Characters that end a line in some programs."""
UNSEEN = (
    r"\x00-\x08\x0e-\x1a\x7f-\x84\x86-\x9f\u00ad\u0300-\u036f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891"
    r"\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u20d0-\u20f0"
    r"\u3164\ud800-\udfff\ufe00-\ufe0f\ufe20-\ufe2f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd"
    r"\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Invisible characters: formats, controls, marks over letters, halves of characters."""
COLOURS = (
    r"\x1b\[[0-?]*+[ -/]*+[@-~]|\x9b[0-?]*+[ -/]*+[@-~]"
    rf"|\x1b\][^\x07\x1b{BREAKS}]{{0,200}}(?:\x07|\x1b\\)?"
)
"""What a terminal takes for a command and does not show; it ends with its line."""
SPACES = r"\t \x1f\xa0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000"
BLANK = rf"[{SPACES}{UNSEEN}]*+(?:(?:{COLOURS}|\x1b)[{SPACES}{UNSEEN}]*+)*+"
"""Characters that may be on a line before its first visible character."""
BRACKETS = "[［【〔〖〘〚⟦⟬⁅❲⦋⦍⦏⦗﹝﹇⌈⌊⎡⎣「『｢⸢⸤"
CLOSING = "]］】〕〗〙〛⟧⟭⁆❳⦌⦎⦐⦘﹞﹈⌉⌋⎤⎦」』｣⸣⸥"
ANGLES = "<＜﹤‹〈⟨❬❮ᐸ˂"
SLASHES = "/／⁄∕╱⧸⟋"
_INVISIBLE = re.compile(rf"{COLOURS}|[{UNSEEN}]+|\x1b")
_PLAIN = re.compile(r"[\t\n\r -~]*+")
_LETTERS = {
    "a": "аΑАαɑᴀᎪꓮ∀", "b": "ВΒʙвᏴꓐЬ", "c": "сСϲϹᴄᏟꓚⅽ", "d": "ԁᴅᎠꓓđ", "e": "еЕΕεєɛᴇᎬꓰɇҽ",
    "f": "ϝꜰꓝƒ", "g": "ɡɢꓖցԍ", "h": "һНΗнʜᎻꓧհħ", "i": "іІΙιɪıᎥꓲӏ¡", "j": "јЈᴊꓙϳ",
    "k": "кКΚκᴋᏦꓗ", "l": "ʟᏞꓡłⅼ|", "m": "мМΜᴍᎷꓟ", "n": "ΝɴпηոꓠИ", "o": "оОΟοσᴏօꓳø", "p": "рРΡρᴘᏢꓑ",
    "q": "ԛզ", "r": "гʀᎡꓣɍᴦ", "s": "ѕЅꜱᏚꓢƽʂ", "t": "тТΤτᴛᎢꓔŧ", "u": "υսцᴜꓴʉμ", "v": "ѵνᴠᏙꓦ",
    "w": "ԝᴡᎳꓪω", "x": "хХΧχꓫ", "y": "уУΥүʏꓬγ", "z": "ΖᴢᏃꓜ",
}  # fmt: skip
_SIGNS = {
    **{ord(sign): letter for letter, signs in _LETTERS.items() for sign in signs},
    **{first + n: chr(97 + n) for first in (0x1F150, 0x1F170, 0x1F1E6) for n in range(26)},
    **{
        ord(sign): plain
        for plain, signs in (("[", BRACKETS), ("]", CLOSING), ("<", ANGLES), ("/", SLASHES))
        for sign in signs
    },
}


def is_plain(text: str) -> bool:
    """Whether a text is printable ASCII only, so that it contains no look-alikes."""
    return text.isascii() and _PLAIN.fullmatch(text) is not None


def folded(text: str) -> str:
    """A short text in lower case, look-alikes as Latin letters, invisible characters removed."""
    if is_plain(text):
        return text.lower()
    seen = normalize("NFKD", unhidden(text).translate(_SIGNS)).translate(_SIGNS)
    return "".join(sign for sign in seen if category(sign) not in ("Mn", "Me", "Cf")).casefold()


def unhidden(text: str) -> str:
    """A text without invisible characters and colour codes."""
    return _INVISIBLE.sub("", text)


OPENS = re.compile(f"[{ANGLES}]")
TICKS = re.compile("[`\u02cb\uff40]+")
LABEL = "quoted from the archive"
NEAR = 200
"""How many visible characters after a `<` are searched for the name of a tag."""
FAR = 100 * NEAR
"""The same, counting invisible characters."""


def fence_for(text: str) -> str:
    """A row of backticks that is longer than any in the text, at least three."""
    text = text if is_plain(text) else unhidden(text)
    return "`" * max(3, 1 + max(map(len, TICKS.findall(text)), default=0))


def fenced(text: str) -> str:
    """The text and one newline between lines with more backticks than the text has in a row."""
    fence = fence_for(text)
    return f"{fence}text {LABEL}\n{text}\n{fence}"


def sealed(text: str, tag: str) -> str:
    r"""A text that cannot close the tag around it: `</quote>` -> `<\/quote>`."""
    closes = re.compile(rf"<\s*/\s*{re.escape(tag)}")

    def settle(match: re.Match[str]) -> str:
        near = text[match.start() : match.start() + NEAR]
        if not is_plain(near):
            near = unhidden(text[match.start() : match.start() + FAR])[:NEAR]
        return f"{match[0]}\\" if closes.match(folded(near)) else match[0]

    return OPENS.sub(settle, text)


ONE_LINE = 300
"""Default for the most characters of a string on one line."""

_OTHERS = (
    "\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f"
)
_IN_LINES = re.compile(f"[{_OTHERS}]")
"""Controls, line breaks, directions, characters of no width, halves of characters, tags."""
_IN_A_LINE = re.compile(f"[\\n\\t{_OTHERS}]")
_HALVES = re.compile("[\ud800-\udfff]")
_JOINERS = "\u200c\u200d"
_JOINED = re.compile(f"[^\\x00-\\xad\u2000-\u206f{_OTHERS}]")
"""Characters that a joiner may join: letters of scripts that need it, parts of an emoji."""


def one_line(value: object, most: int = ONE_LINE) -> str:
    r"""A string on one line of at most `most` characters; a longer one ends with `…`.

    Line breaks, controls and invisible characters are escaped: `"a\nb"` -> `"a\\nb"`.
    """
    shown = _IN_A_LINE.sub(_spelled, str(value)[: most + 1])
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def in_words(text: str, most: int = ONE_LINE) -> str:
    r"""Like `one_line`, but each run of whitespace becomes one space: `"a\n b"` -> `"a b"`."""
    return one_line(" ".join(text.split()), most)


def harmless(text: str) -> str:
    """A text with its line breaks; controls and invisible characters are escaped.

    Use `one_line` for names inside a line.
    """
    return _IN_LINES.sub(_spelled, text)


def with_halves_spelled(text: str) -> str:
    r"""The text in a form that UTF-8 can carry: a lone surrogate, legal in JSON, is escaped.

    `"a\ud83d"` -> `"a\\ud83d"`
    """
    return _HALVES.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def _spelled(match: re.Match[str]) -> str:
    sign, text, start = match[0], match.string, match.start()
    joins = sign in _JOINERS and start and _JOINED.match(text, start - 1)
    if joins and _JOINED.match(text, start + 1):
        return sign
    return sign.encode("unicode_escape").decode("ascii")
