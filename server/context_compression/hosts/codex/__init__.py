"""Codex.

messages.py     Codex's names and folders, and its items as Anthropic messages
transcript.py   Codex's transcripts: threads of several files, and the rows that one goes on from in
                others
host.py         Codex as a host: its configuration, its sessions, the live one, hooks, and new
                sessions
plugin/         the hooks that are merged into the user's own
"""
