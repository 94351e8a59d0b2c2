"""`deltos doctor`: check the installation, the data folder, the indexes and the configured clients."""

from __future__ import annotations

import platform
import shutil
import sys
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from deltos.cli.command import add_command, print_json
from deltos.cli.style import BAD, GOOD, HIGHLIGHT, Styled, print_styled
from deltos.config import Config
from deltos.store.private_files import is_open_to_others, make_private_folder, write_private

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from deltos.cli.command import Subparsers
    from deltos.clients.install import Presence
    from deltos.clients.table import Client, Launch, Machine
    from deltos.store.project import KnownIndex

# Minimum free disk space: enough for the index of a large repository and SQLite's temporary files.
MIN_FREE_BYTES = 500_000_000
_REBUILD_ADVICE = "It is set aside and rebuilt at the next use."
_DAMAGE_ADVICE = {
    "library.db": "It is set aside at the next use; add the sources again afterwards.",
    "memory.db": "Run `deltos memory check`, which recovers all readable observations.",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. `repair` performs the fix described by `fix`, or is None without an automatic repair."""

    what: str
    ok: bool
    detail: str
    fix: str = ""
    repair: Callable[[], None] | None = None


def add_commands(subparsers: Subparsers) -> None:
    """Add `doctor`."""
    verb = add_command(subparsers, "doctor", _doctor)
    verb.add_argument("--fix", action="store_true", help="repair problems after confirmation")
    verb.add_argument("--yes", action="store_true", help="with --fix: do not ask for confirmation")


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
    repairable = [finding for finding in findings if finding.repair]
    repaired = _repair(repairable, arguments) if arguments.fix else False
    if repairable and not arguments.fix and not arguments.json:
        print(f"Run `deltos doctor --fix` to: {'; '.join(finding.fix for finding in repairable)}.")
    bad = [finding for finding in findings if not finding.ok and not (repaired and finding.repair)]
    return 1 if bad else 0


def _print(finding: Finding) -> None:
    look = Styled("note", HIGHLIGHT) if finding.fix else Styled("ok  ", GOOD)
    print_styled(look if finding.ok else Styled("BAD ", BAD), Styled(f" {finding.what}: {finding.detail}"))


def _repair(findings: list[Finding], arguments: argparse.Namespace) -> bool:
    """Repair the findings if the user agrees, and return whether they were repaired."""
    if not findings:
        print("There is nothing to repair.", file=sys.stderr)
        return False
    if not arguments.yes:
        for finding in findings:
            print(f"- {finding.fix}", file=sys.stderr)
        print("Apply these repairs? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            print("Nothing was changed.", file=sys.stderr)
            return False
    for finding in findings:
        if finding.repair:
            finding.repair()
            print(f"done: {finding.fix}", file=sys.stderr if arguments.json else sys.stdout)
    return True


def examine(home: Path, database: str = "") -> Iterator[Finding]:
    """Run all checks and yield the findings."""
    python = f"Python {platform.python_version()} on {sys.platform}"
    yield Finding("deltos", ok=True, detail=f"{_package_version('deltos')}, {python}")
    yield _check_sqlite()
    yield Finding("mcp", ok=_package_version("mcp") != "", detail=_package_version("mcp") or "not installed")
    yield _check_data_folder(home)
    yield _check_grammars()
    yield _check_free_space(home)
    yield from _check_indexes(home)
    usable = True
    if database:
        found = _check_database(database)
        usable = found.ok
        yield found
    if usable:
        yield from _find_unneeded_indexes(home, database)
    yield from _check_clients()


def _package_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _check_sqlite() -> Finding:
    from deltos.store.sqlite.database import describe_engine

    version, has_fts5 = describe_engine()
    detail = f"{version} with FTS5" if has_fts5 else f"{version} without FTS5; use a Python build that has it"
    return Finding("sqlite", ok=has_fts5, detail=detail)


def _check_data_folder(home: Path) -> Finding:
    probe = home / ".writable"
    try:
        make_private_folder(home)
        write_private(probe, "")
        probe.unlink()
    except OSError as exc:
        return Finding("data folder", ok=False, detail=f"{home}: {exc.strerror}; set DELTOS_HOME to a writable folder")
    if is_open_to_others(home):
        advice = "other users can read it; set DELTOS_HOME to a private folder"
        return Finding("data folder", ok=True, detail=f"{home}: {advice}")
    return Finding("data folder", ok=True, detail=str(home))


def _check_grammars() -> Finding:
    from deltos.languages.grammar import missing_grammars, self_test  # deferred import: the import loads every grammar
    from deltos.languages.table import LANGUAGES

    problems, missing = self_test(), missing_grammars()
    count = sum(bool(language.grammar) for language in LANGUAGES) - len(missing)
    detail = "; ".join(problems) or f"{'' if missing else 'all '}{count} work"
    if missing:
        detail += f"; not installed (files are indexed by lines, without a graph): {', '.join(missing)}"
    return Finding("grammars", ok=not problems, detail=detail)


def _incomplete_parts(path: Path, project: KnownIndex | None) -> list[str]:
    """Return descriptions of the missing parts of an index."""
    from deltos.cli.status import UNFINISHED
    from deltos.store.sqlite.apis import read_unreadable_documents
    from deltos.store.sqlite.library import FILE_NAME
    from deltos.workspace.failure_messages import failure_summaries

    if path.name == FILE_NAME:
        return [f"{row.document} could not be read: {row.reason}" for row in read_unreadable_documents(path)]
    if project is None:
        return []
    unfinished = [] if project.is_finished else [UNFINISHED]
    history = [f"history: {project.history}"] if project.history else []
    return [*unfinished, *failure_summaries(project.failures), *history]


def _check_indexes(home: Path) -> Iterator[Finding]:
    from deltos.errors import DeltosError
    from deltos.open_stores import open_projects
    from deltos.store.sqlite.database import check_file
    from deltos.workspace.project_names import shortest_names

    projects = {index.location: index for index in open_projects(home).indexed_projects(with_unfinished=True)}
    names = shortest_names(index.root for index in projects.values())
    files = [(path, _REBUILD_ADVICE) for path in sorted((home / "projects").glob("*.db"))]
    files += [(home / name, advice) for name, advice in _DAMAGE_ADVICE.items() if (home / name).exists()]
    for path, advice in files:
        try:
            problems = check_file(path)
        except DeltosError as exc:
            problems = [exc.message]
        project = projects.get(str(path))
        name = names[project.root] if project else path.name
        detail = (
            f"{'; '.join(problems)}. {advice}" if problems else "; ".join(["sound", *_incomplete_parts(path, project)])
        )
        if problems and path.parent.name == "projects":
            fix = f"set {path.name} aside, to be rebuilt at the next use"
            yield Finding(f"index {name}", ok=False, detail=detail, fix=fix, repair=_file_mover(path))
        else:
            yield Finding(f"index {name}", ok=not problems, detail=detail)
    for path in sorted(home.glob("*.corrupt-*")):
        if not path.name.endswith(("-wal", "-shm")):
            yield Finding(
                f"set aside {path.name}", ok=True, detail="a damaged file that was replaced; you can delete it"
            )


def _file_mover(path: Path) -> Callable[[], None]:
    """Return a function that moves a damaged file aside."""
    from deltos.store.sqlite.database import move_aside

    def move() -> None:
        move_aside(path)

    return move


def _entry_rewriter(client: Client, machine: Machine, found: Presence, launch: Launch) -> Callable[[], None]:
    """Return a function that writes the command of this Deltos installation into a client's configuration."""
    from deltos.clients.install import install, write
    from deltos.clients.server_check import find_start_problem

    def rewrite() -> None:
        # Keep the user's options if the server starts with them.
        is_well = not launch.options or not find_start_problem((launch.program, *launch.server_arguments), {})
        chosen = launch if is_well else replace(launch, options=())
        write(install(client, machine, chosen, with_hooks=found.has_hooks, suggests=found.suggests))

    return rewrite


def _check_database(url: str) -> Finding:
    """Check the connection to the database without printing the password of the URL."""
    from deltos.errors import DeltosError
    from deltos.open_stores import describe_database

    try:
        return Finding("database", ok=True, detail=describe_database(url))
    except DeltosError as exc:
        return Finding("database", ok=False, detail=str(exc))


def _find_unneeded_indexes(home: Path, database: str) -> Iterator[Finding]:
    from deltos.cli.forget_project import unneeded_indexes
    from deltos.open_stores import open_projects

    for removal in unneeded_indexes(open_projects(home, database)):
        size = f"{removal.size_bytes / 1_000_000:.1f} MB"
        name = "set aside" if "set aside" in removal.what else "stale"
        yield Finding(
            name,
            ok=True,
            detail=f"{removal.what}, {size}",
            fix=f"remove the {removal.what}",
            repair=removal.remove_item,
        )


def _check_free_space(home: Path) -> Finding:
    folder = next(parent for parent in (home, *home.parents) if parent.exists())
    free_bytes = shutil.disk_usage(folder).free
    text = f"{free_bytes / 1e9:.1f} GB free in {folder}"
    if free_bytes >= MIN_FREE_BYTES:
        return Finding("disk", ok=True, detail=text)
    return Finding("disk", ok=False, detail=f"{text}; free some space, or set DELTOS_HOME to another disk")


def _check_clients() -> Iterator[Finding]:
    """Check whether the configured command of each client with Deltos starts a working server."""
    from deltos.cli.install import find_launch, is_client_present, this_machine
    from deltos.clients.install import configured, presence
    from deltos.clients.server_check import find_start_problem
    from deltos.clients.table import CLIENTS

    machine = this_machine()
    without = []
    for client in CLIENTS:
        found = presence(client, machine)
        name = f"client {client.name}"
        if found.trouble:
            yield Finding(name, ok=False, detail=f"{client.path(machine)} cannot be read: {found.trouble}")
        elif not found.has_server:
            without += [client.name] if is_client_present(client, machine) else []
        elif (entry := configured(client, machine)) is None:
            yield Finding(name, ok=True, detail="its entry has no command (perhaps a remote server)")
        elif not (trouble := find_start_problem(entry.words, entry.variables)):
            yield Finding(name, ok=True, detail=f"{' '.join(entry.words)} starts and answers")
        elif (launch := find_launch("", machine.environ)) is None:
            advice = "run `uv tool install deltos`, because uv may delete this Deltos from its cache"
            yield Finding(name, ok=False, detail=f"{' '.join(entry.words)}: {trouble}; {advice}")
        else:
            yield Finding(
                name,
                ok=False,
                detail=f"{' '.join(entry.words)}: {trouble}",
                fix=f"write the command of this Deltos into {client.path(machine)}",
                repair=_entry_rewriter(client, machine, found, replace(launch, options=entry.options)),
            )
    if without:
        yield Finding("clients", ok=True, detail=f"without Deltos: {', '.join(without)}; `deltos install` adds it")
