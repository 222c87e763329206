"""The examples for plain HTTP run against a real server: curl, fetch, the AI SDK, Go."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from examples import EXAMPLES
from other_hosts import with_node
from real_hosts import Package
from replicas import Replica, replicas

from context_compression import Session, count_tokens
from context_compression.testing import conversation

TOKEN = "a-token-for-tests"
AI_SDK = Package("ai-sdk", "ai", "7.0.173")
WINDOW = 30_000
CLIENTS = Path(__file__).parents[1] / "support" / "clients"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not EXAMPLES.is_dir(), reason="no examples in an installed copy"),
]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Replica]:
    environ = {"CONTEXT_COMPRESSION_TOKEN_BUDGET": str(WINDOW)}
    with replicas(tmp_path, "--token", TOKEN, environ=environ) as (server,):
        yield server


def run(server: Replica, folder: Path, *command: str | Path, environ: dict[str, str]) -> str:
    variables = {"CONTEXT_COMPRESSION_URL": server.base, "CONTEXT_COMPRESSION_TOKEN": TOKEN}
    ended = subprocess.run(
        [*map(str, command)], cwd=folder, env=environ | variables, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, (ended.stdout[-2_000:], ended.stderr[-2_000:])
    return ended.stdout


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    (file := tmp_path / "chat.json").write_text(json.dumps(conversation(12)), encoding="utf-8")
    return file


def test_curl(server: Replica, tmp_path: Path, chat: Path) -> None:
    if not shutil.which("curl"):
        pytest.skip("no curl here")

    script = EXAMPLES / "http_curl.sh"
    said = run(server, tmp_path, "bash", script, chat, "20000", environ={**os.environ})

    small = json.loads((tmp_path / "small.json").read_text("utf-8"))
    assert count_tokens(small["messages"]) <= 20_000
    found, status = map(json.loads, said.splitlines()[1:])
    assert {hit["ref"] for hit in found["hits"]} <= {*small["refs"]}
    assert status["compressions"] == 1


def test_fetch(server: Replica, tmp_path: Path, chat: Path) -> None:
    script = EXAMPLES / "http_fetch.ts"

    said = run(server, tmp_path, "node", script, chat, environ=with_node())

    sizes, restored = said.splitlines()
    assert sizes.split(" in ")[1].startswith("messages-")
    assert restored.endswith(" characters")


def test_a_loop_of_the_ai_sdk_stays_within_the_window_and_restores(
    server: Replica, tmp_path: Path
) -> None:
    environ = with_node()
    packages = AI_SDK.installed().parents[1]
    folder = tmp_path / "agent"
    folder.mkdir()
    (folder / "node_modules").symlink_to(packages)
    (folder / "package.json").write_text('{"type": "module"}')
    program = [*EXAMPLES.glob("http_*.ts"), CLIENTS / "ai_sdk.mjs"]
    copies = [shutil.copy(each, folder) for each in program]

    said = run(server, folder, "node", copies[-1], "agent-1", "24", environ=environ)

    seen = json.loads(said.splitlines()[-1])
    assert seen["text"] == "done"
    assert len(seen["sent"]) == 26
    assert all(count_tokens(prompt) <= WINDOW for prompt in seen["sent"])
    assert "Never touch main" in json.dumps(seen["sent"][-1])
    restored = seen["sent"][-1][-1]["content"][0]["output"]["value"]
    assert "output of src/part_" in restored
    status = Session(tmp_path / "store", "agent-1").status()
    assert status.compressions and status.tokens_saved


def test_go(server: Replica, tmp_path: Path, chat: Path) -> None:
    if not shutil.which("go"):
        pytest.skip("no go here")

    said = run(server, tmp_path, "go", "run", EXAMPLES / "http.go", chat, environ={**os.environ})

    assert said.splitlines()[0].split(" in ")[1].startswith("messages-")
