"""Generic types, and callables that affect the result type of a call."""

from __future__ import annotations

from tests.domains.graph.marked import check

C = "class C:\n    def m(self): ...\n    def other(self): ...\n"
D = "class D:\n    def m(self): ...\n"


def test_methods_returning_self_keep_the_subclass() -> None:
    check(
        a_py="""
from typing import Self, TypeVar
T = TypeVar("T", bound="A")  # -> A, T
class A:
    def one(self): return self
    def two(self) -> Self: ...
    def three(self: T) -> T: ...  # -> T
    @classmethod
    def new(cls: type[T]) -> T: ...  # -> T
class B(A):  # -> A
    def own(self): ...
B().one().own()  # -> A.one, B, B.own
B().two().own()  # -> A.two, B, B.own
B().three().one()  # -> A.three, B, A.one
B.new().one()  # -> A.new, B, A.one
"""
    )


def test_decorated_functions_keep_their_return_types() -> None:
    check(
        a_py="import functools\n"
        + C
        + """
def decorator(f): return f
class Wrapper:
    def __init__(self, f): ...
    def __call__(self): return C()  # -> C
@decorator  # -> decorator
def one() -> C: ...  # -> C
@functools.lru_cache(maxsize=None)
def two() -> C: ...  # -> C
@Wrapper  # -> Wrapper
def three(): ...
@decorator.sub(decorator)  # -> decorator
@(lambda f: f)
def four(): ...
one().m()  # -> one, C.m
two().m()  # -> two, C.m
three().m()  # -> three, C.m
"""
    )


def test_overloads_are_one_function_with_several_definitions() -> None:
    check(
        lib_py=(
            """\
from typing import overload
@overload
def f(x: int) -> int: ...
@overload
def f(x: str) -> str: ...
def f(x): ...
"""
        ),
        a_py="""\
from lib import f  # -> lib.py:, f
f(1)  # -> f, f#2, f#3
""",
    )


def test_a_call_of_a_class_refers_to_its_own_constructor() -> None:
    check(
        a_py=(
            """\
class A:
    def __init__(self): ...
class B(A): ...  # -> A
A()  # -> A, A.__init__
B()  # -> B
B()  # -> B  # !-> A.__init__
"""
        )
    )


def test_members_of_enums_and_nested_classes_are_resolved() -> None:
    check(
        a_py="""
from enum import Enum
class Meta(type):
    def register(cls): ...
class Model(metaclass=Meta):  # -> Meta
    class Inner:
        def m(self): ...
    def go(self):
        self.Inner().m()  # -> Model.Inner, Model.Inner.m
Model.register()  # -> Model # ?-> register
class Color(Enum):
    RED = 1  # -> Color.RED
    def paint(self): ...
for color in Color: color.paint()  # -> Color, color, Color.paint
type(Model()).register()  # -> Model # ?-> register
Color.RED  # -> Color, Color.RED
"""
    )


def test_a_yield_expression_has_the_declared_send_type() -> None:
    check(
        a_py="from typing import Generator\n"
        + C
        + """\
def g() -> Generator[int, C, None]:  # -> C
    got = yield 1
    got.m()  # -> C.m
"""
    )


def test_weak_references_partials_and_lambdas_return_their_contents() -> None:
    check(
        a_py="import functools, weakref\n"
        + C
        + (
            """\
def make(): return C()  # -> C
weakref.ref(C())().m()  # -> C, C.m
functools.partial(make)().m()  # -> make, C.m
(lambda: C())().m()  # -> C, C.m
"""
        )
    )


def test_type_aliases_are_resolved_to_their_types() -> None:
    check(
        a_py="from typing import TypeAlias, Union\n"
        + C
        + D
        + (
            """\
A: TypeAlias = 'C'  # -> A
E = Union[C, D]  # -> C, D, E
type N = C  # -> N, C
def f(a: E, n: N):  # -> E, N
    a.m()  # -> C.m, D.m
    n.m()  # -> C.m
"""
        )
    )


def test_overloaded_constructors_are_not_guessed() -> None:
    check(
        a_py="""
from typing import overload
class A:
    def __new__(cls): ...
class B:
    @overload
    def __init__(self, x: int): ...
    @overload
    def __init__(self, x: str): ...
    def __init__(self, x): ...
A()  # -> A, A.__new__
B(1)  # -> B
B(1)  # !-> B.__init__  # -> B
class registered:
    def __init__(self, name): ...
@registered("x")  # -> registered, registered.__init__
def f(): ...
"""
    )
