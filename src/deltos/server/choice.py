"""Follows the user's choice of toolsets while a server runs, and tells its clients."""

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
    from deltos.server.protocol import Surface
    from deltos.server.workbench import Workbench
    from deltos.tool import Toolbox

POLL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Choice:
    """What is served, and how to serve something else."""

    config: Config
    manifest: Manifest
    workbench: Workbench
    open_toolbox: Callable[[Config], Toolbox]

    async def follow(self, surface: Surface) -> None:
        """Look at the choice once a second, for ever, unless a flag or the environment has fixed it."""
        served = self.config.toolsets
        while self.config.toolsets_may_change:
            await anyio.sleep(POLL_SECONDS)
            with suppress(BadArgument):  # somebody wrote the file by hand: go on with what there was
                chosen = chosen_toolsets(self.config.home)
                if chosen != served:
                    served = chosen
                    await self._serve(served, surface)

    async def _serve(self, toolsets: tuple[str, ...], surface: Surface) -> None:
        config = replace(self.config, toolsets=toolsets)
        self.manifest.offer(toolsets)
        self.workbench.reopen(lambda: self.open_toolbox(config))
        await surface.tell_of_changed_tools()
