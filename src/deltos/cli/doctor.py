"""`deltos doctor`: is everything that Deltos needs in order?"""

from __future__ import annotations

import platform
import shutil
import sys
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from deltos.cli.command import add_verb, print_json
from deltos.cli.looks import BAD, GOOD, MARKED, Styled, print_styled
from deltos.config import Config
from deltos.store.private import is_open_to_others, make_private_folder, write_private

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from deltos.cli.command import Subparsers
    from deltos.clients.install import Presence
    from deltos.clients.table import Client, Launch, Machine
    from deltos.store.project import KnownIndex

_LEAST_FREE_BYTES = 500_000_000  # a large repository's index, and SQLite's copies while it writes
_REBUILT = "It is set aside and built again when it is next used."
_ADVICE = {
    "library.db": "It is set aside when it is next used; then add the sources again.",
    "memory.db": "Run `deltos memory check`: it sets the file aside and brings back what can still be read.",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `mend` does what `fix` says, where anything can be done."""

    what: str
    ok: bool
    detail: str
    fix: str = ""
    mend: Callable[[], None] | None = None


def add_commands(subparsers: Subparsers) -> None:
    """Add `doctor`."""
    verb = add_verb(
        subparsers, "doctor", _doctor, "check versions, folders, indexes, grammars and the clients that have Deltos"
    )
    verb.add_argument("--fix", action="store_true", help="mend what can be mended; asks first")
    verb.add_argument("--yes", action="store_true", help="with --fix: do not ask")


def _doctor(arguments: argparse.Namespace) -> int:
    findings = []
    config = Config.from_environment()
    for finding in examine(config.home, config.database):
        findings.append(finding)
        if arguments.json:
            fix = {"fix": finding.fix} if finding.fix else {}
            print_json({"what": finding.what, "ok": finding.ok, "detail": finding.detail, **fix})
        else:
            _print(finding)
    mendable = [finding for finding in findings if finding.mend]
    mended = _mend(mendable, arguments) if arguments.fix else False
    if mendable and not arguments.fix and not arguments.json:
        print(f"`deltos doctor --fix` would: {'; '.join(finding.fix for finding in mendable)}.")
    bad = [finding for finding in findings if not finding.ok and not (mended and finding.mend)]
    return 1 if bad else 0


def _print(finding: Finding) -> None:
    look = Styled("note", MARKED) if finding.fix else Styled("ok  ", GOOD)
    print_styled(look if finding.ok else Styled("BAD ", BAD), Styled(f" {finding.what}: {finding.detail}"))


def _mend(findings: list[Finding], arguments: argparse.Namespace) -> bool:
    """Do what can be done, if the user agrees; whether it was done."""
    if not findings:
        print("There is nothing to mend.", file=sys.stderr)
        return False
    if not arguments.yes:
        for finding in findings:
            print(f"- {finding.fix}", file=sys.stderr)
        print("Do that? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            print("Nothing was changed.", file=sys.stderr)
            return False
    for finding in findings:
        if finding.mend:
            finding.mend()
            print(f"done: {finding.fix}", file=sys.stderr if arguments.json else sys.stdout)
    return True


def examine(home: Path, database: str = "") -> Iterator[Finding]:
    """Everything worth knowing, one finding at a time."""
    python = f"Python {platform.python_version()} on {sys.platform}"
    yield Finding("deltos", ok=True, detail=f"{_version('deltos')}, {python}")
    yield _sqlite()
    yield Finding("mcp", ok=_version("mcp") != "", detail=_version("mcp") or "not installed")
    yield _data_folder(home)
    yield _grammars()
    yield _disk(home)
    yield from _indexes(home)
    usable = True
    if database:
        found = _database(database)
        usable = found.ok
        yield found
    if usable:
        yield from _superfluous(home, database)
    yield from _clients()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _sqlite() -> Finding:
    from deltos.store.sqlite.database import describe_engine

    version, has_fts5 = describe_engine()
    detail = f"{version} with FTS5" if has_fts5 else f"{version} without FTS5; use another Python build"
    return Finding("sqlite", ok=has_fts5, detail=detail)


def _data_folder(home: Path) -> Finding:
    probe = home / ".writable"
    try:
        make_private_folder(home)
        write_private(probe, "")
        probe.unlink()
    except OSError as exc:
        return Finding("data folder", ok=False, detail=f"{home}: {exc.strerror}; set DELTOS_HOME to a writable folder")
    if is_open_to_others(home):
        advice = "other users can see what it contains; set DELTOS_HOME to a folder of its own"
        return Finding("data folder", ok=True, detail=f"{home}: {advice}")
    return Finding("data folder", ok=True, detail=str(home))


def _grammars() -> Finding:
    from deltos.languages.grammar import missing_grammars, self_test  # deferred: loads every grammar
    from deltos.languages.table import LANGUAGES

    problems, missing = self_test(), missing_grammars()
    count = sum(bool(language.grammar) for language in LANGUAGES) - len(missing)
    detail = "; ".join(problems) or f"{'' if missing else 'all '}{count} load and parse"
    if missing:
        detail += f"; not installed, so indexed by lines and without a graph: {', '.join(missing)}"
    return Finding("grammars", ok=not problems, detail=detail)


def _unread(path: Path, project: KnownIndex | None) -> list[str]:
    """What an index knows to be missing from it."""
    from deltos.cli.status import UNFINISHED
    from deltos.store.sqlite.apis import glance_unread
    from deltos.store.sqlite.library import FILE_NAME
    from deltos.workspace.failures import summaries

    if path.name == FILE_NAME:
        return [f"{row.document} could not be read: {row.reason}" for row in glance_unread(path)]
    if project is None:
        return []
    unfinished = [] if project.is_finished else [UNFINISHED]
    history = [f"history: {project.history}"] if project.history else []
    return [*unfinished, *summaries(project.failures), *history]


def _indexes(home: Path) -> Iterator[Finding]:
    from deltos.errors import DeltosError
    from deltos.open_stores import open_projects
    from deltos.store.sqlite.database import check_file
    from deltos.workspace.names import names_of

    projects = {index.place: index for index in open_projects(home).known(with_unfinished=True)}
    names = names_of(index.root for index in projects.values())
    files = [(path, _REBUILT) for path in sorted((home / "projects").glob("*.db"))]
    files += [(home / name, advice) for name, advice in _ADVICE.items() if (home / name).exists()]
    for path, advice in files:
        try:
            problems = check_file(path)
        except DeltosError as exc:
            problems = [exc.message]
        project = projects.get(str(path))
        name = names[project.root] if project else path.name
        detail = f"{'; '.join(problems)}. {advice}" if problems else "; ".join(["sound", *_unread(path, project)])
        if problems and path.parent.name == "projects":
            fix = f"set {path.name} aside; it is built again when it is next used"
            yield Finding(f"index {name}", ok=False, detail=detail, fix=fix, mend=_mover(path))
        else:
            yield Finding(f"index {name}", ok=not problems, detail=detail)
    for path in sorted(home.glob("*.corrupt-*")):
        if not path.name.endswith(("-wal", "-shm")):
            yield Finding(f"set aside {path.name}", ok=True, detail="damaged and replaced; delete it when you like")


def _mover(path: Path) -> Callable[[], None]:
    from deltos.store.sqlite.database import move_aside

    def move() -> None:
        move_aside(path)

    return move


def _rewriter(client: Client, machine: Machine, found: Presence, launch: Launch) -> Callable[[], None]:
    from deltos.clients.install import install, write
    from deltos.clients.trial import trouble_starting

    def rewrite() -> None:
        # Options of the user stay, unless it is they that keep the server from starting.
        is_well = not launch.options or not trouble_starting((launch.program, *launch.server_arguments), {})
        chosen = launch if is_well else replace(launch, options=())
        write(install(client, machine, chosen, with_hooks=found.has_hooks, suggests=found.suggests))

    return rewrite


def _database(url: str) -> Finding:
    """Whether the database of projects can be used; the address is never shown with its password."""
    from deltos.errors import DeltosError
    from deltos.open_stores import describe_database

    try:
        return Finding("database", ok=True, detail=describe_database(url))
    except DeltosError as exc:
        return Finding("database", ok=False, detail=str(exc))


def _superfluous(home: Path, database: str) -> Iterator[Finding]:
    from deltos.cli.forget_project import superfluous
    from deltos.open_stores import open_projects

    for removal in superfluous(open_projects(home, database)):
        size = f"{removal.size_bytes / 1_000_000:.1f} MB"
        name = "set aside" if "set aside" in removal.what else "stale"
        yield Finding(
            name, ok=True, detail=f"{removal.what}, {size}", fix=f"remove the {removal.what}", mend=removal.carry_out
        )


def _disk(home: Path) -> Finding:
    folder = next(parent for parent in (home, *home.parents) if parent.exists())
    free_bytes = shutil.disk_usage(folder).free
    told = f"{free_bytes / 1e9:.1f} GB free in {folder}"
    if free_bytes >= _LEAST_FREE_BYTES:
        return Finding("disk", ok=True, detail=told)
    return Finding("disk", ok=False, detail=f"{told}; make room, or set DELTOS_HOME to another disk")


def _clients() -> Iterator[Finding]:
    """For each client that has Deltos, whether what it would start answers."""
    from deltos.cli.install import find_launch, is_here, this_machine
    from deltos.clients.install import configured, presence
    from deltos.clients.table import CLIENTS
    from deltos.clients.trial import trouble_starting

    machine = this_machine()
    without = []
    for client in CLIENTS:
        found = presence(client, machine)
        name = f"client {client.name}"
        if found.trouble:
            yield Finding(name, ok=False, detail=f"{client.path(machine)} cannot be read: {found.trouble}")
        elif not found.has_server:
            without += [client.name] if is_here(client, machine) else []
        elif (entry := configured(client, machine)) is None:
            yield Finding(name, ok=True, detail="its entry names no command (a server elsewhere?)")
        elif not (trouble := trouble_starting(entry.words, entry.variables)):
            yield Finding(name, ok=True, detail=f"starts {' '.join(entry.words)}, which answers")
        elif (launch := find_launch("", machine.environ)) is None:
            advice = "run `uv tool install deltos`: this Deltos runs from uv's cache, which uv may empty"
            yield Finding(name, ok=False, detail=f"{' '.join(entry.words)}: {trouble}; {advice}")
        else:
            yield Finding(
                name,
                ok=False,
                detail=f"{' '.join(entry.words)}: {trouble}",
                fix=f"write the command of this Deltos into {client.path(machine)}",
                mend=_rewriter(client, machine, found, replace(launch, options=entry.options)),
            )
    if without:
        yield Finding("clients", ok=True, detail=f"here without Deltos: {', '.join(without)}; `deltos install` adds it")
