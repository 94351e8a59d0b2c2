"""Infer the types of names, members, annotations and calls on demand.

`memo` caches each result together with the files and names on which the result depends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.graph.kernel.memo import DepthMemo, memoized
from deltos.domains.graph.python import nodes
from deltos.domains.graph.python.builtins import builtin_generic, call_builtin_method, element_types
from deltos.domains.graph.python.entities import (
    ClassInfo,
    External,
    FunctionInfo,
    Instance,
    InterfaceScope,
    ModuleInfo,
    NamespaceFolder,
    VariableInfo,
)  # fmt: skip
from deltos.domains.graph.python.evaluate import (
    CallArguments,
    Evaluator,
    InterfacePosition,
    instances_of,
)
from deltos.domains.graph.python.fixtures import takes_fixtures, visible_fixtures
from deltos.domains.graph.python.names import Names
from deltos.domains.graph.python.nodes import Assigned, DeclaredName, Subscript, last_name
from deltos.domains.graph.python.types import (
    UNKNOWN,
    BoundMethod,
    BuiltinMethod,
    BuiltinObject,
    CallableReturning,
    SelfType,
    SuperOf,
    Types,
    replace_self,
    union,
    union_of_two,
)  # fmt: skip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.domains.graph.kernel.resolver import ProjectFacts
    from deltos.domains.graph.python.entities import Entity
    from deltos.domains.graph.python.nodes import Expression
    from deltos.domains.graph.python.types import Value

EntitiesAndTypes = tuple[tuple["Entity", ...], "Types"]
_EMPTY_SCOPE = InterfaceScope(ModuleInfo("", "", 0, nodes.EMPTY_INTERFACE))
_ENUM_BASES = frozenset({"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"})
_ALIAS_NODE_TYPES = frozenset({nodes.Name, nodes.Attribute, Subscript, nodes.OperatorExpression})
_TYPE_VARIABLE_CLASSES = frozenset({"TypeVar", "ParamSpec", "TypeVarTuple"})


class Inference:
    """Inference of the types of entities, members, calls and annotations."""

    def __init__(self, project: ProjectFacts) -> None:
        self.memo = DepthMemo()
        self.names = Names(project, self.memo)

    def _evaluator(self, scope: InterfaceScope) -> Evaluator:
        return Evaluator(self, InterfacePosition(self, scope))

    def types_of(self, entities: Sequence[Entity]) -> Types:
        """Return the types of a name that refers to any of `entities`."""
        if len(entities) == 1:
            return self.type_of(entities[0])
        return union([self.type_of(entity) for entity in entities])

    def type_of(self, entity: Entity) -> Types:
        """Return the types of one entity when it is used as a value."""
        if isinstance(entity, VariableInfo):
            return self.variable_types(entity)
        if isinstance(entity, FunctionInfo):
            return self.function_value(entity)
        return (entity,)

    def evaluate_in_scope(self, scope: InterfaceScope, node: Expression) -> Types:
        """Return the types of a stored expression in its scope."""
        return self._evaluator(scope).evaluate(node)

    def annotated_types(self, scope: InterfaceScope, node: Expression) -> Types:
        """Return the types that a stored annotation declares in its scope."""
        return self._evaluator(scope).annotate(node)

    # --- variables, parameters and functions

    @memoized
    def variable_types(self, variable: VariableInfo) -> Types:
        """Return the declared types of a variable, or the union of all assigned types if none are declared."""
        self.memo.dependencies |= variable.module.bit
        sources = [(variable.scope, binding) for binding in variable.bindings]
        for attribute in variable.assigned:
            function = variable.module.find_function(attribute.method)
            sources.append((function.scope() if function is not None else variable.scope, attribute.binding))
        declared = [(scope, binding.annotation) for scope, binding in sources if type(binding) is DeclaredName]
        if declared:
            types = union([self.annotated_types(scope, annotation) for scope, annotation in declared])
            if types or last_name(declared[0][1]) not in ("Final", "ClassVar"):
                return types
        return union([self.evaluate_in_scope(scope, binding.value) for scope, binding in sources])

    def lookup_local(self, function: FunctionInfo, name: str) -> EntitiesAndTypes | None:
        """Return the definitions and types of a function's parameter or local name, or None if it has no such name."""
        for index, parameter in enumerate(function.parameters):
            if parameter.name == name:
                return (), union_of_two(self.parameter_types(function, index), self._local_types(function, name))
        if name not in function.locals:
            return None
        return (), self._local_types(function, name)

    def _local_types(self, function: FunctionInfo, name: str) -> Types:
        if name not in function.locals:
            return UNKNOWN
        return self._infer_local(function, name)

    @memoized
    def _infer_local(self, function: FunctionInfo, name: str) -> Types:
        self.memo.dependencies |= function.module.bit
        scope = function.scope()
        found: list[Types] = []
        for binding in function.locals[name]:
            if type(binding) is Assigned:
                found.append(self.evaluate_in_scope(scope, binding.value))
            elif type(binding) is DeclaredName:
                found.append(self.annotated_types(scope, binding.annotation))
            else:
                found.append(self.types_of(self.names.bound_entities(function.module, binding)))
        return union(found)

    @memoized
    def parameter_types(self, function: FunctionInfo, index: int) -> Types:
        """Return the types of a parameter inside its function."""
        self.memo.dependencies |= function.module.bit
        formal = function.parameters[index]
        evaluator = self._evaluator(function.outer_scope())
        if formal.annotation is not None:
            types = evaluator.annotate(formal.annotation)
        elif index == 0 and formal.kind == nodes.POSITIONAL and self._has_receiver(function):
            return self.receiver_types(function)
        else:
            types = evaluator.evaluate(formal.default)
            types = types or self._fixture_types(function, formal)
        if formal.kind == nodes.VARIADIC:
            return (BuiltinObject("sequence", (types,)),)
        return (BuiltinObject("dict", (UNKNOWN, types)),) if formal.kind == nodes.KEYWORDS else types

    def _fixture_types(self, function: FunctionInfo, formal: nodes.ParameterNode) -> Types:
        """Return the types of the fixture that has the same name as a parameter of a test or fixture."""
        if formal.default is not None or not takes_fixtures(function.name, function.decorators):
            return UNKNOWN
        found: list[Types] = []
        for fixture in visible_fixtures(self, function.module, function.owner, function.key, formal.name):
            given = self.returned_types(fixture)
            if fixture.is_generator:
                given = element_types(given, self, is_async=fixture.is_async)
            elif fixture.is_async:
                given = union(
                    [value.arguments[0] for value in given if type(value) is BuiltinObject and value.arguments]
                )
            found.append(given)
        return union(found)

    def _has_receiver(self, function: FunctionInfo) -> bool:
        return function.owner is not None and (
            self.function_shape(function).kind != "static" or function.name == "__new__"
        )

    def receiver_types(self, function: FunctionInfo) -> Types:
        """Return the types of `self` or `cls` in a method."""
        owner = function.owner
        if owner is None:
            return UNKNOWN
        is_class = self.function_shape(function).kind == "class" or function.name == "__new__"
        return (SelfType(owner, is_class=is_class),)

    def function_shape(self, function: FunctionInfo) -> FunctionShape:
        """Return how a function's decorators change the function."""
        if not function.decorators:
            return undecorated(function)
        return self._infer_shape(function) or undecorated(function)

    @memoized
    def _infer_shape(self, function: FunctionInfo) -> FunctionShape:
        self.memo.dependencies |= function.module.bit
        shape = undecorated(function)
        evaluator = self._evaluator(function.outer_scope())
        for decorator in reversed(function.decorators):
            shape = _apply_decorator(shape, decorator, evaluator)
        return shape

    def function_value(self, function: FunctionInfo) -> Types:
        """Return the types of a function as a value, after its decorators are applied."""
        if not function.decorators:
            return (function,)
        replacement = self.function_shape(function).replacement
        return (function,) if replacement is None else replacement

    @memoized
    def returned_types(self, function: FunctionInfo) -> Types:
        """Return the types that a function returns, before `Self` is replaced."""
        self.memo.dependencies |= function.module.bit
        if function.returns is not None:
            types = self.annotated_types(function.outer_scope(), function.returns)
            if function.is_async and not function.is_generator and not _is_iterator(types):
                types = (BuiltinObject("coroutine", (types,)),)
        else:
            types = self._infer_return_types(function)
        is_context_manager = self.function_shape(function).is_context_manager
        if is_context_manager:
            return (BuiltinObject("context", (_yielded_types(types),)),)
        return types

    def _infer_return_types(self, function: FunctionInfo) -> Types:
        evaluator = self._evaluator(function.scope())
        result = union([evaluator.evaluate(value) for value in function.returned])
        if function.is_generator:
            items = [evaluator.evaluate(value.value) for value in function.yielded if not value.is_from]
            return (BuiltinObject("generator", (union(items), UNKNOWN, result)),)
        return (BuiltinObject("coroutine", (result,)),) if function.is_async else result

    # --- attributes

    def resolve_attribute(self, value: Value, name: str) -> EntitiesAndTypes:
        """Return the definitions and types of an attribute of a value."""
        if type(value) is BuiltinObject:
            return (), (BuiltinMethod(value, name),)
        entities = self.attribute_entities(value, name)
        return (entities, self._member_types(value, entities)) if entities else ((), UNKNOWN)

    def attribute_entities(self, value: Value, name: str) -> tuple[Entity, ...]:
        """Return the definitions of an attribute of a value."""
        if type(value) is Instance:
            return self.find_member(value.info, name)
        if type(value) is SelfType:
            return self.find_member(value.info, name)
        if type(value) is ClassInfo:
            return self.find_member(value, name)
        if type(value) is ModuleInfo:
            return self.names.name_in(value, name, imported=True) or (External(name, is_missing=True),)
        if type(value) is SuperOf:
            return self.find_super_member(value.info, name)
        if type(value) is External:
            return (value.member(name),)
        if type(value) is NamespaceFolder:
            return self.names.module_entities(f"{value.folder}/{name}") or (External(name, is_missing=True),)
        return ()

    def _member_types(self, value: Value, entities: tuple[Entity, ...]) -> Types:
        """Return the types that the given members have when they are accessed on a value."""
        if type(value) in (ModuleInfo, External, NamespaceFolder):
            return self.types_of(entities)
        if type(value) is SuperOf:
            value = value.receiver
        is_on_class = type(value) is ClassInfo or (type(value) is SelfType and value.is_class)
        shown = _first_overloads(entities)
        if len(shown) == 1:
            return self._bind_member(shown[0], value, is_on_class=is_on_class)
        return union([self._bind_member(entity, value, is_on_class=is_on_class) for entity in shown])

    def _bind_member(self, entity: Entity, receiver: Value, *, is_on_class: bool = False) -> Types:
        """Return the types of one member when it is accessed on an instance or a class."""
        if type(entity) is FunctionInfo:
            return self._bind_function(entity, receiver, is_on_class=is_on_class)
        types = self.type_of(entity)
        if type(entity) is VariableInfo:
            types = self._apply_descriptors(entity, types, is_on_class=is_on_class)
        return replace_self(types, receiver)

    def _bind_function(self, function: FunctionInfo, receiver: Value, *, is_on_class: bool) -> Types:
        """Return the types of one function when it is accessed on an instance or a class."""
        shape = self.function_shape(function)
        if shape.replacement is not None:
            return replace_self(union([self._descriptor_value(value) for value in shape.replacement]), receiver)
        match shape.kind:
            case "property":
                return UNKNOWN if is_on_class else replace_self(self.returned_types(function), receiver)
            case "static":
                return (function,)
            case "class":
                return (BoundMethod(function, _class_receiver(receiver)),)
            case _:
                return (function,) if is_on_class else (BoundMethod(function, receiver),)

    def _apply_descriptors(self, variable: VariableInfo, types: Types, *, is_on_class: bool) -> Types:
        """Return the types of a class variable after applying the descriptor protocol, which calls `__get__`."""
        if not variable.bindings or variable.owner is None:
            return types
        return union([self._descriptor_value(value) for value in types]) if not is_on_class else types

    def _descriptor_value(self, value: Value) -> Types:
        """Return the types that `__get__` returns if the value is a descriptor, or the value itself."""
        if type(value) is Instance and self.find_member(value.info, "__get__"):
            return self.call_method(value, "__get__")
        return (value,)

    # --- calls

    def call(self, value: Value, arguments: CallArguments) -> Types:
        """Return the result types of calling a value."""
        if type(value) is BoundMethod:
            return replace_self(self.returned_types(value.function), value.receiver)
        if type(value) is ClassInfo:
            return (value.instance,)
        if type(value) is FunctionInfo:
            return self.returned_types(value)
        return self._call_other(value, arguments)

    def _call_other(self, value: Value, arguments: CallArguments) -> Types:
        match value:
            case SelfType(is_class=True):
                return (SelfType(value.info, is_class=False),)
            case Instance() | SelfType():
                return self.call_method(value, "__call__", arguments)
            case BuiltinMethod():
                return call_builtin_method(value, arguments)
            case BuiltinObject(name="class"):
                return value.arguments[0]
            case CallableReturning():
                return value.result
            case _:
                return UNKNOWN

    def call_all(self, types: Types, arguments: CallArguments) -> Types:
        """Return the result types of calling any of the values."""
        return union([self.call(value, arguments) for value in types])

    def call_method(self, value: Value, name: str, arguments: CallArguments | None = None) -> Types:
        """Return the result types of calling a value's method."""
        _, types = self.resolve_attribute(value, name)
        given = arguments or CallArguments(self._evaluator(_EMPTY_SCOPE), (), ())
        return self.call_all(types, given)

    def enum_members(self, info: ClassInfo) -> Types:
        """Return the type of an enumeration's members, or `UNKNOWN` if the class is not an enumeration."""
        return (info.instance,) if self.is_enum(info) else UNKNOWN

    # --- classes

    def find_own_member(self, info: ClassInfo, name: str) -> tuple[Entity, ...]:
        """Return the definitions of a class or instance member, ignoring base classes."""
        self.memo.dependencies |= info.module.bit
        found: dict[Entity, None] = {}
        bindings = info.bindings.get(name, ())
        for binding in bindings:
            if type(binding) not in nodes.ASSIGNMENTS:
                found.update(dict.fromkeys(self.names.bound_entities(info.module, binding)))
        if name in info.attributes or any(type(binding) in nodes.ASSIGNMENTS for binding in bindings):
            found[info.variable(name)] = None
        return tuple(found)

    def find_member(self, info: ClassInfo, name: str) -> tuple[Entity, ...]:
        """Return the definitions of a member in a class or in its first base class that has the member."""
        return self._first_member(info, name, 0)

    def find_super_member(self, info: ClassInfo, name: str) -> tuple[Entity, ...]:
        """Return the definitions of `super().name` in a method of the class."""
        return self._first_member(info, name, 1)

    @memoized
    def _first_member(self, info: ClassInfo, name: str, start: int) -> tuple[Entity, ...]:
        """Return the definitions of a member in the first class of the method resolution order that has the member."""
        assigned = None
        for base in self.mro(info)[start:]:
            self.memo.dependencies |= base.module.bit
            if name in base.bindings:
                # An assignment to an inherited property does not define a new attribute.
                if assigned is not None and type(base.bindings[name][0]) is not nodes.BoundFunction:
                    break
                return self.find_own_member(base, name)
            if assigned is None and name in base.attributes:
                assigned = base
        return () if assigned is None else self.find_own_member(assigned, name)

    def mro(self, info: ClassInfo) -> tuple[ClassInfo, ...]:
        """Return a class and its project bases in method resolution order, ignoring cyclic bases."""
        return self._compute_mro(info) or (info,)

    @memoized
    def _compute_mro(self, info: ClassInfo) -> tuple[ClassInfo, ...]:
        self.memo.dependencies |= info.module.bit
        bases = [base for base in self.bases(info) if base is not info]
        return (
            info,
            *_linearise([[other for other in self.mro(base) if other is not info] for base in bases] + [bases]),
        )

    @memoized
    def bases(self, info: ClassInfo) -> tuple[ClassInfo, ...]:
        """Return the direct base classes that the project defines."""
        self.memo.dependencies |= info.module.bit
        scope = info.outer_scope()
        found: list[ClassInfo] = []
        for base in info.bases:
            found.extend(value for value in self.evaluate_in_scope(scope, base) if type(value) is ClassInfo)
        return tuple(dict.fromkeys(found))

    def is_enum(self, info: ClassInfo) -> bool:
        """Whether a class is an enumeration, based on the names of its external bases."""
        return any(last_name(node) in _ENUM_BASES for base in self.mro(info) for node in base.bases)

    # --- annotations

    def declared_types(self, entities: Sequence[Entity], types: Types) -> Types:
        """Return the types of a value whose annotation refers to `entities`."""
        found: list[Types] = []
        for entity in entities:
            match entity:
                case ClassInfo():
                    found.append((entity.instance,))
                case VariableInfo():
                    found.append(self.alias_types(entity))
                case External():
                    found.append(builtin_generic(entity.name, ()) or UNKNOWN)
        return union(found) if entities else instances_of(types)

    @memoized
    def alias_types(self, variable: VariableInfo) -> Types:
        """Return the types of a value whose annotation is a type alias or a type variable with a bound."""
        self.memo.dependencies |= variable.module.bit
        found: list[Types] = []
        for binding in variable.bindings:
            if (call := _type_variable_call(binding.value)) is not None:
                return self._bound_types(variable, call)
            if type(binding.value) in _ALIAS_NODE_TYPES:
                found.append(self.annotated_types(variable.scope, binding.value))
        return union(found)

    def _bound_types(self, variable: VariableInfo, call: nodes.CallExpression) -> Types:
        """Return the upper bound or the constraints of a type variable."""
        bounds = [value for name, value in call.keywords if name == "bound"]
        return union([self.annotated_types(variable.scope, value) for value in (*bounds, *call.arguments[1:])])

    def parameterised_types(self, entities: Sequence[Entity], arguments: list[Types]) -> Types:
        """Return the types of a value whose annotation is a generic type with type arguments."""
        found: list[Types] = []
        for entity in entities:
            if isinstance(entity, External):
                found.append(builtin_generic(entity.name, arguments) or UNKNOWN)
            else:
                found.append(self.declared_types([entity], UNKNOWN))
        return union(found)


