"""The ways to call a model that writes summaries.

anthropic.py   `AnthropicSummarizer`: a Claude model over the Messages API
failures.py    why a call gave no summary, and whether a retry may help
prices.py      the price of tokens
deadline.py    one deadline for all requests of a compression
"""
