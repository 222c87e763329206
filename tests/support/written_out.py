"""Reads outputs that were written with patterns."""

import re


def written_out(shorter: str) -> str:
    """The text that a text with patterns stands for."""
    lines, patterns = shorter.split("\n"), dict[str, str]()
    while match := re.match(r"([A-Z]): (?=.*[0-9{])", lines[0]):
        patterns[match[1]] = lines.pop(0)[3:]
    whole: list[str] = []
    for line in lines:
        tag, *numbers = line.split(" ")
        if pattern := patterns.get(tag):
            line = re.sub(r"\{(\d+)\}", r"{0[\1]}", pattern).format(["", *numbers])
        whole.append(line)
    return "\n".join(whole)
