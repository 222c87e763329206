"""Checks that do not depend on the host: variables, the store, the search; and its version."""

import os
import re
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from threading import Thread

from context_compression.conversation.messages import as_object
from context_compression.errors import ContextCompressionError
from context_compression.hosts.host import Finding, Host
from context_compression.hosts.setup.files import json_in
from context_compression.hosts.setup.machine import Machine, place_of
from context_compression.plurals import how_many
from context_compression.settings import Settings
from context_compression.store import Store
from context_compression.store.file_backend import FileBackend
from context_compression.store.location import is_database
from context_compression.store.sealing import seal_from
from context_compression.store.store import UNSET, not_of_folders
from context_compression.strings import in_words, one_line
from context_compression.transcripts.lines import string
from context_compression.workspace.doubts import (
    CREDENTIALS,
    PREFIX,
    VARIABLES,
    no_credentials,
    unknown_variables,
)

PATIENCE = 4  # seconds; programs that are no npm packages take less than one
LONGEST = 10_000  # bytes that a program may print
LONGEST_LINE = 60  # characters shown of them
NUMBER = re.compile(r"(?<!\d)\d++(?:\.\d++)++")


def check_version(host: Host, machine: Machine) -> Iterator[Finding]:
    """A finding on the host's version, with the version that this was seen working in."""
    program = machine.which(host.program) if host.program else None
    if program is None or host.environment == "desktop":
        return
    asked = f"{host.program} --version"
    try:
        printed = _of_package(Path(program)) or _printed(program, machine.environ)
    except TimeoutError:
        state = f"{asked} gave no answer within {PATIENCE} s; start it in a terminal to see why"
        yield Finding("host", None, state)
        return
    except OSError:
        printed = ""
    lines = [line for line in printed.splitlines() if line.strip()]
    numbered = [line for line in lines if NUMBER.search(line)]
    if not lines:
        yield Finding("host", False, f"{asked} does not work", f"Install {host.title} again.")
        return
    if not numbered:
        state = f"{asked} names no version: {in_words(lines[-1], LONGEST_LINE)}"
        yield Finding("host", None, state)
        return
    shown = in_words(numbered[-1], LONGEST_LINE)
    if host.mcp_since and _number(shown) < host.mcp_since:
        since = ".".join(map(str, host.mcp_since))
        state = f"{shown} does not start MCP servers, and ignores its configuration"
        yield Finding(
            "host", False, state, f"Update {host.title}: it starts MCP servers since {since}."
        )
        return
    seen = f"; seen working with {host.seen}" if host.seen and host.seen not in shown else ""
    yield Finding("host", True, f"{shown}{seen}")


def _number(version: str) -> tuple[int, ...]:
    """`"pi 0.99.1"` -> `(0, 99, 1)`; empty if there is no version number."""
    match = NUMBER.search(version)
    return tuple(map(int, match[0].split("."))) if match else ()


def _of_package(program: Path) -> str:
    """The version of the npm package that has the program; empty if there is none.

    To start Gemini CLI for its version takes 2 to 3 seconds of computing.
    """
    for folder in program.resolve().parents[:4]:
        about = json_in(folder / "package.json")
        if program.stem in as_object(about.get("bin")):
            return string(about, "version")
    return ""


