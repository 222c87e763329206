"""An answer says the same facts twice: as text, and as structured content.

Hosts show their model one of the two. So the text is made from the facts, and cannot differ.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from mcp.types import CallToolResult, TextContent

from context_compression.conversation.messages import is_array, is_object
from context_compression.display.strings import harmless, one_line
from context_compression.mcp_server.paging import sendable

LONGEST = 8_000  # characters of an answer's text
ONE_LINE = 90  # characters up to which a list or an object stands in one line
LONGEST_FACT = 1_000  # characters of a string; a path may be long
OF_LINES = ("note", "instructions")  # facts that are texts of ours
EMPTY: tuple[Any, ...] = (None, "", [], {}, ())

Facts = Mapping[str, Any]


def answer(headline: str, said: Facts, more: Facts, **hidden: Any) -> CallToolResult:
    """A tool's answer.

    Args:
        headline: what the text begins with; its first line is also in the structured content.
        said: the facts that the headline says, so that the text need not repeat them.
        more: the other facts, by names that read well; what is empty is left out.
        hidden: for programs, in the structured content only and as it is.
    """
    shown = {name: value for name, value in more.items() if value not in EMPTY}
    text = "\n".join([headline, *_lines(shown)])
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}… (cut here)"
    structure = _sendable({"headline": headline.partition("\n")[0], **said, **shown})
    return CallToolResult(
        content=[TextContent(type="text", text=harmless(text))],
        structured_content={**structure, **hidden},
    )


def quotation(text: str) -> CallToolResult:
    """An answer of text alone."""
    return CallToolResult(content=[TextContent(type="text", text=sendable(text))])


def _lines(facts: Facts) -> Iterator[str]:
    for name, value in facts.items():
        label = name.replace("_", " ")
        said = value if name in OF_LINES else inline(value)
        line = said if name == "note" else f"{label}: {said}"
        if len(line) <= ONE_LINE or not (is_object(value) or is_array(value)):
            yield line
            continue
        yield f"{label}:"
        if is_object(value):
            yield from (f"- {one_line(part)}: {inline(inside)}" for part, inside in value.items())
        else:
            yield from (f"- {inline(part)}" for part in value)


def inline(value: Any, most: int = LONGEST_FACT) -> str:
    """`{"paths": 3000, "met": True}` -> `"paths 3,000, met yes"`; each string in `most` characters.

    None of them begins a line, for what is stored may be anybody's.
    """
    if value is None:
        return "unset"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if is_object(value):
        return ", ".join(f"{one_line(n)} {inline(part, most)}" for n, part in value.items())
    if is_array(value):
        return "; ".join(inline(part, most) for part in value) or "none"
    return one_line(value, most)


def _sendable(value: Any) -> Any:
    if isinstance(value, str):
        return sendable(value)
    if is_object(value):
        return {sendable(str(name)): _sendable(part) for name, part in value.items()}
    if is_array(value):
        return [_sendable(part) for part in value]
    return value
