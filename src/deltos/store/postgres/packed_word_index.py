"""Inverted indexes of projects: postings packed by word and block of rows, scored like bm25() in SQLite's FTS5.

A table row describes the occurrences of one word in a block of 4,096 successive row ids. For each indexed row that
contains the word, it stores the position in the block, the length of the row, and the frequency of the word in each
column. Document frequencies can be read without unpacking. benchmarks/RESULTS.md compares this format with one row per
occurrence and with `tsvector`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from deltos.store.migration import Migration
from deltos.store.postgres.partitions import partitioned_table_sql
from deltos.store.postgres.rows import copy_rows
from deltos.store.word_index import CHUNK_WORDS, COMMIT_WORDS, EVERY_ROW, FILE_WORDS, PAST_FILE_WORDS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from deltos.store.postgres.database import Connection
    from deltos.store.postgres.project_tables import ProjectTables
    from deltos.store.word_index import RowCondition, WordTable

    Numbers = npt.NDArray[Any]

WORDS_001 = Migration(
    "words-001-packed",
    partitioned_table_sql(
        "word",
        """kind smallint NOT NULL,
        term text COLLATE "C" NOT NULL,
        block integer NOT NULL,
        row_count smallint NOT NULL,
        postings bytea NOT NULL,
        PRIMARY KEY (project, kind, term, block)""",
    )
    + partitioned_table_sql(
        "word_total",
        """kind smallint NOT NULL,
        row_count bigint NOT NULL,
        tokens bigint NOT NULL,
        lowest bigint NOT NULL,
        highest bigint NOT NULL,
        PRIMARY KEY (project, kind)""",
    ),
)
BLOCK_BITS = 12
_BLOCK_MASK = (1 << BLOCK_BITS) - 1
_BYTE_WIDTHS = (0, 1, 2, 4)  # number of bytes of each number in a column, by the two-bit code in the header
_NUMBER_TYPES = {1: "<u1", 2: "<u2", 4: "<u4"}
_HEADER_BYTES = 2
_MAX_TERM_BYTES = 256

# Constants of bm25() in FTS5.
_K1, _B, _MIN_IDF = 1.2, 0.75, 1e-6
# Byte translation that splits words like FTS5's tokenizer `ascii`: words consist of ASCII letters (converted to lower
# case), digits and all non-ASCII bytes.
_ASCII_TOKENS = bytes(
    byte if byte >= 0x80 else ord(chr(byte).lower()) if chr(byte).isalnum() else ord(" ") for byte in range(256)
)


CHUNK_INDEX_NUMBER = 1
_INDEX_NUMBERS = {CHUNK_WORDS: CHUNK_INDEX_NUMBER, FILE_WORDS: 2, COMMIT_WORDS: 3, PAST_FILE_WORDS: 4}


def tokens_of(text: str) -> list[str]:
    """Return the words of a text, normalised for indexing and searching."""
    found = text.encode().translate(_ASCII_TOKENS).split()
    return [token[:_MAX_TERM_BYTES].decode("utf-8", "ignore") for token in found]


# --- queries


class _Hits(NamedTuple):
    """Rows that contain a word: ascending row ids, row lengths, and frequencies of the word in each column."""

    ids: Numbers
    lengths: Numbers
    counts: Numbers

    @classmethod
    def concatenate(cls, parts: Sequence[_Hits]) -> _Hits:
        """Concatenate the hits of several blocks."""
        return cls(
            np.concatenate([hit.ids for hit in parts]),
            np.concatenate([hit.lengths for hit in parts]),
            np.concatenate([hit.counts for hit in parts], axis=1),
        )


class _Total(NamedTuple):
    """Number of rows in an inverted index, and number of words in all rows."""

    row_count: int
    tokens: int


class PackedWordIndex:
    """Queries on one inverted index of a project."""

    def __init__(self, tables: ProjectTables, table: WordTable) -> None:
        self._tables = tables
        self._table = table
        self._number = _INDEX_NUMBERS[table]

    def row_counts(self, terms: Sequence[str]) -> dict[str, int]:
        """Return the number of rows that contain each term. Absent terms and terms of several words are omitted."""
        words = {term: found[0] for term in terms if len(found := tokens_of(term)) == 1}
        rows = self._tables.run(
            """SELECT term, SUM(row_count)::bigint FROM word WHERE project = %s AND kind = %s AND term = ANY(%s)
               GROUP BY term""",
            (self._tables.key, self._number, sorted(set(words.values()))),
        )
        counts: dict[str, int] = dict(rows)
        return {term: counts[word] for term, word in words.items() if counts.get(word)}

    def match(
        self,
        single_terms: Sequence[str],
        paired_terms: Sequence[str] = (),
        *,
        first_column_terms: Sequence[str] = (),
        condition: RowCondition = EVERY_ROW,
        limit: int,
    ) -> list[tuple[int, float]]:
        """Return the best rows as in `store.word_index.WordIndex`. A term of several words matches rows that contain
        all these words. Equal scores are ordered by id."""
        with self._tables.snapshot():
            ids, scores = self._scored_rows(single_terms, paired_terms, first_column_terms)
            found, offset, window = list[tuple[int, float]](), 0, limit
            while len(found) < limit and offset < len(ids):
                best = _best_rows(ids, scores, window)[offset:]
                found += self._rows_that_meet(condition, best) if condition.sql else best
                offset, window = window, window * 4
        return found[:limit]

    def _rows_that_meet(self, condition: RowCondition, rows: list[tuple[int, float]]) -> list[tuple[int, float]]:
        sql = f"SELECT given.id FROM unnest(?::bigint[]) AS given (id) WHERE {condition.sql.format(id='given.id')}"
        known = {row[0] for row in self._tables.query(sql, [row_id for row_id, _ in rows], *condition.values)}
        return [row for row in rows if row[0] in known]

    def _scored_rows(
        self, single_terms: Sequence[str], paired_terms: Sequence[str], first_column_terms: Sequence[str]
    ) -> tuple[Numbers, Numbers]:
        """Return the ids and scores of all matching rows."""
        query_terms = [*first_column_terms, *single_terms, *paired_terms]
        terms = [tokens_of(term) for term in query_terms]
        hits, total = self._read_hits({word for term in terms for word in term})
        found = [self._hits_of(term, hits, only_first=n < len(first_column_terms)) for n, term in enumerate(terms)]
        ids = np.unique(np.concatenate([hit.ids for hit in found])) if found else np.zeros(0, np.int64)
        if not len(ids):
            return ids, np.zeros(0)
        scores = self._compute_scores(ids, found, total)
        single_count = len(query_terms) - len(paired_terms)
        wanted, meetings = np.zeros(len(ids), bool), np.zeros(len(ids), np.int32)
        for n, hit in enumerate(found):
            places = np.searchsorted(ids, hit.ids)
            if n < single_count:
                wanted[places] = True
            else:
                meetings[places] += 1
        wanted |= meetings > 1
        return ids[wanted], scores[wanted]

    def rows_with_all(self, groups: Sequence[Sequence[str]]) -> list[int]:
        """Return the ids of rows whose first column contains a term of each group, in ascending order."""
        terms = [[tokens_of(term) for term in group] for group in groups]
        hits, _ = self._read_hits({word for group in terms for term in group for word in term})
        found = [
            np.unique(np.concatenate([self._hits_of(term, hits, only_first=True).ids for term in group]))
            for group in terms
        ]
        matching = found[0] if found else np.zeros(0, np.int64)
        for other in found[1:]:
            matching = np.intersect1d(matching, other, assume_unique=True)
        return [int(row_id) for row_id in matching]

    def id_range(self) -> tuple[int, int] | None:
        """Return the lowest and highest id of all rows that were ever added, or None if there are none."""
        sql = "SELECT lowest, highest FROM word_total WHERE project = %s AND kind = %s"
        rows = self._tables.run(sql, (self._tables.key, self._number))
        return (rows[0][0], rows[0][1]) if rows else None

    def writer(self) -> WordChanges:
        """Return a writer for this thread's transaction."""
        return WordChanges(self._tables, self._table)

    def _compute_scores(self, ids: Numbers, found: Sequence[_Hits], total: _Total) -> Numbers:
        """Compute bm25() with the same order of operations as FTS5, so that both engines return equal scores."""
        average = total.tokens / total.row_count
        scores = np.zeros(len(ids))
        for hit in found:
            idf = float(np.log((total.row_count - len(hit.ids) + 0.5) / (len(hit.ids) + 0.5)))
            frequency = np.zeros(len(hit.ids))
            for weight, counts in zip(self._table.weights, hit.counts, strict=True):
                frequency += weight * counts
            length = _K1 * (1 - _B + _B * hit.lengths / average)
            scores[np.searchsorted(ids, hit.ids)] += (idf if idf > 0 else _MIN_IDF) * (
                (frequency * (_K1 + 1.0)) / (frequency + length)
            )
        return scores

    def _hits_of(self, term: Sequence[str], hits: Mapping[str, _Hits], *, only_first: bool) -> _Hits:
        """Return the rows that contain all words of a term. If `only_first` is true, search only the first column."""
        empty = _Hits(np.zeros(0, np.int64), np.zeros(0), np.zeros((len(self._table.weights), 0)))
        words = [hits.get(word, empty) for word in term] or [empty]
        hit = words[0]
        for other in words[1:]:
            _, ours, theirs = np.intersect1d(hit.ids, other.ids, assume_unique=True, return_indices=True)
            hit = _Hits(hit.ids[ours], hit.lengths[ours], np.minimum(hit.counts[:, ours], other.counts[:, theirs]))
        if only_first:
            has = hit.counts[0] > 0
            counts = np.zeros_like(hit.counts[:, has])
            counts[0] = hit.counts[0, has]
            hit = _Hits(hit.ids[has], hit.lengths[has], counts)
        return hit

    def _read_hits(self, words: Collection[str]) -> tuple[dict[str, _Hits], _Total]:
        columns = len(self._table.weights)
        rows = self._tables.run(
            """SELECT term, block, row_count, postings FROM word
               WHERE project = %s AND kind = %s AND term = ANY(%s) ORDER BY term, block""",
            (self._tables.key, self._number, sorted(words)),
        )
        blocks: dict[str, list[_Hits]] = {}
        for term, *block in rows:
            blocks.setdefault(term, []).append(_unpack_postings(block[0], block[1], block[2], columns))
        hits = {term: _Hits.concatenate(parts) for term, parts in blocks.items()}
        return hits, self._read_total() if hits else _Total(0, 0)

    def _read_total(self) -> _Total:
        sql = "SELECT row_count, tokens FROM word_total WHERE project = %s AND kind = %s"
        rows = self._tables.run(sql, (self._tables.key, self._number))
        return _Total(*rows[0]) if rows else _Total(0, 0)


