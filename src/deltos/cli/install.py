"""`deltos install` and `deltos uninstall`: add Deltos to coding agents and editors, or remove it."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.cli.command import add_command, print_json
from deltos.cli.style import HIGHLIGHT, Column, print_table
from deltos.config import PROFILES
from deltos.errors import BadArgument, NotFound

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from typing import TextIO

    from deltos.cli.command import Subparsers
    from deltos.clients.install import Edit, Presence
    from deltos.clients.table import Client, Launch, Machine

_CLIENT_WITH_SUGGESTIONS = "claude-code"


def add_commands(subparsers: Subparsers) -> None:
    """Add the commands `install` and `uninstall`."""
    verb = add_command(subparsers, "install", _install)
    _add_options(verb)
    verb.add_argument(
        "--list", action="store_true", help="list the clients, their configuration files and whether they have Deltos"
    )
    verb.add_argument("--hooks", action="store_true", help="add the memory hooks (the default)")
    verb.add_argument("--no-hooks", action="store_true", help="add only the server, without the memory hooks")
    verb.add_argument("--suggest", action="store_true", help="Claude Code: suggest search_code once per session")
    verb.add_argument("--profile", default="", choices=PROFILES, help="lean: list seven tools instead of all")
    verb.add_argument(
        "--command", default="", help='command that starts Deltos, such as "uvx deltos"; default: the path of this one'
    )
    _add_options(add_command(subparsers, "uninstall", _uninstall))


def _add_options(verb: argparse.ArgumentParser) -> None:
    names = verb.add_argument("clients", nargs="*", metavar="CLIENT", help="name from `deltos install --list`")
    names.offered = _client_names  # type: ignore[attr-defined]  # for `deltos completion`, which calls it when it generates the script
    verb.add_argument("--all", action="store_true", help="all clients found on this machine")
    verb.add_argument(
        "--project", action="store_true", help="edit the files in this folder instead of the user's files"
    )
    verb.add_argument(
        "--rules", action="store_true", help="also write a rules file that explains the tools to the model"
    )
    verb.add_argument("--agents-md", action="store_true", help="also explain the tools in this folder's AGENTS.md")
    verb.add_argument("--dry-run", action="store_true", help="show the changes as a diff and write nothing")
    verb.add_argument("--yes", action="store_true", help="do not ask for confirmation")


def _client_names() -> tuple[str, ...]:
    from deltos.clients.table import CLIENTS

    return tuple(client.name for client in CLIENTS)


def _install(arguments: argparse.Namespace) -> int:
    from deltos.clients.install import agents_section_edits, install

    if arguments.list:
        return _list_clients(this_machine(), as_json=arguments.json)
    if arguments.hooks and arguments.no_hooks:
        raise BadArgument("--hooks and --no-hooks cannot be combined")
    machine = this_machine()
    clients = _choose_clients(arguments, machine)
    _check_options(arguments, clients)
    if not clients and not arguments.agents_md:
        return _report_nothing_changed()
    plans: list[tuple[Client | None, list[Edit]]] = []
    with_rules = arguments.rules or _wants_rules(clients, arguments)
    if clients:
        options = ("--profile", arguments.profile) if arguments.profile else ()
        launch = replace(_choose_launch_command(arguments, machine), options=options)
        for client in clients:
            suggests = arguments.suggest and client.name == _CLIENT_WITH_SUGGESTIONS
            edits = install(client, machine, launch, with_hooks=not arguments.no_hooks, suggests=suggests)
            plans.append(
                (
                    client,
                    [
                        *edits,
                        *(
                            _rules_edits(client, clients, machine, arguments)
                            if with_rules and (arguments.rules or client.rules)
                            else ()
                        ),
                    ],
                )
            )
    if arguments.agents_md:
        plans.append((None, agents_section_edits(Path.cwd())))
    return _apply_all(plans, arguments, unchanged_note="already has Deltos")


def _wants_rules(clients: list[Client], arguments: argparse.Namespace) -> bool:
    """Whether to write rules files that explain the tools. Ask only if no client or target was given."""
    was_asked = not (arguments.clients or arguments.all or arguments.agents_md or arguments.project)
    explained = [client.title for client in clients if client.rules]
    if not was_asked or not explained:
        return False
    question = (
        f"Also explain the tools to the model with a skill, rules and a subagent ({', '.join(explained)})? [Y/n] "
    )
    answer = _ask(question, sys.stdout)  # an empty answer at the end of input does not count as consent
    return bool(answer) and answer.strip().lower() not in ("n", "no")


def _rules_edits(client: Client, chosen: list[Client], machine: Machine, arguments: argparse.Namespace) -> list[Edit]:
    """Return the edits to a client's rules file. If the client has no rules file, print a note or raise BadArgument."""
    from deltos.clients.install import rules

    if client.rules is None and (not arguments.clients or any(other.rules for other in chosen)):
        print(f"{client.title} has no rules file.", file=sys.stderr)
        return []
    return rules(client, machine, profile=arguments.profile)


