"""Large contents in a bucket or in a folder: `objects_at`."""

import hashlib
import os
import signal
import socket
import subprocess
import sys
import threading
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from object_storage import BUCKET, ObjectStorage, object_storage
from postgres import Server

from context_compression.errors import (
    InvalidSettings,
    MissingExtra,
    StoreDamaged,
    StoreError,
    StoreUnreachable,
    StoreUnwritable,
)
from context_compression.store import backend_at, file_name
from context_compression.store import objects as in_objects
from context_compression.store.objects import PART, Objects, objects_at

pytestmark = pytest.mark.slow

NOON = "2026-11-21T12:00:00Z"
TEXT = b"a large tool result\n" * 1_000


def name_of(data: bytes, tenant: str = "acme") -> str:
    digest = hashlib.sha256(data).hexdigest()
    return f"{tenant}/{digest[:2]}/{digest}"


NAME = name_of(TEXT)


@pytest.fixture(scope="module")
def storage() -> Iterator[ObjectStorage]:
    with object_storage() as started:
        yield started


@pytest.fixture(params=["bucket", "folder"])
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """An address where no objects are yet."""
    if request.param == "folder":
        return str(tmp_path / "objects")
    request.getfixturevalue("storage").set(monkeypatch)
    return f"s3://{BUCKET}/{tmp_path.name}/objects"


@pytest.fixture
def objects(place: str) -> Objects:
    return objects_at(place)


@pytest.fixture
def in_bucket(storage: ObjectStorage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """The address of a bucket, whose server has been told by the variables."""
    storage.set(monkeypatch)
    return f"s3://{BUCKET}/{tmp_path.name}"


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys, and no server yet."""
    ObjectStorage("http://127.0.0.1:9", "the-key", "the-secret").set(monkeypatch)


def test_an_object_is_got_back_listed_and_deleted(objects: Objects, place: str) -> None:
    objects.put(NAME, TEXT)
    objects.put(NAME, TEXT)

    assert objects.get(NAME) == objects_at(place).get(NAME) == TEXT
    assert [*objects.names()] == [NAME]
    objects.delete(iter([NAME, name_of(b"never there")]))
    assert [*objects.names()] == []
    objects.delete([])


def test_an_empty_object_and_one_of_many_parts_come_back_whole(objects: Objects) -> None:
    for data in (b"", os.urandom(2 * PART + 1)):
        objects.put(name_of(data), data)

        assert objects.get(name_of(data)) == data


def test_a_missing_object_is_told_by_its_name_and_place(objects: Objects) -> None:
    objects.put(name_of(b"another"), b"another")

    with pytest.raises(StoreDamaged, match=f"{NAME} is missing in {objects.name}. Bring it back"):
        objects.get(NAME)


def test_objects_are_listed_by_tenant_and_by_age(objects: Objects) -> None:
    objects.put(NAME, TEXT)
    objects.put(name_of(TEXT, "acme2"), TEXT)
    now = datetime.now(UTC)

    assert [*objects.names("acme")] == [NAME]
    assert [*objects.names("none")] == []
    assert [*objects.names(before=now - timedelta(hours=1))] == []
    assert len([*objects.names(before=now + timedelta(hours=1))]) == 2


def test_files_of_others_at_the_same_place_are_not_listed(objects: Objects, place: str) -> None:
    objects.put(NAME, TEXT)

    assert [*objects_at(place.rpartition("/")[0]).names()] == []


@pytest.mark.parametrize(
    "name",
    [
        "../" + NAME, NAME + "/../../x", "/" + NAME, ".hidden/" + NAME.partition("/")[2],
        NAME.upper(), NAME + "\n", NAME.replace("/", "//"), "acme/00/" + "f" * 64, "", "a\0b",
        "ac me/" + NAME.partition("/")[2], "é/" + NAME.partition("/")[2],
    ],
)  # fmt: skip
def test_a_name_of_another_shape_is_refused(name: str, tmp_path: Path) -> None:
    objects = objects_at(str(tmp_path / "objects"))

    for refused in (lambda: objects.put(name, b""), lambda: objects.get(name)):
        with pytest.raises(StoreError, match=r"<tenant>/<first two digits>/<64"):
            refused()
    with pytest.raises(StoreError):
        objects.delete([name])
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("tenant", ["..", "*", "", "a/b"])
def test_a_tenant_that_could_stand_for_others_is_not_listed(objects: Objects, tenant: str) -> None:
    objects.put(NAME, TEXT)

    with pytest.raises(StoreError, match="A tenant's name has 1 to 128 characters"):
        next(objects.names(tenant), None)


def test_threads_that_put_the_same_object_at_once_all_succeed(objects: Objects) -> None:
    with ThreadPoolExecutor(8) as pool:
        running = [pool.submit(objects.put, NAME, TEXT) for _ in range(16)]
    for each in running:
        each.result()

    assert objects.get(NAME) == TEXT


def test_a_writer_that_is_killed_leaves_no_half_object(tmp_path: Path) -> None:
    program = """
import os, signal, sys
from context_compression.store.objects import objects_at
os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)  # all is written, nothing is synced
objects_at(sys.argv[1]).put(sys.argv[2], b"x" * 1_000_000)
"""
    folder = tmp_path / "objects"
    objects = objects_at(folder.as_uri())
    objects.put(NAME, b"")
    objects.delete([NAME])  # its folders are there, and need no sync

    ended = subprocess.run([sys.executable, "-c", program, str(folder), NAME], check=False)

    assert ended.returncode == -signal.SIGKILL
    assert [*objects.names()] == []
    with pytest.raises(StoreDamaged):
        objects.get(NAME)
    objects.put(NAME, TEXT)
    assert objects.get(NAME) == TEXT
    [left] = folder.rglob(".new-*")
    objects.delete([NAME])
    assert left.exists()  # it may be one that is being written now
    os.utime(left, (0, 0))
    objects.delete([NAME])
    assert not left.exists()


def relayed(client: socket.socket, port: int, limit: int) -> None:
    """Carries bytes between a client and a local server, but no more than `limit` to the server."""
    with client, socket.create_connection(("127.0.0.1", port)) as server:
        threading.Thread(target=carried, args=(server, client, None), daemon=True).start()
        carried(client, server, limit)


def carried(source: socket.socket, target: socket.socket, limit: int | None) -> None:
    with suppress(OSError):
        while (limit is None or limit > 0) and (data := source.recv(65_536)):
            target.sendall(data)
            limit = None if limit is None else limit - len(data)


def test_a_writer_that_is_killed_leaves_no_half_object_in_a_bucket(
    in_bucket: str, storage: ObjectStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = """
