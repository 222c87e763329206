"""An agent's loop around a session: every request fits, and no part of the conversation is lost.

This package holds the loops for two clients. The package `session` decides when to compress, and
what. No module imports a provider's package.

    anthropic.py  for the `anthropic` client
    openai.py     for clients with the interface of `openai`
    driving.py    one request, and the loop around it, for any client
    dialect.py    the form of a client's requests and answers
    chunks.py     an answer from its stream
    calling.py    runs the tools that a model calls
    restoring.py  `restore_tool`: our tool for any other loop
    at_source.py  whether results are shortened as they come in
    binding.py    thinking that is bound to the messages before it
"""
