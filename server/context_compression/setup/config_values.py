"""Values in a host's configuration. A file that is missing or cannot be read counts as empty."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from context_compression.conversation.messages import is_array, is_object
from context_compression.errors import SetupError
from context_compression.setup import jsonc
from context_compression.setup.files import read

Values = Mapping[str, Any]


def json_in(path: Path) -> Values:
    """The object in a JSON file, with or without comments; an empty one where there is none."""
    try:
        data = read(path)
        return object_of(jsonc.value_at((data or b"").decode() or "{}", ()))
    except (SetupError, ValueError):
        return {}


def toml_in(path: Path) -> Values:
    """The table in a TOML file; an empty one where there is none."""
    try:
        return tomllib.loads((read(path) or b"").decode().removeprefix("\ufeff"))
    except (SetupError, ValueError):
        return {}


def object_of(value: Any) -> Values:
    """The value, if it is an object; else an empty one."""
    return value if is_object(value) else {}


def names_of(value: Any) -> list[str]:
    """The items of an array as strings; none where the value is no array."""
    return [str(name) for name in value] if is_array(value) else []