def _best_rows(ids: Numbers, scores: Numbers, count: int) -> list[tuple[int, float]]:
    """Return the best rows with their scores, best first. Equal scores are ordered by id."""
    if len(ids) > 2 * count:
        selected = scores >= np.partition(scores, len(scores) - count)[len(scores) - count]
        ids, scores = ids[selected], scores[selected]
    order = np.lexsort((ids, -scores))[:count]
    return list(zip(ids[order].tolist(), scores[order].tolist(), strict=True))


# --- writing


class WordChanges:
    """Implementation of `store.word_index.WordWriter`. The texts of added and removed rows are buffered."""

    def __init__(self, tables: ProjectTables, table: WordTable) -> None:
        self._tables = tables
        self._table = table
        self._number = _INDEX_NUMBERS[table]
        self._added: dict[int, Sequence[str]] = {}
        self._removed: dict[int, Sequence[str]] = {}

    def add(self, row_id: int, texts: Sequence[str]) -> None:
        """Add a row with the text of each column."""
        self._added[row_id] = texts

    def remove(self, row_id: int, texts: Sequence[str]) -> None:
        """Remove a row with the given texts."""
        if self._added.pop(row_id, None) is None:
            self._removed[row_id] = texts

    def remove_all(self) -> None:
        """Remove all rows."""
        self.discard()
        for table in ("word", "word_total"):
            self._tables.execute(f"DELETE FROM {table} WHERE kind = ?", self._number)

    def discard(self) -> None:
        """Discard the buffered changes."""
        self._added, self._removed = {}, {}

    def flush(self) -> None:
        """Write the buffered changes."""
        if not self._added and not self._removed:
            return
        connection, key = self._tables.connection(), self._tables.key
        if self._table.has_texts:
            self._write_texts()
        added, removed = _Occurrences.from_rows(self._added), _Occurrences.from_rows(self._removed)
        self._rewrite_rows(connection, key, added, removed)
        self._add_to_total(connection, key, added, removed)
        self.discard()

    def _write_texts(self) -> None:
        """Write the texts of added rows, and read and delete the texts of removed rows."""
        name, columns, ids = self._table.name, self._table.columns, list(self._removed)
        rows = self._tables.query(f"SELECT rowid, {', '.join(columns)} FROM {name} WHERE rowid IN ?", ids)
        self._removed = {row[0]: row[1:] for row in rows}
        self._tables.execute(f"DELETE FROM {name} WHERE rowid IN ?", ids)
        added = [(row_id, *texts) for row_id, texts in self._added.items()]
        self._tables.insert(name, ("rowid", *columns), added)

    def _rewrite_rows(self, connection: Connection, key: int, added: _Occurrences, removed: _Occurrences) -> None:
        """Rewrite the table rows that contain changed words in changed blocks."""
        terms = list(dict.fromkeys([*added.terms, *removed.terms]))
        numbers = {term: number for number, term in enumerate(terms)}
        blocks = self._known_blocks(connection, key)
        old = self._read_index_rows(connection, key, terms, blocks) if blocks else []
        if old:
            connection.execute(
                """DELETE FROM word USING unnest(%b::text[], %b::int[]) AS old (term, block)
                   WHERE word.project = %s AND kind = %s AND word.term = old.term AND word.block = old.block""",
                ([row[0] for row in old], [row[1] for row in old], key, self._number),
            )
        postings = _Postings.concatenate(
            [self._unchanged_postings(numbers, old), added.postings(numbers, len(self._table.weights))],
            len(self._table.weights),
        )
        rows = ((key, self._number, terms[term], *row) for term, *row in postings.pack())
        types = ("int8", "int2", "text", "int4", "int2", "bytea")
        copy_rows(connection, "word (project, kind, term, block, row_count, postings)", types, rows)

    def _known_blocks(self, connection: Connection, key: int) -> list[int]:
        """Return the changed blocks that may already contain rows. A new project has no such blocks."""
        row = connection.execute(
            "SELECT lowest, highest FROM word_total WHERE project = %s AND kind = %s", (key, self._number)
        ).fetchone()
        changed = {row_id >> BLOCK_BITS for ids in (self._added, self._removed) for row_id in ids}
        if row is None:
            return []
        return [block for block in changed if row[0] >> BLOCK_BITS <= block <= row[1] >> BLOCK_BITS]

    def _read_index_rows(
        self, connection: Connection, key: int, terms: Sequence[str], blocks: Sequence[int]
    ) -> list[tuple[str, int, int, bytes]]:
        return connection.execute(
            """SELECT term, block, row_count, postings FROM word
               WHERE project = %s AND kind = %s AND term = ANY(%b::text[]) AND block = ANY(%b::int[])""",
            (key, self._number, terms, blocks),
            binary=True,
        ).fetchall()

    def _unchanged_postings(self, numbers: Mapping[str, int], old: Sequence[tuple[str, int, int, bytes]]) -> _Postings:
        """Return the postings in the old table rows, without postings of removed rows."""
        columns = len(self._table.weights)
        terms = np.repeat([numbers[row[0]] for row in old], [row[2] for row in old]).astype(np.int64)
        hits = [_empty_hits(columns), *(_unpack_postings(block, n, data, columns) for _, block, n, data in old)]
        postings = _Postings(terms, *_Hits.concatenate(hits))
        return postings.excluding(self._removed)

    def _add_to_total(self, connection: Connection, key: int, added: _Occurrences, removed: _Occurrences) -> None:
        ids = self._added or self._removed
        connection.execute(
            """INSERT INTO word_total (project, kind, row_count, tokens, lowest, highest)
               VALUES (%s, %s, %s, %s, %s, %s)
               ON CONFLICT (project, kind) DO UPDATE SET row_count = word_total.row_count + excluded.row_count,
               tokens = word_total.tokens + excluded.tokens,
               lowest = LEAST(word_total.lowest, excluded.lowest),
               highest = GREATEST(word_total.highest, excluded.highest)""",
            (
                key,
                self._number,
                len(self._added) - len(self._removed),
                sum(added.lengths) - sum(removed.lengths),
                min(ids),
                max(ids),
            ),
        )


