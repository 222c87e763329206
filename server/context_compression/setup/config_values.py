"""Values in a host's configuration. A file that is missing or cannot be read counts as empty."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from context_compression.conversation.messages import as_object, is_array
from context_compression.errors import SetupError
from context_compression.setup import jsonc
from context_compression.setup.files import read

Values = Mapping[str, Any]


def json_in(path: Path) -> Values:
    """The object in a JSON file, with or without comments; empty if it cannot be read."""
    try:
        data = read(path)
        return as_object(jsonc.value_at((data or b"").decode() or "{}", ()))
    except (SetupError, ValueError):
        return {}


def toml_in(path: Path) -> Values:
    """The table in a TOML file; empty if it cannot be read."""
    try:
        return tomllib.loads((read(path) or b"").decode().removeprefix("\ufeff"))
    except (SetupError, ValueError):
        return {}


def names_of(value: Any) -> list[str]:
    """The items of an array as strings; an empty list if the value is not an array."""
    return [str(name) for name in value] if is_array(value) else []
