"""Resolution of composed types: unions, intersections, static members, and values used as types."""

from tests.domains.graph.typescript.resolving import resolve

BASE = "class A { a() {}; same() {} }\nclass B { b() {}; same() {} }\n"


def referring_lines(text: str, key: str = "A.a") -> list[int]:
    """Return the lines of the text (counted from 1) that refer to a member."""
    graph = resolve({"a.ts": BASE + text})
    return sorted(int(ref.partition(":")[2]) - 2 for ref in graph.references(f"a.ts#{key}"))


def test_calls_and_elements_of_unions_are_resolved() -> None:
    assert referring_lines(
        "declare const f: (() => A) | (() => B)\nf().a()\n"
        "declare const K: typeof A | typeof B\nnew K().a()\n"
        "declare const xs: A[] | B[]\nxs[0].a()\nfor (const x of xs) x.a()\nconst [y] = xs\ny.a()\n"
        "declare const o: { p: A } | { p: B }, k: 'p' | 'q'\no[k].a()\n"
        "async function g(p: Promise<A> | B) { (await p).a() }\n"
    ) == [2, 4, 6, 7, 9, 11, 12]


def test_members_of_functions_are_resolved() -> None:
    assert referring_lines(
        "function f() { return new A() }\nnamespace f { export const other = new A() }\nf().a()\n"
        "f.other.a()\n"
        "declare const both: (() => A) & { extra: A }\nboth().a()\nboth.extra.a()\n"
        "interface Callable { (x: number): A }\ninterface Sub extends Callable {}\n"
        "declare const s: Sub\ns(1).a()\n"
        "function h<F extends () => A>(x: F) { x().a() }\nfunction bind() { return f.call(null) }\n"
    ) == [3, 4, 6, 7, 11, 12]


def test_rest_parameters_have_the_types_of_the_remaining_arguments() -> None:
    assert referring_lines("function each(...fs: ((x: A) => void)[]) {}\neach(x => x.a(), x => x.a())\n") == [2]


def test_index_signatures_of_interfaces_and_mapped_types_are_resolved() -> None:
    assert referring_lines(
        "interface Table { [key: string]: A }\ninterface More extends Table {}\n"
        "declare const t: More, key: string\nt[key].a()\n"
        "type M = { [K in 'x' | 'y']: A }\ndeclare const m: M\nm.x.a()\nm[key].a()\n"
        "function f<T extends A[]>(xs: T, o: T) { xs[0].a(); for (const x of xs) x.a() }\n"
    ) == [4, 7, 8, 9]


def test_members_are_linked_to_those_of_implemented_interfaces() -> None:
    graph = resolve(
        {
            "a.ts": (
                "interface Runs { run(): void }\ntype Stops = { stop(): void }\n"
                "class Engine implements Runs, Stops { run() {}\n  stop() {}\n  'quoted'() {}\n"
                "  [Symbol.iterator]() {} }\n"
                "interface Faster extends Runs { run(): void }\n"
            )
        }
    )
    assert graph.related("a.ts#Runs.run") == ["a.ts:3 override", "a.ts:7 override"]
    assert graph.related("a.ts#Stops.stop") == ["a.ts:4 override"]


def test_intersections_of_classes_can_be_constructed() -> None:
    assert referring_lines(
        "declare const M: typeof A & typeof B\nnew M().a()\nclass C extends M {}\nnew C().a()\n"
    ) == [2, 4]


def test_type_guards_in_unusual_forms_narrow_types() -> None:
    assert referring_lines(
        "declare const u: A | string | undefined | (() => void)\nif (typeof u === 'function') u()\n"
        "else if (typeof u !== 'string') u.a()\ndeclare const v: A | { kind: 'x' }\n"
        "if (!('kind' in v)) v.a()\n"
        "if (Array.isArray(v)) v.length; else v.a()\n"
        "function isString(x: unknown): x is string { return true }\nif (!isString(u)) u.a()\n"
    ) == [3, 5, 6, 8]


def test_generics_that_cannot_be_inferred_are_unknown() -> None:
    assert referring_lines(
        "function f<T>(x: Missing<T>, y: (z: T) => void): T { return null! }\nf(1, z => z).a()\n"
        "type C<T> = T extends Missing ? A : B\ndeclare const c: C<A>\nc.a()\n"
        "function g<T>(): T { return null! }\ng().a()\ndeclare const k: keyof A\nk.a\n"
        "type D<T extends A> = T extends A ? T : never\nfunction h<T extends A>(d: D<T>) { d.a() }\n"
    ) == [11]


def test_module_namespaces_can_be_reexported() -> None:
    graph = resolve(
        {
            "m.ts": "export class X { go() {} }\nexport type T = X\nexport enum E { One }\n",
            "index.ts": ("import * as m from './m'\nexport { m }\nexport * as again from './m'\nexport default m\n"),
            "use.ts": (
                "import def, { m, again } from './index'\nnew m.X().go()\nlet t: again.T\n"
                "t.go()\nlet e: m.E.One\n"
                "import * as all from './index'\nlet u: all.m.T\nu.go()\nnew all.again.X().go()\n"
                "new def.X().go()\n"
                "const alias = m\nlet v: alias.T\nnew alias.X().go()\n"
            ),
        }
    )
    assert graph.references("m.ts#X.go") == [
        "use.ts:10",
        "use.ts:13",
        "use.ts:2",
        "use.ts:4",
        "use.ts:8",
        "use.ts:9",
    ]
    assert graph.references("m.ts#E.One") == ["use.ts:5"]


def test_commonjs_values_are_resolved_as_types_and_members() -> None:
    graph = resolve(
        {
            "a.js": ("class A { m() {} }\nmodule.exports = { A, make: () => new A(), nested: { deep() {} } }\n"),
            "b.js": "class B { n() {} }\nmodule.exports = B\n",
            "c.js": (
                "const { A, nested: { deep } } = require('./a')\nconst a = require('./a')\n"
                "a.make().m()\nnew A().m()\ndeep()\n"
                "/** @type {import('./b')} */\nlet b\nb.n()\n/** @type {A} */\nlet x\nx.m()\n"
                "exports.one = 1\nexports.one = 2\nmodule.exports.obj = { f() {} }\n"
            ),
            "d.ts": "import { make } from './a'\nmake().m()\nimport * as c from './c'\nc.obj.f()\n",
            "e.js": "module.exports = require('./b')\n",
            "f.js": "const B = require('./e')\nnew B().n()\nfunction exports() {}\nexports.x = 1\n",
        }
    )
    assert graph.references("a.js#A.m") == ["c.js:3", "c.js:4", "d.ts:2"]
    assert graph.references("a.js#module.exports.nested.deep") == ["c.js:1"]
    assert graph.references("b.js#B.n") == ["f.js:2"]
    assert graph.references("c.js#exports.obj.f") == ["d.ts:4"]
