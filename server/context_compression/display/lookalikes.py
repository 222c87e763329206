r"""Texts as a reader sees them: look-alikes as Latin letters, invisible characters removed.

`folded("［Ｕs\u200ber］")` -> `"[user]"`
"""

import re
from unicodedata import category, normalize

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
