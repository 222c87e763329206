"""Summaries by a model: the request, the ways to call a model, and the cost.

The strategy `summarize` decides when a summary is made, and what else a view keeps.

    summarizer.py      `Summarizer`, with its request and its reply
    choice.py          who writes them: a summarizer that is passed, or a model of the settings
    asking.py          a summarizer of any kind is asked; a mistake in one is told at once
    serialization.py   a conversation as text, within a token budget
    prompts/           the instructions; a file of the user may replace each
    acceptance.py      whether an answer is a summary
    record.py          `SummaryRecord`: what a summary covers, and its cost
    error_texts.py     the texts and statuses of an error of a provider, whatever it holds
    overflow.py        whether an error of a provider means "too long"
    llms/              a module for each way to call a model
"""
