"""How words are best kept in PostgreSQL: three tables over the chunks of real trees, their size and their speed.

python -m benchmarks.postgres_words --root FOLDER … --database postgresql://…

- packed: `store/postgres/words.py`, a row for each word and block of 4,096 chunks, ranked here
- postings: a row for each word of each chunk, `(term, chunk) INCLUDE (tf)`, ranked by a query
- tsvector: a column of each chunk with a GIN index, ranked by `ts_rank` (which is no BM25, and cannot count a word)

The schema `deltos_words_benchmark` of the database is made and dropped. Each question is asked of all three, and the
best of three times counts; CPU is what this process and the server's together take, the mean of all. A question is two
to six words of a chunk's documentation or name, as people ask for what they remember of it.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import tempfile
import time
from collections import Counter
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.domains.code.index import CodeIndexer
from deltos.isolated.process import Workers
from deltos.store.code import FileScope
from deltos.store.postgres.code import CHUNK_WORDS
from deltos.store.postgres.database import Database, Migration
from deltos.store.postgres.rows import copy_rows
from deltos.store.postgres.tables import REGISTRY_001, ProjectTables
from deltos.store.postgres.words import WORDS_001, WordChanges, WordIndex, tokens_of
from deltos.store.sqlite.projects import SqliteProjects
from deltos.workspace.projects import Projects

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Chunks = list[tuple[int, tuple[str, str, str]]]

SCHEMA = "deltos_words_benchmark"
OTHERS = Migration(
    "others",
    """
    ALTER TABLE project ADD COLUMN root text NOT NULL DEFAULT '';
    CREATE TABLE posting (term text COLLATE "C" NOT NULL, chunk integer NOT NULL, tf real NOT NULL);
    CREATE TABLE chunk_length (chunk integer PRIMARY KEY, length integer NOT NULL);
    CREATE TABLE chunk_vector (chunk integer PRIMARY KEY, words tsvector NOT NULL);
    """,
)
LIMIT = 150
QUESTIONS = 60
REPEATS = 3
BATCH = 4_096
_WEIGHTS = CHUNK_WORDS.weights


def chunks_of(root: Path) -> Chunks:
    """The words of all chunks of a tree, as code search indexes them."""
    with tempfile.TemporaryDirectory() as home, closing(Workers()) as workers:
        projects = Projects(SqliteProjects(Path(home)), (CodeIndexer(makes_vectors=False),), workers=workers)
        index = projects.at(root)
        index.index()
        code, found = index.store.code, []
        for file_id, _ in code.paths(FileScope()):
            ids = [row.id for row in code.chunks_of_file(file_id)]
            for start in range(0, len(ids), 500):
                found += [(n, (w.symbol, w.doc, w.body)) for n, w in code.chunk_words(ids[start : start + 500]).items()]
        return sorted(found)


def questions_about(chunks: Chunks) -> list[list[str]]:
    """Two to six words of the documentation or the name of random chunks."""
    chance, found = random.Random(1), list[list[str]]()
    while len(found) < QUESTIONS:
        _, (symbol, doc, _) = chance.choice(chunks)
        words = list(dict.fromkeys(tokens_of(doc or symbol)))
        if len(words) > 1:
            found.append(chance.sample(words, min(len(words), chance.randint(2, 6))))
    return found


def write_packed(database: Database, tables: ProjectTables, chunks: Chunks) -> None:
    """The index of the product, written as it writes it."""
    changes = WordChanges(CHUNK_WORDS)
    for start in range(0, len(chunks), BATCH):
        changes.added.update(chunks[start : start + BATCH])
        with database.write() as connection:
            changes.write(connection, tables.key)


def write_postings(database: Database, chunks: Chunks) -> None:
    """A row for each word of each chunk."""
    with database.write() as connection:
        for start in range(0, len(chunks), BATCH):
            rows = []
            lengths = []
            for number, columns in chunks[start : start + BATCH]:
                counts: Counter[str] = Counter()
                tokens = [tokens_of(text) for text in columns]
                for weight, found in zip(_WEIGHTS, tokens, strict=True):
                    for token in found:
                        counts[token] += weight  # type: ignore[assignment]
                rows += [(token, number, float(count)) for token, count in counts.items()]
                lengths.append((number, sum(map(len, tokens))))
            copy_rows(connection, "posting (term, chunk, tf)", ("text", "int4", "float4"), rows)
            copy_rows(connection, "chunk_length (chunk, length)", ("int4", "int4"), lengths)
        connection.execute("CREATE INDEX posting_by_term ON posting (term, chunk) INCLUDE (tf)")


def write_vectors(database: Database, chunks: Chunks) -> None:
    """A `tsvector` for each chunk, its columns as weights A, B and C."""
    with database.write() as connection:
        for start in range(0, len(chunks), BATCH):
            part = chunks[start : start + BATCH]
            connection.execute(
                """INSERT INTO chunk_vector SELECT chunk, setweight(to_tsvector('simple', a), 'A')
                   || setweight(to_tsvector('simple', b), 'B') || setweight(to_tsvector('simple', c), 'C')
                   FROM unnest(%s::int[], %s::text[], %s::text[], %s::text[]) AS given (chunk, a, b, c)""",
                ([n for n, _ in part], *([words[column] for _, words in part] for column in range(3))),
            )
        connection.execute("CREATE INDEX chunk_vector_by_word ON chunk_vector USING gin (words)")


def ask_postings(database: Database, terms: Sequence[str]) -> list[int]:
    """BM25 as a query."""
    rows = database.query(
        """WITH asked AS (SELECT term, count(*) AS n FROM posting WHERE term = ANY(%s) GROUP BY term),
                total AS (SELECT count(*)::float AS n, avg(length)::float AS average FROM chunk_length)
           SELECT chunk, sum(greatest(ln((total.n - asked.n + 0.5) / (asked.n + 0.5)), 1e-6)
                             * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * length / average))) AS score
           FROM asked JOIN posting USING (term) JOIN chunk_length USING (chunk) CROSS JOIN total
           GROUP BY chunk ORDER BY score DESC, chunk LIMIT %s""",
        (list(terms), LIMIT),
    )
    return [row[0] for row in rows]


def ask_vectors(database: Database, terms: Sequence[str]) -> list[int]:
    """The rank that PostgreSQL has."""
    rows = database.query(
        """SELECT chunk FROM chunk_vector, to_tsquery('simple', %s) AS query WHERE words @@ query
           ORDER BY ts_rank(words, query) DESC, chunk LIMIT %s""",
        (" | ".join(terms), LIMIT),
    )
    return [row[0] for row in rows]


def size_of(database: Database, *tables: str) -> float:
    """Megabytes of tables with their parts and indexes."""
    ((size,),) = database.query(
        """SELECT sum(pg_total_relation_size(pg_class.oid))::bigint
           FROM pg_class LEFT JOIN pg_inherits ON inhrelid = oid
           WHERE coalesce(inhparent, oid) = ANY(%s::regclass[])""",
        (list(tables),),
    )
    return float(size) / 1e6


def best_milliseconds(ask: Callable[[], object]) -> float:
    """The best of three times."""
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        ask()
        times.append(1000 * (time.perf_counter() - started))
    return min(times)


class CpuTime:
    """What this process and the one of the server that serves it take; the server is on this machine."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._milliseconds: list[float] = []

    def of(self, ask: Callable[[], float]) -> float:
        """Ask, and note what that took, unless the pool took another connection meanwhile."""
        process, before = self._now()
        answer = ask()
        same, after = self._now()
        if process == same:
            self._milliseconds.append((after - before) / REPEATS)
        return answer

    @property
    def mean(self) -> float:
        """Of a question, in milliseconds."""
        return statistics.mean(self._milliseconds)

    def _now(self) -> tuple[int, float]:
        ((process,),) = self._database.query("SELECT pg_backend_pid()")
        fields = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()
        ticks = int(fields[11]) + int(fields[12])
        return process, 1000 * (time.process_time() + ticks / os.sysconf("SC_CLK_TCK"))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, nargs="+", required=True)
    parser.add_argument("--database", required=True)
    arguments = parser.parse_args()
    each = [words for root in arguments.root for _, words in chunks_of(root)]
    chunks = list(enumerate(each, start=1))
    with closing(Database(arguments.database, migrations=(REGISTRY_001, WORDS_001, OTHERS), schema=SCHEMA)) as database:
        try:
            measure(database, chunks)
        finally:
            with database.write() as connection:
                connection.execute(f"DROP SCHEMA {SCHEMA} CASCADE")


