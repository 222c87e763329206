"""An agent's loop around a session: every request fits, and nothing of the conversation is lost.

Here live the loops for two clients. What is compressed, and when, is decided in `session`. No
module imports a provider's package.

    anthropic.py  for the `anthropic` client
    openai.py     for clients of the shape of `openai`
    driving.py    one request, and the loop around it, for any client
    dialect.py    what a client's requests and answers look like
    chunks.py     an answer from its stream
    calling.py    runs the tools that a model calls
    binding.py    thinking that is bound to the messages before it
"""
