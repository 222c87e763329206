"""What to install where a package of an extra is missing."""

from collections.abc import Generator
from contextlib import contextmanager

from context_compression.errors import MissingExtra


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
