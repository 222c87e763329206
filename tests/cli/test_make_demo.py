"""The story of the demo's conversation fits the code as it is (`benchmarks/make_demo.py`)."""

import shutil
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
IDLE = ("python", "ruff", "git")
"""What the story runs that takes long or needs the repository: here they do nothing."""


@pytest.fixture
def make_demo() -> Iterator[Any]:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    yield import_module("make_demo")
    sys.path.remove(str(ROOT / "benchmarks"))
    del sys.modules["make_demo"]


@pytest.mark.skipif(sys.platform == "win32", reason="the story runs commands of a Unix shell")
def test_the_demos_story_still_fits_the_code(
    make_demo: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy, idle = tmp_path / "repo", tmp_path / "bin"
    shutil.copytree(
        ROOT / "server", copy / "server", ignore=shutil.ignore_patterns("*.jsonl", "*.bin")
    )
    (copy / "tests").mkdir()
    shutil.copy(ROOT / "pyproject.toml", copy)
    idle.mkdir()
    for name in IDLE:
        (idle / name).write_text("#!/bin/sh\n", encoding="utf-8")
        (idle / name).chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(idle / "python"))

    recording = make_demo.Recording(copy)
    make_demo.story(recording)  # it stops where an edit does not fit

    answers = [
        block
        for message in recording.messages
        if message["role"] == "user" and isinstance(message["content"], list)
        for block in message["content"]
    ]
    missing = [block["content"] for block in answers if block.get("is_error")]
    assert missing == ["docs/strategies.md: No such file or directory"]  # as the story tells
    job = (copy / make_demo.JOB).read_text(encoding="utf-8")
    assert '"collapse": collapse.propose,' in job
    assert "import collapse, extract," in job