def _first_overloads(entities: tuple[Entity, ...]) -> tuple[Entity, ...]:
    """Keep only the first of several functions: the getter of a property, or the first overload of a function."""
    if len(entities) > 1 and all(type(entity) is FunctionInfo for entity in entities):
        return entities[:1]
    return entities


def _class_receiver(receiver: Value) -> Value:
    """Return the class of a receiver, which class methods get as `cls`."""
    match receiver:
        case Instance():
            return receiver.info
        case SelfType():
            return SelfType(receiver.info, is_class=True)
        case _:
            return receiver


def _is_iterator(types: Types) -> bool:
    return any(type(value) is BuiltinObject and value.name in ("iterator", "generator") for value in types)


def _yielded_types(types: Types) -> Types:
    """Return the types of the values that iterators and generators yield."""
    return union(
        [
            value.arguments[0]
            for value in types
            if type(value) is BuiltinObject and value.name in ("generator", "iterator")
        ]
    )


def _type_variable_call(value: Expression) -> nodes.CallExpression | None:
    """Return the call that creates a type variable, such as `TypeVar("T")`, or None for other expressions."""
    return (
        value if type(value) is nodes.CallExpression and last_name(value.function) in _TYPE_VARIABLE_CLASSES else None
    )


def _linearise(sequences: list[list[ClassInfo]]) -> list[ClassInfo]:
    """Return the C3 linearisation of base classes, or the bases in source order if no C3 linearisation exists."""
    merged: list[ClassInfo] = []
    pending = [list(sequence) for sequence in sequences if sequence]
    while pending:
        head = _next_head(pending)
        merged.append(head)
        pending = [rest for sequence in pending if (rest := [other for other in sequence if other is not head])]
    return merged


