"""Python environments in tests: made by uv, and made again if the packages in them change."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from filelock import FileLock

INSTALLING = 600  # seconds; most take 20


def environment(folder: Path, packages: Sequence[str]) -> Path:
    """The Python that has these packages, because they may want other versions than ours.

    They are installed in a folder if necessary; the test is skipped if that is impossible.
    """
    folder.mkdir(parents=True, exist_ok=True)
    python, made_of = folder / "env" / "bin" / "python", folder / "packages.txt"
    with FileLock(folder / "lock"):
        made = made_of.read_text("utf-8").splitlines() if made_of.is_file() else []
        if not {*packages} <= {*made}:
            made_of.unlink(missing_ok=True)
            _uv(folder, "venv", "--clear", "--python", sys.executable, str(folder / "env"))
            _uv(folder, "pip", "install", "--python", str(python), *packages)
            made_of.write_text("\n".join(packages), "utf-8")
    return python


def _uv(folder: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "uv", "--quiet", *arguments]
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, timeout=INSTALLING, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"{folder.name} was not installed in {INSTALLING} s")
    if ended.returncode:
        pytest.skip(f"{folder.name} cannot be installed: {ended.stderr[-600:]}")
