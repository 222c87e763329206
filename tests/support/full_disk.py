"""A disk with too little room on it."""

from collections.abc import Generator
from contextlib import contextmanager

import pytest


@contextmanager
def a_disk_that_takes(size: int) -> Generator[None]:
    """Every file may grow to `size` bytes; the write beyond is cut short or fails."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
