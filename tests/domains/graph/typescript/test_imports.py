"""Resolution of names through imports, exports and re-exports."""

import pytest

from tests.domains.graph.typescript.resolving import resolve


def test_imported_function_is_found_at_its_import_and_its_calls() -> None:
    graph = resolve(
        {
            "a.ts": "export function f() {}\n",
            "b.ts": "import { f } from './a'\nf()\n",
        }
    )
    assert graph.references("a.ts#f") == ["b.ts:1", "b.ts:2"]
    assert [edge[2] for edge in graph.edges("a.ts#f")] == ["import", "call"]


def test_a_renamed_import_refers_to_the_original() -> None:
    graph = resolve(
        {
            "a.ts": "export const x = 1\n",
            "b.ts": "import {\n  x\n  as\n  y\n} from './a'\nconsole.log(y)\n",
        }
    )
    assert graph.references("a.ts#x") == ["b.ts:2", "b.ts:4", "b.ts:6"]


def test_default_export_of_each_form_is_followed() -> None:
    graph = resolve(
        {
            "f.ts": "export default function f() {}\n",
            "c.ts": "class C {}\nexport default C\n",
            "o.ts": "export default { a: 1 }\n",
            "i.ts": "export default interface I { a: number }\n",
            "u.ts": (
                "import f from './f'\nimport C from './c'\nimport o from './o'\nimport type I from './i'\n"
                "f()\nnew C()\no.a\nlet i: I\n"
            ),
        }
    )
    assert graph.references("f.ts#f") == ["u.ts:1", "u.ts:5"]
    assert graph.references("c.ts#C") == ["c.ts:2", "u.ts:2", "u.ts:6"]
    assert graph.references("o.ts#default") == ["u.ts:3", "u.ts:7"]
    assert graph.references("o.ts#default.a") == ["u.ts:7"]
    assert graph.references("i.ts#I") == ["u.ts:4", "u.ts:8"]


def test_barrels_and_star_exports_lead_to_the_declaration() -> None:
    graph = resolve(
        {
            "a.ts": "export const one = 1\nexport const two = 2\n",
            "index.ts": "export * from './a'\nexport { two as deux } from './a'\nexport * as all from './a'",
            "use.ts": "import { one, deux, all } from '.'\none\ndeux\nall.two\n",
        }
    )
    assert graph.references("a.ts#one") == ["use.ts:1", "use.ts:2"]
    assert graph.references("a.ts#two") == ["index.ts:2", "use.ts:1", "use.ts:3", "use.ts:4"]


@pytest.mark.parametrize("end", ["ts", "js"])
def test_a_default_export_can_be_renamed_by_re_exports(end: str) -> None:
    graph = resolve(
        {
            f"a.{end}": "export default class A {}\nconst x = 1\nexport { x as 'odd name' }\n",
            f"b.{end}": "export { default as A } from './a'\nexport { 'odd name' as odd } from './a'\n",
            f"c.{end}": ("import { default as Direct } from './a'\nimport { A, odd } from './b'\nA\nDirect\nodd\n"),
        }
    )
    assert graph.references(f"a.{end}#A") == [f"b.{end}:1", *(f"c.{end}:{line}" for line in (1, 2, 3, 4))]
    assert graph.references(f"a.{end}#x") == [f"a.{end}:3", f"b.{end}:2", f"c.{end}:2", f"c.{end}:5"]


def test_namespace_import_refers_to_the_module_and_its_members() -> None:
    graph = resolve(
        {
            "a.ts": "export class A {}\nexport type T = A\n",
            "b.ts": "import * as a from './a'\nnew a.A()\nlet t: a.T\nclass B extends a.A {}\n",
        }
    )
    assert graph.references("a.ts#") == ["b.ts:1"]
    assert graph.references("a.ts#A") == ["a.ts:2", "b.ts:2", "b.ts:4"]
    assert graph.references("a.ts#T") == ["b.ts:3"]


