"""Makes `import` follow the table of moved modules."""

import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from context_compression.moved.names import NAMES
from context_compression.moved.table import MODULES, PACKAGES

ROOT = "context_compression"
FUNCTIONS = ("compress", "usage")
"""Public functions with the name of a moved module: importing the module must not hide them."""


class MovedModule(ModuleType):
    """The module for an old path: every name is looked up in the new module."""

    def __getattr__(self, name: str) -> Any:
        old = self.__name__.removeprefix(f"{ROOT}.")
        if name.startswith("__") or old not in MODULES:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return _held(name, old, (MODULES[old],))


class OldPaths(MetaPathFinder, Loader):
    """Finds modules by their old paths."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a moved module; `None` for all other modules."""
        del path, target
        root, _, old = fullname.partition(".")
        if root != ROOT or old not in MODULES:
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module for an old path; warns with the new path."""
        old = spec.name.removeprefix(f"{ROOT}.")
        _warn(spec.name, f"{ROOT}.{MODULES[old]}")
        return MovedModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: names are looked up when they are used."""


class Root(ModuleType):
    """The package itself: importing a moved module does not replace a function of the same name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in FUNCTIONS and isinstance(value, MovedModule)):
            super().__setattr__(name, value)


def follow_old_paths() -> None:
    """Make modules importable by their old paths; each warns once per caller."""
    sys.meta_path.insert(0, OldPaths())
    sys.modules[ROOT].__class__ = Root


def held_elsewhere(package: str) -> Callable[[str], Any]:
    """A `__getattr__` for a package whose names moved to other modules.

    Args:
        package: its `__name__`.
    """
    old = package.removeprefix(f"{ROOT}.")

    def find(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return _held(name, old, PACKAGES[old])

    return find


def _held(name: str, old: str, places: Sequence[str]) -> Any:
    """The object that a name had in an old module, from its new place."""
    if renamed := NAMES.get((old, name)):
        place, _, new = renamed.partition(":")
        _warn(f"{ROOT}.{old}.{name}", f"{ROOT}.{place}.{new}", level=4)
        return getattr(import_module(f"{ROOT}.{place}"), new)
    for place in places:
        module = import_module(f"{ROOT}.{place}")
        if hasattr(module, name):
            if old in PACKAGES:
                _warn(f"{ROOT}.{old}.{name}", f"{module.__name__}.{name}", level=4)
            return getattr(module, name)
    raise AttributeError(f"module {ROOT + '.' + old!r} has no attribute {name!r}")


def _warn(old: str, new: str, level: int = 3) -> None:
    text = f"{old} is now {new}; the old name goes with the next major version."
    warnings.warn(text, DeprecationWarning, stacklevel=level)
