"""Codex.

about.py           its name, variables, folders
transcript.py      its transcripts, called rollouts
messages.py        messages from the items in a rollout
stored_sessions.py the sessions that it keeps
current.py         finds the rollout of the conversation that calls us
hooks.py           our answers to its events
export.py          a view as a new session that it resumes
configuration.py   its configuration, and our entry in it
plugin/            the hooks that are merged into the user's own
"""
