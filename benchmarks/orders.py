"""The command over and over: each order in a process of its own, forked where it is loaded already.

    echo '{"words": ["status", "chat.jsonl"], "input": ""}' | python benchmarks/orders.py

A line is an order, and so is what comes back: how it ended, and what it said.
"""

import json
import os
import runpy
import sys
import tempfile
import traceback
from collections.abc import Sequence
from contextlib import redirect_stdout, suppress
from io import StringIO
from typing import IO, Any, NoReturn

import still

COMMAND = "context_compression"


def main() -> None:
    sys.path = [each for each in sys.path if each != os.path.dirname(os.path.abspath(__file__))]
    with redirect_stdout(StringIO()), suppress(SystemExit):
        run(["--help"])  # that loads it
    for line in sys.stdin:
        order: dict[str, Any] = json.loads(line)
        print(json.dumps(done(order["words"], order["input"])), flush=True)


def run(words: Sequence[str]) -> None:
    """The command, as `python -m` runs it."""
    sys.argv = [COMMAND, *words]
    runpy.run_module(COMMAND, run_name="__main__", alter_sys=True)


def done(words: Sequence[str], told: str) -> dict[str, Any]:
    """How an order ended, which reads what is told, and what it said."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, _file() as err:
        given.write(told.encode())
        given.seek(0)
        child = os.fork()
        if not child:
            _obey(words, [given, out, err])
        _, status = os.waitpid(child, 0)
        said = {"out": _text(out), "err": _text(err)}
        return {"code": os.waitstatus_to_exitcode(status), **said}


def _file() -> IO[bytes]:
    return tempfile.TemporaryFile()


def _obey(words: Sequence[str], streams: Sequence[IO[bytes]]) -> NoReturn:
    """In the child: the order, and its end."""
    for number, stream in enumerate(streams):
        os.dup2(stream.fileno(), number)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  # stays open until the process ends
    still.again(" ".join(words))
    code = 1
    try:
        run(words)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def _text(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode("utf-8", "surrogateescape")


if __name__ == "__main__":
    main()
