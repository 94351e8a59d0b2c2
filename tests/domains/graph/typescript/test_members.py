"""Members of classes, interfaces, objects and enums, resolved by the type of their receiver."""

import pytest

from tests.domains.graph.typescript.resolving import extract, resolve

SHAPES = """\
export abstract class Shape<T = number> {
  static count = 0
  static of(): Shape { return new Circle() }
  protected size?: T
  constructor(public name: string, readonly label = '') {}
  abstract area(): number
  describe(): this { this.area(); return this }
  get big() { return this.size }
  set big(v) { this.size = v }
}
export class Circle extends Shape {
  #radius = 1
  area() { return this.#radius }
  describe() { super.describe(); return this }
}
export interface Named { name: string; rename(to: string): Named }
export type Pair = { left: Circle; right: Named }
export enum Color { Red, Green = 'g' }
export const table = { circle: new Circle('c'), make() { return this.circle }, nested: { deep: 1 } }
"""


def lines_using_members(text: str) -> dict[str, list[str]]:
    """Return the lines of the text that refer to each symbol of the shapes."""
    graph = resolve({"shapes.ts": SHAPES, "use.ts": "import * as s from './shapes'\n" + text})
    found = {}
    for key in graph.kinds("shapes.ts"):
        lines = [ref.partition(":")[2] for ref in graph.references(f"shapes.ts#{key}") if ref.startswith("use.ts")]
        if lines:
            found[key] = lines
    return found


def test_every_kind_of_member_is_a_symbol() -> None:
    assert resolve({"shapes.ts": SHAPES}).kinds("shapes.ts") == {
        "Shape": "class",
        "Shape.count": "variable",
        "Shape.of": "method",
        "Shape.size": "variable",
        "Shape.constructor": "method",
        "Shape.name": "variable",
        "Shape.label": "variable",
        "Shape.area": "method",
        "Shape.describe": "method",
        "Shape.big": "method",
        "Circle": "class",
        "Circle.#radius": "variable",
        "Circle.area": "method",
        "Circle.describe": "method",
        "Named": "interface",
        "Named.name": "variable",
        "Named.rename": "method",
        "Pair": "type",
        "Pair.left": "variable",
        "Pair.right": "variable",
        "Color": "enum",
        "Color.Red": "variable",
        "Color.Green": "variable",
        "table": "variable",
        "table.circle": "variable",
        "table.make": "method",
        "table.nested": "variable",
        "table.nested.deep": "variable",
    }


def test_members_used_through_new_this_and_super_are_resolved() -> None:
    graph = resolve({"shapes.ts": SHAPES})
    assert graph.references("shapes.ts#Shape.area") == ["shapes.ts:7"]
    assert graph.references("shapes.ts#Shape.describe") == ["shapes.ts:14"]
    assert graph.references("shapes.ts#Circle.#radius") == ["shapes.ts:13"]
    assert lines_using_members("new s.Circle('a').area()\n")["Circle.area"] == ["2"]


def test_an_override_is_linked_to_the_overridden_member() -> None:
    graph = resolve({"shapes.ts": SHAPES})
    assert graph.related("shapes.ts#Shape.area") == ["shapes.ts:13 override"]
    assert graph.related("shapes.ts#Shape.describe") == ["shapes.ts:14 override"]


def test_getter_and_setter_of_an_accessor_are_one_symbol() -> None:
    assert resolve({"shapes.ts": SHAPES}).related("shapes.ts#Shape.big") == ["shapes.ts:9 merge"]
    assert lines_using_members("declare const c: s.Circle\nc.big = c.big\n")["Shape.big"] == ["3"]


def test_inherited_and_static_members_are_found() -> None:
    found = lines_using_members("const c = new s.Circle('x')\nc.name\nc.label\ns.Circle.of().area()\ns.Shape.count++\n")
    assert (found["Shape.name"], found["Shape.label"], found["Shape.of"]) == (["3"], ["4"], ["5"])
    assert (found["Shape.area"], found["Shape.count"]) == (["5"], ["6"])


def test_members_are_found_through_annotations_type_parameters_and_variables() -> None:
    found = lines_using_members(
        "function f(p: s.Pair, n?: s.Named | null) { p.left.area(); n?.rename('x').name; p!.right }\n"
    )
    assert found["Pair.left"] == found["Circle.area"] == found["Named.rename"] == found["Named.name"] == ["2"]