def measure(database: Database, chunks: Chunks) -> None:
    """Write all three, ask all three."""
    tables = ProjectTables(database, "benchmark")
    index = WordIndex(tables, CHUNK_WORDS)
    layouts: dict[str, tuple[Callable[[], None], Callable[[list[str]], object], tuple[str, ...]]] = {
        "packed": (
            lambda: write_packed(database, tables, chunks),
            lambda terms: index.match(terms).best(LIMIT),
            ("word", "word_total"),
        ),
        "postings": (
            lambda: write_postings(database, chunks),
            lambda terms: ask_postings(database, terms),
            ("posting", "chunk_length"),
        ),
        "tsvector": (
            lambda: write_vectors(database, chunks),
            lambda terms: ask_vectors(database, terms),
            ("chunk_vector",),
        ),
    }
    seconds = {}
    for name, (write, _, _) in layouts.items():
        started = time.perf_counter()
        write()
        seconds[name] = time.perf_counter() - started
    questions = questions_about(chunks)
    same = sum([n for n, _ in index.match(terms).best(10)] == ask_postings(database, terms)[:10] for terms in questions)
    ((postings,),) = database.query("SELECT count(*) FROM posting")
    print(f"{len(chunks):,} chunks, {postings:,} postings; packed and postings agree on the first ten of {same} of")
    print(f"{len(questions)} questions (postings keep frequencies as `real`)\n")
    print("| table | MB | written in | p50 | p95 | CPU |\n|---|--:|--:|--:|--:|--:|")
    for name, (_, ask, kept) in layouts.items():
        cpu = CpuTime(database)
        times = [cpu.of(partial(best_milliseconds, partial(ask, terms))) for terms in questions]
        p50, p95 = statistics.median(times), sorted(times)[int(0.95 * len(times))]
        size = size_of(database, *kept)
        print(
            f"| {name} | {size:.0f} | {seconds[name]:.0f} s | {p50:.1f} ms | {p95:.1f} ms | {cpu.mean:.1f} ms |",
            flush=True,
        )


if __name__ == "__main__":
    main()