def _check_options(arguments: argparse.Namespace, clients: list[Client]) -> None:
    """Raise BadArgument for options that no given client supports. With --all, unsupported options are ignored."""
    if arguments.project:
        for option in ("hooks", "suggest", "rules"):
            if getattr(arguments, option):
                hint = "Use --agents-md." if option == "rules" else f"Omit --project or --{option}."
                raise BadArgument(
                    f"--{option} edits the user's files, but --project edits the files in this folder", hint=hint
                )
    if arguments.suggest and not any(client.name == _CLIENT_WITH_SUGGESTIONS for client in clients):
        raise BadArgument(
            "--suggest works only with Claude Code", hint=f"Pass {_CLIENT_WITH_SUGGESTIONS}, or omit --suggest."
        )
    for client in clients if arguments.hooks and arguments.clients else ():
        if client.hooks is None and client.plugin is None:
            raise BadArgument(f"{client.title} has no hooks", hint="Omit --hooks to add only the server.")


def _report_nothing_changed() -> int:
    print("Nothing was changed.", file=sys.stderr)
    return 1


def _uninstall(arguments: argparse.Namespace) -> int:
    from deltos.clients.install import agents_section_edits, has_agents_section, rules, uninstall

    machine = this_machine()
    clients = _choose_clients(arguments, machine, only_installed=True)
    has_section = has_agents_section(Path.cwd())
    removes_section = arguments.agents_md or (arguments.all and has_section)
    if not clients and not removes_section:
        if not arguments.all:  # the user was asked and chose no client
            return _report_nothing_changed()
        print(f"No client {_project_suffix(arguments)}has Deltos.", file=sys.stderr)
        return 0
    plans: list[tuple[Client | None, list[Edit]]] = [
        (client, [*uninstall(client, machine), *rules(client, machine, remove=True)]) for client in clients
    ]
    if removes_section:
        plans.append((None, agents_section_edits(Path.cwd(), remove=True)))
    elif has_section:
        text = "AGENTS.md in this folder has a paragraph about Deltos"
        print(f"{text}. `deltos uninstall --agents-md` removes it.", file=sys.stderr)
    _print_project_files(arguments, clients, machine)
    return _apply_all(plans, arguments, unchanged_note="does not have Deltos")


def _project_suffix(arguments: argparse.Namespace) -> str:
    """Return the words added to messages about an installation in the current folder, or an empty string."""
    return "in this folder " if arguments.project else ""


def _print_project_files(arguments: argparse.Namespace, clients: list[Client], machine: Machine) -> None:
    """Print a note for each client whose configuration in this folder still contains Deltos."""
    from deltos.clients.install import presence
    from deltos.clients.table import client_in_project

    for client in clients if not arguments.project else ():
        if client.project_path and presence(client_in_project(client, Path.cwd()), machine).has_server:
            text = f"{client.project_path} in this folder still has Deltos"
            print(f"{text}. `deltos uninstall {client.name} --project` removes it.", file=sys.stderr)


