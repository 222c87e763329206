"""Summaries by a model: the request, the ways to a model, and what a summary costs.

When a summary is made, and what a view keeps besides, is decided by the strategy `summarize`.

    summarizer.py      `Summarizer`, with its request and its reply
    serialization.py   a conversation as text, within a budget
    prompts/           the instructions; a file of the user's may replace them
    record.py          `SummaryRecord`: what a summary covers, and what it cost
    overflow.py        whether an error of a provider means "too long"
    llms/              a module for each way to a model
"""
