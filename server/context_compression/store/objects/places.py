"""The objects at an address."""

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from context_compression.errors import InvalidSettings
from context_compression.store.objects.bucket import Bucket
from context_compression.store.objects.folder import Folder
from context_compression.store.objects.interface import Objects

BUCKET = re.compile(r"(s3|gs|az)://[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9_=-][A-Za-z0-9._=-]*)*")
"""Matches the address of a bucket, with the beginning of the names in it, and without secrets."""


def objects_at(place: str) -> Objects:
    """The objects at an address. Nothing is written there before the first object.

    Args:
        place: one of

            - `s3://bucket/prefix`: S3, or a server that is compatible with it. Keys, region and
              server are taken from `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_REGION`,
              `AWS_ENDPOINT_URL` and the other usual variables.
            - `gs://bucket/prefix`: Google Cloud Storage, with `GOOGLE_APPLICATION_CREDENTIALS`.
            - `az://container/prefix`: Azure, with `AZURE_STORAGE_ACCOUNT_NAME` and its key.
            - `file:///folder` or an absolute path: a folder.

    Raises:
        InvalidSettings: the address is none of these, or a variable cannot be right.
        MissingExtra: the extra `objects`, which a bucket needs, is not installed.
    """
    if place.startswith("/") and "\0" not in place:
        return Folder(Path(place))
    address = place.rstrip("/")
    if BUCKET.fullmatch(address):
        return Bucket(address)
    if place.startswith("file:///") and not re.search(r"[?#\0]|%00", place):
        return Folder(Path(unquote(urlsplit(place).path)))
    raise InvalidSettings(
        "This is no place for objects. Allowed are s3://bucket/prefix, gs://bucket/prefix, "
        "az://container/prefix, file:///folder and an absolute path, with names of A-Z a-z 0-9 . _ "
        "- =. Keys are never part of it: set them as environment variables, such as "
        "AWS_ACCESS_KEY_ID."
    )
