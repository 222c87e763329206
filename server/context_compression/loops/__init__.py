"""An agent's loop around a session: every request fits, and nothing of the conversation is lost.

anthropic.py  for the `anthropic` client
openai.py     for clients of the shape of `openai`
driving.py    what both share: a request, and the loop around it
dialect.py    what a client's requests and answers look like
chunks.py     an answer from its stream
calling.py    the tools a model asks for
binding.py    thinking that is bound to what stands before it

None of them imports a provider's package.
"""