import sys
from context_compression.store.objects import PART, objects_at
objects_at(sys.argv[1]).put(sys.argv[2], bytes(PART * 5 // 2))
"""
    with socket.create_server(("127.0.0.1", 0)) as relay:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{relay.getsockname()[1]}")
        writer = subprocess.Popen([sys.executable, "-c", program, in_bucket, NAME])
        port = int(storage.url.rpartition(":")[2])
        relayed(relay.accept()[0], port, PART * 3 // 2)  # one part and a half
        writer.kill()
        assert writer.wait() == -signal.SIGKILL

    storage.set(monkeypatch)
    objects = objects_at(in_bucket)
    assert [*objects.names()] == []
    with pytest.raises(StoreDamaged):
        objects.get(NAME)
    objects.put(NAME, TEXT)
    assert objects.get(NAME) == TEXT


def test_a_folder_that_is_away_is_not_taken_for_missing_objects(tmp_path: Path) -> None:
    objects = objects_at(str(tmp_path / "not mounted"))

    for refused in (
        lambda: objects.get(NAME), lambda: objects.delete([NAME]), lambda: [*objects.names()],
    ):  # fmt: skip
        with pytest.raises(StoreUnreachable, match="not mounted of the objects is not there"):
            refused()


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(StoreUnwritable, match="or name another folder for the objects"):
        objects_at(str(tmp_path / "file" / "objects")).put(NAME, TEXT)


def test_objects_in_a_folder_belong_to_its_user_alone(tmp_path: Path) -> None:
    objects_at(str(tmp_path / "objects")).put(NAME, TEXT)

    made = [tmp_path / "objects", *(tmp_path / "objects").rglob("*")]
    assert {path.stat().st_mode & 0o777 for path in made} == {0o700, 0o600}


def test_a_store_in_a_database_keeps_large_messages_sealed_in_a_bucket(
    postgres_server: Server, in_bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTEXT_COMPRESSION_OBJECTS", in_bucket)
    monkeypatch.setenv("CONTEXT_COMPRESSION_KEY", urlsafe_b64encode(b"k" * 32).decode())
    backend, again = (backend_at(postgres_server.url).of_tenant("sealed") for _ in range(2))
    id, name = "in-a-bucket", file_name(NOON, 1)
    large = [{"role": "user", "content": TEXT.decode() * 100}]

    backend.session(id).write_originals(name, large, NOON)

    objects = objects_at(in_bucket)
    [sealed] = objects.names()
    assert b"tool" not in objects.get(sealed)
    assert again.session(id).read_originals(name) == large
    objects.delete([sealed])
    with pytest.raises(StoreDamaged, match=f"{sealed} is missing in {in_bucket}"):
        again.session(id).read_originals(name)
    backend.remove(id, 0, lambda: None)


@pytest.mark.parametrize("wrong", ["AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID"])
def test_wrong_keys_are_told_and_not_shown(
    wrong: str, in_bucket: str, storage: ObjectStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(wrong, "another-secret")
    objects = objects_at(in_bucket)

    for refused in (
        lambda: objects.put(NAME, TEXT), lambda: objects.get(NAME), lambda: [*objects.names()],
        lambda: objects.delete([NAME]),
    ):  # fmt: skip
        with pytest.raises(StoreUnreachable, match=r"refuses these keys \(403 \w+\)") as raised:
            refused()
        shown = f"{raised.value!r} {raised.value.__cause__}"
        assert not any(each in shown for each in ("another-s", storage.key, storage.secret))


def test_a_missing_bucket_is_not_taken_for_a_missing_object(in_bucket: str) -> None:
    objects = objects_at(in_bucket.replace(BUCKET, "no-such-bucket"))

    with pytest.raises(StoreUnreachable, match=r"no such bucket \(404 NoSuchBucket\). Make the"):
        objects.get(NAME)


def test_another_server_at_the_address_is_not_taken_for_a_missing_object(
    keys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class NothingHere(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(404)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), NothingHere) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
        with pytest.raises(StoreUnreachable, match=r"no storage of objects \(404\)"):
            objects_at("s3://archive").get(NAME)
        server.shutdown()


def test_a_server_that_is_away_is_told(keys: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as bound:  # and not listening
        bound.bind(("127.0.0.1", 0))
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{bound.getsockname()[1]}")
        objects = objects_at("s3://archive/prefix")

        for refused in (lambda: objects.put(NAME, TEXT), lambda: objects.get(NAME)):
            with pytest.raises(StoreUnreachable, match="s3://archive/prefix cannot be used"):
                refused()


def test_a_server_that_says_nothing_is_given_up(
    keys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_objects, "SILENCE", timedelta(milliseconds=300))
    monkeypatch.setattr(in_objects, "RETRYING", timedelta(milliseconds=200))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        objects = objects_at("s3://archive")

        for refused in (
            lambda: objects.put(NAME, TEXT), lambda: objects.get(NAME), lambda: [*objects.names()],
            lambda: objects.put(NAME, bytes(PART + 1)), lambda: objects.delete([NAME]),
        ):  # fmt: skip
            with pytest.raises(StoreUnreachable, match="does not answer in time"):
                refused()


def test_all_time_limits_together_are_ten_seconds() -> None:
    assert timedelta(seconds=10) >= in_objects.SILENCE + in_objects.RETRYING
    assert in_objects.CONNECTING < in_objects.SILENCE


def test_a_fork_of_a_process_that_used_a_bucket_is_told_instead_of_waiting(keys: None) -> None:
    program = """
import os, signal, sys
from context_compression.store.objects import objects_at
objects = objects_at("s3://archive")
for process in "parent", "fork":
    try:
        objects.get(sys.argv[1])
    except Exception as error:
        print(process, error, flush=True)
    if process == "parent" and (forked := os.fork()):
        sys.exit(os.waitpid(forked, 0)[1])
    signal.alarm(30)
"""

    command = [sys.executable, "-c", program, NAME]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)

    parent, fork = ended.stdout.splitlines()
    assert "It cannot be connected to" in parent
    assert "is a fork of one that used it. Start it with `spawn`" in fork


@pytest.mark.parametrize(
    "refused",
    [
        "s3://the-key:the-secret@bucket/x", "s3://bucket/x?key=the-secret", "s3://", "s3:bucket",
        "s3://bucket/../x", "https://the-secret@host/bucket", "relative/the-secret", "",
        "file://host/the-secret", "file:///x%00the-secret", "/a\0the-secret",
    ],
)  # fmt: skip
def test_a_place_of_another_form_is_refused_and_not_shown(refused: str) -> None:
    with pytest.raises(InvalidSettings, match="Allowed are s3://bucket/prefix, ") as raised:
        objects_at(refused)

    assert "the-secret" not in str(raised.value)


def test_a_place_is_shown_as_people_wrote_it(keys: None, tmp_path: Path) -> None:
    assert objects_at("s3://bucket/a/b/").name == "s3://bucket/a/b"
    assert objects_at("file:///some%20folder").name == "/some folder"
    assert objects_at(str(tmp_path)).name == str(tmp_path)


@pytest.mark.parametrize(
    "endpoint", ["nonsense", "https://user:the-secret@host", "https://host?the-secret", "http://"]
)
def test_a_server_whose_address_is_none_is_refused_and_not_shown(
    endpoint: str, keys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)

    with pytest.raises(InvalidSettings, match="AWS_ENDPOINT_URL is no address of a") as raised:
        objects_at("s3://bucket")
    assert "the-secret" not in str(raised.value)


def test_contents_cross_a_network_encrypted_unless_the_user_allows_it(
    keys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://storage:9000")

    with pytest.raises(InvalidSettings, match=r"begins with http://.*AWS_ALLOW_HTTP=true"):
        objects_at("s3://bucket")
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    objects_at("s3://bucket")
    monkeypatch.delenv("AWS_ALLOW_HTTP")
    for loopback in ("http://localhost:9000", "http://[::1]:9000", "https://storage"):
        monkeypatch.setenv("AWS_ENDPOINT_URL", loopback)
        objects_at("s3://bucket")


def test_an_account_that_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("AZURE_")]:
        monkeypatch.delenv(name)

    with pytest.raises(InvalidSettings, match="Set AZURE_STORAGE_ACCOUNT_NAME and"):
        objects_at("az://container/prefix")


def test_without_its_package_a_bucket_names_the_extra_and_a_folder_works(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for loaded in [name for name in sys.modules if name.partition(".")[0] == "obstore"]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, "obstore", None)

    with pytest.raises(MissingExtra, match=r'pip install "\.\[objects\]"'):
        objects_at("s3://bucket")
    objects_at(str(tmp_path)).put(NAME, TEXT)
