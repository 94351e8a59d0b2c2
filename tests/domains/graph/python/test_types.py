"""Methods found through the types of their receivers."""

from __future__ import annotations

from tests.domains.graph.marked import check

C = "class C:\n    def m(self): ...\n    def other(self): ...\n"
D = "class D:\n    def m(self): ...\n"


def test_methods_through_self_cls_and_super() -> None:
    check(
        a_py="""
class A:
    def m(self): ...
    @classmethod
    def make(cls): return cls()
    @staticmethod
    def s(): ...
class B(A):
    def m(self):
        super().m()  # -> A.m
        super(B, self).m()  # -> A.m
        self.n()  # -> B.n
        self.s()  # -> A.s
    def n(self):
        self.m()  # -> B.m
    @classmethod
    def build(cls):
        cls.make().n()  # -> A.make, B.n
        super().make()  # -> A.make
B.make().n()  # -> A.make, B.n
"""
    )


def test_members_follow_the_method_resolution_order() -> None:
    check(
        a_py="""
class Base:
    def m(self): ...
class Left(Base): ...
class Right(Base):
    def m(self): ...
class Both(Left, Right):
    def go(self):
        self.m()  # -> Right.m
Both().m()  # -> Right.m
"""
    )


def test_contradicting_and_circular_bases_are_survived() -> None:
    check(
        a_py="""
class A(B): ...
class B(A):
    def m(self): ...
A().m()  # -> B.m
class X: ...
class Y(X): ...
class Z(X, Y):
    def z(self): ...
Z().z()  # -> Z.z
class Self(Self):
    def s(self): ...
Self().s()  # -> Self.s
"""
    )


def test_attributes_take_the_type_that_was_assigned() -> None:
    check(
        a_py=C
        + """
class Holder:
    kept = C()
    def __init__(self, given: C, other=None):
        self.made = C()
        self.given = given
        self.maybe = None
        self.local = local = C()
        if other:
            self.maybe = C()
    def go(self):
        self.made.m()  # -> C.m
        self.given.m()  # -> C.m
        self.maybe.m()  # -> C.m
        self.local.m()  # -> C.m
        self.kept.m()  # -> C.m
Holder(C()).made.m()  # -> C.m
Holder.kept.m()  # -> C.m
"""
    )


def test_annotations_of_parameters_variables_and_returns() -> None:
    check(
        a_py=(
            "from __future__ import annotations\nimport typing as t\n"
            "from typing import Optional, Union, Annotated, Final, ClassVar\n"
        )
        + C
        + D
        + """
def f(a: C, b: Optional[C], c: "C", d: Union[C, D], e: C | None, *args: C, **kw: D) -> C:
    a.m()  # -> C.m
    b.m()  # -> C.m
    c.m()  # -> C.m
    d.m()  # -> C.m, D.m
    e.m()  # -> C.m
    args[0].m()  # -> C.m
    kw["x"].m()  # -> D.m
    for x in args: x.m()  # -> C.m
    y: t.Optional[C] = load()
    y.m()  # -> C.m
f().m()  # -> C.m
class K:
    field: Annotated[C, 1]
    fixed: Final[C]
    shared: ClassVar[C]
K().field.m()  # -> C.m
K().fixed.m()  # -> C.m
K().shared.m()  # -> C.m
"""
    )


def test_string_annotations_are_references() -> None:
    check(
        a_py="from typing import cast, TypeVar, Union, List\n"
        + C
        + """
def f(x: "C") -> "list[C]": ...  # -> C
N = Union["C", str]  # -> C
T = TypeVar("T", bound="C")  # -> C
cast("C", x).m()  # -> C, C.m
def g(n: N, t: T, l: List["C"], d: dict["key", int]):  # -> N, T, C
    n.m()  # -> C.m
    t.m()  # -> C.m
    l[0].m()  # -> C.m
"""
    )


def test_returns_are_inferred() -> None:
    check(
        a_py=C
        + """
def make(): return C()
def choose(x):
    if x:
        result = C()
        return result
    return None
def through(): return make()
make().m()  # -> C.m
choose(1).m()  # -> C.m
through().m()  # -> C.m
async def later(): return C()
async def use():
    (await later()).m()  # -> C.m
def items():
    yield C()
for item in items():
    item.m()  # -> C.m
def chained(): return C
chained()().m()  # -> C.m
"""
    )


def test_containers_carry_their_elements() -> None:
    check(
        a_py="from collections import defaultdict, deque\nimport itertools\nfrom typing import Iterator, Mapping\n"
        + C
        + """
xs = [C()]
xs[0].m()  # -> C.m
for x in xs: x.m()  # -> C.m
for i, x in enumerate(xs): x.m()  # -> C.m
for a, b in zip(xs, xs): b.m()  # -> C.m
for x in reversed(sorted(xs)): x.m()  # -> C.m
for x in list(map(lambda v: C(), [1])): x.m()  # -> C.m
for x in filter(None, xs): x.m()  # -> C.m
next(iter(xs)).m()  # -> C.m
max(xs, key=len).m()  # -> C.m
xs.pop().m()  # -> C.m
ds = {"a": C()}
ds["a"].m()  # -> C.m
ds.get("b").m()  # -> C.m
for v in ds.values(): v.m()  # -> C.m
for k, v in ds.items(): v.m()  # -> C.m
def f(it: Iterator[C], mp: Mapping[str, C], tp: tuple[int, C]):
    for x in it: x.m()  # -> C.m
    mp["x"].m()  # -> C.m
    n, c = tp
    c.m()  # -> C.m
    first, *rest = xs
    rest[0].m()  # -> C.m
dd = defaultdict(C)
dd[1].m()  # -> C.m
for x in deque(xs): x.m()  # -> C.m
for x in itertools.chain(xs): x.m()  # -> C.m
{C()}.pop().m()  # -> C.m
dict(a=C())["a"].m()  # -> C.m
(xs + xs)[0].m()  # -> C.m
(*xs, C())[0].m()  # -> C.m
"""
    )


