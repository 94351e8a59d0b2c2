"""The public API of Python modules: signatures and docstrings, read from source without importing anything."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.docs.python_signature import Shown, is_overload, is_typed, maker_of, show_class, show_function
from deltos.domains.docs.python_source import (
    Definition,
    Function,
    last_name,
    lines_of,
    names_of,
    parsed,
    statements,
    wholly_listed,
)
from deltos.markup.model import NO_TRAITS, Document, Trait
from deltos.markup.outline import Outline
from deltos.markup.text import fenced

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deltos.domains.docs.python_names import DocumentedModule

_DEFINITION_RANK = 5
_LONGEST_VALUE = 300
_USUAL_DEPTH = 3  # dots: `sqlalchemy.dialects.postgresql.JSONB`
_LONGEST_OPENING = 400  # of a docstring, where it would say that something is deprecated
_DEEPEST = 3  # classes inside classes
_EXAMPLE = re.compile(r"^\s*>>> ", re.MULTILINE)


def describe_module(module: DocumentedModule, source: str, stub: str = "") -> Document:
    """The module's docstring and every public function, class and method with its signature.

    A stub beside it gives the types of what has none, and what the module takes from compiled code.
    """
    tree = parsed(source)
    writer = _Writer(module, _Text(statements(tree), lines_of(source)), _Text.of(stub))
    writer.module(tree)
    return Document(title=module.title, sections=writer.outline.sections())


class _Text(NamedTuple):
    """Statements with the lines that they stand in."""

    body: Sequence[ast.stmt]
    lines: Sequence[str]

    @classmethod
    def of(cls, source: str) -> _Text:
        return cls(statements(parsed(source)), lines_of(source))


class _Known(NamedTuple):
    """A definition, and the one of a stub that has its types."""

    node: Definition
    typed: Definition | None
    lines: Sequence[str]


class _Writer:
    """Writes definitions into an outline, outermost first."""

    def __init__(self, module: DocumentedModule, text: _Text, stub: _Text) -> None:
        self.outline = Outline()
        self._module = module
        self._text = text
        self._stub = stub
        self._overloads: defaultdict[Function, list[Function]] = defaultdict(list)
        self._starred: set[str] | None = None  # what `import *` takes; all names where the module does not say

    def module(self, tree: ast.Module) -> None:
        """The module itself, then what it defines."""
        self._starred = wholly_listed(tree)
        self.outline.heading(1, self._module.title, [self._module.name])
        self._docstring(tree)
        stub = self._without_overloads(self._stub.body)
        typed = {node.name: node for node in stub if isinstance(node, Definition)}
        written: set[str] = set()
        for node in self._without_overloads(self._text.body):
            self._names(node, self._text.lines, written, typed)
        for node in stub if "*" not in self._module.elsewhere else ():
            self._names(node, self._stub.lines, written | self._module.elsewhere, {})

    def _names(self, node: ast.stmt, lines: Sequence[str], written: set[str], typed: Mapping[str, Definition]) -> None:
        """What a statement defines of what is not written yet."""
        for name in names_of(node):
            known_as = "" if name in written else self._public_name(name)
            if not known_as:
                continue
            written.add(name)
            if isinstance(node, Definition):
                self._definition(_Known(node, typed.get(name), lines), known_as, 0)
            else:
                self._assignment(node, known_as, lines)

    def _public_name(self, name: str) -> str:
        """What users call a name of this module; empty when it is not meant for them."""
        exports = self._module.exports
        if name in exports and not exports[name].rpartition(".")[2].startswith("_"):
            return exports[name]
        if name.startswith("_"):
            return ""
        if "*" in exports and (self._starred is None or name in self._starred):
            return exports["*"].removesuffix("*") + name
        return f"{self._module.name}.{name}" if self._module.is_public else ""

    def _without_overloads(self, body: Iterable[ast.stmt]) -> list[ast.stmt]:
        """Statements without the overloads of functions that follow, which are shown with them; in a stub, the last
        overload stands for the function."""
        every = list(body)
        defined: dict[str, Function] = {}
        for node in every:
            if isinstance(node, Function) and (not is_overload(node) or is_overload(defined.get(node.name, node))):
                defined[node.name] = node
        kept: list[ast.stmt] = []
        for node in every:
            if isinstance(node, Function) and is_overload(node) and node is not defined[node.name]:
                self._overloads[defined[node.name]].append(node)
            else:
                kept.append(node)
        return kept

    def _definition(self, known: _Known, name: str, depth: int) -> None:
        node = known.node
        shown = self._shown(known)
        traits = _traits(node, name) if not depth else _deprecated(node)
        if shown.is_bare:
            traits |= Trait.BARE
        self.outline.heading(_DEFINITION_RANK + depth, name, [name], is_definition=True, traits=traits)
        self.outline.block(fenced(shown.code, "python"), "code")
        self._docstring(node)
        for each in shown.told:
            self.outline.block(each)
        if isinstance(node, ast.ClassDef) and depth < _DEEPEST:
            for member in self._members(node, known):
                self._definition(member, f"{name}.{member.node.name}", depth + 1)
        self.outline.leave(_DEFINITION_RANK + depth)

    def _members(self, node: ast.ClassDef, known: _Known) -> list[_Known]:
        """The public members of a class that are not shown with it, those of its stub alone last."""
        stub = self._without_overloads(known.typed.body) if isinstance(known.typed, ast.ClassDef) else []
        typed = {each.name: each for each in stub if isinstance(each, Definition)}
        own = [each for each in self._without_overloads(node.body) if isinstance(each, Definition)]
        members = [_Known(each, typed.pop(each.name, None), known.lines) for each in own]
        members += [_Known(each, None, self._stub.lines) for each in typed.values()]
        shown = (maker_of(node), maker_of(known.typed) if isinstance(known.typed, ast.ClassDef) else None)
        return [each for each in members if _is_member(each.node.name) and each.node not in shown]

    def _shown(self, known: _Known) -> Shown:
        """A definition by its stub, where that has types that the source lacks."""
        node, typed = known.node, known.typed
        by_stub = typed if typed and not is_typed(node) and is_typed(typed) else None
        shown = self._as_is(by_stub or node, self._stub.lines if by_stub else known.lines)
        return shown._replace(is_bare=shown.is_bare and not ast.get_docstring(node))

    def _as_is(self, node: Definition, lines: Sequence[str]) -> Shown:
        if isinstance(node, ast.ClassDef):
            return show_class(node, lines)
        return show_function(node, lines, self._overloads.get(node, ()))

    def _assignment(self, node: ast.stmt, name: str, lines: Sequence[str]) -> None:
        """A constant, a type or another name for something."""
        text = "\n".join(lines[node.lineno - 1 : node.end_lineno])
        # A name like a class's is a type or another name for one.
        last = name.rpartition(".")[2]
        traits = _place(name) | (Trait.TYPE if last[:1].isupper() and not last.isupper() else NO_TRAITS)
        self.outline.heading(_DEFINITION_RANK, name, [name], is_definition=True, traits=traits)
        self.outline.block(fenced(_cut(text, _LONGEST_VALUE), "python"), "code")
        self.outline.leave(_DEFINITION_RANK)

    def _docstring(self, node: ast.Module | Definition) -> None:
        text = ast.get_docstring(node)
        for paragraph in (text or "").split("\n\n"):
            self.outline.block(fenced(paragraph) if _EXAMPLE.match(paragraph) else paragraph)


def _traits(node: Definition, name: str) -> Trait:
    """What puts a function or class behind others."""
    traits = _place(name) | _deprecated(node)
    if isinstance(node, ast.ClassDef):
        bases = [each for base in node.bases if (each := last_name(base))]
        if any(each.endswith(("Error", "Exception", "Warning")) for each in (node.name, *bases)):
            traits |= Trait.ERROR
        if any(each in ("TypedDict", "Protocol") for each in bases):
            traits |= Trait.TYPE
    return traits


def _place(name: str) -> Trait:
    return Trait.ELSEWHERE if name.count(".") > _USUAL_DEPTH else NO_TRAITS


def _deprecated(node: Definition) -> Trait:
    decorators = [each.func if isinstance(each, ast.Call) else each for each in node.decorator_list]
    is_marked = any(last_name(each) == "deprecated" for each in decorators)
    told = (ast.get_docstring(node) or "")[:_LONGEST_OPENING].lower()
    return Trait.DEPRECATED if is_marked or ".. deprecated::" in told or told.startswith("deprecated") else NO_TRAITS


def _cut(text: str, most_characters: int) -> str:
    return text if len(text) <= most_characters else f"{text[:most_characters]} …"


def _is_member(name: str) -> bool:
    return not name.startswith("_") or name in ("__init__", "__call__", "__enter__", "__aenter__")
