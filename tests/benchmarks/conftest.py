"""The modules of `benchmarks/`, which are scripts and import each other by their bare names."""

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def script() -> Iterator[Callable[[str], ModuleType]]:
    """Imports a benchmark's module; afterwards no test sees its name any more."""
    sys.path.insert(0, str(BENCHMARKS))
    yield import_module
    sys.path.remove(str(BENCHMARKS))
    for name, module in [*sys.modules.items()]:
        if BENCHMARKS in Path(getattr(module, "__file__", None) or "/").parents:
            del sys.modules[name]


def message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text}]}