def test_own_containers_are_asked_for_their_elements() -> None:
    check(
        a_py=C
        + """
class Bag:
    def __iter__(self):
        yield C()
    def __getitem__(self, key) -> C: ...
    def __call__(self): return C()
    def __add__(self, other): return C()
    def __radd__(self, other): return C()
    def __iadd__(self, other) -> "Bag": ...
    def __len__(self): return 0
class Cursor:
    def __iter__(self): return self
    def __next__(self): return C()
class Later:
    async def __aenter__(self): return C()
    def __aiter__(self): return self
    def __anext__(self): return C()
    def __await__(self):
        yield
        return C()
for x in Bag(): x.m()  # -> C.m
for x in Cursor(): x.m()  # -> C.m
Bag()[0].m()  # -> C.m
Bag()().m()  # -> C.m
(Bag() + 1).m()  # -> C.m
(1 + Bag()).m()  # -> C.m
async def f():
    async with Later() as c: c.m()  # -> C.m
    async for c in Later(): c.m()  # -> C.m
    (await Later()).m()  # -> C.m
"""
    )


def test_properties_and_descriptors() -> None:
    check(
        a_py="import functools\n"
        + C
        + """
class Lazy:
    def __init__(self, f): ...
    def __get__(self, obj, owner=None) -> C: ...
class P:
    @property
    def p(self) -> C: ...
    @p.setter
    def p(self, value): ...
    @functools.cached_property
    def q(self): return C()
    @Lazy
    def r(self): ...
    s = Lazy(1)
P().p.m()  # -> P.p, C.m
P().q.m()  # -> P.q, C.m
P().r.m()  # -> P.r, C.m
P().s.m()  # -> P.s, C.m
P().p = 1  # -> P.p
class Sub(P):
    def __init__(self):
        self.p = C()  # -> P.p
"""
    )


def test_context_managers_bind_what_they_enter() -> None:
    check(
        a_py="from contextlib import contextmanager, asynccontextmanager\n"
        + C
        + """
class Manager:
    def __enter__(self): return C()
    def __exit__(self, *a): ...
@contextmanager
def managed():
    yield C()
with Manager() as a, managed() as b:
    a.m()  # -> C.m
    b.m()  # -> C.m
with managed():
    raise ValueError
a.m()  # -> C.m
"""
    )


def test_tests_narrow_what_a_name_may_be() -> None:
    check(
        a_py=C
        + D
        + """
def f(x, y: C | D, z):
    if isinstance(x, C):
        x.m()  # -> C.m
    if not isinstance(y, C):
        y.m()  # -> D.m
        y.m()  # !-> C.m
        return
    y.m()  # -> C.m
    y.m()  # !-> D.m
    if isinstance(x, (C, D)) and x.m():  # -> C.m, D.m
        pass
    assert isinstance(z, D)
    z.m()  # -> D.m
    if isinstance(x.attr, C):
        x.attr.m()  # -> C.m
    if issubclass(x, C):
        x.m  # -> C.m
    [e.m() for e in x if isinstance(e, C)]  # -> C.m
def g(y: C | D):
    if isinstance(y, C) or y.m():  # -> D.m
        pass
    match y:
        case C():
            y.m()  # -> C.m
            y.m()  # !-> D.m
        case D(attr=inner) as whole if inner:
            y.m()  # -> D.m
        case [first, *rest] | {"k": first, **rest}:
            first.m()
        case C.other:  # -> C.other
            pass
        case name:
            name
"""
    )


def test_assignments_narrow_until_paths_meet() -> None:
    check(
        a_py=C
        + D
        + """
def f(flag):
    x = C()
    x.m()  # -> C.m
    if flag:
        x = D()
        x.m()  # !-> C.m
    x.m()  # -> C.m, D.m
    while flag:
        x.m()  # -> C.m, D.m
        x = C()
        if flag: break
    try:
        y = C()
    except ValueError:
        y = D()
    y.m()  # -> C.m, D.m
    x = y = C()
    x.m()  # -> C.m
    x.m()  # !-> D.m
    (z := D()).m()  # -> D.m
    z.m()  # -> D.m
    a, (b, c) = C(), (D(), C())
    b.m()  # -> D.m
    c.m()  # -> C.m
    x += 1
    n = None or C()
    n.m()  # -> C.m
    k = C() if flag else D()
    k.m()  # -> C.m, D.m
"""
    )


def test_loops_see_what_their_end_assigns() -> None:
    check(a_py=C + D + "def f(xs):\n    x = C()\n    for i in xs:\n        x.m()  # -> C.m, D.m\n        x = D()\n")


def test_unannotated_parameters_inherit_from_the_overridden_method() -> None:
    check(
        a_py=C
        + (
            "class A:\n    def go(self, c: C): ...\nclass B(A):\n    def go(self, c):\n"
            "        c.m()  # -> C.m\n    def new(self, c=C()):\n        c.m()  # -> C.m\n"
        )
    )


def test_unknown_receivers_are_possible_by_name() -> None:
    check(a_py=C + 'def f(x):\n    x.m()  # ?-> m\n    x.y.m = 1  # ?-> m\n    " ".m()  # !-> C.m\n')


def test_an_assigned_name_is_not_the_import_it_hides() -> None:
    check(
        lib_py="class C: ...\n",
        a_py="try:\n    from lib import C  # -> C\nexcept ImportError:\n    C = None  # !-> lib.py:C\n",
    )
