"""Types inferred across files through returns, attributes and locals."""

from __future__ import annotations

from tests.domains.graph.marked import check

LIB = """
from contextlib import contextmanager
from typing import Callable, Generator, Iterator, NewType, TypeVar, overload
import asyncio, functools

class C:
    def m(self): ...
    def __enter__(self): return self
    def __neg__(self): return self

class E(Exception):
    def m(self): ...

T = TypeVar("T", C, E)

def listed(): return [C() for _ in range(3)]
def mapped(): return {str(c): c for c in listed()}
def tupled(): return 1, C()
def unpacked():
    n, c = tupled()
    return c
def rested():
    first, *rest = listed()
    return rest
def looped():
    for c in listed():
        return c
def entered():
    with C() as c:
        return c
def caught():
    try:
        pass
    except (E, ValueError) as error:
        return error
def walrused():
    if (c := C()):
        return c
def either(): return None or C()
def both(): return True and C()
def chosen(x): return C() if x else None
def indexed(): return listed()[0]
def sliced(): return listed()[1:2]
def declared():
    c: C = load()
    return c
def imported():
    from other import D
    return D()
def nested():
    def inner(): return C()
    return inner()
def outer():
    c = C()
    def inner(): return c
    return inner
def lambdas():
    return lambda: C()
def delegated():
    result = yield from generated()
    return result
def generated() -> Generator[int, None, C]: ...
def collected():
    found = set()
    return {C()} | found
def numbered(): return dict(enumerate(listed()))
def recursive(n): return [recursive(n - 1)] if n else [C()]
def endless(): return endless()
def ping(): return pong()
def pong(): return ping() or C()
async def gathered(): return await asyncio.wait_for(later(), 1)
async def later(): return C()
def constrained(x: T) -> T: return x
def starred(*args, **kwargs): return args
def noted(x, y=1): return not x, f"{y}", -C()
class Holder:
    shared: C
    def __init__(self, made):
        self.pair, self.single = (C(), C()), made
        for self.each in listed(): pass
        with C() as self.held: pass
    def super_made(self): return super().base_made()
    @property
    def fluent(self): return self
    @classmethod
    def named(cls, x): return cls(x)
    @staticmethod
    def loose(): return C()
"""

USES = """
import lib  # -> lib.py:
from lib import *  # -> lib.py:
lib.listed()[0].m()  # -> lib.py:, listed, C.m
lib.mapped()["a"].m()  # -> lib.py:, mapped, C.m
lib.unpacked().m()  # -> lib.py:, unpacked, C.m
lib.rested()[0].m()  # -> lib.py:, rested, C.m
lib.looped().m()  # -> lib.py:, looped, C.m
lib.entered().m()  # -> lib.py:, entered, C.m
lib.caught().m()  # -> lib.py:, caught, E.m
lib.walrused().m()  # -> lib.py:, walrused, C.m
lib.either().m()  # -> lib.py:, either, C.m
lib.both().m()  # -> lib.py:, both, C.m
lib.chosen(1).m()  # -> lib.py:, chosen, C.m
lib.indexed().m()  # -> lib.py:, indexed, C.m
lib.sliced()[0].m()  # -> lib.py:, sliced, C.m
lib.declared().m()  # -> lib.py:, declared, C.m
lib.imported().d()  # -> lib.py:, imported, other.py:D.d
lib.nested().m()  # -> lib.py:, nested, C.m
lib.outer()().m()  # -> lib.py:, outer, C.m
lib.lambdas()().m()  # -> lib.py:, lambdas, C.m
for c in lib.collected(): c.m()  # -> c, lib.py:, collected # ?-> m
lib.pong().m()  # -> lib.py:, pong, C.m
lib.recursive(2)[0].m()  # -> lib.py:, recursive, C.m
lib.endless().m()  # ?-> m  # -> lib.py:, endless
lib.constrained(C()).m()  # -> lib.py:, C, constrained, C.m, lib.py:E.m
Holder(1).single.m()  # -> Holder, Holder.__init__, Holder.single
Holder(1).pair[0].m()  # -> Holder, Holder.__init__, Holder.pair, C.m
Holder(1).each.m()  # -> Holder, Holder.__init__, Holder.each, C.m
Holder(1).held.m()  # -> Holder, Holder.__init__, Holder.held, C.m
Holder(1).shared.m()  # -> Holder, Holder.__init__, Holder.shared, C.m
Holder(1).fluent.fluent.held.m()  # -> Holder, Holder.__init__, Holder.held, Holder.fluent, C.m
Holder.named(2).held.m()  # -> Holder, Holder.held, Holder.named, C.m
Holder.loose().m()  # -> Holder, Holder.loose, C.m
async def use():
    (await lib.gathered()).m()  # -> lib.py:, gathered, C.m
    (await lib.later()).m()  # -> lib.py:, later, C.m
lib.starred()  # -> lib.py:, starred
lib.noted(1)  # -> lib.py:, noted
lib.numbered()  # -> lib.py:, numbered
lib.missing.m()  # ?-> m  # -> lib.py:
"""


