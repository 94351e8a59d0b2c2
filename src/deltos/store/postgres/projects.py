"""Which projects a database keeps."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.errors import StoreBusy
from deltos.store.history import HISTORY_SUMMARY
from deltos.store.postgres.code import CHUNK_WORDS
from deltos.store.postgres.project import FAILURES, PostgresProject, claim_key, sorted_failures
from deltos.store.postgres.tables import project_name
from deltos.store.project import KnownIndex, SetAside

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.store.postgres.database import Database

_TABLES = """word word_total meta file skipped folder failure chunk definition file_words chunk_vectors place node
             symbol edge mention import fact stale past_commit past_file past_touch past_name past_vectors""".split()


class PostgresProjects:
    """Implements `store.project.ProjectStores`."""

    def __init__(self, opened: Callable[[], Database]) -> None:
        self._opened = opened

    @cached_property
    def _database(self) -> Database:
        """Connected to when it is first needed: a server starts without it."""
        return self._opened().beside()

    def store_of(self, root: Path) -> PostgresProject:
        return PostgresProject(self._opened().beside(), project_name(root))

    def known(self) -> list[KnownIndex]:
        with self._database.snapshot():
            projects = self._database.query("SELECT id, name FROM project")
            found = [self._known(key, name) for key, name in projects]
        return sorted((index for index in found if index), key=lambda index: -index.synced_at)

    def _known(self, key: int, name: str) -> KnownIndex | None:
        facts = dict(
            self._database.query(
                "SELECT key, value FROM meta WHERE project = %s AND key = ANY(%s)",
                (key, ["root", "project_id", "synced_at", HISTORY_SUMMARY]),
            )
        )
        if not {"root", "project_id", "synced_at"} <= facts.keys():
            return None
        files = self._database.query("SELECT COUNT(*) FROM file WHERE project = %s", (key,))[0][0]
        failures = sorted_failures(self._database.query(FAILURES, (key,) * 3))
        return KnownIndex(
            f"{self._database.place}/{name}",
            self._size_bytes(key),
            Path(facts["root"]),
            facts["project_id"],
            float(facts["synced_at"]),
            files,
            failures,
            facts.get(HISTORY_SUMMARY, ""),
        )

    def _size_bytes(self, key: int) -> int:
        """Its share, by chunks, of the parts of tables that it has with others: to add up its rows would read them."""
        ((part,),) = self._database.query(
            "SELECT tableoid::regclass::text FROM meta WHERE project = %s LIMIT 1", (key,)
        )
        number = part.rpartition("_")[2]
        sizes = " + ".join(f"pg_total_relation_size('{table}_{number}')" for table in _TABLES)
        ((size, own, every),) = self._database.query(
            f"""SELECT ({sizes})::bigint, coalesce(SUM(row_count) FILTER (WHERE project = %s), 0)::bigint,
                coalesce(SUM(row_count), 0)::bigint FROM word_total_{number} WHERE kind = %s""",
            (key, CHUNK_WORDS.number),
        )
        return round(size * own / every) if every else 0

    def remove(self, root: Path) -> None:
        name = project_name(root)
        with self._database.claim(claim_key(name)) as is_held:
            if not is_held:
                raise StoreBusy(f"{root.name} is being indexed", hint="Try again when that is done.")
            with self._database.write() as connection:
                row = connection.execute("SELECT id FROM project WHERE name = %s FOR UPDATE", (name,)).fetchone()
                if row is None:
                    return
                for table in _TABLES:
                    connection.execute(f"DELETE FROM {table} WHERE project = %s", row)
                connection.execute("DELETE FROM project WHERE id = %s", row)

    def set_aside(self) -> list[SetAside]:
        return []

    def remove_set_aside(self, place: str) -> None:
        """None is ever set aside."""
