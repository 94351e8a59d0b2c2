"""Opens what the application offers to a server. Light until it is called."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deltos.app import App
    from deltos.config import Config
    from deltos.tool import Pages, Toolbox

_log = logging.getLogger(__name__)


def open_toolbox(config: Config) -> Toolbox:
    """The tools, resources and prompts of the toolsets that `config` enables."""
    from deltos.app import App  # deferred: the domains are not needed for the first answers
    from deltos.errors import DeltosError
    from deltos.tool import Toolbox  # deferred likewise

    app = App(config)
    try:
        app.resume()
    except DeltosError as exc:  # the library cannot be opened: its own tools say so, the others work
        _log.warning("Unfinished crawls are not gone on with: %s", exc)
    return Toolbox(
        app.tools(),
        close=app.close,
        resources=app.resources(),
        prompts=app.prompts(),
        repeat_excerpts=app.repeats_excerpts,
        open_pages=lambda: _pages(app),
        note_call=app.calls.note if app.calls else None,
    )


def _pages(app: App) -> Pages:
    from deltos.ui.views import Views  # deferred: most servers show no page

    return Views(app)
