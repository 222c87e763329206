"""Numbers as people and models write them: `50k`, `1.5m`, `50,000`, `50_000`, `80 %`."""

import re
from typing import Annotated, Any

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