def _printed(program: str, environ: Mapping[str, str]) -> str:
    """What `program --version` prints; empty if it fails.

    Whatever the program started itself is ended with it.

    Raises:
        TimeoutError: it did not end in time.
        OSError: it cannot be started.
    """
    process = subprocess.Popen(
        [program, "--version"], env=dict(environ), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    said: list[bytes] = []

    def listen() -> None:
        if process.stdout:
            with process.stdout, suppress(ValueError):
                said.append(process.stdout.read(LONGEST))

    listener = Thread(target=listen, daemon=True)  # a program may keep its stdout open for ever
    listener.start()
    listener.join(PATIENCE)
    hangs = listener.is_alive()
    if not hangs:
        with suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)
    _end(process)
    if hangs:
        raise TimeoutError
    return "" if process.returncode else said[0].decode("utf-8", "replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(OSError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


VERIFIED = 20
"""How many conversations of a database are verified, the newest."""
LONGEST_PROBLEM = 1_000  # characters shown of a problem in a store


def check_variables(
    environ: Mapping[str, str], shell: Mapping[str, str] | None = None
) -> Iterator[Finding]:
    """Findings on our environment variables: unknown names, invalid values, and those in use.

    Args:
        environ: what the server gets.
        shell: where the user may have set one that the server does not get.
    """
    for name, meant in unknown_variables({**(shell or {}), **environ}).items():
        ours = name.startswith(PREFIX)
        state = f"{name} is {'no setting of ours' if ours else 'not understood'}"
        yield Finding("environment", False if ours else None, state, meant)
    try:
        Settings.layered(environ=environ)
        seal_from(environ)
    except ContextCompressionError as error:
        state = str(error).removesuffix(".")
        yield Finding("environment", False, state, "Correct or remove the variable.")
        return
    given = sorted(name for name in environ if name in VARIABLES)
    if given:
        yield Finding("environment", True, ", ".join(given))


def doubts_about(environ: Mapping[str, str]) -> list[str]:
    """What is wrong or unknown among our variables, each with what to do, in sentences."""
    return [f"{found.says}. {found.mend}" for found in check_variables(environ) if found.mend]


def check_place(command: Sequence[str], environ: Mapping[str, str]) -> Iterator[Finding]:
    """A finding on a variable that goes only with a database, if a server has a folder."""
    if not is_database(place_of(command, environ)) and (why := not_of_folders(environ)):
        yield Finding("store", False, why, UNSET)


def check_store(folder: Path, home: Path) -> Iterator[Finding]:
    """Findings on the store.

    They cover whether it can be written, whether other users have access, whether its files are
    valid, and whether its settings are applied.
    """
    place = next(p for p in (folder, *folder.parents) if p.exists())
    if not (place.is_dir() and os.access(place, os.W_OK | os.X_OK)):
        mend = f"chmod u+rwx {place}, or set {PREFIX}DIR to another folder."
        yield Finding("store", False, f"{place} cannot be written", mend)
        return
    if place != folder:
        yield Finding("store", True, f"{folder}, made when something is first archived")
        return
    mode = stat.S_IMODE(folder.stat().st_mode)
    if os.name != "nt" and mode & 0o077:
        state = f"other users can read {folder}: it has mode {mode:o}"
        yield Finding("store", False, state, f"chmod 700 {folder}")
    store = Store(FileBackend(folder, home))
    wrong = store.verify()
    for problem in wrong[:5]:
        yield Finding("store", False, one_line(problem, LONGEST_PROBLEM))
    if not wrong:
        kept = len(store.sessions())
        yield Finding("store", True, f"{folder}, {how_many(kept, 'conversation')}")
        if why := store.not_applied():
            yield Finding("trust", None, one_line(why.removesuffix("."), LONGEST_PROBLEM))


def check_database(url: str, tenant: str | None = None) -> Iterator[Finding]:
    """Findings on a store in a database: whether it answers, and keeps tenants apart itself.

    The newest conversations are verified, too.
    """
    try:
        store = Store(url).of_tenant(tenant) if tenant else Store(url)
        ids = store.sessions()
        wrong = [each for id in ids[:VERIFIED] for each in store.session(id).problems()]
        kept = how_many(len(ids), "conversation")
    except ContextCompressionError as error:
        yield Finding("store", False, one_line(str(error), LONGEST_PROBLEM))
        return
    for problem in wrong[:5]:
        yield Finding("store", False, one_line(problem, LONGEST_PROBLEM))
    if not wrong:
        yield Finding("store", True, f"{store.name}, {kept}")
    from context_compression.store.postgres.backend import PostgresBackend  # it needs an extra

    if isinstance(store.backend, PostgresBackend) and (why := store.backend.unguarded()):
        yield Finding("tenants", None, f"{why}; a role of its own would do")


def check_search() -> Iterator[Finding]:
    """A finding on whether SQLite has FTS5, so that the archive can be searched by an index."""
    try:
        with sqlite3.connect(":memory:") as base:
            base.execute("CREATE VIRTUAL TABLE words USING fts5 (text)")
    except sqlite3.Error as error:
        yield Finding("search", None, f"without an index, so slower: SQLite has no FTS5 ({error})")
    else:
        yield Finding("search", True, f"SQLite {sqlite3.sqlite_version} with FTS5")


def check_key(environ: Mapping[str, str]) -> Iterator[Finding]:
    """A finding on whether a model can write summaries; the key itself is never shown."""
    try:
        settings = Settings.layered(environ=environ)
    except ContextCompressionError:
        return  # `check_variables` reports it
    model, provider = settings.summary_model, settings.provider or "anthropic"
    has_key = no_credentials(provider, environ) is None
    if model and not has_key:
        key, _ = CREDENTIALS[provider]
        mend = f"Set {key} where the host is started, or remove {PREFIX}SUMMARY_MODEL."
        yield Finding("key", False, f"no key, but {model} is set to write summaries", mend)
    elif not find_spec(provider):
        mend = f"pip install '.[{provider}]'"
        yield Finding(
            "key", False, f"the package {provider} is missing, which asks the model", mend
        )
    else:
        writer = (
            f"summaries by {model}" if model else "no model writes summaries unless you name one"
        )
        yield Finding("key", None, f"{'present' if has_key else 'none'}; {writer}")
