"""Numbers, nouns that agree with them, and lists, as people and models write them."""

import json
import os
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, cast

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

MOST = 10**12
"""The largest number a setting takes, far above any real one; floats are exact up to here."""
TIMES = {"": 1, "k": 1_000, "m": 1_000_000}
WRITTEN = "write 50000, 50,000, 50k or 1.5m"

_WHOLE = re.compile(r"([+-]?(?:\d{1,3}(?:[,_]\d{3})+|\d{1,15}))(\.\d{1,6})?\s*([km]?)", re.I | re.A)
_PERCENT = re.compile(r"(\d{1,3}(?:\.\d{1,6})?)\s*%", re.A)


def whole_number(text: str) -> int | None:
    """`"50k"` -> `50000`, `"1.5M"` -> `1500000`, `"50,000"` -> `50000`; `None` for other texts."""
    match = _WHOLE.fullmatch(text.strip())
    if match is None or (match[2] and not match[3]):  # some people write 50000 as 50.000
        return None
    whole, decimals = re.sub("[,_]", "", match[1]), (match[2] or ".")[1:]
    number, rest = divmod(int(whole + decimals) * TIMES[match[3].lower()], 10 ** len(decimals))
    return None if rest else number


def share(text: str) -> float | None:
    """`"80 %"` -> `0.8`; `None` for other texts."""
    match = _PERCENT.fullmatch(text.strip())
    return float(match[1]) / 100 if match else None


def meant_share(value: Any) -> str | None:
    """How to write a share given as percent: `80` -> `'0.8 or "80 %"'`; `None` for other values.

    A number up to 2 may be a share that is too large.
    """
    try:
        percent = float(value)
    except (TypeError, ValueError):
        return None
    return f'{percent / 100:g} or "{percent:g} %"' if 2 < percent <= 100 else None


def _no_bool(value: Any) -> Any:
    """Refuses `True`, which Python takes for 1 but the sender does not mean as a number."""
    if isinstance(value, bool):
        raise PydanticCustomError("number", "Input should be a number, not true or false")
    return value


def _whole(value: Any) -> Any:
    if not isinstance(value, str):
        return _no_bool(value)
    if (number := whole_number(value)) is None:
        message = "Input should be a whole number: {written}"
        if share(value) is not None:
            message += "; target_usage is a share of the budget"
        raise PydanticCustomError("number", message, {"written": WRITTEN})
    return number


def _part(value: Any) -> Any:
    read = share(value) if isinstance(value, str) else None
    return _no_bool(value) if read is None else read


# These go after the bounds of a number, so that they are checked before them.
NO_BOOL = BeforeValidator(_no_bool)
WHOLE = BeforeValidator(_whole)
"""A whole number, also as a text."""
PART = BeforeValidator(_part)
"""A share, also in percent."""

Share = Annotated[float, Field(gt=0, le=1), PART]
Positive = Annotated[int, Field(ge=1, le=MOST), WHOLE]
NotNegative = Annotated[int, Field(ge=0, le=MOST), WHOLE]
Seconds = Annotated[float, Field(gt=0, le=86_400), NO_BOOL]


CLOSING = {"[": "]", "{": "}"}
SIGNS = ",，、;；\n"
_QUOTED = "|".join(rf"{a}[^{a}{b}\n]{{1,400}}{b}" for a, b in ('""', "“”", "「」"))
_OF_PATHS = SIGNS + os.pathsep
_DRIVE = r"|[A-Za-z]:[/\\]" if os.pathsep == ";" else ""
QUOTED, QUOTED_PATH = (
    rf"(?<![^\s{signs}])(?:{_QUOTED})(?![^\s{signs}])" for signs in (SIGNS, _OF_PATHS)
)
SEPARATOR = re.compile(rf"{QUOTED}|(?P<sign>[{SIGNS}])")
BETWEEN_LIMITS = re.compile(rf"{QUOTED}|(?P<sign>(?<!\d),|,(?!\d{{3}}(?!\d))|[{SIGNS[1:]}])")
"""The comma in `make=20,000` belongs to the number."""
BETWEEN_PATHS = re.compile(
    rf"{QUOTED_PATH}|(?P<sign>{os.pathsep}"
    rf"|[{SIGNS}](?=[\s{_OF_PATHS}]{{0,9}}(?:[/\\~\"“「]|\.\.?[/\\]{_DRIVE}|\Z)))"
)
"""The comma in `/data/Smith, John` belongs to the path: behind it no other path begins."""


