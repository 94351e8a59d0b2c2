"""Methods resolved through the types of their receivers."""

from __future__ import annotations

from tests.domains.graph.marked import check

C = "class C:\n    def m(self): ...\n    def other(self): ...\n"
D = "class D:\n    def m(self): ...\n"


def test_methods_are_resolved_through_self_cls_and_super() -> None:
    check(
        a_py="""
class A:
    def m(self): ...
    @classmethod
    def make(cls): return cls()
    @staticmethod
    def s(): ...
class B(A):  # -> A
    def m(self):
        super().m()  # -> A.m
        super(B, self).m()  # -> B, A.m
        self.n()  # -> B.n
        self.s()  # -> A.s
    def n(self):
        self.m()  # -> B.m
    @classmethod
    def build(cls):
        cls.make().n()  # -> A.make, B.n
        super().make()  # -> A.make
B.make().n()  # -> B, A.make, B.n
"""
    )


def test_members_follow_the_method_resolution_order() -> None:
    check(
        a_py="""
class Base:
    def m(self): ...
class Left(Base): ...  # -> Base
class Right(Base):  # -> Base
    def m(self): ...
class Both(Left, Right):  # -> Left, Right
    def go(self):
        self.m()  # -> Right.m
Both().m()  # -> Both, Right.m
"""
    )


def test_inconsistent_and_circular_bases_are_resolved() -> None:
    check(
        a_py="""
class A(B): ...  # -> B
class B(A):  # -> A
    def m(self): ...
A().m()  # -> A, B.m
class X: ...
class Y(X): ...  # -> X
class Z(X, Y):  # -> X, Y
    def z(self): ...
Z().z()  # -> Z, Z.z
class Self(Self):  # -> Self
    def s(self): ...
Self().s()  # -> Self, Self.s
"""
    )


def test_attributes_have_the_types_of_their_assignments() -> None:
    check(
        a_py=C
        + """
class Holder:
    kept = C()  # -> C, Holder.kept
    def __init__(self, given: C, other=None):  # -> C
        self.made = C()  # -> C, Holder.made
        self.given = given  # -> Holder.given
        self.maybe = None  # -> Holder.maybe
        self.local = local = C()  # -> C, Holder.local
        if other:
            self.maybe = C()  # -> C, Holder.maybe
    def go(self):
        self.made.m()  # -> Holder.made, C.m
        self.given.m()  # -> Holder.given, C.m
        self.maybe.m()  # -> Holder.maybe, C.m
        self.local.m()  # -> Holder.local, C.m
        self.kept.m()  # -> Holder.kept, C.m
Holder(C()).made.m()  # -> C, Holder, Holder.__init__, Holder.made, C.m
Holder.kept.m()  # -> Holder, Holder.kept, C.m
"""
    )


def test_annotations_of_parameters_variables_and_returns_are_resolved() -> None:
    check(
        a_py=(
            "from __future__ import annotations\nimport typing as t\n"
            "from typing import Optional, Union, Annotated, Final, ClassVar\n"
        )
        + C
        + D
        + """
def f(a: C, b: Optional[C], c: "C", d: Union[C, D], e: C | None, *args: C, **kw: D) -> C:  # -> C, D
    a.m()  # -> C.m
    b.m()  # -> C.m
    c.m()  # -> C.m
    d.m()  # -> C.m, D.m
    e.m()  # -> C.m
    args[0].m()  # -> C.m
    kw["x"].m()  # -> D.m
    for x in args: x.m()  # -> C.m
    y: t.Optional[C] = load()  # -> C
    y.m()  # -> C.m
f().m()  # -> f, C.m
class K:
    field: Annotated[C, 1]  # -> C, K.field
    fixed: Final[C]  # -> C, K.fixed
    shared: ClassVar[C]  # -> C, K.shared
K().field.m()  # -> K, K.field, C.m
K().fixed.m()  # -> K, K.fixed, C.m
K().shared.m()  # -> K, K.shared, C.m
"""
    )


def test_string_annotations_are_references() -> None:
    check(
        a_py="from typing import cast, TypeVar, Union, List\n"
        + C
        + """
def f(x: "C") -> "list[C]": ...  # -> C
N = Union["C", str]  # -> N, C
T = TypeVar("T", bound="C")  # -> T, C
cast("C", x).m()  # -> C, C.m
def g(n: N, t: T, l: List["C"], d: dict["key", int]):  # -> N, T, C
    n.m()  # -> C.m
    t.m()  # -> C.m
    l[0].m()  # -> C.m
"""
    )


