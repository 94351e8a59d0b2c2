"""Types of built-in and standard-library containers and functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.python.entities import ClassInfo, Instance
from deltos.domains.graph.python.nodes import Slice
from deltos.domains.graph.python.types import (
    UNKNOWN,
    BuiltinMethod,
    BuiltinObject,
    CallableReturning,
    SelfType,
    Types,
    union,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deltos.domains.graph.python.evaluate import CallArguments
    from deltos.domains.graph.python.infer import Inference
    from deltos.domains.graph.python.nodes import Expression
    from deltos.domains.graph.python.types import Value

LISTS = frozenset({"list", "List", "Sequence", "MutableSequence", "deque", "Deque"})
SETS = frozenset({"set", "Set", "frozenset", "FrozenSet", "AbstractSet", "MutableSet"})
ITERATORS = frozenset({"Iterable", "Iterator", "Collection", "Reversible", "Container", "KeysView", "ValuesView"})
ASYNC_ITERATORS = frozenset({"AsyncIterable", "AsyncIterator"})
MAPPINGS = frozenset(
    {"dict", "Dict", "Mapping", "MutableMapping", "OrderedDict", "defaultdict", "DefaultDict", "ChainMap"}
)
AWAITABLES = frozenset({"Awaitable", "Future", "Task"})
CONTEXT_MANAGERS = frozenset(
    {"ContextManager", "AbstractContextManager", "AsyncContextManager", "AbstractAsyncContextManager"}
)
WRAPPERS = frozenset({"Optional", "Annotated", "ClassVar", "Final", "Required", "NotRequired", "ReadOnly", "InitVar"})

_TYPING_MODULES = frozenset(
    {"typing", "typing_extensions", "collections", "builtins", "asyncio", "contextlib", "dataclasses"}
)
_SINGLE_ARGUMENT_GENERICS = {
    **dict.fromkeys(LISTS, "list"),
    **dict.fromkeys(SETS, "set"),
    **dict.fromkeys(ITERATORS, "iterator"),
    **dict.fromkeys(ASYNC_ITERATORS, "iterator"),
    **dict.fromkeys(AWAITABLES, "coroutine"),
    **dict.fromkeys(CONTEXT_MANAGERS, "context"),
}


def builtin_generic(name: str, arguments: Sequence[Types]) -> Types | None:
    """Return an instance of a standard-library generic class, or None if no types are known for the class."""
    module, _, short = name.rpartition(".")
    if module.partition(".")[0] not in _TYPING_MODULES:
        return None
    first = arguments[0] if arguments else UNKNOWN
    if short in _SINGLE_ARGUMENT_GENERICS:
        return (BuiltinObject(_SINGLE_ARGUMENT_GENERICS[short], (first,)),)
    if short in MAPPINGS:
        return (BuiltinObject("dict", (first, arguments[1] if len(arguments) > 1 else UNKNOWN)),)
    if short in WRAPPERS:
        return first
    match short:
        case "Union":
            return union(arguments)
        case "tuple" | "Tuple":
            return (BuiltinObject("tuple", tuple(arguments)),)
        case "Generator" | "AsyncGenerator":
            sent = arguments[1] if len(arguments) > 1 else UNKNOWN
            return (BuiltinObject("generator", (first, sent, arguments[2] if len(arguments) > 2 else UNKNOWN)),)
        case "Coroutine":
            return (BuiltinObject("coroutine", (arguments[2] if len(arguments) > 2 else UNKNOWN,)),)
        case "Callable":
            return (CallableReturning(arguments[-1] if arguments else UNKNOWN),)
        case "type" | "Type":
            return tuple([part for value in first for part in _class_of(value)])
        case _:
            return None


def _class_of(value: Value) -> Types:
    """Return the class of a value, as `type(value)` does."""
    match value:
        case Instance():
            return (value.info,)
        case SelfType():
            return (SelfType(value.info, is_class=True),)
        case BuiltinObject() | CallableReturning():
            return UNKNOWN
        case _:
            return (BuiltinObject("class", ((value,),)),)


def element_types(types: Types, inference: Inference, *, is_async: bool = False, returned: bool = False) -> Types:
    """Return the element type of an iterable, or the return type of a generator if `returned` is true."""
    results: list[Types] = []
    for value in types:
        if type(value) is BuiltinObject:
            results.append(_builtin_element_types(value, returned=returned))
        elif type(value) in (Instance, SelfType):
            results.append(_object_element_types(value, inference, is_async=is_async))
        elif type(value) is ClassInfo:
            results.append(inference.enum_members(value))
    return union(results)


def _builtin_element_types(value: BuiltinObject, *, returned: bool) -> Types:
    """Return the element type of a builtin container, or the return type of a generator if `returned` is true."""
    if value.name == "tuple":
        return union(value.arguments)
    if value.name == "generator" and returned:
        return value.arguments[2]
    if value.name in ("context", "coroutine", "class"):
        return UNKNOWN
    return value.arguments[0]


def _object_element_types(value: Value, inference: Inference, *, is_async: bool) -> Types:
    """Return the type of the elements of an object that implements the iterator protocol."""
    iterator = inference.call_method(value, "__aiter__" if is_async else "__iter__")
    results: list[Types] = []
    for part in iterator:
        if type(part) is BuiltinObject:
            results.append(_builtin_element_types(part, returned=False))
        elif type(part) in (Instance, SelfType):
            item = inference.call_method(part, "__anext__" if is_async else "__next__")
            results.append(item)
    if not iterator and not is_async:
        results.append(inference.call_method(value, "__getitem__"))
    return union(results)


def item_types(value: BuiltinObject, index: Expression) -> Types:
    """Return the type of the item that subscripting a builtin container with `index` yields."""
    match value.name:
        case "dict":
            return value.arguments[1]
        case "tuple":
            return (value,) if type(index) is Slice else union(value.arguments)
        case "list" | "sequence":
            return (value,) if type(index) is Slice else value.arguments[0]
        case _:
            return UNKNOWN


def call_builtin_method(method: BuiltinMethod, arguments: CallArguments) -> Types:
    """Return the result types of a method call on a builtin container."""
    receiver, parts = method.receiver, method.receiver.arguments
    match receiver.name, method.name:
        case "dict", "get" | "pop" | "setdefault":
            return union((parts[1], arguments.positional_types(1)))
        case "dict", "values":
            return (BuiltinObject("iterator", (parts[1],)),)
        case "dict", "keys":
            return (BuiltinObject("iterator", (parts[0],)),)
        case "dict", "items":
            return (BuiltinObject("iterator", ((BuiltinObject("tuple", parts),),)),)
        case "dict", "popitem":
            return (BuiltinObject("tuple", parts),)
        case "list" | "set", "pop" | "popleft":
            return parts[0]
        case "list" | "set" | "dict", "copy" | "union" | "difference" | "intersection":
            return (receiver,)
        case "iterator" | "generator", "__next__" | "send" | "__anext__":
            return parts[0]
        case "iterator" | "list" | "set" | "generator" | "sequence", "__iter__" | "__aiter__":
            return (BuiltinObject("iterator", (parts[0],)),)
        case "context", "__enter__" | "__aenter__":
            return parts[0]
        case _:
            return UNKNOWN


_FUNCTIONS_RETURNING_FIRST_ARGUMENT = frozenset({
    "copy.copy", "copy.deepcopy", "weakref.proxy", "asyncio.shield", "asyncio.wait_for", "asyncio.ensure_future",
    "asyncio.create_task", "contextlib.closing",
})  # fmt: skip
_RESULT_CONTAINER_BY_FUNCTION = {
    "builtins.list": "list",
    "builtins.sorted": "list",
    "builtins.set": "set",
    "builtins.frozenset": "set",
    "builtins.tuple": "sequence",
    "builtins.iter": "iterator",
    "builtins.filter": "iterator",
    "builtins.reversed": "iterator",
    "collections.deque": "list",
    "itertools.chain": "iterator",
    "itertools.islice": "iterator",
}


def call_external(name: str, arguments: CallArguments, inference: Inference) -> Types:
    """Return the result types of a call to an external function or class such as `sorted`, or `UNKNOWN`."""
    if name in _RESULT_CONTAINER_BY_FUNCTION:
        argument_index = 1 if name == "builtins.filter" else 0
        return (
            BuiltinObject(
                _RESULT_CONTAINER_BY_FUNCTION[name],
                (element_types(arguments.positional_types(argument_index), inference),),
            ),
        )
    if name in _FUNCTIONS_RETURNING_FIRST_ARGUMENT:
        return arguments.positional_types(0)
    special = _CALL_HANDLERS.get(name)
    return UNKNOWN if special is None else special(arguments, inference)


def _call_mapping(arguments: CallArguments, _inference: Inference) -> Types:
    given = tuple(
        [value for value in arguments.positional_types(0) if type(value) is BuiltinObject and value.name == "dict"]
    )
    return given or (
        BuiltinObject("dict", (UNKNOWN, union([arguments.keyword_types(key) for key, _ in arguments.keywords]))),
    )


def _iterator_of_tuples(*items: Types) -> Types:
    return (BuiltinObject("iterator", ((BuiltinObject("tuple", items),),)),)


def _call_type(arguments: CallArguments, _inference: Inference) -> Types:
    if len(arguments.nodes) != 1:
        return UNKNOWN
    return union([_class_of(value) for value in arguments.positional_types(0) if type(value) in (Instance, SelfType)])


def _call_first_or_element(arguments: CallArguments, inference: Inference) -> Types:
    """Return the types of `next(iterator, default)`: the element type of `iterator` and the type of `default`."""
    if len(arguments.nodes) > 1 and not arguments.keywords:
        return union([element_types(arguments.positional_types(0), inference), arguments.positional_types(1)])
    return element_types(arguments.positional_types(0), inference)


_CALL_HANDLERS: dict[str, Callable[[CallArguments, Inference], Types]] = {
    "builtins.dict": _call_mapping,
    "collections.OrderedDict": _call_mapping,
    "collections.defaultdict": lambda given, inference: (
        BuiltinObject("dict", (UNKNOWN, inference.call_all(given.positional_types(0), given))),
    ),
    "builtins.next": _call_first_or_element,
    "builtins.min": _call_first_or_element,
    "builtins.max": _call_first_or_element,
    "random.choice": _call_first_or_element,
    "builtins.enumerate": lambda given, inference: _iterator_of_tuples(
        UNKNOWN, element_types(given.positional_types(0), inference)
    ),
    "builtins.zip": lambda given, inference: _iterator_of_tuples(
        *[element_types(given.positional_types(index), inference) for index in range(len(given.nodes))]
    ),
    "builtins.map": lambda given, inference: (
        BuiltinObject("iterator", (inference.call_all(given.positional_types(0), given),)),
    ),
    "builtins.type": _call_type,
    "typing.cast": lambda given, _inference: given.annotated_types(0),
    "typing_extensions.cast": lambda given, _inference: given.annotated_types(0),
    "functools.partial": lambda given, inference: (
        CallableReturning(inference.call_all(given.positional_types(0), given)),
    ),
    "weakref.ref": lambda given, _inference: (CallableReturning(given.positional_types(0)),),
}
