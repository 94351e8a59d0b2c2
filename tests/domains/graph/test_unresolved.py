"""Files over which the resolver never ends, or breaks: named, without edges, and nobody else loses any."""

from __future__ import annotations

import threading
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from deltos.domains.code.index import CodeIndexer
from deltos.domains.graph import resolving
from deltos.domains.graph.index import GraphIndexer
from deltos.store.sqlite.projects import SqliteProjects
from deltos.workspace.projects import Projects
from tests.files_of import project_database
from tests.repositories import write_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.isolated.process import Workers
    from deltos.workspace.project_index import ProjectIndex

PATIENCE_SECONDS = 60
SOON_SECONDS = 0.5  # of CPU time: ten times what the good files take
# Each type is twice as large as the one before it.
ENDLESS = (
    "function pair<T>(x: T): [T, T] { return [x, x] }\nlet b0 = 1;\n"
    + "".join(f"let b{n} = pair(b{n - 1});\n" for n in range(1, 60))
    + "b59[0].foo();\n"
)
# A type that is nested more deeply than Python calls functions.
DEEP = (
    "from typing import Generic, TypeVar\nT = TypeVar('T')\n\n\nclass Box(Generic[T]):\n"
    "    def get(self) -> T: ...\n    def wrap(self) -> 'Box[Box[T]]': ...\n\n\nb = Box[int]()\n"
    + "b = b.wrap()\n" * 640
    + "b.get().get().foo()\n"
)
GOOD: dict[str, str | bytes] = {
    "good.ts": "export function good() { return 1 }\nexport function user() { return good() }\n",
    "zoo.ts": "import { good } from './good';\nexport function late() { return good() }\n",
    "good.py": "def called():\n    pass\n\n\ndef caller():\n    called()\n",
    "zoo.py": "from good import called\n\n\ndef late():\n    called()\n",
}


@pytest.fixture
def index(tmp_path: Path, workers: Workers) -> Iterator[ProjectIndex]:
    root = write_files(tmp_path / "root", GOOD)
    indexers = (CodeIndexer(), GraphIndexer())
    with closing(Projects(SqliteProjects(tmp_path / "home"), indexers, workers=workers)) as projects:
        yield projects.at(root)


def edges(index: ProjectIndex) -> set[tuple[str, int]]:
    """Where calls stand that were resolved."""
    with project_database(index).snapshot() as connection:
        rows = connection.execute(
            "SELECT place.path, line FROM edge JOIN place ON place.id = edge.place_id WHERE kind = 'call'"
        )
        return set(rows.fetchall())


GOOD_EDGES = {("good.ts", 2), ("zoo.ts", 2), ("good.py", 6), ("zoo.py", 5)}


def test_a_file_that_is_resolved_for_ever_is_stopped_and_named_and_the_others_are_resolved(
    index: ProjectIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolving, "CPU_SECONDS", SOON_SECONDS)
    write_files(index.project.root, {"m_endless.ts": ENDLESS})
    report = index.index()
    (error,) = report.errors
    assert error.startswith("m_endless.ts: could not be resolved by the graph")
    assert "took more than" in error
    assert edges(index) >= GOOD_EDGES
    (note,) = index.freshen().notes_about("graph")
    assert "1 file could not be resolved by the graph" in note
    assert index.freshen().notes_about("code") == ()

    monkeypatch.setattr(resolving, "CPU_SECONDS", 36_000.0)  # tried again, it would never end
    write_files(index.project.root, {"other.ts": "import { good } from './good';\ngood();\n"})
    again = threading.Thread(target=index.index, daemon=True)
    again.start()
    again.join(PATIENCE_SECONDS)
    assert not again.is_alive()
    assert index.index().errors == [error]
    assert ("other.ts", 2) in edges(index)

    write_files(index.project.root, {"m_endless.ts": "import { good } from './good';\ngood();\n"})
    assert index.index().errors == []
    assert ("m_endless.ts", 2) in edges(index)


def test_a_file_over_which_the_resolver_breaks_is_named_and_the_others_are_resolved(index: ProjectIndex) -> None:
    write_files(index.project.root, {"m_deep.py": DEEP})
    (error,) = index.index().errors
    assert error.startswith("m_deep.py: could not be resolved by the graph")
    assert "RecursionError" in error
    assert edges(index) >= GOOD_EDGES
    write_files(index.project.root, {"m_deep.py": "from good import called\n\ncalled()\n"})
    assert index.index().errors == []
    assert edges(index) == {*GOOD_EDGES, ("m_deep.py", 3)}


def test_where_very_many_files_cannot_be_resolved_the_others_of_their_languages_are_left_out(
    index: ProjectIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolving, "CPU_SECONDS", SOON_SECONDS)
    monkeypatch.setattr(resolving, "MOST_STOPPED", 1)
    write_files(index.project.root, {"m_endless.ts": ENDLESS})
    errors = index.index().errors
    assert [error.partition(":")[0] for error in errors] == ["m_endless.ts", "zoo.ts"]
    assert "left out: 1 others" in errors[1]
    assert edges(index) >= GOOD_EDGES - {("zoo.ts", 2)}


