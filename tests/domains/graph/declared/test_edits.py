"""Incremental updates of declared languages: names are resolved again when their definitions are added, changed or
removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.domains.graph.small_project import SmallProject, certain_locations
from tests.domains.graph.test_incremental import graph_contents

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool

FILES = {
    "go.mod": "module example.com/shop\n",
    "store/db.go": "package store\n\ntype DB struct{}\n\nfunc Open() *DB { return nil }\n",
    "server/run.go": 'package server\n\nimport "example.com/shop/store"\n\nfunc Run() {\n\tstore.Open().Close()\n}\n',
    "app/Base.java": "package app;\npublic class Base { void log() {} }\n",
    "app/App.java": "package app;\npublic class App extends Base { void run() { log(); other(); } }\n",
    "inc/a.h": "#define LIMIT 3\n",
    "src/a.c": '#include "a.h"\nint limit(void) { return LIMIT; }\n',
    "src/b.c": '#include "a.h"\nint use(void) { return limit(); }\n',
    "src/lib.rs": "mod util;\nuse crate::util::go;\nfn main() { go(); }\n",
    "src/util.rs": "pub fn go() {}\n",
    "lib/a.rb": "require_relative 'b'\nclass A < B\n  def run\n    help\n  end\nend\n",
    "lib/b.rb": "class B\n  def help\n  end\nend\n",
}
EDITS = {
    "a method appears": {"store/close.go": "package store\n\nfunc (d *DB) Close() {}\n"},
    "the module is renamed": {"go.mod": "module example.com/other\n"},
    "a base gains a method": {"app/Base.java": "package app;\npublic class Base { void log() {} void other() {} }\n"},
    "a base changes its package": {"app/Base.java": "package elsewhere;\npublic class Base { void log() {} }\n"},
    "a header vanishes": {"inc/a.h": ""},
    "a source vanishes": {"src/a.c": ""},
    "a module becomes a folder": {"src/util.rs": "", "src/util/mod.rs": "pub fn go() {}\n"},
    "a class is renamed": {"lib/b.rb": "class C\n  def help\n  end\nend\n"},
    "lines move": {"lib/b.rb": "# moved\n\nclass B\n  def help\n  end\nend\n"},
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
def test_the_graph_after_an_edit_equals_a_newly_built_graph(
    edit: dict[str, str], tmp_path: Path, workers: ProcessPool
) -> None:
    edited, fresh = SmallProject(tmp_path / "edited", workers), SmallProject(tmp_path / "fresh", workers)
    edited.write(FILES).index()
    after = graph_contents(edited.write(edit).index())
    fresh.write({path: text for path, text in {**FILES, **edit}.items() if text})
    rebuilt = graph_contents(fresh.index())
    edited.close()
    fresh.close()
    assert after == rebuilt


def test_a_new_method_in_another_file_of_its_package_is_found(project: SmallProject) -> None:
    project.write(FILES).index()
    graph = project.write(EDITS["a method appears"]).graph()
    (target,) = graph.targets("DB.Close")
    assert certain_locations(graph.references(target)) == {"server/run.go:6"}
    (opened,) = graph.targets("store.db.Open")
    assert certain_locations(graph.references(opened)) == {"server/run.go:6"}


def test_file_imports_follow_the_rules_of_each_language(project: SmallProject) -> None:
    imports = {(row.path, row.target) for row in project.write(FILES).graph().reader.imports()}
    assert imports == {
        ("server/run.go", "store/db.go"),
        ("src/a.c", "inc/a.h"),
        ("src/b.c", "inc/a.h"),
        ("src/lib.rs", "src/util.rs"),
        ("lib/a.rb", "lib/b.rb"),
    }
