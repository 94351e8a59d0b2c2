"""Rows of one project in the tables that all projects share. The project's key identifies these rows."""

from __future__ import annotations

import hashlib
import itertools
import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from deltos.errors import StoreError
from deltos.store.migration import Migration
from deltos.store.postgres.code import PostgresChunkTerms
from deltos.store.postgres.database import PostgresDatabase
from deltos.store.postgres.packed_word_index import PackedWordIndex
from deltos.store.postgres.row_cache import SHARED_CACHE
from deltos.store.postgres.rows import copy_rows, text_digest
from deltos.store.project_rows import ProjectRows
from deltos.store.valid_text import ascii_lower

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from deltos.store.postgres.database import Connection
    from deltos.store.project_rows import Query, Row
    from deltos.store.version import Version
    from deltos.store.word_index import WordTable

REGISTRY_001 = Migration(
    "registry-001-projects",
    """
    CREATE TABLE project (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        name text COLLATE "C" NOT NULL UNIQUE
    );
    CREATE SEQUENCE vector_number;
    """,
)
PROJECT_VERSION = Migration("replicas-001", "ALTER TABLE project ADD COLUMN version bigint NOT NULL DEFAULT 0;")
PROJECT_TABLES = tuple(
    """word word_total meta file skipped folder failure chunk chunk_text definition file_words chunk_vectors
       place node symbol rule edge_row mentioned_name mention_list import fact stale
       past_commit past_file past_touch past_name past_vectors""".split()
)
_SELECT_PROJECT = "SELECT id, root FROM project WHERE name = %s"
_SELECT_VERSION = "SELECT version FROM project WHERE id = %s"
_SELECT_VERSIONS = "SELECT id, version FROM project"
_cache_numbers = itertools.count(1)
_T = TypeVar("_T")


def project_name(root: Path) -> str:
    """Return a unique project name that contains the name of the folder."""
    digest = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    name = re.sub(r"[^\w.-]+", "-", root.name)[:40] or "root"
    return f"{name.encode('utf-8', 'replace').decode()}-{digest}"


# --- SQL

# Texts in these columns may be longer than an index entry, so their digests are indexed.
_DIGEST_COLUMN = r"(?:\w+\.)?(?:path|before)|mentioned_name\.name"
_MAX_PREFIX_CHARACTERS = 200
_TOKEN = re.compile(
    rf"""(?P<write>^DELETE\ FROM\ \w+|^UPDATE\ \w+)
        |(?:CROSS\ )?\b(?P<join>FROM|JOIN)\ (?P<table>{"|".join(PROJECT_TABLES)})\b(?P<alias>\ AS\ \w+)?
        |\b(?P<left>\w+\.path)\ =\ (?P<right>\w+\.path)\b
        |\b(?P<digest>{_DIGEST_COLUMN})\ (?P<operator>=|IN)\ \?
        |\b(?P<prefix>\w+)\.(?P<name>\w+)\ COLLATE\ NOCASE\ IN\ \?
        |\ (?P<list>IN)\ \?
        |(?P<mark>\?)
        |\b(?P<where>WHERE)\b""",
    re.VERBOSE,
)


class _TranslatedSql(NamedTuple):
    """SQL for PostgreSQL. `values` contains the position of each value (-1: project key) and the conversion of the
    value."""

    sql: str
    values: tuple[tuple[int, Callable[[Any], Any]], ...]

    def bind(self, key: int, values: Sequence[object]) -> list[object]:
        """Return the values in the order of the placeholders."""
        return [key if position < 0 else convert(values[position]) for position, convert in self.values]


