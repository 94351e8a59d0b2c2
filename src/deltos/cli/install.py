"""`deltos install` and `deltos uninstall`: connect a coding agent or editor to Deltos, or disconnect it."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.cli.command import add_verb, print_json
from deltos.cli.looks import MARKED, Column, print_table
from deltos.config import PROFILES
from deltos.errors import BadArgument, NotFound

if TYPE_CHECKING:
    import argparse

    from deltos.cli.command import Subparsers
    from deltos.clients.install import Edit, Presence
    from deltos.clients.table import Client, Launch, Machine


def add_commands(subparsers: Subparsers) -> None:
    """Add `install` and `uninstall`."""
    verb = add_verb(subparsers, "install", _install, "add Deltos to coding agents and editors; without names it asks")
    _add_options(verb)
    verb.add_argument("--list", action="store_true", help="list the clients, their files and whether they have Deltos")
    verb.add_argument("--hooks", action="store_true", help="add the hooks that feed memory too, as it does anyway")
    verb.add_argument("--no-hooks", action="store_true", help="add the server only, not the hooks that feed memory")
    verb.add_argument("--suggest", action="store_true", help="Claude Code: a hook that suggests search_code, once")
    verb.add_argument("--profile", default="", choices=PROFILES, help="lean lists six tools instead of all")
    verb.add_argument("--command", default="", help='how to start Deltos, say "uvx deltos"; default: this very one')
    _add_options(add_verb(subparsers, "uninstall", _uninstall, "take Deltos out of the configuration of clients"))


def _add_options(verb: argparse.ArgumentParser) -> None:
    names = verb.add_argument("clients", nargs="*", metavar="CLIENT", help="as `deltos install --list` names them")
    names.offered = _names  # type: ignore[attr-defined]  # for completion, which asks when it is written
    verb.add_argument("--all", action="store_true", help="all clients that are found on this machine")
    verb.add_argument("--project", action="store_true", help="the files in this folder, for all who work on it")
    verb.add_argument(
        "--rules", action="store_true", help="also a file that tells the client's model which tool is for what"
    )
    verb.add_argument("--agents-md", action="store_true", help="a paragraph of that kind in this folder's AGENTS.md")
    verb.add_argument("--dry-run", action="store_true", help="show the changes as a diff and write nothing")
    verb.add_argument("--yes", action="store_true", help="do not ask")


def _names() -> tuple[str, ...]:
    from deltos.clients.table import CLIENTS

    return tuple(client.name for client in CLIENTS)


def _install(arguments: argparse.Namespace) -> int:
    from deltos.clients.install import agents_paragraph, install, rules

    if arguments.list:
        return _list(this_machine(), as_json=arguments.json)
    if arguments.hooks and arguments.no_hooks:
        raise BadArgument("--hooks and --no-hooks contradict each other")
    machine = this_machine()
    clients = _chosen(arguments, machine)
    if not clients and not arguments.agents_md:
        print("Nothing was changed.", file=sys.stderr)
        return 1
    plans: list[tuple[Client | None, list[Edit]]] = []
    if clients:
        launch = replace(_launch(arguments, machine), profile=arguments.profile)
        for client in clients:
            if arguments.hooks and client.hooks is None and client.plugin is None:
                raise BadArgument(f"{client.title} has no hooks", hint="Leave --hooks out to add the server.")
            suggests = arguments.suggest and client.name == "claude-code"
            edits = install(client, machine, launch, with_hooks=not arguments.no_hooks, suggests=suggests)
            plans.append((client, [*edits, *(rules(client, machine) if arguments.rules else ())]))
    if arguments.agents_md:
        plans.append((None, agents_paragraph(Path.cwd())))
    return _carry_out_all(plans, arguments, nothing="already has Deltos")


def _uninstall(arguments: argparse.Namespace) -> int:
    from deltos.clients.install import agents_paragraph, rules, uninstall

    machine = this_machine()
    clients = _chosen(arguments, machine, only_having=True)
    plans: list[tuple[Client | None, list[Edit]]] = [
        (client, [*uninstall(client, machine), *rules(client, machine, remove=True)]) for client in clients
    ]
    if arguments.agents_md:
        plans.append((None, agents_paragraph(Path.cwd(), remove=True)))
    return _carry_out_all(plans, arguments, nothing="does not have Deltos")


def _chosen(arguments: argparse.Namespace, machine: Machine, *, only_having: bool = False) -> list[Client]:
    """The clients that are named, or all that are found, or those that the user picks of them."""
    from deltos.clients.install import presence
    from deltos.clients.table import CLIENTS, client_named, in_folder

    if arguments.clients:
        named = [client_named(name) for name in arguments.clients]
    elif arguments.agents_md and not arguments.all:
        return []
    else:
        found = [client for client in CLIENTS if is_here(client, machine)]
        if only_having:
            found = [client for client in found if presence(client, machine).has_server]
        named = found if arguments.all else _picked(found, arguments)
    return [in_folder(client, Path.cwd()) for client in named] if arguments.project else named


def is_here(client: Client, machine: Machine) -> bool:
    """Whether the client was ever used on this machine, or can be started."""
    path = client.path(machine)
    folder = path.parent
    return path.exists() or (folder.is_dir() and folder != machine.home) or any(map(shutil.which, client.programs))


def _picked(found: list[Client], arguments: argparse.Namespace) -> list[Client]:
    """Those of the clients that the user wants; raises BadArgument where nobody can be asked."""
    from deltos.clients.table import client_named

    names = ", ".join(client.name for client in found)
    if arguments.json or not sys.stdin.isatty():
        hint = f"Found here: {names}; --all takes them all." if found else "`deltos install --list` names them."
        raise BadArgument("Which client?", hint=hint)
    if not found:
        raise NotFound(
            "No client was found on this machine", hint="`deltos install --list` names those that are known."
        )
    print(f"Found on this machine: {names}")
    print("Which? Names, separated by spaces; Enter for all of them; n for none: ", end="", flush=True)
    answer = sys.stdin.readline()
    words = answer.replace(",", " ").split()
    if not answer or words in (["n"], ["no"], ["none"]):
        return []
    return [client_named(word) for word in words] if words and words not in (["y"], ["yes"], ["all"]) else found


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


def _launch(arguments: argparse.Namespace, machine: Machine) -> Launch:
    """What to write: in a project, which others check out, a name; elsewhere a path that will still be there."""
    from deltos.clients.table import Launch
    from deltos.clients.uv import install_tool, installed_tool, is_in_cache

    if arguments.project and not arguments.command:
        return Launch("deltos")
    launch = find_launch(arguments.command)
    if arguments.command or not is_in_cache(Path(launch.program), machine.environ):
        return launch
    if (tool := installed_tool(machine.environ)) is not None:
        return Launch(str(tool))
    from deltos import __version__

    told = "This Deltos runs from uv's cache, which uv may empty."
    if arguments.dry_run:
        raise BadArgument(told, hint="Run `uv tool install deltos` first.")
    print(f"{told} `uv tool install deltos` makes one that stays, and starts without asking for packages.")
    if not arguments.yes and not _agrees("Install it now? [Y/n] "):
        raise BadArgument("There is no Deltos that stays", hint="Run `uv tool install deltos`, then `deltos install`.")
    return Launch(str(install_tool(f"deltos=={__version__}")))


def _agrees(question: str) -> bool:
    """Whether the user agrees, who is asked only at a terminal."""
    if not sys.stdin.isatty():
        return False
    print(question, end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("", "y", "yes")


def _carry_out_all(
    plans: list[tuple[Client | None, list[Edit]]], arguments: argparse.Namespace, *, nothing: str
) -> int:
    """Write what changes; nothing of any client where one cannot be edited, or where the user does not agree."""
    if not _may_write([edit for _, edits in plans for edit in edits if edit.is_change], arguments):
        print("Nothing was changed.", file=sys.stderr)
        return 1
    for client, edits in plans:
        title = client.title if client else str(Path.cwd() / "AGENTS.md")
        after = client.afterwards if client and "already" in nothing else ""
        _carry_out(client.name if client else "AGENTS.md", edits, arguments, after=after, nothing=f"{title} {nothing}.")
    return 0


def _may_write(changing: list[Edit], arguments: argparse.Namespace) -> bool:
    """Before anything that tells a model what to do is written, the user sees it, and at a terminal agrees to it."""
    asked = arguments.rules or arguments.agents_md or getattr(arguments, "suggest", False)
    if not asked or not changing or arguments.json or arguments.dry_run:
        return True
    for edit in changing:
        print(edit.diff())
    return arguments.yes or not sys.stdin.isatty() or _agrees("Write that? [Y/n] ")


def _carry_out(name: str, edits: list[Edit], arguments: argparse.Namespace, *, after: str, nothing: str) -> None:
    from deltos.clients.install import write

    changing = [edit for edit in edits if edit.is_change]
    if arguments.json:
        backups = [] if arguments.dry_run else write(changing)
        print_json(_as_data(name, changing, backups, dry_run=arguments.dry_run))
        return
    if not changing:
        print(nothing)
    backups = [] if arguments.dry_run else write(changing)
    for edit in changing:
        print(edit.diff() if arguments.dry_run else f"{'removed' if edit.is_removal else 'changed'}: {edit.path}")
    for backup in backups:
        print(f"backup:  {backup}")
    if changing and after and not arguments.dry_run:
        print(after)


def _as_data(name: str, changing: list[Edit], backups: list[Path], *, dry_run: bool) -> dict[str, object]:
    return {
        "client": name,
        "changed": [str(edit.path) for edit in changing],
        "backups": [str(backup) for backup in backups],
        "diff": "".join(edit.diff() for edit in changing),
        "dry_run": dry_run,
    }


def _list(machine: Machine, *, as_json: bool) -> int:
    from deltos.clients.install import presence
    from deltos.clients.table import CLIENTS

    rows = []
    for client in CLIENTS:
        state, path = _state(client, presence(client, machine)), str(client.path(machine))
        rows.append((client.name, state, path))
        if as_json:
            print_json({"client": client.name, "title": client.title, "path": path, "state": state})
    if not as_json:
        columns = (Column("client", MARKED), Column("state"), Column("file"))
        print_table(columns, rows, [f"{name:<15} {state:<28} {path}" for name, state, path in rows])
    return 0


def _state(client: Client, found: Presence) -> str:
    if found.trouble:
        return "unreadable"
    if not found.has_file:
        return "no configuration"
    if not found.has_server:
        return "not installed"
    if client.hooks is None and client.plugin is None:
        return "installed"
    return "installed, with hooks" if found.has_hooks else "installed, without hooks"
