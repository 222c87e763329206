"""The pools of connections of one process: one for statements, one for locks."""

import logging
import os
from dataclasses import dataclass
from typing import Self

from psycopg_pool import ConnectionPool

from context_compression.store.postgres.address import Address
from context_compression.store.postgres.connections import Connection

POOLED, POOLED_LOCKS = 16, 32
"""The most connections of one process for statements, and for locks."""
WAIT_SECONDS = 2.0
"""How long a statement waits for a free connection, before it is asked whether the server is."""
IDLE_SECONDS = 300.0
"""How long an unused connection stays open."""
NAME = "context-compression"
"""The name of our pools."""


@dataclass(frozen=True)
class Pools:
    """The pools of one process: a child of a fork must not use those of its parent."""

    process: int
    statements: "ConnectionPool[Connection]"
    locks: "ConnectionPool[Connection]"

    @classmethod
    def of(cls, address: Address) -> Self:
        """The pools of this process. They open a connection when one is asked for."""
        return cls(os.getpid(), _pool(address, POOLED), _pool(address, POOLED_LOCKS))

    @property
    def has_no_more_locks(self) -> bool:
        """Whether all connections for locks are in use."""
        stats = self.locks.get_stats()
        return stats["pool_size"] >= POOLED_LOCKS and not stats["pool_available"]

    def check(self) -> None:
        """Drop connections that were lost."""
        self.statements.check()
        self.locks.check()

    def close(self) -> None:
        """Close all connections."""
        self.statements.close()
        self.locks.close()


def _pool(address: Address, most: int) -> "ConnectionPool[Connection]":
    return ConnectionPool(
        connection_class=Connection,
        kwargs={**address.parameters, "autocommit": True},
        name=NAME,
        min_size=0,
        max_size=most,
        max_idle=IDLE_SECONDS,
        timeout=WAIT_SECONDS,
        reconnect_timeout=0,  # who asks for a connection waits for the server
        open=True,
    )


def _is_of_others(record: logging.LogRecord) -> bool:
    """Whether a record is not about our pools: of those we tell in our words."""
    told = record.args if isinstance(record.args, tuple) else ()
    return not any(each == NAME or isinstance(each, Connection) for each in told)


logging.getLogger("psycopg.pool").addFilter(_is_of_others)
