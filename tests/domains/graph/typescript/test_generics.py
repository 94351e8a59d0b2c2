"""Type parameters, utility types, and types computed from types."""

from tests.domains.graph.typescript.resolving import resolve

BASE = "class A { a() {} }\nclass B { b() {} }\ndeclare const as: A[]\n"


def referring_lines(text: str, key: str = "A.a") -> list[int]:
    """Return the lines of the text (counted from 1) that refer to a member."""
    graph = resolve({"a.ts": BASE + text})
    return sorted(int(ref.partition(":")[2]) - 3 for ref in graph.references(f"a.ts#{key}"))


def test_type_parameters_have_the_types_of_type_arguments_defaults_or_bounds() -> None:
    assert referring_lines(
        "function id<T>(x: T): T { return x }\nid<A>(null!).a()\n"
        "function def<T = A>(): T { return null! }\ndef().a()\n"
        "function bound<T extends A>(x: T): T { return x }\nbound(null!).a()\n"
    ) == [2, 4, 6]


def test_objects_keep_the_type_arguments_of_their_class() -> None:
    assert referring_lines(
        "class Box<T> { constructor(public value: T) {}\n  get(): T { return this.value }\n"
        "  map<U>(f: (v: T) => U): Box<U> { return null! } }\n"
        "new Box<A>(null!).get().a()\n"
        "class Sub extends Box<A> {}\nnew Sub(null!).get().a()\n"
        "interface Source<T> { item: T }\ninterface More extends Source<A> {}\n"
        "declare const m: More\nm.item.a()\n"
        "class Def<T = A> { t!: T }\nnew Def().t.a()\n"
    ) == [4, 6, 10, 12]


def test_bounds_replace_unknown_type_parameters() -> None:
    assert referring_lines(
        "function f<T extends A>(x: T, xs: T[]) { x.a(); xs[0].a() }\n"
        "class C<T extends A> { t!: T; m() { this.t.a() } }\n"
    ) == [1, 2]


def test_utility_types_keep_members() -> None:
    text = (
        "interface O { x: A; y: number }\n"
        "declare const p: Partial<O>, q: Pick<O, 'x'>, r: Readonly<Required<O>>,"
        " o: Omit<O, 'y'>, n: NonNullable<O>\n"
        "p.x!.a()\nq.x.a()\nr.x.a()\no.x.a()\nn.x.a()\n"
        "declare const rec: Record<string, A>\nrec.any.a()\nrec['k'].a()\nrec[n.y].a()\n"
    )
    assert referring_lines(text) == [3, 4, 5, 6, 7, 9, 10, 11]
    assert referring_lines(text, "O.x") == [3, 4, 5, 6, 7]


def test_types_computed_from_values_and_types_are_resolved() -> None:
    assert referring_lines(
        "const make = () => new A()\ndeclare const x: ReturnType<typeof make>\nx.a()\n"
        "declare const y: InstanceType<typeof A>, z: Awaited<Promise<A>>\nz.a()\n"
        "interface O { k: A }\ndeclare const v: O['k']\nv.a()\n"
        "type If<T> = T extends A ? T : never\ndeclare const i: If<A>\ni.a()\n"
        "declare const t: [A, B], tt: readonly [first: A, second?: B, ...rest: A[]]\nt[0].a()\n"
        "const [t0, t1] = t\nt0.a()\n"
        "declare const f: new () => A\nnew f().a()\n"
        "declare const c: { (): A; extra: A; [k: string]: A; new (): A }\nc().a()\nc.extra.a()\nc[0].a()\n"
        "declare const inter: { x: A } & { y: B }\ninter.x.a()\n"
    ) == [3, 5, 8, 11, 13, 15, 17, 19, 20, 21, 23]


def test_contextual_types_flow_through_generic_calls() -> None:
    assert referring_lines(
        "declare const p: Promise<A>\np.then(x => x.a()).catch(() => 0)\n"
        "async function g() { (await p).a(); for await (const x of as) x.a() }\n"
        "const fs: Array<(x: A) => void> = [x => x.a()]\n"
        "const h: (x: A) => (y: A) => void = x => y => y.a()\n"
        "new Promise<A>(resolve => {}).then(x => x.a())\n"
        "class Q { constructor(f: (x: A) => void) {} }\nnew Q(x => x.a())\n"
    ) == [2, 3, 4, 5, 6, 8]


def test_iterators_of_the_project_are_iterable() -> None:
    assert referring_lines(
        "class Bag { [Symbol.iterator](): Iterator<A> { return null! } }\nfor (const x of new Bag()) x.a()\n"
        "class L extends Array<A> {}\nfor (const x of new L()) x.a()\nconst [y] = new Bag()\ny.a()\n"
    ) == [2, 4, 6]


def test_recursive_inference_terminates() -> None:
    assert referring_lines(
        "function f(n: number) { return n ? f(n - 1) : new A() }\nf(1).a()\n"
        "function p(n: number) { return n ? q(n) : new A() }\n"
        "function q(n: number) { return n ? p(n) : new B() }\n"
        "p(1).a()\nq(1).a()\nconst x = y\nconst y = x\nx.a()\nlet z = z.next\n"
    ) == [2, 5, 6]
