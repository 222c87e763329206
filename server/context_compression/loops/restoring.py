"""Our tool for any loop: its definition in each provider's form, and its answers.

tool = restore_tool(session)
request["tools"] = [*mine, tool.anthropic]
text = tool.answer(call.input)              # when the model calls `tool.name`
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from context_compression.conversation.messages import is_object
from context_compression.display.quantities import whole_number
from context_compression.display.strings import one_line
from context_compression.errors import ContextCompressionError, StoreError
from context_compression.session import Session
from context_compression.session.restoring import Asked, found, restored
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
        "start": {"type": "integer", "description": "characters to skip"},
        "query": {"type": "string", "description": "words to search for; with ref, only its lines"},
        "cursor": {"type": "string", "description": "from the page before"},
    },
}


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
    asked = Asked(**_checked(arguments)).checked()
    return restored(session, asked) if asked.ref else found(session.store, asked, session.id)


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


def _upper_types(schema: Any) -> Any:
    """A schema with the names of types as Gemini writes them: `STRING`."""
    if not is_object(schema):
        return schema
    return {
        key: value.upper() if key == "type" and isinstance(value, str) else _upper_types(value)
        for key, value in schema.items()
    }
