# pyright: reportUnknownMemberType=false
"""Large originals outside the database: objects in a bucket or in a folder, by the hash of content.

An object is written before the row that names it and never changes, so that a row never names
something that was not there. What no row names, after a crash, is found with `Objects.names`.
"""

# The types of obstore name a package that it does not need.
import os
import re
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from context_compression.errors import InvalidSettings, StoreDamaged, StoreError, StoreUnreachable
from context_compression.extras import extra
from context_compression.store.files import (
    FILE_NAME,
    RULE,
    UNFINISHED,
    bytes_of,
    checked_name,
    replace_file,
    sync_folder,
    sync_name,
    writing,
)

NAME = re.compile(rf"(?:{FILE_NAME.pattern})/([0-9a-f]{{2}})/\1[0-9a-f]{{62}}")
"""Matches the name of an object: `<tenant>/<first two digits>/<64 hex digits of its hash>`."""


class Objects(Protocol):
    """A place for contents of bytes. Several threads and processes may use it at once.

    A name has the form `<tenant>/<first two digits>/<64 hex digits of a hash>`. Other names raise
    `StoreError`; other files at the same place are neither listed nor touched.

    Every method raises `StoreUnreachable` if the place does not answer within some ten seconds,
    refuses the keys, or does not exist. No error shows a key.
    """

    @property
    def name(self) -> str:
        """What people are shown for the place: its path, or its address without secrets."""
        ...

    def put(self, name: str, data: bytes) -> None:
        """Keep `data` under a name. It is durable when this returns; nobody ever sees a part of it.

        Whoever puts something under a name that is taken must put the same content. That makes it
        young again for `names`.

        Raises:
            StoreUnwritable: the disk refused the write.
        """
        ...

    def get(self, name: str) -> bytes:
        """The bytes under a name.

        Raises:
            StoreDamaged: there is no such object.
        """
        ...

    def delete(self, names: Iterable[str]) -> None:
        """Delete objects. A name without an object is no error."""
        ...

    def names(self, tenant: str | None = None, *, before: datetime | None = None) -> Iterator[str]:
        """The names of all objects, in no order.

        Args:
            tenant: only its objects.
            before: with a time zone; only objects that were last written before. An object is
                written before the row that names it, so leave out the last hour in a search for
                objects that no row names.
        """
        ...


def checked_object(name: str) -> str:
    """Return `name` unchanged if an object may be called so; `StoreError` if not."""
    if NAME.fullmatch(name):
        return name
    raise StoreError(
        "An object is called <tenant>/<first two digits>/<64 lower-case hex digits>, where a "
        f"tenant has {RULE}; {name[:200]!r} does not fit."
    )


def check_tenant(tenant: str | None) -> None:
    """Raises `StoreError` if a tenant, unless it is `None`, could stand for another folder."""
    if tenant is not None:
        checked_name(tenant, "A tenant's name")


def missing(name: str, place: str) -> StoreDamaged:
    """The error for an object that is not where it was put."""
    return StoreDamaged(
        f"The object {name} is missing in {place}. Bring it back from a backup of that place. If "
        "objects were moved, name the place where they are now. All other contents can be read."
    )


OTHER_FOLDER = "name another folder for the objects"
LONGEST_WRITE = timedelta(hours=1)
"""An older file that is not complete was left by a process that was killed."""


