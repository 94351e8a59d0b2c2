"""How words are best kept in PostgreSQL: three tables over the chunks of real trees, their size and their speed.

python -m benchmarks.postgres_words --root FOLDER … --database postgresql://… [--cut LINES] [--rarest POSTINGS]

- packed: `store/postgres/words.py`, a row for each word and block of 4,096 chunks, ranked here
- postings: a row for each word of each chunk, `(term, chunk) INCLUDE (tf)`, ranked by a query
- tsvector: a column of each chunk with a GIN index, ranked by `ts_rank` (which is no BM25, and cannot count a word)

The schema `deltos_words_benchmark` of the database is made and dropped. Each question is asked of all three, and the
best of three times counts; CPU is what this process and the server's together take, the mean of all. A question is two
to six words of a chunk's documentation or name, as people ask for what they remember of it.

`--rarest` asks, of the same words, the rarest that have about so many postings together (one at least), as code search
chooses its candidates. `--cut` makes chunks of so many lines instead of parsing: of a million, that takes minutes.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import statistics
import tempfile
import time
from collections import Counter
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.code.index import CodeIndexer
from deltos.isolated.process import Workers
from deltos.store.code import FileScope
from deltos.store.postgres.code import CHUNK_WORDS
from deltos.store.postgres.database import PostgresDatabase, PostgresMigration
from deltos.store.postgres.packed_word_index import WORDS_001, PackedWordIndex, WordChanges, tokens_of
from deltos.store.postgres.project_tables import REGISTRY_001, ProjectTables
from deltos.store.postgres.rows import copy_rows
from deltos.store.sqlite.projects import SqliteProjects
from deltos.text.words import shared_words
from deltos.workspace.projects import Projects

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Chunks = list[tuple[int, tuple[str, str, str]]]

SCHEMA = "deltos_words_benchmark"
OTHERS = PostgresMigration(
    "others",
    """
    ALTER TABLE project ADD COLUMN root text NOT NULL DEFAULT '';
    CREATE TABLE posting (term text COLLATE "C" NOT NULL, chunk integer NOT NULL, tf real NOT NULL);
    CREATE TABLE chunk_length (chunk integer PRIMARY KEY, length integer NOT NULL);
    CREATE TABLE posting_total (term text COLLATE "C" PRIMARY KEY, n integer NOT NULL);
    CREATE TABLE chunk_vector (chunk integer PRIMARY KEY, words tsvector NOT NULL);
    """,
)
LIMIT = 150
QUESTIONS = 60
REPEATS = 3
BATCH = 4_096
_DEFINED = re.compile(r"^\w[^;\n(]*?(\w+)\(", re.MULTILINE)
_WEIGHTS = CHUNK_WORDS.weights


class Totals(NamedTuple):
    """What ranking needs of all chunks together."""

    chunks: int
    average_length: float


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


def cut_chunks(root: Path, lines: int) -> Chunks:
    """The words of all pieces of so many lines of a tree's sources in C: the first name, the comments, the code."""
    found: list[tuple[str, str, str]] = []
    for path in sorted(root.rglob("*.[ch]")):
        text = path.read_text("utf-8", "replace").split("\n")
        for start in range(0, len(text), lines):
            body = "\n".join(text[start : start + lines])
            comments = [line for line in body.split("\n") if line.lstrip().startswith(("/*", "*", "//"))]
            names = _DEFINED.findall(body)
            found.append(
                (shared_words().of(" ".join(names[:1])), shared_words().of(" ".join(comments)), shared_words().of(body))
            )
    return list(enumerate(found))


def rarest_of(terms: Sequence[str], frequencies: Mapping[str, int], most_postings: int) -> list[str]:
    """The rarest words that have about so many postings together; one at least."""
    chosen, postings = list[str](), 0
    for term in sorted(terms, key=lambda term: frequencies.get(term, 0)):
        postings += frequencies.get(term, 0)
        if chosen and postings > most_postings:
            break
        chosen.append(term)
    return chosen


def questions_about(chunks: Chunks) -> list[list[str]]:
    """Two to six words of the documentation or the name of random chunks."""
    chance, found = random.Random(1), list[list[str]]()
    while len(found) < QUESTIONS:
        _, (symbol, doc, _) = chance.choice(chunks)
        words = list(dict.fromkeys(tokens_of(doc or symbol)))
        if len(words) > 1:
            found.append(chance.sample(words, min(len(words), chance.randint(2, 6))))
    return found


