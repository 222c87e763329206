"""Lists as people and models write them: `a, b`, `甲、乙`; and limits by name: `Read=0; ci*=2k`."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, cast

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

from context_compression.display.quantities import MOST, whole_number

SEPARATOR = re.compile(r"[,，、;；\n]")
BETWEEN_LIMITS = re.compile(r"(?<!\d),|,(?!\d{3}(?!\d))|[，、;；\n]")
"""The comma in `make=20,000` belongs to the number."""


def divided(text: str, separator: re.Pattern[str] = SEPARATOR) -> tuple[str, ...]:
    """`divided("a, b、c")` -> `("a", "b", "c")`."""
    return tuple(part.strip() for part in separator.split(text) if part.strip())


def _words(value: Any) -> Any:
    return divided(value) if isinstance(value, str) else value


def _limits(value: Any) -> Any:
    if isinstance(value, str):
        value = divided(value, BETWEEN_LIMITS)
    elif isinstance(value, Mapping):
        given = cast("Mapping[str, Any]", value)
        value = [f"{name}={tokens}" for name, tokens in given.items()]
    if not isinstance(value, list | tuple):
        return value
    return tuple(map(_limit, cast("list[Any]", value)))


def _limit(value: Any) -> str:
    name, _, tokens = str(value).rpartition("=")
    number = whole_number(tokens)
    if not name.strip() or number is None or not 0 <= number <= MOST:
        raise PydanticCustomError(
            "limit",
            "{limit} is no limit: write name=tokens, as in read_file=20k or mcp__github__*=0; "
            "0 means never",
            {"limit": repr(value)[:60]},
        )
    return f"{name.strip()}={number}"


Words = Annotated[tuple[str, ...], BeforeValidator(_words)]
"""A list of words, also as one text."""
Limits = Annotated[tuple[str, ...], BeforeValidator(_limits)]
"""Numbers of tokens by the name of a tool, also as one text or as a mapping; kept as `NAME=TOKENS`.
"""
