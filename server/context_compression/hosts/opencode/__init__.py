"""All that is known of opencode.

transcript.py       its transcripts
database.py         its database
live.py             which messages are sent now
context.py          messages from its rows
current.py          which session belongs to the host that started us
hooks.py            its events, and our answers
configuration.py    where its configuration is, and our entry in it
plugin/             what is installed into it
"""

from context_compression.moved import held_elsewhere

__getattr__ = held_elsewhere(__name__)
