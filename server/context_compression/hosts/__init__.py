"""Transcripts of agent hosts and plain message files: `read(path)` -> `Transcript`.

One module for each host; which one a file belongs to is told by its content, not by its name.
"""

from context_compression.hosts.access import Access
from context_compression.hosts.base import Transcript
from context_compression.hosts.reading import MAX_BYTES, Readings, read

__all__ = ["MAX_BYTES", "Access", "Readings", "Transcript", "read"]
