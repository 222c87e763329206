"""Installs the large hosts and frameworks that tests start, in the folders that keep them.

A test installs by itself what it misses. This runs before and beside the tests, so that none of
them waits for a network. What cannot be had is told, and its tests will skip.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "tests" / "support"))

import frameworks
import object_storage
import pytest
from beside import FRAMEWORKS
from conformance.suite import SUITE
from other_hosts import CODEX, NODE
from real_hosts import CLAUDE_CODE

WANTED = (
    *(package.installed for package in (CLAUDE_CODE, CODEX, NODE, SUITE)),
    *(frameworks.Framework(extra).python for extra in sorted({*FRAMEWORKS.values()} - {""})),
    object_storage.installed,
)

for install in WANTED:
    try:
        print(install(), flush=True)
    except pytest.skip.Exception as error:
        print(error, flush=True)
