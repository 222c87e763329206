"""Copilot CLI.

about.py            its name and folders
stored_sessions.py  the sessions that it keeps
transcript.py       its transcripts
"""

from context_compression.moved import held_elsewhere

__getattr__ = held_elsewhere(__name__)
