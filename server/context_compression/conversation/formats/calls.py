"""The arguments of calls as they come: an object, or a text that is the JSON of one."""

import json
from collections.abc import Sequence
from typing import Any

from context_compression.conversation.formats.plain import why_not_json
from context_compression.conversation.messages import ToolCall, is_object


def parsed(arguments: Any) -> Any:
    """The arguments of a call as a dict if they are the JSON of an object, else unchanged.

    `None` becomes `""`. JSON that a dict does not hold completely stays a string, such as `NaN` or
    a key that occurs twice.
    """
    if not isinstance(arguments, str):
        return arguments if arguments is not None else ""
    try:
        value = json.loads(arguments, object_pairs_hook=_object)
    except (ValueError, RecursionError):
        return arguments
    return value if is_object(value) and why_not_json(value) is None else arguments


def as_written(arguments: Any) -> str:
    """The text that arguments came as; `""` if they came as an object."""
    return arguments if isinstance(arguments, str) else ""


def stays(call: ToolCall, there: Any) -> bool:
    """Whether a call has the arguments that came as `there`."""
    return (call.written or call.arguments) == ("" if there is None else there)


def given(call: ToolCall, there: Any) -> Any:
    """The arguments of a call in the form in which they came as `there`: a text or an object."""
    if stays(call, there):
        return there
    is_text = there is None or isinstance(there, str)
    return (call.written or call.arguments_text) if is_text else call.arguments


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("A key occurs twice.")
    return made
