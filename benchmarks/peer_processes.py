"""Peers in processes of their own, with the Python of their environment.

    python benchmarks/peer_processes.py NAME

reads requests as lines of JSON (`{"messages": …, "target": …}`) and answers each with a line:
`{"view": …}`, or `{"error": …}` with the peer's own words.
"""

import atexit
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from threading import Timer
from typing import Any

from peer_environments import Unavailable, python_of
from peers import PEERS, TOOLS, Peer
from recordings import Messages

SERVER = Path(__file__).parents[1] / "server"
MOST_SECONDS = 300  # that a peer may take for a view
TAKES_NO_TARGET = ("LangChain ClearToolUsesEdit", "headroom compress", "Strands auto")


class Failed(Exception):
    """A view that a peer could not make; the message is what it said."""


class PeerProcess:
    """A peer's process, which starts with the first request and again after a crash.

    A process that was forked from ours starts its own: two must not write into one pipe.
    """

    def __init__(self, name: str, python: Path) -> None:
        self._command = [str(python), __file__, name]
        self.process: subprocess.Popen[str] | None = None
        self._owner = os.getpid()
        atexit.register(self.close)

    def view(self, messages: Messages, target: float) -> Messages:
        """The peer's view in Anthropic's messages.

        Raises:
            Failed: the peer raised an error, crashed or took too long.
        """
        process = self._started()
        assert process.stdin
        assert process.stdout
        timer = Timer(MOST_SECONDS, process.kill)
        timer.start()
        try:
            process.stdin.write(json.dumps({"messages": messages, "target": target}) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            timer.cancel()
        if not line:
            self.close()
            raise Failed(f"no answer within {MOST_SECONDS} s, or a crash")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer["view"]

    def close(self) -> None:
        if self.process and self._owner == os.getpid():
            self.process.kill()
            self.process.communicate()
        self.process = None

    def _started(self) -> subprocess.Popen[str]:
        if self.process is None or self._owner != os.getpid():
            self._owner = os.getpid()
            self.process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True, encoding="utf-8",
                env={**os.environ, "PYTHONPATH": str(SERVER)},
            )  # fmt: skip
        return self.process


@cache
def tools() -> tuple[list[Peer], dict[str, str]]:
    """The peers whose environments exist, and the reasons why others are left out."""
    found: list[Peer] = []
    missing: dict[str, str] = {}
    for name in TOOLS:
        try:
            process = PeerProcess(name, python_of(name))
        except Unavailable as reason:
            missing[name] = str(reason)
        else:
            found.append(Peer(name, process.view, has_budget=name not in TAKES_NO_TARGET))
    return found, missing


def everyone(*, tools_too: bool) -> list[Peer]:
    """The plain rules that are always there; with them, the tools that are installed."""
    plain = [make(None) for name, make in PEERS.items() if name not in TOOLS]
    return plain + (tools()[0] if tools_too else [])


def install() -> dict[str, str]:
    """Make all environments; returns the reasons why some cannot be made."""
    missing: dict[str, str] = {}
    for name in TOOLS:
        try:
            python_of(name, make=True)
        except Unavailable as reason:
            missing[name] = str(reason)
    return missing


def serve(name: str) -> None:
    """Answer requests until the input ends; whatever the peer prints goes to the error output."""
    import estimate
    import recordings

    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    peer: Peer | None = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            peer = peer or PEERS[name](estimate.whole_tokens)
            view = peer.view(request["messages"], request["target"])
            answer = {"view": recordings.plain(view)}
        except Exception as error:  # whatever a peer raises is its answer
            answer = {"error": f"{type(error).__name__}: {error}"[:200]}
        answers.write(json.dumps(answer, default=str) + "\n")
        answers.flush()


if __name__ == "__main__":
    serve(sys.argv[1])
