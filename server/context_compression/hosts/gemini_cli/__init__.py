"""Gemini CLI.

about.py           its name, variables, folders
transcript.py      its transcripts
context.py         messages from their rows
stored_sessions.py the sessions that it keeps
current.py         finds the transcript of the conversation that calls us
hooks.py           our answers to its events
replacing.py       how a preview replaces a tool result
configuration.py   its configuration, and our entry in it
plugin/            the extension with our hooks
"""
