"""The little language in which a file's facts describe types; the modules under typing/ evaluate it.

A term is None (unknown), a string (a name of the module or a global), a negative integer (a local of the
file's body) or a tuple whose first element is one of the operators below. Terms hold no line numbers, and
marshal takes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

Term: TypeAlias = Any

# Values
MEMBER = "."  # (object, name)
CALL = "()"  # (callee, arguments, type arguments)
NEW = "new"  # (callee, arguments, type arguments)
ELEMENT = "[]"  # (object, index), perhaps with the name of the member that the index is the key of
AWAIT = "await"  # (value,)
EITHER = "|"  # alternatives: a union type, `a ?? b`, `a ? b : c`
LIST = "list"  # element terms of an array literal
SPREAD = "..."  # (value,) inside a list, an object or arguments
OBJECT = "{}"  # (members, spreads, call signatures, index term); a member is (name, term, key, optional)
FUNCTION = "=>"  # (type parameters, parameters, return type, returned values, flags)
OVERLOADS = "over"  # function terms
CLASS = "class"  # (declaration,)
THIS = "this"  # (class name or local,)
STATICS = "typeof this"  # (class name or local,)
SUPER = "super"  # (class name or local, whether static)
TEXT = "text"  # (literal text or None,)
REQUIRE = "require"  # (specifier,): what a CommonJS module exports
IMPORT = "import"  # (specifier,): a module as a namespace
ITEM = "item"  # (list, position)
EACH = "each"  # (iterable,): what a loop over it gives
PARAMETER = "param"  # (function, position): what a callback's parameter is expected to be
ARGUMENT = "arg"  # (callee, position, earlier arguments, type arguments): what a call expects there
RESULT = "result"  # (function,): what a function is expected to return
NARROW = "narrow"  # (value, guard, whether the guard held)

# Types
ANY = ("any",)  # stated, but without members that matter: a number, any, unknown
REF = "ref"  # (entity, type arguments)
TYPE_PARAMETER = "T"  # (name, constraint)
ARRAY = "T[]"  # (element,)
TUPLE = "tuple"  # element terms
BOTH = "&"  # parts of an intersection
KEYOF = "keyof"  # (type,)
CONDITIONAL = "?"  # (checked, extended, yes, no)
MAPPED = "mapped"  # (parameter name, constraint, value)
INFER = "infer"  # (name,)
PREDICATE = "is"  # (parameter name, type)

# Imported names with a meaning of their own
ANY_NAME = "="  # whatever a CommonJS module exports
NAMESPACE = "*"  # the module as a whole

# Guards
INSTANCE_OF = "instanceof"  # (class,)
GUARD_CALL = "guard"  # (callee, position of the argument; None: the object)
HAS_VALUE = "==="  # (property, literal text)
HAS_MEMBER = "in"  # (property,)
IS_TYPE = "typeof"  # (name of a primitive type,)

# Function flags
IS_ASYNC = 1
IS_GENERATOR = 2

# Parameters are (name, term, flags)
IS_OPTIONAL = 1
IS_REST = 2

# Declarations: (operator, symbol key, …)
CLASS_DECLARATION = "class"  # type parameters, base, base arguments, implemented, members, statics
INTERFACE_DECLARATION = "interface"  # type parameters, bases, members, call signatures, construct signatures, index
ALIAS_DECLARATION = "alias"  # type parameters, term
ENUM_DECLARATION = "enum"  # members
VALUE_DECLARATION = "value"  # term
NAMESPACE_DECLARATION = "namespace"  # exported names

# What a declaration can be used as: a name may be a type and a value at once
AS_VALUE = 1
AS_TYPE = 2
MEANINGS = {
    CLASS_DECLARATION: AS_VALUE | AS_TYPE,
    ENUM_DECLARATION: AS_VALUE | AS_TYPE,
    INTERFACE_DECLARATION: AS_TYPE,
    ALIAS_DECLARATION: AS_TYPE,
    VALUE_DECLARATION: AS_VALUE,
    NAMESPACE_DECLARATION: AS_VALUE,
}


def inferred_names(term: Term) -> Iterator[str]:
    """The names that `infer` introduces in a term."""
    pending = [term]
    while pending:
        part = pending.pop()
        if type(part) is not tuple:
            continue
        if len(part) == 2 and part[0] == INFER:
            yield part[1]
        else:
            pending += reversed(part)
