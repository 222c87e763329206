"""Codex's app server in tests: the way to fork a thread, and to edit a prompt, without a terminal.

with AppServer(codex, model) as app:
    thread = app.start()
    app.turn(thread, "Count to nine.")
    fork = app.fork(thread)
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import IO, Any, Self, cast

from other_hosts import Codex
from scripted_model import ScriptedModel

PATIENCE = 120  # seconds for an answer
TRUSTED = {"config": {"bypass_hook_trust": True}}  # all hooks run
Message = dict[str, Any]


class AppServer:
    """`codex app-server`, which speaks JSON-RPC, a message in each line; it runs inside `with`."""

    def __init__(self, codex: Codex, model: ScriptedModel, *options: str) -> None:
        told = [part for name, value in codex.told(model) for part in ("-c", f"{name}={value}")]
        desk = codex.desk
        (desk.folder / "tmp").mkdir(exist_ok=True)
        self._process = subprocess.Popen(
            [str(codex.command), *told, *options, "app-server"],
            cwd=desk.project,
            env={
                "HOME": str(desk.home),
                "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
                "LANG": "C.UTF-8",
                "TERM": "dumb",
                "TMPDIR": str(desk.folder / "tmp"),
                "FAKE_KEY": "sk-test",
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._said: Queue[Message] = Queue()
        self._calls = 0
        self.shown: list[str] = []
        """What hooks told the user, in the order in which Codex shows it."""
        self._listening = Thread(target=self._listen, daemon=True)
        self._listening.start()

    def __enter__(self) -> Self:
        about = {"clientInfo": {"name": "test", "version": "1"}}
        self._call("initialize", about | {"capabilities": {"experimentalApi": True}})
        self._send({"method": "initialized"})
        return self

    def __exit__(self, *_: object) -> None:
        cast(IO[str], self._process.stdin).close()
        self._process.wait(PATIENCE)
        self._listening.join(PATIENCE)
        cast(IO[str], self._process.stdout).close()

    def start(self) -> str:
        """A new thread."""
        return self._call("thread/start", TRUSTED)["thread"]["id"]

    def turn(self, thread: str, prompt: str) -> str:
        """One prompt, until the model has answered; the id of the turn."""
        said = {"threadId": thread, "input": [{"type": "text", "text": prompt}]}
        turn = self._call("turn/start", said)["turn"]["id"]
        self._until_completed()
        return turn

    def fork(self, thread: str) -> str:
        """A new thread that goes on from one."""
        return self._call("thread/fork", TRUSTED | {"threadId": thread})["thread"]["id"]

    def revert(self, thread: str, turn: str) -> None:
        """Take back a turn and what followed, as one does to edit its prompt."""
        self._call("thread/revert", {"threadId": thread, "beforeTurnId": turn})

    def compact(self, thread: str) -> None:
        """Codex's own compaction."""
        self._call("thread/compact/start", {"threadId": thread})
        self._until_completed()

    def archive(self, thread: str) -> None:
        """Put a thread away."""
        self._call("thread/archive", {"threadId": thread})

    def _listen(self) -> None:
        for line in cast(IO[str], self._process.stdout):
            self._said.put(json.loads(line))

    def _send(self, message: Message) -> None:
        stdin = cast(IO[str], self._process.stdin)
        stdin.write(json.dumps(message) + "\n")
        stdin.flush()

    def _call(self, method: str, params: Message) -> Message:
        self._calls += 1
        id = self._calls
        self._send({"id": id, "method": method, "params": params})
        while True:
            message = self._said.get(timeout=PATIENCE)
            if message.get("id") == id and "method" not in message:
                assert "error" not in message, message
                return message["result"]

    def _until_completed(self) -> None:
        while (message := self._said.get(timeout=PATIENCE)).get("method") != "turn/completed":
            run = message.get("params", {}).get("run", {})
            if message.get("method") == "hook/completed":
                self.shown += [str(entry.get("text")) for entry in run.get("entries", ())]
