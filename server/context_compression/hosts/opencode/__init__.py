"""opencode.

about.py              its name, variables, folders
transcript.py         its transcripts: a database, or exported sessions
shapes.py             the shapes of what its rows hold
database.py           reads the database while opencode writes to it
second_rows.py        the rows that make a session of opencode 2, with forks
second_messages.py    messages of opencode 2 as messages of opencode 1
stored_summaries.py   the summaries in the database, without the whole session
opened.py             the database, opened to read
live.py               the messages that are in the context now
context.py            Anthropic messages from opencode's messages
compactions.py        the compactions of a session
stored_sessions.py    the sessions that it keeps
current.py            finds the session of the conversation that calls us
hooks.py              our answers to its events
configuration.py      its configuration, and our entry in it
plugin/               the plugin with our hooks
"""
