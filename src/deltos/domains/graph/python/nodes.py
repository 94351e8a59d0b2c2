"""Intermediate representation of Python source, created from syntax trees and stored as MessagePack.

An expression without names (a number, a plain string) is None. The tag of a node class identifies the class in
MessagePack and must be unique. A node class with a line has the line as its first field, because `without_lines` relies
on this order.
"""

from __future__ import annotations

from typing import TypeVar, Union, cast

from msgspec.structs import astuple

from deltos.domains.graph.kernel.node import Node

# --- expressions


class Name(Node, frozen=True, tag=0):
    """A plain name that is read or is the target of an assignment."""

    line: int
    name: str


class Attribute(Node, frozen=True, tag=1):
    """Attribute: `value.name`."""

    line: int
    value: Expression
    name: str


class CallExpression(Node, frozen=True, tag=2):
    """Call: `function(arguments, name=value)`; the keyword of `**value` is empty."""

    function: Expression
    arguments: Expressions
    keywords: Keywords


class Subscript(Node, frozen=True, tag=3):
    """Subscript: `value[index]`."""

    value: Expression
    index: Expression


class Display(Node, frozen=True, tag=4):
    """Tuple, list or set expression: `(a, b)`, `[a, b]`, `{a, b}`.

    `shape` is tuple, list or set. A tuple or list may also be the target of an assignment.
    """

    shape: str
    items: Expressions


class DictDisplay(Node, frozen=True, tag=7):
    """Dictionary expression: `{a: b}`; `**c` is a value without a key."""

    keys: Expressions
    values: Expressions


class Clause(Node, frozen=True):
    """Clause of a comprehension: `for target in iterable if test`."""

    target: Expression
    iterable: Expression
    tests: Expressions
    is_async: bool


class Comprehension(Node, frozen=True, tag=8):
    """Comprehension: `[element for …]`; the shape is list, set, dict (with `value`) or generator."""

    shape: str
    clauses: tuple[Clause, ...]
    element: Expression
    value: Expression


class Logical(Node, frozen=True, tag=9):
    """Conjunction or disjunction: `a and b and c`, `a or b or c`."""

    is_and: bool
    operands: Expressions


class Conditional(Node, frozen=True, tag=11):
    """Conditional expression: `then if test else otherwise`."""

    test: Expression
    then: Expression
    otherwise: Expression


class Not(Node, frozen=True, tag=12):
    """Negation: `not operand`."""

    operand: Expression


class OperatorExpression(Node, frozen=True, tag=13):
    """Chain of binary operations, such as `first + a + b`."""

    first: Expression
    operands: Expressions


class Await(Node, frozen=True, tag=14):
    """Await expression: `await value`."""

    value: Expression


class Yield(Node, frozen=True, tag=15):
    """Yield expression: `yield value`, `yield from value`."""

    value: Expression
    is_from: bool


class Lambda(Node, frozen=True, tag=17):
    """Lambda: `lambda parameters: body`."""

    parameters: Parameters
    body: Expression


class Walrus(Node, frozen=True, tag=18):
    """Assignment expression: `name := value`."""

    line: int
    name: str
    value: Expression


class Starred(Node, frozen=True, tag=19):
    """Unpacked argument or item: `*value` in a call or display."""

    value: Expression


class NamesOnly(Node, frozen=True, tag=20):
    """Expressions that are stored only as names, because their types are not needed."""

    operands: Expressions


class QuotedType(Node, frozen=True, tag=21):
    """A type annotation written as a string."""

    annotation: Expression


class Slice(Node, frozen=True, tag=22):
    """Slice: `a:b:c` in a subscript."""

    operands: Expressions


# --- values assigned by loops, unpacking, `with` and `except`


class Element(Node, frozen=True, tag=23):
    """An element of an iterable."""

    iterable: Expression
    is_async: bool


class Unpacked(Node, frozen=True, tag=24):
    """The element at a given index of an unpacked value."""

    value: Expression
    index: int


class Rest(Node, frozen=True, tag=25):
    """The remaining elements of an unpacked value, which a starred target receives."""

    value: Expression


class Entered(Node, frozen=True, tag=26):
    """The value that `as` binds in `with value as target`."""

    value: Expression
    is_async: bool


class Caught(Node, frozen=True, tag=27):
    """The exception that `as` binds in `except classes as name`."""

    classes: Expression


class FixtureName(Node, frozen=True, tag=28):
    """Name of a pytest fixture, written as a parameter or as a string that requests the fixture."""

    line: int
    name: str


