"""Stores of all projects in a PostgreSQL database."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.errors import StoreBusy
from deltos.store.history import HISTORY_SUMMARY
from deltos.store.jobs import INDEX, JobRequest
from deltos.store.postgres.blobs import delete_all_unused_blobs, delete_unused_blobs
from deltos.store.postgres.jobs import delete_request
from deltos.store.postgres.packed_word_index import CHUNK_INDEX_NUMBER
from deltos.store.postgres.project import PostgresProject, index_lock_key
from deltos.store.postgres.project_tables import PROJECT_TABLES, project_name
from deltos.store.postgres.row_security import root_text
from deltos.store.project import DamagedStore, FailedFile, KnownIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deltos.store.postgres.database import PostgresDatabase

_SELECT_FAILURES = """SELECT failure.project, path, indexer, failure.reason FROM failure
               JOIN file ON file.project = failure.project AND file.id = file_id
               WHERE failure.project = ANY(%s) AND file.project = ANY(%s)
               UNION ALL SELECT project, path, '', failure FROM skipped WHERE project = ANY(%s) AND failure <> ''
               UNION ALL SELECT project, 'all files', substr(key, 12), value FROM meta
               WHERE project = ANY(%s) AND key >= 'unfinished/' AND key < 'unfinished0'"""
_EARLY_METADATA_KEYS = frozenset({"root", "project_id"})  # metadata keys that exist as soon as indexing has started


class PostgresProjects:
    """Implementation of `store.project.ProjectStores`."""

    keeps_contents = True

    def __init__(self, opened: Callable[[], PostgresDatabase]) -> None:
        self._opened = opened

    @cached_property
    def _database(self) -> PostgresDatabase:
        """The database. It is opened on first use, so that a server can start without it."""
        return self._opened().with_own_transactions()

    def store_of(self, root: Path) -> PostgresProject:
        return PostgresProject(self._opened().with_own_transactions(), project_name(root), root_text(root))

    def roots_with_store(self, roots: Sequence[Path]) -> set[Path]:
        by_name = {project_name(root): root for root in roots}
        rows = self._database.query("SELECT name FROM project WHERE name = ANY(%s)", (list(by_name),))
        return {by_name[name] for (name,) in rows}

    def indexed_projects(self, *, with_unfinished: bool = False) -> list[KnownIndex]:
        query = self._database.query
        with self._database.snapshot():
            names: dict[int, str] = dict(query("SELECT id, name FROM project"))
            self._database.refresh_permissions(names)
            facts: dict[int, dict[str, str]] = {key: {} for key in names}
            for key, name, value in query(
                "SELECT project, key, value FROM meta WHERE project = ANY(%s) AND key = ANY(%s)",
                (list(names), [*_EARLY_METADATA_KEYS, "synced_at", HISTORY_SUMMARY]),
            ):
                facts[key][name] = value
            wanted = _EARLY_METADATA_KEYS if with_unfinished else _EARLY_METADATA_KEYS | {"synced_at"}
            keys = [key for key in names if facts[key].keys() >= wanted and facts[key]["root"]]
            counts = dict(query("SELECT project, COUNT(*) FROM file WHERE project = ANY(%s) GROUP BY project", (keys,)))
            failures, sizes = self._failures(keys), self._estimate_sizes()
        found = [
            KnownIndex(
                f"{self._database.address}/{names[key]}",
                sizes.get(key, 0),
                Path(facts[key]["root"]),
                facts[key]["project_id"],
                float(facts[key].get("synced_at", 0)),
                counts.get(key, 0),
                failures[key],
                facts[key].get(HISTORY_SUMMARY, ""),
                has_contents=True,
                is_finished="synced_at" in facts[key],
            )
            for key in keys
        ]
        return sorted(found, key=lambda index: (not index.is_finished, -index.synced_at))

    def _failures(self, keys: list[int]) -> dict[int, list[FailedFile]]:
        """Return the unreadable files of projects by project key, ordered by path and indexer."""
        found: dict[int, list[FailedFile]] = {key: [] for key in keys}
        for key, *failure in self._database.query(_SELECT_FAILURES, (keys,) * 4):
            found[key].append(FailedFile(*failure))
        for failures in found.values():
            failures.sort(key=lambda failed: (failed.path.encode(), failed.indexer))
        return found

    def _estimate_sizes(self) -> dict[int, int]:
        """Return the estimated size of each project in bytes, based on the project's share of the chunks in a
        partition."""
        # The exact size is not computed, because this would require reading all rows.
        parts = dict(
            self._database.query(
                """SELECT substring(part.relname FROM '[0-9]+$'), SUM(pg_total_relation_size(part.oid))::bigint
                   FROM pg_class AS part JOIN pg_inherits ON inhrelid = part.oid
                   WHERE inhparent = ANY(%s::regclass[]) GROUP BY 1""",
                (list(PROJECT_TABLES),),
            )
        )
        rows = self._database.query(
            """SELECT project, substring(tableoid::regclass::text FROM '[0-9]+$'), row_count,
               SUM(row_count) OVER (PARTITION BY tableoid)::bigint FROM word_total WHERE kind = %s""",
            (CHUNK_INDEX_NUMBER,),
        )
        return {key: round(parts[part] * own / max(every, 1)) for key, part, own, every in rows}

    def copy_store(self, source: Path, root: Path) -> bool:  # noqa: ARG002
        return False  # not supported; a worker indexes the new project like any other

    def remove(self, root: Path) -> None:
        name = project_name(root)
        with self._database.try_lock(index_lock_key(name)) as is_held:
            if not is_held:
                raise StoreBusy(f"{root.name} is being indexed", hint="Try again when indexing has finished.")
            with self._database.write() as connection:
                row = connection.execute("SELECT id FROM project WHERE name = %s FOR UPDATE", (name,)).fetchone()
                if row is None:
                    return
                sql = "SELECT DISTINCT hash FROM file WHERE project = %s"
                digests = [each[0] for each in connection.execute(sql, row)]
                for table in PROJECT_TABLES:
                    connection.execute(f"DELETE FROM {table} WHERE project = %s", row)
                connection.execute("DELETE FROM project WHERE id = %s", row)
                delete_request(connection, JobRequest(INDEX, str(root)))
        delete_unused_blobs(self._database, digests, tries=4)

    def delete_unused_contents(self) -> int:
        # A server with an older version of Deltos indexes files without storing contents. After `indexers` is deleted,
        # such projects are indexed again completely.
        with self._database.write() as connection:
            connection.execute(
                # The project's row is locked first, as every writer does, to avoid deadlocks.
                """WITH behind AS (
                       UPDATE project SET version = version + 1 WHERE id IN (
                           SELECT project FROM file WHERE NOT EXISTS (SELECT 1 FROM blob WHERE digest = file.hash))
                       AND EXISTS (SELECT 1 FROM meta WHERE meta.project = project.id AND key = 'indexers')
                       RETURNING id)
                   DELETE FROM meta WHERE key = 'indexers' AND project IN (SELECT id FROM behind)"""
            )
        return delete_all_unused_blobs(self._database)

    def damaged_stores(self) -> list[DamagedStore]:
        return []

    def remove_damaged_store(self, location: str) -> None:
        """Do nothing, because PostgreSQL stores are never set aside."""
