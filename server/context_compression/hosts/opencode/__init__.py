"""opencode: everything we know of it.

about.py           its name, variables, folders
transcript.py      its transcripts: a database, or exported sessions
database.py        the database, read while opencode writes
live.py            which messages are sent now
context.py         what the model was sent, from its messages
current.py         which session is the conversation that calls us
hooks.py           its events, and our answers
configuration.py   its configuration, and our entry in it
plugin/            the plugin with our hooks
"""

from context_compression.moved import held_elsewhere

__getattr__ = held_elsewhere(__name__)
