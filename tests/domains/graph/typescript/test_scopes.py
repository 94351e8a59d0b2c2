"""Names inside a file: scopes, hoisting, shadowing, destructuring."""

from tests.domains.graph.typescript.resolving import resolve


def test_a_local_shadows_the_name_of_the_module() -> None:
    graph = resolve(
        {
            "a.ts": (
                "const x = 1\n"
                "function f(x: number) { return x }\n"
                "function g() { const x = 2; return x }\n"
                "function h() { return x }\n"
                "for (const x of []) { x }\n"
                "try {} catch (x) { x }\n"
                "const k = (x) => x\n"
                "const o = { x }\n"
            )
        }
    )
    assert graph.references("a.ts#x") == ["a.ts:4", "a.ts:8"]


def test_shadowing_ends_with_its_block() -> None:
    graph = resolve({"a.ts": "const x = 1\n{\n  let x = 2\n  x\n}\nx\n"})
    assert graph.references("a.ts#x") == ["a.ts:6"]


def test_var_belongs_to_the_whole_function() -> None:
    graph = resolve(
        {"a.js": ("const x = 1\nfunction f() {\n  x\n  if (y) { var x = 2 }\n  for (var y in z) {}\n  x\n}\nx\n")}
    )
    assert graph.references("a.js#x") == ["a.js:8"]


def test_a_loop_variable_declared_with_var_is_visible_after_the_loop() -> None:
    graph = resolve({"a.js": "const k = 1\nfunction f(o) {\n  for (var k in o) {}\n  return k\n}\nk\n"})
    assert graph.references("a.js#k") == ["a.js:6"]


def test_functions_and_classes_can_be_used_before_they_are_declared() -> None:
    graph = resolve({"a.ts": "f()\nnew C()\nfunction f() {}\nclass C {}\n"})
    assert graph.references("a.ts#f") == ["a.ts:1"]
    assert graph.references("a.ts#C") == ["a.ts:2"]


def test_inner_functions_are_separate_symbols() -> None:
    graph = resolve(
        {
            "a.ts": (
                "function outer() {\n  function inner() {}\n  const arrow = () => inner()\n  class K {}\n"
                "  arrow()\n  return new K()\n}\n"
            )
        }
    )
    assert graph.kinds("a.ts") == {
        "outer": "function",
        "outer.inner": "function",
        "outer.arrow": "function",
        "outer.K": "class",
    }
    assert graph.references("a.ts#outer.inner") == ["a.ts:3"]
    assert graph.references("a.ts#outer.arrow") == ["a.ts:5"]
    assert graph.references("a.ts#outer.K") == ["a.ts:6"]


def test_the_source_of_an_edge_is_the_enclosing_symbol() -> None:
    graph = resolve({"a.ts": "const x = 1\nclass C {\n  m() { return x }\n}\n"})
    sources = {edge.source_key for edge in graph.resolutions["a.ts"].edges if edge.target_key == "x"}
    assert sources == {"C.m"}


def test_writes_and_reads_are_distinguished() -> None:
    graph = resolve({"a.ts": "let x = 1\nx = 2\nx += 1\nx++\nx\n;[x] = [1]\n;({ x } = { x: 1 })\n"})
    kinds = [(line, kind) for _, line, kind, _ in graph.edges("a.ts#x")]
    assert kinds == [(2, "write"), (3, "write"), (4, "write"), (5, "read"), (6, "write"), (7, "write")]


def test_destructured_names_are_not_references_to_the_module() -> None:
    graph = resolve(
        {
            "a.ts": (
                "const a = 1, b = 2, c = 3\n"
                "function f({ a, b: { c }, ...rest }: any, [b = a]: any[]) { return [a, b, c, rest] }\n"
                "const { d = a, ['k']: e } = f({}, [])\nd\n"
            )
        }
    )
    assert graph.references("a.ts#a") == ["a.ts:3"]
    assert graph.references("a.ts#c") == []
    assert graph.references("a.ts#d") == ["a.ts:4"]


def test_labels_keywords_and_property_names_are_not_references() -> None:
    graph = resolve({"a.ts": "const x = 1\nx: while (1) { break x }\nconst o = { x: 2 }\no.x\n"})
    assert graph.references("a.ts#x") == []
    assert graph.references("a.ts#o.x") == ["a.ts:4"]


def test_type_parameters_shadow_types() -> None:
    graph = resolve(
        {
            "a.ts": (
                "type T = string\n"
                "function f<T>(x: T): T { return x }\n"
                "type M = { [T in 'a']: T }\n"
                "type I = string extends infer T ? T : never\n"
                "let y: T\n"
            )
        }
    )
    assert graph.references("a.ts#T") == ["a.ts:5"]


def test_switch_cases_share_one_scope() -> None:
    graph = resolve({"a.ts": "const x = 1\nswitch (x) {\n  case 1: let y = x; break\n  default: y\n}\n"})
    assert graph.references("a.ts#x") == ["a.ts:2", "a.ts:3"]


def test_uses_as_decorators_have_the_kind_decorator() -> None:
    graph = resolve(
        {
            "a.ts": (
                "function dec(...a: any[]): any {}\n@dec class A {}\n@dec('x')\nexport class B {\n"
                "  @dec field = 1\n  @dec() method(@dec p: any) {}\n}\n"
            )
        }
    )
    kinds = {(line, kind) for _, line, kind, _ in graph.edges("a.ts#dec")}
    assert kinds == {(2, "decorate"), (3, "decorate"), (5, "decorate"), (6, "decorate")}


def test_namespaces_have_separate_names() -> None:
    graph = resolve(
        {
            "a.ts": (
                "namespace util {\n  export const x = 1\n  export function f() { return x }\n}\n"
                "namespace util { export const y = x }\n"
                "namespace a.b { export type T = 1 }\n"
                "util.f()\nlet t: a.b.T\nimport F = util.f\nF()\n"
            )
        }
    )
    assert graph.references("a.ts#util.x") == ["a.ts:3", "a.ts:5"]
    assert graph.references("a.ts#util.f") == ["a.ts:7", "a.ts:9"]
    assert graph.references("a.ts#a.b.T") == ["a.ts:8"]
    assert graph.references("a.ts#F") == ["a.ts:10"]
    assert graph.related("a.ts#util") == ["a.ts:5 merge"]


def test_names_in_non_latin_scripts_keep_their_spelling() -> None:
    graph = resolve({"a.ts": "const größe = 1 // ü\nconst o = { größe: größe }\no.größe\n"})
    assert graph.references("a.ts#größe") == ["a.ts:2"]
    assert graph.references("a.ts#o.größe") == ["a.ts:3"]


def test_signature_and_comment_describe_a_symbol() -> None:
    graph = resolve(
        {
            "a.ts": (
                "/**\n * Adds numbers.\n *\n * @param a one\n */\nexport function add(\n"
                "  a: number,\n): number {\n  return a\n}\n"
            )
        }
    )
    symbol = graph.facts["a.ts"].symbols[0]
    assert (symbol.signature, symbol.doc) == ("function add( a: number, ): number", "Adds numbers.")
    assert (symbol.line, symbol.end_line) == (6, 10)
