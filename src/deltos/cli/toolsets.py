"""`deltos toolsets`: show or set the toolsets that servers offer. Running servers apply the change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.cli.command import add_command, print_json
from deltos.config import TOOLSETS, Config, chosen_toolsets, parse_toolsets
from deltos.hook_settings import TOOLSETS_FILE
from deltos.store.private_files import make_private_folder, write_private

if TYPE_CHECKING:
    import argparse

    from deltos.cli.command import Subparsers


def add_commands(subparsers: Subparsers) -> None:
    """Add the `toolsets` command."""
    verb = add_command(subparsers, "toolsets", _show_or_set_toolsets)
    verb.add_argument("choice", nargs="?", metavar="LIST", help=f"'all', or some of {','.join(TOOLSETS)}")


def _show_or_set_toolsets(arguments: argparse.Namespace) -> int:
    home = Config.from_environment(
        toolsets=",".join(TOOLSETS)
    ).home  # does not read the toolsets file, which may be invalid
    if arguments.choice:
        chosen = parse_toolsets("" if arguments.choice == "all" else arguments.choice)
        make_private_folder(home)
        write_private(home / TOOLSETS_FILE, ",".join(chosen) + "\n")
    offered = chosen_toolsets(home)
    if arguments.json:
        print_json({"toolsets": list(offered)})
    else:
        print(f"Servers offer: {', '.join(offered)}")
    return 0
