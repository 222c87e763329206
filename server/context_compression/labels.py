"""Labels in notes of ours say who said what; in what they quote nothing may look like one."""

import re

BREAKS = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
BLANKS = r"[\s\u200b\ufeff]*"
SPEAKERS = (
    "User|Assistant|System|Developer|Tool|Host|Human|Earlier note|Tool result|Assistant tool calls"
    "|Compressed History"
)
LABEL = re.compile(rf"\[(?={BLANKS}(?:(?:{SPEAKERS}){BLANKS}\]|Result(?: of\b|;)))")
"""How a label of ours begins: who said what follows, or which call it is of."""
LINE_START = re.compile(rf"(?:\A|[{BREAKS}])(?:[^\S{BREAKS}]|[\u200b\ufeff]|\x1b\[[\d;]*m)*\Z")
BLANK_CHARS = 200
"""Characters before a label that are looked at."""


def without_labels(text: str) -> str:
    """A quoted text in which no line looks like a label of ours: a backslash goes before it."""

    def settle(found: re.Match[str]) -> str:
        start = found.start()
        begins = LINE_START.search(text[max(0, start - BLANK_CHARS) : start])
        return "\\[" if begins else "["

    return LABEL.sub(settle, text)


def no_speaker(name: str) -> str:
    """The name of a tool or an argument for a label: one of a speaker gets a word before it."""
    return f"call {name}" if LABEL.match(f"[{name}]") else name
