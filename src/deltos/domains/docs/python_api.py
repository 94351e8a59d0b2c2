"""Document the public API of Python modules from their source, without importing them."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.docs.python_signature import (
    DefinitionText,
    format_class,
    format_function,
    inline_constructor,
    is_overload,
    is_typed,
)
from deltos.domains.docs.python_source import (
    Definition,
    Function,
    defined_names,
    imports,
    is_explicit_reexport,
    last_dotted_part,
    literal_all_names,
    names_in_all,
    parse_module,
    split_source_lines,
    statements,
)
from deltos.markup.model import NO_TRAITS, Document, Trait
from deltos.markup.outline import Outline
from deltos.markup.text import fenced

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deltos.domains.docs.python_names import DocumentedModule

_DEFINITION_RANK = 5  # heading level of module-level definitions
_MAX_VALUE_CHARACTERS = 300  # maximum length of a shown assignment; longer ones are truncated
_MAX_SHALLOW_DEPTH = 3  # names with more dots rank lower; `sqlalchemy.dialects.postgresql.JSONB` has 3
_MAX_OPENING_CHARACTERS = 400  # number of characters of a docstring that are searched for a deprecation notice
_MAX_CLASS_DEPTH = 3  # maximum nesting level of documented classes
_DOCTEST_PROMPT = re.compile(r"^\s*>>> ", re.MULTILINE)


def describe_module(module: DocumentedModule, source: str, stub: str = "") -> Document:
    """Return a document with the public functions, classes and methods of a module and their signatures.

    The stub file (`.pyi`) provides missing types and the definitions of compiled code.
    """
    tree = parse_module(source)
    writer = _ModuleWriter(module, _ModuleSource(statements(tree), split_source_lines(source)), _ModuleSource.of(stub))
    writer.write_module(tree)
    return Document(title=module.title, sections=writer.outline.sections())


class _ModuleSource(NamedTuple):
    """Top-level statements and source lines of a module."""

    body: Sequence[ast.stmt]
    lines: Sequence[str]

    @classmethod
    def of(cls, source: str) -> _ModuleSource:
        """Parse the source code of a module into statements and lines."""
        return cls(statements(parse_module(source)), split_source_lines(source))


class _StubbedDefinition(NamedTuple):
    """A definition, its source lines, and the definition of the same name in the stub file, if there is one."""

    node: Definition
    typed: Definition | None
    lines: Sequence[str]


class _ModuleWriter:
    """Writes the definitions of a module into a document, classes before their members."""

    def __init__(self, module: DocumentedModule, text: _ModuleSource, stub: _ModuleSource) -> None:
        self.outline = Outline()
        self._module = module
        self._text = text
        self._stub = stub
        self._overloads: defaultdict[Function, list[Function]] = defaultdict(list)
        self._star_names: set[str] | None = None  # names that `import *` imports from the module; None if unknown

    def write_module(self, tree: ast.Module) -> None:
        """Write the module and its definitions."""
        self._star_names = literal_all_names(tree)
        self.outline.start_section(1, self._module.title, [self._module.name])
        self._write_docstring(tree)
        stub = self._without_overloads(self._stub.body)
        typed = {node.name: node for node in stub if isinstance(node, Definition)}
        written: set[str] = set()
        for node in self._without_overloads(self._text.body):
            self._write_names(node, self._text.lines, written, typed)
        self._write_foreign_names(tree, written)
        for node in stub if "*" not in self._module.imported_from_package else ():
            self._write_names(node, self._stub.lines, written | self._module.imported_from_package, {})

    def _write_names(
        self, node: ast.stmt, lines: Sequence[str], written: set[str], typed: Mapping[str, Definition]
    ) -> None:
        """Write the public names that a statement defines; skip names that have already been written."""
        for name in defined_names(node):
            public_name = "" if name in written else self._public_name(name)
            if not public_name:
                continue
            written.add(name)
            if isinstance(node, Definition):
                self._write_definition(_StubbedDefinition(node, typed.get(name), lines), public_name, 0)
            else:
                self._write_assignment(node, public_name, lines)

    def _write_foreign_names(self, tree: ast.Module, written: set[str]) -> None:
        """Write the import statements of names that the module re-exports from other distributions."""
        top, listed = self._module.name.partition(".")[0], names_in_all(tree)
        for node, alias, is_for_type_checking in imports(tree):
            name = alias.asname or alias.name
            is_foreign = not node.level and (node.module or "").partition(".")[0] != top and name not in written
            if is_foreign and is_explicit_reexport(alias, listed, is_for_type_checking=is_for_type_checking):
                written.add(name)
                if public_name := self._public_name(name):
                    self._write_assignment(node, public_name, self._text.lines)

    def _public_name(self, name: str) -> str:
        """Return the public name of a name defined in this module, or "" if the name is internal."""
        exports = self._module.exports
        if name in exports and not exports[name].rpartition(".")[2].startswith("_"):
            return exports[name]
        if name.startswith("_"):
            return ""
        if "*" in exports and (self._star_names is None or name in self._star_names):
            return exports["*"].removesuffix("*") + name
        return f"{self._module.name}.{name}" if self._module.is_public else ""

    def _without_overloads(self, body: Iterable[ast.stmt]) -> list[ast.stmt]:
        """Return the statements without overloads, and record the overloads of each function.

        If a function has only overloads, as in stub files, the last one is kept.
        """
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

    def _write_definition(self, known: _StubbedDefinition, name: str, depth: int) -> None:
        """Write a function or class with its docstring, and the members of a class."""
        node = known.node
        shown = self._format_with_stub(known)
        traits = _ranking_traits(node, name) if not depth else _deprecation_trait(node)
        if shown.is_undocumented:
            traits |= Trait.UNDOCUMENTED
        self.outline.start_section(_DEFINITION_RANK + depth, name, [name], is_definition=True, traits=traits)
        self.outline.add_block(fenced(shown.code, "python"), "code")
        self._write_docstring(node)
        for each in shown.descriptions:
            self.outline.add_block(each)
        if isinstance(node, ast.ClassDef) and depth < _MAX_CLASS_DEPTH:
            for member in self._separate_members(node, known):
                self._write_definition(member, f"{name}.{member.node.name}", depth + 1)
        self.outline.close_sections(_DEFINITION_RANK + depth)

    def _separate_members(self, node: ast.ClassDef, known: _StubbedDefinition) -> list[_StubbedDefinition]:
        """Return the public members of a class that get their own sections.

        Members that only the stub file defines come last.
        """
        stub = self._without_overloads(known.typed.body) if isinstance(known.typed, ast.ClassDef) else []
        typed = {each.name: each for each in stub if isinstance(each, Definition)}
        own = [each for each in self._without_overloads(node.body) if isinstance(each, Definition)]
        members = [_StubbedDefinition(each, typed.pop(each.name, None), known.lines) for each in own]
        members += [_StubbedDefinition(each, None, self._stub.lines) for each in typed.values()]
        shown = (
            inline_constructor(node),
            inline_constructor(known.typed) if isinstance(known.typed, ast.ClassDef) else None,
        )
        return [each for each in members if _is_public_member(each.node.name) and each.node not in shown]

    def _format_with_stub(self, known: _StubbedDefinition) -> DefinitionText:
        """Format a definition; if only the stub file has type annotations, format the definition in the stub file."""
        node, typed = known.node, known.typed
        by_stub = typed if typed and not is_typed(node) and is_typed(typed) else None
        shown = self._format(by_stub or node, self._stub.lines if by_stub else known.lines)
        return shown._replace(is_undocumented=shown.is_undocumented and not ast.get_docstring(node))

    def _format(self, node: Definition, lines: Sequence[str]) -> DefinitionText:
        if isinstance(node, ast.ClassDef):
            return format_class(node, lines)
        return format_function(node, lines, self._overloads.get(node, ()))

    def _write_assignment(self, node: ast.stmt, name: str, lines: Sequence[str]) -> None:
        """Write a constant, type or alias definition."""
        text = "\n".join(lines[node.lineno - 1 : node.end_lineno])
        # A CamelCase name is a type or a type alias.
        last = name.rpartition(".")[2]
        traits = _depth_trait(name) | (Trait.TYPE if last[:1].isupper() and not last.isupper() else NO_TRAITS)
        self.outline.start_section(_DEFINITION_RANK, name, [name], is_definition=True, traits=traits)
        self.outline.add_block(fenced(_truncate(text, _MAX_VALUE_CHARACTERS), "python"), "code")
        self.outline.close_sections(_DEFINITION_RANK)

    def _write_docstring(self, node: ast.Module | Definition) -> None:
        """Write a docstring, and put doctest examples into code fences."""
        text = ast.get_docstring(node)
        for paragraph in (text or "").split("\n\n"):
            self.outline.add_block(fenced(paragraph) if _DOCTEST_PROMPT.match(paragraph) else paragraph)


def _ranking_traits(node: Definition, name: str) -> Trait:
    """Return the traits that lower the rank of a function or class in search results."""
    traits = _depth_trait(name) | _deprecation_trait(node)
    if isinstance(node, ast.ClassDef):
        bases = [each for base in node.bases if (each := last_dotted_part(base))]
        if any(each.endswith(("Error", "Exception", "Warning")) for each in (node.name, *bases)):
            traits |= Trait.ERROR
        if any(each in ("TypedDict", "Protocol") for each in bases):
            traits |= Trait.TYPE
    return traits


def _depth_trait(name: str) -> Trait:
    """Return the trait DEEP_IMPORT for a qualified name with many dots; otherwise, return no traits."""
    return Trait.DEEP_IMPORT if name.count(".") > _MAX_SHALLOW_DEPTH else NO_TRAITS


def _deprecation_trait(node: Definition) -> Trait:
    """Return the trait DEPRECATED for a definition that is marked as deprecated; otherwise, return no traits."""
    decorators = [each.func if isinstance(each, ast.Call) else each for each in node.decorator_list]
    is_marked = any(last_dotted_part(each) == "deprecated" for each in decorators)
    opening = (ast.get_docstring(node) or "")[:_MAX_OPENING_CHARACTERS].lower()
    return (
        Trait.DEPRECATED if is_marked or ".. deprecated::" in opening or opening.startswith("deprecated") else NO_TRAITS
    )


def _truncate(text: str, max_characters: int) -> str:
    return text if len(text) <= max_characters else f"{text[:max_characters]} …"


def _is_public_member(name: str) -> bool:
    return not name.startswith("_") or name in ("__init__", "__call__", "__enter__", "__aenter__")
