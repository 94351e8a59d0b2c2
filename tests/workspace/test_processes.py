"""Indexing by several processes at once, and by processes that are killed."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.files_of import project_database
from tests.repositories import make_repository, write_files
from tests.workspace.indexing_process import open_projects

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.workspace.project_index import ProjectIndex
    from deltos.workspace.projects import Projects

CONTENT = """SELECT path, language, lines, size, hash FROM file
UNION ALL SELECT path, start_line, end_line, symbol, signature FROM chunk JOIN file ON file.id = file_id
UNION ALL SELECT path, name, kind, line, container FROM definition JOIN file ON file.id = file_id
UNION ALL SELECT path, symbol_words, doc_words, body_words, '' FROM chunk_terms
          JOIN chunk ON chunk.id = chunk_id JOIN file ON file.id = file_id
UNION ALL SELECT term, doc, cnt, '', '' FROM chunk_vocabulary
UNION ALL SELECT path, stem, folders, names, '' FROM file_words AS words JOIN file ON file.id = words.rowid
UNION ALL SELECT path, line, key, kind, certain FROM edge JOIN place ON place.id = edge.place_id
          JOIN node ON node.id = target_id"""

REPOSITORY = Path(__file__).parents[2]
FILE_COUNT = 250  # processed in four batches


def sources(count: int, lines: int) -> dict[str, str | bytes]:
    """Return Python files with one function each, which call each other, and an empty file."""
    body = "".join(f"    value_{n} = compute(value_{n}, {n})\n" for n in range(lines))
    files: dict[str, str | bytes] = {
        f"src/module_{n}.py": f"from src.module_{n // 2} import function_{n // 2} as compute\n\n\n"
        f'def function_{n}(argument):\n    """Do the {n}th thing."""\n{body}'
        for n in range(count)
    }
    return files | {"empty.py": ""}


def start_indexer(home: Path, root: Path) -> subprocess.Popen[str]:
    """Start another process that indexes and prints a line after each step."""
    command = [sys.executable, "-m", "tests.workspace.indexing_process", str(home), str(root)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY)
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    return process


def kill_after(process: subprocess.Popen[str], steps: int) -> None:
    """Kill the process as soon as it has reported this many steps."""
    assert process.stdout is not None
    for _ in range(steps):
        process.stdout.readline()
    process.kill()
    process.wait()
    process.stdout.close()


def content_of(home: Path, root: Path) -> list[tuple[Any, ...]]:
    """Return the content of an index without row ids."""
    with closing(open_projects(home)) as projects:
        index = projects.index_of(root)
        with project_database(index).snapshot() as connection:
            return sorted(connection.execute(CONTENT).fetchall(), key=repr)


def content_of_new_index(home: Path, root: Path) -> list[tuple[Any, ...]]:
    with closing(open_projects(home)) as projects:
        projects.index_of(root).index()
    return content_of(home, root)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "root", sources(FILE_COUNT, 10))


@pytest.fixture
def projects(tmp_path: Path) -> Iterator[Projects]:
    with closing(open_projects(tmp_path / "home")) as projects:
        yield projects


def assert_files_are_complete(index: ProjectIndex) -> None:
    """Check that every indexed file is complete."""
    with project_database(index).snapshot() as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        halves = connection.execute(
            """SELECT path FROM file WHERE lines > 0 AND id NOT IN (SELECT file_id FROM chunk)
               UNION SELECT path FROM file WHERE id NOT IN (SELECT rowid FROM file_words)
               UNION SELECT 'chunk without a file' FROM chunk WHERE file_id NOT IN (SELECT id FROM file)"""
        ).fetchall()
    assert halves == []


def test_a_first_index_completes_although_it_was_killed_repeatedly(tmp_path: Path, root: Path) -> None:
    home = tmp_path / "home"
    grown = [0]
    for steps in (0, 2, 2):
        kill_after(start_indexer(home, root), steps)
        with closing(open_projects(home)) as projects:
            assert_files_are_complete(projects.index_of(root))
            grown.append(projects.index_of(root).store.totals().files)
    assert grown == sorted(grown)  # indexed files are not lost
    assert grown[-1] > 0
    last = start_indexer(home, root)
    assert last.stdout is not None
    written = int(last.stdout.read().split()[-1])
    last.wait()
    assert written == FILE_COUNT - grown[-1]  # indexing continued where the killed processes stopped
    assert content_of(home, root) == content_of_new_index(tmp_path / "fresh", root)


def test_a_killed_update_keeps_the_old_index_and_the_next_run_completes_it(tmp_path: Path, root: Path) -> None:
    home = tmp_path / "home"
    before = content_of_new_index(home, root)
    changed = sources(FILE_COUNT - 50, 11)
    write_files(root, changed)
    kill_after(start_indexer(home, root), 2)
    assert content_of(home, root) == before
    assert content_of_new_index(home, root) == content_of_new_index(tmp_path / "fresh", root) != before


def test_workers_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "root", sources(120, 400))
    process = start_indexer(tmp_path / "home", root)
    assert process.stdout is not None
    process.stdout.readline()
    process.kill()
    process.communicate(timeout=60)  # ends when the workers, which inherited the pipe, have exited too


def test_concurrent_processes_index_a_project_once(tmp_path: Path, root: Path) -> None:
    home = tmp_path / "home"
    processes = [start_indexer(home, root) for _ in range(3)]
    outputs = [process.communicate()[0].split() for process in processes]
    assert sorted(int(output[-1]) for output in outputs) == [0, 0, FILE_COUNT]
    assert content_of(home, root) == content_of_new_index(tmp_path / "fresh", root)


def test_readers_never_see_a_partial_update_by_another_process(tmp_path: Path, root: Path, projects: Projects) -> None:
    index = projects.index_of(root)
    index.index()
    old = {path: file.hash for path, file in index.store.files().items()}
    write_files(root, sources(FILE_COUNT, 12))
    writer = start_indexer(tmp_path / "home", root)
    assert writer.stdout is not None
    answers = []
    for _ in writer.stdout:  # one line per step of the writer
        answers.append({path: file.hash for path, file in index.store.files().items()})
        assert_files_are_complete(index)
    writer.wait()
    new = {path: file.hash for path, file in index.store.files().items()}
    assert all(answer in (old, new) for answer in answers)
    assert old in answers
    assert old.keys() == new.keys()
    assert set(old.values()).isdisjoint(new.values())


def test_a_first_index_by_another_process_is_answered_from_the_indexed_part(
    tmp_path: Path, root: Path, projects: Projects
) -> None:
    writer = start_indexer(tmp_path / "home", root)
    assert writer.stdout is not None
    for _ in range(2):  # the files of the first line are committed when the second one is printed
        writer.stdout.readline()
    index = projects.index_of(root)
    freshness = index.freshen(wait_seconds=0.0)
    assert freshness.complete or "being indexed for the first time" in freshness.notes[0]
    assert index.store.file_count() > 0
    with suppress(BrokenPipeError):
        writer.communicate()
    index.freshen(wait_seconds=60.0)
    assert index.store.file_count() == FILE_COUNT
