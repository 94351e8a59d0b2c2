"""TypeScript in a real index: stored, queried and updated incrementally."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.domains.graph.small_project import SmallProject
from tests.domains.graph.test_incremental import graph_contents
from tests.domains.graph.typescript.test_incremental import FRAGMENTS, PROJECT

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool

EDITS: list[dict[str, str]] = [
    {"src/shapes.ts": PROJECT["src/shapes.ts"].replace(*FRAGMENTS["a member is renamed"])},
    {"src/globals.d.ts": ""},
    {"src/other.d.ts": PROJECT["src/globals.d.ts"]},
    {"src/index.ts": PROJECT["src/index.ts"].replace(*FRAGMENTS["a re-export goes"])},
    {"src/shapes.ts": PROJECT["src/shapes.ts"], "src/index.ts": PROJECT["src/index.ts"]},
    {"package.json": PROJECT["package.json"].replace(*FRAGMENTS["a package is renamed"])},
    {"lib/package.json": PROJECT["package.json"], "lib/src/index.ts": "export const store = 1\n"},
    {"tsconfig.json": PROJECT["tsconfig.json"].replace(*FRAGMENTS["a mapping changes"])},
    {"src/make.ts": ""},
]


def test_the_stored_graph_after_edits_equals_a_newly_built_graph(tmp_path: Path, workers: ProcessPool) -> None:
    files = dict(PROJECT)
    project = SmallProject(tmp_path / "edited", workers).write(files)
    project.index()
    for number, edit in enumerate(EDITS):
        project.write(edit)
        files = {path: text for path, text in {**files, **edit}.items() if text}
        fresh = SmallProject(tmp_path / f"fresh{number}", workers).write(files)
        assert graph_contents(project.index()) == graph_contents(fresh.index()), edit
        fresh.close()
    project.close()


@pytest.mark.parametrize("place", ["src/shapes.ts:2", "src/shapes.ts:5"])
def test_overriding_members_share_their_references(tmp_path: Path, place: str, workers: ProcessPool) -> None:
    project = SmallProject(tmp_path, workers).write(
        {
            "src/shapes.ts": (
                "export abstract class Shape {\n  abstract area(): number\n}\n"
                "export class Circle extends Shape {\n  area() { return 1 }\n}\n"
            ),
            "src/use.ts": "import { Circle, Shape } from './shapes'\nnew Circle().area()\nlet s: Shape\ns.area()\n",
        }
    )
    graph = project.graph()
    lines = {f"{row.path}:{row.line}" for row in graph.references(graph.target_on_line(place)).certain}
    assert lines >= {"src/use.ts:2", "src/use.ts:4"}
    project.close()