def test_files_that_were_left_out_are_resolved_once_those_to_blame_are_gone(
    index: ProjectIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolving, "CPU_SECONDS", SOON_SECONDS)
    monkeypatch.setattr(resolving, "MOST_STOPPED", 1)
    write_files(index.project.root, {"m_endless.ts": ENDLESS})
    index.index()
    assert ("zoo.ts", 2) not in edges(index)
    (index.project.root / "m_endless.ts").unlink()
    assert index.index().errors == []
    assert edges(index) == GOOD_EDGES


def test_a_file_that_was_stopped_because_of_another_is_resolved_once_that_one_is_mended(
    index: ProjectIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolving, "CPU_SECONDS", SOON_SECONDS)
    user = "import { b59 } from './m_endless';\nimport { good } from './good';\ngood();\nb59[0].foo();\n"
    write_files(index.project.root, {"m_endless.ts": ENDLESS.replace("let b59", "export let b59"), "user.ts": user})
    assert [error.partition(":")[0] for error in index.index().errors] == ["m_endless.ts", "user.ts"]
    write_files(index.project.root, {"m_endless.ts": "export let b59 = [1];\n"})
    assert index.index().errors == []
    assert ("user.ts", 3) in edges(index)


# Each doubles the type, or the depth of the type, that the one before it has: because of what `pair` and `wrap` say.
PAIRS = "import { pair } from './dependency';\n" + ENDLESS.partition("\n")[2]
WRAPS = "from dependency import Box\n\nb = Box[int]()\n" + DEEP.partition("b = Box[int]()\n")[2]


def index_or_give_up(index: ProjectIndex) -> list[str]:
    """The errors of indexing, which ends soon unless a file is resolved that never ends."""
    errors: list[list[str]] = []
    thread = threading.Thread(target=lambda: errors.append(index.index().errors), daemon=True)
    thread.start()
    thread.join(PATIENCE_SECONDS)
    (found,) = errors
    return found


def test_a_file_that_was_stopped_is_tried_again_when_what_it_uses_changes_and_not_before(
    index: ProjectIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolving, "CPU_SECONDS", SOON_SECONDS)
    doubling = "export function pair<T>(x: T): [T, T] { return [x, x] }\n"
    write_files(index.project.root, {"dependency.ts": doubling, "user.ts": PAIRS})
    (error,) = index.index().errors
    assert error.startswith("user.ts: could not be resolved by the graph")
    assert "took more than" in error  # of CPU time, or by the clock where the machine is busy

    monkeypatch.setattr(resolving, "CPU_SECONDS", 36_000.0)  # tried again, it would never end
    elsewhere = "export function elsewhere(n: number) { return n }\n"
    write_files(index.project.root, {"elsewhere.ts": elsewhere})
    assert index_or_give_up(index) == [error]
    write_files(index.project.root, {"elsewhere.ts": elsewhere.replace("number", "string")})
    assert index_or_give_up(index) == [error]
    write_files(index.project.root, {"dependency.ts": "// The same as before.\n" + doubling})
    assert index_or_give_up(index) == [error]

    write_files(index.project.root, {"dependency.ts": "export function pair<T>(x: T): T { return x }\n"})
    assert index_or_give_up(index) == []
    assert ("user.ts", 3) in edges(index)


def test_a_file_that_broke_the_resolver_is_tried_again_when_what_it_uses_changes(index: ProjectIndex) -> None:
    write_files(index.project.root, {"dependency.py": DEEP.partition("b = Box[int]()\n")[0], "user.py": WRAPS})
    (error,) = index.index().errors
    assert error.startswith("user.py: could not be resolved by the graph")
    assert "RecursionError" in error
    mended = DEEP.partition("b = Box[int]()\n")[0].replace("'Box[Box[T]]'", "'Box[T]'")
    write_files(index.project.root, {"dependency.py": mended})
    assert index.index().errors == []
    assert ("user.py", 4) in edges(index)


def test_files_that_were_left_out_are_resolved_once_what_stopped_the_others_is_mended(
    index: ProjectIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolving, "CPU_SECONDS", SOON_SECONDS)
    monkeypatch.setattr(resolving, "MOST_STOPPED", 1)
    doubling = "export function pair<T>(x: T): [T, T] { return [x, x] }\n"
    write_files(index.project.root, {"dependency.ts": doubling, "user.ts": PAIRS})
    assert [error.partition(":")[0] for error in index.index().errors] == ["user.ts", "zoo.ts"]
    write_files(index.project.root, {"dependency.ts": "export function pair<T>(x: T): T { return x }\n"})
    assert index.index().errors == []
    assert edges(index) >= {*GOOD_EDGES, ("user.ts", 3)}


def test_files_that_take_too_long_all_together_are_left_out(
    index: ProjectIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolving, "ALL_CPU_SECONDS", -1.0)
    monkeypatch.setattr(resolving, "ALL_CPU_SECONDS_PER_FILE", 0.0)
    errors = index.index().errors
    assert [error.partition(":")[0] for error in errors] == ["zoo.py", "zoo.ts"]
    assert all("left out: the files before it took more than" in error for error in errors)
