"""Opens what the application offers to a server. Light until it is called."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pinakes.config import Config
    from pinakes.tool import Toolbox

_log = logging.getLogger(__name__)


def open_toolbox(config: Config) -> Toolbox:
    """The tools, resources and prompts of the toolsets that `config` enables."""
    from pinakes.app import App  # deferred: the domains are not needed for the first answers
    from pinakes.errors import PinakesError
    from pinakes.tool import Toolbox  # deferred likewise

    app = App(config)
    try:
        app.resume()
    except PinakesError as exc:  # the library cannot be opened: its own tools say so, the others work
        _log.warning("Unfinished crawls are not gone on with: %s", exc)
    return Toolbox(
        app.tools(),
        close=app.close,
        resources=app.resources(),
        prompts=app.prompts(),
        repeat_excerpts=app.repeats_excerpts,
    )