def _choose_clients(arguments: argparse.Namespace, machine: Machine, *, only_installed: bool = False) -> list[Client]:
    """Return the given clients, all clients found, or the clients that the user picks."""
    from deltos.clients.install import presence
    from deltos.clients.table import CLIENTS, client_in_project, client_named

    def with_location(client: Client) -> Client:
        return client_in_project(client, Path.cwd()) if arguments.project else client

    if arguments.clients:
        return [with_location(client_named(name)) for name in arguments.clients]
    if arguments.agents_md and not arguments.all:
        return []
    known = [client for client in CLIENTS if client.project_path or not arguments.project]
    if only_installed:  # includes clients that were uninstalled but left their configuration
        found = [client for client in known if presence(with_location(client), machine).has_anything]
    else:
        found = [client for client in known if is_client_present(client, machine)]
    return [with_location(client) for client in (found if arguments.all else _ask_for_clients(found, arguments))]


def is_client_present(client: Client, machine: Machine) -> bool:
    """Whether the client has been used on this machine or can be started."""
    paths = [client.path(machine), *([client.hooks.path(machine)] if client.hooks else [])]
    # The home folder exists even if the client was never used.
    folders = {path.parent for path in paths} - {machine.home}
    return paths[0].exists() or any(map(Path.is_dir, folders)) or any(map(shutil.which, client.programs))


def _ask_for_clients(found: list[Client], arguments: argparse.Namespace) -> list[Client]:
    """Ask the user to choose clients. Raise BadArgument if there is no terminal."""
    names = ", ".join(client.name for client in found)
    if arguments.json or not sys.stdin.isatty():
        hint = (
            f"Found here: {names}. Pass some of these names, or use --all." if found else "See `deltos install --list`."
        )
        raise BadArgument("No client is given", hint=hint)
    if not found:
        raise NotFound(
            "No client was found on this machine", hint="`deltos install --list` lists all supported clients."
        )
    print(f"Found on this machine: {names}")
    while True:
        answer = _ask("Which clients? Names separated by spaces; Enter for all; n for none: ", sys.stdout)
        try:
            return _parse_client_names(answer, found)
        except BadArgument as exc:  # unknown name: ask again
            print(exc)


def _parse_client_names(answer: str, found: list[Client]) -> list[Client]:
    from deltos.clients.table import client_named

    words = answer.replace(",", " ").split()
    if not answer or words in (["n"], ["no"], ["none"]):
        return []
    return [client_named(word) for word in words] if words and words not in (["y"], ["yes"], ["all"]) else found


def _ask(question: str, out: TextIO) -> str:
    """Ask the user a question and return the answer, which is empty at the end of input and after Ctrl-C."""
    try:
        print(question, end="", flush=True, file=out)
        return sys.stdin.readline()
    except KeyboardInterrupt:
        print(file=out)
        return ""


def this_machine() -> Machine:
    """Return the home folder, environment and platform of this machine."""
    from deltos.clients.table import Machine

    return Machine(Path.home(), os.environ, sys.platform)


def find_launch(command: str, environ: Mapping[str, str]) -> Launch | None:
    """Return the command that starts Deltos, or None if Deltos runs only from uv's cache, which uv may delete."""
    # The command is an absolute path, because editors that are started from a desktop do not have the shell's PATH.
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
    from deltos.clients.uv import stable_path

    script = Path(sys.executable).with_name("deltos.exe" if sys.platform == "win32" else "deltos")
    if script.exists():
        return Launch(str(stable_path(script)))
    from deltos.isolated.launch import find_module_command  # deferred import: rarely needed

    program, *words = find_module_command()
    return Launch(program, tuple(words))


def _choose_launch_command(arguments: argparse.Namespace, machine: Machine) -> Launch:
    """Return the command to write: `deltos` in shared project files, or a permanent absolute path in user files."""
    from deltos.clients.table import Launch
    from deltos.clients.uv import install_tool, installation_origin, requirement

    if arguments.project and not arguments.command:
        return Launch("deltos")
    if (launch := find_launch(arguments.command, machine.environ)) is not None:
        return launch
    from deltos import __version__

    text = "This Deltos runs from uv's cache, which uv may delete."
    if arguments.dry_run:
        raise BadArgument(text, hint="Run `uv tool install deltos` first.")
    out = sys.stderr if arguments.json else sys.stdout
    print(f"{text} `uv tool install deltos` installs it permanently.", file=out)
    if not arguments.yes and not _confirm("Install it now? [Y/n] ", out):
        raise BadArgument(
            "Deltos is not installed permanently", hint="Run `uv tool install deltos`, then `deltos install`."
        )
    print("Installing …", file=out, flush=True)
    return Launch(str(install_tool(requirement(__version__, installation_origin()))))


