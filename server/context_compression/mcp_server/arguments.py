"""What a tool may be asked, and how a model is told when it asked wrongly.

The sentence under an argument is what the model reads about it. Clients load all of it into every
conversation, so the schemas are compact: no titles, no unions with null, no bounds (a value out of
bounds is answered with what is allowed).
"""

import difflib
import json
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, TypeVar, cast

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field, ValidationError
from pydantic_core import ErrorDetails

from context_compression.conversation.formats.foreign import refusal
from context_compression.conversation.messages import is_array, is_object
from context_compression.settings import GUARDED, NO_BOOL, SHOWN, Value, snake_case

LISTED = 3  # wrong arguments named in one answer
KEPT = ("type", "description", "enum", "items")  # of a JSON schema

TYPES = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}

Messages = list[dict[str, Any]]
Positive = Annotated[int, Field(ge=1), NO_BOOL]


class Arguments(Value):
    """The arguments of one tool."""

    unlisted: ClassVar[frozenset[str]] = frozenset()
    """Arguments that are understood but not in the schema."""

    @classmethod
    def known(cls) -> dict[str, dict[str, Any]]:
        """The schema of every argument that is understood, by name."""
        return {n: compact(about) for n, about in cls.model_json_schema()["properties"].items()}


Asked = TypeVar("Asked", bound=Arguments)


def input_schema(model: type[Arguments]) -> dict[str, Any]:
    """The schema that clients are given."""
    listed = {name: about for name, about in model.known().items() if name not in model.unlisted}
    return {"type": "object", "properties": listed}


def checked(model: type[Asked], given: Mapping[str, Any]) -> Asked:
    """The arguments of a call. CamelCase names are understood, null means not given.

    Raises:
        ToolError: an unknown argument, or a value it cannot have; naming what is allowed.
    """
    known = model.known()
    named: dict[str, Any] = {}
    for name, value in given.items():
        snake = snake_case(name)
        if snake in named:
            raise ToolError(f"{snake} is given twice, in two spellings. Pass it once.")
        if value is not None:
            named[snake] = _unpacked(value, known.get(snake, {}))
    if unknown := [name for name in named if name not in known]:
        raise ToolError(_unknown({name: named[name] for name in unknown}, known))
    try:
        return model.model_validate(named)
    except ValidationError as problem:
        wrong = {error["loc"][:2]: error for error in reversed(problem.errors())}
        told = [_told(error, named, known) for error in list(wrong.values())[::-1][:LISTED]]
        raise ToolError(" ".join(told)) from None


def compact(about: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of one argument without what costs more than it says.

    `{"anyOf": [{"type": "string"}, {"type": "null"}], "title": …}` -> `{"type": "string"}`
    """
    union = [part for part in about.get("anyOf", ()) if part["type"] != "null"]
    whole: dict[str, Any] = {**(union[0] if union else {}), **about}
    short = {key: whole[key] for key in KEPT if key in whole}
    if "items" in short:
        short["items"] = compact(whole["items"])
    return short


def _unpacked(value: Any, about: Mapping[str, Any]) -> Any:
    """What was meant by JSON in a string, by one text for a list, or by a number for a text.

    An object for a list stays one where the list is of objects: it may be known what it is.
    """
    if type(value) is int and about.get("type") == "string" and "enum" not in about:
        return str(value)
    if isinstance(value, str) and about.get("type") in ("array", "object"):
        try:
            unpacked: Any = json.loads(value)
        except (ValueError, RecursionError):
            unpacked = value
        if about["type"] == "object" or is_array(unpacked):
            return unpacked
        return unpacked if is_object(unpacked) and _is_of_objects(about) else [value]
    return value


def _unknown(given: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    hints: list[str] = []
    for name, value in list(given.items())[:LISTED]:
        inside = [n for n in value if snake_case(n) in known] if is_object(value) else []
        near = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean {near[0]}?" if near else ""
        hint = f"pass {', '.join(inside[:LISTED])} without it" if inside else hint
        hints.append(f"{name[:SHOWN]!r}" + (f" ({hint})" if hint else ""))
    accepted = ", ".join(name for name in known if name not in GUARDED)
    return f"Unknown argument {', '.join(hints)}. Accepted: {accepted}."


def _told(error: ErrorDetails, given: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    """One wrong value, and what it may be."""
    name, *inside = error["loc"]
    about, value, shown = known[str(name)], given[str(name)], str(name)
    if _is_of_objects(about) and (said := refusal(value)):
        return f"{name} cannot be read. {said}"
    if inside and isinstance(inside[0], int):
        about, value, shown = about["items"], value[inside[0]], f"{name}[{inside[0]}]"
    text = json.dumps(value, ensure_ascii=False, default=str)
    text = text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
    return f"{shown} must be {_wanted(about, value, error.get('ctx', {}))}, not {text}."


def _is_of_objects(about: Mapping[str, Any]) -> bool:
    """Whether an argument is a list of objects: messages."""
    return about.get("items", {}).get("type") == "object"


def _wanted(about: Mapping[str, Any], value: Any, bounds: Mapping[str, Any]) -> str:
    if choices := cast("list[str]", about.get("enum", [])):
        near = difflib.get_close_matches(str(value), choices, 1, 0.5)
        return f"one of {', '.join(choices)}" + (f" (nearest: {near[0]})" if near else "")
    if "ge" in bounds:
        return f"{bounds['ge']} or more"
    if "le" in bounds:
        return f"{bounds['le']} or less"
    return TYPES[about["type"]]