@dataclass(slots=True)
class _Occurrences:
    """Occurrences of words in rows.

    The parallel lists `term`, `row`, `column` and `count` describe one occurrence per index.
    """

    ids: list[int] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    terms: dict[str, int] = field(default_factory=dict)
    term: list[int] = field(default_factory=list)
    row: list[int] = field(default_factory=list)
    column: list[int] = field(default_factory=list)
    count: list[int] = field(default_factory=list)

    @classmethod
    def from_rows(cls, rows: Mapping[int, Sequence[str]]) -> _Occurrences:
        """Return the occurrences of all words in the given rows, ordered by row id."""
        found = cls()
        terms = found.terms
        for number, row_id in enumerate(sorted(rows)):
            length = 0
            for column, text in enumerate(rows[row_id]):
                tokens = tokens_of(text)
                length += len(tokens)
                counts = Counter(tokens)
                found.term += [terms.setdefault(token, len(terms)) for token in counts]
                found.count += counts.values()
                found.row += [number] * len(counts)
                found.column += [column] * len(counts)
            found.ids.append(row_id)
            found.lengths.append(length)
        return found

    def postings(self, numbers: Mapping[str, int], columns: int) -> _Postings:
        """Return one posting per word and row. `numbers` contains the new number of each word."""
        if not self.term:
            return _Postings(np.zeros(0, np.int64), *_empty_hits(columns))
        renumbered = np.array([numbers[term] for term in self.terms], np.int64)
        term, row = renumbered[np.array(self.term)], np.array(self.row, np.int64)
        keys, places = np.unique(term * len(self.ids) + row, return_inverse=True)
        counts = np.zeros((columns, len(keys)), np.uint32)
        counts[np.array(self.column), places] = np.array(self.count, np.uint32)
        rows = keys % len(self.ids)
        return _Postings(
            keys // len(self.ids),
            np.array(self.ids, np.int64)[rows],
            np.array(self.lengths, np.uint32)[rows],
            counts,
        )