def write_packed(database: PostgresDatabase, tables: ProjectTables, chunks: Chunks) -> None:
    """The index of the product, written as it writes it."""
    changes = WordChanges(CHUNK_WORDS)
    for start in range(0, len(chunks), BATCH):
        changes.added.update(chunks[start : start + BATCH])
        with database.write() as connection:
            changes.write(connection, tables.key)


def write_postings(database: PostgresDatabase, chunks: Chunks) -> None:
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
        connection.execute("INSERT INTO posting_total SELECT term, count(*) FROM posting GROUP BY term")


def write_vectors(database: PostgresDatabase, chunks: Chunks) -> None:
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


def ask_postings(database: PostgresDatabase, totals: Totals, terms: Sequence[str]) -> list[int]:
    """BM25 as a query; how many chunks there are, and how long they are, is kept."""
    rows = database.query(
        """WITH asked AS (SELECT term, n FROM posting_total WHERE term = ANY(%s))
           SELECT chunk, sum(greatest(ln((%s - asked.n + 0.5) / (asked.n + 0.5)), 1e-6)
                             * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * length / %s))) AS score
           FROM asked JOIN posting USING (term) JOIN chunk_length USING (chunk)
           GROUP BY chunk ORDER BY score DESC, chunk LIMIT %s""",
        (list(terms), float(totals.chunks), totals.average_length, LIMIT),
    )
    return [row[0] for row in rows]


def ask_vectors(database: PostgresDatabase, terms: Sequence[str]) -> list[int]:
    """The rank that PostgreSQL has."""
    rows = database.query(
        """SELECT chunk FROM chunk_vector, to_tsquery('simple', %s) AS query WHERE words @@ query
           ORDER BY ts_rank(words, query) DESC, chunk LIMIT %s""",
        (" | ".join(terms), LIMIT),
    )
    return [row[0] for row in rows]


def size_of(database: PostgresDatabase, *tables: str) -> float:
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

    def __init__(self, database: PostgresDatabase) -> None:
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
    parser.add_argument("--cut", type=int, default=0)
    parser.add_argument("--rarest", type=int, default=0)
    arguments = parser.parse_args()
    read = partial(cut_chunks, lines=arguments.cut) if arguments.cut else chunks_of
    each = [words for root in arguments.root for _, words in read(root)]
    chunks = list(enumerate(each, start=1))
    migrations = (REGISTRY_001, WORDS_001, OTHERS)
    with closing(PostgresDatabase(arguments.database, migrations=migrations, schema=SCHEMA)) as database:
        try:
            measure(database, chunks, arguments.rarest)
        finally:
            with database.write() as connection:
                connection.execute(f"DROP SCHEMA {SCHEMA} CASCADE")


def measure(database: PostgresDatabase, chunks: Chunks, most_postings: int) -> None:
    """Write all three, ask all three."""
    tables = ProjectTables(database, "benchmark")
    index = PackedWordIndex(tables, CHUNK_WORDS)
    totals = list[Totals]()  # known once the postings are written
    layouts: dict[str, tuple[Callable[[], None], Callable[[list[str]], object], tuple[str, ...]]] = {
        "packed": (
            lambda: write_packed(database, tables, chunks),
            lambda terms: index.match(terms).best(LIMIT),
            ("word", "word_total"),
        ),
        "postings": (
            lambda: write_postings(database, chunks),
            lambda terms: ask_postings(database, totals[0], terms),
            ("posting", "chunk_length", "posting_total"),
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
    ((count, average),) = database.query("SELECT count(*), avg(length)::float FROM chunk_length")
    totals.append(Totals(count, average))
    questions = questions_about(chunks)
    if most_postings:
        asked = sorted({term for terms in questions for term in terms})
        frequencies = dict(database.query("SELECT term, n FROM posting_total WHERE term = ANY(%s)", (asked,)))
        questions = [rarest_of(terms, frequencies, most_postings) for terms in questions]
        found = [sum(frequencies.get(term, 0) for term in terms) for terms in questions]
        print(f"postings of a question: {statistics.median(found):,.0f} (p50), {max(found):,} (most)")
    same = sum(
        [n for n, _ in index.match(terms).best(10)] == ask_postings(database, totals[0], terms)[:10]
        for terms in questions
    )
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
