"""Types with parameters, and callables that change what a call gives."""

from __future__ import annotations

from tests.domains.graph.marked import check

C = "class C:\n    def m(self): ...\n    def other(self): ...\n"
D = "class D:\n    def m(self): ...\n"


def test_methods_returning_self_keep_the_subclass() -> None:
    check(
        a_py="""
from typing import Self, TypeVar
T = TypeVar("T", bound="A")
class A:
    def one(self): return self
    def two(self) -> Self: ...
    def three(self: T) -> T: ...
    @classmethod
    def new(cls: type[T]) -> T: ...
class B(A):
    def own(self): ...
B().one().own()  # -> B.own
B().two().own()  # -> B.own
B().three().own()  # -> B.own
B.new().own()  # -> B.own
"""
    )


def test_type_variables_are_solved_from_arguments() -> None:
    check(
        a_py="from typing import Callable, Iterable, TypeVar\nimport copy\n"
        + C
        + """
T = TypeVar("T")
def same(x: T) -> T: ...
def make(kind: type[T]) -> T: ...
def first(xs: Iterable[T]) -> T: ...
def keyed(*, x: T) -> list[T]: ...
same(C()).m()  # -> C.m
make(C).m()  # -> C.m
first([C()]).m()  # -> C.m
keyed(x=C())[0].m()  # -> C.m
copy.copy(C()).m()  # -> C.m
def call(f: Callable[[], C]):
    f().m()  # -> C.m
"""
    )


def test_decorated_functions_keep_their_results() -> None:
    check(
        a_py="import functools\n"
        + C
        + """
def decorator(f): return f
class Wrapper:
    def __init__(self, f): ...
    def __call__(self): return C()
@decorator  # -> decorator
def one() -> C: ...
@functools.lru_cache(maxsize=None)
def two() -> C: ...
@Wrapper  # -> Wrapper
def three(): ...
@decorator.sub(decorator)  # -> decorator
@(lambda f: f)
def four(): ...
one().m()  # -> C.m
two().m()  # -> C.m
three().m()  # -> C.m
"""
    )


def test_overloads_are_one_function_with_several_definitions() -> None:
    check(
        lib_py=(
            "from typing import overload\n@overload\ndef f(x: int) -> int: ...\n@overload\n"
            "def f(x: str) -> str: ...\ndef f(x): ...\n"
        ),
        a_py="from lib import f  # -> f\nf(1)  # -> f, f#2, f#3\n",
    )


def test_constructors_are_called_with_their_class() -> None:
    check(
        a_py=(
            "class A:\n    def __init__(self): ...\nclass B(A): ...\nA()  # -> A, A.__init__\n"
            "B()  # -> B\nB()  # !-> A.__init__\n"
        )
    )


def test_metaclasses_enums_and_nested_classes() -> None:
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
Model.register()  # -> Meta.register
class Color(Enum):
    RED = 1
    def paint(self): ...
for color in Color: color.paint()  # -> Color.paint
type(Model()).register()  # -> Meta.register
Color.RED  # -> Color.RED
"""
    )


def test_generators_receive_what_their_type_declares() -> None:
    check(
        a_py="from typing import Generator\n"
        + C
        + "def g() -> Generator[int, C, None]:\n    got = yield 1\n    got.m()  # -> C.m\n"
    )


def test_weak_references_partials_and_lambdas_give_what_they_hold() -> None:
    check(
        a_py="import functools, weakref\n"
        + C
        + (
            "def make(): return C()\nweakref.ref(C())().m()  # -> C.m\n"
            "functools.partial(make)().m()  # -> C.m\n(lambda: C())().m()  # -> C.m\n"
        )
    )


def test_type_aliases_stand_for_their_types() -> None:
    check(
        a_py="from typing import TypeAlias, Union\n"
        + C
        + D
        + (
            "A: TypeAlias = 'C'\nE = Union[C, D]\ntype N = C  # -> C\ndef f(a: E, n: N):\n"
            "    a.m()  # -> C.m, D.m\n    n.m()  # -> C.m\n"
        )
    )


def test_type_parameters_of_classes_are_solved() -> None:
    check(
        a_py="from typing import Generic, List, TypeVar\n"
        + C
        + D
        + """
T = TypeVar("T")
U = TypeVar("U")
class Box(Generic[T]):
    item: T
    def get(self) -> T: ...
    @property
    def top(self) -> T: ...
    def all(self) -> list[T]: ...
class Stack(List[T]):
    def last(self) -> T: ...
class Pair(Box[T], Generic[T, U]):
    def second(self) -> U: ...
class Chest(Box[C]): ...
class Loop(Loop[T]): ...
def f(box: Box[C], stack: Stack[C], pair: Pair[C, D], chest: Chest, unknown: Box):
    box.get().m()  # -> Box.get, C.m
    box.item.m()  # -> C.m
    box.top.m()  # -> C.m
    box.all()[0].m()  # -> C.m
    stack.last().m()  # -> C.m
    pair.get().m()  # -> C.m
    pair.get().m()  # !-> D.m
    pair.second().m()  # -> D.m
    chest.get().m()  # -> C.m
    unknown.get().m()  # !-> C.m
"""
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
A()  # -> A.__new__
B(1)  # -> B
B(1)  # !-> B.__init__
class registered:
    def __init__(self, name): ...
@registered("x")  # -> registered, registered.__init__
def f(): ...
"""
    )
