"""References are found inside every construct of the language."""

import pytest

from tests.domains.graph.typescript.resolving import resolve

VALUE_USES = [
    "for (let i = x; i < x; i += x) { x }",
    "for (const k in x) { k }",
    "for (q of x) {}",
    "for (;;) { x; break }",
    "while (x) { continue }",
    "do { x } while (x)",
    "label: { x }",
    "switch (x) { case x: x; default: x }",
    "try { x } catch { x } finally { x }",
    "try { q } catch ({ message }) { x }",
    "throw x",
    "`a ${x} b`",
    "tag`a ${x} b`",
    "x`a`",
    "x ?? x",
    "x instanceof Q",
    "Q instanceof x",
    "'a' in x",
    "x < 1 && x > 2 || !x",
    "x ? x : x",
    "void x, delete q[x], typeof x",
    "[...x, x]",
    "({ ...x, [x]: x, get a() { return x }, set a(v) { x }, async *b() { yield x } })",
    "q(...x)",
    "new x",
    "new x(x)",
    "x?.y?.[x]?.(x)",
    "(x)",
    "(q, x)",
    "x!",
    "await x",
    "import(x)",
    "require(x)",
    "function* g() { yield* x }",
    "async function h(a = x, { b = x }, [c = x], ...d) { return x }",
    "const { [x]: p, ...rest } = x",
    "const [r = x, ...s] = x",
    "x ||= x",
    "x[0] = x",
    "x.y = x",
    "[q[x]] = x",
    "({ a: x } = q)",
    "class K { [x] = x; static { x } static y = x; constructor() { super(x) } }",
    "class L extends x {}",
    "class M extends x() {}",
    "export default x",
    "if (x) x; else x",
    "const z = class { m() { x } }",
    "const fn = function named() { named(); x }",
    "() => ({ x })",
]
TYPESCRIPT_VALUE_USES = [
    "let a: typeof x",
    "x<string>",
    "(<any>x)",
    "x as const",
    "x satisfies any",
    "class K { constructor(private a = x) {} }",
    "@x class D { @x() m(@x p) {} @x f = 1 }",
    "enum E { A = x }",
    "namespace N { x }",
    "declare const d: { [k: string]: typeof x }",
    "abstract class A { abstract get v(): typeof x }",
    "using r = x",
    "export = x",
]


@pytest.mark.parametrize("place", VALUE_USES)
@pytest.mark.parametrize("path", ["a.ts", "a.js"])
def test_a_use_of_a_value_is_found_in_every_construct(path: str, place: str) -> None:
    graph = resolve({path: f"let x;\n{place}\n"})
    assert graph.references(f"{path}#x") == [f"{path}:2"]


@pytest.mark.parametrize("place", TYPESCRIPT_VALUE_USES)
def test_a_use_of_a_value_is_found_in_typescript_constructs(place: str) -> None:
    graph = resolve({"a.ts": f"let x;\n{place}\n"})
    assert graph.references("a.ts#x") == ["a.ts:2"]


TYPE_USES = [
    "let a: T[]",
    "let a: [T, b?: T, ...T[]]",
    "let a: T | T & T",
    "let a: (x: T, ...y: T[]) => T",
    "let a: new (x: T) => T",
    "let a: { m?(x: T): T; readonly p: T; [k: string]: T; (x: T): T }",
    "let a: { new (x: T): T; get g(): T; set s(v: T) }",
    "let a: { [K in keyof T as `x${T}`]?: T }",
    "let a: T extends T ? T : T",
    "let a: Promise<T>",
    "let a: keyof T",
    "let a: readonly T[]",
    "let a: T['x'][number]",
    "let a: `a${T}`",
    "function f<A extends T = T>(this: T, x: T): asserts x is T {}",
    "function f(x): x is T { return true }",
    "class K<A extends T> extends Q<T> implements T, Q.R<T> { p: T; m<B extends T>(x: T): T {} }",
    "interface I<A = T> extends T, Q.R<T> { x: T }",
    "type A<B extends T = T> = T",
    "x as T",
    "<T>x",
    "x satisfies T",
    "f<T>()",
    "new F<T>()",
    "try {} catch (e: T) {}",
    "declare function f(x: T): T",
    "declare module 'm' { export const x: T }",
    "declare global { interface W { x: T } }",
    "export type { T }",
    "export default T",
    "abstract class A { abstract m(): T; declare f: T }",
    "let u: unique symbol | T",
    "let o: (T)",
    "let i: T extends infer U extends T ? U : never",
]