def test_return_types_are_inferred() -> None:
    check(
        a_py=C
        + """
def make(): return C()  # -> C
def choose(x):
    if x:
        result = C()  # -> C
        return result
    return None
def through(): return make()  # -> make
make().m()  # -> make, C.m
choose(1).m()  # -> choose, C.m
through().m()  # -> through, C.m
async def later(): return C()  # -> C
async def use():
    (await later()).m()  # -> later, C.m
def items():
    yield C()  # -> C
for item in items():  # -> item, items
    item.m()  # -> item, C.m
def chained(): return C  # -> C
chained()().m()  # -> chained, C.m
"""
    )


def test_containers_have_element_types() -> None:
    check(
        a_py="from collections import defaultdict, deque\nimport itertools\nfrom typing import Iterator, Mapping\n"
        + C
        + """
xs = [C()]  # -> C, xs
xs[0].m()  # -> xs, C.m
for x in xs: x.m()  # -> x, xs, C.m
for i, x in enumerate(xs): x.m()  # -> i, x, xs, C.m
for a, b in zip(xs, xs): b.m()  # -> a, b, xs, C.m
for x in reversed(sorted(xs)): x.m()  # -> x, xs, C.m
for x in list(map(lambda v: C(), [1])): x.m()  # -> C, x, C.m
for x in filter(None, xs): x.m()  # -> x, xs, C.m
next(iter(xs)).m()  # -> xs, C.m
max(xs, key=len).m()  # -> xs, C.m
xs.pop().m()  # -> xs, C.m
ds = {"a": C()}  # -> C, ds
ds["a"].m()  # -> ds, C.m
ds.get("b").m()  # -> ds, C.m
for v in ds.values(): v.m()  # -> ds, v, C.m
for k, v in ds.items(): v.m()  # -> ds, k, v, C.m
def f(it: Iterator[C], mp: Mapping[str, C], tp: tuple[int, C]):  # -> C
    for x in it: x.m()  # -> C.m
    mp["x"].m()  # -> C.m
    n, c = tp
    c.m()  # -> C.m
    first, *rest = xs  # -> xs
    rest[0].m()  # -> C.m
dd = defaultdict(C)  # -> C, dd
dd[1].m()  # -> dd, C.m
for x in deque(xs): x.m()  # -> x, xs, C.m
for x in itertools.chain(xs): x.m()  # -> x, xs, C.m
{C()}.pop().m()  # -> C, C.m
dict(a=C())["a"].m()  # -> C, C.m
(xs + xs)[0].m()  # -> xs # ?-> m
(*xs, C())[0].m()  # -> C, xs, C.m
"""
    )


def test_iteration_calls_and_awaiting_are_resolved_by_special_methods() -> None:
    check(
        a_py=C
        + """
class Bag:
    def __iter__(self):
        yield C()  # -> C
    def __getitem__(self, key) -> C: ...  # -> C
    def __call__(self): return C()  # -> C
    def __len__(self): return 0
class Cursor:
    def __iter__(self): return self
    def __next__(self): return C()  # -> C
class Later:
    async def __aenter__(self): return C()  # -> C
    def __aiter__(self): return self
    def __anext__(self): return C()  # -> C
    def __await__(self):
        yield
        return C()  # -> C
for x in Bag(): x.m()  # -> Bag, x, C.m
for x in Cursor(): x.m()  # -> Cursor, x, C.m
Bag()[0].m()  # -> Bag, C.m
Bag()().m()  # -> Bag, C.m
async def f():
    async with Later() as c: c.m()  # -> Later, C.m
    async for c in Later(): c.m()  # -> Later, C.m
    (await Later()).m()  # -> Later, C.m
"""
    )


