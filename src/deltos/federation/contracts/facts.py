"""Language-independent facts about a source file, such as calls and imports, from which routes are derived."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Expression:
    """A simplified expression.

    `kind` is `text`, `join` (concatenated parts), `name` (dotted), `call`, `list`, `map`, `function` or `other`.
    `place` is the id of a call or function, or the byte offset of a name.
    """

    kind: str
    text: str = ""
    parts: tuple[Expression, ...] = ()
    keywords: tuple[tuple[str, Expression], ...] = ()
    place: int = 0


OTHER = Expression("other")
OBJECT_PROPERTY = "{}"  # recorded as the type of a parameter that is a property of a destructured object


@dataclass(frozen=True, slots=True)
class Invocation:
    """A call, annotation or decorator with its arguments. `receiver` is the dotted text before the name."""

    name: str
    receiver: str
    arguments: tuple[Expression, ...]
    keywords: tuple[tuple[str, Expression], ...]
    line: int
    start: int
    end: int
    on: Expression | None = None  # receiver of the call as an expression
    target: int = 0  # id of the annotated function or class

    @property
    def full_name(self) -> str:
        """Name of the called function, prefixed with the receiver: `router.get`."""
        return f"{self.receiver}.{self.name}" if self.receiver else self.name

    def keyword(self, name: str) -> Expression | None:
        """Return the value of a keyword argument, or None."""
        return next((value for key, value in self.keywords if key == name), None)

    def argument(self, selector: int | str) -> Expression | None:
        """Return the argument at a position or with a keyword, or None. A key in a map argument counts as keyword."""
        if isinstance(selector, int):
            inside = -len(self.arguments) <= selector < len(self.arguments)
            return self.arguments[selector] if inside else None
        maps = [each.keywords for each in self.arguments if each.kind == "map"]
        pairs = [pair for pairs in (self.keywords, *maps) for pair in pairs]
        return next((value for key, value in pairs if key == selector), None)


@dataclass(frozen=True, slots=True)
class CodeDefinition:
    """A function or class. `id` is the offset of the first byte, and `container` the enclosing class."""

    id: int
    end: int
    name: str
    line: int
    container: str = ""
    parameters: tuple[tuple[str, str], ...] = ()  # name and type of each parameter
    bases: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Name of the definition, prefixed with the class if there is one."""
        return f"{self.container}.{self.name}" if self.container else self.name


@dataclass(frozen=True, slots=True)
class Assignment:
    """An assignment to a variable, constant or field. `scope` is the id of the enclosing function, or 0."""

    name: str
    value: Expression
    scope: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ImportedName:
    """An import of `name` from `module` as `local`. `name` is empty if `local` refers to the module itself."""

    local: str
    module: str
    name: str = ""


@dataclass(slots=True)
class ContractFacts:
    """Calls, definitions, assignments and imports of one file."""

    path: str
    language: str
    # Calls by the offset of the last byte, which is unique even in a chain of calls.
    calls: dict[int, Invocation] = field(default_factory=dict)
    annotations: list[Invocation] = field(default_factory=list)
    functions: dict[int, CodeDefinition] = field(default_factory=dict)
    classes: dict[int, CodeDefinition] = field(default_factory=dict)
    assignments: list[Assignment] = field(default_factory=list)
    imports: list[ImportedName] = field(default_factory=list)
    _assigned: dict[str, list[Assignment]] = field(default_factory=dict)
    _imported: dict[str, list[ImportedName]] = field(default_factory=dict)
    _starts: list[int] = field(default_factory=list)
    _outer: dict[int, int] = field(default_factory=dict)  # id of the enclosing function by function id, or -1

    def scopes(self, offset: int) -> list[CodeDefinition]:
        """Return the functions that enclose a byte offset, innermost first."""
        if not self._starts:
            self._nest_functions()
        at = bisect_right(self._starts, offset) - 1
        found = []
        start = self._starts[at] if at >= 0 else -1
        while start in self.functions:
            if offset < self.functions[start].end:
                found.append(self.functions[start])
            start = self._outer[start]
        return found

    def _nest_functions(self) -> None:
        stack: list[int] = []
        for start in sorted(self.functions):
            while stack and self.functions[stack[-1]].end <= start:
                stack.pop()
            self._outer[start] = stack[-1] if stack else -1
            stack.append(start)
        self._starts = sorted(self.functions)

    def assigned(self, name: str) -> list[Assignment]:
        """Return the assignments to a name in this file, in document order."""
        if not self._assigned:
            for each in self.assignments:
                self._assigned.setdefault(each.name, []).append(each)
        return self._assigned.get(name, [])

    def imported(self, local: str) -> list[ImportedName]:
        """Return the imports that define a local name."""
        if not self._imported:
            for each in self.imports:
                self._imported.setdefault(each.local, []).append(each)
        return self._imported.get(local, [])
