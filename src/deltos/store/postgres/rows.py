"""Many rows at once: one statement for all of them. And text of any length as a key."""

from __future__ import annotations

import hashlib
from itertools import chain, islice
from typing import TYPE_CHECKING
from weakref import WeakSet

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from deltos.store.postgres.database import Connection


_INSERT_ROWS = 5_000
_bound: WeakSet[Connection] = WeakSet()


def note_bound(connection: Connection) -> None:
    """Remember that row-level security holds for a connection: PostgreSQL then takes no COPY into tables."""
    _bound.add(connection)


def copy_rows(connection: Connection, target: str, types: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Insert rows into a table with its columns: `chunk (project, id)`."""
    every = iter(rows)
    first = next(every, None)
    if first is None:
        return
    if connection in _bound:
        _insert_rows(connection, target, types, chain((first,), every))
        return
    with connection.cursor().copy(f"COPY {target} FROM STDIN (FORMAT BINARY)".encode()) as copy:
        copy.set_types(types)
        copy.write_row(first)
        for row in every:
            copy.write_row(row)


def _insert_rows(connection: Connection, target: str, types: Sequence[str], rows: Iterator[Sequence[object]]) -> None:
    columns = ", ".join(f"%b::{kind}[]" for kind in types)
    while some := list(islice(rows, _INSERT_ROWS)):
        values = [list(column) for column in zip(*some, strict=True)]
        connection.execute(f"INSERT INTO {target} SELECT * FROM unnest({columns})".encode(), values)


def check_text(*texts: str) -> None:
    """Raise UnicodeEncodeError now where a text cannot be stored: rows are written later, many at once."""
    for text in texts:
        if not text.isascii():
            text.encode()


# An index cannot hold entries of more than 2,704 bytes; paths and names of code may be longer. What is indexed has to
# be found by functions that are marked LEAKPROOF, which `left` and `lower` are not: others are not looked up in an
# index where row-level security holds.
_CUT = 200


def cut(column: str) -> str:
    """What of a text was indexed by the first steps of the schema."""
    return f"left({column}, {_CUT})"


def lower_cut(column: str) -> str:
    """The same without regard to case, of letters of ASCII."""
    return f"lower({cut(column)})"


def digest(column: str) -> str:
    """What of a text is indexed: a digest, of one length."""
    return f"md5({column})"


def folded(column: str) -> str:
    """The column that has the beginning of a name without regard to case, of letters of ASCII."""
    return f"{column}_folded"


def folded_column(column: str) -> str:
    """The definition of that column."""
    return f'{folded(column)} text COLLATE "C" GENERATED ALWAYS AS ({lower_cut(column)}) STORED'


def is_one_of(column: str, texts: Sequence[str]) -> tuple[str, tuple[list[str], list[str]]]:
    """The condition that a text is one of some, by its index, with its values."""
    return f"{digest(column)} = ANY(%s) AND {column} = ANY(%s)", ([_digest(text) for text in texts], list(texts))


def is_one_of_in_any_case(column: str, texts: Sequence[str]) -> tuple[str, tuple[list[str], list[str]]]:
    """The same without regard to case."""
    texts = list({ascii_lower(text) for text in texts})
    return f"{folded(column)} = ANY(%s) AND lower({column}) = ANY(%s)", ([text[:_CUT] for text in texts], texts)


def ascii_lower(text: str) -> str:
    """Letters of ASCII in lower case, as `lower` has it in the collation C."""
    return text.encode().lower().decode()


def _digest(text: str) -> str:
    kept = text.replace("\0", "\ufffd")  # as it is stored
    return hashlib.md5(kept.encode(), usedforsecurity=False).hexdigest()
