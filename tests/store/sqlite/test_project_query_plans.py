"""Queries on code and graph scan no table of a large project, except queries whose result covers the whole project."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from deltos.store.code import ChunkRecord, Code, DefinitionRecord, FileScope, FileWords
from deltos.store.graph import FactRecord, Graph, ResolutionRecord
from deltos.store.project import FileRecord, SeenStamp
from deltos.store.sqlite.projects import SqliteProjects
from deltos.store.symbols import Symbol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deltos.store.sqlite.project import SqliteProject

FILES = 1_500
FUNCTIONS_PER_FILE = 6
ACCEPTED_PLAN_STEPS = ("VIRTUAL TABLE", "CONSTANT ROW")
# Tables of at most some hundred rows, the requested places, and the limited result of a word search.
SMALL_TABLES = {"rule", "chunk_total", "common_word", "hit", "wanted"}
ALL_FILES = FileScope()
# These queries read the whole project, or return objects that read later.
WHOLE_PROJECT = {
    "chunk_count", "defined_names", "paths", "counts", "dependants_by_name", "fact_source", "facts", "file_count",
    "imports", "languages", "links", "most_referenced_symbols", "referring_file_counts", "snapshot", "symbol_count",
    "vector_count", "vector_numbers", "vectors_since", "version",
}  # fmt: skip


class Edge(NamedTuple):
    """A call of the same function in the next file, or a use of a name."""

    line: int
    source_key: str
    target_path: str
    target_key: str
    kind: str = "call"
    origin: str = "import"
    certain: bool = True


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteProject]:
    """A project with 9,000 functions that call each other."""
    root = tmp_path_factory.mktemp("plans")
    opened = SqliteProjects(root / "home").store_of(root)
    with opened.writing() as writer:
        graph = writer.graph
        for number in range(FILES):
            path, names = file_path(number), [f"run{number}_{n}" for n in range(FUNCTIONS_PER_FILE)]
            record = FileRecord(path, "python", 60, number.to_bytes(32), SeenStamp(1, 1, 1))
            writer.code.add(
                writer.add_file(record),
                FileWords(f"module{number}", "src", " | ".join(names)),
                [ChunkRecord(10 * n + 1, 10 * n + 9, name, "", "", name, "", "run") for n, name in enumerate(names)],
                [DefinitionRecord(name, "function", 10 * n + 1, 10 * n + 9, "") for n, name in enumerate(names)],
            )
            symbols = [Symbol(name, name, "function", 10 * n + 1, 10 * n + 9) for n, name in enumerate(names)]
            graph.write_facts(path, symbols, FactRecord("python", b"", b"", b""))
        for number in range(FILES):
            other = (number + 1) % FILES
            edges = [
                edge
                for n in range(FUNCTIONS_PER_FILE)
                for edge in (
                    Edge(10 * n + 2, f"run{number}_{n}", file_path(other), f"run{other}_{n}"),
                    Edge(10 * n + 3, f"run{number}_{n}", "", "stop"),
                )
            ]
            imports = [(1, file_path(other), "runtime")]
            graph.write_resolution(ResolutionRecord(file_path(number), edges, imports, [], 0, 0))
        graph.mark_all_resolved()
        writer.code.tidy()
    yield opened
    opened.close()


def file_path(number: int) -> str:
    return f"src/module{number}.py"


def queries(store: SqliteProject) -> dict[str, Callable[[], object]]:
    """Return one call of each query that returns a part of the project."""
    code, graph = store.code, store.graph
    path, nodes = file_path(7), [symbol.node_id for symbol in graph.symbols_in(file_path(7))]
    return {
        "document_frequencies": lambda: code.document_frequencies(["run7", "run"]),
        "match_chunks": lambda: code.match_chunks(["run7_1"], ["run", "src"], ALL_FILES, limit=50),
        "match_files": lambda: code.match_files(["module7"], ["run7_1"], ["run"], ALL_FILES, limit=50),
        "files": lambda: code.files([7, 8]),
        "files_at": lambda: code.files_at([path], ALL_FILES),
        "file_words": lambda: code.file_words([7, 8]),
        "chunk_terms": lambda: code.chunk_terms([7, 8], ["run"]),
        "chunks": lambda: code.chunks([7, 8]),
        "chunks_at": lambda: code.chunks_at(7, [3, 4]),
        "chunks_of_file": lambda: code.chunks_of_file(7),
        "definitions_named": lambda: code.definitions_named(["run7_1"], ALL_FILES, limit=50),
        "definitions_in": lambda: code.definitions_in([(7, 1, 20), (8, 1, 20)]),
        "symbols_named": lambda: (graph.symbols_named("run7_1"), graph.symbols_named("RUN7_1", any_case=True)),
        "symbols_in": lambda: graph.symbols_in(path),
        "symbols": lambda: graph.symbols(nodes),
        "symbols_at": lambda: graph.symbols_at([(path, "run7_1")]),
        "module_node": lambda: graph.module_node(path),
        "nodes": lambda: graph.nodes(nodes),
        "references": lambda: graph.references(nodes),
        "overridden_ids": lambda: graph.overridden_ids(nodes),
        "overriding_ids": lambda: graph.overriding_ids(nodes),
        "subclasses": lambda: graph.subclasses(nodes),
        "redeclared_by_line": lambda: graph.redeclared_by_line(path, 2),
        "outgoing_references": lambda: graph.outgoing_references(path, nodes),
        "reference_counts": lambda: graph.reference_counts(nodes),
        "mentions": lambda: graph.mentions("stop0"),
        "imports_of": lambda: graph.imports_of([path]),
    }


def test_every_query_is_checked(store: SqliteProject) -> None:
    methods = {name for kind in (Code, Graph) for name in vars(kind) if not name.startswith("_")}
    assert methods == queries(store).keys() | WHOLE_PROJECT


def test_no_query_scans_a_table(store: SqliteProject) -> None:
    connection = store.database.read()
    for name, query in queries(store).items():
        statements: list[str] = []
        connection.set_trace_callback(statements.append)
        query()
        connection.set_trace_callback(None)
        own = [each for each in statements if each.startswith(("SELECT", "WITH")) and "'main'." not in each]
        assert own, name
        for statement in own:
            plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")]
            scans = [
                step
                for step in plan
                if step.startswith("SCAN") and not any(each in step for each in ACCEPTED_PLAN_STEPS)
            ]
            small = [step for step in scans if step.split()[1] in SMALL_TABLES]
            assert scans == small, (name, statement, plan)
