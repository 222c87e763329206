"""The plugins of Pi and opencode ask one process for all answers, and go on if it fails them."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from context_compression.hosts import BY_NAME

pytestmark = pytest.mark.skipif(os.name == "nt", reason="our command is a script with a shebang")

PI, OPENCODE = (BY_NAME[name].hooks[0].content() for name in ("pi", "opencode"))

OURS = """\
#!{python} -IS
import fcntl, json, sys, time
at_work = open({folder!r} + "/at_work", "w")
fcntl.flock(at_work, fcntl.LOCK_SH)
with open({folder!r} + "/starts", "a") as starts:
    starts.write(" ".join(sys.argv[1:]) + "\\n")
def answer(line, text=""):
    asked = json.loads(line)
    text = text or "short " + asked["event"]["callID"]
    print(json.dumps({{"id": asked["id"], "answer": {{"text": text}}}}), flush=True)
if "--serve" not in sys.argv:
    print(json.dumps({{"text": "alone " + json.load(sys.stdin)["callID"]}}))
    sys.exit()
{behaves}
"""
ANSWERS = "for line in sys.stdin: answer(line)"
IN_REVERSE = "for line in reversed([sys.stdin.readline() for _ in range(3)]): answer(line)"
ONCE = "answer(sys.stdin.readline())"
NEVER = "sys.exit('no such option: --serve')"
NONSENSE = "print('hello', flush=True)\nsys.stdin.read()"
REFUSING = """\
for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"], "error": "no"}), flush=True)
"""
HANGS = "sys.stdin.read()"

DRIVER = """
import { ContextCompression } from './plugin.mjs'
const plugin = await ContextCompression({ directory: process.cwd() })
const result = async (callID, length) => {
  const output = { output: 'x'.repeat(length) }
  await plugin['tool.execute.after']({ tool: 'bash', sessionID: 's1', callID, args: {} }, output)
  return output.output
}
const shown = []
for (const step of JSON.parse(process.argv[2]))
  shown.push(...(await Promise.all(step.map(([id, length]) => result(id, length)))))
console.log(JSON.stringify(shown))
"""
LONG = 5_000


@dataclass
class Node:
    """A host that loads the plugin of opencode; our command is a script with some behaviour."""

    folder: Path

    def results(self, behaves: str, *steps: list[tuple[str, int]], patience: int = 20_000) -> Any:
        """What the model sees of results, by steps whose results come at the same time."""
        node = shutil.which("node")
        if node is None:
            pytest.skip("no node to run the plugins in")
        plugin = OPENCODE.replace("PATIENCE = 20_000", f"PATIENCE = {patience}")
        (self.folder / "plugin.mjs").write_text(plugin, encoding="utf-8")
        (self.folder / "driver.mjs").write_text(DRIVER, encoding="utf-8")
        ours = self.folder / "ours"
        program = OURS.format(python=sys.executable, folder=str(self.folder), behaves=behaves)
        ours.write_text(program, encoding="utf-8")
        ours.chmod(0o700)
        ended = subprocess.run(
            [node, "driver.mjs", json.dumps(steps)], cwd=self.folder, capture_output=True,
            text=True, timeout=60, env={**os.environ, "CONTEXT_COMPRESSION_COMMAND": str(ours)},
            check=False,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr
        assert ended.stderr == ""
        return json.loads(ended.stdout)

    def starts(self) -> list[str]:
        """The options of our command, once for each time it was started."""
        path = self.folder / "starts"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [line.removeprefix("hook opencode").strip() for line in lines]


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_both_plugins_have_the_part_that_asks():
    for plugin in (PI, OPENCODE):
        assert plugin.count("\nfunction asker(cwd) {") == 1
        assert "// shared" not in plugin


def test_one_process_answers_all_results_and_ends_with_the_host(node: Node):
    shown = node.results(ANSWERS, [("a", LONG)], [("b", LONG)], [("c", LONG)])

    assert shown == ["short a", "short b", "short c"]
    assert node.starts() == ["--serve"]
    FileLock(node.folder / "at_work", timeout=30).acquire()  # it held this until its end


def test_results_that_come_together_each_get_their_own_answer(node: Node):
    shown = node.results(IN_REVERSE, [("a", LONG), ("b", LONG), ("c", LONG)])

    assert shown == ["short a", "short b", "short c"]


def test_a_short_result_starts_nothing(node: Node):
    assert node.results(ANSWERS, [("a", 1_999)]) == ["x" * 1_999]
    assert node.starts() == []


def test_a_process_that_ended_is_started_once_more_and_then_each_event_has_its_own(node: Node):
    shown = node.results(ONCE, *([(name, LONG)] for name in "abcd"))

    assert shown == ["short a", "short b", "alone c", "alone d"]
    assert node.starts() == ["--serve", "--serve", "", ""]


@pytest.mark.parametrize("behaves", [NEVER, NONSENSE])
def test_a_command_that_cannot_serve_or_says_nonsense_is_started_for_each_event(
    node: Node, behaves: str
):
    shown = node.results(behaves, [("a", LONG)], [("b", LONG)])

    assert shown == ["alone a", "alone b"]
    assert node.starts() == ["--serve", "--serve", "", ""]


def test_an_error_leaves_the_result_as_it_is(node: Node):
    assert node.results(REFUSING, [("a", LONG)], [("b", LONG)]) == ["x" * LONG] * 2
    assert node.starts() == ["--serve"]


def test_a_process_that_hangs_is_waited_for_no_longer_than_the_deadline(node: Node):
    assert node.results(HANGS, [("a", LONG)], patience=100) == ["x" * LONG]


def test_a_command_that_is_missing_leaves_the_result_as_it_is(
    node: Node, monkeypatch: pytest.MonkeyPatch
):
    shown = node.results("sys.exit(1)", [("a", LONG)])
    assert shown == ["alone a"]

    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert node.results(ANSWERS, [("a", LONG)]) == ["x" * LONG]
