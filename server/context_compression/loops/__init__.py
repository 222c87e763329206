"""An agent's loop around a session: every request fits, and nothing of the conversation is lost.

`anthropic` and `openai` are for the clients of these names; what they share is in `driving`, what a
model asks of its tools in `calling`. None of them imports a provider's package.
"""
