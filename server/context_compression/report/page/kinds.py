"""The kinds of content that the page tells apart, in the order in which they are stacked.

Eight colours are as many as everyone can tell apart, so rare kinds share one. `page.css` has the
colours. They differ by at least 8 (in OKLab, times 100) also for people who do not see red, green
or blue, and each has a contrast of at least 3 with the page, light or dark.
"""

from collections.abc import Mapping

KINDS = {
    "other": "other",
    "system": "system and host",
    "user": "user text",
    "assistant": "assistant text",
    "thinking": "thinking",
    "calls": "tool calls",
    "results": "tool results",
    "notes": "our notes",
}
"""What each kind is called on the page, by the class of its colour."""

_CLASS_OF = {
    "system prompt, tools and the like": "system",
    "system text": "system",
    "developer text": "system",
    "host text": "system",
    **{label: kind for kind, label in KINDS.items()},
}


def by_class(by_kind: Mapping[str, int]) -> list[int]:
    """Tokens by kind, in the order of `KINDS`."""
    sizes = dict.fromkeys(KINDS, 0)
    for kind, tokens in by_kind.items():
        sizes[_CLASS_OF.get(kind, "other")] += max(0, tokens)
    return list(sizes.values())
