"""`deltos install` and `deltos uninstall`: connect a coding agent or editor to Deltos, or disconnect it."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.cli.command import add_verb, print_json
from deltos.config import PROFILES
from deltos.errors import BadArgument

if TYPE_CHECKING:
    import argparse

    from deltos.cli.command import Subparsers
    from deltos.clients.install import Edit, Presence
    from deltos.clients.table import Client, Launch, Machine


def add_commands(subparsers: Subparsers) -> None:
    """Add `install` and `uninstall`."""
    verb = add_verb(subparsers, "install", _install, "add Deltos to the configuration of a coding agent or editor")
    _add_options(verb)
    verb.add_argument("--list", action="store_true", help="list the clients, their files and whether they have Deltos")
    verb.add_argument("--no-hooks", action="store_true", help="add the server only, not the hooks that feed memory")
    verb.add_argument("--profile", default="", choices=PROFILES, help="lean lists six tools instead of all")
    verb.add_argument("--command", default="", help='how to start Deltos, say "uvx deltos"; default: this very one')
    _add_options(add_verb(subparsers, "uninstall", _uninstall, "take Deltos out of a client's configuration"))


def _add_options(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("client", nargs="?", default="", help="the client, as `deltos install --list` names it")
    verb.add_argument("--dry-run", action="store_true", help="show the changes as a diff and write nothing")


def _install(arguments: argparse.Namespace) -> int:
    from deltos.clients.install import install

    if arguments.list:
        return _list(this_machine(), as_json=arguments.json)
    client = _client(arguments.client)
    launch = replace(find_launch(arguments.command), profile=arguments.profile)
    edits = install(client, this_machine(), launch, with_hooks=not arguments.no_hooks)
    return _carry_out(client, edits, arguments, after=client.afterwards, nothing=f"{client.title} already has Deltos.")


def _uninstall(arguments: argparse.Namespace) -> int:
    from deltos.clients.install import uninstall

    client = _client(arguments.client)
    edits = uninstall(client, this_machine())
    return _carry_out(client, edits, arguments, after="", nothing=f"{client.title} does not have Deltos.")


def _client(name: str) -> Client:
    from deltos.clients.table import client_named

    if not name:
        raise BadArgument("Which client?", hint="`deltos install --list` names them.")
    return client_named(name)


def this_machine() -> Machine:
    from deltos.clients.table import Machine

    return Machine(Path.home(), os.environ, sys.platform)


def find_launch(command: str) -> Launch:
    """The command to write: absolute, because editors started from a desktop do not know the shell's PATH."""
    from deltos.clients.table import Launch

    if command:
        words = shlex.split(command, posix=sys.platform != "win32")
        return Launch(words[0], tuple(words[1:]))
    script = Path(sys.executable).with_name("deltos.exe" if sys.platform == "win32" else "deltos")
    if script.exists():
        return Launch(str(script))
    from deltos.isolated.launch import find_module_command  # deferred: most have the script

    program, *words = find_module_command()
    return Launch(program, tuple(words))


def _carry_out(client: Client, edits: list[Edit], arguments: argparse.Namespace, *, after: str, nothing: str) -> int:
    from deltos.clients.install import write

    changing = [edit for edit in edits if edit.is_change]
    backups = [] if arguments.dry_run else write(changing)
    if arguments.json:
        print_json(_as_data(client, changing, backups, dry_run=arguments.dry_run))
        return 0
    if not changing:
        print(nothing)
    for edit in changing:
        print(edit.diff() if arguments.dry_run else f"changed: {edit.path}")
    for backup in backups:
        print(f"backup:  {backup}")
    if changing and after and not arguments.dry_run:
        print(after)
    return 0


def _as_data(client: Client, changing: list[Edit], backups: list[Path], *, dry_run: bool) -> dict[str, object]:
    return {
        "client": client.name,
        "changed": [str(edit.path) for edit in changing],
        "backups": [str(backup) for backup in backups],
        "diff": "".join(edit.diff() for edit in changing),
        "dry_run": dry_run,
    }


def _list(machine: Machine, *, as_json: bool) -> int:
    from deltos.clients.install import presence
    from deltos.clients.table import CLIENTS

    for client in CLIENTS:
        found = presence(client, machine)
        path = client.path(machine)
        if as_json:
            print_json(
                {"client": client.name, "title": client.title, "path": str(path), "state": _state(client, found)}
            )
        else:
            print(f"{client.name:<15} {_state(client, found):<28} {path}")
    return 0


def _state(client: Client, found: Presence) -> str:
    if found.trouble:
        return "unreadable"
    if not found.has_file:
        return "no configuration"
    if not found.has_server:
        return "not installed"
    if client.hooks is None:
        return "installed"
    return "installed, with hooks" if found.has_hooks else "installed, without hooks"
