"""Our tool for any loop: its definition in each provider's form, and its answers.

tool = restore_tool(session)
request["tools"] = [*mine, tool.anthropic]
text = tool.answer(call.input)              # when the model calls `tool.name`
"""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from context_compression.conversation.messages import is_object
from context_compression.display.fences import fenced
from context_compression.display.plurals import how_many
from context_compression.display.quantities import whole_number
from context_compression.display.strings import one_line
from context_compression.errors import ContextCompressionError, StoreError, StoreUnwritable
from context_compression.session import NO_LINE, Session
from context_compression.store.search.query import Query
from context_compression.store.short_refs import bare_ref
from context_compression.threads import in_thread

RESTORE = "context_restore"
DESCRIPTION = (
    "Brings back what was moved out of this conversation. The notes that stand in its place name "
    "the ref. Without a ref, query searches everything that was moved out."
)
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "ref": {"type": "string", "description": "as the note says"},
        "lines": {"type": "string", "description": "only these lines: 10-40"},
        "pattern": {"type": "string", "description": "only lines with this regular expression"},
        "start": {"type": "integer", "description": "characters to skip: for the next page"},
        "query": {"type": "string", "description": "words to search for; with ref, only its lines"},
    },
}
PAGE = 8_000
"""The most characters that one call restores."""
HITS = 5
"""The most hits that one search shows."""


@dataclass(frozen=True)
class RestoreTool:
    """The tool `context_restore` for one session.

    Attributes:
        session: the session to restore from.
        name: the name of the tool.
        description: what the model reads about it.
        schema: the JSON schema of its arguments.
    """

    session: Session
    name: ClassVar[str] = RESTORE
    description: ClassVar[str] = DESCRIPTION
    schema: ClassVar[Mapping[str, Any]] = SCHEMA

    @property
    def anthropic(self) -> dict[str, Any]:
        """One of the `tools` of Anthropic's Messages."""
        return {"name": RESTORE, "description": DESCRIPTION, "input_schema": SCHEMA}

    @property
    def openai(self) -> dict[str, Any]:
        """One of the `tools` of OpenAI's Chat Completions, and of APIs like it."""
        function = {"name": RESTORE, "description": DESCRIPTION, "parameters": SCHEMA}
        return {"type": "function", "function": function}

    @property
    def openai_responses(self) -> dict[str, Any]:
        """One of the `tools` of OpenAI's Responses."""
        about = {"name": RESTORE, "description": DESCRIPTION, "parameters": SCHEMA}
        return {"type": "function", **about, "strict": False}

    @property
    def gemini(self) -> dict[str, Any]:
        """One of the `function_declarations` of Gemini."""
        return {"name": RESTORE, "description": DESCRIPTION, "parameters": _upper_types(SCHEMA)}

    def answer(self, arguments: Mapping[str, Any] | str | None = None) -> str:
        """The text for the model: what it asked for, quoted, or what it can do about an error.

        Args:
            arguments: of the call, as an object or as its JSON.
        """
        try:
            return answered(self.session, arguments)
        except ContextCompressionError as error:
            return f"Error: {error}"

    async def aanswer(self, arguments: Mapping[str, Any] | str | None = None) -> str:
        """`answer` for an event loop."""
        return await in_thread(partial(self.answer, arguments))


def restore_tool(session: Session) -> RestoreTool:
    """The tool with which a model brings back what left the context of a session.

    Offer it in the form of your provider, and answer the calls of its name with `answer`:

        tool = restore_tool(session)
        tools = [*mine, tool.anthropic]       # or .openai, .openai_responses, .gemini
        text = tool.answer(call.input)
    """
    return RestoreTool(session)


def answered(session: Session, arguments: Mapping[str, Any] | str | None) -> str:
    """The answer to a call.

    Raises:
        StoreError: the arguments are not those of the schema, or cannot be met.
    """
    given = _checked(arguments)
    if "ref" in given:
        return restored(session, **given)
    for name in ("lines", "start"):
        if given.pop(name, None):
            raise StoreError(f"{name} goes only with ref. Pass a ref, or leave out {name}.")
    if not given:
        raise StoreError(
            "Pass ref, to bring back the text that a note names, or query, to search all texts "
            "that were moved out."
        )
    return found(session, **given)


