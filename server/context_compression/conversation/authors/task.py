"""The task in a text that a harness wraps: the section that tells it, apart from instructions."""

import re
from collections.abc import Iterator
from functools import lru_cache

Span = tuple[int, int]
TAG = re.compile(r"<([A-Za-z][\w-]*)(?: [^<>\n]*)?>")
GENERAL = re.compile(
    r"instruct|guideline|rule|format|example|environment|tool|workflow|setup|system|note|context"
    r"|polic|response|submi|important|step|reminder|hint|boundar",
    re.IGNORECASE,
)
"""Names of sections that tell how to work, not what to do."""
UNCLOSED = 50
"""A text with more tags than this that are never closed is not made of sections."""
SHOWN_CHARS = 160
"""How much of such a section is shown in any case."""


@lru_cache(maxsize=64)
def general_spans(text: str) -> tuple[Span, ...]:
    """The sections of a text with general instructions, if other sections tell the task.

    A section is a tag with its content, at the top level: `<instructions>…</instructions>`. The
    result is empty if the text does not set a task apart from instructions.
    """
    if "</" not in text:
        return ()
    sections = [*_sections(text)]
    general = tuple(span for name, span in sections if GENERAL.search(name))
    return general if len(general) < len(sections) else ()


@lru_cache(maxsize=64)
def tagged_spans(text: str) -> tuple[Span, ...]:
    """The sections of a text at the top level: each is a tag with its content."""
    return tuple(span for _, span in _sections(text)) if "</" in text else ()


def task_spans(text: str, end_chars: int = 0) -> list[Span]:
    """The spans around the general instructions of a text, and their beginnings and ends.

    Args:
        text: a text of the user.
        end_chars: about how many characters of each end are shown, because instructions end with
            how to finish the task.
    """
    shown: list[Span] = []
    start = 0
    for begin, stop in general_spans(text):
        most = text[begin : min(stop, begin + SHOWN_CHARS)]
        shown.append((start, begin + (most.rfind("\n") if "\n" in most else len(most))))
        end = max(begin, stop - end_chars)
        start = max(end, text.find("\n", end, stop)) if end_chars else stop
    return [*shown, (start, len(text))]


def _sections(text: str) -> Iterator[tuple[str, Span]]:
    """The name and the span of each tag with content that is not inside another one."""
    position, unclosed = 0, set[str]()
    while tag := TAG.search(text, position):
        name, position = tag[1], tag.end()
        stop = -1 if name in unclosed else text.find(f"</{name}>", position)
        if stop < 0:
            unclosed.add(name)
            if len(unclosed) > UNCLOSED:
                return
            continue
        position = stop + len(name) + 3
        yield name, (tag.start(), position)
