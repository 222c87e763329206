"""What to install for an adapter whose framework is missing."""

from collections.abc import Generator
from contextlib import contextmanager

from context_compression.errors import MissingExtra


@contextmanager
def extra(name: str) -> Generator[None]:
    """Encloses the imports of the framework that an extra of our package brings.

    Raises:
        MissingExtra: it is not installed, or lacks what its oldest version that we know has.
    """
    try:
        yield
    except ImportError as error:
        raise MissingExtra(
            f'The adapter needs its framework ({error}). Install it with `pip install ".[{name}]"`.'
        ) from error