@pytest.mark.parametrize("place", TYPE_USES)
def test_a_use_of_a_type_is_found_in_every_construct(place: str) -> None:
    graph = resolve({"a.ts": f"interface T {{}}\n{place}\n"})
    assert graph.references("a.ts#T") == ["a.ts:2"]


def test_types_declared_inside_functions_are_followed() -> None:
    graph = resolve(
        {
            "a.ts": (
                "function f() {\n  interface I { x: number }\n  type A = { y: I }\n"
                "  enum E { One }\n  let i: I, a: A\n"
                "  i.x\n  a.y.x\n  E.One\n  class C { m() { this.m() } }\n  const c: C = new C()\n  c.m()\n"
                "  const [d, ...e] = [c]\n  d.m()\n  let k\n  k = c\n  k = d\n  k.m()\n"
                "  function over(): C\n  over().m()\n}\n"
            )
        }
    )
    assert graph.references("a.ts#f.I.x") == ["a.ts:6", "a.ts:7"]
    assert graph.references("a.ts#f.I") == ["a.ts:3", "a.ts:5"]
    assert graph.references("a.ts#f.E.One") == ["a.ts:8"]
    assert graph.references("a.ts#f.C.m") == ["a.ts:11", "a.ts:13", "a.ts:17", "a.ts:19", "a.ts:9"]


def test_exports_of_every_declaration_can_be_imported() -> None:
    graph = resolve(
        {
            "a.ts": (
                "export const [p, { q }] = [1, { q: 2 }]\nexport declare const d: number\n"
                "export namespace n { export const x = 1 }\n"
                "export import alias = n.x\nexport enum e { A }\nexport abstract class c {}\n"
                "export async function* g() {}\n"
                "type T = 1\nexport { T }\nexport declare namespace dn { const y: number }\n"
                "/** first */\nexport function over(x: string): void\nexport function over(x: any) {}\n"
                "@dec export class Decorated {}\nfunction dec(x) {}\n"
            ),
            "b.ts": (
                "import { p, q, d, n, alias, e, c, g, T, dn, over, Decorated } from './a'\n"
                "p; q; d; n.x; alias; e.A; new c(); g(); let t: T; dn.y; over('x'); Decorated\n"
            ),
        }
    )
    for key in ("p", "q", "d", "n", "alias", "e", "c", "g", "T", "dn", "over", "Decorated"):
        assert {"b.ts:1", "b.ts:2"} <= set(graph.references(f"a.ts#{key}")), key


def test_uses_in_object_accessors_spreads_and_shorthands_are_found() -> None:
    graph = resolve(
        {
            "a.ts": (
                "class A { m() {} }\nconst a = new A()\n"
                "const base = { a, get made() { return new A() }, set made(v: A) {}, 'quoted-key': a }\n"
                "const more = { ...base, extra: a }\n"
                "more.a.m()\nmore.made.m()\nmore['quoted-key'].m()\nmore.extra.m()\n"
                "interface P { a: A }\nconst p: P = { a }\n"
            )
        }
    )
    assert graph.references("a.ts#A.m") == ["a.ts:5", "a.ts:6", "a.ts:7", "a.ts:8"]
    assert graph.references("a.ts#P.a") == ["a.ts:10"]
    assert graph.references("a.ts#base.made") == ["a.ts:6"]


def test_members_of_a_very_large_object_table_are_not_symbols() -> None:
    entries = ", ".join(f"k{number}: {number}" for number in range(1_000))
    graph = resolve({"a.ts": f"const table = {{ {entries} }}\ntable.k1\n"})
    assert graph.kinds("a.ts") == {"table": "variable"}


def test_this_in_functions_and_parameters_is_resolved() -> None:
    graph = resolve(
        {
            "a.ts": (
                "class A { m() {}\n  static s() { this.s() }\n  n() { return () => this.m() }\n"
                "  o() { function inner() { this.m() } }\n  static p = this.s()\n}\n"
                "function f(this: A) { this.m(); function g() { this.m() } }\n"
            )
        }
    )
    assert graph.references("a.ts#A.m") == ["a.ts:3", "a.ts:7"]
    assert graph.references("a.ts#A.s") == ["a.ts:2", "a.ts:5"]