def restored(
    session: Session,
    ref: str,
    lines: str | None = None,
    pattern: str | None = None,
    start: int = 0,
    query: str | None = None,
) -> str:
    """A page of the original under a ref, quoted.

    Raises:
        StoreError: the ref is unknown, the range or pattern is impossible, or there is no such
            line or page.
    """
    if query and pattern:
        raise StoreError("With ref, pass query or pattern, not both.")
    if query and bare_ref(query).lower() != bare_ref(ref).lower():
        pattern = Query.read(query).any_term
    text = session.restore(ref, lines=_span(lines), pattern=pattern, note=False)
    full = session.full_ref(ref) or ref
    if pattern and text == NO_LINE:  # matching lines begin with their numbers
        raise StoreError(
            f"No line of ref {full} matches {one_line(query or pattern)!r:.80}. Pass another "
            f"{'query' if query else 'pattern'}, or leave it out."
        )
    if start >= max(1, len(text)):
        raise StoreError(
            f"start={start} is past the end: there are {how_many(len(text), 'character')}."
        )
    start = max(0, start)
    page = text[start : start + PAGE]
    stop = start + len(page)
    with suppress(StoreUnwritable):  # a store that cannot be written can still be read
        session.note_restored(full, page)
    header = f"ref {full}, characters {min(start + 1, stop):,}-{stop:,} of {len(text):,}"
    if stop < len(text):
        header += f"; next page: start={stop}"
    return f"{header}\n{fenced(page)}"


def found(session: Session, query: str = "", pattern: str | None = None) -> str:
    """The archived texts that a search finds, each with its ref and its best lines, quoted.

    Raises:
        StoreError: the query has no words, or the pattern is invalid.
    """
    if not pattern and Query.read(query).empty:
        raise StoreError(
            f"The query {one_line(query)!r:.80} has no words to search for. Pass words or names, "
            'or "a phrase".'
        )
    result = session.store.search(query, pattern=pattern, session=session.id, limit=HITS)
    if not result.hits:
        sought = one_line(query or pattern or "")
        return f"No hits for {sought!r:.80}. To find more, pass fewer or shorter words."
    hits = [
        f"ref {hit.ref}, {one_line(hit.what)}\n"
        + fenced("\n".join(f"{n}: {line}" if hit.numbered else line for n, line in hit.lines))
        for hit in result.hits
    ]
    count = how_many(len(hits), "text")
    return "\n\n".join([f"{count}, the best first; pass a ref to bring one back", *hits])


def _checked(arguments: Mapping[str, Any] | str | None) -> dict[str, Any]:
    """The arguments that are given, with the types of the schema.

    Raises:
        StoreError: they are no object, or one has an unknown name or another type.
    """
    values: Any = arguments or {}
    if isinstance(values, str):
        try:
            values = json.loads(values)
        except ValueError:
            raise StoreError(f"The arguments are not JSON: {one_line(arguments)!r:.80}.") from None
    if not is_object(values):
        raise StoreError(f"The arguments must be a JSON object, not {type(values).__name__}.")
    properties = SCHEMA["properties"]
    if unknown := [name for name in values if name not in properties]:
        raise StoreError(
            f"{one_line(unknown[0])} is no argument; allowed: {', '.join(properties)}."
        )
    return {
        name: _of_type(properties[name]["type"], value, name)
        for name, value in values.items()
        if value not in (None, "")
    }


def _of_type(kind: str, value: Any, name: str) -> Any:
    """A value as its type in the schema says; models and clients write 7 as `"7"` or `7.0`."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if kind == "integer" and isinstance(value, str):
        value = value if (number := whole_number(value)) is None else number
    if kind == "string" and type(value) is int:
        value = str(value)
    if type(value) is not {"integer": int, "string": str}[kind]:
        raise StoreError(f"{name} must be of type {kind}, not {value!r:.40}.")
    return value


def _span(lines: str | None) -> tuple[int, int] | None:
    """`"10-40"` -> `(10, 40)`, `"7"` -> `(7, 7)`."""
    if not lines:
        return None
    match = re.fullmatch(r"\s*(\d{1,9})(?:\s*-\s*(\d{1,9}))?\s*", lines)
    if match is None:
        raise StoreError(f"lines must be as 10-40 or 7, from 1 on, not {lines[:40]!r}.")
    return int(match[1]), int(match[2] or match[1])


def _upper_types(schema: Any) -> Any:
    """A schema with the names of types as Gemini writes them: `STRING`."""
    if not is_object(schema):
        return schema
    return {
        key: value.upper() if key == "type" and isinstance(value, str) else _upper_types(value)
        for key, value in schema.items()
    }
