"""How many words a text in English or Chinese has."""

import re

CHARACTERS_A_WORD = 1.7
"""Chinese has no spaces between its words. One has about 1.7 characters: 压缩, 上下文, 的."""

CHINESE = re.compile(r"[\u3400-\u9fff]")
SIGNS = re.compile(r"[\u3400-\u9fff\u3000-\u303f\uff00-\uffef“”]+")
"""Chinese characters and punctuation, which may stand beside other words without a space."""


def words_in(text: str) -> float:
    """What stands between spaces, as `wc -w` counts; of Chinese, its characters instead."""
    words = 0
    for each in text.split():
        parts = SIGNS.split(each)
        words += 1 if len(parts) == 1 else sum(any(map(str.isalnum, part)) for part in parts)
    return words + len(CHINESE.findall(text)) / CHARACTERS_A_WORD
