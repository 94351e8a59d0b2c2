"""The intermediate form of Python source: nested tuples, opcode first. Extraction writes it, inference reads it.

Only plain tuples, strings and numbers, so that marshal takes it. Where a node carries a line it stands at index 1, and
nowhere else does a number follow an opcode of `LINED`: `without_lines` relies on it. `None` is an expression that names
nothing (a number, a plain string).
"""

from __future__ import annotations

from typing import Any

Node = tuple[Any, ...]
Expression = Node | None

# Expressions
NAME = 0  # (NAME, line, name)
ATTR = 1  # (ATTR, line, value, name)
CALL = 2  # (CALL, function, arguments, ((name or "" for **, value), ...))
INDEX = 3  # (INDEX, value, index)
TUPLE = 4  # (TUPLE, items)
LIST = 5  # (LIST, items)
SET = 6  # (SET, items)
DICT = 7  # (DICT, keys, values)
COMPREHENSION = 8  # (COMPREHENSION, "list" | "set" | "dict" | "generator", clauses, element, value)
EITHER = 9  # (EITHER, operands)                      a or b
BOTH = 10  # (BOTH, operands)                         a and b
CHOICE = 11  # (CHOICE, test, then, otherwise)        a if b else c
NOT = 12  # (NOT, operand)
BINARY = 13  # (BINARY, method, first, operands)      a + b + c, method of the operator: __add__
AWAIT = 14  # (AWAIT, value)
YIELD = 15  # (YIELD, value)
YIELD_FROM = 16  # (YIELD_FROM, value)
LAMBDA = 17  # (LAMBDA, parameters, body)
WALRUS = 18  # (WALRUS, line, name, value)
STAR = 19  # (STAR, value)                            *a in a call or display
MANY = 20  # (MANY, operands)                         evaluated, the result names nothing
TEXT = 21  # (TEXT, expression)                       a type quoted in a string

# Where a bound name's value comes from, beside a plain expression
ITEM = 22  # (ITEM, iterable, is_async)               one element
UNPACK = 23  # (UNPACK, value, index)                 element of a tuple
REST = 24  # (REST, value)                            starred element of a tuple
ENTER = 25  # (ENTER, value, is_async)                what `with` binds
CAUGHT = 26  # (CAUGHT, classes)                      what `except` binds

SLICE = 27  # (SLICE, operands)                       a:b:c between brackets

# Statements
EVALUATE = 0  # (EVALUATE, value)
ASSIGN = 1  # (ASSIGN, targets, value)
DECLARE = 2  # (DECLARE, target, annotation, value)
AUGMENT = 3  # (AUGMENT, target, method, value)
RETURN = 4  # (RETURN, value)
IF = 5  # (IF, ((test, body), ...), otherwise)
FOR = 6  # (FOR, target, iterable, is_async, body, otherwise)
WHILE = 7  # (WHILE, test, body, otherwise)
WITH = 8  # (WITH, ((value, target), ...), is_async, body)
TRY = 9  # (TRY, body, ((classes, name, body), ...), otherwise, finally)
DEFINE = 10  # (DEFINE, line, name, key, decorators, parameters, returns, local names, body)
CLASS = 11  # (CLASS, line, name, key, decorators, bases, keywords, body)
IMPORT = 12  # (IMPORT, line, module, alias)
FROM = 13  # (FROM, line, module, level, ((line, name, alias), ...))   name "*" for all
STOP = 14  # (STOP,)                                  break, continue
RAISE = 15  # (RAISE, values)
ASSERT = 16  # (ASSERT, test, message)
MATCH = 17  # (MATCH, subject, ((classes, uses, captures, guard, body), ...))

# Parameters are (name, kind, annotation, default)
POSITIONAL, VARIADIC, KEYWORD_ONLY, KEYWORDS = range(4)

# Bindings in an interface: how a scope says what a name means
BIND_CLASS = 30  # (BIND_CLASS, key)
BIND_FUNCTION = 31  # (BIND_FUNCTION, key)
BIND_VALUE = 32  # (BIND_VALUE, expression)
BIND_DECLARED = 33  # (BIND_DECLARED, annotation, expression)
BIND_MODULE = 34  # (BIND_MODULE, module)
BIND_FROM = 35  # (BIND_FROM, module, level, name)

ASSIGNMENTS = frozenset({BIND_VALUE, BIND_DECLARED})
LINED = frozenset({NAME, ATTR, WALRUS})


def without_lines(node: Any) -> Any:
    """The same expression with every line blanked: what stays equal when code above it moves."""
    if type(node) is not tuple or not node:
        return node
    if type(node[0]) is int:
        if node[0] == MANY:
            return None
        if node[0] in LINED:
            return (node[0], 0, *[without_lines(part) for part in node[2:]])
    return tuple([without_lines(part) for part in node])


def names_in(node: Any, found: set[str]) -> None:
    """Add every plain name that an expression reads to `found`."""
    if type(node) is not tuple or not node:
        return
    if node[0] == NAME and type(node[0]) is int:
        found.add(node[2])
        return
    for part in node:
        if type(part) is tuple:
            names_in(part, found)
