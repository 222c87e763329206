"""The hosts we know, a folder for each; what they share lives in other rooms.

A host's folder holds all that is known of it: its transcripts, which one is live, its hooks, the
sessions it resumes, its configuration, the files of a plugin. To add one, add a folder, and name it
in the lists here:

    reading.py          whose transcript a file is, told by its content
    current.py          the live transcript of the host that started us
    events.py           what hosts ask while they work
    exporting.py        a view as a new session of a host
    configurations.py   the hosts our server can be installed in
"""

from context_compression.hosts.reading import MAX_BYTES, Readings, read
from context_compression.transcripts.access import Access
from context_compression.transcripts.transcript import Transcript

__all__ = ["MAX_BYTES", "Access", "Readings", "Transcript", "read"]