@lru_cache(maxsize=1_000)
def _translate(sql: str) -> _TranslatedSql:
    """Translate SQL of `store.project_rows` to SQL on the shared tables."""
    values: list[tuple[int, Callable[[Any], Any]]] = []
    position = -1
    is_unscoped_write = False

    def convert(match: re.Match[str]) -> str:
        nonlocal position, is_unscoped_write
        if match["write"]:
            is_unscoped_write = True
            return match[0]
        if match["where"]:
            if not is_unscoped_write:
                return match[0]
            is_unscoped_write = False
            values.append((-1, _unchanged))
            return "WHERE project = %s AND"
        if match["join"]:
            values.append((-1, _unchanged))
            alias = match["alias"] or f" AS {match['table']}"
            return f"{match['join']} (SELECT * FROM {match['table']} WHERE project = %s){alias}"
        if match["left"]:
            return f"md5({match['left']}) = md5({match['right']}) AND {match['left']} = {match['right']}"
        position += 1
        if match["digest"]:
            comparison = "= ANY(%s)" if match["operator"] == "IN" else "= %s"
            digests = _text_digests if match["operator"] == "IN" else text_digest
            values.extend(((position, digests), (position, _as_list if match["operator"] == "IN" else _unchanged)))
            return f"md5({match['digest']}) {comparison} AND {match['digest']} {comparison}"
        if match["prefix"]:
            column = f"{match['prefix']}.{match['name']}"
            values.extend(((position, _lower_prefixes), (position, _lower_texts)))
            return f"{column}_folded = ANY(%s) AND lower({column}) = ANY(%s)"
        values.append((position, _as_list if match["list"] else _unchanged))
        return " = ANY(%s)" if match["list"] else "%s"

    return _TranslatedSql(_TOKEN.sub(convert, sql), tuple(values))


def _unchanged(value: object) -> object:
    return value


def _as_list(texts: Sequence[object]) -> list[object]:
    return list(texts)


def _text_digests(texts: Sequence[str]) -> list[str]:
    return [text_digest(text) for text in texts]


def _lower_texts(texts: Sequence[str]) -> list[str]:
    return [ascii_lower(text) for text in texts]


def _lower_prefixes(texts: Sequence[str]) -> list[str]:
    return [ascii_lower(text)[:_MAX_PREFIX_CHARACTERS] for text in texts]


# --- rows


@dataclass(frozen=True, slots=True)
class PostgresRowSource:
    """Implementation of `store.project_rows.RowSource` with a connection string."""

    # The connection string contains the password, so it is sent to the child process only through a pipe.
    connection_settings: tuple[str, str] = field(repr=False)
    key: int
    is_remote = True

    def connect(self) -> Query:
        url, schema = self.connection_settings
        database = PostgresDatabase(url, migrations=None, schema=schema, pool_size=1)

        def query(sql: str, *values: object) -> list[Row]:
            statement = _translate(sql)
            return database.query(statement.sql, statement.bind(self.key, values))

        return query


