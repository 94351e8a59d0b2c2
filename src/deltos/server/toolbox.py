"""Opens the application's tools for a server. Slow imports are deferred until the call."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deltos.app import App
    from deltos.config import Config
    from deltos.tool import PageData, Toolbox

_log = logging.getLogger(__name__)


def open_toolbox(config: Config) -> Toolbox:
    """Return the tools of the toolsets that `config` enables."""
    from deltos.app import App  # imported here, because the first answers do not need the domains
    from deltos.errors import DeltosError
    from deltos.tool import Toolbox  # imported here, because the first answers do not need it

    app = App(config)
    try:
        app.resume()
    except (
        DeltosError
    ) as exc:  # if the library cannot be opened, the documentation tools report the error, and all other tools work
        _log.warning("Unfinished crawls were not resumed: %s", exc)
    return Toolbox(
        app.tools(),
        close=app.close,
        repeat_excerpts=app.repeats_excerpts,
        open_pages=lambda: _open_views(app),
        note_call=app.calls.note if app.calls else None,
    )


def _open_views(app: App) -> PageData:
    from deltos.ui.views import Views  # imported here, because most servers do not serve the web UI

    return Views(app)
