"""Pi.

about.py           its name, variables, folders
transcript.py      its transcripts
context.py         messages from their entries
stored_sessions.py the sessions that it keeps
current.py         finds the session of the conversation that calls us
hooks.py           our answers to its events
export.py          a view as a new session that it resumes
configuration.py   its configuration, and our entry in it
plugin/            the extension with our hooks
"""
