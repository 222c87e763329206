"""Tokens without a vocabulary: the estimate that budgets of `quality.py` are measured in.

It was fitted to the tokens that Claude Code was charged for complete prompts. It uses no tokenizer,
so no compressor has the advantage of sharing one.
"""

import json
import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

LETTERS = re.compile(r"[A-Za-z]+")
DIGITS = re.compile(r"\d+")
SPACE = re.compile(r"\s+")
MARKS = re.compile(r"[^\sA-Za-z\d]+")
PER_MESSAGE, PER_TOOL_BLOCK, PER_TEXT_BLOCK = 6, 40, 2


@lru_cache(100_000)
def tokens(text: str) -> float:
    """One token for six letters, three digits, a sign, a line break, or 2.5 bytes of others."""
    words = sum((len(run) + 5) // 6 for run in LETTERS.findall(text))
    numbers = sum((len(run) + 2) // 3 for run in DIGITS.findall(text))
    breaks = sum(run != " " for run in SPACE.findall(text))
    marks = "".join(MARKS.findall(text))
    if marks.isascii():
        return float(words + numbers + breaks + len(marks))
    ascii_marks = sum(mark < "\x80" for mark in marks)
    others = len(marks.encode("utf-8", "replace")) - ascii_marks
    return words + numbers + breaks + ascii_marks + others / 2.5


def whole_tokens(text: str) -> int:
    """The estimate as a counter that can be passed to a compressor."""
    return math.ceil(tokens(text))


def message_tokens(message: Mapping[str, Any]) -> float:
    """Tokens of a message, including the framing of the message and its blocks."""
    return PER_MESSAGE + sum(
        tokens(block_text(block)) + (PER_TEXT_BLOCK if block["type"] == "text" else PER_TOOL_BLOCK)
        for block in message["content"]
    )


def block_text(block: Mapping[str, Any]) -> str:
    """The text of a block for the model: text, a call with its arguments as JSON, or a result."""
    match block["type"]:
        case "text":
            return block["text"]
        case "tool_use":
            return f"{block['name']} {json.dumps(block['input'], ensure_ascii=False)}"
        case _:
            return block.get("content") or ""
