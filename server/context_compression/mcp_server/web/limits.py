"""How much one tenant, and all together, may ask of this process.

The numbers are of one process: three replicas let three times as much in.
"""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil

from starlette.responses import JSONResponse

from context_compression.errors import InvalidSettings

MEGABYTE = 1024 * 1024
TENANTS_FULL, ALL_FULL = 429, 503
"""Status codes: a tenant asks too much, and all together do."""


@dataclass(frozen=True)
class Limits:
    """How much may be asked.

    Attributes:
        at_once: requests of one tenant at the same time.
        per_minute: requests of one tenant in a minute; as many may come in a burst.
        in_all: requests of all tenants at the same time; `None` for four times `at_once`.
        workers: processes that answer; one tenant gets half of them, further requests wait.
        seconds: how long a request may take, from the time a worker has it.
        megabytes: how large a request may be, in MiB; an argument may be a full conversation.

    Raises:
        InvalidSettings: one tenant could take all of the process.
    """

    at_once: int = 16
    per_minute: int = 1_200
    in_all: int | None = None
    workers: int = 8
    seconds: float = 300.0
    megabytes: int = 64

    def __post_init__(self) -> None:
        if self.in_all is not None and self.in_all <= self.at_once:
            raise InvalidSettings(
                f"One tenant may have {self.at_once:,} requests at once, and all together "
                f"{self.in_all:,}, so one could shut out all others. Make --in-all larger than "
                "--at-once."
            )

    @property
    def most_bytes(self) -> int:
        """How large a request may be."""
        return self.megabytes * MEGABYTE

    @property
    def most(self) -> int:
        """Requests of all tenants at the same time."""
        return 4 * self.at_once if self.in_all is None else self.in_all


class Exceeded(Exception):
    """A request is one too many."""

    def __init__(self, status: int, seconds: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.seconds = status, seconds

    @property
    def response(self) -> JSONResponse:
        """The answer: when to ask again."""
        body = {"error": str(self), "retry_after": self.seconds}
        return JSONResponse(body, self.status, headers={"Retry-After": str(self.seconds)})


@dataclass
class _Use:
    """What a tenant uses: requests being answered, and a bucket that fills with the time."""

    tokens: float
    filled_at: float
    running: int = 0


@dataclass
class Admission:
    """Lets requests in as long as the limits allow it."""

    limits: Limits
    clock: Callable[[], float] = time.monotonic
    _uses: dict[str, _Use] = field(default_factory=dict[str, _Use])
    _running: int = 0

    @contextmanager
    def admitted(self, tenant: str) -> Generator[None]:
        """Counts a request of a tenant while it is answered.

        Raises:
            Exceeded: it is one too many.
        """
        use = self._refilled(tenant)
        if use.running >= self.limits.at_once:
            raise Exceeded(
                TENANTS_FULL,
                1,
                f"{use.running} requests of yours are being answered. Wait for one.",
            )
        if use.tokens < 1:
            wait = ceil((1 - use.tokens) * 60 / self.limits.per_minute)
            most = self.limits.per_minute
            raise Exceeded(TENANTS_FULL, wait, f"More than {most:,} requests of yours in a minute.")
        if self._running >= self.limits.most:
            raise Exceeded(ALL_FULL, 1, "This server is busy. Ask again in a second.")
        use.tokens -= 1
        use.running += 1
        self._running += 1
        try:
            yield
        finally:
            use.running -= 1
            self._running -= 1

    def _refilled(self, tenant: str) -> _Use:
        now, most = self.clock(), self.limits.per_minute
        use = self._uses.setdefault(tenant, _Use(most, now))
        use.tokens = min(most, use.tokens + (now - use.filled_at) * most / 60)
        use.filled_at = now
        return use
