"""Lazy inference over all interfaces: what names, members and calls may be. Every answer depends on nothing but facts.

Inference recurses on demand with a limited depth ("fuel") and remembers each answer together with the depth it needed
and the files it read. An answer that ran out of depth is kept for exactly that depth only. So no answer depends on the
order of questions, and re-resolving one file gives what resolving all of them would.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltos.domains.graph.python.annotations import Annotations
from deltos.domains.graph.python.entities import (
    ClassInfo,
    External,
    FunctionInfo,
    Instance,
    ModuleInfo,
    Namespace,
    Scope,
    VariableInfo,
)  # fmt: skip
from deltos.domains.graph.python.evaluate import Arguments
from deltos.domains.graph.python.generics import contains_variable, solve, substitute
from deltos.domains.graph.python.interface import InterfaceEvaluator
from deltos.domains.graph.python.known import known_method
from deltos.domains.graph.python.nodes import (
    EMPTY_INTERFACE,
    KEYWORDS,
    POSITIONAL,
    VARIADIC,
    Assigned,
    Declared,
    Yield,
    last_name,
)
from deltos.domains.graph.python.shapes import Shape, shape_of, undecorated
from deltos.domains.graph.python.values import (
    UNKNOWN,
    Bound,
    Known,
    KnownMethod,
    Partial,
    SelfType,
    SuperOf,
    Types,
    TypeVariable,
    either,
    union,
)  # fmt: skip

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deltos.domains.graph.python.entities import Entity
    from deltos.domains.graph.python.nodes import Assignment, Expression
    from deltos.domains.graph.python.values import Value

Found = tuple[tuple["Entity", ...], "Types"]
NOTHING: Found = ((), UNKNOWN)


class Inference(Annotations):
    """Answers what entities, members, calls and annotations may be."""

    def types_of(self, entities: Sequence[Entity]) -> Types:
        """What a name may be that refers to the entities."""
        if len(entities) == 1:
            return self.type_of(entities[0])
        return union([self.type_of(entity) for entity in entities])

    def type_of(self, entity: Entity) -> Types:
        """What one entity is as a value."""
        if isinstance(entity, VariableInfo):
            return self.variable(entity)
        if isinstance(entity, FunctionInfo):
            return self.function_value(entity)
        return (entity,)

    def evaluated(self, scope: Scope, node: Expression) -> Types:
        """What an expression of an interface may be."""
        return InterfaceEvaluator(self, scope).evaluate(node)

    def annotated(self, scope: Scope, node: Expression) -> Types:
        """What an annotation in an interface declares."""
        return InterfaceEvaluator(self, scope).annotate(node)

    # --- variables, parameters and functions

    def variable(self, variable: VariableInfo) -> Types:
        """What a variable may be: as declared, else the union of all that is assigned to it."""
        return self.recall(("variable", variable), self._variable, variable)

    def _variable(self, variable: VariableInfo) -> Types:
        self.read(variable.module)
        sources = [(variable.scope, binding) for binding in variable.bindings]
        for attribute in variable.assigned:
            function = variable.module.function_of(attribute.method)
            sources.append((function.scope() if function is not None else variable.scope, attribute.binding))
        declared = [(scope, binding.annotation) for scope, binding in sources if type(binding) is Declared]
        if declared:
            types = union([self.annotated(scope, annotation) for scope, annotation in declared])
            if types or last_name(declared[0][1]) not in ("Final", "ClassVar"):
                return types
        return union([self.binding(scope, binding) for scope, binding in sources])

    def binding(self, scope: Scope, binding: Assignment) -> Types:
        """What one assignment gives a name."""
        return InterfaceEvaluator(self, scope).evaluate(binding.value)

    def local(self, function: FunctionInfo, name: str) -> Found | None:
        """A parameter or local name of a function; None when the name is neither."""
        for index, parameter in enumerate(function.parameters):
            if parameter.name == name:
                return (), either(self.parameter(function, index), self._locals(function, name))
        if name not in function.locals:
            return None
        return (), self._locals(function, name)

    def _locals(self, function: FunctionInfo, name: str) -> Types:
        if name not in function.locals:
            return UNKNOWN
        return self.recall(("local", function, name), self._local, function, name)

    def _local(self, function: FunctionInfo, name: str) -> Types:
        self.read(function.module)
        scope = function.scope()
        found: list[Types] = []
        for binding in function.locals[name]:
            if type(binding) is Assigned:
                found.append(self.binding(scope, binding))
            elif type(binding) is Declared:
                found.append(self.annotated(scope, binding.annotation))
            else:
                found.append(self.types_of(self.bound(function.module, binding)))
        return union(found)

    def parameter(self, function: FunctionInfo, index: int) -> Types:
        """What a parameter may be inside its function."""
        return self.recall(("parameter", function, index), self._parameter, function, index)

    def _parameter(self, function: FunctionInfo, index: int) -> Types:
        self.read(function.module)
        formal = function.parameters[index]
        evaluator = InterfaceEvaluator(self, function.outer_scope())
        if formal.annotation is not None:
            types = evaluator.annotate(formal.annotation)
        elif index == 0 and formal.kind == POSITIONAL and self._has_receiver(function):
            return self.receiver(function)
        else:
            types = self._inherited_parameter(function, formal.name) or evaluator.evaluate(formal.default)
        if formal.kind == VARIADIC:
            return (Known("sequence", (types,)),)
        return (Known("dict", (UNKNOWN, types)),) if formal.kind == KEYWORDS else types

    def _has_receiver(self, function: FunctionInfo) -> bool:
        return function.owner is not None and (self.shape(function).kind != "static" or function.name == "__new__")

    def _inherited_parameter(self, function: FunctionInfo, name: str) -> Types:
        """An unannotated parameter takes the annotation of the method that it overrides."""
        if function.owner is None or function.name == "__init__":
            return UNKNOWN
        for entity in self.member_after(function.owner, function.name):
            if not isinstance(entity, FunctionInfo):
                continue
            for parameter in entity.parameters:
                if parameter.name == name and parameter.annotation is not None:
                    return self.annotated(entity.outer_scope(), parameter.annotation)
        return UNKNOWN

    def receiver(self, function: FunctionInfo) -> Types:
        """What `self` or `cls` is inside a method."""
        owner = function.owner
        if owner is None:
            return UNKNOWN
        is_class = self.shape(function).kind == "class" or function.name == "__new__"
        return self.recall(("self", owner, is_class), self._receiver, owner, is_class)

    def _receiver(self, owner: ClassInfo, is_class: bool) -> Types:
        return (SelfType(owner, is_class=is_class),)

    def shape(self, function: FunctionInfo) -> Shape:
        """What decorators make of a function."""
        if not function.decorators:
            return undecorated(function)
        return self.recall(("shape", function), self._shape, function) or undecorated(function)

    def _shape(self, function: FunctionInfo) -> Shape:
        self.read(function.module)
        return shape_of(function, InterfaceEvaluator(self, function.outer_scope()))

    def function_value(self, function: FunctionInfo) -> Types:
        """A function as a value, after its decorators."""
        if not function.decorators:
            return (function,)
        replaced = self.shape(function).replaced
        return (function,) if replaced is None else replaced

    def returned(self, function: FunctionInfo) -> Types:
        """What calling a function gives, type variables and `Self` not yet replaced."""
        return self.recall(("returned", function), self._returned, function)

    def _returned(self, function: FunctionInfo) -> Types:
        self.read(function.module)
        if function.returns is not None:
            types = self.annotated(function.outer_scope(), function.returns)
            types = self._self_annotated(function, types)
            if function.is_async and not function.is_generator and not _is_iterator(types):
                types = (Known("coroutine", (types,)),)
        else:
            types = self._inferred_return(function)
        wraps = self.shape(function).wraps
        if wraps:
            return (Known("context", (_yielded(types),)),)
        return types

    def _inferred_return(self, function: FunctionInfo) -> Types:
        evaluator = InterfaceEvaluator(self, function.scope())
        result = union([evaluator.evaluate(value) for value in function.returned])
        if function.is_generator:
            items = [evaluator.evaluate(value.value) for value in function.yielded if type(value) is Yield]
            return (Known("generator", (union(items), UNKNOWN, result)),)
        return (Known("coroutine", (result,)),) if function.is_async else result

    def _self_annotated(self, function: FunctionInfo, types: Types) -> Types:
        """`def m(self: T) -> T` returns the receiver: the same as `Self`."""
        if function.owner is None or not function.parameters or function.parameters[0].annotation is None:
            return types
        own = self.annotated(function.outer_scope(), function.parameters[0].annotation)
        if len(own) != 1:
            return types
        if type(own[0]) is Known and own[0].name == "class":
            own = own[0].arguments[0]
        if len(own) != 1 or type(own[0]) is not TypeVariable:
            return types
        return substitute(types, {own[0]: (SelfType(function.owner, is_class=False),)})

    # --- attributes

    def attribute(self, value: Value, name: str) -> Found:
        """The attribute of a value: the definitions it refers to and what it may be."""
        kind = type(value)
        if kind is Known:
            return (), (KnownMethod(value, name),)  # type: ignore[arg-type]
        if kind is TypeVariable:
            return self._attribute_of_all(self.bound_of(value), name)  # type: ignore[arg-type]
        entities = self.attribute_entities(value, name)
        return (entities, self._seen_through(value, entities)) if entities else NOTHING

    def attribute_entities(self, value: Value, name: str) -> tuple[Entity, ...]:
        """The definitions that an attribute of a value refers to."""
        find = _FINDERS.get(type(value))
        return () if find is None else find(self, value, name)

    def _seen_through(self, value: Value, entities: tuple[Entity, ...]) -> Types:
        """What a member may be when it is read from a value."""
        kind = type(value)
        if kind in (ModuleInfo, External, Namespace):
            return self.types_of(entities)
        of_class = kind is ClassInfo or (kind is SelfType and value.is_class)  # type: ignore[union-attr]
        if kind is SuperOf:
            value = value.receiver  # type: ignore[union-attr]
            of_class = type(value) is ClassInfo or (type(value) is SelfType and value.is_class)
        shown = _preferred(entities)
        if len(shown) == 1:
            types = self._bound(shown[0], value, of_class=of_class)
        else:
            types = union([self._bound(entity, value, of_class=of_class) for entity in shown])
        return self._specialised(value, types)

    def _specialised(self, value: Value, types: Types) -> Types:
        """Replace the type parameters of a generic class by what they are for this value."""
        info = (
            value.info if isinstance(value, (Instance, SelfType)) else value if isinstance(value, ClassInfo) else None
        )
        if info is None or not contains_variable(types):
            return types
        return substitute(types, self.solution_of(info, value.arguments if isinstance(value, Instance) else ()))

    def _attribute_of_all(self, types: Types, name: str) -> Found:
        found = [self.attribute(value, name) for value in types]
        return tuple([entity for entities, _ in found for entity in entities]), union([part for _, part in found])

    def of_class(self, info: ClassInfo, name: str) -> tuple[Entity, ...]:
        """A member of a class object: its own, a base's, or its metaclass's."""
        entities = self.member(info, name)
        for meta in () if entities else self.metaclasses(info):
            entities = entities or self.member(meta, name)
        return entities

    def _bound(self, entity: Entity, receiver: Value, *, of_class: bool = False) -> Types:
        """A member as seen through an object or a class."""
        if type(entity) is FunctionInfo:
            return self._bound_function(entity, receiver, of_class=of_class)
        types = self.type_of(entity)
        if type(entity) is VariableInfo:
            types = self._described(entity, types, of_class=of_class)
        return self.for_receiver(types, receiver)

    def _bound_function(self, function: FunctionInfo, receiver: Value, *, of_class: bool) -> Types:
        shape = self.shape(function)
        if shape.replaced is not None:
            return self.for_receiver(union([self._got(value) for value in shape.replaced]), receiver)
        match shape.kind:
            case "property":
                return UNKNOWN if of_class else self.for_receiver(self.returned(function), receiver)
            case "static":
                return (function,)
            case "class":
                return (Bound(function, _class_side(receiver)),)
            case _:
                return (function,) if of_class else (Bound(function, receiver),)

    def _described(self, variable: VariableInfo, types: Types, *, of_class: bool) -> Types:
        """What reading a class variable gives where its value is a descriptor."""
        if not variable.bindings or variable.owner is None:
            return types
        return union([self._got(value) for value in types]) if not of_class else types

    def _got(self, value: Value) -> Types:
        if type(value) is Instance and self.member(value.info, "__get__"):
            return self.call_method(value, "__get__")
        return (value,)

    def for_receiver(self, types: Types, receiver: Value) -> Types:
        """Replace `Self` by the receiver."""
        return substitute(types, {}, receiver) if contains_variable(types) else types

    # --- calls

    def call(self, value: Value, arguments: Arguments) -> Types:
        """What calling a value may give."""
        kind = type(value)
        if kind is Bound:
            return self._call_function(value.function, value.receiver, arguments)  # type: ignore[union-attr]
        if kind is ClassInfo:
            return (value.instance,)  # type: ignore[union-attr]
        if kind is FunctionInfo:
            return self._call_function(value, None, arguments)  # type: ignore[arg-type]
        return self._call_other(value, arguments)

    def _call_other(self, value: Value, arguments: Arguments) -> Types:
        match value:
            case SelfType(is_class=True):
                return (SelfType(value.info, is_class=False),)
            case Instance() | SelfType():
                return self.call_method(value, "__call__", arguments)
            case KnownMethod():
                return known_method(value, arguments)
            case Known(name="class"):
                return value.arguments[0]
            case Partial():
                return value.result
            case _:
                return UNKNOWN

    def call_all(self, types: Types, arguments: Arguments) -> Types:
        """What calling any of the values may give."""
        return union([self.call(value, arguments) for value in types])

    def call_method(self, value: Value, name: str, arguments: Arguments | None = None) -> Types:
        """What calling a method of a value gives."""
        _, types = self.attribute(value, name)
        given = arguments or Arguments(InterfaceEvaluator(self, Scope(_nowhere())), (), ())
        return self.call_all(types, given)

    def _call_function(self, function: FunctionInfo, receiver: Value | None, arguments: Arguments) -> Types:
        types = self.returned(function)
        if contains_variable(types):
            solved = solve(function, receiver, arguments, self.parameter)
            types = substitute(types, solved)
            if receiver is not None:
                types = self._specialised(receiver, types)
        return types if receiver is None else self.for_receiver(types, receiver)

    def enum_members(self, info: ClassInfo) -> Types:
        """What iterating over a class gives: its members where it is an enumeration."""
        return (info.instance,) if self.is_enum(info) else UNKNOWN


# How to find an attribute, by what it is looked up on; a table, because this is asked more often than anything else.
_FINDERS: dict[type, Callable[[Inference, Any, str], tuple[Entity, ...]]] = {
    Instance: lambda inference, value, name: inference.member(value.info, name),
    SelfType: lambda inference, value, name: (inference.of_class if value.is_class else inference.member)(
        value.info, name
    ),
    ClassInfo: lambda inference, value, name: inference.of_class(value, name),
    ModuleInfo: lambda inference, value, name: inference.name_in(value, name, imported=True),
    SuperOf: lambda inference, value, name: inference.member_after(value.info, name),
    External: lambda _inference, value, name: (External(f"{value.name}.{name}"),),
    Namespace: lambda inference, value, name: inference.module_entities(f"{value.folder}/{name}"),
    TypeVariable: lambda inference, value, name: inference.attribute(value, name)[0],
}


def _nowhere() -> ModuleInfo:
    return ModuleInfo("", "", 0, EMPTY_INTERFACE)


def _preferred(entities: tuple[Entity, ...]) -> tuple[Entity, ...]:
    """Of several functions of one name the first: the getter of a property, an overload that says most."""
    if len(entities) > 1 and all(type(entity) is FunctionInfo for entity in entities):
        return entities[:1]
    return entities


def _class_side(receiver: Value) -> Value:
    match receiver:
        case Instance():
            return receiver.info
        case SelfType():
            return SelfType(receiver.info, is_class=True)
        case _:
            return receiver


def _is_iterator(types: Types) -> bool:
    return any(type(value) is Known and value.name in ("iterator", "generator") for value in types)


def _yielded(types: Types) -> Types:
    return union(
        [value.arguments[0] for value in types if type(value) is Known and value.name in ("generator", "iterator")]
    )
