"""`deltos forget-project` and `deltos gc`: remove indexes that nobody needs. Sources, documentation and memory stay."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.cli.command import add_verb, print_json
from deltos.cli.project_names import indexes_meant
from deltos.config import Config
from deltos.errors import BadArgument, NotFound
from deltos.open_stores import open_projects
from deltos.workspace.names import names_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from deltos.cli.command import Subparsers
    from deltos.store.project import KnownIndex, ProjectStores

_MOST_NAMED = 10
_ANSWERS_YES = ("y", "yes")


def add_commands(subparsers: Subparsers) -> None:
    """Add `forget-project` and `gc`."""
    forget = add_verb(subparsers, "forget-project", _forget, "remove the index of a project; sources and memory stay")
    forget.add_argument("projects", nargs="*", metavar="PROJECT", help="a name of `deltos status`, or a folder")
    gc = add_verb(subparsers, "gc", _gc, "remove indexes of folders that are gone, and damaged ones")
    for verb in (forget, gc):
        verb.add_argument("--yes", action="store_true", help="do not ask")


def _forget(arguments: argparse.Namespace) -> int:
    if not all(word.strip() for word in arguments.projects or [""]):  # an empty variable must not mean this folder
        raise BadArgument("Which project?", hint="`deltos status` lists them.")
    stores = _stores()
    indexes = stores.known(with_unfinished=True)
    chosen: dict[str, KnownIndex] = {}
    for word in arguments.projects:
        meant = indexes_meant(word, indexes, Path.cwd())
        if not meant:
            folder = Path(word).absolute()
            what = f"The folder {folder} has no index" if folder.is_dir() else f"No index is called '{word[:100]}'"
            raise NotFound(what, hint="`deltos status` lists those that there are.")
        if len(meant) > 1:
            names = names_of(index.root for index in indexes)
            several = ", ".join(names[index.root] for index in meant[:_MOST_NAMED])
            raise BadArgument(f"{len(meant)} indexes are called {word[:100]}", hint=f"Say which: {several}.")
        chosen |= {index.place: index for index in meant}
    return _remove([_removal(stores, index, indexes) for index in chosen.values()], arguments)


def _gc(arguments: argparse.Namespace) -> int:
    stores = _stores()
    stores.sweep()
    return _remove(superfluous(stores), arguments)


def _stores() -> ProjectStores:
    config = Config.from_environment()
    return open_projects(config.home, config.database)


@dataclass(frozen=True, slots=True)
class Removal:
    """Something that can be removed: what it is for a person, how large it is, and how to do it."""

    what: str
    size_bytes: int
    carry_out: Callable[[], None]


def superfluous(stores: ProjectStores) -> list[Removal]:
    """What nobody can need any more: indexes of folders that are gone, and damaged ones.

    A project that can be shown without its folder may have it on another machine.
    """
    indexes = stores.known(with_unfinished=True)
    gone = [_removal(stores, index, indexes) for index in indexes if not index.root.is_dir() and not index.has_contents]
    damaged = [
        Removal(f"{Path(aside.place).name} (damaged, set aside)", aside.size_bytes, _remover(stores, aside.place))
        for aside in stores.set_aside()
    ]
    return [*gone, *damaged]


def _remover(stores: ProjectStores, place: str) -> Callable[[], None]:
    return lambda: stores.remove_set_aside(place)


def _removal(stores: ProjectStores, index: KnownIndex, indexes: Sequence[KnownIndex]) -> Removal:
    name = names_of(known.root for known in indexes)[index.root]
    gone = "" if index.root.is_dir() else ", which is gone"
    return Removal(f"index of {name} ({index.root}{gone})", index.size_bytes, lambda: stores.remove(index.root))


def _remove(removals: Sequence[Removal], arguments: argparse.Namespace) -> int:
    size_bytes = sum(removal.size_bytes for removal in removals)
    if removals and not (arguments.yes or _agreed(removals, size_bytes)):
        print("Nothing was removed. `--yes` removes without asking.", file=sys.stderr)
        return 1
    for removal in removals:
        removal.carry_out()
        if not arguments.json:
            print(f"removed: {removal.what}")
    if arguments.json:
        print_json({"removed": [removal.what for removal in removals], "bytes": size_bytes})
    elif removals:
        print(f"{size_bytes / 1_000_000:.1f} MB are free again.")
    else:
        print("There is nothing to remove.")
    return 0


def _agreed(removals: Sequence[Removal], size_bytes: int) -> bool:
    """Whether the user, who is shown what is meant, says yes."""
    for removal in removals:
        print(f"{removal.what}, {removal.size_bytes / 1_000_000:.1f} MB", file=sys.stderr)
    print(
        f"Remove {size_bytes / 1_000_000:.1f} MB? Nothing but the index goes. [y/N] ",
        end="",
        file=sys.stderr,
        flush=True,
    )
    return sys.stdin.readline().strip().lower() in _ANSWERS_YES