class Folder:
    """`Objects` in a folder. It is made, readable by its user alone, with the first object."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @property
    def name(self) -> str:
        """What people are shown for the place."""
        return str(self._root)

    def put(self, name: str, data: bytes) -> None:
        """Keep bytes under a name."""
        path = self._root / checked_object(name)
        for folder in (self._root, path.parent.parent, path.parent):
            if not folder.is_dir():
                with writing(folder, OTHER_FOLDER):
                    folder.mkdir(mode=0o700, parents=folder == self._root, exist_ok=True)
                    sync_name(folder)
        replace_file(path, data, OTHER_FOLDER)

    def get(self, name: str) -> bytes:
        """The bytes under a name."""
        path = self._root / checked_object(name)
        try:
            return bytes_of(path)
        except FileNotFoundError:
            self._check()
            raise missing(name, self.name) from None
        except OSError as error:
            raise _unreadable(path, error) from error

    def delete(self, names: Iterable[str]) -> None:
        """Delete objects, and what killed processes left of them."""
        paths = [self._root / checked_object(name) for name in names]
        self._check()
        for path in paths:
            with writing(path, OTHER_FOLDER):
                path.unlink(missing_ok=True)
        long_ago = datetime.now(UTC) - LONGEST_WRITE
        for folder in {path.parent for path in paths if path.parent.is_dir()}:
            with writing(folder, OTHER_FOLDER):
                for left in folder.glob(f"{UNFINISHED}*"):
                    if _is_older(left, long_ago):
                        left.unlink(missing_ok=True)
                sync_folder(folder)

    def names(self, tenant: str | None = None, *, before: datetime | None = None) -> Iterator[str]:
        """The names of all objects."""
        check_tenant(tenant)
        self._check()
        for path in self._root.glob(f"{tenant or '*'}/*/*"):
            name = path.relative_to(self._root).as_posix()
            if NAME.fullmatch(name) and _is_older(path, before):
                yield name

    def _check(self) -> None:
        if not self._root.is_dir():
            raise StoreUnreachable(
                f"The folder {self._root} of the objects is not there. If it is on another disk or "
                "machine, mount it; if it was moved, name its new place."
            )


def _is_older(path: Path, before: datetime | None) -> bool:
    """Whether a file was last written before that time; `False` if it was deleted meanwhile."""
    try:
        return before is None or datetime.fromtimestamp(path.stat().st_mtime, UTC) < before
    except FileNotFoundError:
        return False


def _unreadable(path: Path, error: OSError) -> StoreUnreachable:
    return StoreUnreachable(
        f"{path} cannot be read: {error.strerror or error}. Check the disk and the permissions; "
        "the file was left as it is."
    )


CONNECTING = timedelta(seconds=3)
SILENCE = timedelta(seconds=6)
"""How long a server may say nothing to a request or in the middle of an answer."""
RETRYING = timedelta(seconds=4)
"""After this time a request that failed is not sent again. With `SILENCE` it makes ten seconds."""
WHOLE = timedelta(minutes=5)
"""For one request whose bytes keep flowing."""
RETRIES = 3
PART = 5 * 1024 * 1024
"""Larger objects are sent in parts of so many bytes, one after the other, each within `SILENCE`: a
line must carry 0.9 MB in a second. S3 takes no smaller parts."""
LISTED = 1_000
"""Names in one answer of a server."""

ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
ENDPOINT = re.compile(
    r"(?P<scheme>https?)://(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:]+\])(:[0-9]{1,5})?(/[A-Za-z0-9._/-]*)?"
)
GONE = re.compile(r"<Code>(NoSuchKey|BlobNotFound)</Code>")
CODE = re.compile(r"<Code>(\w{1,60})</Code>")
STATUS = re.compile(r"status code: (\d{3})")
KEYS = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "az": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
}
"""The variables that hold the keys, by the scheme of an address."""
LOOK = "Check the server and the network"
REASONS = [
    (re.compile(r"169\.254\.|TokenRequest|Missing\w{0,80}?(?:Key|Credential|Account)"),
     "No keys for it are set", "Set {keys} in the environment"),
    (re.compile(r"status code: 40[13]"), "It refuses these keys",
     "Check {keys}, and that they may read, write, list and delete there"),
    (re.compile(r"NoSuchBucket|ContainerNotFound|InvalidBucketName"),
     "It has no such bucket", "Make the bucket, or correct its name or the server's address"),
    (re.compile(r"status code: 404"),
     "What answers there is no storage of objects", "Correct the server's address"),
    (re.compile(r"Timeout|TimedOut"), "It does not answer in time", LOOK),
    (re.compile(r"kind: Connect"), "It cannot be connected to", LOOK),
    (re.compile(""), "It failed", "Check the server and its log"),
]  # fmt: skip
"""What the text of an error holds, what that means, and what to do. The first that fits counts."""


class Bucket:
    """`Objects` in a bucket. It needs the extra `objects`.

    Args:
        address: `s3://bucket/prefix`, `gs://…` or `az://…`, without secrets.

    Raises:
        InvalidSettings: a variable for it is missing, or cannot be right.
    """

    def __init__(self, address: str) -> None:
        with extra("objects"):
            from obstore.exceptions import BaseError
            from obstore.store import from_url

        self._name = address
        self._errors = (BaseError, OSError, ValueError)
        endpoint = _endpoint() if address.startswith("s3:") else None
        try:
            self._store = from_url(
                address,
                config={"endpoint": endpoint} if endpoint else {},
                client_options={
                    "connect_timeout": CONNECTING, "read_timeout": SILENCE, "timeout": WHOLE,
                    "allow_http": (endpoint or "").startswith("http:"),
                },
                retry_config={"max_retries": RETRIES, "retry_timeout": RETRYING},
            )  # fmt: skip
        except self._errors as error:
            raise InvalidSettings(self._said(str(error))) from None

    @property
    def name(self) -> str:
        """What people are shown for the place."""
        return self._name

    def put(self, name: str, data: bytes) -> None:
        """Keep bytes under a name."""
        with self._told(checked_object(name)):
            self._store.put(name, data, chunk_size=PART, max_concurrency=1)

    def get(self, name: str) -> bytes:
        """The bytes under a name."""
        with self._told(checked_object(name)):
            return self._store.get(name).bytes().to_bytes()

    def delete(self, names: Iterable[str]) -> None:
        """Delete objects."""
        wanted = [checked_object(name) for name in names]
        try:
            with self._told(*wanted[:1]):
                self._store.delete(wanted)
        except StoreDamaged:  # Google's and Azure's stop at the first that is not there
            for name in wanted:
                with suppress(StoreDamaged), self._told(name):
                    self._store.delete(name)

    def names(self, tenant: str | None = None, *, before: datetime | None = None) -> Iterator[str]:
        """The names of all objects."""
        check_tenant(tenant)
        with self._told():
            for listed in self._store.list(tenant, chunk_size=LISTED):
                for each in listed:
                    name, written = each["path"], each["last_modified"]
                    if NAME.fullmatch(name) and (before is None or written < before):
                        yield name

    @contextmanager
    def _told(self, name: str = "") -> Generator[None]:
        """Turns an error of the library, whose text may show keys, into one of ours."""
        _check_process()
        try:
            yield
        except self._errors as error:
            text = str(error)
            if name and GONE.search(text):
                raise missing(name, self._name) from None
            raise StoreUnreachable(self._said(text)) from None

    def _said(self, text: str) -> str:
        """What the text of an error means; of it, only codes are shown."""
        found = [match[1] for pattern in (STATUS, CODE) if (match := pattern.search(text))]
        code = f" ({' '.join(found)})" if found else ""
        reason, advice = next(rest for pattern, *rest in REASONS if pattern.search(text))
        advice = advice.format(keys=KEYS[self._name.partition(":")[0]])
        return f"The storage {self._name} cannot be used. {reason}{code}. {advice}."


def _check_process() -> None:
    """Raises `StoreUnreachable` in a fork of a process that used a bucket.

    The library's threads are not there; a request would wait for ever.
    """
    if _used_in.setdefault("process", os.getpid()) != os.getpid():
        raise StoreUnreachable(
            "The storage of objects cannot be used here: this process is a fork of one that used "
            "it. Start it with `spawn` or `forkserver`, or fork before the first object."
        )


_used_in: dict[str, int] = {}


def _endpoint() -> str | None:
    """The server of `AWS_ENDPOINT_URL`; `None` for Amazon's.

    Raises:
        InvalidSettings: it is no URL, or contents would go over a network unencrypted.
    """
    name = next((name for name in ENDPOINTS if os.environ.get(name)), None)
    if name is None:
        return None
    endpoint = os.environ[name].strip().rstrip("/")
    url = ENDPOINT.fullmatch(endpoint)
    if url is None:
        raise InvalidSettings(
            f"{name} is no address of a server. Allowed are https://host, http://host, each with a "
            ":port and a /path if need be, and without a user, a password or a query."
        )
    allowed = os.environ.get("AWS_ALLOW_HTTP", "").lower() in {"1", "true"}
    if url["scheme"] == "http" and not allowed and not _is_loopback(url["host"].strip("[]")):
        raise InvalidSettings(
            f"{name} begins with http://, so contents would cross the network unencrypted. Use "
            "https://, or set AWS_ALLOW_HTTP=true if nobody else can listen there."
        )
    return endpoint


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


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