def divided(text: str, separator: re.Pattern[str] = SEPARATOR) -> tuple[str, ...]:
    """`divided("a, b、「c, d」")` -> `("a", "b", "c, d")`: the parts of a list in one text.

    A part in quotation marks may hold the signs between parts.
    """
    parts, start = list[str](), 0
    for found in separator.finditer(text):
        if found["sign"]:
            parts.append(text[start : found.start()].strip())
            start = found.end()
    parts.append(text[start:].strip())
    plain = (part[1:-1].strip() if re.fullmatch(QUOTED, part) else part for part in parts)
    return tuple(filter(None, plain))


def with_half_a_list(parts: Iterable[str]) -> bool:
    """Whether one of the parts opens a bracket that it does not close, as in `["a", "b"], c`."""
    return any(part[0] in CLOSING and CLOSING[part[0]] not in part for part in parts)


def unpacked(value: Any) -> Any:
    """The list, the mapping or the null that a text writes as JSON; other values are unchanged."""
    try:
        is_json = isinstance(value, str) and (
            value.lstrip()[:1] in ("[", "{") or value.strip() == "null"
        )
        return json.loads(value) if is_json else value
    except (ValueError, RecursionError):
        return value


def _words(value: Any) -> Any:
    value = unpacked(value)
    if not isinstance(value, str):
        return value
    parts = divided(value)
    if with_half_a_list(parts):
        raise PydanticCustomError(
            "words",
            '{words} has an open bracket and is not JSON: write a, b or ["a", "b"]',
            {"words": repr(value)[:60]},
        )
    return parts


def _paths(value: Any) -> Any:
    value = unpacked(value)
    return divided(value, BETWEEN_PATHS) if isinstance(value, str) else value


def _limits(value: Any) -> Any:
    value = unpacked(value)
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
Paths = Annotated[tuple[str, ...], BeforeValidator(_paths)]
"""A list of paths, also as one text: like `PATH`, or with the signs of other lists."""
Limits = Annotated[tuple[str, ...], BeforeValidator(_limits)]
"""Numbers of tokens by the name of a tool, also as one text or as a mapping; kept as `NAME=TOKENS`.
"""


def how_many(number: int, thing: str) -> str:
    """`how_many(1, "message")` -> `"1 message"`, `how_many(1200, "entry")` -> `"1,200 entries"`."""
    return f"{number:,} {thing if number == 1 else plural(thing)}"


def plural(thing: str) -> str:
    """`plural("message")` -> `"messages"`, `plural("summary")` -> `"summaries"`."""
    return f"{thing[:-1]}ies" if thing.endswith("ry") else f"{thing}s"


def short_number(number: int) -> str:
    """`short_number(156_203)` -> `"156K"`, `4_130` -> `"4.1K"`, `47_730_000` -> `"47.7M"`."""
    if number < 1_000:
        return str(number)
    if number < 9_950:
        return f"{number / 1_000:.1f}K"
    if number < 999_500:
        return f"{number / 1_000:.0f}K"
    digits = 2 if number < 9_995_000 else 1 if number < 99_950_000 else 0
    return f"{number / 1_000_000:,.{digits}f}M"


def exact_number(number: int) -> str:
    """`short_number` with one more digit: `exact_number(30_512)` -> `"30.5K"`."""
    if not 1_000 <= number < 99_950:
        return short_number(number)
    return f"{number / 1_000:.1f}K".replace(".0K", "K")


def times(number: int) -> str:
    """`times(1)` -> `"once"`, `times(2)` -> `"twice"`, `times(3)` -> `"3 times"`."""
    return {1: "once", 2: "twice"}.get(number, f"{number:,} times")


def out_of(total: int | None, *, exact: bool = True) -> str:
    """The text after a number: `" of 51"`, `" of up to 412"` if not exact, `""` for `None`."""
    if total is None:
        return ""
    return f" of {total:,}" if exact else f" of up to {total:,}"


def in_range(thing: str, first: int, last: int) -> str:
    """`in_range("line", 5, 5)` -> `"line 5"`, `in_range("line", 5, 1200)` -> `"lines 5-1200"`.

    The numbers have no thousands separators, so that they can be passed back as an argument.
    """
    return f"{thing} {first}" if first == last else f"{plural(thing)} {first}-{last}"