def _confirm(question: str, out: TextIO) -> bool:
    """Ask a yes-or-no question and return whether the user agrees. Without a terminal, return false."""
    if not sys.stdin.isatty():
        return False
    answer = _ask(question, out)
    return bool(answer) and answer.strip().lower() in ("", "y", "yes")


def _apply_all(
    plans: list[tuple[Client | None, list[Edit]]], arguments: argparse.Namespace, *, unchanged_note: str
) -> int:
    """Write all planned edits. Write none if one of the files cannot be edited or the user does not agree."""
    if not _may_write([edit for _, edits in plans for edit in edits if edit.is_change], arguments):
        return _report_nothing_changed()
    for client, edits in plans:
        title = client.title if client else str(Path.cwd() / "AGENTS.md")
        after = _next_steps(client, arguments) if client and "already" in unchanged_note else ""
        _apply_edits(
            client.name if client else "AGENTS.md",
            edits,
            arguments,
            after=after,
            unchanged_note=f"{title} {unchanged_note}.",
        )
    return 0


def _next_steps(client: Client, arguments: argparse.Namespace) -> str:
    """Return the remaining steps for the user, including steps for hooks that were added."""
    hook_steps = client.hooks.next_step if client.hooks and not arguments.no_hooks else ""
    return f"{client.next_step} {hook_steps}".rstrip()


def _may_write(changing: list[Edit], arguments: argparse.Namespace) -> bool:
    """Show the edits as a diff if they include instructions for a model, and return whether the user agrees."""
    asked = arguments.rules or arguments.agents_md or getattr(arguments, "suggest", False)
    if not asked or not changing or arguments.json or arguments.dry_run:
        return True
    for edit in changing:
        print(edit.diff())
    return arguments.yes or not sys.stdin.isatty() or _confirm("Write these changes? [Y/n] ", sys.stdout)


def _apply_edits(
    name: str, edits: list[Edit], arguments: argparse.Namespace, *, after: str, unchanged_note: str
) -> None:
    from deltos.clients.config_files import backups_of
    from deltos.clients.install import write

    changing = [edit for edit in edits if edit.is_change]
    if arguments.json:
        backups = [] if arguments.dry_run else write(changing)
        print_json(_as_data(name, changing, backups, dry_run=arguments.dry_run))
        return
    if not changing:
        print(unchanged_note)
    backups = [] if arguments.dry_run else write(changing)
    for edit in changing:
        print(edit.diff() if arguments.dry_run else f"{'removed' if edit.is_removal else 'changed'}: {edit.path}")
    for backup in backups:
        print(f"backup:  {backup}")
    for edit in changing if not arguments.dry_run else ():
        for backup in backups_of(edit.path) if edit.is_unchanged else ():
            print(f"kept:    {backup} (an earlier version of the file, with settings that have since been removed)")
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


def _list_clients(machine: Machine, *, as_json: bool) -> int:
    from deltos.clients.install import presence
    from deltos.clients.table import CLIENTS

    rows = []
    for client in CLIENTS:
        state, path = _installation_state(client, presence(client, machine)), str(client.path(machine))
        rows.append((client.name, state, path))
        if as_json:
            print_json({"client": client.name, "title": client.title, "path": path, "state": state})
    if not as_json:
        columns = (Column("client", HIGHLIGHT), Column("state"), Column("file"))
        print_table(columns, rows, [f"{name:<15} {state:<28} {path}" for name, state, path in rows])
    return 0


def _installation_state(client: Client, found: Presence) -> str:
    if found.trouble:
        return "unreadable"
    if not found.has_file:
        return "no configuration"
    if not found.has_server:
        return "not installed"
    if client.hooks is None and client.plugin is None:
        return "installed"
    return "installed, with hooks" if found.has_hooks else "installed, without hooks"
