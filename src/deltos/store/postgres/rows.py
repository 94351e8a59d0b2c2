"""Many rows at once: one statement for all of them. And text of any length as a key."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deltos.store.postgres.database import Connection


def copy_rows(connection: Connection, target: str, types: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Insert rows into a table with its columns: `chunk (project, id)`."""
    every = iter(rows)
    first = next(every, None)
    if first is None:
        return
    with connection.cursor().copy(f"COPY {target} FROM STDIN (FORMAT BINARY)".encode()) as copy:
        copy.set_types(types)
        copy.write_row(first)
        for row in every:
            copy.write_row(row)


def check_text(*texts: str) -> None:
    """Raise UnicodeEncodeError now where a text cannot be stored: rows are written later, many at once."""
    for text in texts:
        if not text.isascii():
            text.encode()


# An index cannot hold entries of more than 2,704 bytes; paths and names of code may be longer.
_CUT = 200


def cut(column: str) -> str:
    """What of a text is indexed."""
    return f"left({column}, {_CUT})"


def lower_cut(column: str) -> str:
    """What of a text is indexed without regard to case, of letters of ASCII."""
    return f"lower({cut(column)})"


def is_one_of(column: str, texts: Sequence[str]) -> tuple[str, tuple[list[str], list[str]]]:
    """The condition that a text is one of some, by its index, with its values."""
    return f"{cut(column)} = ANY(%s) AND {column} = ANY(%s)", ([text[:_CUT] for text in texts], list(texts))


def is_one_of_in_any_case(column: str, texts: Sequence[str]) -> tuple[str, tuple[list[str], list[str]]]:
    """The same without regard to case."""
    texts = list({ascii_lower(text) for text in texts})
    return f"{lower_cut(column)} = ANY(%s) AND lower({column}) = ANY(%s)", ([text[:_CUT] for text in texts], texts)


def ascii_lower(text: str) -> str:
    """Letters of ASCII in lower case, as `lower` has it in the collation C."""
    return text.encode().lower().decode()
