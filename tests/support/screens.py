"""Commands in pseudo terminals or pipes: one process imports the package and forks for each.

`python screens.py [MODULE ...]` imports the modules too, which then cost no command any time. It
reads lines with a JSON list of `{"arguments", "columns", "cwd", "environ", "pipes"}` and answers
each with a list of `{"out", "err", "code"}`. `pipes` names the streams that are no terminals; as
stdin, that is an empty file. A bar is shown only where `quiet_seconds` says so.
"""

import json
import os
import select
import struct
import sys
import traceback
from importlib import import_module
from typing import Any

WAITS = 60  # seconds, for a child that hangs


def played(screen: dict[str, Any]) -> dict[str, Any]:
    """One command, as it appears on a terminal."""
    import fcntl
    import termios

    pipes = screen.get("pipes", [])
    ends: dict[int, tuple[int, int]] = {}
    for stream, name in ((0, "stdin"), (1, "stdout"), (2, "stderr")):
        ours, theirs = os.pipe() if name in pipes else os.openpty()
        if name == "stdin" and name in pipes:
            os.close(theirs)
            theirs = os.open(os.devnull, os.O_RDONLY)
        if name not in pipes:
            size = struct.pack("HHHH", screen.get("lines", 40), screen["columns"], 0, 0)
            fcntl.ioctl(theirs, termios.TIOCSWINSZ, size)
        ends[stream] = (ours, theirs)
    child = os.fork()
    if child == 0:
        _child(screen, {stream: theirs for stream, (_, theirs) in ends.items()})
    for _, theirs in ends.values():
        os.close(theirs)
    if screen.get("closes_stdin"):
        os.write(ends[0][0], b"\x04")  # as Ctrl-D does
    read = _all_of({ends[1][0], ends[2][0]})
    _, status = os.waitpid(child, 0)
    for stream in (1, 2):
        os.close(ends[stream][0])
    if "stdin" not in pipes:
        os.close(ends[0][0])
    out, err = (read[ends[stream][0]].decode(errors="surrogateescape") for stream in (1, 2))
    if "stdout" not in pipes:
        out = out.replace("\r\n", "\n")
    if "stderr" not in pipes:
        err = err.replace("\r\n", "\n")
    return {"out": out, "err": err, "code": os.waitstatus_to_exitcode(status)}


def _child(screen: dict[str, Any], streams: dict[int, int]) -> None:
    """Becomes the command; never returns."""
    for stream, end in streams.items():
        os.dup2(end, stream)
    os.closerange(3, 256)
    os.chdir(screen["cwd"])
    os.environ.clear()
    os.environ.update(screen["environ"])
    sys.stdin, sys.stdout = os.fdopen(0, encoding="utf-8"), os.fdopen(1, "w", encoding="utf-8")
    sys.stderr = os.fdopen(2, "w", 1, encoding="utf-8", errors="backslashreplace")
    code = 1
    try:
        from context_compression.__main__ import main
        from context_compression.cli import terminal as meter

        meter.QUIET_SECONDS = screen.get("quiet_seconds", 60)

        sys.argv = ["context-compression", *screen["arguments"]]
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1 if end.code else 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _all_of(ends: set[int]) -> dict[int, bytes]:
    """What comes out of the ends until all are closed."""
    read = dict.fromkeys(ends, b"")
    waiting = set(ends)
    while waiting:
        ready, _, _ = select.select([*waiting], [], [], WAITS)
        if not ready:
            raise TimeoutError("a command hangs")
        for end in ready:
            try:
                data = os.read(end, 65_536)
            except OSError:  # Linux says so when the other end of a terminal is closed
                data = b""
            read[end] += data
            if not data:
                waiting.discard(end)
    return read


if __name__ == "__main__":
    for module in ("context_compression.cli", *sys.argv[1:]):
        import_module(module)  # before the forks
    for line in sys.stdin:
        print(json.dumps([played(screen) for screen in json.loads(line)]), flush=True)
