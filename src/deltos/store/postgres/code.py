"""Code search in PostgreSQL: tables of chunks and definitions, packed word indexes, and all queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from deltos.store.code import (
    ChunkMatch,
    ChunkRecord,
    ChunkTerms,
    ChunkVectors,
    CodeChunkRow,
    DefinitionRecord,
    FileRow,
    FileScope,
    FileVectors,
    FileWords,
)
from deltos.store.migration import Migration
from deltos.store.postgres.packed_word_index import PackedWordIndex, WordChanges, WordKind
from deltos.store.postgres.partitions import partitioned_table_sql
from deltos.store.postgres.project_tables import STORED_FILE, stored_file
from deltos.store.postgres.rows import (
    ascii_lower,
    check_text,
    copy_rows,
    indexed_lower_prefix,
    is_one_of,
    is_one_of_ignoring_case,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from deltos.store.postgres.database import Connection
    from deltos.store.postgres.project_tables import IdAllocator, ProjectTables
    from deltos.store.project import StoredFile
    from deltos.store.version import Version

    _Lines = tuple[int, int, int]  # file id, first line and last line
    _Names = tuple[tuple[str, ...], int]  # names, and the maximum number of definitions

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
CHUNK_WORDS = WordKind(1, (2.0, 1.5, 1.0))
FILE_WORDS = WordKind(2, (4.0, 1.5, 3.0, 1.5))
# Maximum number of buffered chunks, which is about one block of the inverted index.
_MAX_BUFFERED_CHUNKS = 4_096
# Estimated sizes in bytes of objects in the row cache.
_DEFINITION_BYTES = 250
_OBJECT_BYTES = 100
_NAME_CACHE_KIND = "definitions named"
_SELECT_WHOLE_CHUNK = """SELECT chunk.id, file_id, path, start_line, end_line, symbol, kind, signature,
                         symbol_words, doc_words, body_words, hash, size, mtime_ns, seen_at_ns
                  FROM chunk JOIN file ON file.project = chunk.project AND file.id = file_id
                  WHERE chunk.project = %s AND chunk.id = ANY(%s)"""
_SELECT_FILE = "SELECT id, path, language, lines FROM file WHERE project = %s"


class PostgresCode:
    """Implementation of `store.code.Code`."""

    def __init__(self, tables: ProjectTables) -> None:
        self._tables = tables
        self._chunk_words = PackedWordIndex(tables, CHUNK_WORDS)
        self._file_words = PackedWordIndex(tables, FILE_WORDS)

    def snapshot(self) -> AbstractContextManager[object]:
        return self._tables.snapshot()

    def version(self) -> Version:
        return self._tables.version()

    def chunk_count(self) -> int:
        return self._chunk_words.count_rows()

    def document_frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        return self._chunk_words.row_counts(terms)

    def match_chunks(
        self, single_terms: Sequence[str], paired_terms: Sequence[str], scope: FileScope, *, limit: int
    ) -> list[ChunkMatch]:
        condition, values = _scope_filter(scope)
        sql = f"""SELECT chunk.id, file_id FROM chunk
                  {"JOIN file ON file.project = chunk.project AND file.id = file_id" if condition else ""}
                  WHERE chunk.project = %s AND chunk.id = ANY(%s) {condition}"""

        def read(ids: list[int]) -> dict[int, int]:
            return dict(self._tables.query(sql, (self._tables.key, ids, *values)))

        def files_of(ids: list[int]) -> dict[int, int]:
            return read(ids) if condition else self._tables.cached_rows("file of chunk", ids, read)

        with self._tables.snapshot():
            found = self._chunk_words.match(single_terms, paired_terms).best_with_values(limit, files_of)
        return [ChunkMatch(chunk_id, file_id, score) for chunk_id, score, file_id in found]

    def match_files(
        self,
        terms: Sequence[str],
        single_terms: Sequence[str],
        paired_terms: Sequence[str],
        scope: FileScope,
        *,
        limit: int,
    ) -> list[tuple[int, float]]:
        if not terms:
            return []
        condition, values = _scope_filter(scope)
        sql = f"SELECT id, id FROM file WHERE project = %s AND id = ANY(%s) {condition}"

        def in_scope(ids: list[int]) -> dict[int, int]:
            return dict(self._tables.query(sql, (self._tables.key, ids, *values)))

        with self._tables.snapshot():
            ranked = self._file_words.match(single_terms, paired_terms, first_column_terms=terms)
            if not condition:
                return ranked.best(limit)
            return [(file_id, score) for file_id, score, _ in ranked.best_with_values(limit, in_scope)]

    def files(self, ids: Sequence[int]) -> list[FileRow]:
        def read(missing: list[int]) -> dict[int, FileRow]:
            rows = self._tables.query(f"{_SELECT_FILE} AND id = ANY(%s)", (self._tables.key, missing))
            return {row[0]: FileRow(*row) for row in rows}

        found = self._tables.cached_rows("file", ids, read, _path_bytes)
        return [found[file_id] for file_id in sorted(found)]

    def files_at(self, paths: Sequence[str], scope: FileScope) -> list[FileRow]:
        condition, values = _scope_filter(scope)

        def read(missing: list[str]) -> dict[str, FileRow]:
            named, given = is_one_of("path", missing)
            sql = f"{_SELECT_FILE} AND NOT generated AND {named} {condition}"
            rows = self._tables.query(sql, (self._tables.key, *given, *values))
            return {row[1]: FileRow(*row) for row in rows}

        found = read(list(paths)) if condition else self._tables.cached_rows("file at path", paths, read, _path_bytes)
        return sorted(found.values(), key=lambda file: file.path.encode())

    def file_words(self, ids: Sequence[int]) -> dict[int, FileWords]:
        def read(missing: list[int]) -> dict[int, FileWords]:
            rows = self._tables.query(
                """SELECT file_id, stem, folders, names, head FROM file_words
                   WHERE project = %s AND file_id = ANY(%s)""",
                (self._tables.key, missing),
            )
            return {row[0]: FileWords(*row[1:]) for row in rows}

        return self._tables.cached_rows(
            "file words", ids, read, lambda words: len(words.names) + len(words.head) + len(words.folders)
        )

    def chunk_terms(self, ids: Sequence[int], terms: Sequence[str]) -> dict[int, ChunkTerms]:
        needles = [(f" {term} ", 1 << number) for number, term in enumerate(terms)]

        def mask(text: str) -> int:
            return sum(bit for needle, bit in needles if needle in f" {text} ")

        found = {}
        for chunk_id, chunk in self._whole_chunks(ids).items():
            in_symbol, in_doc, in_body = map(mask, chunk.words)
            doc = in_symbol | in_doc
            found[chunk_id] = ChunkTerms(in_symbol, doc, doc | in_body, chunk.words[2].count(" ") + 1)
        return found

    def chunks(self, ids: Sequence[int]) -> dict[int, CodeChunkRow]:
        found = [chunk.row for chunk in self._whole_chunks(ids).values()]
        found.sort(key=lambda chunk: (chunk.file_id, chunk.start_line, chunk.id))
        return {chunk.id: chunk for chunk in found}

    def _whole_chunks(self, ids: Sequence[int]) -> dict[int, _WholeChunk]:
        """Return chunks with index words, and cache the rows of the files that contain the chunks."""

        # Rows of files are cached too, because the caller needs these rows to show some of the chunks.
        def read(missing: list[int]) -> dict[int, _WholeChunk]:
            rows = self._tables.query(_SELECT_WHOLE_CHUNK, (self._tables.key, missing))
            if state := self._tables.cached_state():
                files = {row[2]: stored_file(row[1], row[2], *row[11:]) for row in rows}
                state.put(STORED_FILE, files, _stored_bytes)
            return {row[0]: _WholeChunk(CodeChunkRow(*row[:8]), row[8:11]) for row in rows}

        return self._tables.cached_rows("chunk", ids, read, _chunk_bytes)

    def chunks_at(self, file_id: int, lines: Sequence[int]) -> list[CodeChunkRow]:
        holds = "EXISTS (SELECT FROM unnest(%s::int[]) AS line WHERE line BETWEEN start_line AND end_line)"
        return self._chunk_rows(f"file_id = %s AND {holds}", (file_id, list(lines)))

    def chunks_of_file(self, file_id: int) -> list[CodeChunkRow]:
        return self._chunk_rows("file_id = %s", (file_id,))

    def _chunk_rows(self, condition: str, values: Sequence[object]) -> list[CodeChunkRow]:
        rows = self._tables.query(
            f"""SELECT chunk.id, file_id, path, start_line, end_line, symbol, kind, signature
                FROM chunk JOIN file ON file.project = chunk.project AND file.id = file_id
                WHERE chunk.project = %s AND {condition} ORDER BY file_id, start_line, chunk.id""",
            (self._tables.key, *values),
        )
        return [CodeChunkRow(*row) for row in rows]

    def vectors_since(self, model: str, number: int) -> list[FileVectors]:
        rows = self._tables.query(
            """SELECT number, file_id, first_chunk, data FROM chunk_vectors
               WHERE project = %s AND model = %s AND number > %s ORDER BY number""",
            (self._tables.key, model, number),
        )
        return [FileVectors(*row) for row in rows]

    def vector_count(self, model: str) -> int:
        sql = "SELECT COUNT(*) FROM chunk_vectors WHERE project = %s AND model = %s"
        count: int = self._tables.query(sql, (self._tables.key, model))[0][0]
        return count

    def vector_numbers(self, model: str) -> list[int]:
        sql = "SELECT number FROM chunk_vectors WHERE project = %s AND model = %s ORDER BY number"
        return [row[0] for row in self._tables.query(sql, (self._tables.key, model))]

    def definitions_named(
        self, names: Sequence[str], scope: FileScope, *, limit: int
    ) -> list[tuple[int, DefinitionRecord]]:
        condition, values = _scope_filter(scope)

        def read(missing: list[_Names]) -> dict[_Names, tuple[tuple[int, DefinitionRecord], ...]]:
            ((names, limit),) = missing
            named, given = is_one_of_ignoring_case("name", names)
            rows = self._tables.query(
                f"""SELECT file_id, name, kind, definition.line, definition.end_line, container FROM definition
                    {"JOIN file ON file.project = definition.project AND file.id = file_id" if condition else ""}
                    WHERE definition.project = %s AND {named} {condition}
                    ORDER BY lower(name), definition.id LIMIT %s""",
                (self._tables.key, *given, *values, limit),
            )
            return {(names, limit): tuple((row[0], DefinitionRecord(*row[1:])) for row in rows)}

        asked = (tuple(names), limit)
        if condition:
            return list(read([asked])[asked])
        cached_rows = self._tables.cached_rows(_NAME_CACHE_KIND, [asked], read, _definitions_bytes)
        return list(cached_rows[asked])

    def definitions_in(self, ranges: Sequence[tuple[int, int, int]]) -> list[list[DefinitionRecord]]:
        def read(missing: list[_Lines]) -> dict[_Lines, tuple[DefinitionRecord, ...]]:
            files, first, last = ([line_range[n] for line_range in missing] for n in range(3))
            rows = self._tables.query(
                """SELECT number, name, kind, line, end_line, container
                   FROM unnest(%s::bigint[], %s::int[], %s::int[]) WITH ORDINALITY AS place (file, first, last, number)
                   JOIN definition ON project = %s AND file_id = file AND line BETWEEN first AND last
                   ORDER BY number, line, end_line DESC, id""",
                (files, first, last, self._tables.key),
            )
            found: dict[_Lines, list[DefinitionRecord]] = {line_range: [] for line_range in missing}
            for number, *definition in rows:
                found[missing[number - 1]].append(DefinitionRecord(*definition))
            return {line_range: tuple(definitions) for line_range, definitions in found.items()}

        wanted = dict.fromkeys(ranges)
        cached_rows = self._tables.cached_rows("definitions in lines", wanted, read, _definitions_bytes)
        return [list(cached_rows[line_range]) for line_range in ranges]

    def paths(self, scope: FileScope) -> list[tuple[int, str]]:
        condition, values = _scope_filter(scope)
        sql = f"SELECT id, path FROM file WHERE project = %s AND NOT generated {condition} ORDER BY path"
        return [(row[0], row[1]) for row in self._tables.query(sql, (self._tables.key, *values))]

    def file_count(self, scope: FileScope) -> int:
        condition, values = _scope_filter(scope)
        sql = f"SELECT COUNT(*) FROM file WHERE project = %s AND NOT generated {condition}"

        def read(scopes: list[FileScope]) -> dict[FileScope, int]:
            return dict.fromkeys(scopes, self._tables.query(sql, (self._tables.key, *values))[0][0])

        return (read([scope]) if condition else self._tables.cached_rows("file count", [scope], read))[scope]

    def defined_names(self, *, limit: int) -> list[str]:
        rows = self._tables.query(
            """SELECT DISTINCT ON (lower(name)) name FROM definition
               WHERE project = %s ORDER BY lower(name), id LIMIT %s""",
            (self._tables.key, limit),
        )
        return [row[0] for row in rows]


class _WholeChunk(NamedTuple):
    """A chunk with its index words."""

    row: CodeChunkRow
    words: tuple[str, str, str]


def _chunk_bytes(chunk: _WholeChunk) -> int:
    return sum(map(len, chunk.words)) + len(chunk.row.signature) + 2 * _OBJECT_BYTES


def _path_bytes(file: FileRow) -> int:
    return len(file.path)


def _stored_bytes(file: StoredFile) -> int:
    return len(file.path)


def _definitions_bytes(found: Sequence[object]) -> int:
    return _DEFINITION_BYTES * len(found)


class _FileCode(NamedTuple):
    """Buffered index words, chunks, definitions and vectors of one file."""

    words: FileWords
    first_chunk: int
    chunks: Sequence[ChunkRecord]
    definitions: Sequence[DefinitionRecord]
    vectors: ChunkVectors | None


class PostgresCodeWriter:
    """Implementation of `store.code.CodeWriter`."""

    def __init__(self, tables: ProjectTables, connection: Connection, ids: IdAllocator) -> None:
        self._tables = tables
        self._connection = connection
        self._ids = ids
        self._added: dict[int, _FileCode] = {}
        self._removed: list[int] = []
        self._buffered_chunks = 0
        self._chunk_words = WordChanges(CHUNK_WORDS)
        self._file_words = WordChanges(FILE_WORDS)

    def add(
        self,
        file_id: int,
        words: FileWords,
        chunks: Sequence[ChunkRecord],
        definitions: Sequence[DefinitionRecord],
        vectors: ChunkVectors | None = None,
    ) -> None:
        with self._tables.database.errors:
            check_text(words.stem, words.folders, words.names, words.head)
            for c in chunks:
                check_text(c.symbol, c.kind, c.signature, c.symbol_words, c.doc_words, c.body_words)
            for d in definitions:
                check_text(d.name, d.kind, d.container)
            first = self._ids.allocate("chunk", len(chunks))
            self._added[file_id] = _FileCode(words, first, chunks, definitions, vectors)
            self._buffered_chunks += len(chunks)
            if self._buffered_chunks >= _MAX_BUFFERED_CHUNKS:
                self.flush()

    def remove(self, file_id: int) -> None:
        if self._added.pop(file_id, None) is None:
            self._removed.append(file_id)

    def indexed_files(self) -> int:
        sql = "SELECT COUNT(*) FROM file WHERE project = %s AND NOT generated"
        count: int = self._tables.query(sql, (self._tables.key,))[0][0]
        return count

    def tidy(self) -> None:
        """Do nothing. Postings are written in complete blocks, and document frequencies are always exact."""

    def clear(self) -> None:
        """Discard the buffered changes."""
        self._added.clear()
        self._removed.clear()
        self._buffered_chunks = 0
        self._chunk_words.clear()
        self._file_words.clear()

    def flush(self) -> None:
        """Write the buffered changes."""
        if self._removed:
            self._delete_removed()
        if self._added:
            self._insert_buffered()
        self._chunk_words.write(self._connection, self._tables.key)
        self._file_words.write(self._connection, self._tables.key)
        self.clear()

    def _delete_removed(self) -> None:
        given = (self._tables.key, self._removed)
        for row_id, *words in self._connection.execute(
            """DELETE FROM chunk WHERE project = %s AND file_id = ANY(%s)
               RETURNING id, symbol_words, doc_words, body_words""",
            given,
        ):
            self._chunk_words.removed[row_id] = tuple(words)
        for file_id, *words in self._connection.execute(
            """DELETE FROM file_words WHERE project = %s AND file_id = ANY(%s)
               RETURNING file_id, stem, folders, names, head""",
            given,
        ):
            self._file_words.removed[file_id] = tuple(words)
        for table in ("chunk_vectors", "definition"):
            self._connection.execute(f"DELETE FROM {table} WHERE project = %s AND file_id = ANY(%s)", given)

    def _insert_buffered(self) -> None:
        key = self._tables.key
        for file_id, file in self._added.items():
            words = file.words
            self._file_words.added[file_id] = (words.stem, words.folders, words.names, words.head)
            for n, c in enumerate(file.chunks, file.first_chunk):
                self._chunk_words.added[n] = (c.symbol_words, c.doc_words, c.body_words)
        copy_rows(
            self._connection,
            """chunk (project, id, file_id, start_line, end_line, symbol, kind, signature, symbol_words, doc_words,
               body_words)""",
            ("int8", "int8", "int8", "int4", "int4", *("text",) * 6),
            (
                (key, n, file_id, c.start_line, c.end_line, c.symbol, c.kind, c.signature, *self._chunk_words.added[n])
                for file_id, file in self._added.items()
                for n, c in enumerate(file.chunks, file.first_chunk)
            ),
        )
        copy_rows(
            self._connection,
            "file_words (project, file_id, stem, folders, names, head)",
            ("int8", "int8", *("text",) * 4),
            ((key, file_id, *words) for file_id, words in self._file_words.added.items()),
        )
        self._insert_definitions()
        self._insert_vectors()

    def _insert_definitions(self) -> None:
        every = [(file_id, d) for file_id, file in self._added.items() for d in file.definitions]
        first = self._ids.allocate("definition", len(every))
        copy_rows(
            self._connection,
            "definition (project, id, file_id, name, kind, line, end_line, container)",
            ("int8", "int8", "int8", "text", "text", "int4", "int4", "text"),
            (
                (self._tables.key, n, file_id, d.name, d.kind, d.line, d.end_line, d.container)
                for n, (file_id, d) in enumerate(every, first)
            ),
        )

    def _insert_vectors(self) -> None:
        every = [
            (file_id, file.vectors.model, file.first_chunk, file.vectors.data)
            for file_id, file in self._added.items()
            if file.vectors and file.chunks
        ]
        numbers = next_vector_numbers(self._connection, len(every))
        copy_rows(
            self._connection,
            "chunk_vectors (project, number, file_id, model, first_chunk, data)",
            ("int8", "int8", "int8", "text", "int8", "bytea"),
            ((self._tables.key, number, *row) for number, row in zip(numbers, every, strict=True)),
        )


def next_vector_numbers(connection: Connection, count: int) -> list[int]:
    """Return new numbers for writes of vectors, in ascending order. A number is never used twice."""
    rows = connection.execute("SELECT nextval('vector_number') FROM generate_series(1, %s)", (count,))
    return sorted(row[0] for row in rows)


def _scope_filter(scope: FileScope) -> tuple[str, list[object]]:
    """Return an SQL condition on `file.path`, to be appended to other conditions, and the bound values."""
    condition, values = "", list[object]()
    if scope.folder:
        condition += "AND starts_with(file.path, %s) "
        values.append(scope.folder + "/")
    if scope.suffixes:
        condition += "AND lower(file.path) LIKE ANY(%s)"
        escaped = (s.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") for s in scope.suffixes)
        values.append(["%" + ascii_lower(suffix) for suffix in escaped])
    return condition, values
