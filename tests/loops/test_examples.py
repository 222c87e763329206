"""The examples run as they stand, without a key and without network."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import context_compression

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"
SOURCES = Path(context_compression.__file__).parents[1]


@pytest.mark.parametrize("name", ["anthropic_loop", "openai_loop"])
def test_an_example_stays_below_its_budget_and_restores(name: str):
    if not EXAMPLES.is_dir():
        pytest.skip(f"no examples at {EXAMPLES}")
    environ = {key: value for key, value in os.environ.items() if "API_KEY" not in key}

    ran = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / f"{name}.py"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        env=environ | {"PYTHONPATH": str(SOURCES), "PYTHONUTF8": "1"},
    )

    assert (ran.returncode, ran.stderr) == (0, "")
    [largest] = [line for line in ran.stdout.splitlines() if line.startswith("largest request")]
    used, budget = (int(word.replace(",", "")) for word in largest.split() if word[0].isdigit())
    assert used < 0.8 * budget
    assert "41 requests" in ran.stdout
    assert "restored byte for byte: True" in ran.stdout
