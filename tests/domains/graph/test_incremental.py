"""After any edit, the graph equals one that is built from scratch."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import deltos
from tests.domains.graph.small_project import SmallProject, certain_locations
from tests.files_of import project_database

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.isolated.process_pool import ProcessPool
    from deltos.workspace.project_index import ProjectIndex

PACKAGE = Path(deltos.__file__).parent
_TABLES = {
    "symbols": """SELECT path, key, name, kind, line, end_line, signature, doc FROM symbol
                  JOIN node ON node.id = node_id JOIN place ON place.id = symbol.place_id""",
    "edges": """SELECT place.path, edge.line, source.key, target_place.path, target.key, kind, origin, certain FROM edge
                JOIN place ON place.id = edge.place_id JOIN node AS source ON source.id = source_id
                JOIN node AS target ON target.id = target_id JOIN place AS target_place ON target_place.id = target.place_id""",
    "imports": """SELECT source.path, import.line, target.path, mode FROM import
                  JOIN place AS source ON source.id = import.place_id
                  JOIN place AS target ON target.id = target_place_id""",
    "mentions": """SELECT name, path, mention.line, key, mention.kind FROM mention JOIN place ON place.id = mention.place_id
                   JOIN node ON node.id = source_id""",
}


def graph_contents(index: ProjectIndex) -> dict[str, list[tuple[object, ...]]]:
    """Return the contents of the graph without ids."""
    connection = project_database(index).read()
    return {name: sorted(connection.execute(sql).fetchall(), key=repr) for name, sql in _TABLES.items()}


def add_function(root: Path, random_source: random.Random) -> None:
    file = random_source.choice(sorted(root.rglob("*.py")))
    file.write_text(f"{file.read_text()}\n\ndef added_{random_source.randrange(9)}(x):\n    return x.read()\n")


def move_lines(root: Path, random_source: random.Random) -> None:
    file = random_source.choice(sorted(root.rglob("*.py")))
    file.write_text(f"# {random_source.random()}\n\n{file.read_text()}")


def rename_definition(root: Path, random_source: random.Random) -> None:
    file = random_source.choice(sorted(root.rglob("*.py")))
    file.write_text(file.read_text().replace("class ", "class Renamed", 1))


def delete_file(root: Path, random_source: random.Random) -> None:
    random_source.choice(sorted(root.rglob("*.py"))).unlink()


def rename_file(root: Path, random_source: random.Random) -> None:
    file = random_source.choice(sorted(root.rglob("*.py")))
    file.rename(file.with_name(f"moved_{random_source.randrange(99)}.py"))


def restore_file(root: Path, random_source: random.Random) -> None:
    file = random_source.choice(sorted((PACKAGE / "store").glob("*.py")))
    shutil.copy(file, root / file.relative_to(PACKAGE))


EDITS: tuple[Callable[[Path, random.Random], None], ...] = (
    add_function, move_lines, rename_definition, delete_file, rename_file, restore_file,
)  # fmt: skip


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_graph_after_edits_equals_a_newly_built_graph(seed: int, tmp_path: Path, workers: ProcessPool) -> None:
    project = SmallProject(tmp_path / "edited", workers)
    for name in ("store", "workspace"):
        shutil.copytree(PACKAGE / name, project.root / name, ignore=shutil.ignore_patterns("__pycache__", "sqlite"))
    for name in ("errors.py", "model.py", "progress.py"):
        shutil.copy(PACKAGE / name, project.root / name)
    project.index()
    random_source = random.Random(seed)
    for step in range(5):
        random_source.choice(EDITS)(project.root, random_source)
        edited = graph_contents(project.index())
        fresh = SmallProject(tmp_path / f"fresh{step}", workers)
        shutil.copytree(project.root, fresh.root, dirs_exist_ok=True)
        rebuilt = graph_contents(fresh.index())
        fresh.close()
        assert edited == rebuilt
    project.close()


def test_line_numbers_follow_moved_code(project: SmallProject) -> None:
    project.write({"a.py": "def f():\n    pass\n", "b.py": "from a import f\n\nf()\n"}).index()
    project.write({"a.py": "# moved\n\n\ndef f():\n    pass\n"})
    graph = project.graph()
    (target,) = graph.targets("f")
    assert target.first.line == 4
    assert certain_locations(graph.references(target)) == {"b.py:1", "b.py:3"}


def test_references_follow_a_definition_to_another_file(project: SmallProject) -> None:
    project.write({"a.py": "def f():\n    pass\n", "b.py": "from a import *\n\nf()\n"}).index()
    project.write({"a.py": "from c import f\n", "c.py": "def f():\n    pass\n"})
    graph = project.graph()
    (target,) = graph.targets("f")
    assert target.first.path == "c.py"
    assert certain_locations(graph.references(target)) == {"a.py:1", "b.py:3"}


def test_a_new_file_resolves_imports_that_failed_before(project: SmallProject) -> None:
    project.write({"b.py": "from a import f\n\nf()\n"}).index()
    project.write({"a.py": "def f():\n    pass\n"})
    graph = project.graph()
    (target,) = graph.targets("f")
    assert certain_locations(graph.references(target)) == {"b.py:1", "b.py:3"}
