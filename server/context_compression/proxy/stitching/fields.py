"""JSON of responses: fields replaced in the bytes, deltas merged, usage summed."""

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from context_compression.conversation.messages import as_object, is_array, is_object
from context_compression.integrations.apis import Json

SET = frozenset({"role", "type", "id", "index", "signature"})
"""The fields of a delta that take the place of what came before; other strings go on."""


@cache
def _scalar(name: str) -> re.Pattern[bytes]:
    """A field whose value is a string, a number or a word. No string in JSON holds its bytes."""
    return re.compile(rb'(?<!\\)"%s"\s*:\s*("(?:[^"\\]|\\.)*"|[-+.\w]+)' % name.encode())


def read(data: bytes) -> Json:
    """The object in the data of an event; an empty one if there is none."""
    try:
        return dict(as_object(json.loads(data)))
    except (ValueError, RecursionError):
        return {}


def written(value: Json) -> bytes:
    """JSON in ASCII: half a character, which a model may send, cannot be written otherwise."""
    return json.dumps(value, separators=(",", ":")).encode()


def scalar(data: bytes, name: str) -> Any:
    """The value of a field of the object; `None` if it has none. Cheap if the name occurs once."""
    found = _scalar(name).findall(data)
    if len(found) > 1:
        return read(data).get(name)
    return json.loads(found[0]) if found else None


def with_fields(data: bytes, fields: Mapping[str, Any]) -> bytes:
    """The object with other values for fields that it has, and whose values are no containers.

    Other bytes stay as they are, unless such a name occurs more than once.
    """
    for name, value in fields.items():
        found = [match.span(1) for match in _scalar(name).finditer(data)]
        if len(found) == 1:
            ((start, end),) = found
            data = data[:start] + json.dumps(value).encode() + data[end:]
        elif found and name in (whole := read(data)):
            data = written({**whole, name: value})
    return data


def sum_of(one: Any, other: Any) -> Any:
    """Usage added: numbers are summed, lists joined, objects added field by field.

    Of all else the second is taken, if there is one.
    """
    if is_object(one) and is_object(other):
        return {key: sum_of(one.get(key), other.get(key)) for key in {**one, **other}}
    if is_array(one) and is_array(other):
        return [*one, *other]
    if _is_number(one) and _is_number(other):
        return one + other
    return one if other is None else other


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def merged(one: Any, delta: Any) -> Any:
    """A value with what came next: strings go on, and the parts of lists that have an `index`."""
    if isinstance(one, str) and isinstance(delta, str):
        return one + delta
    if is_object(one) and is_object(delta):
        goes_on = {key: merged(one.get(key), delta[key]) for key in delta if key not in SET}
        return {**one, **{key: delta[key] for key in delta if delta[key]}, **goes_on}
    if is_array(delta):
        parts = list(one) if is_array(one) else []
        places = {
            index: place
            for place, part in enumerate(parts)
            if (index := as_object(part).get("index")) is not None
        }
        for part in delta:
            place = places.get(as_object(part).get("index"))
            if place is None:
                parts.append(part)
            else:
                parts[place] = merged(parts[place], part)
        return parts
    return one if delta is None else delta
