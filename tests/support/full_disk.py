"""A disk with too little space."""

from collections.abc import Generator
from contextlib import contextmanager

import pytest


@contextmanager
def a_disk_that_takes(size: int) -> Generator[None]:
    """Limits every file to `size` bytes; a write beyond that is cut short or fails."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
