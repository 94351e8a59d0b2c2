"""Stored projects: files, code and graph change atomically in one transaction."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from deltos.store.code import ChunkRecord, DefinitionRecord, FileScope, FileWords
from deltos.store.graph import FactRecord, ResolutionRecord
from deltos.store.project import FailedFile, FileRecord, IndexFacts, SeenStamp, SkippedFile
from deltos.store.symbols import Symbol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.store.graph import FactReader
    from deltos.store.project import ProjectStore
    from deltos.store.project_writer import ProjectWriter
    from tests.store.engines import Engine

STAMP = SeenStamp(10, 20, 30)


def add_file(writer: ProjectWriter, path: str) -> int:
    return writer.add_file(FileRecord(path, "python", 3, b"hash", STAMP))


def add_code(writer: ProjectWriter, path: str, name: str, words: str) -> int:
    file_id = add_file(writer, path)
    chunk = ChunkRecord(1, 3, name, "function", f"def {name}()", name.lower(), "", words)
    writer.code.add(file_id, FileWords(path, "", name.lower()), [chunk], [DefinitionRecord(name, "function", 1, 3, "")])
    return file_id


def test_files_are_read_back_as_they_were_written(engine: Engine, project: ProjectStore) -> None:
    with project.writing() as writer:
        file_id = add_file(writer, "a.py")
        writer.set_skipped(SkippedFile("b.bin", "binary", STAMP))
        writer.set_metadata({"complete": "1"})
        writer.set_folders({"": 5})
    with closing(engine.projects().store_of(Path("/src/tool"))) as other:
        file = other.file("a.py")
        assert file is not None
        assert (file.id, file.hash, file.stamp) == (file_id, b"hash", STAMP)
        assert set(other.files()) == {"a.py"}
        assert set(other.skipped_files()) == {"b.bin"}
        assert set(other.stamps()) == {"a.py", "b.bin"}
        assert (other.meta("complete"), other.meta("other"), other.folder_times()) == ("1", "", {"": 5})
        assert (other.totals().lines, other.totals().skipped) == (3, {"binary": 1})


def test_roots_with_store_returns_only_folders_that_have_a_store(engine: Engine, project: ProjectStore) -> None:
    with project.writing() as writer:
        add_file(writer, "a.py")
    projects = engine.projects()
    assert projects.roots_with_store([Path("/src/tool"), Path("/src/other")]) == {Path("/src/tool")}
    assert projects.roots_with_store([]) == set()
    projects.remove(Path("/src/tool"))
    assert projects.roots_with_store([Path("/src/tool")]) == set()


def test_a_failed_transaction_keeps_only_its_committed_steps(project: ProjectStore) -> None:
    def fail() -> None:
        with project.writing() as writer:
            add_file(writer, "a.py")
            writer.commit_step()
            add_file(writer, "b.py")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert set(project.files()) == {"a.py"}


def test_a_failed_savepoint_is_rolled_back_without_the_transaction(project: ProjectStore) -> None:
    def fail(writer: ProjectWriter) -> None:
        with writer.savepoint():
            add_file(writer, "b.py")
            raise RuntimeError

    with project.writing() as writer:
        add_file(writer, "a.py")
        with pytest.raises(RuntimeError):
            fail(writer)
    assert set(project.files()) == {"a.py"}


def test_failures_are_listed_until_the_file_is_replaced(project: ProjectStore) -> None:
    with project.writing() as writer:
        file_id = add_file(writer, "a.py")
        writer.add_failures(file_id, [("code", "too deep")])
        writer.set_unresolved("graph", ["a.py"], [("a.py", "took too long")])
        writer.set_unfinished("graph", "broke")
    assert project.failures() == [
        FailedFile("a.py", "code", "too deep"),
        FailedFile("a.py", "graph/edges", "took too long"),
        FailedFile("all files", "graph/edges", "broke"),
    ]
    with project.writing() as writer:
        writer.remove_file(file_id)
        writer.set_unfinished("graph", "")
    assert project.failures() == []


def test_facts_include_the_last_write_of_another_store(engine: Engine, project: ProjectStore) -> None:
    assert project.facts() == IndexFacts()
    with closing(engine.projects().store_of(Path("/src/tool"))) as other:
        with other.writing() as writer:
            writer.set_metadata({"complete": "1", "synced_at": "1.5", "indexers": "code 1", "notes": "one\ntwo"})
            writer.add_failures(add_file(writer, "a.py"), [("code", "too deep")])
        failed = (FailedFile("a.py", "code", "too deep"),)
        assert project.facts() == IndexFacts(True, "1.5", "code 1", ("one", "two"), failed)
        assert other.facts() == project.facts()
        with project.writing() as writer:
            writer.set_metadata({"synced_at": "2.5"})
        assert (project.facts().synced_at, project.meta("synced_at")) == ("2.5", "2.5")
        assert (other.facts().synced_at, other.meta("synced_at")) == ("2.5", "2.5")


def test_facts_of_a_failed_transaction_are_rolled_back(project: ProjectStore) -> None:
    def fail() -> None:
        with project.writing() as writer:
            writer.set_metadata({"complete": "1", "synced_at": "1.0"})
            assert project.facts().is_complete
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert not project.facts().is_complete


def test_versions_are_equal_only_while_nobody_writes(engine: Engine, project: ProjectStore) -> None:
    before = project.code.version()
    assert before is not None
    assert project.history.version() == project.code.version() == before
    with closing(engine.projects().store_of(Path("/src/tool"))) as other, other.writing() as writer:
        assert other.code.version() is None
        add_file(writer, "a.py")
        writer.commit_step()
        between = project.code.version()
        add_file(writer, "b.py")
    after = project.code.version()
    assert len({before, between, after}) == 3
    with project.code.snapshot():
        assert project.code.version() == after
    with project.writing() as writer:
        writer.set_metadata({"complete": "1"})
    assert project.code.version() not in (before, between, after)


def test_only_one_store_holds_the_indexing_lock(engine: Engine, project: ProjectStore) -> None:
    with closing(engine.projects().store_of(Path("/src/tool"))) as other:
        with project.try_lock() as held, other.try_lock() as also:
            assert (held, also) == (True, False)
        with other.try_lock() as held:
            assert held


def test_projects_are_known_once_they_are_synchronised(engine: Engine) -> None:
    projects = engine.projects()
    for name, synced_at in (("one", "1.0"), ("two", "2.0"), ("three", "")):
        with closing(projects.store_of(Path("/src", name))) as project, project.writing() as writer:
            add_file(writer, "a.py")
            if synced_at:
                writer.set_metadata({"root": f"/src/{name}", "project_id": name, "synced_at": synced_at})
    assert [(each.project_id, each.root, each.files) for each in projects.indexed_projects()] == [
        ("two", Path("/src/two"), 1),
        ("one", Path("/src/one"), 1),
    ]


def test_unfinished_first_indexes_are_listed_on_request(engine: Engine) -> None:
    projects = engine.projects()
    for name, facts in (("begun", {}), ("ended", {"synced_at": "1.0"}), ("bare", {"root": ""})):
        with closing(projects.store_of(Path("/src", name))) as project, project.writing() as writer:
            add_file(writer, "a.py")
            writer.set_metadata({"root": f"/src/{name}", "project_id": name, **facts})
    assert [each.project_id for each in projects.indexed_projects()] == ["ended"]
    every = projects.indexed_projects(with_unfinished=True)
    assert [(each.project_id, each.is_finished, each.files) for each in every] == [
        ("ended", True, 1),
        ("begun", False, 1),
    ]


class TestCode:
    """Chunks and definitions."""

    @pytest.fixture
    def filled(self, project: ProjectStore) -> ProjectStore:
        with project.writing() as writer:
            add_code(writer, "src/lock.py", "Acquire", "take the lock file and wait")
            add_code(writer, "src/draw.ts", "paint", "fill the shape and wait")
            writer.code.tidy()
        return project

    def test_chunks_are_found_by_one_rare_word_or_by_two_common_ones(self, filled: ProjectStore) -> None:
        def paths(single_terms: list[str], paired_terms: list[str], scope: FileScope | None = None) -> list[str]:
            matches = filled.code.match_chunks(single_terms, paired_terms, scope or FileScope(), limit=9)
            rows = filled.code.chunks([match.chunk_id for match in matches])
            return [rows[match.chunk_id].path for match in matches]

        assert paths(["lock"], []) == ["src/lock.py"]
        assert paths(["none"], ["shape", "wait"]) == ["src/draw.ts"]
        assert paths(["none"], ["wait"]) == []
        assert paths(["wait"], [], FileScope(suffixes=(".ts",))) == ["src/draw.ts"]
        assert paths(['"', "NEAR", "*"], []) == []

    def test_files_are_found_by_their_names(self, filled: ProjectStore) -> None:
        [(file_id, _)] = filled.code.match_files(["src/lock.py"], ["acquire"], [], FileScope(), limit=9)
        assert [row.path for row in filled.code.files([file_id])] == ["src/lock.py"]

    def test_files_are_found_by_their_paths_in_scope(self, filled: ProjectStore) -> None:
        def at(*paths: str, scope: FileScope | None = None) -> list[str]:
            return [row.path for row in filled.code.files_at(paths, scope or FileScope())]

        assert at("src/lock.py", "gone.py") == ["src/lock.py"]
        assert at("src/lock.py", "src/draw.ts", scope=FileScope("src", (".ts",))) == ["src/draw.ts"]
        assert at("src/lock.py", scope=FileScope("lib")) == []
        assert at() == []

    def test_definitions_are_found_with_any_capitalisation(self, filled: ProjectStore) -> None:
        [(_, definition)] = filled.code.definitions_named(["ACQUIRE"], FileScope(), limit=9)
        assert definition.name == "Acquire"
        assert filled.code.definitions_named(["acquire"], FileScope(folder="lib"), limit=9) == []

    def test_word_frequencies_count_chunks(self, filled: ProjectStore) -> None:
        for _ in range(3):  # the count does not depend on the number of queries
            assert filled.code.document_frequencies(["wait", "lock", "none"]) == {"wait": 2, "lock": 1}
        assert filled.code.chunk_count() == 2

    def test_words_written_by_another_store_are_found_by_the_next_query(
        self, engine: Engine, filled: ProjectStore
    ) -> None:
        def search(*terms: str) -> tuple[dict[str, int], list[str]]:
            with filled.code.snapshot():
                counts = filled.code.document_frequencies(terms)
                found = filled.code.match_files(terms, terms, [], FileScope(), limit=9)
                rows = {row.id: row.path for row in filled.code.files([file_id for file_id, _ in found])}
            return counts, [rows[file_id] for file_id, _ in found]

        for _ in range(3):
            assert search("lock", "oven") == ({"lock": 1}, ["src/lock.py"])
        with closing(engine.projects().store_of(Path("/src/tool"))) as other, other.writing() as writer:
            file_id = add_code(writer, "src/oven.py", "bake", "heat the oven")
        for _ in range(3):
            assert search("oven") == ({"oven": 1}, ["src/oven.py"])
            assert search("bake")[1] == ["src/oven.py"]
        with closing(engine.projects().store_of(Path("/src/tool"))) as other, other.writing() as writer:
            writer.code.remove(file_id)
            writer.remove_file(file_id)
        for _ in range(3):
            assert search("oven") == ({}, [])
        with filled.writing() as writer:
            add_code(writer, "src/oven.py", "roast", "heat the oven")
        assert search("roast")[1] == ["src/oven.py"]

    def test_a_removed_file_is_not_found(self, filled: ProjectStore) -> None:
        file = filled.file("src/lock.py")
        assert file is not None
        with filled.writing() as writer:
            writer.code.remove(file.id)
            writer.remove_file(file.id)
        assert filled.code.match_chunks(["lock"], [], FileScope(), limit=9) == []
        assert filled.code.paths(FileScope()) == [(2, "src/draw.ts")]


class Edge:
    """A reference from the top level of a file."""

    line, source_key, kind, origin, certain = 4, "", "calls", "name", True

    def __init__(self, path: str, key: str) -> None:
        self.target_path = path
        self.target_key = key


def facts(digest: bytes = b"1") -> FactRecord:
    return FactRecord("python", digest, b"interface", b"body")


def project_facts(project: ProjectStore) -> FactReader:
    with project.writing() as writer:
        return writer.graph.fact_source().reader()


class TestGraph:
    """Symbols, facts and edges."""

    @pytest.fixture
    def writer(self, project: ProjectStore) -> Iterator[ProjectWriter]:
        with project.writing() as writer:
            writer.graph.write_facts("a.py", [Symbol("run", "run", "function", 1, 3)], facts())
            writer.graph.write_facts("b.py", [], facts())
            yield writer

    def test_changed_facts_are_stale_until_they_are_marked_as_resolved(self, writer: ProjectWriter) -> None:
        assert [file.path for file in writer.graph.stale_files()] == ["a.py", "b.py"]
        writer.graph.mark_all_resolved()
        assert writer.graph.stale_files() == []
        writer.graph.write_facts("a.py", [], facts(b"2"))
        assert [file.path for file in writer.graph.stale_files()] == ["a.py"]
        assert writer.graph.languages() == {"a.py": "python", "b.py": "python"}

    def test_uncommitted_facts_are_visible_inside_the_transaction_and_in_pending(self, writer: ProjectWriter) -> None:
        assert writer.graph.facts().interface("a.py") == b"interface"
        assert writer.graph.facts().body("c.py") is None
        assert writer.graph.facts().symbols_named("run") == [("a.py", "run", "function")]
        elsewhere = writer.graph.fact_source().reader()
        assert elsewhere.interface("a.py") is None
        pending = writer.graph.pending_facts(["a.py"])
        assert pending.facts == {"a.py": (b"interface", b"body")}
        assert pending.symbols == {"run": [("a.py", "run", "function")]}

    def test_a_fact_reader_returns_the_same_symbols_for_few_and_many_lookups(self, project: ProjectStore) -> None:
        kept = [Symbol(f"key{n}", f"Run{n % 250}", "function", 300 - n, 301) for n in range(300)]
        with project.writing() as writer:
            writer.graph.write_facts("b.py", kept[:150], facts())
            writer.graph.write_facts("a.py", kept[150:], facts())
        search = [f"{run}{n}" for n in range(300) for run in ("Run", "run")]
        few = []
        for start in range(0, len(search), 100):
            reader = project_facts(project)
            few += [reader.symbols_named(name) for name in search[start : start + 100]]
        reader = project_facts(project)
        assert [reader.symbols_named(name) for name in search] == few
        assert sum(map(len, few)) == 300
        assert [row[0] for row in few[search.index("Run7")]] == ["a.py", "b.py"]

    def test_resolved_edges_give_references_imports_and_dependants(
        self, project: ProjectStore, writer: ProjectWriter
    ) -> None:
        edges = [Edge("a.py", "run"), Edge("", "walk")]
        writer.graph.write_resolution(ResolutionRecord("b.py", edges, [(1, "a.py", "now")], ["a.py"], 2, 1))
        assert writer.graph.dependants(["a.py"]) == {"b.py"}
        assert writer.graph.depends_on("b.py", "a.py")
        graph = project.graph
        [symbol] = graph.symbols_named("RUN", any_case=True)
        assert [(row.path, row.line) for row in graph.references([symbol.node_id])] == [("b.py", 4)]
        assert [row.path for row in graph.mentions("walk")] == ["b.py"]
        assert [(row.path, row.target) for row in graph.imports()] == [("b.py", "a.py")]
        assert graph.imports_of(["a.py", "b.py", "c.py"]) == {"b.py": {"a.py"}}
        assert graph.counts().external_imports == 2
        assert graph.symbols_at([("a.py", "run"), ("a.py", "walk"), ("b.py", "run")]) == [symbol]
        assert graph.subclasses([symbol.node_id]) == set()
        assert [used.key for used in graph.most_referenced_symbols(limit=1)] == ["run"]
        assert graph.most_referenced_symbols(limit=0) == []
        [(pair, link_info)] = graph.links(limit=9).pairs.items()
        assert (pair[1], link_info) == (symbol.node_id, ("calls", True))
        assert not graph.links(limit=1).is_partial
        assert graph.links(limit=0).is_partial

    def test_removing_a_file_removes_its_symbols(self, project: ProjectStore, writer: ProjectWriter) -> None:
        writer.graph.remove_file("a.py")
        assert project.graph.paths() == ["b.py"]
        assert project.graph.symbol_count() == 0
