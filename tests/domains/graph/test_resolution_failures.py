"""Files that take too long to resolve or break the resolver: they are reported, and all other files are resolved."""

from __future__ import annotations

import threading
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from deltos.domains.code.index import CodeIndexer
from deltos.domains.graph import resolution_process
from deltos.domains.graph.index import GraphIndexer
from deltos.domains.graph.search import GraphSearch
from deltos.store.sqlite.projects import SqliteProjects
from deltos.workspace.projects import Projects
from tests.files_of import project_database
from tests.repositories import write_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool
    from deltos.workspace.project_index import ProjectIndex

TIMEOUT_SECONDS = 60
SHORT_CPU_SECONDS = 0.5  # CPU time; the good files take a tenth of it
# Each type is twice as large as the previous one.
DOUBLING_DEPENDENCY = "export class Box<T> { pair(): Box<[T, T]> { return null! } foo() {} }\n"
ENDLESS_SOURCE = (
    f"{DOUBLING_DEPENDENCY}let b0 = new Box<number>();\n"
    + "".join(f"let b{n} = b{n - 1}.pair();\n" for n in range(1, 50))
    + "b49.foo();\n"
)
# A type that is nested deeper than Python's recursion limit.
DEEP_SOURCE = "class Box:\n    def wrap(self): ...\n\n\nb = Box()\n" + "b = lambda: b\n" * 640 + "b()().wrap()\n"
GOOD_FILES: dict[str, str | bytes] = {
    "good.ts": "export function good() { return 1 }\nexport function user() { return good() }\n",
    "zoo.ts": "import { good } from './good';\nexport function late() { return good() }\n",
    "good.py": "def called():\n    pass\n\n\ndef caller():\n    called()\n",
    "zoo.py": "from good import called\n\n\ndef late():\n    called()\n",
}


@pytest.fixture
def index(tmp_path: Path, workers: ProcessPool) -> Iterator[ProjectIndex]:
    """Yield the index of a project with good files."""
    root = write_files(tmp_path / "root", GOOD_FILES)
    indexers = (CodeIndexer(), GraphIndexer())
    with closing(Projects(SqliteProjects(tmp_path / "home"), indexers, workers=workers)) as projects:
        yield projects.index_of(root)


def resolved_calls(index: ProjectIndex) -> set[tuple[str, int]]:
    """Return the path and line of resolved calls."""
    with project_database(index).snapshot() as connection:
        rows = connection.execute(
            "SELECT place.path, line FROM edge JOIN place ON place.id = edge.place_id WHERE kind = 'call'"
        )
        return set(rows.fetchall())


GOOD_CALLS = {("good.ts", 2), ("zoo.ts", 2), ("good.py", 6), ("zoo.py", 5)}


def test_a_file_that_takes_too_long_is_stopped_and_reported_and_the_others_are_resolved(
    index: ProjectIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolution_process, "CPU_LIMIT_SECONDS", SHORT_CPU_SECONDS)
    write_files(index.project.root, {"m_endless.ts": ENDLESS_SOURCE})
    report = index.index()
    (error,) = report.errors
    assert error.startswith("m_endless.ts: could not be resolved by the graph")
    assert "took more than" in error
    assert resolved_calls(index) >= GOOD_CALLS
    (note,) = index.freshen().notes_about("graph")
    assert "1 file could not be resolved by the graph" in note
    assert index.freshen().notes_about("code") == ()

    monkeypatch.setattr(resolution_process, "CPU_LIMIT_SECONDS", 36_000.0)  # a second attempt would never end
    write_files(index.project.root, {"other.ts": "import { good } from './good';\ngood();\n"})
    again = threading.Thread(target=index.index, daemon=True)
    again.start()
    again.join(TIMEOUT_SECONDS)
    assert not again.is_alive()
    assert index.index().errors == [error]
    assert ("other.ts", 2) in resolved_calls(index)

    write_files(index.project.root, {"m_endless.ts": "import { good } from './good';\ngood();\n"})
    assert index.index().errors == []
    assert ("m_endless.ts", 2) in resolved_calls(index)


def test_a_file_that_crashes_the_resolver_is_reported_and_the_others_are_resolved(index: ProjectIndex) -> None:
    write_files(index.project.root, {"m_deep.py": DEEP_SOURCE})
    (error,) = index.index().errors
    assert error.startswith("m_deep.py: could not be resolved by the graph")
    assert "RecursionError" in error
    assert resolved_calls(index) >= GOOD_CALLS
    search = GraphSearch(index.store, index.project.root)
    unread = {name: search.references(search.targets(name)[0]).completeness.unread_files for name in ("wrap", "called")}
    assert unread == {"wrap": ("m_deep.py (not resolved)",), "called": ()}
    write_files(index.project.root, {"m_deep.py": "from good import called\n\ncalled()\n"})
    assert index.index().errors == []
    assert resolved_calls(index) == {*GOOD_CALLS, ("m_deep.py", 3)}


