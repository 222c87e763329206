"""Large originals outside the database: objects in a bucket or in a folder, by the hash of content.

An object is written before the row that names it and never changes, so that a row never names
something that was not there. What no row names, after a crash, is found with `Objects.names`.

    bucket.py   `Bucket`: objects in S3 and what is compatible with it; and the objects at an
                address
    folder.py   large originals outside the database, as files of a folder, and the interface to
                such places
"""

from context_compression.store.objects.bucket import objects_at
from context_compression.store.objects.folder import Objects

__all__ = ["Objects", "objects_at"]
