"""What a model's tokens cost in US dollars, by a small table with its date (`data/prices.toml`).

A model that the table does not name has no price here: a wrong sum is worse than none. Prices are
those of the providers' lists for standard requests; a subscription, a discount or a cloud's own
price is not known to us.
"""

import re
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Any, Protocol

READ, WRITE, OUTPUT = 0.1, 1.25, 5.0
"""Prices of a cache read, a cache write and an output token, relative to an input token.

Source: the price list of Claude models. The ratios are alike for versions 3 and 4.
"""
PROVIDER = re.compile(r"^.*/|^(?:[a-z]+\.)*(?:anthropic|openai|google)\.")
"""What stands before a model's name: `openrouter/anthropic/`, `us.anthropic.`."""
DATED = re.compile(r"(?:[-@](?:20\d{6}|20\d\d-\d\d-\d\d)|-latest|-v1(?::\d)?|\[1m\]){1,3}$")
"""What stands behind a model's name and does not change its price."""
OWN_SERVER = re.compile(r"ollama|lm_?studio|llama_?cpp|llamafile|vllm|://|^localhost")
"""Part of what stands before the name of a model on a server of one's own: it has no price."""


class Spent(Protocol):
    """Tokens that a provider charged; those of the cache are part of the input."""

    @property
    def input_tokens(self) -> int | None:
        """Of the whole input, cached or not."""
        ...

    @property
    def cache_read_tokens(self) -> int:
        """Of the input, those that came from the provider's cache."""
        ...

    @property
    def cache_write_tokens(self) -> int:
        """Of the input, those that were written into it."""
        ...

    @property
    def output_tokens(self) -> int:
        """Of the answer."""
        ...


@dataclass(frozen=True)
class Price:
    """The price of a model in US dollars per million tokens: `Price(input=3, output=15)`.

    A cache write costs 1.25 times the price of input and a cache read 0.1 times, as with most of
    Anthropic's models. For others, say what they cost: `Price(2.5, 10, cache_read=1.25)`.

    Attributes:
        input: of input that no cache has to do with.
        output: of answers.
        cache_read: of input that came from the provider's cache; `None` for the usual share.
        cache_write: of input that was written into it; `None` for the usual share.
        long_above: tokens of input above which all of a request costs more; `None` if none does.
        long_input: how many times as much its input costs.
        long_output: how many times as much its answer costs.
    """

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None
    long_above: float | None = None
    long_input: float = 1
    long_output: float = 1

    def of(self, spent: Spent) -> float:
        """The cost in US dollars of calls that are as long as all of them together."""
        read, write = spent.cache_read_tokens, spent.cache_write_tokens
        plain = (spent.input_tokens or 0) - read - write
        size = spent.input_tokens or 0
        return self.of_input(plain, read, write, size) + self.of_output(spent.output_tokens, size)

    def of_input(self, plain: float, read: float, written: float, size: float) -> float:
        """The cost in US dollars of input; `size` is that of the whole request."""
        read_price = READ * self.input if self.cache_read is None else self.cache_read
        write_price = WRITE * self.input if self.cache_write is None else self.cache_write
        cost = self.input * plain + read_price * read + write_price * written
        return cost * (self.long_input if self._is_long(size) else 1) / 1_000_000

    def of_output(self, tokens: float, size: float) -> float:
        """The cost in US dollars of the answer to a request of this size."""
        return self.output * tokens * (self.long_output if self._is_long(size) else 1) / 1_000_000

    def _is_long(self, size: float) -> bool:
        return self.long_above is not None and size > self.long_above


def price_of(model: str | None) -> Price | None:
    """The price of a model by its name, with or without a provider's prefix; `None` if unknown.

    `"anthropic/claude-sonnet-4.5"`, `"claude-sonnet-4-5-20250929"` -> `Price(3, 15, 0.3, 3.75)`.
    """
    full = (model or "").lower().strip()
    dated = PROVIDER.sub("", full)
    if dated.startswith("claude"):
        dated = dated.replace(".", "-")
    models = _table()["models"]
    row = models.get(dated) or models.get(DATED.sub("", dated))  # few dates have their own price
    if row is None or OWN_SERVER.search(full.removesuffix(dated)):
        return None
    of_input, write, read, output, *long = row
    return Price(of_input, output, read, write, *long)


def prices_of() -> date:
    """The day of which the prices are."""
    return _table()["date"]


def in_dollars(amount: float) -> str:
    """`1234.5` -> `"$1,234.50"`, `0.004` -> `"under $0.01"`."""
    return "under $0.01" if 0 < amount < 0.005 else f"${amount:,.2f}"


@cache
def _table() -> Any:
    import tomllib
    from importlib.resources import files

    return tomllib.loads(
        (files("context_compression.tokens") / "data" / "prices.toml").read_text("utf-8")
    )
