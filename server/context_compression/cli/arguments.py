"""Parses typed values: settings, numbers of tokens, line ranges, lengths of time, pins."""

import json
import re
from math import isnan
from typing import Any

import click

from context_compression.errors import StoreError
from context_compression.plurals import WRITTEN, whole_number
from context_compression.setting_names import own_value
from context_compression.settings import Settings, setting_name


def change_in(text: str) -> tuple[str, Any]:
    """`"keepRecent=5"` -> `("keep_recent", 5)`; a list is JSON or a divided text."""
    given, equals, value = text.partition("=")
    given = given.strip()
    name = setting_name(given)
    if not equals:
        raise click.UsageError(f"{text!r} sets nothing. Write {name}=VALUE.")
    if Settings.model_fields[name].annotation == tuple[str, ...]:
        return name, value
    try:
        return name, own_value(given, json.loads(value))
    except (ValueError, RecursionError):
        return name, own_value(given, value)


class Tokens(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]  # click 8.1 has none
    """A number of tokens: `50000`, `50,000`, `50k`."""

    name = "tokens"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """`"50k"` -> `50000`."""
        number = whole_number(str(value))
        if number is None:
            self.fail(f"{value!r} is not a number of tokens: {WRITTEN}.", param, ctx)
        if number < 1:
            self.fail(f"{number:,} is too small: it must be at least 1.", param, ctx)
        return number


class FiniteRange(click.FloatRange):
    """A number between two bounds. `nan` is refused too, which no comparison finds outside."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """`"0.5"` -> `0.5`."""
        number = super().convert(value, param, ctx)
        if isnan(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


def line_range(text: str | None) -> tuple[int, int] | None:
    """`"10-40"` -> `(10, 40)`; `"7"` -> `(7, 7)`: what `context_restore` takes."""
    from context_compression.session import restoring

    try:
        return restoring.line_range(text)
    except StoreError:
        told = f"{text!r} is not a range of lines. Write 10-40, or 7 for one line."
        raise click.BadParameter(told, param_hint="--lines") from None


def seconds_in(text: str, option: str) -> int:
    """`seconds_in("90d", …)` -> `7776000`; hours, days, weeks."""
    match = re.fullmatch(r"(\d{1,5})([hdw])", text.strip().lower())
    if match is None or int(match[1]) == 0:
        raise click.BadParameter(
            f"{text!r} is not a length of time. Write 12h, 90d or 8w.", param_hint=option
        )
    return int(match[1]) * {"h": 3_600, "d": 86_400, "w": 604_800}[match[2]]


def pin(text: str) -> int | str:
    """`"-1"` -> `-1`, the index of a message; any other text is searched in the messages."""
    return int(text) if re.fullmatch(r"-?\d{1,9}", text) else text