Expression = Union[  # noqa: UP007 (classes that are evaluated late cannot be joined by |)
    Name, Attribute, CallExpression, Subscript, Display, DictDisplay, Comprehension, Logical, Conditional, Not,
    OperatorExpression, Await, Yield, Lambda, Walrus, Starred, NamesOnly, QuotedType, Slice, Element, Unpacked, Rest,
    Entered, Caught, FixtureName, None,
]  # fmt: skip
Expressions = tuple[Expression, ...]
Keywords = tuple[tuple[str, Expression], ...]

POSITIONAL, VARIADIC, KEYWORD_ONLY, KEYWORDS = range(4)


class ParameterNode(Node, frozen=True):
    """A parameter of a function or lambda; `kind` is one of the four parameter kinds above."""

    name: str
    kind: int
    annotation: Expression
    default: Expression


Parameters = tuple[ParameterNode, ...]


# --- statements


class Evaluate(Node, frozen=True, tag=40):
    """An expression as a statement."""

    value: Expression


class Assign(Node, frozen=True, tag=41):
    """Assignment: `a = b = value`."""

    targets: Expressions
    value: Expression


class Declare(Node, frozen=True, tag=42):
    """Annotated assignment: `target: annotation = value`."""

    target: Expression
    annotation: Expression
    value: Expression


class Augment(Node, frozen=True, tag=43):
    """Augmented assignment, such as `target += value`."""

    target: Expression
    value: Expression


class Return(Node, frozen=True, tag=44):
    """Return statement: `return value`."""

    value: Expression


class Branch(Node, frozen=True):
    """One condition of an `if` statement with its block."""

    test: Expression
    body: Block


class If(Node, frozen=True, tag=45):
    """If statement: `if … elif … else`."""

    branches: tuple[Branch, ...]
    otherwise: Block


class For(Node, frozen=True, tag=46):
    """For loop: `for target in iterable`."""

    target: Expression
    iterable: Expression
    is_async: bool
    body: Block
    otherwise: Block


class While(Node, frozen=True, tag=47):
    """While loop: `while test`."""

    test: Expression
    body: Block
    otherwise: Block


class With(Node, frozen=True, tag=48):
    """With statement: `with value as target, …`."""

    items: tuple[tuple[Expression, Expression], ...]
    is_async: bool
    body: Block


class Handler(Node, frozen=True):
    """Exception handler: `except classes as name`; the name may be empty."""

    classes: Expression
    name: str
    body: Block


class Try(Node, frozen=True, tag=49):
    """Try statement: `try … except … else … finally`."""

    body: Block
    handlers: tuple[Handler, ...]
    otherwise: Block
    final: Block


class Define(Node, frozen=True, tag=50):
    """A function definition.

    `local` contains the names that the body assigns, and `fixtures` contains the parameters that request fixtures.
    """

    line: int
    name: str
    key: str
    decorators: Expressions
    parameters: Parameters
    returns: Expression
    local: tuple[str, ...]
    body: Block
    fixtures: Expressions = ()


class DefineClass(Node, frozen=True, tag=51):
    """A class definition."""

    line: int
    name: str
    key: str
    decorators: Expressions
    bases: Expressions
    keywords: Keywords
    body: Block


class ImportModule(Node, frozen=True, tag=52):
    """Import statement: `import module as alias`."""

    line: int
    module: str
    alias: str


class FromImportName(Node, frozen=True):
    """One name in a from-import; `*` means all names."""

    line: int
    name: str
    alias: str


class FromImport(Node, frozen=True, tag=53):
    """From-import: `from module import names`, with `level` dots before the module."""

    line: int
    module: str
    level: int
    names: tuple[FromImportName, ...]


class LoopJump(Node, frozen=True, tag=54):
    """Loop jump: `break` or `continue`."""


class Raise(Node, frozen=True, tag=55):
    """Raise statement: `raise a from b`."""

    values: Expressions


class Assert(Node, frozen=True, tag=56):
    """Assert statement: `assert test, message`."""

    test: Expression
    message: Expression


class Case(Node, frozen=True):
    """One case of a `match` statement: the possible classes of the subject, the bound names, and all other names."""

    classes: Expressions
    uses: Expressions
    captures: tuple[Name, ...]
    guard: Expression
    body: Block


class Match(Node, frozen=True, tag=57):
    """Match statement: `match subject`."""

    subject: Expression
    cases: tuple[Case, ...]


Statement = Union[  # noqa: UP007 (as above)
    Evaluate, Assign, Declare, Augment, Return, If, For, While, With, Try, Define, DefineClass, ImportModule,
    FromImport, LoopJump, Raise, Assert, Match,
]  # fmt: skip
Block = tuple[Statement, ...]


# --- interfaces: facts on which other files may depend


class BoundClass(Node, frozen=True, tag=70):
    """Binding of a name to a class, which is identified by its key."""

    key: str


class BoundFunction(Node, frozen=True, tag=71):
    """Binding of a name to a function, which is identified by its key."""

    key: str


