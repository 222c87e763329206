"""What a host's own files say, where they can be read; what cannot be read says nothing."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from context_compression.conversation.messages import is_array, is_object
from context_compression.errors import SetupError
from context_compression.setup import jsonc
from context_compression.setup.files import read

Said = Mapping[str, Any]


def json_in(path: Path) -> Said:
    """The object in a file of JSON, comments or not; an empty one where there is none."""
    try:
        data = read(path)
        return object_of(jsonc.value_at((data or b"").decode() or "{}", ()))
    except (SetupError, ValueError):
        return {}


def toml_in(path: Path) -> Said:
    """The table in a file of TOML; an empty one where there is none."""
    try:
        return tomllib.loads((read(path) or b"").decode().removeprefix("\ufeff"))
    except (SetupError, ValueError):
        return {}


def object_of(value: Any) -> Said:
    """The value, if it is an object; else an empty one."""
    return value if is_object(value) else {}


def names_of(value: Any) -> list[str]:
    """The items of an array, as texts; none where the value is no array."""
    return [str(name) for name in value] if is_array(value) else []
