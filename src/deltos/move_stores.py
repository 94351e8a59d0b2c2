"""Copying of stored data from a data folder to a PostgreSQL database, or back. The source is left unchanged.

Code indexes are not copied, because they can be rebuilt from the sources in minutes.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from deltos.open_stores import open_tokens, open_workspaces

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from deltos.store.postgres.library_transfer import PostgresLibraryTransfer
    from deltos.store.postgres.memory.transfer import PostgresMemoryTransfer
    from deltos.store.sqlite.library_transfer import SqliteLibraryTransfer
    from deltos.store.sqlite.memory.transfer import SqliteMemoryTransfer

    LibraryTransfer = SqliteLibraryTransfer | PostgresLibraryTransfer
    MemoryTransfer = SqliteMemoryTransfer | PostgresMemoryTransfer


class MovedCounts(NamedTuple):
    """Numbers of copied records. `observations` is None if the target already has observations."""

    observations: int | None
    sources: int
    apis: int
    tokens: int
    workspaces: int


def move(home: Path, database: str, *, back: bool, say: Callable[[str], None]) -> MovedCounts:
    """Copy memory, library, tokens and workspaces from the data folder to the database, or vice versa if `back`.

    Memory is copied only into an empty store, because sessions of two stores cannot be merged. Existing sources, APIs
    and tokens are not changed. Existing workspaces are extended.
    """
    with ExitStack() as opened:
        folder_library, folder_memory = _open_folder_transfers(home, opened)
        base_library, base_memory = _open_database_transfers(database, opened)
        if back:
            observations = _move_memory(base_memory, folder_memory)
            sources, apis = _move_library(base_library, folder_library, say)
        else:
            observations = _move_memory(folder_memory, base_memory)
            sources, apis = _move_library(folder_library, base_library, say)
    tokens, workspaces = _move_tokens(home, database, back=back), _move_workspaces(home, database, back=back)
    return MovedCounts(observations, sources, apis, tokens, workspaces)


def _open_folder_transfers(home: Path, opened: ExitStack) -> tuple[SqliteLibraryTransfer, SqliteMemoryTransfer]:
    from deltos.store.sqlite.library import FILE_NAME, SqliteLibrary
    from deltos.store.sqlite.library_transfer import SqliteLibraryTransfer
    from deltos.store.sqlite.memory.reader import SqliteObservations
    from deltos.store.sqlite.memory.transfer import SqliteMemoryTransfer

    library, memory = SqliteLibrary(home / FILE_NAME), SqliteObservations(home / "memory.db")
    opened.callback(library.close)
    opened.callback(memory.close)
    opened.enter_context(memory.database.errors)
    return SqliteLibraryTransfer(library), SqliteMemoryTransfer(memory)


def _open_database_transfers(
    database: str, opened: ExitStack
) -> tuple[PostgresLibraryTransfer, PostgresMemoryTransfer]:
    from deltos.store.postgres.database import PostgresDatabase
    from deltos.store.postgres.library import PostgresLibrary
    from deltos.store.postgres.library_transfer import PostgresLibraryTransfer
    from deltos.store.postgres.memory.reader import PostgresObservations
    from deltos.store.postgres.memory.transfer import PostgresMemoryTransfer
    from deltos.store.postgres.migrations import SCHEMA_STEPS

    base = PostgresDatabase(database, migrations=SCHEMA_STEPS)
    opened.callback(base.close)
    return PostgresLibraryTransfer(PostgresLibrary(base)), PostgresMemoryTransfer(PostgresObservations(base))


def _move_memory(source: MemoryTransfer, target: MemoryTransfer) -> int | None:
    if source.is_empty():
        return 0
    if not target.is_empty():
        return None
    return target.add(source.projects(), source.sessions(), source.observations(), source.notes())


def _move_library(source: LibraryTransfer, target: LibraryTransfer, say: Callable[[str], None]) -> tuple[int, int]:
    known = target.existing_names()
    sources = apis = 0
    for carried in source.sources():
        if carried.source.id not in known:
            target.add_source(carried)
            say(f"documentation: {carried.source.name}")
            sources += 1
    for api in source.apis():
        if api.api.name.lower() not in known:
            target.add_api(api)
            say(f"API: {api.api.name}")
            apis += 1
    return sources, apis


def _move_tokens(home: Path, database: str, *, back: bool) -> int:
    folder, base = open_tokens(home), open_tokens(home, database)
    source, target = (base, folder) if back else (folder, base)
    missing = [token for token in source.all() if target.get(token.id) is None]
    for token in missing:
        target.add(token)
    folder.close()
    base.close()
    return len(missing)


def _move_workspaces(home: Path, database: str, *, back: bool) -> int:
    """Copy the workspaces. Return the number of created or extended workspaces."""
    folder, base = open_workspaces(home), open_workspaces(home, database)
    source, target = (base, folder) if back else (folder, base)
    changed = [workspace.name for workspace in source.all() if target.add(workspace.name, workspace.roots)]
    folder.close()
    base.close()
    return len(changed)
