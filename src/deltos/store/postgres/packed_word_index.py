"""Inverted indexes of projects: postings packed by word and block of rows, scored like bm25() in SQLite's FTS5.

A table row describes all indexed rows that contain one word in one block of 4,096 successive ids: the position in the
block, the length, and the frequency of the word in each column. Document frequencies can be read without unpacking.
benchmarks/RESULTS.md compares this format with one row per occurrence and with `tsvector`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from deltos.store.migration import Migration
from deltos.store.postgres.partitions import partitioned_table_sql
from deltos.store.postgres.rows import copy_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from deltos.store.postgres.database import Connection
    from deltos.store.postgres.project_tables import ProjectTables

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
_MAX_COUNTED_ROWS = 1_000  # when rows are counted, longer postings (above 6 kB) are not read
_BLOCK_BYTES = 150  # estimated size in bytes of a cached block without the postings

# Constants of bm25() in FTS5.
_K1, _B, _MIN_IDF = 1.2, 0.75, 1e-6
# Byte translation that splits words like FTS5's tokenizer `ascii`: words consist of ASCII letters (converted to lower
# case), digits and all non-ASCII bytes.
_ASCII_TOKENS = bytes(
    byte if byte >= 0x80 else ord(chr(byte).lower()) if chr(byte).isalnum() else ord(" ") for byte in range(256)
)


class WordKind(NamedTuple):
    """One kind of inverted index of a project (such as chunks by word), with the weight of each column."""

    number: int
    weights: tuple[float, ...]

    @property
    def cache_key(self) -> str:
        """Name under which the row cache stores the postings of this index."""
        return f"words {self.number}"


def tokens_of(text: str) -> list[str]:
    """Return the words of a text, normalised for indexing and searching."""
    found = text.encode().translate(_ASCII_TOKENS).split()
    return [token[:_MAX_TERM_BYTES].decode("utf-8", "ignore") for token in found]


# --- queries


@dataclass(frozen=True, slots=True)
class RankedRows:
    """Matching rows in arbitrary order. A higher score is better."""

    ids: Numbers
    scores: Numbers

    def best(self, count: int) -> list[tuple[int, float]]:
        """Return the best rows with their scores, best first. Equal scores are ordered by id."""
        ids, scores = self.ids, self.scores
        if len(ids) > 2 * count:
            selected = scores >= np.partition(scores, len(scores) - count)[len(scores) - count]
            ids, scores = ids[selected], scores[selected]
        order = np.lexsort((ids, -scores))[:count]
        return list(zip(ids[order].tolist(), scores[order].tolist(), strict=True))

    def best_with_values(
        self, count: int, read_rows: Callable[[list[int]], Mapping[int, Any]]
    ) -> list[tuple[int, float, Any]]:
        """Return (id, score, value) for the best rows, best first. Rows without a value in `read_rows` are omitted."""
        offset, window = 0, max(count, 1)
        found: list[tuple[int, float, Any]] = []
        while len(found) < count and offset < len(self.ids):
            next_best = self.best(window)[offset:]
            known = read_rows([row_id for row_id, _ in next_best])
            found += [(row_id, score, known[row_id]) for row_id, score in next_best if row_id in known]
            offset, window = window, window * 4
        return found[:count]


class _Hits(NamedTuple):
    """Rows that contain a word: ascending row ids, row lengths, and frequencies of the word in each column."""

    ids: Numbers
    lengths: Numbers
    counts: Numbers


class _Total(NamedTuple):
    """Number of rows in an inverted index, and number of words in all rows."""

    row_count: int
    tokens: int


class _StoredWord(NamedTuple):
    """Stored postings of a word: number of rows, and (block number, number of rows, packed postings) of each block.

    `blocks` is None if the postings were not read.
    """

    row_count: int
    blocks: tuple[tuple[int, int, bytes], ...] | None


def _stored_bytes(stored: _StoredWord) -> int:
    return sum(len(postings) + _BLOCK_BYTES for _, _, postings in stored.blocks or ())


def _stored_word(blocks: Iterable[tuple[int, int, bytes | None]]) -> _StoredWord:
    """Combine all blocks of one word."""
    all_blocks = list(blocks)
    read = tuple((number, count, postings) for number, count, postings in all_blocks if postings is not None)
    return _StoredWord(sum(count for _, count, _ in all_blocks), read if len(read) == len(all_blocks) else None)


class PackedWordIndex:
    """Queries on one inverted index of a project."""

    def __init__(self, tables: ProjectTables, kind: WordKind) -> None:
        self._tables = tables
        self._kind = kind

    def row_counts(self, terms: Sequence[str]) -> dict[str, int]:
        """Return the number of rows that contain each term. Absent terms and terms of several words are omitted."""
        words = {term: tokens_of(term) for term in terms}
        counts = self._word_row_counts({word for found in words.values() for word in found})
        return {term: counts[found[0]] for term, found in words.items() if len(found) == 1 and found[0] in counts}

    def count_rows(self) -> int:
        """Return the number of rows in the index."""
        return self._read_total().row_count

    def _word_row_counts(self, words: Iterable[str]) -> dict[str, int]:
        """Return the number of rows that contain each word. Absent words are omitted."""
        stored = self._stored_words(set(words), max_rows=_MAX_COUNTED_ROWS)
        return {word: each.row_count for word, each in stored.items() if each.row_count}

    def match(
        self, single_terms: Sequence[str], paired_terms: Sequence[str] = (), *, first_column_terms: Sequence[str] = ()
    ) -> RankedRows:
        """Return rows that contain one of `single_terms`, or two of `paired_terms`.

        Rows with one of `first_column_terms` in the first column match too. All terms contribute to the score. A term
        of several words matches rows that contain all these words.
        """
        query_terms = [*first_column_terms, *single_terms, *paired_terms]
        terms = [tokens_of(term) for term in query_terms]
        hits, total = self._read_hits({word for term in terms for word in term})
        found = [self._hits_of(term, hits, only_first=n < len(first_column_terms)) for n, term in enumerate(terms)]
        ids = np.unique(np.concatenate([hit.ids for hit in found])) if found else np.zeros(0, np.int64)
        if not len(ids):
            return RankedRows(ids, np.zeros(0))
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
        return RankedRows(ids[wanted], scores[wanted])

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

    def _compute_scores(self, ids: Numbers, found: Sequence[_Hits], total: _Total) -> Numbers:
        """Compute bm25() with the same order of operations as FTS5, so that both engines return equal scores."""
        average = total.tokens / total.row_count
        scores = np.zeros(len(ids))
        for hit in found:
            idf = float(np.log((total.row_count - len(hit.ids) + 0.5) / (len(hit.ids) + 0.5)))
            frequency = np.zeros(len(hit.ids))
            for weight, counts in zip(self._kind.weights, hit.counts, strict=True):
                frequency += weight * counts
            length = _K1 * (1 - _B + _B * hit.lengths / average)
            scores[np.searchsorted(ids, hit.ids)] += (idf if idf > 0 else _MIN_IDF) * (
                (frequency * (_K1 + 1.0)) / (frequency + length)
            )
        return scores

    def _hits_of(self, term: Sequence[str], hits: Mapping[str, _Hits], *, only_first: bool) -> _Hits:
        """Return the rows that contain all words of a term. If `only_first` is true, search only the first column."""
        empty = _Hits(np.zeros(0, np.int64), np.zeros(0), np.zeros((len(self._kind.weights), 0)))
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
        columns = len(self._kind.weights)
        hits = {}
        for word, stored in self._stored_words(words).items():
            parts = [
                _unpack_postings(block, count, postings, columns) for block, count, postings in stored.blocks or ()
            ]
            if len(parts) == 1:
                hits[word] = parts[0]
            elif parts:
                hits[word] = _Hits(
                    np.concatenate([hit.ids for hit in parts]),
                    np.concatenate([hit.lengths for hit in parts]),
                    np.concatenate([hit.counts for hit in parts], axis=1),
                )
        return hits, self._read_total() if hits else _Total(0, 0)

    def _stored_words(self, words: Collection[str], *, max_rows: int | None = None) -> dict[str, _StoredWord]:
        """Return the stored postings of each word, from the cache or the database.

        Postings of words with more than `max_rows` rows are not read.
        """
        state = self._tables.cached_state()
        known = state.cached_rows(self._kind.cache_key, words) if state else {}
        found = {word: stored for word, stored in known.items() if stored.blocks is not None or max_rows is not None}
        missing = sorted(word for word in words if word not in found)
        if missing:
            read = self._read_stored(missing, max_rows)
            found |= read
            if state:
                state.put(self._kind.cache_key, read, _stored_bytes)
        return found

    def _read_stored(self, words: Sequence[str], max_rows: int | None) -> dict[str, _StoredWord]:
        rows = self._tables.query(
            """SELECT term, block, row_count,
                      CASE WHEN %s::bigint IS NULL OR SUM(row_count) OVER (PARTITION BY term) <= %s THEN postings END
               FROM word WHERE project = %s AND kind = %s AND term = ANY(%s) ORDER BY term, block""",
            (max_rows, max_rows, self._tables.key, self._kind.number, words),
        )
        blocks: dict[str, list[tuple[int, int, bytes | None]]] = {word: [] for word in words}
        for term, *block in rows:
            blocks[term].append((block[0], block[1], block[2]))
        return {word: _stored_word(found) for word, found in blocks.items()}

    def _read_total(self) -> _Total:
        def read(kinds: list[int]) -> dict[int, _Total]:
            sql = "SELECT kind, row_count, tokens FROM word_total WHERE project = %s AND kind = ANY(%s)"
            return {row[0]: _Total(*row[1:]) for row in self._tables.query(sql, (self._tables.key, kinds))}

        number = self._kind.number
        return self._tables.cached_rows("word total", [number], read).get(number, _Total(0, 0))


# --- writing


@dataclass(slots=True)
class WordChanges:
    """Buffered changes to one inverted index in a transaction: texts of the columns of each row, by row id."""

    kind: WordKind
    added: dict[int, tuple[str, ...]] = field(default_factory=dict)
    removed: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def clear(self) -> None:
        """Discard the changes."""
        self.added.clear()
        self.removed.clear()

    def write(self, connection: Connection, key: int) -> None:
        """Write the changes to the index."""
        if not self.added and not self.removed:
            return
        added, removed = _Occurrences.from_rows(self.added), _Occurrences.from_rows(self.removed)
        self._rewrite_rows(connection, key, added, removed)
        self._add_to_total(connection, key, added, removed)
        self.clear()

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
                ([row[0] for row in old], [row[1] for row in old], key, self.kind.number),
            )
        postings = _Postings.concatenate(
            [self._unchanged_postings(numbers, old), added.postings(numbers, len(self.kind.weights))],
            len(self.kind.weights),
        )
        rows = ((key, self.kind.number, terms[term], *row) for term, *row in postings.pack())
        types = ("int8", "int2", "text", "int4", "int2", "bytea")
        copy_rows(connection, "word (project, kind, term, block, row_count, postings)", types, rows)

    def _known_blocks(self, connection: Connection, key: int) -> list[int]:
        """Return the changed blocks that may already contain rows. A new project has no such blocks."""
        row = connection.execute(
            "SELECT lowest, highest FROM word_total WHERE project = %s AND kind = %s", (key, self.kind.number)
        ).fetchone()
        changed = {row_id >> BLOCK_BITS for ids in (self.added, self.removed) for row_id in ids}
        if row is None:
            return []
        return [block for block in changed if row[0] >> BLOCK_BITS <= block <= row[1] >> BLOCK_BITS]

    def _read_index_rows(
        self, connection: Connection, key: int, terms: Sequence[str], blocks: Sequence[int]
    ) -> list[tuple[str, int, int, bytes]]:
        return connection.execute(
            """SELECT term, block, row_count, postings FROM word
               WHERE project = %s AND kind = %s AND term = ANY(%b::text[]) AND block = ANY(%b::int[])""",
            (key, self.kind.number, terms, blocks),
            binary=True,
        ).fetchall()

    def _unchanged_postings(self, numbers: Mapping[str, int], old: Sequence[tuple[str, int, int, bytes]]) -> _Postings:
        """Return the postings in the old table rows, without postings of removed rows."""
        columns = len(self.kind.weights)
        hits = [_unpack_postings(block, count, data, columns) for _, block, count, data in old]
        terms = np.repeat([numbers[row[0]] for row in old], [row[2] for row in old]).astype(np.int64)
        postings = _Postings.concatenate([_Postings(terms[:0], *_empty_hits(columns))], columns)
        if hits:
            postings = _Postings(
                terms,
                np.concatenate([hit.ids for hit in hits]),
                np.concatenate([hit.lengths for hit in hits]),
                np.concatenate([hit.counts for hit in hits], axis=1),
            )
        return postings.excluding(self.removed)

    def _add_to_total(self, connection: Connection, key: int, added: _Occurrences, removed: _Occurrences) -> None:
        ids = self.added or self.removed
        connection.execute(
            """INSERT INTO word_total (project, kind, row_count, tokens, lowest, highest)
               VALUES (%s, %s, %s, %s, %s, %s)
               ON CONFLICT (project, kind) DO UPDATE SET row_count = word_total.row_count + excluded.row_count,
               tokens = word_total.tokens + excluded.tokens,
               lowest = LEAST(word_total.lowest, excluded.lowest),
               highest = GREATEST(word_total.highest, excluded.highest)""",
            (
                key,
                self.kind.number,
                len(self.added) - len(self.removed),
                sum(added.lengths) - sum(removed.lengths),
                min(ids),
                max(ids),
            ),
        )


def remove_words(connection: Connection, key: int, kinds: Sequence[WordKind]) -> None:
    """Delete all rows of the given indexes."""
    for table in ("word", "word_total"):
        connection.execute(
            f"DELETE FROM {table} WHERE project = %s AND kind = ANY(%s)", (key, [kind.number for kind in kinds])
        )


@dataclass(slots=True)
class _Occurrences:
    """Occurrences of words in rows, as parallel lists: word number, row position, column and count."""

    ids: list[int] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    terms: dict[str, int] = field(default_factory=dict)
    term: list[int] = field(default_factory=list)
    row: list[int] = field(default_factory=list)
    column: list[int] = field(default_factory=list)
    count: list[int] = field(default_factory=list)

    @classmethod
    def from_rows(cls, rows: Mapping[int, tuple[str, ...]]) -> _Occurrences:
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
    """Numbers of one column in each byte width, and the code of the smallest possible width for each group of rows."""

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
