"""The examples as modules: a test calls the very loop that a person copies."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name: str) -> ModuleType:
    """The module of an example; without the folder, as in an installed copy, a test is skipped."""
    path = EXAMPLES / f"{name}.py"
    if not path.exists():
        pytest.skip(f"no examples at {EXAMPLES}")
    spec = importlib.util.spec_from_file_location(f"example_{name}", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
