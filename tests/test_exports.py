"""The public names, and what it costs to import them."""

import importlib
import json
import pkgutil
import subprocess
import sys

import context_compression

HEAVY = ("anthropic", "anyio", "mcp", "tiktoken")
DOORS = tuple(f"context_compression.{name}" for name in ("mcp_server", "proxy", "hosts.doctor"))
"""What speaks the protocol; everything else gets along without it."""
ADAPTERS = "context_compression.integrations."
"""Most of these modules import a framework that is not installed here; their tests import them."""
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(context_compression.__path__, "context_compression.")
    if not module.name.endswith("__main__") and not module.name.startswith(ADAPTERS)
)


def loaded_by(*modules: str) -> list[str]:
    """Which heavy packages a fresh interpreter has loaded after these imports."""
    code = (
        "import importlib, json, sys\n"
        f"for name in {modules!r}: importlib.import_module(name)\n"
        f"print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
    )
    return json.loads(subprocess.check_output([sys.executable, "-c", code], timeout=60))


def test_every_module_can_be_imported_and_has_the_names_that_it_lists():
    missing: list[str] = []
    for name in ["context_compression", *MODULES]:
        module = importlib.import_module(name)
        listed = getattr(module, "__all__", ())
        missing += [f"{name}.{public}" for public in listed if not hasattr(module, public)]

    assert missing == []


def test_the_public_names_are_in_order():
    assert context_compression.__all__ == sorted(context_compression.__all__)


def test_the_library_loads_nothing_heavy():
    assert loaded_by("context_compression") == []


def test_only_the_server_and_its_client_know_the_protocol():
    assert "mcp" not in loaded_by(*(name for name in MODULES if not name.startswith(DOORS)))
