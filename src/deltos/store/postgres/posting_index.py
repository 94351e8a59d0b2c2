"""Word indexes of the library: posting tables scored like SQLite's FTS5, so that both engines give the same results.

Postings are partitioned by owner (a documentation source or an API). Document frequencies are counted over all owners.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from math import log
from typing import TYPE_CHECKING, NamedTuple

from deltos.digest import sha256
from deltos.store.postgres.partitions import PARTITIONS
from deltos.store.postgres.rows import copy_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from deltos.store.postgres.database import Connection, PostgresDatabase
    from deltos.store.tokenizer import StemmedTerms

# Number of low bits of an item id (chunk, page or API unit). The high bits are the number of the owner (source or API),
# so that the id determines the partition.
ITEM_BITS = 32
_MAX_OWNER = 2**31 - 1
# Constants of FTS5's bm25(): minimum of the inverse document frequency, term saturation, length normalisation.
_MIN_IDF = 1e-6
_K1 = 1.2
_B = 0.75
# Scores are rounded to 1e-9 before sorting, because summation in a different order changes the last digits.
_SCORE_PRECISION = 1e9
# B-tree entries are limited to 2,700 bytes, so longer terms are stored as a prefix and a digest.
_MAX_TERM_BYTES = 400
_PREFIX_CHARACTERS = 60
_ASCII_TERM = re.compile(r"[0-9A-Za-z\x80-\U0010ffff]+")
_TO_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


class ItemWords(NamedTuple):
    """Index terms of one item (chunk, page or API unit): total number, and frequency of each term by field."""

    item: int
    length: int
    counts: Mapping[str, Sequence[int]]


def owner_of(item: int) -> int:
    """Return the number of the source or API that an item id belongs to."""
    return item >> ITEM_BITS


def owners_of(items: Iterable[int]) -> list[int]:
    """Return the numbers of the sources or APIs that the item ids belong to. Invalid ids are ignored."""
    return sorted(owner for owner in set(map(owner_of, items)) if 0 < owner <= _MAX_OWNER)


def ids_of_owner(owner: int) -> tuple[int, int]:
    """Return the first and the last possible id of an owner's items."""
    return owner << ITEM_BITS, (owner + 1 << ITEM_BITS) - 1


def partitioned_table_sql(table: str, key: str, columns: str) -> str:
    """Return SQL that creates a table partitioned by the hash of a key."""
    parts = "".join(
        f"CREATE TABLE {table}_{part} PARTITION OF {table} FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {part});\n"
        for part in range(PARTITIONS)
    )
    return f"CREATE TABLE {table} ({columns}) PARTITION BY HASH ({key});\n{parts}"


def ascii_terms(texts: Sequence[str]) -> list[list[str]]:
    """Return the terms of each text, split like FTS5's tokenizer `ascii`."""
    return [_ASCII_TERM.findall(text.translate(_TO_LOWER)) for text in texts]


@cache
def _open_tokenizer() -> StemmedTerms:
    # Imported here, because texts that are already split into index words do not need this import.
    from deltos.store.tokenizer import StemmedTerms

    return StemmedTerms()


def stemmed_terms(texts: Sequence[str]) -> list[list[str]]:
    """Return the terms of each text, case-folded and stemmed, without accents."""
    return _open_tokenizer().split(texts)


def stored_term(term: str) -> str:
    """Return the form in which a term is stored in the tables. A long term is replaced by a prefix and a digest."""
    if len(term) * 4 <= _MAX_TERM_BYTES or len(term.encode()) <= _MAX_TERM_BYTES:
        return term
    return f"{term[:_PREFIX_CHARACTERS]}#{sha256(term.encode()).hexdigest()}"


