"""The form of an answer: the same facts as text and as structured content.

A host shows its model one of the two. So the text is made from the facts and cannot differ.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mcp.types import CallToolResult, TextContent

from context_compression.conversation.messages import is_array, is_object
from context_compression.display.strings import harmless, one_line, with_halves_spelled

LONGEST = 8_000  # characters of an answer's text
ONE_LINE = 90  # the most characters of a list or an object on one line
LONGEST_FACT = 1_000  # characters of a string; a path may be long
MULTILINE = {"note": "", "instructions": "instructions: ", "preview": "preview:\n"}
"""Labels of texts with line breaks: those of this package, and quoted ones in their fences."""
EMPTY: tuple[Any, ...] = (None, "", [], {}, ())
LABELS = {
    "floor_tokens": "minimum size in tokens",
    "floor": "parts of the minimum size",
    "fixed_tokens": "tokens of system prompt, tools and the like, which stay",
    "host_tokens": "tokens that the host adds to each request, in no count here",
    "used_tokens_upper": "used tokens at most",
}
"""Labels in the text, where the name of the fact would not read well."""

JSON_TYPES: Mapping[type, str] = {
    str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object",
}  # fmt: skip

Facts = Mapping[str, Any]


def answer(
    headline: str, headline_facts: Facts, facts: Facts, **for_programs: Any
) -> CallToolResult:
    """A tool's answer.

    Args:
        headline: begins the text; its first line is also in the structured content.
        headline_facts: the facts in the headline, which the text does not repeat.
        facts: all other facts, by names that read well; empty ones are left out.
        for_programs: values for the structured content only, unchanged.
    """
    shown = {name: value for name, value in facts.items() if value not in EMPTY}
    text = "\n".join([headline, *_lines(shown)])
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}… (cut here)"
    structure = _sendable({"headline": headline.partition("\n")[0], **headline_facts, **shown})
    return CallToolResult(
        content=[TextContent(type="text", text=harmless(text))],
        structured_content={**structure, **for_programs},
    )


def output_schema(facts: Mapping[str, type]) -> dict[str, Any] | None:
    """The schema of an answer's structured content, for programs; `None` without facts.

    It lists what a program reads. An answer may leave each of them out, and may have more.
    """
    if not facts:
        return None
    listed = {name: {"type": JSON_TYPES[kind]} for name, kind in {"headline": str, **facts}.items()}
    return {"type": "object", "properties": listed, "required": ["headline"]}


def with_warnings(result: CallToolResult, warnings: Sequence[str]) -> CallToolResult:
    """An answer made by `answer`, with more warnings at its end; other answers stay as they are."""
    facts, block = result.structured_content, result.content[-1]
    if not warnings or facts is None or not isinstance(block, TextContent):
        return result
    text = "\n".join([block.text, *(f"warning: {warning}" for warning in warnings)])
    return CallToolResult(
        content=[*result.content[:-1], TextContent(type="text", text=text)],
        structured_content={**facts, "warnings": [*facts.get("warnings", ()), *warnings]},
    )


def text_answer(text: str) -> CallToolResult:
    """An answer that is only text, such as quoted archived text."""
    return CallToolResult(content=[TextContent(type="text", text=with_halves_spelled(text))])


def inline(value: Any, most: int = LONGEST_FACT) -> str:
    """`{"paths": 3000, "met": True}` -> `"paths 3,000, met yes"`; clips strings to `most`.

    Line breaks in strings are escaped, because a stored string can come from any source.
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


def _lines(facts: Facts) -> Iterator[str]:
    for name, value in facts.items():
        label = LABELS.get(name, name.replace("_", " "))
        line = f"{MULTILINE[name]}{value}" if name in MULTILINE else f"{label}: {inline(value)}"
        if len(line) <= ONE_LINE or not (is_object(value) or is_array(value)):
            yield line
            continue
        yield f"{label}:"
        if is_object(value):
            yield from (f"- {one_line(part)}: {inline(inside)}" for part, inside in value.items())
        else:
            yield from (f"- {inline(part)}" for part in value)


def _sendable(value: Any) -> Any:
    if isinstance(value, str):
        return with_halves_spelled(value)
    if is_object(value):
        return {with_halves_spelled(str(name)): _sendable(part) for name, part in value.items()}
    if is_array(value):
        return [_sendable(part) for part in value]
    return value