class Assigned(Node, frozen=True, tag=72):
    """Binding of a name to the value of an expression."""

    value: Expression


class DeclaredName(Node, frozen=True, tag=73):
    """Binding of a name by an annotated assignment."""

    annotation: Expression
    value: Expression


class BoundModule(Node, frozen=True, tag=74):
    """Binding of a name to a module."""

    module: str


class BoundImport(Node, frozen=True, tag=75):
    """Binding of a name to a name that is imported from another module."""

    module: str
    level: int
    name: str


Assignment = Union[Assigned, DeclaredName]  # noqa: UP007 (as above)
Binding = Union[BoundClass, BoundFunction, Assigned, DeclaredName, BoundModule, BoundImport]  # noqa: UP007 (as above)
Bindings = dict[str, tuple[Binding, ...]]
ASSIGNMENTS = frozenset({Assigned, DeclaredName})


class AttributeBinding(Node, frozen=True):
    """An assignment to an attribute of `self` or `cls`; `method` is the key of the method that contains it."""

    method: str
    binding: Assignment


class ClassInterface(Node, frozen=True):
    """The part of a class on which other files may depend."""

    name: str
    decorators: Expressions
    bases: Expressions
    keywords: Keywords
    bindings: Bindings
    attributes: dict[str, tuple[AttributeBinding, ...]]


class FunctionInterface(Node, frozen=True):
    """The part of a function on which other files may depend: its signature and return values."""

    name: str
    owner: str
    enclosing: str
    decorators: Expressions
    parameters: Parameters
    returns: Expression
    is_async: bool
    is_generator: bool
    returned: Expressions
    yielded: tuple[Yield, ...]
    local: Bindings


class ModuleInterface(Node, frozen=True):
    """The part of a file on which other files may depend."""

    bindings: Bindings
    classes: dict[str, ClassInterface]
    functions: dict[str, FunctionInterface]
    stars: tuple[tuple[str, int], ...]
    exported: tuple[str, ...] | None


class UnparsedName(Node, frozen=True):
    """A name in code that could not be parsed; `source` is the key of the definition that contains the name."""

    line: int
    source: str
    name: str


class ModuleBody(Node, frozen=True):
    """The part of a file on which no other file depends: its statements."""

    statements: Block
    unparsed: tuple[UnparsedName, ...] = ()


EMPTY_INTERFACE = ModuleInterface({}, {}, {}, (), None)

# --- operations on nodes

# Code compares `type(node) is Name`, because `isinstance` calls the metaclass of Struct and takes eight times as long.

_NODE_TYPES_WITH_LINES = frozenset({Name, Attribute, Walrus, FixtureName})
_LEAF_TYPES = frozenset({str, int, bool, type(None)})
Part = TypeVar("Part")


def without_lines(node: Part) -> Part:
    """Copy a node without line numbers and `NamesOnly` nodes, so that code is equal to the same code on other lines."""
    return cast("Part", _on_line(node, 0, keep_names_only=False))


def on_line(node: Expression, line: int) -> Expression:
    """Return an expression parsed from a string annotation, with all lines set to the line of the string."""
    return cast("Expression", _on_line(node, line, keep_names_only=True))


def _on_line(node: object, line: int, *, keep_names_only: bool) -> object:
    """Copy a node recursively with all lines set to `line`."""
    kind = type(node)
    if kind in _LEAF_TYPES or (kind is NamesOnly and not keep_names_only):
        return node if kind in _LEAF_TYPES else None
    parts = [
        part if type(part) in _LEAF_TYPES else _on_line(part, line, keep_names_only=keep_names_only)
        for part in _parts(node)
    ]
    if kind in _NODE_TYPES_WITH_LINES:
        parts[0] = line
    return tuple(parts) if kind is tuple else kind(*parts)


def _parts(node: object) -> tuple[object, ...]:
    """Return the items of a tuple or the fields of a node."""
    return node if type(node) is tuple else astuple(cast("Node", node))


def names_in(node: object, found: set[str]) -> None:
    """Add every plain name in a node, or in a tuple of nodes, to `found`."""
    if type(node) is Name:
        found.add(node.name)
        return
    for part in _parts(node):
        if type(part) not in _LEAF_TYPES:
            names_in(part, found)


def last_name(node: Expression) -> str:
    """Return the last component of a name or dotted name, or an empty string for other expressions."""
    return node.name if type(node) is Name or type(node) is Attribute else ""


def dotted_name(node: Expression) -> str:
    """Return the dotted name of an expression such as `self.field`, or an empty string for other expressions."""
    if type(node) is Name:
        return node.name
    if type(node) is not Attribute:
        return ""
    base = dotted_name(node.value)
    return f"{base}.{node.name}" if base else ""
