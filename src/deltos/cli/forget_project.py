"""`deltos forget-project` and `deltos gc`: remove project indexes, but not source code, documentation or memory."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.cli.command import add_command, print_json
from deltos.cli.project_names import find_indexes
from deltos.config import Config
from deltos.errors import BadArgument, NotFound
from deltos.open_stores import open_projects
from deltos.workspace.project_names import shortest_names

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from deltos.cli.command import Subparsers
    from deltos.store.project import KnownIndex, ProjectStores

MAX_LISTED_NAMES = 10
_YES_ANSWERS = ("y", "yes")


def add_commands(subparsers: Subparsers) -> None:
    """Add the commands `forget-project` and `gc`."""
    forget = add_command(subparsers, "forget-project", _forget)
    forget.add_argument("projects", nargs="*", metavar="PROJECT", help="name listed by `deltos status`, or folder")
    gc = add_command(subparsers, "gc", _gc)
    for verb in (forget, gc):
        verb.add_argument("--yes", action="store_true", help="do not ask for confirmation")


def _forget(arguments: argparse.Namespace) -> int:
    if not all(
        word.strip() for word in arguments.projects or [""]
    ):  # an empty shell variable must not select the current folder
        raise BadArgument("No project is given", hint="`deltos status` lists all projects.")
    stores = _open_stores()
    indexes = stores.indexed_projects(with_unfinished=True)
    chosen: dict[str, KnownIndex] = {}
    for word in arguments.projects:
        matches = find_indexes(word, indexes, Path.cwd())
        if not matches:
            folder = Path(word).absolute()
            what = f"The folder {folder} has no index" if folder.is_dir() else f"No index is called '{word[:100]}'"
            raise NotFound(what, hint="`deltos status` lists all indexes.")
        if len(matches) > 1:
            names = shortest_names(index.root for index in indexes)
            several = ", ".join(names[index.root] for index in matches[:MAX_LISTED_NAMES])
            raise BadArgument(f"{len(matches)} indexes are called {word[:100]}", hint=f"Choose one of: {several}.")
        chosen |= {index.location: index for index in matches}
    return _remove_if_confirmed([_describe_removal(stores, index, indexes) for index in chosen.values()], arguments)


def _gc(arguments: argparse.Namespace) -> int:
    stores = _open_stores()
    stores.delete_unused_contents()
    return _remove_if_confirmed(unneeded_indexes(stores), arguments)


def _open_stores() -> ProjectStores:
    config = Config.from_environment()
    return open_projects(config.home, config.database)


@dataclass(frozen=True, slots=True)
class Removal:
    """An index that can be removed, with a description, the size in bytes, and a function that removes the index."""

    what: str
    size_bytes: int
    remove_item: Callable[[], None]


def unneeded_indexes(stores: ProjectStores) -> list[Removal]:
    """Return the damaged indexes and the indexes of deleted folders.

    A project with stored contents is kept, because the folder of the project may be on another machine.
    """
    indexes = stores.indexed_projects(with_unfinished=True)
    gone = [
        _describe_removal(stores, index, indexes)
        for index in indexes
        if not index.root.is_dir() and not index.has_contents
    ]
    damaged = [
        Removal(
            f"{Path(damaged_index.location).name} (damaged, set aside)",
            damaged_index.size_bytes,
            _index_remover(stores, damaged_index.location),
        )
        for damaged_index in stores.damaged_stores()
    ]
    return [*gone, *damaged]


def _index_remover(stores: ProjectStores, location: str) -> Callable[[], None]:
    return lambda: stores.remove_damaged_store(location)


def _describe_removal(stores: ProjectStores, index: KnownIndex, indexes: Sequence[KnownIndex]) -> Removal:
    name = shortest_names(known.root for known in indexes)[index.root]
    gone = "" if index.root.is_dir() else ", deleted"
    return Removal(f"index of {name} ({index.root}{gone})", index.size_bytes, lambda: stores.remove(index.root))


def _remove_if_confirmed(removals: Sequence[Removal], arguments: argparse.Namespace) -> int:
    size_bytes = sum(removal.size_bytes for removal in removals)
    if removals and not (arguments.yes or _confirm_removals(removals, size_bytes)):
        print("Nothing was removed. Use --yes to remove without confirmation.", file=sys.stderr)
        return 1
    for removal in removals:
        removal.remove_item()
        if not arguments.json:
            print(f"Removed: {removal.what}")
    if arguments.json:
        print_json({"removed": [removal.what for removal in removals], "bytes": size_bytes})
    elif removals:
        print(f"Freed {size_bytes / 1_000_000:.1f} MB.")
    else:
        print("There is nothing to remove.")
    return 0


def _confirm_removals(removals: Sequence[Removal], size_bytes: int) -> bool:
    """List the indexes to remove and return whether the user agrees."""
    for removal in removals:
        print(f"{removal.what}, {removal.size_bytes / 1_000_000:.1f} MB", file=sys.stderr)
    print(
        f"Remove {size_bytes / 1_000_000:.1f} MB? Only indexes are removed. [y/N] ",
        end="",
        file=sys.stderr,
        flush=True,
    )
    return sys.stdin.readline().strip().lower() in _YES_ANSWERS