class ProjectTables(ProjectRows):
    """Implementation of `store.project_rows.ProjectRows`."""

    def __init__(self, database: PostgresDatabase, name: str, root: str = "") -> None:
        super().__init__()
        self.database = database
        self.name = name
        self._root = root
        self.key = 0
        self._cache_number = 0  # identifies the project in the cache; cached rows with another number are ignored
        self.register_if_missing()

    def register_if_missing(self) -> None:
        """Look up the key of the project. Register the project if it is new or was deleted in the meantime."""
        rows = self.database.query(_SELECT_PROJECT, (self.name,))
        if not rows:
            with self.database.write() as connection:
                connection.execute(
                    "INSERT INTO project (name, root) VALUES (%s, %s) ON CONFLICT DO NOTHING", (self.name, self._root)
                )
            rows = self.database.query(_SELECT_PROJECT, (self.name,))
        if not rows:
            raise StoreError(
                f"{self.name} was indexed by an earlier version, which did not record its folder",
                hint="Set DELTOS_DATABASE to the connection string of the table owner and run `deltos index`.",
            )
        ((key, root),) = rows
        if key != self.key:
            self.key, self._cache_number = key, next(_cache_numbers)
        self.database.refresh_permissions([self.key])
        if self._root and not root:  # an earlier version of Deltos did not record the root
            with self.database.write() as connection:
                connection.execute("UPDATE project SET root = %s WHERE id = %s", (self._root, self.key))

    def _read(self, sql: str, values: Sequence[object]) -> list[Row]:
        statement = _translate(sql)
        return self.run(statement.sql, statement.bind(self.key, values))

    def run(self, sql: str, values: Sequence[object]) -> list[Row]:
        """Return the rows of a query in PostgreSQL's SQL. Within a snapshot, the rows are cached."""
        self.flush()
        version = self._snapshot_version()
        if version is None:
            return self.database.query(sql, values)
        key = (self._cache_number, version, sql, repr(values))
        found = SHARED_CACHE.get(key)
        if found is None:
            found = self.database.query(sql, values)
            SHARED_CACHE.put(key, found)
        return list(found)

    def execute(self, sql: str, *values: object) -> int:
        statement = _translate(sql)
        with self.database.errors:
            return self.connection().execute(statement.sql.encode(), statement.bind(self.key, values)).rowcount

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        if rows:
            types = self.database.column_types(table)
            copy_rows(
                self.connection(),
                f"{table} (project, {', '.join(columns)})",
                [types["project"], *(types[column] for column in columns)],
                ((self.key, *row) for row in rows),
            )

    def update(self, table: str, key: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        if not rows:
            return
        types = self.database.column_types(table)
        arrays = ", ".join(f"%b::{types[column]}[]" for column in (key, *columns))
        changes = ", ".join(f"{column} = given.{column}" for column in columns)
        sql = f"""UPDATE {table} SET {changes} FROM unnest({arrays}) AS given ({", ".join((key, *columns))})
                  WHERE {table}.project = %s AND {table}.{key} = given.{key}"""
        self.connection().execute(sql.encode(), (*map(list, zip(*rows, strict=True)), self.key))

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        self.flush()
        with self.database.snapshot() as connection:
            yield connection

    def version(self) -> Version:
        if self.is_writing():
            return None
        version = self._read_version()
        return None if version is None else (self.key, version)

    def cached(self, name: str, read: Callable[[], _T]) -> _T:
        self.flush()
        version = None if self.is_writing() else self._read_version()
        if version is None:
            return read()
        key = (self._cache_number, version, name, "")
        found: list[_T] | None = SHARED_CACHE.get(key)
        if found is None:
            with self.database.snapshot():
                found = [read()]
            SHARED_CACHE.put(key, found)
        return found[0]

    def words(self, table: WordTable) -> PackedWordIndex:
        return PackedWordIndex(self, table)

    def chunk_terms(self) -> PostgresChunkTerms:
        return PostgresChunkTerms(self)

    def source(self) -> PostgresRowSource:
        return PostgresRowSource(self.database.connection_settings, self.key)

    def translating_errors(self) -> AbstractContextManager[object]:
        return self.database.errors

    def connection(self) -> Connection:
        """Return the connection of this thread's write transaction."""
        with self.database.snapshot() as connection:  # a snapshot within a transaction is the transaction itself
            return connection

    def _snapshot_version(self) -> int | None:
        """Return the visible version of the project within a snapshot, or None otherwise."""
        if self.is_writing() or self.database.snapshot_versions() is None:
            return None
        return self._read_version()

    def _read_version(self) -> int | None:
        """Return the visible version of the project, or None if row-level security hides the project or some of its
        rows."""
        # A snapshot reads the versions of all projects at once.
        seen = self.database.snapshot_versions()
        if seen is None:
            rows = self.database.query(_SELECT_VERSION, (self.key,))
            return rows[0][0] if rows else None
        if not seen:
            found = dict(self.database.query(_SELECT_VERSIONS))
            visible = self.database.visible_keys(found)
            seen.update({key: version for key, version in found.items() if key in visible})
        return seen.get(self.key)
