"""Summaries by a model: what is asked, who writes, and what it costs.

Here live the requests and the ways to a model. When a summary is made, and what stays beside it,
is decided by the strategy `summarize`.

    summarizer.py      `Summarizer`: what it is asked, and what it answers
    serialization.py   a conversation as text, within a budget
    prompts/           the instructions, which a file of the user's may replace
    record.py          what a summary was made of, and what it cost
    overflow.py        whether an error of a provider means "too long"
    llms/              a module for each way to a model
"""
