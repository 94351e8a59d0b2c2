"""`deltos ui`: open the web UI for indexes and memory."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.cli.command import add_command, print_json
from deltos.config import Config
from deltos.errors import BadArgument

if TYPE_CHECKING:
    import argparse

    from deltos.cli.command import Subparsers

_MAX_PORT = 65_535


def add_commands(subparsers: Subparsers) -> None:
    """Add the `ui` command."""
    ui = add_command(subparsers, "ui", _ui)
    ui.add_argument("project", nargs="?", default=".", help="folder of the project; default: the current folder")
    ui.add_argument("--port", type=int, default=0, help="port on the loopback interface; default: any free port")
    ui.add_argument("--no-browser", action="store_true", help="print the link without opening a browser")


def _ui(arguments: argparse.Namespace) -> int:
    from deltos.server.http.ui_server import UiOptions, serve_ui  # deferred import: not needed for `--help`
    from deltos.server.toolbox import open_toolbox

    start = Path(arguments.project).resolve()
    if not start.is_dir():
        raise BadArgument(f"Not a folder: {start}", hint="Give the root of a project.")
    if not 0 <= arguments.port <= _MAX_PORT:
        raise BadArgument(f"Invalid port {arguments.port}", hint="Choose a port from 1024 to 65535.")

    def announce(link: str) -> None:
        if arguments.json:
            print_json({"link": link})
        else:
            print(f"deltos ui: open {link}\nThe link works once. Press Ctrl-C to stop the server.")
        sys.stdout.flush()
        if not arguments.no_browser and not arguments.json:
            import webbrowser

            webbrowser.open(link)

    return serve_ui(UiOptions(start, arguments.port), Config.from_environment(), open_toolbox, announce)
