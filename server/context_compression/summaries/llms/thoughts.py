"""Thoughts that a model writes into its answer, where its server does not separate them.

Only what stands at the beginning, and surely is no summary, is left out: a summary may speak of
these marks.
"""

import re

TAGS = "think|thinking|thoughts?|reasoning|seed:think|longcat_think"
"""Of Qwen, DeepSeek, Gemma, Seed-OSS, LongCat and others."""
MARKS = (
    ("[THINK]", "[/THINK]"),  # Magistral
    ("◁think▷", "◁/think▷"),  # Kimi
    ("<|START_THINKING|>", "<|END_THINKING|>"),  # Cohere
    ("<|begin_of_thought|>", "<|end_of_thought|>"),  # OpenThinker
    ("<|channel>thought", "<channel|>"),  # Gemma 4
)
CHANNEL = r"(?:<\|start\|>)?(?:assistant)?<\|channel\|>"
"""A part of an answer in harmony, the format of gpt-oss, begins with this."""

_ENCLOSED = [rf"<({TAGS})>.*?(?:</\1>|\Z)"] + [
    rf"{re.escape(first)}.*?(?:{re.escape(last)}|\Z)" for first, last in MARKS
]
_HARMONY = rf"(?:{CHANNEL})?(?:analysis|commentary)[^<\n]*<\|message\|>.*?(?:(?={CHANNEL}final)|\Z)"
_UNMARKED = (
    r"(?:analysis(?=[A-Z]).*?)?assistantfinal"  # harmony, from a server that drops its marks
)
_UNOPENED = r"(?!\s*#)(?:(?!<think).)*?(?:^</think>[ \t]*$|</think>(?=\s*#))"
"""Thoughts whose first tag is written by the template of DeepSeek. A text that begins with a
heading is a summary from its beginning.
"""
_THOUGHTS = re.compile(
    rf"(?:\s*(?:{'|'.join([*_ENCLOSED, _HARMONY])}))+|\s*{_UNMARKED}|{_UNOPENED}", re.S | re.M
)
_FRAME = re.compile(
    rf"\s*(?:{CHANNEL}final[^<\n]*<\|message\|>|<\|START_RESPONSE\|>|<\|begin_of_solution\|>)"
    r"(.*?)(?:<\|(?:return|end|END_RESPONSE|end_of_solution)\|>\s*)?",
    re.S,
)
"""What some models write around the answer that follows their thoughts."""


def without_thoughts(text: str) -> str:
    r"""The text of an answer without the thoughts at its beginning.

    `without_thoughts("<think>Hm.</think>\n\n## Goal")` -> `"## Goal"`
    """
    thoughts = _THOUGHTS.match(text)
    rest = text[thoughts.end() :] if thoughts else text
    frame = _FRAME.fullmatch(rest)
    return (frame[1] if frame else rest).strip()
