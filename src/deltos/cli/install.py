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
    from collections.abc import Mapping
    from typing import TextIO

    from deltos.cli.command import Subparsers
    from deltos.clients.install import Edit, Presence
    from deltos.clients.table import Client, Launch, Machine

_SUGGESTED_TO = "claude-code"


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
    from deltos.clients.install import agents_paragraph, install

    if arguments.list:
        return _list(this_machine(), as_json=arguments.json)
    if arguments.hooks and arguments.no_hooks:
        raise BadArgument("--hooks and --no-hooks contradict each other")
    machine = this_machine()
    clients = _chosen(arguments, machine)
    _refuse_what_would_be_left_out(arguments, clients)
    if not clients and not arguments.agents_md:
        return _nothing_changed()
    plans: list[tuple[Client | None, list[Edit]]] = []
    if clients:
        options = ("--profile", arguments.profile) if arguments.profile else ()
        launch = replace(_launch(arguments, machine), options=options)
        for client in clients:
            suggests = arguments.suggest and client.name == _SUGGESTED_TO
            edits = install(client, machine, launch, with_hooks=not arguments.no_hooks, suggests=suggests)
            plans.append((client, [*edits, *(_rules(client, clients, machine, arguments) if arguments.rules else ())]))
    if arguments.agents_md:
        plans.append((None, agents_paragraph(Path.cwd())))
    return _carry_out_all(plans, arguments, nothing="already has Deltos")


def _rules(client: Client, chosen: list[Client], machine: Machine, arguments: argparse.Namespace) -> list[Edit]:
    """The file of rules; a client without one is named, and an error where nobody who was named has one."""
    from deltos.clients.install import rules

    if client.rules is None and (not arguments.clients or any(other.rules for other in chosen)):
        print(f"{client.title} has no file for rules of its own.", file=sys.stderr)
        return []
    return rules(client, machine, profile=arguments.profile)


def _refuse_what_would_be_left_out(arguments: argparse.Namespace, clients: list[Client]) -> None:
    """An option that cannot be followed is an error; --all means those for which it can be."""
    if arguments.project:
        for option in ("hooks", "suggest", "rules"):
            if getattr(arguments, option):
                hint = "Use --agents-md." if option == "rules" else f"Leave --project out, or --{option}."
                raise BadArgument(f"--{option} writes the user's own files, --project those of this folder", hint=hint)
    if arguments.suggest and not any(client.name == _SUGGESTED_TO for client in clients):
        raise BadArgument("--suggest is a hook of Claude Code", hint=f"Name {_SUGGESTED_TO}, or leave --suggest out.")
    for client in clients if arguments.hooks and arguments.clients else ():
        if client.hooks is None and client.plugin is None:
            raise BadArgument(f"{client.title} has no hooks", hint="Leave --hooks out to add the server.")


def _nothing_changed() -> int:
    print("Nothing was changed.", file=sys.stderr)
    return 1


def _uninstall(arguments: argparse.Namespace) -> int:
    from deltos.clients.install import agents_paragraph, has_agents_paragraph, rules, uninstall

    machine = this_machine()
    clients = _chosen(arguments, machine, only_having=True)
    has_paragraph = has_agents_paragraph(Path.cwd())
    takes_paragraph = arguments.agents_md or (arguments.all and has_paragraph)
    if not clients and not takes_paragraph:
        if not arguments.all:  # the user was asked, and wants none
            return _nothing_changed()
        print(f"No client {_where(arguments)}has Deltos.", file=sys.stderr)
        return 0
    plans: list[tuple[Client | None, list[Edit]]] = [
        (client, [*uninstall(client, machine), *rules(client, machine, remove=True)]) for client in clients
    ]
    if takes_paragraph:
        plans.append((None, agents_paragraph(Path.cwd(), remove=True)))
    elif has_paragraph:
        told = "AGENTS.md in this folder has a paragraph about Deltos"
        print(f"{told}: `deltos uninstall --agents-md` takes it out.", file=sys.stderr)
    _tell_of_project(arguments, clients, machine)
    return _carry_out_all(plans, arguments, nothing="does not have Deltos")