def _next_head(pending: Sequence[list[ClassInfo]]) -> ClassInfo:
    """Return the class that comes next in a C3 linearisation."""
    for sequence in pending:
        head = sequence[0]
        if not any(head in other[1:] for other in pending):
            return head
    return pending[0][0]


# --- effects of decorators

_KIND_BY_DECORATOR = {
    **dict.fromkeys(("builtins.property", "functools.cached_property", "abc.abstractproperty"), "property"),
    **dict.fromkeys(("builtins.staticmethod", "abc.abstractstaticmethod"), "static"),
    **dict.fromkeys(("builtins.classmethod", "abc.abstractclassmethod"), "class"),
}
_CONTEXT_MANAGER_DECORATORS = frozenset({"contextlib.contextmanager", "contextlib.asynccontextmanager"})


@dataclass(frozen=True, slots=True)
class FunctionShape:
    """Effect of decorators on a function.

    `kind` is plain, static, class or property. `replacement` contains the types of the object that a decorator returns
    instead of the function.
    """

    kind: str = "plain"
    is_context_manager: bool = False
    replacement: Types | None = None


PLAIN = FunctionShape()
_IMPLICIT_SHAPES = {
    "__init_subclass__": FunctionShape("class"),
    "__class_getitem__": FunctionShape("class"),
    "__new__": FunctionShape("static"),
}


