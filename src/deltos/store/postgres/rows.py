"""Bulk inserts, and SQL conditions that use an index on texts of any length."""

from __future__ import annotations

import hashlib
from itertools import chain, islice
from typing import TYPE_CHECKING
from weakref import WeakSet

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from deltos.store.postgres.database import Connection


_ROWS_PER_INSERT = 5_000
_row_security_connections: WeakSet[Connection] = WeakSet()


def mark_row_security(connection: Connection) -> None:
    """Record that row-level security applies to a connection. PostgreSQL does not allow COPY on such a connection."""
    _row_security_connections.add(connection)


def copy_rows(connection: Connection, target: str, types: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Insert rows in bulk. `target` is a table with its columns, such as `chunk (project, id)`."""
    every = iter(rows)
    first = next(every, None)
    if first is None:
        return
    if connection in _row_security_connections:
        _insert_rows(connection, target, types, chain((first,), every))
        return
    with connection.cursor().copy(f"COPY {target} FROM STDIN (FORMAT BINARY)".encode()) as copy:
        copy.set_types(types)
        copy.write_row(first)
        for row in every:
            copy.write_row(row)


def _insert_rows(connection: Connection, target: str, types: Sequence[str], rows: Iterator[Sequence[object]]) -> None:
    columns = ", ".join(f"%b::{kind}[]" for kind in types)
    while some := list(islice(rows, _ROWS_PER_INSERT)):
        values = [list(column) for column in zip(*some, strict=True)]
        connection.execute(f"INSERT INTO {target} SELECT * FROM unnest({columns})".encode(), values)


# An index entry is limited to 2,704 bytes, but paths and names may be longer, so a digest or a prefix is indexed.
# Under row-level security, PostgreSQL uses an index only with LEAKPROOF functions. `left` and `lower` are not.
_MAX_PREFIX_CHARACTERS = 200


def indexed_prefix(column: str) -> str:
    """Return the SQL expression for the prefix of a column, as in indexes that the first migrations created."""
    return f"left({column}, {_MAX_PREFIX_CHARACTERS})"


def indexed_lower_prefix(column: str) -> str:
    """Return the SQL expression for the prefix of a column with ASCII letters in lower case."""
    return f"lower({indexed_prefix(column)})"


def digest_expression(column: str) -> str:
    """Return the SQL expression for the indexed digest of a column."""
    return f"md5({column})"


def lower_prefix_column(column: str) -> str:
    """Return the name of the generated column that contains the lower-case prefix of a column."""
    return f"{column}_folded"


def lower_prefix_definition(column: str) -> str:
    """Return the SQL definition of the generated column that contains the lower-case prefix of a column."""
    return f'{lower_prefix_column(column)} text COLLATE "C" GENERATED ALWAYS AS ({indexed_lower_prefix(column)}) STORED'


def text_digest(text: str) -> str:
    """Return the digest under which PostgreSQL indexes a text."""
    kept = text.replace("\0", "\ufffd")  # stored texts cannot contain NUL
    return hashlib.md5(kept.encode(), usedforsecurity=False).hexdigest()
