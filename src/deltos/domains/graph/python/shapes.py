"""What decorators make of a function: a property, a static or class method, a context manager, or another value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.graph.python.entities import ClassInfo, External, FunctionInfo
from deltos.domains.graph.python.nodes import Attribute, Call

if TYPE_CHECKING:
    from deltos.domains.graph.python.evaluate import Evaluator
    from deltos.domains.graph.python.nodes import Expression
    from deltos.domains.graph.python.values import Types

PROPERTIES = frozenset({"builtins.property", "functools.cached_property", "abc.abstractproperty"})
CONTEXT_MANAGERS = frozenset({"contextlib.contextmanager", "contextlib.asynccontextmanager"})


@dataclass(frozen=True, slots=True)
class Shape:
    """`kind` is plain, static, class or property; `wraps`: it became a context manager; `replaced`: by what."""

    kind: str = "plain"
    wraps: bool = False
    replaced: Types | None = None


PLAIN = Shape()
_IMPLICIT = {"__init_subclass__": Shape("class"), "__class_getitem__": Shape("class"), "__new__": Shape("static")}


def undecorated(function: FunctionInfo) -> Shape:
    """What a function is by itself: a few special methods are static or of the class without saying so."""
    return PLAIN if function.owner is None else _IMPLICIT.get(function.name, PLAIN)


def shape_of(function: FunctionInfo, evaluator: Evaluator) -> Shape:
    """Read the decorators from the inside out."""
    shape = undecorated(function)
    for decorator in reversed(function.decorators):
        shape = _decorated(shape, decorator, evaluator)
    return shape


def _decorated(shape: Shape, decorator: Expression, evaluator: Evaluator) -> Shape:
    if type(decorator) is Attribute and decorator.name in ("setter", "getter", "deleter"):
        return Shape("property")
    callee = decorator.function if type(decorator) is Call else decorator
    for value in evaluator.evaluate(callee):
        if type(value) is External:
            return _outside(shape, value.name)
        if type(value) is ClassInfo:
            return Shape(shape.kind, shape.wraps, (value.instance,))
    return shape


def _outside(shape: Shape, name: str) -> Shape:
    if name in PROPERTIES:
        return Shape("property", shape.wraps)
    if name in CONTEXT_MANAGERS:
        return Shape(shape.kind, wraps=True)
    if name in ("builtins.staticmethod", "abc.abstractstaticmethod"):
        return Shape("static", shape.wraps)
    if name in ("builtins.classmethod", "abc.abstractclassmethod"):
        return Shape("class", shape.wraps)
    return shape