def test_after_too_many_failures_the_remaining_files_of_the_languages_are_skipped(
    index: ProjectIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolution_process, "CPU_LIMIT_SECONDS", SHORT_CPU_SECONDS)
    monkeypatch.setattr(resolution_process, "MAX_STOPPED_FILES", 1)
    write_files(index.project.root, {"m_endless.ts": ENDLESS_SOURCE})
    errors = index.index().errors
    assert [error.partition(":")[0] for error in errors] == ["m_endless.ts", "zoo.ts"]
    assert "skipped: 1 other file exceeded a limit or failed" in errors[1]
    assert resolved_calls(index) >= GOOD_CALLS - {("zoo.ts", 2)}


def test_skipped_files_are_resolved_once_the_failing_files_are_deleted(
    index: ProjectIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolution_process, "CPU_LIMIT_SECONDS", SHORT_CPU_SECONDS)
    monkeypatch.setattr(resolution_process, "MAX_STOPPED_FILES", 1)
    write_files(index.project.root, {"m_endless.ts": ENDLESS_SOURCE})
    index.index()
    assert ("zoo.ts", 2) not in resolved_calls(index)
    (index.project.root / "m_endless.ts").unlink()
    assert index.index().errors == []
    assert resolved_calls(index) == GOOD_CALLS


def test_a_file_that_took_too_long_because_of_a_dependency_is_resolved_once_the_dependency_is_fixed(
    index: ProjectIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolution_process, "CPU_LIMIT_SECONDS", SHORT_CPU_SECONDS)
    user = "import { b30 } from './m_endless';\nimport { good } from './good';\ngood();\nb30.foo();\n"
    write_files(
        index.project.root, {"m_endless.ts": ENDLESS_SOURCE.replace("let b30", "export let b30"), "user.ts": user}
    )
    assert [error.partition(":")[0] for error in index.index().errors] == ["m_endless.ts", "user.ts"]
    write_files(index.project.root, {"m_endless.ts": "export let b30 = 1;\n"})
    assert index.index().errors == []
    assert ("user.ts", 3) in resolved_calls(index)


# Each line doubles the size of the previous type, as declared by `pair`.
SOURCE_THAT_USES_PAIR = "import { Box } from './dependency';\n" + ENDLESS_SOURCE.partition("\n")[2]
FIXED_DEPENDENCY = DOUBLING_DEPENDENCY.replace("[T, T]", "T")


def index_with_timeout(index: ProjectIndex) -> list[str]:
    """Return the errors of indexing; fail if it does not end within the time limit."""
    errors: list[list[str]] = []
    thread = threading.Thread(target=lambda: errors.append(index.index().errors), daemon=True)
    thread.start()
    thread.join(TIMEOUT_SECONDS)
    (found,) = errors
    return found


def test_a_file_that_took_too_long_is_retried_only_after_a_dependency_changes(
    index: ProjectIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolution_process, "CPU_LIMIT_SECONDS", SHORT_CPU_SECONDS)
    write_files(index.project.root, {"dependency.ts": DOUBLING_DEPENDENCY, "user.ts": SOURCE_THAT_USES_PAIR})
    (error,) = index.index().errors
    assert error.startswith("user.ts: could not be resolved by the graph")
    assert "took more than" in error  # CPU time, or wall-clock time on a busy machine

    monkeypatch.setattr(resolution_process, "CPU_LIMIT_SECONDS", 36_000.0)  # a second attempt would never end
    elsewhere = "export function elsewhere(n: number) { return n }\n"
    write_files(index.project.root, {"elsewhere.ts": elsewhere})
    assert index_with_timeout(index) == [error]
    write_files(index.project.root, {"elsewhere.ts": elsewhere.replace("number", "string")})
    assert index_with_timeout(index) == [error]
    write_files(index.project.root, {"dependency.ts": "// The same as before.\n" + DOUBLING_DEPENDENCY})
    assert index_with_timeout(index) == [error]

    write_files(index.project.root, {"dependency.ts": FIXED_DEPENDENCY})
    assert index_with_timeout(index) == []
    assert ("user.ts", 3) in resolved_calls(index)


def test_skipped_files_are_resolved_once_a_dependency_of_the_failing_file_is_fixed(
    index: ProjectIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolution_process, "CPU_LIMIT_SECONDS", SHORT_CPU_SECONDS)
    monkeypatch.setattr(resolution_process, "MAX_STOPPED_FILES", 1)
    write_files(index.project.root, {"dependency.ts": DOUBLING_DEPENDENCY, "user.ts": SOURCE_THAT_USES_PAIR})
    assert [error.partition(":")[0] for error in index.index().errors] == ["user.ts", "zoo.ts"]
    write_files(index.project.root, {"dependency.ts": FIXED_DEPENDENCY})
    assert index.index().errors == []
    assert resolved_calls(index) >= {*GOOD_CALLS, ("user.ts", 3)}


def test_files_beyond_the_total_time_limit_are_skipped(index: ProjectIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolution_process, "TOTAL_CPU_LIMIT_SECONDS", -1.0)
    monkeypatch.setattr(resolution_process, "TOTAL_CPU_LIMIT_SECONDS_PER_FILE", 0.0)
    errors = index.index().errors
    assert [error.partition(":")[0] for error in errors] == ["zoo.py", "zoo.ts"]
    assert all("skipped: earlier files took more than" in error for error in errors)