@dataclass(frozen=True, slots=True)
class _Postings:
    """Postings as parallel arrays: word number, row id, row length and frequencies by column."""

    terms: Numbers
    ids: Numbers
    lengths: Numbers
    counts: Numbers

    @classmethod
    def concatenate(cls, parts: Sequence[_Postings], columns: int) -> _Postings:
        """Concatenate several postings."""
        nonempty = [part for part in parts if len(part.ids)]
        if not nonempty:
            return cls(np.zeros(0, np.int64), *_empty_hits(columns))
        return cls(
            np.concatenate([part.terms for part in nonempty]),
            np.concatenate([part.ids for part in nonempty]),
            np.concatenate([part.lengths for part in nonempty]).astype(np.uint32),
            np.concatenate([part.counts for part in nonempty], axis=1).astype(np.uint32),
        )

    def excluding(self, ids: Iterable[int]) -> _Postings:
        """Return the postings of all rows except `ids`."""
        selected = ~np.isin(self.ids, np.fromiter(ids, np.int64))
        return _Postings(self.terms[selected], self.ids[selected], self.lengths[selected], self.counts[:, selected])

    def pack(self) -> Iterator[tuple[int, int, int, bytes]]:
        """Yield (word, block, number of rows, packed postings) for every word and block."""
        if not len(self.ids):
            return
        order = np.lexsort((self.ids, self.terms))
        terms, ids = self.terms[order], self.ids[order]
        blocks = ids >> BLOCK_BITS
        starts = np.flatnonzero((np.diff(terms, prepend=-1) != 0) | (np.diff(blocks, prepend=blocks[0] - 1) != 0))
        ends = [*starts[1:].tolist(), len(ids)]
        places = (ids & _BLOCK_MASK).astype("<u2").tobytes()
        columns = [_WidthColumn.from_values(values[order], starts) for values in (self.lengths, *self.counts)]
        for start, end, term, block in zip(
            starts.tolist(), ends, terms[starts].tolist(), blocks[starts].tolist(), strict=True
        ):
            head = sum(column.codes[start] << (2 * n) for n, column in enumerate(columns))
            parts = [head.to_bytes(_HEADER_BYTES, "little"), places[2 * start : 2 * end]]
            parts += [column.pack_group(start, end) for column in columns]
            yield term, block, end - start, b"".join(parts)