def _where(arguments: argparse.Namespace) -> str:
    return "in this folder " if arguments.project else ""


def _tell_of_project(arguments: argparse.Namespace, clients: list[Client], machine: Machine) -> None:
    """Files in this folder that stay, because they are the project's."""
    from deltos.clients.install import presence
    from deltos.clients.table import in_folder

    for client in clients if not arguments.project else ():
        if client.in_project and presence(in_folder(client, Path.cwd()), machine).has_server:
            told = f"{client.in_project} in this folder has Deltos too, for all who work on it"
            print(f"{told}: `deltos uninstall {client.name} --project` takes it out.", file=sys.stderr)


def _chosen(arguments: argparse.Namespace, machine: Machine, *, only_having: bool = False) -> list[Client]:
    """The clients that are named, or all that are found, or those that the user picks of them."""
    from deltos.clients.install import presence
    from deltos.clients.table import CLIENTS, client_named, in_folder

    def placed(client: Client) -> Client:
        return in_folder(client, Path.cwd()) if arguments.project else client

    if arguments.clients:
        return [placed(client_named(name)) for name in arguments.clients]
    if arguments.agents_md and not arguments.all:
        return []
    known = [client for client in CLIENTS if client.in_project or not arguments.project]
    if only_having:  # whoever left something here, also if the client itself is gone
        found = [client for client in known if presence(placed(client), machine).has_anything]
    else:
        found = [client for client in known if is_here(client, machine)]
    return [placed(client) for client in (found if arguments.all else _picked(found, arguments))]


def is_here(client: Client, machine: Machine) -> bool:
    """Whether the client was ever used on this machine, or can be started."""
    paths = [client.path(machine), *([client.hooks.path(machine)] if client.hooks else [])]
    folders = {path.parent for path in paths} - {machine.home}  # where files of many lie
    return paths[0].exists() or any(map(Path.is_dir, folders)) or any(map(shutil.which, client.programs))


def _picked(found: list[Client], arguments: argparse.Namespace) -> list[Client]:
    """Those of the clients that the user wants; raises BadArgument where nobody can be asked."""
    names = ", ".join(client.name for client in found)
    if arguments.json or not sys.stdin.isatty():
        hint = f"Found here: {names}; --all takes them all." if found else "`deltos install --list` names them."
        raise BadArgument("Which client?", hint=hint)
    if not found:
        raise NotFound(
            "No client was found on this machine", hint="`deltos install --list` names those that are known."
        )
    print(f"Found on this machine: {names}")
    while True:
        answer = _asked("Which? Names, separated by spaces; Enter for all of them; n for none: ", sys.stdout)
        try:
            return _meant(answer, found)
        except BadArgument as exc:  # a name that was mistyped
            print(exc)


def _meant(answer: str, found: list[Client]) -> list[Client]:
    from deltos.clients.table import client_named

    words = answer.replace(",", " ").split()
    if not answer or words in (["n"], ["no"], ["none"]):
        return []
    return [client_named(word) for word in words] if words and words not in (["y"], ["yes"], ["all"]) else found


def _asked(question: str, out: TextIO) -> str:
    """The line that the user answers with; empty where there is none, also after Ctrl-C: nothing is written yet."""
    try:
        print(question, end="", flush=True, file=out)
        return sys.stdin.readline()
    except KeyboardInterrupt:
        print(file=out)
        return ""


def this_machine() -> Machine:
    from deltos.clients.table import Machine

    return Machine(Path.home(), os.environ, sys.platform)


def find_launch(command: str, environ: Mapping[str, str]) -> Launch | None:
    """The command to write, absolute: editors started from a desktop do not know the shell's PATH.

    None where the only one lies in uv's cache, which uv may empty.
    """
    from deltos.clients.table import Launch
    from deltos.clients.uv import installed_tool, is_in_cache

    if command:
        words = shlex.split(command, posix=sys.platform != "win32")
        return Launch(words[0], tuple(words[1:]))
    launch = _this_command()
    if not is_in_cache(Path(launch.program), environ):
        return launch
    tool = installed_tool(environ)
    return None if tool is None else Launch(str(tool))


