"""What is deleted is deleted everywhere, or it is told: sessions whose messages are objects."""

import os
import re
import secrets
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import psycopg
import pytest
from postgres import Server

from context_compression import Store
from context_compression.errors import ObjectsLeft, StoreUnwritable
from context_compression.store import PostgresBackend, file_name
from context_compression.store.objects import objects_at

pytestmark = pytest.mark.slow

NOON = "2026-11-21T12:00:00Z"
NAME = file_name(NOON, 1)
EVENT = {"type": "message", "message": {"role": "user", "content": "hello"}}
LONG = {"role": "user", "content": "a word of a secret " * 5_000}
DELETING: Mapping[str, Callable[[Store], object]] = {
    "delete": lambda store: store.delete("s"),
    "expire": lambda store: store.expire(0),
    "prune": lambda store: store.prune(0),
}


@pytest.fixture
def tenant() -> str:
    return f"t-{secrets.token_hex(8)}"


@pytest.fixture
def placed(postgres_server: Server, tenant: str, tmp_path: Path) -> Callable[..., PostgresBackend]:
    """Opens a store whose session "s" has two objects, with or without their place."""

    def opened(objects: bool = True) -> PostgresBackend:
        place = objects_at(str(tmp_path / "objects")) if objects else None
        return PostgresBackend(postgres_server.url, tenant, objects=place)

    backend = opened()
    backend.session("s").append("events", [EVENT], NOON)
    backend.session("s").write_originals(NAME, [LONG, {**LONG, "role": "assistant"}, "short"], NOON)
    return opened


@pytest.mark.parametrize("how", DELETING)
def test_who_does_not_know_the_place_of_objects_deletes_no_session_with_some(
    placed: Callable[..., PostgresBackend], how: str
) -> None:
    with pytest.raises(
        StoreUnwritable if how == "delete" else ObjectsLeft,
        match=r"2 large messages of the session would stay .* the session was not deleted\.",
    ):
        DELETING[how](Store(placed(objects=False)))

    assert len(placed().session("s").read_originals(NAME)) == 3
    Store(placed()).delete("s")
    assert placed().sweep() == 0


@pytest.mark.parametrize("how", ["delete", "expire", "prune"])
def test_objects_that_stay_because_their_place_is_away_are_told_and_deleted_later(
    placed: Callable[..., PostgresBackend], how: str, tmp_path: Path
) -> None:
    (tmp_path / "objects").rename(tmp_path / "away")

    with pytest.raises(
        ObjectsLeft, match=r"^2 objects in .*objects could not be deleted\."
    ) as left:
        DELETING[how](Store(placed()))
    assert left.value.deleted in ([], ["s"])
    assert Store(placed()).sessions() == []

    (tmp_path / "away").rename(tmp_path / "objects")
    assert placed().sweep() == 2
    assert [*objects_at(str(tmp_path / "objects")).names()] == []


def environ_of(server: Server, tenant: str, home: Path) -> dict[str, str]:
    """The environment of a command in the store of a tenant, with objects in a folder."""
    return {
        "PATH": os.environ["PATH"], "HOME": str(home),
        "CONTEXT_COMPRESSION_STORE": server.url, "CONTEXT_COMPRESSION_TENANT": tenant,
        "CONTEXT_COMPRESSION_OBJECTS": str(home / "objects"),
    }  # fmt: skip


@pytest.mark.parametrize(
    "command", [("delete", "s"), ("expire", "1h"), ("prune", "--older-than=1h")]
)
def test_the_command_says_that_objects_stay_and_ends_with_a_problem(
    command: tuple[str, ...], placed: Callable[..., PostgresBackend], postgres_server: Server,
    tenant: str, tmp_path: Path,
) -> None:  # fmt: skip
    with psycopg.connect(postgres_server.admin) as admin:
        admin.execute(
            "UPDATE context_compression.sessions SET written = 1 WHERE tenant = %s", [tenant]
        )
    (tmp_path / "objects").rename(tmp_path / "away")
    environ = environ_of(postgres_server, tenant, tmp_path)

    done = subprocess.run(
        [sys.executable, "-m", "context_compression", "archive", *command, "--yes"],
        env=environ, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 1
    assert done.stdout.startswith("Deleted ")
    said = " ".join(done.stderr.split())
    assert f"warning: 2 objects in {tmp_path / 'objects'} could not be deleted." in said
    assert placed().sessions() == []
    [advised] = re.findall("Then run `context-compression ([^`]*)`", said)
    (tmp_path / "away").rename(tmp_path / "objects")
    placed().session("another").append("events", [EVENT], NOON)
    del environ["CONTEXT_COMPRESSION_TENANT"]
    subprocess.run(
        [sys.executable, "-m", "context_compression", *advised.split()],
        env=environ, cwd=tmp_path, capture_output=True, check=True,
    )  # fmt: skip
    assert [*objects_at(str(tmp_path / "objects")).names()] == []
    assert placed().sessions() == ["another"]


@pytest.mark.parametrize("how", ["expire", "prune"])
def test_a_session_that_cannot_be_deleted_keeps_no_other_and_both_are_told(
    placed: Callable[..., PostgresBackend], how: str
) -> None:
    for id in ("t", "u"):
        placed().session(id).append("events", [EVENT], NOON)

    with pytest.raises(ObjectsLeft, match=r"^Not deleted: s\. 2 large messages") as left:
        DELETING[how](Store(placed(objects=False)))

    assert sorted(left.value.deleted) == ["t", "u"]
    assert placed().sessions() == ["s"]


def test_who_refers_to_a_session_is_told_to_be_unknown_if_one_cannot_be_read(
    placed: Callable[..., PostgresBackend], postgres_server: Server, tenant: str, tmp_path: Path
) -> None:
    ref = {"id": 0, "what": "a message", "sha256": "0" * 64, "message": 0}
    archived = {"type": "compression", "originals": NAME, "refs": {"0" * 12: ref}}
    placed().session("old").append("events", [archived], NOON)
    placed().session("plain").append("events", [EVENT], NOON)
    with psycopg.connect(postgres_server.admin) as admin:
        admin.execute(
            "UPDATE context_compression.sessions SET written = 1 WHERE tenant = %s AND id <> 's'",
            [tenant],
        )
    (tmp_path / "objects").rename(tmp_path / "away")
    environ = environ_of(postgres_server, tenant, tmp_path)

    prunable = Store(placed()).prunable(86_400)
    done = subprocess.run(
        [sys.executable, "-m", "context_compression", "archive", "delete", "old", "--yes"],
        env=environ, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert prunable.sessions == ("plain",)
    assert prunable.kept == {"old": "s"}
    assert prunable.unread == ("s",)
    assert (done.returncode, done.stdout.partition(",")[0]) == (0, "Deleted old")
    assert "warning: which sessions refer to it is not known: " in done.stderr
    assert sorted(placed().sessions()) == ["plain", "s"]
