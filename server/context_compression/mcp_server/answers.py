"""An answer says the same facts twice: as text, and as structured content.

Hosts show their model one of the two. So the text is made from the facts, and cannot differ.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from mcp.types import CallToolResult, TextContent

from context_compression.mcp_server.quoting import sendable
from context_compression.messages import is_array, is_object

LONGEST = 8_000  # characters of an answer's text
ONE_LINE = 90  # characters up to which a list or an object stands in one line
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
        content=[TextContent(type="text", text=sendable(text))],
        structured_content={**structure, **hidden},
    )


def quotation(text: str) -> CallToolResult:
    """An answer of text alone."""
    return CallToolResult(content=[TextContent(type="text", text=sendable(text))])


def _lines(facts: Facts) -> Iterator[str]:
    for name, value in facts.items():
        label = name.replace("_", " ")
        line = value if name == "note" else f"{label}: {inline(value)}"
        if len(line) <= ONE_LINE or not (is_object(value) or is_array(value)):
            yield line
            continue
        yield f"{label}:"
        if is_object(value):
            yield from (f"- {part}: {inline(inside)}" for part, inside in value.items())
        else:
            yield from (f"- {inline(part)}" for part in value)


def inline(value: Any) -> str:
    """`{"paths": 3000, "met": True}` -> `"paths 3,000, met yes"`."""
    if value is None:
        return "unset"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if is_object(value):
        return ", ".join(f"{name} {inline(part)}" for name, part in value.items())
    if is_array(value):
        return "; ".join(map(inline, value)) or "none"
    return str(value)


def _sendable(value: Any) -> Any:
    if isinstance(value, str):
        return sendable(value)
    if is_object(value):
        return {sendable(str(name)): _sendable(part) for name, part in value.items()}
    if is_array(value):
        return [_sendable(part) for part in value]
    return value
