"""A finding on the version of a host: from its npm package, or else its program is asked."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Thread

from context_compression.conversation.messages import as_object
from context_compression.display.strings import in_words
from context_compression.setup.config_values import json_in
from context_compression.setup.finding import Finding
from context_compression.setup.host import Host
from context_compression.setup.machine import Machine
from context_compression.transcripts.lines import string

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
