"""Circular imports, by import mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from deltos.domains.graph.budgeted_lines import BudgetedLines
from deltos.domains.graph.cycles import components, find_cycles
from deltos.domains.graph.render import render_cycles
from deltos.store.graph import ImportRow

if TYPE_CHECKING:
    from tests.domains.graph.small_project import SmallProject


def import_rows(*arrows: str) -> list[ImportRow]:
    """Return import rows: `a b` at run time, `a b type` for types, `a b deferred` inside a function."""
    rows = [arrow.split() for arrow in arrows]
    return [ImportRow(row[0], row[1], 1, row[2] if len(row) > 2 else "runtime") for row in rows]


def test_a_chain_of_imports_has_no_cycle() -> None:
    assert find_cycles(import_rows("a b", "b c", "a c")) == []


def test_a_file_that_imports_itself_is_not_a_cycle() -> None:
    assert find_cycles(import_rows("a a")) == []


def test_a_rust_module_and_its_submodules_are_not_a_cycle() -> None:
    inside = ["src/lib.rs src/a.rs", "src/a.rs src/lib.rs", "src/a.rs src/a/b.rs", "src/a/b.rs src/a.rs"]
    folder = ["src/c/mod.rs src/c/d.rs", "src/c/d.rs src/c/mod.rs", "src/c/d.rs src/lib.rs", "src/lib.rs src/c/mod.rs"]
    assert find_cycles(import_rows(*inside, *folder)) == []
    (component,) = find_cycles(import_rows(*inside, *folder, "src/c/d.rs src/a/b.rs", "src/a/b.rs src/c/d.rs"))
    assert component.cycle == ("src/a/b.rs", "src/c/d.rs")


def test_submodules_imported_from_their_package_in_one_direction_are_not_a_cycle(project: SmallProject) -> None:
    project.write(
        {
            "shop/__init__.py": "from . import basket\n",
            "shop/basket.py": "from . import pricing\n",
            "shop/pricing.py": "from shop import rounding\n",
            "shop/rounding.py": "UNIT = 1\n",
        }
    )
    assert find_cycles(project.graph().reader.imports()) == []
    project.write({"shop/__init__.py": "from . import basket\n\nRATE = 2\n"})
    project.write({"shop/pricing.py": "from . import RATE\n", "shop/rounding.py": "from . import basket\n"})
    (component,) = find_cycles(project.graph().reader.imports())
    assert component.cycle == ("shop/__init__.py", "shop/basket.py", "shop/pricing.py")


def test_submodules_that_import_each_other_from_their_package_are_a_cycle(project: SmallProject) -> None:
    project.write({"shop/__init__.py": "from . import a, b\n"})
    project.write({"shop/a.py": "from . import b\n", "shop/b.py": "from . import a\n"})
    (component,) = find_cycles(project.graph().reader.imports())
    assert component.cycle == ("shop/a.py", "shop/b.py")


def test_a_component_is_shown_by_one_shortest_cycle() -> None:
    (component,) = find_cycles(import_rows("a b", "b c", "c d", "d a", "c b"))
    assert component.files == ("a", "b", "c", "d")
    assert component.cycle == ("b", "c")


def test_each_component_is_shown_in_the_strictest_mode_it_exists_in() -> None:
    found = find_cycles(import_rows("a b", "b a", "c d", "d c type", "e f", "f e deferred"))
    assert [(component.mode, component.files) for component in found] == [
        ("runtime", ("a", "b")),
        ("type", ("c", "d")),
        ("deferred", ("e", "f")),
    ]


def test_a_component_that_grows_with_type_imports_is_shown_again() -> None:
    found = find_cycles(import_rows("a b", "b a", "b c", "c a type"))
    assert [(component.mode, component.files, component.cycle) for component in found] == [
        ("runtime", ("a", "b"), ("a", "b")),
        ("type", ("a", "b", "c"), ("c", "a", "b")),
    ]
    assert found[1].known == {"a", "b"}
    text = render_cycles(found, [], page=BudgetedLines(token_budget=1_000)).text
    assert text.startswith("1 circular component: 1 at run time, 0 type-only")
    assert "type-only, 3 files, 2 of them above: c -> a -> b -> c" in text


def test_a_cycle_of_thousands_of_files_does_not_exceed_the_recursion_limit() -> None:
    chain = import_rows(*[f"{number} {number + 1}" for number in range(2_000)], "2000 0")
    (component,) = find_cycles(chain)
    assert len(component.files) == len(component.cycle) == 2_001


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=30))
def test_components_are_the_sets_of_nodes_that_reach_each_other(arrows: list[tuple[int, int]]) -> None:
    graph: dict[str, list[str]] = {str(node): [] for node in range(9)}
    for source, target in arrows:
        graph[str(source)].append(str(target))
    reach = {node: reachable_nodes(graph, node) for node in graph}
    expected = {tuple(sorted(m for m in graph if m in reach[n] and n in reach[m])) for n in graph}
    assert set(components(graph)) == {files for files in expected if len(files) > 1}


def reachable_nodes(graph: dict[str, list[str]], start: str) -> set[str]:
    """Return all nodes reachable from `start`."""
    found: set[str] = set()
    pending = [start]
    while pending:
        for target in graph[pending.pop()]:
            if target not in found:
                found.add(target)
                pending.append(target)
    return found
