"""Pi.

transcript.py   Pi's names and folders, and its transcripts: branches as Anthropic messages
host.py         Pi as a host: its configuration, its sessions, the live one, hooks, and new sessions
plugin/         the extension with our hooks
"""
