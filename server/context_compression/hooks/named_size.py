"""The size that a user names after a host's command to compact: `keep 30k`, `to 40,000 tokens`.

The size may be anywhere after an English verb or preposition. In other languages it stands at an
end of a short clause: `behalte 30k`, `保留30k`. A number inside a sentence is no size: `explain the
8k limit` is what the summary should stress.
"""

import re
from dataclasses import dataclass

from context_compression.plurals import MOST

NUMBER = r"(?P<number>\d{1,3}(?:[,.'_\u00a0\u202f ]\d{3})+|\d+(?:[.,]\d+)?)"
TOKENS = r"(?:tokens?|tok|toks|jetons?|токен\w*|トークン|토큰|令牌|词元)"
GROUPED = re.compile(r"\d{1,3}(?:[,.'_\u00a0\u202f ]\d{3})+")
UNIT = (
    r"\s?(?:(?P<percent>%|percent\b|per cent\b)"
    rf"|(?P<times>[kкm](?![A-Za-z0-9а-яА-Я-]))?(?P<tokens>\s?{TOKENS})?(?<![\d\s]))"
)
ABOUT = r"(?:(?:about|around|roughly|only|just|the|last|newest|at|most|up|to|~|≈|<|<=|≤)\s*)*"
KEEP = r"\b(?:keep(?:ing)?|leave|leaving|retain|preserve)\b"
SHORTEN = (
    r"(?:compact|compress|reduce|shrink|shorten|cut|bring|get)(?: (?:it|this|everything|all"
    r"|(?:the )?(?:context|conversation|history)))?"
)
DOWN_TO = (
    rf"(?:^|(?<=[,;.:!?\n])\s*|\b{SHORTEN} |\b(?=down ))(?:down )?"
    r"(?:to|into|under|below|within)\b"
)
AFTER = (
    r"(?=\s*(?:$|[.,;:!?)–—\n]"
    r"|(?:and|but|of|with|in|for|focus\w*|total|please|overall|then|max)\b))"
)
ENGLISH = re.compile(rf"(?:{KEEP}|{DOWN_TO})[\s:=]*{ABOUT}{NUMBER}{UNIT}{AFTER}", re.IGNORECASE)
CLAUSE = re.compile(r"(?:[^,;.\n!?。，；、]|(?<=\d)[,.](?=\d))+")
WHOLE = re.compile(rf"(?P<before>\D*){NUMBER}{UNIT}(?P<after>.*)", re.IGNORECASE | re.DOTALL)
LOOKED_AT = 300  # characters; a text that is pasted behind them names no size
WORDS = 2  # at most, beside the number in a clause that names a size in another language
LEFT_OVER = re.compile(
    r"^(?:[\s,;.:–—-]|(?:and|but)\b)+"
    r"|(?<![\s,;:–—-])(?<!\band)(?<!\bbut)(?:[\s,;:–—-]|\b(?:and|but))+$"
)
SAID_ANYWAY = re.compile(rf"(?:please|{SHORTEN})", re.IGNORECASE)
"""What is left beside a size and is no focus."""


@dataclass(frozen=True)
class NamedSize:
    """What the user typed after the command.

    Attributes:
        tokens: the size in tokens; `None` if none is named.
        share: the size as a share of the present one; `None` if none is named.
        focus: the other words.
    """

    tokens: int | None = None
    share: float | None = None
    focus: str = ""

    def of(self, present: int) -> int | None:
        """The size in tokens for a context that has `present` tokens; `None` if none is named."""
        return self.tokens if self.share is None else max(1, int(self.share * present))


def named_size(words: str) -> NamedSize:
    """`named_size("keep 30k, focus on tests")` -> 30,000 tokens, and the focus "focus on tests"."""
    looked_at = words[:LOOKED_AT]
    found = ENGLISH.search(looked_at) or _alone(looked_at)
    tokens, share = _value(found) if found else (None, None)
    if found is None or not (tokens or share):
        return NamedSize(focus=words.strip())
    rest = (LEFT_OVER.sub("", part) for part in (words[: found.start()], words[found.end() :]))
    focus = ", ".join(part for part in rest if part and not SAID_ANYWAY.fullmatch(part))
    return NamedSize(tokens, share, focus)


def _alone(words: str) -> re.Match[str] | None:
    """The clause with a size and hardly anything else; the size has an end, or says `tokens`."""
    for clause in CLAUSE.finditer(words):
        for found in WHOLE.finditer(words, clause.start(), clause.end()):
            before, after = found["before"].strip(), found["after"].strip()
            at_an_end = not before or not after or found["tokens"]
            if at_an_end and len(f"{before} {after}".split()) <= WORDS:
                return found
    return None


def _value(found: re.Match[str]) -> tuple[int | None, float | None]:
    """The tokens, or the share of the present size, that a match names; neither if impossible."""
    digits, unit = found["number"], (found["times"] or "").lower()
    groups = len(re.findall(r"\D", digits)) if GROUPED.fullmatch(digits) else 0
    if groups > 1 or (groups and not unit):  # 1.234k is a decimal number
        digits = re.sub(r"\D", "", digits)
    number = float(re.sub(r"[^\d.]", "", digits.replace(",", ".")))
    if found["percent"]:
        return None, number / 100 if 0 < number < 100 else None
    times = {"k": 1_000, "к": 1_000, "m": 1_000_000}.get(unit, 1)
    tokens = int(min(number * times, MOST))
    return tokens or None, None
