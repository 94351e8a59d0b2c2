"""Tables of code search in PostgreSQL, and the words of chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.store.code import ChunkRecord, ChunkTerms
from deltos.store.migration import Migration
from deltos.store.postgres.partitions import partitioned_table_sql, without_statistics
from deltos.store.postgres.row_security import BY_PROJECT, row_security_sql
from deltos.store.postgres.rows import indexed_lower_prefix
from deltos.store.word_index import CHUNK_WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.store.postgres.project_tables import ProjectTables

CODE_001 = Migration(
    "code-001-chunks",
    partitioned_table_sql(
        "chunk",
        """id bigint NOT NULL,
        file_id bigint NOT NULL,
        start_line integer NOT NULL,
        end_line integer NOT NULL,
        symbol text NOT NULL,
        kind text NOT NULL,
        signature text NOT NULL,
        symbol_words text NOT NULL,
        doc_words text NOT NULL,
        body_words text NOT NULL,
        PRIMARY KEY (project, id)""",
    )
    + "CREATE INDEX chunk_by_file ON chunk (project, file_id);"
    + partitioned_table_sql(
        "definition",
        """id bigint NOT NULL,
        file_id bigint NOT NULL,
        name text COLLATE "C" NOT NULL,
        kind text NOT NULL,
        line integer NOT NULL,
        end_line integer NOT NULL,
        container text NOT NULL,
        PRIMARY KEY (project, id)""",
    )
    + f"CREATE INDEX definition_by_name ON definition (project, {indexed_lower_prefix('name')});"
    + "CREATE INDEX definition_by_file ON definition (project, file_id);"
    + partitioned_table_sql(
        "file_words",
        """file_id bigint NOT NULL,
        stem text NOT NULL,
        folders text NOT NULL,
        names text NOT NULL,
        head text NOT NULL,
        PRIMARY KEY (project, file_id)""",
    )
    + partitioned_table_sql(
        "chunk_vectors",
        """number bigint NOT NULL,
        file_id bigint NOT NULL,
        model text COLLATE "C" NOT NULL,
        first_chunk bigint NOT NULL,
        data bytea NOT NULL,
        PRIMARY KEY (project, model, number)""",
    )
    + "CREATE INDEX chunk_vectors_by_file ON chunk_vectors (project, file_id);",
)
# This migration moves the words of chunks to a separate table. The projects are then indexed again.
CODE_004 = Migration(
    "code-004-chunk-text",
    """
    TRUNCATE chunk, chunk_vectors, definition, file_words, word, word_total;
    ALTER TABLE chunk DROP COLUMN symbol_words, DROP COLUMN doc_words, DROP COLUMN body_words;
    ALTER TABLE definition DROP COLUMN id;
    ALTER TABLE file_words RENAME COLUMN file_id TO rowid;
    """
    + partitioned_table_sql(
        "chunk_text",
        """chunk_id bigint NOT NULL,
        symbol text NOT NULL,
        doc text NOT NULL,
        body text NOT NULL,
        PRIMARY KEY (project, chunk_id)""",
    )
    + row_security_sql("chunk_text", BY_PROJECT)
    + without_statistics("chunk_text")
    + "UPDATE project SET version = version + 1; DELETE FROM meta WHERE key IN ('complete', 'indexers');",
)


class PostgresChunkTerms:
    """Implementation of `store.code.ChunkTermIndex`."""

    def __init__(self, tables: ProjectTables) -> None:
        self._tables = tables
        self._words = tables.words(CHUNK_WORDS)

    def frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        return self._words.row_counts(terms)

    def terms_in(self, ids: Sequence[int], terms: Sequence[str]) -> dict[int, ChunkTerms]:
        needles = [(f" {term} ", 1 << number) for number, term in enumerate(terms)]

        def mask(text: str) -> int:
            return sum(bit for needle, bit in needles if needle in f" {text} ")

        found = {}
        sql = "SELECT chunk_id, symbol, doc, body FROM chunk_text WHERE chunk_id IN ?"
        for chunk_id, symbol, doc, body in self._tables.query(sql, list(ids)):
            in_symbol = mask(symbol)
            in_doc = in_symbol | mask(doc)
            found[chunk_id] = ChunkTerms(in_symbol, in_doc, in_doc | mask(body), body.count(" ") + 1)
        return found

    def writer(self) -> PostgresChunkTermWriter:
        return PostgresChunkTermWriter(self._tables)


class PostgresChunkTermWriter:
    """Implementation of `store.code.ChunkTermWriter`."""

    def __init__(self, tables: ProjectTables) -> None:
        self._tables = tables

    def add(self, chunks: Sequence[tuple[int, ChunkRecord]]) -> None:
        rows = [(chunk_id, c.symbol_words, c.doc_words, c.body_words) for chunk_id, c in chunks]
        self._tables.insert("chunk_text", ("chunk_id", "symbol", "doc", "body"), rows)

    def remove(self, chunk_ids: Sequence[int]) -> list[tuple[int, Sequence[str]]]:
        sql = "SELECT chunk_id, symbol, doc, body FROM chunk_text WHERE chunk_id IN ?"
        rows = self._tables.query(sql, list(chunk_ids))
        self._tables.execute("DELETE FROM chunk_text WHERE chunk_id IN ?", list(chunk_ids))
        return [(row[0], row[1:]) for row in rows]

    def tidy(self) -> None:
        """Do nothing. Postings are written in complete blocks, and document frequencies are always exact."""