@dataclass(frozen=True, slots=True)
class PostingIndex:
    """Tables of one word index: postings, and document frequencies and total lengths by owner (source or API)."""

    name: str
    fields: tuple[str, ...]
    terms: Callable[[Sequence[str]], list[list[str]]]

    @property
    def create_sql(self) -> str:
        """SQL that creates the tables."""
        counts = "".join(f"{field} integer NOT NULL, " for field in self.fields)
        columns = (
            'owner integer NOT NULL, length integer NOT NULL, item bigint NOT NULL, term text COLLATE "C" NOT NULL, '
            f"{counts} PRIMARY KEY (owner, term, item) INCLUDE (length, {', '.join(self.fields)})"
        )
        return f"""
            {partitioned_table_sql(f"{self.name}_posting", "owner", columns)}
            CREATE TABLE {self.name}_term (
                term text COLLATE "C" NOT NULL, owner integer NOT NULL, items bigint NOT NULL,
                PRIMARY KEY (term, owner) INCLUDE (items)
            );
            CREATE TABLE {self.name}_total (
                owner integer PRIMARY KEY, items bigint NOT NULL, tokens bigint NOT NULL
            );
        """

    def words_of(self, item: int, texts: Sequence[str], fields: Sequence[int] = ()) -> ItemWords:
        """Return the index terms of an item. `fields` contains the field number of each text. By default, the texts are
        in the order of the fields."""
        counts: dict[str, list[int]] = {}
        length = 0
        for at, terms in enumerate(self.terms(texts)):
            field = fields[at] if fields else at
            length += len(terms)
            for term, count in Counter(map(stored_term, terms)).items():
                counts.setdefault(term, [0] * len(self.fields))[field] += count
        return ItemWords(item, length, counts)

    # ------------------------------------------------------------------ writing

    def add(self, connection: Connection, owner: int, items: Sequence[ItemWords]) -> None:
        """Add new items (such as chunks) of one owner (source or API) to the index."""
        rows = sorted((term, each.item, each.length, counts) for each in items for term, counts in each.counts.items())
        columns = f"owner, term, item, length, {', '.join(self.fields)}"
        copy_rows(
            connection,
            f"{self.name}_posting ({columns})",
            ("int4", "text", "int8", "int4", *("int4",) * len(self.fields)),
            ((owner, term, item, length, *counts) for term, item, length, counts in rows),
        )
        added = Counter(row[0] for row in rows)
        connection.execute(
            f"INSERT INTO {self.name}_term SELECT term, %s, items"
            " FROM unnest(%s::text[], %s::bigint[]) AS n (term, items)"
            f" ON CONFLICT (term, owner) DO UPDATE SET items = {self.name}_term.items + excluded.items",
            (owner, list(added), list(added.values())),
        )
        self._add_to_total(connection, owner, len(items), sum(each.length for each in items))

    def remove(self, connection: Connection, owner: int, items: Sequence[ItemWords]) -> None:
        """Remove items of one owner from the index."""
        pairs = [(term, each.item) for each in items for term in each.counts]
        connection.execute(
            f"DELETE FROM {self.name}_posting p USING unnest(%s::text[], %s::bigint[]) AS gone (term, item)"
            " WHERE p.owner = %s AND p.term = gone.term AND p.item = gone.item",
            ([term for term, _ in pairs], [item for _, item in pairs], owner),
        )
        removed = sorted(Counter(term for term, _ in pairs).items())
        connection.execute(
            f"UPDATE {self.name}_term t SET items = t.items - n.items FROM unnest(%s::text[], %s::bigint[])"
            " AS n (term, items) WHERE t.owner = %s AND t.term = n.term",
            ([term for term, _ in removed], [count for _, count in removed], owner),
        )
        connection.execute(
            f"DELETE FROM {self.name}_term WHERE owner = %s AND items <= 0 AND term = ANY(%s)",
            (owner, [term for term, _ in removed]),
        )
        self._add_to_total(connection, owner, -len(items), -sum(each.length for each in items))

    def remove_owner(self, connection: Connection, owner: int) -> None:
        """Remove an owner and all items of the owner from the index."""
        for table in ("posting", "term", "total"):
            connection.execute(f"DELETE FROM {self.name}_{table} WHERE owner = %s", (owner,))

    def _add_to_total(self, connection: Connection, owner: int, items: int, tokens: int) -> None:
        connection.execute(
            f"INSERT INTO {self.name}_total AS t VALUES (%s, %s, %s)"
            " ON CONFLICT (owner) DO UPDATE SET items = t.items + excluded.items, tokens = t.tokens + excluded.tokens",
            (owner, items, tokens),
        )

    # ------------------------------------------------------------------ queries

    def count(self, database: PostgresDatabase) -> int:
        """Return the number of indexed items."""
        return self._read_totals(database)[0]

    def frequencies(self, database: PostgresDatabase, terms: Iterable[str]) -> dict[str, int]:
        """Return the number of items that contain each term. Absent terms are omitted."""
        names = {stored_term(term): term for term in terms}
        rows = database.query(
            f"SELECT term, sum(items)::bigint FROM {self.name}_term WHERE term = ANY(%s) GROUP BY term", (list(names),)
        )
        return {names[term]: items for term, items in rows if items > 0}

    def best_items(
        self,
        database: PostgresDatabase,
        words: Sequence[str],
        owners: Sequence[int],
        weights: Sequence[float],
        *,
        limit: int,
        where: str = "true",
        values: Sequence[object] = (),
    ) -> list[tuple[int, float]]:
        """Return the best-matching items of the given owners with their scores, best first.

        `where` is an additional condition on `g.owner` and `g.item`.
        """
        terms = [stored_term(term) for found in self.terms(words) for term in found]
        items, tokens = self._read_totals(database)
        if not terms or not owners or not items:
            return []
        known = self.frequencies(database, set(terms))
        asked = [term for term in terms if term in known]
        frequency = " + ".join(
            f"{float(weight)!r}::float8 * {field}" for field, weight in zip(self.fields, weights, strict=True)
        )
        share = f"tf + {_K1}::float8 * ({1 - _B}::float8 + {_B}::float8 * length / %s::float8)"
        rows = database.query(
            f"""SELECT item, score FROM (
                    SELECT owner, item, sum(idf * ((tf * {_K1 + 1}::float8) / ({share}))) AS score FROM (
                        SELECT p.owner, p.item, p.length, a.idf, {frequency} AS tf
                        FROM {self.name}_posting p JOIN unnest(%s::text[], %s::float8[]) AS a (term, idf) USING (term)
                        WHERE p.owner = ANY(%s) AND p.term = ANY(%s)
                    ) f GROUP BY owner, item
                ) g WHERE {where} ORDER BY round(score * {_SCORE_PRECISION}) DESC, item LIMIT %s""",
            (
                tokens / items, asked, [_idf(known[term], items) for term in asked], list(owners), asked,
                *values, limit,
            ),
        )  # fmt: skip
        return [(item, score) for item, score in rows]

    def _read_totals(self, database: PostgresDatabase) -> tuple[int, int]:
        """Return the number of items, and the number of words in all items."""
        [(items, tokens)] = database.query(
            f"SELECT coalesce(sum(items), 0)::bigint, coalesce(sum(tokens), 0)::bigint FROM {self.name}_total"
        )
        return items, tokens


def _idf(frequency: int, items: int) -> float:
    rarity = log((items - frequency + 0.5) / (frequency + 0.5))
    return rarity if rarity > 0 else _MIN_IDF
