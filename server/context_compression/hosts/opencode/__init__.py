"""opencode.

about.py              its name, variables, folders
transcript.py         its transcripts: a database, or exported sessions
database.py           reads the database while opencode writes to it
stored_summaries.py   the summaries in the database, without the whole session
live.py               the messages that are in the context now
context.py            Anthropic messages from opencode's messages
compactions.py        the compactions of a session
stored_sessions.py    the sessions that it keeps
current.py            finds the session of the conversation that calls us
hooks.py              our answers to its events
configuration.py      its configuration, and our entry in it
plugin/               the plugin with our hooks
"""

from context_compression.moved import held_elsewhere

__getattr__ = held_elsewhere(__name__)