def test_object_members_are_found_through_this_and_member_chains() -> None:
    found = lines_using_members("s.table.make().area()\ns.table.nested.deep\ns.table['circle'].describe()\n")
    assert (found["table.make"], found["Circle.area"]) == (["2"], ["2"])
    assert found["table.nested.deep"] == ["3"]
    assert (found["table.circle"], found["Circle.describe"]) == (["4"], ["4"])


def test_enum_members_are_found_as_values_and_types() -> None:
    found = lines_using_members("s.Color.Red\nlet c: s.Color.Green\nlet d: s.Color\n")
    assert found == {"Color": ["2", "3", "4"], "Color.Red": ["2"], "Color.Green": ["3"]}


def test_destructured_names_get_the_types_of_members() -> None:
    found = lines_using_members("declare const p: s.Pair\nconst { left, right: { rename } } = p\nleft.area()\n")
    assert (found["Pair.left"], found["Pair.right"], found["Named.rename"]) == (["3"], ["3"], ["3"])
    assert found["Circle.area"] == ["4"]


def test_inferred_results_of_functions_are_followed() -> None:
    found = lines_using_members(
        "function make() { const c = new s.Circle('x'); return c }\nmake().area()\n"
        "const later = async () => make()\nasync function g() { (await later()).describe() }\n"
        "const pick = (b: boolean) => b ? make() : make()\npick(true).name\n"
    )
    assert (found["Circle.area"], found["Circle.describe"], found["Shape.name"]) == (["3"], ["5"], ["7"])


def test_collections_keep_their_element_types() -> None:
    found = lines_using_members(
        "declare const all: s.Circle[], map: Map<string, s.Circle>, set: Set<s.Circle>\n"
        "all[0].area()\nall.map(c => c.area())\nfor (const c of all) c.area()\nmap.get('x')!.area()\n"
        "for (const [k, v] of map) v.area()\nset.forEach(c => c.area())\n"
        ";[...all].filter(c => c.area())[0].area()\nconst [first] = all\nfirst.area()\nall.find(c => c.big)!.area()\n"
    )
    assert found["Circle.area"] == ["11", "12", "3", "4", "5", "6", "7", "8", "9"]


def test_members_of_unions_refer_to_every_option() -> None:
    found = lines_using_members("declare const u: s.Named | s.Circle | string\nif (typeof u !== 'string') u.name\n")
    assert (found["Named.name"], found["Shape.name"]) == (["3"], ["3"])


def test_keys_of_object_literals_refer_to_members_of_the_expected_type() -> None:
    found = lines_using_members(
        "const n: s.Named = { name: 'x', rename: (to) => n }\nfunction f(p: s.Pair) {}\n"
        "f({ left: new s.Circle('x'), right: n })\n"
        "function g(): s.Named { return { name: '', rename() { return n } } }\n"
    )
    assert found["Named.name"] == ["2", "5"]
    assert (found["Pair.left"], found["Pair.right"]) == (["4"], ["4"])


def test_parameters_of_callbacks_get_types_from_the_signature() -> None:
    found = lines_using_members(
        "function each(cb: (c: s.Circle, ...rest: s.Named[]) => void) {}\n"
        "each((c, n) => { c.area(); n.name })\n"
        "each(function (c) { c.describe() })\n"
        "const handlers: { on(c: s.Circle): void } = { on(c) { c.big } }\n"
    )
    assert (found["Circle.area"], found["Named.name"]) == (["3"], ["3"])
    assert (found["Circle.describe"], found["Shape.big"]) == (["4"], ["5"])


def test_variables_get_the_type_of_assigned_values() -> None:
    found = lines_using_members(
        "let c\nc = new s.Circle('x')\nc.area()\nfunction f() { let d = null; d = c; d.describe() }\n"
    )
    assert (found["Circle.area"], found["Circle.describe"]) == (["4"], ["5"])


def test_cast_expressions_have_the_target_type() -> None:
    found = lines_using_members(
        "declare const x: any\n(x as s.Circle).area()\n;(<s.Circle>x).area()\n;(x satisfies s.Circle)\n"
        "const o = { c: new s.Circle('') } as const\no.c.area()\n"
    )
    assert found["Circle.area"] == ["3", "4", "7"]


