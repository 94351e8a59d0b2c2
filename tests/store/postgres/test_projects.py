"""Projects in PostgreSQL: the same answers as in SQLite, one partition per project, and text of any length."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from deltos.app import App
from deltos.config import Config, Embedding
from deltos.domains.code.search import CodeSearch
from deltos.domains.graph.languages import FAMILIES
from deltos.domains.graph.resolution_process import ResolvingSession, resolve_in_child
from deltos.errors import StoreBusy, StoreError
from deltos.store.code import ChunkRecord, DefinitionRecord, FileScope, FileWords
from deltos.store.graph import PendingFacts
from deltos.store.history import CommitRecord
from deltos.store.postgres.database import POOL_SIZE, SCHEMA, PostgresDatabase
from deltos.store.postgres.migrations import SCHEMA_STEPS
from deltos.store.postgres.project_tables import PostgresRowSource
from deltos.store.postgres.projects import PostgresProjects
from deltos.store.postgres.shared_databases import shared_database
from deltos.store.project import FileRecord, SeenStamp, SkippedFile
from deltos.store.sqlite.projects import SqliteProjects
from deltos.store.stored_facts import StoredFactSource
from deltos.store.symbols import Symbol
from tests.postgres_server import empty_database, server
from tests.relevance.test_rankings import HERE as RELEVANCE
from tests.relevance.test_rankings import unpack
from tests.store.test_project import STAMP, facts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.isolated.process_pool import ProcessPool
    from deltos.store.postgres.project import PostgresProject
    from deltos.store.project import ProjectStore
    from deltos.store.project_writer import ProjectWriter
    from deltos.workspace.project_index import ProjectIndex

ROOT = Path("/src/tool")
WORDS = [*"abcdefghijkl", "größe", "日本", "x1", "Upper", "two|parts"]


@pytest.fixture
def stores() -> PostgresProjects:
    url = empty_database()
    return PostgresProjects(lambda: shared_database(url))


@pytest.fixture
def project(stores: PostgresProjects) -> Iterator[PostgresProject]:
    with closing(stores.store_of(ROOT)) as opened:
        yield opened


@pytest.fixture
def both_projects(project: PostgresProject, tmp_path: Path) -> Iterator[tuple[ProjectStore, ProjectStore]]:
    """The same project in PostgreSQL and in SQLite."""
    with closing(SqliteProjects(tmp_path / "home").store_of(ROOT)) as other:
        yield project, other


def random_words(random: Random, max_words: int) -> str:
    # As in natural language, a few words are frequent and most are rare.
    return " ".join(
        WORDS[min(int(random.expovariate(0.4)), len(WORDS) - 1)] for _ in range(random.randrange(max_words))
    )


def write_file(writer: ProjectWriter, random: Random, path: str) -> int:
    file_id = writer.add_file(FileRecord(path, "python", 3, b"hash", STAMP))
    words = [random_words(random, 4), random_words(random, 9), random_words(random, 40)]
    chunks = [ChunkRecord(n, n, "", "", "", *words[n:], *words[:n]) for n in range(random.randrange(3))]
    writer.code.add(file_id, FileWords(path[0], *words), chunks, [])
    return file_id


class TestEnginesAgree:
    """Random data gives the same rows in the same order with the same scores in both engines."""

    def test_random_chunks_files_and_commits_rank_equally_after_changes(
        self, both_projects: tuple[ProjectStore, ProjectStore]
    ) -> None:
        for seed in range(4):
            files: list[list[int]] = []
            paths = [f"{word}/{seed}-{n}.py" for n, word in enumerate(WORDS[:9])]
            for store in both_projects:
                random = Random(seed)
                with store.writing() as writer:
                    files.append([write_file(writer, random, path) for path in paths])
                    writer.history.add_newer([_commit(random, f"{seed}{n}", paths) for n in range(9)])
                    writer.history.update_changed_files(limit=100)
            for store, ids in zip(both_projects, files, strict=True):
                with store.writing() as writer:
                    for file_id in ids[::3]:
                        writer.code.remove(file_id)
                        writer.remove_file(file_id)
                    writer.history.remove([f"{seed}{n}".rjust(40, "0") for n in range(0, 9, 4)])
                    writer.history.update_changed_files(limit=100)
                    writer.code.tidy()
            self._compare(*both_projects, Random(seed))

    def _compare(self, ours: ProjectStore, theirs: ProjectStore, random: Random) -> None:
        assert ours.code.chunk_count() == theirs.code.chunk_count()
        terms = [word.lower() for word in WORDS if word.isalnum()]
        assert ours.code.document_frequencies(terms) == theirs.code.document_frequencies(terms)
        assert ours.history.commit_counts(terms) == theirs.history.commit_counts(terms)
        paths = [dict(store.code.paths(FileScope())) for store in (ours, theirs)]
        seen: Counter[str] = Counter()
        for _ in range(8):
            single_terms, paired_terms = (
                random.sample(terms, random.randint(1, 3)),
                random.sample(terms, random.randint(2, 4)),
            )
            for scope in (FileScope(), FileScope("a"), FileScope("", (".PY",))):
                chunks = [
                    store.code.match_chunks(single_terms, paired_terms, scope, limit=10) for store in (ours, theirs)
                ]
                files = [
                    store.code.match_files(single_terms, single_terms, paired_terms, scope, limit=10)
                    for store in (ours, theirs)
                ]
                self._assert_equal_rows(
                    seen, "chunks", [[(hit.file_id, hit.score) for hit in hits] for hits in chunks], paths
                )
                self._assert_equal_rows(seen, "files", files, paths)
            for spans in ((), [(0, 40), (60, 90)]):
                commits = [store.history.match_commits(single_terms, spans, limit=10) for store in (ours, theirs)]
                self._assert_equal_rows(
                    seen, "commits", [[(hit.commit.hash, hit.score) for hit in hits] for hits in commits]
                )
            self._assert_equal_rows(
                seen, "past files", [store.history.match_files(single_terms, limit=10) for store in (ours, theirs)]
            )
        assert min(seen[what] for what in ("chunks", "files", "commits", "past files")) > 0

    def _assert_equal_rows(
        self,
        seen: Counter[str],
        what: str,
        found: list[list[tuple[Any, float]]],
        names: list[dict[Any, str]] | None = None,
    ) -> None:
        """Compare rows by name, because engines number files differently."""
        ours, theirs = (
            [(names[n][row] if names else row, round(score, 9)) for row, score in rows] for n, rows in enumerate(found)
        )
        assert ours == theirs
        seen[what] += len(ours)

    def test_an_indexed_and_edited_project_gives_equal_results(self, tmp_path: Path, workers: ProcessPool) -> None:
        root = unpack(RELEVANCE / "bookshop.txtar", tmp_path / "bookshop")
        no_embedding, url = Embedding("off"), empty_database()
        with (
            closing(App(Config(tmp_path / "one", embedding=no_embedding), workers=workers)) as files,
            closing(App(Config(tmp_path / "two", embedding=no_embedding, database=url), workers=workers)) as database,
        ):
            indexes = [app.domains.projects.index_of(root) for app in (files, database)]
            self._compare_indexes(root, *indexes)
            (root / "added.py").write_text("def place_order(password): ...; place_order(1)")
            next(root.rglob("*.py")).unlink()
            self._compare_indexes(root, *indexes)

    def _compare_indexes(self, root: Path, *indexes: ProjectIndex) -> None:
        for index in indexes:
            index.index()
        searches = [CodeSearch(index.store, root, by_meaning=False) for index in indexes]
        for query in (RELEVANCE / "queries.txt").read_text("utf-8").splitlines():
            ours, theirs = (search.search(query, limit=10).hits for search in searches)
            assert [(hit.path, hit.start_line) for hit in ours] == [(hit.path, hit.start_line) for hit in theirs]
            assert [hit.score for hit in ours] == pytest.approx([hit.score for hit in theirs])
        graphs = [index.store.graph for index in indexes]
        assert graphs[0].counts() == graphs[1].counts()
        assert graphs[0].imports() == graphs[1].imports()
        for name in graphs[0].defined_names():
            one, two = (
                [(row.path, row.line, row.source_key, row.kind, row.certain) for row in graph.references(nodes)]
                for graph in graphs
                for nodes in ([symbol.node_id for symbol in graph.symbols_named(name)],)
            )
            assert sorted(one) == sorted(two)


def _commit(random: Random, name: str, paths: list[str]) -> CommitRecord:
    subject, body, files = (random_words(random, max_words) for max_words in (6, 20, 9))
    touched = tuple(random.sample(paths, random.randint(1, len(paths))))
    return CommitRecord(
        name.rjust(40, "0"), random.randrange(100), "A", name, "", 1, False, touched, subject, body, files
    )


def fill_project(store: ProjectStore) -> None:
    """Write to every table of a project and read from it."""
    with store.writing() as writer:
        file_id = write_file(writer, Random(1), "a/b.py")
        writer.set_skipped(SkippedFile("c.bin", "binary", STAMP))
        writer.set_folders({"": 1, "a": 2})
        writer.set_metadata({"root": "/src", "project_id": "p", "synced_at": "1.0"})
        writer.add_failures(file_id, [("code", "too deep")])
        writer.touch_file(file_id, SeenStamp(1, 2, 3))
        writer.graph.write_facts("a/b.py", [Symbol("run", "run", "function", 1, 3)], facts())
        writer.graph.mark_all_resolved()
        writer.history.add_newer([_commit(Random(1), "1", ["a/x.py"])])
        writer.history.update_changed_files(limit=9)
    with store.writing() as writer:
        writer.code.remove(file_id)
        writer.remove_file(file_id)
        write_file(writer, Random(2), "a/b.py")
        writer.graph.remove_file("a/b.py")
        writer.forget_skipped(["c.bin"])
        writer.history.rename("a/x.py", "b/x.py")
        writer.set_unresolved("graph", ["a/b.py"], [("a/b.py", "took too long")])


def test_a_project_uses_only_its_own_partition_of_every_table(stores: PostgresProjects) -> None:
    for name in ("one", "two", "three"):
        with closing(stores.store_of(Path("/src", name))) as store:
            fill_project(store)
            with store.tables.snapshot() as connection:
                store.code.match_chunks(["a"], ["b", "c"], FileScope("a", (".py",)), limit=9)
                store.code.match_files(["a"], ["a"], ["b", "c"], FileScope("a"), limit=9)
                store.code.chunks_at(2, [1, 2])
                store.code.definitions_named(["a"], FileScope("a"), limit=9)
                store.code.definitions_in([(2, 1, 2)])
                store.graph.symbols_at([("a/b.py", "run")])
                store.graph.references([1])
                store.graph.referring_file_counts(limit=9, below="a")
                store.graph.most_referenced_symbols(limit=9)
                store.graph.imports_of(["a/b.py"])
                store.graph.counts()
                store.graph.mentions("run")
                store.history.match_files(["a"], limit=9)
                store.history.match_commits(["a"], [(0, 99)], limit=9)
                store.history.files_changed_with("b/x.py", limit=9)
                store.history.commits_of("b/x.py", limit=9)
                store.history.paths_of([1 << 40], limit=9)
                store.failures()
                store.totals()
                used = connection.execute(
                    """SELECT relation::regclass::text FROM pg_locks JOIN pg_class ON pg_class.oid = relation
                       WHERE pid = pg_backend_pid() AND relispartition AND relkind = 'r'"""
                ).fetchall()
            partitions = {table.rpartition("_")[2] for (table,) in used}
            assert len(partitions) == 1
            assert len(used) > 15
            (plan,) = _plans(store, "SELECT * FROM chunk JOIN file ON file.id = file_id")
            assert {word.rpartition("_")[2] for word in plan if word.startswith(("chunk_", "file_"))} == partitions


def test_a_project_added_after_analyze_is_read_through_indexes(stores: PostgresProjects) -> None:
    """The query plan uses indexes although the server has no statistics about the new project."""
    known = stores.store_of(Path("/src/known"))
    number = 0
    while _partition_of(new := stores.store_of(Path(f"/src/new{number}"))) != _partition_of(known):
        number += 1
    for store in (known, new):
        with store.writing() as writer:
            for n in range(1000):
                writer.graph.write_facts(f"{n}.py", [Symbol(f"run{n}", f"run{n}", "function", 1, 2)], facts())
        if store is known:
            with closing(psycopg.connect(server().url, autocommit=True)) as connection:
                connection.execute(f"SET search_path TO {SCHEMA}")
                connection.execute("ANALYZE fact, place, symbol, node")
    named = "symbol JOIN node ON node.id = symbol.node_id JOIN place ON place.id = symbol.place_id"
    for store in (known, new):
        for sql, *values in (
            ("SELECT body FROM fact JOIN place ON place.id = place_id WHERE place.path IN ?", ["7.py"]),
            (f"SELECT path FROM {named} WHERE symbol.name COLLATE NOCASE IN ?", ["Run7"]),
            (f"SELECT path FROM {named}",),
        ):
            plan = "\n".join(row[0] for row in store.tables.query(f"EXPLAIN {sql}", *values))
            assert "Join Filter" not in plan, plan


def _partition_of(store: PostgresProject) -> int:
    sql = "SELECT n FROM generate_series(0, 7) AS n WHERE satisfies_hash_partition('place'::regclass, 8, n, %s::bigint)"
    part: int = store.tables.run(sql, (store.tables.key,))[0][0]
    return part


def _plans(store: PostgresProject, sql: str) -> list[set[str]]:
    rows = store.tables.query(f"EXPLAIN (FORMAT JSON) {sql}")
    relations: set[str] = set()

    def collect(node: object) -> None:
        if isinstance(node, dict):
            relations.update(value for key, value in node.items() if key == "Relation Name")
            node = list(node.values())
        if isinstance(node, list):
            for each in node:
                collect(each)

    collect(rows[0][0])
    return [relations]


def test_a_write_uses_only_the_partition_of_its_project(stores: PostgresProjects) -> None:
    with closing(stores.store_of(ROOT)) as store:
        fill_project(store)
        with store.writing() as writer:
            write_file(writer, Random(3), "d.py")
            writer.code.remove(2)
            writer.flush()
            used = (
                store.tables.connection()
                .execute(
                    """SELECT relation::regclass::text FROM pg_locks JOIN pg_class ON pg_class.oid = relation
                   WHERE pid = pg_backend_pid() AND relispartition AND relkind = 'r'"""
                )
                .fetchall()
            )
    assert len({table.rpartition("_")[2] for (table,) in used}) == 1


def test_names_and_paths_of_any_length_are_stored_and_found(project: PostgresProject) -> None:
    random = Random(1)
    long = "".join(random.choice("abcdefghijklmnopqrstuvwxyz0123456789äöü") for _ in range(6_000))
    path, name = f"{long[:2_000]}/{long[2_000:4_000]}.py", f"Ä{long}"
    with project.writing() as writer:
        file_id = writer.add_file(FileRecord(path, "python", 3, b"hash", STAMP))
        definition = DefinitionRecord(name, "function", 1, 3, "")
        writer.code.add(
            file_id, FileWords(long, long, long), [ChunkRecord(1, 3, name, "", "", long, long, long)], [definition]
        )
        writer.graph.write_facts(path, [Symbol(name, name, "function", 1, 3)], facts())
        writer.set_skipped(SkippedFile(long, "binary", STAMP))
        writer.set_folders({long: 1})
        writer.history.add_newer([CommitRecord("1" * 40, 1, long, long, long, 1, False, (path,), long, long, long)])
        writer.history.add_renames({long: path})
        writer.history.update_changed_files(limit=9)
    assert project.file(path) is not None
    assert [
        found.name for _, found in project.code.definitions_named([name.replace("a", "A")], FileScope(), limit=9)
    ] == [name]
    assert [symbol.path for symbol in project.graph.symbols_named(name)] == [path]
    assert [row.hash for row in project.history.commits_of(path, limit=9)] == ["1" * 40]
    assert project.history.renamed_files() == {long: path}
    assert len(project.code.match_chunks([long], [], FileScope(), limit=9)) == 1


def test_a_removed_project_leaves_no_rows_and_can_be_indexed_again(
    stores: PostgresProjects, project: PostgresProject
) -> None:
    fill_project(project)
    with closing(stores.store_of(Path("/src/other"))) as other:
        fill_project(other)
        with project.try_lock(), pytest.raises(StoreBusy):
            stores.remove(ROOT)
        stores.remove(ROOT)
        assert [index.location.rpartition("/")[2] for index in stores.indexed_projects()] == [other.name]
        assert other.file_count() == 1
        with pytest.raises(StoreError, match="deleted from the database meanwhile"), project.writing():
            pass
        assert project.run_with_repair(project.file_count) == 0
        fill_project(project)
        assert len(stores.indexed_projects()) == 2
    (left,) = project.tables.run("SELECT COUNT(DISTINCT project) FROM word", ())
    assert left == (2,)


def test_writers_of_one_project_take_turns_and_other_projects_are_not_blocked(stores: PostgresProjects) -> None:
    url = empty_database()
    with closing(PostgresDatabase(url, migrations=SCHEMA_STEPS, wait_seconds=0.2)) as impatient:
        store, same = stores.store_of(ROOT), PostgresProjects(lambda: impatient).store_of(ROOT)
        other = PostgresProjects(lambda: impatient).store_of(Path("/src/other"))
        with store.writing():
            with pytest.raises(StoreBusy), same.writing():
                pass
            with other.writing() as writer:
                write_file(writer, Random(1), "a.py")
        assert other.file_count() == 1


def test_text_that_cannot_be_stored_raises_immediately_and_other_rows_are_kept(project: PostgresProject) -> None:
    with project.writing() as writer:
        kept = writer.add_file(FileRecord("a.py", "python", 3, b"hash", STAMP))
        with pytest.raises(UnicodeEncodeError):
            writer.code.add(kept, FileWords("a", "", ""), [], [DefinitionRecord("\udcff", "function", 1, 1, "")])
        writer.code.add(kept, FileWords("a\0b", "", ""), [], [DefinitionRecord("x\0", "function", 1, 1, "")])
    assert project.code.defined_names(limit=9) == ["x\ufffd"]
    assert [file_id for file_id, _ in project.code.match_files(["b"], [], [], FileScope(), limit=9)] == [kept]


def test_a_rolled_back_savepoint_leaves_no_words(project: PostgresProject) -> None:
    def fail(writer: ProjectWriter, file_id: int) -> None:
        with writer.savepoint():
            chunk = ChunkRecord(1, 1, "", "", "", "rare", "", "")
            writer.code.add(file_id, FileWords("c", "", ""), [chunk], [])  # these words were already stored

    with project.writing() as writer:
        known = write_file(writer, Random(2), "a.py")
        with pytest.raises(StoreError):
            fail(writer, known)
        write_file(writer, Random(3), "d.py")
    assert set(project.files()) == {"a.py", "d.py"}
    assert project.code.match_chunks(["rare"], [], FileScope(), limit=9) == []
    ((chunks,),) = project.tables.query("SELECT COUNT(*) FROM chunk")
    assert project.code.chunk_count() == chunks


def test_an_unreachable_database_is_not_reported_as_a_file_error(workers: ProcessPool) -> None:
    source = StoredFactSource(PostgresRowSource(("postgresql://ada:s3cret@127.0.0.1:1/deltos", "deltos"), 1))
    assert "s3cret" not in repr(source)
    number = next(n for n, family in enumerate(FAMILIES) if "python" in family.languages)
    session = ResolvingSession(source, {"a.py": "python"}, PendingFacts({}, {}), number, ["a.py"])
    with pytest.raises(StoreError, match="cannot be reached") as raised:
        list(resolve_in_child(workers, session))
    assert "s3cret" not in str(raised.value)


def test_a_query_over_many_projects_uses_one_connection_and_one_snapshot(stores: PostgresProjects) -> None:
    opened = [stores.store_of(Path("/src", f"p{n}")) for n in range(POOL_SIZE + 4)]
    with ExitStack() as snapshots:
        connections = {id(snapshots.enter_context(store.code.snapshot())) for store in opened}
        assert len(connections) == 1
        assert opened[-1].file_count() == 0
        with PostgresProjects(lambda: shared_database(server().url)).store_of(Path("/src", "p1")).writing() as writer:
            write_file(writer, Random(1), "a.py")  # a separate transaction outside the snapshot
        assert opened[1].file_count() == 0
    assert opened[1].file_count() == 1
