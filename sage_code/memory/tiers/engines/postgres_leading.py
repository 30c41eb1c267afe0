"""One leader for each job of a database on a PostgreSQL server: an advisory lock on a connection of its own.

The server gives the lock back when the connection ends, so a leader that is killed leaves nothing behind. Every call
that does not lead yet connects and asks for the lock.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING
from zlib import crc32

from sage_code.memory.tiers.engines.postgres_driver import connected, explained, is_lost

if TYPE_CHECKING:
    from sage_code.memory.tiers.engines.postgres_driver import Address, Connection

# The first half of the lock's number; the second is made from the name of the job.
_LEADERS = 0x5361_6765


class Leader:
    """Asks for the lock of a job, and holds it."""

    def __init__(self, address: Address, job: str) -> None:
        self._address, self._number = address, crc32(job.encode()) - (1 << 31)
        self._connection: Connection | None = None

    def ask(self) -> bool:
        """Whether this process leads. A lost connection has lost the lock too, which is then asked for again."""
        import psycopg  # lazy: comes with an extra

        try:
            if self._connection is not None:
                with suppress(psycopg.Error):
                    self._connection.execute("SELECT 1")
                    return True
                self.close()
            connection = connected(self._address)
            found = connection.execute("SELECT pg_try_advisory_lock(%s, %s)", (_LEADERS, self._number)).fetchone()
        except psycopg.Error as error:
            if is_lost(error):
                return False
            raise explained(error, self._address) from error
        if found == (True,):
            self._connection = connection
            return True
        connection.close()
        return False

    def close(self) -> None:
        """Give the lock back."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