@dataclass(frozen=True, slots=True)
class _WidthColumn:
    """Numbers of one column, encoded once in every byte width.

    `codes` contains the code of the smallest sufficient width for each group of rows, by the start of the group.
    """

    data: dict[int, bytes]
    codes: dict[int, int]

    @classmethod
    def from_values(cls, values: Numbers, starts: Numbers) -> _WidthColumn:
        most = np.maximum.reduceat(values, starts)
        codes = np.searchsorted(np.array([0, 0xFF, 0xFFFF]), most)
        data = {width: values.astype(kind).tobytes() for width, kind in _NUMBER_TYPES.items()}
        return cls(data, dict(zip(starts.tolist(), codes.tolist(), strict=True)))

    def pack_group(self, start: int, end: int) -> bytes:
        """Return the encoded numbers of the group of rows from `start` to `end`, or empty bytes if all are zero."""
        width = _BYTE_WIDTHS[self.codes[start]]
        return self.data[width][width * start : width * end] if width else b""


def _unpack_postings(block: int, count: int, data: bytes, columns: int) -> _Hits:
    """Decode the postings of one word in one block."""
    head = int.from_bytes(data[:_HEADER_BYTES], "little")
    ids = np.frombuffer(data, "<u2", count, _HEADER_BYTES).astype(np.int64) + (block << BLOCK_BITS)
    offset = _HEADER_BYTES + 2 * count
    values = np.zeros((columns + 1, count), np.uint32)
    for column in range(columns + 1):
        width = _BYTE_WIDTHS[head >> (2 * column) & 3]
        if width:
            values[column] = np.frombuffer(data, _NUMBER_TYPES[width], count, offset)
            offset += width * count
    return _Hits(ids, values[0], values[1:])


def _empty_hits(columns: int) -> _Hits:
    return _Hits(np.zeros(0, np.int64), np.zeros(0, np.uint32), np.zeros((columns, 0), np.uint32))
