"""Tells whether calls can be answered now: the toolbox is open, its database is there and has the tables that we know.

Anybody may ask, so whoever asks while another waits gets the same answer, and an answer serves for a second.
"""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from deltos.errors import DeltosError, StoreTooNew, StoreTooOld
from deltos.open_stores import database_trouble

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.server.workbench import Workbench

PATIENCE_SECONDS = 2.0
KEPT_SECONDS = 1.0


class Readiness:
    """What keeps calls from being answered; belongs to one event loop."""

    def __init__(self, workbench: Workbench, database: str, clock: Callable[[], float]) -> None:
        self._workbench = workbench
        self._database = database
        self._clock = clock
        self._limiter = anyio.CapacityLimiter(1)
        self._looking: asyncio.Task[str] | None = None
        self._looked_at = -math.inf

    async def trouble(self) -> str:
        """What is wrong, in words without names or addresses; empty when all is well."""
        is_old = self._clock() - self._looked_at >= KEPT_SECONDS
        if self._looking is None or (self._looking.done() and is_old):
            self._looking = asyncio.create_task(self._look())
        try:
            return await asyncio.wait_for(asyncio.shield(self._looking), PATIENCE_SECONDS)
        except TimeoutError:
            return "the database does not answer" if self._workbench.is_open else "starting"

    async def _look(self) -> str:
        found = await anyio.to_thread.run_sync(self._found, limiter=self._limiter)
        self._looked_at = self._clock()
        return found

    def _found(self) -> str:
        try:
            self._workbench.toolbox()
            return database_trouble(self._database)
        except StoreTooOld:
            return "the tables of the database are older than this server"
        except StoreTooNew:
            return f"the {'tables of the database are' if self._database else 'data folder is'} newer than this server"
        except DeltosError:
            return "the database is not available" if self._database else "the data folder is not available"