def test_a_member_of_a_value_of_unknown_type_is_a_possible_reference() -> None:
    graph = resolve(
        {
            "a.ts": "export class A { run() {} }\n",
            "b.ts": "import { A } from './a'\nfunction f(x) { x.run(); x.map() }\n",
        }
    )
    assert graph.references("a.ts#A.run") == []
    assert graph.possible_references("#run") == ["b.ts:2"]
    assert graph.possible_references("#map") == []


def test_circular_inheritance_terminates() -> None:
    graph = resolve(
        {"a.ts": ("class A extends B { m() { this.n() } }\nclass B extends A { n() {} }\ninterface I extends I {}\n")}
    )
    assert graph.references("a.ts#B.n") == ["a.ts:1"]


def test_a_class_expression_and_a_mixin_keep_their_members() -> None:
    graph = resolve(
        {
            "a.ts": (
                "const K = class { m() { return this.m() } }\nnew K().m()\n"
                "function mix() { return class Inner { z() { this.z() } } }\nconst M = mix()\nnew M().z()\n"
                "class E extends mix() { q() { this.z() } }\n"
            )
        }
    )
    assert graph.references("a.ts#K.m") == ["a.ts:1", "a.ts:2"]
    assert graph.references("a.ts#mix.Inner.z") == ["a.ts:3", "a.ts:5", "a.ts:6"]


def test_overloads_are_one_symbol_and_the_first_one_declares_the_result_type() -> None:
    graph = resolve(
        {
            "a.ts": (
                "class A { a() {} }\nclass B { b() {} }\n"
                "function f(x: 'a'): A\nfunction f(x: string, cb?: () => void): B\n"
                "function f(x: string): any {}\n"
                "f('a').a()\nf('b').b()\nf('b', () => {}).b()\n"
                "class C { m(): A\n  m(x: number): B\n  m(x?: number): any {} }\n"
                "new C().m().a()\nnew C().m(1).b()\n"
                "declare function g(): A\ndeclare function g(x: number): B\ng(1).b()\n"
            )
        }
    )
    assert graph.kinds("a.ts")["f"] == "function"
    assert graph.related("a.ts#f") == ["a.ts:3 merge", "a.ts:4 merge"]
    assert graph.related("a.ts#C.m") == ["a.ts:10 merge", "a.ts:9 merge"]
    assert graph.related("a.ts#g") == ["a.ts:15 merge"]
    assert graph.references("a.ts#A.a") == ["a.ts:12", "a.ts:6"]
    assert graph.references("a.ts#B.b") == []


def test_types_and_values_of_one_name_are_distinguished() -> None:
    graph = resolve(
        {
            "a.ts": "export interface Z { q: number }\nexport const Z = { make(): Z { return null! } }\n",
            "b.ts": "import { Z } from './a'\nlet z: Z\nZ.make().q\n",
        }
    )
    assert graph.references("a.ts#Z") == ["a.ts:2", "b.ts:1", "b.ts:2"]
    assert graph.references("a.ts#Z#2") == ["b.ts:1", "b.ts:3"]
    assert graph.references("a.ts#Z.q") == ["b.ts:3"]


def test_merged_declarations_are_one_symbol() -> None:
    graph = resolve(
        {
            "a.ts": (
                "interface A { x: number }\ninterface A { y: number }\nfunction f() {}\n"
                "namespace f { export const k = 1 }\n"
                "declare const a: A\na.x\na.y\nf()\nf.k\n"
            )
        }
    )
    assert graph.related("a.ts#A") == ["a.ts:2 merge"]
    assert graph.related("a.ts#f") == ["a.ts:4 merge"]
    assert graph.references("a.ts#A.y") == ["a.ts:7"]
    assert graph.references("a.ts#f.k") == ["a.ts:9"]


@pytest.mark.parametrize(
    ("source", "functions"),
    [
        ("const s = make({ a: { b: { load() {} } } });", ["s.a.b.load"]),
        ("const s = make({ a: { b: { c: { d: { load() {} } } } } });", []),
        ("const s = make({ [key()]: { load() {} } });", []),
        ("const s = make({ list: [{ a: { load() {} } }] });", []),
        ("const s = [{ load() {} }];", []),
        ("const s = make({ a: inner({ load() {} }) });", []),
        ("const s = { a: inner({ load() {} }) };", ["s.a.load"]),
    ],
)
def test_a_function_in_a_literal_has_either_a_qualified_name_or_no_name(source: str, functions: list[str]) -> None:
    assert [symbol.key for symbol in extract("a.ts", source).symbols if symbol.kind == "method"] == functions
