"""Copilot CLI.

about.py            its name and folders
stored_sessions.py  the sessions that it keeps
transcript.py       its transcripts
"""
