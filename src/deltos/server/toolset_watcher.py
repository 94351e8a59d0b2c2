"""Applies changes to the user's toolset choice while a server runs, and notifies the clients."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio

from deltos.config import chosen_toolsets
from deltos.errors import BadArgument

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.config import Config
    from deltos.server.manifest import Manifest
    from deltos.server.protocol import McpHandlers
    from deltos.server.tool_runner import ToolRunner
    from deltos.tool import Toolbox

POLL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class ToolsetWatcher:
    """Reloads the available tools when the user changes the enabled toolsets."""

    config: Config
    manifest: Manifest
    tool_runner: ToolRunner
    open_toolbox: Callable[[Config], Toolbox]

    async def watch(self, handlers: McpHandlers) -> None:
        """Check the chosen toolsets once per second until cancelled.

        Return immediately if a flag or an environment variable determines the toolsets.
        """
        served = self.config.toolsets
        while self.config.toolsets_may_change:
            await anyio.sleep(POLL_SECONDS)
            with suppress(BadArgument):  # the current toolsets remain if the file is invalid
                chosen = chosen_toolsets(self.config.home)
                if chosen != served:
                    served = chosen
                    await self._apply_toolsets(served, handlers)

    async def _apply_toolsets(self, toolsets: tuple[str, ...], handlers: McpHandlers) -> None:
        config = replace(self.config, toolsets=toolsets)
        self.manifest.set_toolsets(toolsets)
        self.tool_runner.reopen(lambda: self.open_toolbox(config))
        await handlers.announce_changed_tools()