def test_types_are_inferred_through_every_kind_of_expression() -> None:
    check(lib_py=LIB, other_py="class D:\n    def d(self): ...\n", a_py=USES)


def test_types_are_inferred_through_decorators_and_generics() -> None:
    check(
        lib_py="""
from typing import Callable, Generic, Iterable, Optional, TypeVar, ParamSpec
import functools, contextlib
P = ParamSpec("P")
R = TypeVar("R")
class C:
    def m(self): ...
def logged(f: Callable[P, R]) -> Callable[P, R]: ...
@logged
def make() -> C: ...
class Box(Generic[R]):
    def get(self) -> R: ...
class Machine:
    def __init__(self, parts: Iterable["C"]):
        self.parts = [part for part in parts]
        self.by_name = {str(part): part for part in parts}
    @contextlib.contextmanager
    def running(self):
        yield self
    def first(self) -> Optional[C]:
        return next(iter(self.parts), None)
    @functools.wraps(make)
    def wrapped(self) -> C: ...
""",
        a_py="""
from lib import make, Machine, C  # -> lib.py:, C, Machine, make
make().m()  # -> make, C.m
machine = Machine([])  # -> machine, Machine, Machine.__init__
with machine.running() as same:  # -> machine, same, Machine.running
    same.first().m()  # -> same, Machine.first, C.m
for part in machine.parts: part.m()  # -> machine, part, Machine.parts, C.m
machine.by_name.get("x").m()  # -> machine, Machine.by_name, C.m
machine.wrapped().m()  # -> machine, Machine.wrapped, C.m
type(machine).first  # -> machine, Machine.first
""",
    )


def test_subclasses_inherit_attribute_types() -> None:
    check(
        base_py=(
            "class C:\n    def m(self): ...\nclass Base:\n    c: C\n    def __init__(self):\n        self.made = C()\n"
        ),
        a_py=(
            """\
from base import Base  # -> base.py:, Base
class Sub(Base):  # -> Base
    def go(self):
        self.c.m()  # -> Base.c, C.m
        self.made.m()  # -> Base.made, C.m
"""
        ),
    )


def test_long_call_chains_are_followed() -> None:
    chain = "".join(f"def f{n}(): return f{n + 1}()  # -> f{n + 1}\n" for n in range(6))
    check(a_py=f"class C:\n    def m(self): ...\n{chain}def f6(): return C()  # -> C\nf0().m()  # -> f0, C.m\n")


def test_a_method_of_two_possible_receivers_refers_to_both() -> None:
    check(
        a_py=(
            """\
class A:
    def m(self): ...
class B:
    def m(self): ...
def pick(x): return A() if x else B()  # -> A, B
pick(1).m()  # -> pick, A.m, B.m
"""
        )
    )