def test_local_export_list_counts_as_a_reference() -> None:
    graph = resolve({"a.ts": "const x = 1\nexport { x }\n", "b.ts": "import { x } from './a'\nx\n"})
    assert graph.references("a.ts#x") == ["a.ts:2", "b.ts:1", "b.ts:2"]


def test_circular_re_exports_terminate() -> None:
    graph = resolve(
        {
            "a.ts": "export * from './b'\nexport const x = 1\n",
            "b.ts": "export * from './a'\n",
            "c.ts": "import { x, missing } from './b'\nx\nmissing\n",
        }
    )
    assert graph.references("a.ts#x") == ["c.ts:1", "c.ts:2"]


def test_import_modes_distinguish_runtime_type_and_deferred_imports() -> None:
    graph = resolve(
        {
            "a.ts": "export type T = 1\nexport const v = 1\n",
            "b.ts": (
                "import type { T } from './a'\nimport { type T as U } from './a'\n"
                "import { v, type T as V } from './a'\n"
                "export type { T } from './a'\nexport { v } from './a'\nimport './a'\n"
                "async function f() { const m = await import('./a'); m.v }\n"
            ),
            "c.ts": "export type * from './a'\n",
        }
    )
    assert [mode for _, mode in graph.imports("b.ts")] == [
        "type",
        "type",
        "runtime",
        "type",
        "runtime",
        "runtime",
        "deferred",
    ]
    assert graph.imports("c.ts") == [("a.ts", "type")]
    assert "b.ts:7" in graph.references("a.ts#v")


def test_external_and_missing_imports_are_counted_separately() -> None:
    graph = resolve({"a.ts": "import x from 'react'\nimport y from './gone'\nimport fs from 'node:fs'\n"})
    resolution = graph.resolutions["a.ts"]
    assert (resolution.external_imports, resolution.unresolved_imports) == (2, 1)
    assert "gone.ts" in resolution.dependencies


def test_import_equals_resolves_to_export_equals() -> None:
    graph = resolve(
        {
            "a.ts": "class A { m() {} }\nexport = A\n",
            "b.ts": "import A = require('./a')\nnew A().m()\n",
        }
    )
    assert graph.references("a.ts#A") == ["a.ts:2", "b.ts:1", "b.ts:2"]
    assert graph.references("a.ts#A.m") == ["b.ts:2"]


def test_import_type_expressions_refer_to_the_module() -> None:
    graph = resolve(
        {
            "a.ts": "export interface I { x: number }\nexport const v = 1\n",
            "b.ts": "let i: import('./a').I\ni.x\nlet m: typeof import('./a')\nm.v\n",
        }
    )
    assert graph.references("a.ts#I") == ["b.ts:1"]
    assert graph.references("a.ts#I.x") == ["b.ts:2"]
    assert graph.references("a.ts#v") == ["b.ts:4"]


def test_ambient_globals_and_modules_of_declaration_files_are_known() -> None:
    graph = resolve(
        {
            "env.d.ts": ("declare const VERSION: string\ndeclare module 'virtual' { export function load(): void }\n"),
            "more.d.ts": "export {}\ndeclare global { interface Box { lid: string } }\n",
            "a.ts": "import { load } from 'virtual'\nload()\nVERSION\nlet b: Box\nb.lid\n",
        }
    )
    assert graph.references("env.d.ts#VERSION") == ["a.ts:3"]
    assert graph.references('env.d.ts#"virtual".load') == ["a.ts:1", "a.ts:2"]
    assert graph.references("more.d.ts#global.Box.lid") == ["a.ts:5"]
    assert "*.d.ts" in graph.resolutions["a.ts"].dependencies


def test_module_augmentation_merges_with_the_original_interface() -> None:
    graph = resolve(
        {
            "a.ts": "export interface Shape { x: number }\n",
            "b.ts": "import './a'\ndeclare module './a' { interface Shape { y: number } }\n",
        }
    )
    assert graph.related("a.ts#Shape") == ["b.ts:2 merge"]