def _this_command() -> Launch:
    from deltos.clients.table import Launch
    from deltos.clients.uv import started_as

    script = Path(sys.executable).with_name("deltos.exe" if sys.platform == "win32" else "deltos")
    if script.exists():
        return Launch(str(started_as(script)))
    from deltos.isolated.launch import find_module_command  # deferred: most have the script

    program, *words = find_module_command()
    return Launch(program, tuple(words))


def _launch(arguments: argparse.Namespace, machine: Machine) -> Launch:
    """What to write: in a project, which others check out, a name; elsewhere a path that will still be there."""
    from deltos.clients.table import Launch
    from deltos.clients.uv import install_tool, own_origin, requirement

    if arguments.project and not arguments.command:
        return Launch("deltos")
    if (launch := find_launch(arguments.command, machine.environ)) is not None:
        return launch
    from deltos import __version__

    told = "This Deltos runs from uv's cache, which uv may empty."
    if arguments.dry_run:
        raise BadArgument(told, hint="Run `uv tool install deltos` first.")
    out = sys.stderr if arguments.json else sys.stdout
    print(f"{told} `uv tool install deltos` makes one that stays, and starts without asking for packages.", file=out)
    if not arguments.yes and not _agrees("Install it now? [Y/n] ", out):
        raise BadArgument("There is no Deltos that stays", hint="Run `uv tool install deltos`, then `deltos install`.")
    print("Installing …", file=out, flush=True)
    return Launch(str(install_tool(requirement(__version__, own_origin()))))


def _agrees(question: str, out: TextIO) -> bool:
    """Whether the user agrees, who is asked only at a terminal."""
    if not sys.stdin.isatty():
        return False
    answer = _asked(question, out)
    return bool(answer) and answer.strip().lower() in ("", "y", "yes")


def _carry_out_all(
    plans: list[tuple[Client | None, list[Edit]]], arguments: argparse.Namespace, *, nothing: str
) -> int:
    """Write what changes; nothing of any client where one cannot be edited, or where the user does not agree."""
    if not _may_write([edit for _, edits in plans for edit in edits if edit.is_change], arguments):
        return _nothing_changed()
    for client, edits in plans:
        title = client.title if client else str(Path.cwd() / "AGENTS.md")
        after = _afterwards(client, arguments) if client and "already" in nothing else ""
        _carry_out(client.name if client else "AGENTS.md", edits, arguments, after=after, nothing=f"{title} {nothing}.")
    return 0


def _afterwards(client: Client, arguments: argparse.Namespace) -> str:
    """What the user has to do next; of hooks only where they were added."""
    of_hooks = client.hooks.afterwards if client.hooks and not arguments.no_hooks else ""
    return f"{client.afterwards} {of_hooks}".rstrip()


def _may_write(changing: list[Edit], arguments: argparse.Namespace) -> bool:
    """Before anything that tells a model what to do is written, the user sees it, and at a terminal agrees to it."""
    asked = arguments.rules or arguments.agents_md or getattr(arguments, "suggest", False)
    if not asked or not changing or arguments.json or arguments.dry_run:
        return True
    for edit in changing:
        print(edit.diff())
    return arguments.yes or not sys.stdin.isatty() or _agrees("Write that? [Y/n] ", sys.stdout)


def _carry_out(name: str, edits: list[Edit], arguments: argparse.Namespace, *, after: str, nothing: str) -> None:
    from deltos.clients.files import backups_of
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
    for edit in changing if not arguments.dry_run else ():
        for backup in backups_of(edit.path) if edit.is_unchanged else ():
            print(f"kept:    {backup} (the file as it was earlier, with settings that it does not have now)")
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