def undecorated(function: FunctionInfo) -> FunctionShape:
    """Return the shape of a function without decorators.

    Some special methods, such as `__new__`, are implicitly static or class methods.
    """
    return PLAIN if function.owner is None else _IMPLICIT_SHAPES.get(function.name, PLAIN)


def _apply_decorator(shape: FunctionShape, decorator: Expression, evaluator: Evaluator) -> FunctionShape:
    """Return the shape of a function after applying one decorator."""
    if type(decorator) is nodes.Attribute and decorator.name in ("setter", "getter", "deleter"):
        return FunctionShape("property")
    callee = decorator.function if type(decorator) is nodes.CallExpression else decorator
    for value in evaluator.evaluate(callee):
        if type(value) is External:
            return _apply_external_decorator(shape, value.name)
        if type(value) is ClassInfo:
            return FunctionShape(shape.kind, shape.is_context_manager, (value.instance,))
    return shape


def _apply_external_decorator(shape: FunctionShape, name: str) -> FunctionShape:
    """Return the shape of a function after applying a decorator that the project does not define."""
    if name in _CONTEXT_MANAGER_DECORATORS:
        return FunctionShape(shape.kind, is_context_manager=True)
    return FunctionShape(_KIND_BY_DECORATOR[name], shape.is_context_manager) if name in _KIND_BY_DECORATOR else shape
