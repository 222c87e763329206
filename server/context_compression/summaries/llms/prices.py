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

    A cache write costs 1.25 times the price of input, a cache read 0.1 times, as with all of
    Anthropic's models.
    """

    input: float
    output: float

    def of(self, reply: SummaryReply) -> float:
        """The cost in US dollars of the calls for a reply."""
        read, write = reply.cache_read_tokens, reply.cache_write_tokens
        plain = reply.input_tokens - read - write
        charged = self.input * (plain + READ * read + WRITE * write)
        return (charged + self.output * reply.output_tokens) / 1_000_000
