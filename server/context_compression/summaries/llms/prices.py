"""The price of tokens: `Price` in US dollars, and ratios to the price of an input token."""

from dataclasses import dataclass

from context_compression.summaries.summarizer import SummaryReply

WRITE, READ, OUTPUT = 1.25, 0.1, 5.0
"""Prices of a cache write, a cache read and an output token, relative to an input token.

Source: the price list of Claude models. The ratios are alike for versions 3 and 4.
"""


@dataclass(frozen=True)
class Price:
    """The price of a model in US dollars per million tokens: `Price(input=3, output=15)`.

    A cache write costs 1.25 times the price of input and a cache read 0.1 times, as with all of
    Anthropic's models. For others, say what they cost: `Price(2.5, 10, cache_read=1.25)`.
    """

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None

    def of(self, reply: SummaryReply) -> float:
        """The cost in US dollars of the calls for a reply."""
        read, write = reply.cache_read_tokens, reply.cache_write_tokens
        plain = reply.input_tokens - read - write
        read_price = READ * self.input if self.cache_read is None else self.cache_read
        write_price = WRITE * self.input if self.cache_write is None else self.cache_write
        charged = self.input * plain + read_price * read + write_price * write
        return (charged + self.output * reply.output_tokens) / 1_000_000
