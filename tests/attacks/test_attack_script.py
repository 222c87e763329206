"""The script that attacks a store, a few runs of each; `python benchmarks/attack.py` makes more."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "attack.py"


@pytest.mark.skipif(os.name == "nt", reason="Windows has neither SIGKILL nor limits of files")
@pytest.mark.parametrize(
    ("attack", "runs"), [("kill", 3), ("damage", 25), ("disk", 6), ("processes", 1)]
)
def test_a_store_under_attack_loses_nothing(attack: str, runs: int) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), attack, "--runs", str(runs)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    print(done.stdout)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.endswith("nothing was lost\n")
