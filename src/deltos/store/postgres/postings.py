"""Word indexes: a table of postings with the scores that SQLite's FTS5 gives, so that both engines find the same.

Postings are partitioned by their owner: a documentation source or an API. How rare a word is, is counted over all.
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

    from deltos.store.postgres.database import Connection, Database
    from deltos.store.tokenizer import StemmedTerms

# An id is the number of what owns it, followed by so many bits: it alone tells the partition that it lies in.
ITEM_BITS = 32
_LAST_OWNER = 2**31 - 1
# The constants of FTS5's bm25(): a rarity that would be negative, how soon repetition stops to count, and how much the
# length of a text does.
_LEAST_IDF = 1e-6
_K1 = 1.2
_B = 0.75
# Scores are compared in units of 1e-9: sums in another order differ by less.
_SCORE_STEPS = 1e9
# Entries of a B-tree are at most 2,700 bytes; longer words are known by their beginning and a digest.
_LONGEST_TERM_BYTES = 400
_KEPT_CHARACTERS = 60
_ASCII_TERM = re.compile(r"[0-9A-Za-z\x80-\U0010ffff]+")
_TO_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


class ItemWords(NamedTuple):
    """The words of one item: how often each stands in each field."""

    item: int
    length: int
    counts: Mapping[str, Sequence[int]]


def owner_of(item: int) -> int:
    """The number of the source or API that an id belongs to."""
    return item >> ITEM_BITS


def owners_of(items: Iterable[int]) -> list[int]:
    """The numbers of all sources or APIs that ids may belong to; an id that was made up may have none."""
    return sorted(owner for owner in set(map(owner_of, items)) if 0 < owner <= _LAST_OWNER)


def ids_of_owner(owner: int) -> tuple[int, int]:
    """The first and the last id that something of an owner can have."""
    return owner << ITEM_BITS, (owner + 1 << ITEM_BITS) - 1


def partitioned(table: str, key: str, columns: str) -> str:
    """SQL that creates a table in partitions by the hash of a key."""
    parts = "".join(
        f"CREATE TABLE {table}_{part} PARTITION OF {table} FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {part});\n"
        for part in range(PARTITIONS)
    )
    return f"CREATE TABLE {table} ({columns}) PARTITION BY HASH ({key});\n{parts}"


def ascii_terms(texts: Sequence[str]) -> list[list[str]]:
    """The terms of index words, as FTS5's tokenizer `ascii` makes them."""
    return [_ASCII_TERM.findall(text.translate(_TO_LOWER)) for text in texts]


@cache
def _stemmed() -> StemmedTerms:
    from deltos.store.tokenizer import StemmedTerms  # deferred: who only reads index words needs none

    return StemmedTerms()


def stemmed_terms(texts: Sequence[str]) -> list[list[str]]:
    """The terms of plain texts: folded, without accents, stemmed."""
    return _stemmed().of(texts)


def kept_term(term: str) -> str:
    """How a term is written in the tables."""
    if len(term) * 4 <= _LONGEST_TERM_BYTES or len(term.encode()) <= _LONGEST_TERM_BYTES:
        return term
    return f"{term[:_KEPT_CHARACTERS]}#{sha256(term.encode()).hexdigest()}"


@dataclass(frozen=True, slots=True)
class WordIndex:
    """The tables of one index: postings and, by owner, how many items have each term and how long they all are."""

    name: str
    fields: tuple[str, ...]
    terms: Callable[[Sequence[str]], list[list[str]]]

    @property
    def sql(self) -> str:
        """SQL that creates them."""
        counts = "".join(f"{field} integer NOT NULL, " for field in self.fields)
        columns = (
            'owner integer NOT NULL, length integer NOT NULL, item bigint NOT NULL, term text COLLATE "C" NOT NULL, '
            f"{counts} PRIMARY KEY (owner, term, item) INCLUDE (length, {', '.join(self.fields)})"
        )
        return f"""
            {partitioned(f"{self.name}_posting", "owner", columns)}
            CREATE TABLE {self.name}_term (
                term text COLLATE "C" NOT NULL, owner integer NOT NULL, items bigint NOT NULL,
                PRIMARY KEY (term, owner) INCLUDE (items)
            );
            CREATE TABLE {self.name}_total (
                owner integer PRIMARY KEY, items bigint NOT NULL, tokens bigint NOT NULL
            );
        """

    def words_of(self, item: int, texts: Sequence[str], fields: Sequence[int] = ()) -> ItemWords:
        """The words of an item's texts; `fields` says of each in which field it counts, where it is not its own."""
        counts: dict[str, list[int]] = {}
        length = 0
        for at, terms in enumerate(self.terms(texts)):
            field = fields[at] if fields else at
            length += len(terms)
            for term, count in Counter(map(kept_term, terms)).items():
                counts.setdefault(term, [0] * len(self.fields))[field] += count
        return ItemWords(item, length, counts)

    # ------------------------------------------------------------------ writing

    def add(self, connection: Connection, owner: int, items: Sequence[ItemWords]) -> None:
        """Index items of one owner that are not indexed."""
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
        """Take items of one owner out of the index."""
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
        """Take all that an owner has out of the index."""
        for table in ("posting", "term", "total"):
            connection.execute(f"DELETE FROM {self.name}_{table} WHERE owner = %s", (owner,))

    def _add_to_total(self, connection: Connection, owner: int, items: int, tokens: int) -> None:
        connection.execute(
            f"INSERT INTO {self.name}_total AS t VALUES (%s, %s, %s)"
            " ON CONFLICT (owner) DO UPDATE SET items = t.items + excluded.items, tokens = t.tokens + excluded.tokens",
            (owner, items, tokens),
        )

    # ------------------------------------------------------------------ reading

    def count(self, database: Database) -> int:
        """How many items are indexed."""
        return self._totals(database)[0]

    def frequencies(self, database: Database, terms: Iterable[str]) -> dict[str, int]:
        """In how many items each term occurs; terms that never do are left out."""
        names = {kept_term(term): term for term in terms}
        rows = database.query(
            f"SELECT term, sum(items)::bigint FROM {self.name}_term WHERE term = ANY(%s) GROUP BY term", (list(names),)
        )
        return {names[term]: items for term, items in rows if items > 0}

    def best(
        self,
        database: Database,
        words: Sequence[str],
        owners: Sequence[int],
        weights: Sequence[float],
        *,
        limit: int,
        where: str = "true",
        values: Sequence[object] = (),
    ) -> list[tuple[int, float]]:
        """The items of some owners that share most with the words, each with its score, best first.

        `where` is a condition over `g.owner` and `g.item`.
        """
        terms = [kept_term(term) for found in self.terms(words) for term in found]
        items, tokens = self._totals(database)
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
                ) g WHERE {where} ORDER BY round(score * {_SCORE_STEPS}) DESC, item LIMIT %s""",
            (
                tokens / items, asked, [_idf(known[term], items) for term in asked], list(owners), asked,
                *values, limit,
            ),
        )  # fmt: skip
        return [(item, score) for item, score in rows]

    def _totals(self, database: Database) -> tuple[int, int]:
        """How many items there are, and how many words in all of them."""
        [(items, tokens)] = database.query(
            f"SELECT coalesce(sum(items), 0)::bigint, coalesce(sum(tokens), 0)::bigint FROM {self.name}_total"
        )
        return items, tokens


def _idf(frequency: int, items: int) -> float:
    rarity = log((items - frequency + 0.5) / (frequency + 0.5))
    return rarity if rarity > 0 else _LEAST_IDF
