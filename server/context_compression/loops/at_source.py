"""Whether long tool results are shortened when they come in: `run_tools(…, shorten=False)`."""

from collections.abc import Generator
from contextlib import contextmanager

from context_compression.session import Session

NEVER = ("*=0",)


@contextmanager
def arriving_whole(session: Session, *, whole: bool = True) -> Generator[None]:
    """Enclose requests before which no result of a session is shortened as it comes in."""
    before = session.settings.offload_at_source
    if whole:
        session.settings = session.settings.changed({"offload_at_source": NEVER})
    try:
        yield
    finally:
        if whole:
            session.settings = session.settings.changed({"offload_at_source": before})
