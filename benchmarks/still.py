"""The clock stands still and chance always falls the same: what is computed can be compared.

Importing it is enough, before what is to stand still: that has `datetime`, ids and tokens from
here. Clocks that only measure how long something takes go on.
"""

import datetime
import os
import re
import secrets
import shutil
import tempfile
import uuid
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

NOW = datetime.datetime(2026, 2, 3, 4, 5, 6, tzinfo=datetime.UTC)
DATA = "CONTEXT_COMPRESSION_DATA"
"""Names the folder of the recordings: that changes nothing in what is made of them."""
FORGOTTEN = (
    "CONTEXT_COMPRESSION_", "SYNAPSE_", "CLAUDE", "CODEX", "PI_", "XDG_", "ANTHROPIC_", "OPENAI_",
)  # fmt: skip
"""How the environment's variables begin that change what is computed, or where it is written."""
PLACE = Path(tempfile.gettempdir()) / f"fingerprints-{os.getpid():010}"
"""Where the work is done: each run has its own, with a name of the same length."""


class Still(datetime.datetime):
    """`datetime`, for which it is always the same time."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> "Still":
        return cls.fromtimestamp(NOW.timestamp(), tz)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Callable[[Any], Any]) -> Any:
        """The schema of any time: models of other packages have such fields."""
        return handler(_DATETIME)


_DATETIME = datetime.datetime
_chance = Random()


def again(name: str) -> None:
    """From here on chance falls as it always does after this name."""
    _chance.seed(name)


def hold() -> None:
    """Stop the clock, bind chance, and forget settings that somebody has in the environment."""
    again("")
    setattr(datetime, "datetime", Still)  # noqa: B010  # a plain assignment is a type error
    secrets.token_hex, secrets.token_bytes, uuid.uuid4 = _hex, _bytes, _uuid
    for name in [*os.environ]:
        if name.startswith(FORGOTTEN) and name != DATA:
            del os.environ[name]


def _hex(nbytes: int | None = None) -> str:
    return _bytes(nbytes).hex()


def _bytes(nbytes: int | None = None) -> bytes:
    return _chance.randbytes(32 if nbytes is None else nbytes)


def _uuid() -> uuid.UUID:
    return uuid.UUID(bytes=_chance.randbytes(16), version=4)


@contextmanager
def place() -> Generator[None]:
    """`PLACE`, which is gone afterwards; the work is done there, and home is in it."""
    (PLACE / "home").mkdir(parents=True)
    os.environ["HOME"] = str(PLACE / "home")
    os.chdir(PLACE)
    try:
        yield
    finally:
        os.chdir(PLACE.parent)
        shutil.rmtree(PLACE)


def placeless(data: bytes) -> bytes:
    """The same wherever it was made: without the name of the place, in both its spellings."""
    for name in _NAMES:
        data = data.replace(name, b"-place")
    return data


_NAMES = (str(PLACE).encode(), re.sub(r"\W", "-", str(PLACE)).encode())


hold()
