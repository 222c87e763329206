"""Old import paths give the same objects as the new ones, and warn."""

import ast
import importlib
import inspect
import runpy
import subprocess
import sys
import warnings
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import context_compression
from context_compression.moved.names import NAMES
from context_compression.moved.table import MODULES, PACKAGES

PACKAGE = "context_compression"
SOURCES = Path(context_compression.__file__).parent
DOCS = Path(__file__).parents[2] / "docs"


@contextmanager
def warnings_of_moves() -> Generator[list[str]]:
    """The texts of the deprecation warnings issued in the block."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield texts
    texts += [str(w.message) for w in caught if issubclass(w.category, DeprecationWarning)]


@pytest.fixture(autouse=True)
def nothing_imported_by_an_old_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Old modules that another test imported are forgotten: a module warns once."""
    for old in MODULES:
        monkeypatch.delitem(sys.modules, f"{PACKAGE}.{old}", raising=False)


def public_names(module: ModuleType) -> Mapping[str, Any]:
    """The classes, functions and constants of a module that have a public name."""
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }


def names_defined_in(module: ModuleType) -> list[str]:
    """The classes and functions that a module itself defines."""
    return [
        name
        for name, value in public_names(module).items()
        if (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__ == module.__name__
    ]


@pytest.mark.parametrize("old", MODULES)
def test_an_old_module_gives_the_objects_of_the_new_one_and_warns_once(old: str) -> None:
    new = importlib.import_module(f"{PACKAGE}.{MODULES[old]}")

    with warnings_of_moves() as texts:
        module = importlib.import_module(f"{PACKAGE}.{old}")
        importlib.import_module(f"{PACKAGE}.{old}")

    [text] = [text for text in texts if text.startswith(f"{PACKAGE}.{old} is now ")]
    assert text.startswith(f"{PACKAGE}.{old} is now {new.__name__};")
    for name, value in public_names(new).items():
        if (old, name) not in NAMES:
            assert getattr(module, name) is value


@pytest.mark.parametrize(("old", "name"), NAMES, ids=".".join)
def test_an_old_name_gives_the_object_of_the_new_one_and_warns(old: str, name: str) -> None:
    place, _, new = NAMES[old, name].partition(":")
    expected = getattr(importlib.import_module(f"{PACKAGE}.{place}"), new)

    with warnings_of_moves() as texts:
        value = getattr(importlib.import_module(f"{PACKAGE}.{old}"), name)

    assert value is expected
    [text] = [text for text in texts if text.startswith(f"{PACKAGE}.{old}.{name} is now ")]
    assert text.startswith(f"{PACKAGE}.{old}.{name} is now {PACKAGE}.{place}.{new};")


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_gives_the_names_that_moved_into_its_modules_and_warns(package: str) -> None:
    held = importlib.import_module(f"{PACKAGE}.{package}")
    tried: set[str] = {*vars(held)}

    for place in PACKAGES[package]:
        module = importlib.import_module(f"{PACKAGE}.{place}")
        for name in names_defined_in(module):
            if name in tried or (package, name) in NAMES:
                continue
            tried.add(name)
            with warnings_of_moves() as texts:
                value = getattr(held, name)
            assert value is getattr(module, name)
            assert len(texts) == 1
            assert texts[0].startswith(f"{PACKAGE}.{package}.{name} is now {PACKAGE}.{place}.")


@pytest.mark.parametrize("name", ["compress", "usage"])
def test_a_function_keeps_its_name_when_the_old_module_of_that_name_is_imported(name: str) -> None:
    function = getattr(context_compression, name)

    with warnings_of_moves():
        importlib.import_module(f"{PACKAGE}.{name}")

    assert inspect.isfunction(function)
    assert getattr(context_compression, name) is function


@pytest.mark.parametrize("old", ["compress", "workspace"])
def test_a_name_that_was_never_there_is_an_attribute_error(old: str) -> None:
    with warnings_of_moves():
        module = importlib.import_module(f"{PACKAGE}.{old}")

    with pytest.raises(AttributeError, match="has no attribute 'nothing_of_the_sort'"):
        _ = module.nothing_of_the_sort


@pytest.mark.parametrize("new", sorted({*MODULES.values()}))
def test_a_new_path_is_none_of_the_old_ones(new: str) -> None:
    assert new not in MODULES


def test_no_module_of_the_package_imports_by_an_old_path_when_it_is_loaded() -> None:
    code = (
        "import importlib, pkgutil, context_compression\n"
        "for module in pkgutil.walk_packages(context_compression.__path__, 'context_compression.'):"
        "\n    if not module.name.endswith('__main__') and '.integrations.' not in module.name:\n"
        "        importlib.import_module(module.name)\n"  # those need a framework
    )
    command = [sys.executable, "-W", f"error:{PACKAGE}.:DeprecationWarning", "-c", code]

    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    assert ran.stderr == ""
    assert ran.returncode == 0


@pytest.mark.parametrize("folder", ["server", "tests", "benchmarks", "examples"])
def test_no_import_names_an_old_path(folder: str) -> None:
    """Imports inside functions count, too."""
    place = SOURCES if folder == "server" else Path(__file__).parents[2] / folder

    by_old_paths = [
        f"{path.relative_to(place)}:{line}: {module}"
        for path in sorted(place.rglob("*.py"))
        for line, module in imported_in(path)
        if module.removeprefix(f"{PACKAGE}.") in MODULES
    ]

    assert by_old_paths == []


def imported_in(path: Path) -> Iterator[tuple[int, str]]:
    """The modules that a file imports, each with its line."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=str(module)):
                yield node.lineno, module
            case _:
                pass


def test_the_page_of_renamed_modules_is_that_of_the_table() -> None:
    """`python docs/renamed.py` writes it."""
    made = runpy.run_path(str(DOCS / "renamed.py"))["page"]()

    assert (DOCS / "renamed.md").read_text(encoding="utf-8") == made
