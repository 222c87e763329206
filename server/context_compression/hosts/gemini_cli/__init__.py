"""Gemini CLI.

host.py         Gemini CLI as a host: names, configuration, sessions, the live one, hooks
transcript.py   Gemini CLI's transcripts, a JSON object per line, as Anthropic messages
plugin/         the extension with our hooks
"""
