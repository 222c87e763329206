"""Reads outputs that were written with patterns."""

import re


def written_out(shorter: str) -> str:
    """The text that a text with patterns stands for."""
    first, _, rest = shorter.partition("\n\n")
    patterns = {line[0]: line[3:] for line in first.split("\n")}
    whole: list[str] = []
    for line in rest.split("\n"):
        tag, *numbers = line.split(" ")
        if pattern := patterns.get(tag):
            parts = re.split(r"\{(\d+)\}", pattern)
            parts[1::2] = [numbers[int(place) - 1] for place in parts[1::2]]
            line = "".join(parts)
        whole.append(line)
    return "\n".join(whole)
