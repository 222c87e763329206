"""Large originals outside the database: objects in a bucket or in a folder, by the hash of content.

An object is written before the row that names it and never changes, so that a row never names
something that was not there. What no row names, after a crash, is found with `Objects.names`.

    places.py       `objects_at`: the objects at an address
    bucket.py       in S3 and what is compatible with it, Google Cloud Storage, or Azure
    folder.py       in a folder of this machine
    interface.py    `Objects`, and what an object may be called
"""

from context_compression.store.objects.interface import Objects
from context_compression.store.objects.places import objects_at

__all__ = ["Objects", "objects_at"]
