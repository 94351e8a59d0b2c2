"""Check whether the toolbox is open and the database is available with the expected tables.

The endpoint is public, so concurrent requests share one check, whose result is cached for a second.
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

    from deltos.server.tool_runner import ToolRunner

CHECK_TIMEOUT_SECONDS = 2.0
CACHE_SECONDS = 1.0


class Readiness:
    """Cached check whether the server can answer calls, for use in one event loop."""

    def __init__(self, tool_runner: ToolRunner, database: str, clock: Callable[[], float]) -> None:
        self._tool_runner = tool_runner
        self._database = database
        self._clock = clock
        self._limiter = anyio.CapacityLimiter(1)
        self._check_task: asyncio.Task[str] | None = None
        self._checked_at = -math.inf

    async def find_problem(self) -> str:
        """Return why the server is not ready, without names or addresses, or an empty string if it is ready."""
        is_old = self._clock() - self._checked_at >= CACHE_SECONDS
        if self._check_task is None or (self._check_task.done() and is_old):
            self._check_task = asyncio.create_task(self._check())
        try:
            return await asyncio.wait_for(asyncio.shield(self._check_task), CHECK_TIMEOUT_SECONDS)
        except TimeoutError:
            return "the database does not respond" if self._tool_runner.is_open else "starting"

    async def _check(self) -> str:
        found = await anyio.to_thread.run_sync(self._check_now, limiter=self._limiter)
        self._checked_at = self._clock()
        return found

    def _check_now(self) -> str:
        try:
            self._tool_runner.toolbox()
            return database_trouble(self._database)
        except StoreTooOld:
            return "the tables of the database are older than this server"
        except StoreTooNew:
            return f"the {'tables of the database are' if self._database else 'data folder is'} newer than this server"
        except DeltosError:
            return "the database is not available" if self._database else "the data folder is not available"