def test_properties_and_descriptors_have_the_types_of_their_values() -> None:
    check(
        a_py="import functools\n"
        + C
        + """
class Lazy:
    def __init__(self, f): ...
    def __get__(self, obj, owner=None) -> C: ...  # -> C
class P:
    @property
    def p(self) -> C: ...  # -> C
    @p.setter  # -> P.p, P.p#2
    def p(self, value): ...
    @functools.cached_property
    def q(self): return C()  # -> C
    @Lazy  # -> Lazy
    def r(self): ...
    s = Lazy(1)  # -> Lazy, Lazy.__init__, P.s
P().p.m()  # -> P, P.p#2, P.p, C.m
P().q.m()  # -> P, P.q, C.m
P().r.m()  # -> P, P.r, C.m
P().s.m()  # -> P, P.s, C.m
P().p = 1  # -> P, P.p
class Sub(P):  # -> P
    def __init__(self):
        self.p = C()  # -> C, P.p
"""
    )


def test_a_with_target_has_the_type_returned_by_enter() -> None:
    check(
        a_py="from contextlib import contextmanager, asynccontextmanager\n"
        + C
        + """
class Manager:
    def __enter__(self): return C()  # -> C
    def __exit__(self, *a): ...
@contextmanager
def managed():
    yield C()  # -> C
with Manager() as a, managed() as b:  # -> Manager, a, b, managed
    a.m()  # -> a, C.m
    b.m()  # -> b, C.m
with managed():  # -> managed
    raise ValueError
a.m()  # -> a, C.m
"""
    )


def test_class_checks_narrow_types() -> None:
    check(
        a_py=C
        + D
        + """
def f(x, y: C | D, z):  # -> C, D
    if isinstance(x, C):  # -> C
        x.m()  # -> C.m
    if not isinstance(y, C):  # -> C
        y.m()  # -> D.m
        y.m()  # !-> C.m  # -> D.m
        return
    y.m()  # -> C.m
    y.m()  # !-> D.m  # -> C.m
    if isinstance(x, (C, D)) and x.m():  # -> C, D, C.m, D.m
        pass
    assert isinstance(z, D)  # -> D
    z.m()  # -> D.m
    if isinstance(x.attr, C):  # -> C
        x.attr.m()  # -> C.m
    if issubclass(x, C):  # -> C
        x.m  # -> C.m
    [e.m() for e in x if isinstance(e, C)]  # -> C, C.m
def g(y: C | D):  # -> C, D
    if isinstance(y, C) or y.m():  # -> C, D.m
        pass
    match y:
        case C():  # -> C
            y.m()  # -> C.m
            y.m()  # !-> D.m  # -> C.m
        case D(attr=inner) as whole if inner:  # -> D
            y.m()  # -> D.m
        case [first, *rest] | {"k": first, **rest}:
            first.m()
        case C.other:  # -> C, C.other
            pass
        case name:
            name
"""
    )


def test_assignments_narrow_types_until_control_paths_join() -> None:
    check(
        a_py=C
        + D
        + """
def f(flag):
    x = C()  # -> C
    x.m()  # -> C.m
    if flag:
        x = D()  # -> D
        x.m()  # !-> C.m  # -> D.m
    x.m()  # -> C.m, D.m
    while flag:
        x.m()  # -> C.m, D.m
        x = C()  # -> C
        if flag: break
    try:
        y = C()  # -> C
    except ValueError:
        y = D()  # -> D
    y.m()  # -> C.m, D.m
    x = y = C()  # -> C
    x.m()  # -> C.m
    x.m()  # !-> D.m  # -> C.m
    (z := D()).m()  # -> D, D.m
    z.m()  # -> D.m
    a, (b, c) = C(), (D(), C())  # -> C, D
    b.m()  # -> D.m
    c.m()  # -> C.m
    x += 1
    n = None or C()  # -> C
    n.m()  # -> C.m
    k = C() if flag else D()  # -> C, D
    k.m()  # -> C.m, D.m
"""
    )


def test_a_loop_body_sees_assignments_of_the_previous_iteration() -> None:
    check(
        a_py=C
        + D
        + """\
def f(xs):
    x = C()  # -> C
    for i in xs:
        x.m()  # -> C.m, D.m
        x = D()  # -> D
"""
    )


def test_members_of_unknown_receivers_are_possible_references() -> None:
    check(
        a_py=C
        + """\
def f(x):
    x.m()  # ?-> m
    x.y.m = 1  # ?-> m
    " ".m()  # !-> C.m
"""
    )


def test_an_assigned_name_is_not_a_reference_to_the_import_it_shadows() -> None:
    check(
        lib_py="class C: ...\n",
        a_py="""\
try:
    from lib import C  # -> lib.py:, C
except ImportError:
    C = None  # -> C  # !-> lib.py:C
""",
    )
