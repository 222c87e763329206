"""Summaries by a model: the request, the ways to call a model, and the cost.

The strategy `summarize` decides when a summary is made, and what else a view keeps.

    summarizer.py         `Summarizer`, the author of a summary: its request, its reply, how it is
                          asked, and which one a program has
    serialization.py      a conversation as text, within a token budget
    prompts/              the instructions; a file of the user may replace each
    acceptance.py         whether an answer is a summary, and `SummaryRecord`: what one covers, and
                          its cost
    errors.py             what an error of a provider says: too long, misplaced thinking, and
                          whether to retry
    attempts.py           calls to a model until it has written a summary: retries, one deadline,
                          the price of all
    chat_completions.py   summaries by a model behind `/chat/completions`: OpenAI, vLLM, Ollama,
                          LiteLLM and others
    anthropic.py          summaries by a Claude model over the Anthropic Messages API
"""

from typing import TYPE_CHECKING

from context_compression.extras import on_demand

if TYPE_CHECKING:
    from context_compression.summaries.anthropic import AnthropicSummarizer
    from context_compression.summaries.chat_completions import OpenAISummarizer
    from context_compression.summaries.serialization import serialize
    from context_compression.summaries.summarizer import BY_SETTINGS, SummaryReply, SummaryRequest

__all__ = [
    "BY_SETTINGS", "AnthropicSummarizer", "OpenAISummarizer", "SummaryReply", "SummaryRequest",
    "serialize",
]  # fmt: skip

__getattr__ = on_demand(  # the package imports `summarizer` at its start
    __name__,
    {
        "summaries.anthropic": ("AnthropicSummarizer",),
        "summaries.chat_completions": ("OpenAISummarizer",),
        "summaries.serialization": ("serialize",),
        "summaries.summarizer": ("BY_SETTINGS", "SummaryReply", "SummaryRequest"),
    },
)
