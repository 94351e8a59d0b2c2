"""Inverted indexes of a project: the words of chunks, files and commits. Each storage engine has one implementation.

Both implementations compute scores with the same formula (bm25() of SQLite's FTS5).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence


class WordTable(NamedTuple):
    """An inverted index with the weight of each column in scores."""

    name: str
    columns: tuple[str, ...]
    weights: tuple[float, ...]
    has_texts: bool = False  # whether the texts of rows can be read from the table of this name


CHUNK_WORDS = WordTable("chunk_words", ("symbol", "doc", "body"), (2.0, 1.5, 1.0))
FILE_WORDS = WordTable("file_words", ("stem", "folders", "names", "head"), (4.0, 1.5, 3.0, 1.5), has_texts=True)
COMMIT_WORDS = WordTable("past_commit_words", ("subject", "body", "paths"), (3.0, 1.0, 0.6))
PAST_FILE_WORDS = WordTable("past_file_words", ("words",), (1.0,))


class RowCondition(NamedTuple):
    """SQL condition on the indexed rows, in which `{id}` is the id of a row, and the bound values.

    An empty condition selects all rows.
    """

    sql: str = ""
    values: tuple[object, ...] = ()


EVERY_ROW = RowCondition()


class WordIndex(Protocol):
    """Queries on one inverted index of a project."""

    def match(
        self,
        single_terms: Sequence[str],
        paired_terms: Sequence[str] = (),
        *,
        first_column_terms: Sequence[str] = (),
        condition: RowCondition = EVERY_ROW,
        limit: int,
    ) -> list[tuple[int, float]]:
        """Return (id, score) for the best rows that contain one of `single_terms` or two of `paired_terms`.

        Rows with one of `first_column_terms` in the first column match too. All terms contribute to the score. A
        higher score is better.
        """

    def rows_with_all(self, groups: Sequence[Sequence[str]]) -> list[int]:
        """Return the ids of rows whose first column contains a term of each group."""

    def row_counts(self, terms: Sequence[str]) -> dict[str, int]:
        """Return the number of rows that contain each term. Absent terms are omitted."""

    def id_range(self) -> tuple[int, int] | None:
        """Return the lowest and highest id of all rows that were ever added, or None if there are none."""

    def writer(self) -> WordWriter:
        """Return a writer for this thread's transaction."""


class WordWriter(Protocol):
    """Writer of one inverted index within one transaction. Changes are buffered."""

    def add(self, row_id: int, texts: Sequence[str]) -> None:
        """Add a row with the text of each column."""

    def remove(self, row_id: int, texts: Sequence[str]) -> None:
        """Remove a row with the given texts. The texts may be empty if the index stores the texts of rows."""

    def remove_all(self) -> None:
        """Remove all rows."""

    def flush(self) -> None:
        """Write the buffered changes."""

    def discard(self) -> None:
        """Discard the buffered changes."""
