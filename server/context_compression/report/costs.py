"""What the input of a session cost, and what it would have cost if nothing had left the context."""

from collections.abc import Sequence

from context_compression.report.course import Sent
from context_compression.report.model import Cost

READ, WRITE = 0.1, 1.25
"""The price of a token that is read from a provider's cache, or written into it; plain input is 1.
"""


def cost_of(
    sent: Sequence[Sent],
    window: int,
    *,
    input_price: float | None = None,
    output_price: float | None = None,
) -> Cost:
    """The cost of all requests.

    "Without" is each request with the tokens that left the context before it. Its cache behaves as
    it did: what left is read from the cache if the request read anything from it.

    Args:
        sent: the requests, in their order.
        window: the most tokens of a request.
        input_price: US dollars per million tokens of input.
        output_price: US dollars per million tokens of output.
    """
    charged = sum(one.request.input_tokens is not None for one in sent)
    caches = any(one.request.cache_read_tokens for one in sent) or not charged
    with_us = without = 0.0
    before = full_before = impossible = 0
    for one in sent:
        size = one.tokens
        full = size + one.removed
        paid = _recorded(one) if one.request.input_tokens is not None else None
        if paid is None:  # estimated: a compaction leaves nothing that the cache could hold
            paid = _weighed(size, 0 if one.first else before, caches)
        if (one.first and caches) or one.request.input_tokens is None:
            full_paid = _weighed(full, full_before, caches)
        else:
            full_paid = paid + (full - size) * _price_of_the_beginning(one)
        most = max(window, size)  # a window that is known wrongly did not stop the request
        impossible += full > most
        with_us += paid
        without += full_paid * min(1, most / full) if full else 0
        before, full_before = size, full
    return Cost(
        requests=len(sent),
        with_us=round(with_us),
        without=round(without),
        output=sum(one.answer for one in sent),
        measured=charged > len(sent) / 2,
        impossible=impossible,
        input_price=input_price,
        output_price=output_price,
    )


def _recorded(one: Sent) -> float:
    """The weighted input of a request as its provider charged it."""
    read, written = one.request.cache_read_tokens, one.request.cache_write_tokens
    plain = max(0, (one.request.input_tokens or 0) - read - written)
    return plain + READ * read + WRITE * written


def _weighed(size: int, cached: int, caches: bool) -> float:
    """The weighted input of a request whose first tokens the provider's cache holds."""
    if not caches:
        return size
    read = min(size, cached)
    return READ * read + WRITE * (size - read)


def _price_of_the_beginning(one: Sent) -> float:
    """The price of a token at the beginning of a request, which a cache holds first."""
    if one.request.cache_read_tokens:
        return READ
    return WRITE if one.request.cache_write_tokens else 1
