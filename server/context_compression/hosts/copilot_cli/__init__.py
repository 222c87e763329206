"""Copilot CLI.

transcript.py   its transcripts
"""

from context_compression.moved import held_elsewhere

__getattr__ = held_elsewhere(__name__)
