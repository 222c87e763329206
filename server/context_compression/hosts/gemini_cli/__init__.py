"""Gemini CLI: everything we know of it.

about.py           its name, variables, folders
transcript.py      its transcripts
context.py         messages from their rows
current.py         which session is the conversation that calls us
hooks.py           its events, and our answers
configuration.py   its configuration, and our entry in it
plugin/            the extension with our hooks
"""

from context_compression.moved import held_elsewhere

__getattr__ = held_elsewhere(__name__)
