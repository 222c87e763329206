"""What is imported only when it is used, and what to install where it is missing."""

import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from context_compression.errors import MissingExtra


def on_demand(package: str, places: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """`__getattr__` of a package whose names and modules are imported when they are used.

    So a small module of it, such as `store.location`, can be had without the others.

    Args:
        package: its name.
        places: the names that each module has: `{"store.log": ("SessionLog",)}`.
    """
    modules = {name: module for module, names in places.items() for name in names}

    def attribute(name: str) -> Any:
        from importlib.util import find_spec

        if name in modules:
            value = getattr(import_module(f"context_compression.{modules[name]}"), name)
            setattr(import_module(package), name, value)
            return value
        if name[0] != "_" and find_spec(f"{package}.{name}"):
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return attribute


@contextmanager
def extra(name: str, *beside: str) -> Generator[None]:
    """Encloses the imports of what an extra of our package brings.

    Args:
        name: of the extra.
        beside: what else must be installed, as pip takes it.

    Raises:
        MissingExtra: it is not installed, or lacks what its oldest version that we know has.
    """
    try:
        yield
    except ImportError as error:
        packages = " ".join(f'"{each}"' for each in (f".[{name}]", *beside))
        raise MissingExtra(
            f"This needs a package that is not installed, or a newer version of it ({error}). "
            f"Install it with `pip install {packages}`."
        ) from error


def zstandard() -> Any:
    """The module that packs and unpacks Zstandard; part of Python since 3.14.

    Raises:
        MissingExtra: there is none.
    """
    packed_by = "compression" if sys.version_info >= (3, 14) else "backports"
    with extra("zstd"):
        return import_module(f"{packed_by}.zstd")
