"""A real PostgreSQL server in a temporary folder, run by a user that is not root."""

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import psycopg

ROLE, DATABASE = "worker", "archive"
START_SECONDS = 30


def programs() -> Path | None:
    """The folder of the server's programs, the newest version; `None` if it is not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=_version, reverse=True)
    if found:
        return found[0].parent
    on_path = shutil.which("initdb")
    return Path(on_path).resolve().parent if on_path else None


def _version(path: Path) -> int:
    return int("".join(filter(str.isdecimal, path.parts[-3])) or 0)


def _other_user() -> "pwd.struct_passwd | None":
    """The user as whom root starts a server, which refuses to run as root."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            return pwd.getpwnam(name)
    return None


def _started(arguments: Sequence[str], output: Any) -> "subprocess.Popen[bytes]":
    """A program of the server, as its user, in a process group of its own."""
    user = _other_user()
    return subprocess.Popen(
        arguments,
        stdout=output,
        stderr=output,
        start_new_session=True,
        user=user.pw_uid if user else None,
        group=user.pw_gid if user else None,
        extra_groups=[] if user else None,
    )


@dataclass
class Server:
    """A server with one role that owns one database, and is no superuser.

    Attributes:
        folder: its data.
        port: on 127.0.0.1.
        durable: whether it syncs the disk.
        password: of the role.
    """

    folder: Path
    port: int
    durable: bool = False
    password: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    process: "subprocess.Popen[Any] | None" = None

    @property
    def url(self) -> str:
        """Where our store is."""
        return f"postgresql://{ROLE}:{self.password}@127.0.0.1:{self.port}/{DATABASE}"

    @property
    def admin(self) -> str:
        """The same database for a superuser."""
        return f"postgresql://admin@127.0.0.1:{self.port}/{DATABASE}"

    def guest(self) -> str:
        """The address for a new role that may use the tables, which are there, and owns none."""
        name, schema = f"guest{secrets.token_hex(6)}", "context_compression"
        with psycopg.connect(self.admin, autocommit=True) as admin:
            for statement in (
                f"CREATE ROLE {name} LOGIN PASSWORD '{self.password}'",
                f"GRANT USAGE ON SCHEMA {schema} TO {name}",
                f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {name}",
                f"GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA {schema} TO {name}",
            ):
                admin.execute(statement.encode())
        return self.url.replace(f"//{ROLE}:", f"//{name}:")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        folder = programs()
        assert folder is not None
        options = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "fsync": "on" if self.durable else "off",
            "max_connections": "200",
            "shared_buffers": "256MB",
        }
        arguments = [str(folder / "postgres"), "-D", str(self.folder), "-p", str(self.port)]
        arguments += chain.from_iterable(("-c", f"{name}={set}") for name, set in options.items())
        with open(self.folder.parent / "log", "ab") as log:
            process = self.process = _started(arguments, log)
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                psycopg.connect(self.admin.replace(DATABASE, "postgres")).close()
                return
            except psycopg.OperationalError:
                if time.monotonic() > end or process.poll() is not None:
                    raise
                time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop it: at once, or killed with all its processes by SIGKILL."""
        if self.process is None:
            return
        if how == signal.SIGKILL:
            self.signal_all(how)
        else:
            self.process.send_signal(how)
        self.process.wait()
        self.process = None

    def signal_all(self, how: signal.Signals) -> None:
        """Send a signal to the server and to all its processes, each of which leads a group."""
        assert self.process is not None
        if how == signal.SIGKILL:
            self.process.send_signal(signal.SIGSTOP)  # it must start no others meanwhile
        for pid in (*_children(self.process.pid), self.process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, how)


def _children(parent: int) -> list[int]:
    tasks = Path(f"/proc/{parent}/task").glob("*/children")
    return [int(pid) for task in tasks for pid in task.read_text().split()]


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


@contextmanager
def running(*, durable: bool = False) -> Generator[Server]:
    """A new server, which is gone afterwards with all its data.

    Args:
        durable: whether what is committed survives a power cut, which tests need not.
    """
    folder = programs()
    assert folder is not None
    place = Path(tempfile.mkdtemp(prefix="cc-pg-"))
    if user := _other_user():
        os.chown(place, user.pw_uid, user.pw_gid)
    server = Server(place / "data", _free_port(), durable)
    try:
        made = [
            str(folder / "initdb"), "-D", str(server.folder), "-U", "admin", "-A", "trust",
            "-E", "UTF8", "--locale=C.UTF-8", "--no-sync",
        ]  # fmt: skip
        assert _started(made, subprocess.DEVNULL).wait() == 0
        (server.folder / "pg_hba.conf").write_text(
            "host all admin 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
        )
        server.start()
        with psycopg.connect(
            server.admin.replace(DATABASE, "postgres"), autocommit=True
        ) as connection:
            connection.execute(f"CREATE ROLE {ROLE} LOGIN PASSWORD '{server.password}'".encode())
            connection.execute(f"CREATE DATABASE {DATABASE} OWNER {ROLE}".encode())
        yield server
        server.stop()
    finally:
        with suppress(ProcessLookupError):
            server.stop(signal.SIGKILL)
        shutil.rmtree(place, ignore_errors=True)
