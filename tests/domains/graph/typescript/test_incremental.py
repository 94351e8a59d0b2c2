"""Property test: after any edit, incremental resolution gives the same result as full resolution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from deltos.domains.graph.typescript.resolver import TypeScriptResolver
from tests.domains.graph.typescript.resolving import InMemoryFacts, extract

if TYPE_CHECKING:
    from deltos.domains.graph.kernel.resolver import FileFacts, Resolution

PROJECT = {
    "package.json": '{"name": "demo", "exports": "./dist/index.js"}',
    "tsconfig.json": '{"compilerOptions": {"paths": {"@/*": ["./src/*"]}}}',
    "src/index.ts": ("export * from './shapes'\nexport * from './store'\nexport { make as build } from './make'\n"),
    "src/shapes.ts": (
        "export abstract class Shape { abstract area(): number; grow() { return this } }\n"
        "export class Circle extends Shape { area() { return 1 } }\n"
        "export class Square extends Shape { area() { return 2 }; side() { return this.area() } }\n"
    ),
    "src/make.ts": (
        "import { Circle, Square } from '@/shapes'\nexport function make(round: boolean) {\n"
        "  return round ? new Circle() : new Square()\n}\n"
    ),
    "src/store.ts": (
        "import type { Shape } from './shapes'\nimport { make } from './make'\n"
        "export class Store<T extends Shape> { items: T[] = []; first() { return this.items[0] } }\n"
        "export const store = new Store<ReturnType<typeof make>>()\nstore.first().area()\n"
    ),
    "src/use.ts": (
        "import { store, build } from 'demo'\nstore.first().grow().area()\nbuild(true).area()\nglobalThing.run()\n"
    ),
    "src/globals.d.ts": "declare const globalThing: { run(): void }\n",
    "src/old.js": "const { make } = require('./make')\nmodule.exports = make\nmake().area()\n",
}
FRAGMENTS = {
    "a member is renamed": ("area", "surface"),
    "a base class goes": ("extends Shape ", ""),
    "a result changes": ("new Circle()", "new Square()"),
    "an export goes": ("export class Square", "class Square"),
    "a comment comes": ("\n", "\n// note\n"),
    "a re-export goes": ("export * from './store'\n", ""),
    "a mapping changes": ("./src/*", "./lib/*"),
    "a package is renamed": ('"demo"', '"other"'),
    "a global is renamed": ("globalThing", "anotherThing"),
}
NEW_FILES = (
    "src/shapes/index.ts",
    "src/make.tsx",
    "src/more.d.ts",
    "lib/shapes.ts",
    "sub/package.json",
    "src/index.d.ts",
)

Edit = tuple[str, str, str]
edits = st.lists(
    st.one_of(
        st.tuples(st.just("change"), st.sampled_from(sorted(PROJECT)), st.sampled_from(sorted(FRAGMENTS))),
        st.tuples(st.just("remove"), st.sampled_from(sorted(PROJECT)), st.just("")),
        st.tuples(st.just("restore"), st.sampled_from(sorted(PROJECT)), st.just("")),
        st.tuples(st.just("add"), st.sampled_from(NEW_FILES), st.sampled_from(sorted(PROJECT))),
    ),
    min_size=1,
    max_size=8,
)


def apply_edit(sources: dict[str, str], edit: Edit) -> str:
    """Apply an edit to the sources and return the changed path."""
    operation, path, detail = edit
    if operation == "change" and path in sources:
        before, after = FRAGMENTS[detail]
        sources[path] = sources[path].replace(before, after)
    elif operation == "remove":
        sources.pop(path, None)
    elif operation == "restore":
        sources[path] = PROJECT[path]
    elif operation == "add":
        same_kind = path.endswith(".json") == detail.endswith(".json")
        sources[path] = (
            PROJECT[detail] if same_kind else PROJECT["package.json" if path.endswith(".json") else "src/shapes.ts"]
        )
    return path


def covers_path(dependency: str, path: str) -> bool:
    """Return whether a dependency covers a file that is added or removed."""
    name = path.rpartition("/")[2]
    if dependency.startswith("*."):
        return name.endswith(dependency[1:])
    return dependency == path or dependency == f"*/{name.partition('.')[0]}"


class Incremental:
    """Facts and resolutions of a project, updated after each edit."""

    def __init__(self) -> None:
        self.sources: dict[str, str] = {}
        self.facts: dict[str, FileFacts] = {}
        self.resolutions: dict[str, Resolution] = {}
        for path, text in PROJECT.items():
            self.sources[path] = text
            self.facts[path] = extract(path, text)
        self._resolve(set(self.facts))

    def edit(self, edit: Edit) -> None:
        """Apply one edit and resolve the dependent files again."""
        path = apply_edit(self.sources, edit)
        before = self.facts.pop(path, None)
        if path in self.sources:
            self.facts[path] = extract(path, self.sources[path])
        after = self.facts.get(path)
        stale = {path}
        if before is None or after is None or before.interface != after.interface:
            is_new = before is None or after is None
            stale |= {
                resolution.path
                for resolution in self.resolutions.values()
                if path in resolution.dependencies
                or (is_new and any(covers_path(each, path) for each in resolution.dependencies))
            }
        self.resolutions.pop(path, None)
        self._resolve(stale & self.facts.keys())

    def _resolve(self, paths: set[str]) -> None:
        for resolution in TypeScriptResolver().resolve(InMemoryFacts(self.facts), paths):
            self.resolutions[resolution.path] = resolution


def edges_and_imports(resolutions: dict[str, Resolution]) -> dict[str, object]:
    """Return the edges and imports of each file, independent of their order."""
    return {
        path: (frozenset(each.edges), frozenset(each.imports), each.external_imports, each.unresolved_imports)
        for path, each in resolutions.items()
    }


@settings(max_examples=60, deadline=None)
@given(edits)
def test_incremental_resolution_equals_full_resolution(steps: list[Edit]) -> None:
    project = Incremental()
    for step in steps:
        project.edit(step)
    full = {
        each.path: each for each in TypeScriptResolver().resolve(InMemoryFacts(project.facts), tuple(project.facts))
    }
    assert edges_and_imports(project.resolutions) == edges_and_imports(full)


def test_an_edit_of_a_body_changes_no_interface() -> None:
    before = extract("a.ts", "export function f(x: number): number {\n  return x\n}\n")
    after = extract("a.ts", "// moved\nexport function f(x: number): number {\n  log(x)\n  return x + 1\n}\n")
    assert before.interface == after.interface
    assert before.body != after.body


def test_the_answer_does_not_depend_on_which_file_is_resolved_first() -> None:
    facts = {
        "a.ts": extract(
            "a.ts",
            ("import { g } from './b'\nexport const f = (n) => n ? g(n) : new A()\nclass A { x() {} }\nf(1).x()\n"),
        ),
        "b.ts": extract("b.ts", "import { f } from './a'\nexport const g = (n) => n ? f(n) : 1\ng(1).x()\n"),
    }
    one = {
        each.path: each
        for path in ("a.ts", "b.ts")
        for each in TypeScriptResolver().resolve(InMemoryFacts(facts), [path])
    }
    two = {each.path: each for each in TypeScriptResolver().resolve(InMemoryFacts(facts), ["b.ts", "a.ts"])}
    assert edges_and_imports(one) == edges_and_imports(two)
    assert {edge.target_key for edge in one["b.ts"].edges} >= {"A.x"}
