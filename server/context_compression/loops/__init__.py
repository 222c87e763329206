"""An agent's loop around a session: every request fits, and no part of the conversation is lost.

This package holds the loops for two clients. The package `session` decides when to compress, and
what. No module imports a provider's package.

    anthropic.py  for the `anthropic` client
    openai.py     for clients with the interface of `openai`
    driving.py    one request, the tools that a model calls, and the loop around them
"""
