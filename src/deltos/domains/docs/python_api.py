"""Document the public API of Python modules from their source, without importing them."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from deltos.domains.docs.python_names import (
    Definition,
    defined_names,
    last_dotted_part,
    parse_module,
    public_name,
    statements,
)
from deltos.markup.model import NO_TRAITS, Document, Trait
from deltos.markup.outline import Outline
from deltos.markup.text import fenced

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from deltos.domains.docs.python_names import ModuleNames

_DEFINITION_RANK = 5  # heading level of module-level definitions
_MAX_CODE_CHARACTERS = 8_000  # maximum length of the code of a definition; longer code is truncated
_MAX_VALUE_CHARACTERS = 300  # maximum length of a shown assignment; longer ones are truncated
_MAX_DOTS_WITHOUT_PENALTY = (
    3  # names with more dots have a lower rank; `sqlalchemy.dialects.postgresql.JSONB` has 3 dots
)
_MAX_OPENING_CHARACTERS = 400  # number of characters of a docstring that are searched for a deprecation notice
_MAX_CLASS_DEPTH = 3  # maximum nesting level of documented classes
_SHOWN_SPECIAL_METHODS = ("__init__", "__call__", "__enter__", "__aenter__")
_DOCTEST_PROMPT = re.compile(r"^\s*>>> ", re.MULTILINE)


def describe_module(module: ModuleNames, exports: Mapping[str, str], source: str) -> Document:
    """Return a document with the public functions, classes and methods of a module and their signatures.

    `exports` maps names in the module to shorter public names.
    """
    tree = parse_module(source)
    title = module.name if module.is_public else min(exports.values(), key=len).rpartition(".")[0]
    writer = _ModuleWriter(source)
    writer.outline.start_section(1, title, [module.name])
    writer.write_docstring(tree)
    body = [node for node, is_for_type_checking in statements(tree.body) if not is_for_type_checking]
    written: set[str] = set()
    for node in body:
        for name in defined_names(node):
            public = public_name(module, exports, name)
            if public and name in module.defined - written and not isinstance(node, Definition):
                writer.write_statement(node, public)
                written.add(name)
    for name, nodes in _definitions_by_name(body).items():
        if name in module.defined and (public := public_name(module, exports, name)):
            writer.write_definition(nodes, public)
    for node, name in _foreign_reexports(module, body):
        if name not in written and (public := public_name(module, exports, name)):
            writer.write_statement(node, public)
    return Document(title=title, sections=writer.outline.sections())


def _definitions_by_name(body: Iterable[ast.stmt]) -> dict[str, list[Definition]]:
    """Return the definitions in a module or class by name. Overloads of a function come before its definition."""
    found: dict[str, list[Definition]] = {}
    for node in body:
        if isinstance(node, Definition):
            known = found.setdefault(node.name, [])
            if all(map(_is_overload, known)):
                known.append(node)
    return found


def _is_overload(node: Definition) -> bool:
    return any(last_dotted_part(each) == "overload" for each in node.decorator_list)


def _foreign_reexports(module: ModuleNames, body: Iterable[ast.stmt]) -> Iterator[tuple[ast.stmt, str]]:
    """Yield the names that a module re-exports from other distributions, with the import statement."""
    top = module.name.partition(".")[0]
    foreign = {each.alias for each in module.imported if each.is_explicit and each.origin.partition(".")[0] != top}
    for node in body:
        names = node.names if isinstance(node, ast.ImportFrom) else ()
        yield from ((node, name) for alias in names if (name := alias.asname or alias.name) in foreign)


class _ModuleWriter:
    """Writes the definitions of a module into a document, classes before their members."""

    def __init__(self, source: str) -> None:
        self.outline = Outline()
        # Lines are split as in the Python parser, in which a form feed does not end a line.
        self._lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")

    def write_definition(self, nodes: Sequence[Definition], name: str, depth: int = 0) -> None:
        """Write a class, or a function with its overloads, with the docstring, and the members of a class."""
        node = nodes[-1]
        members = _definitions_by_name(node.body) if isinstance(node, ast.ClassDef) else {}
        constructor = members.get("__init__", ())
        if any(map(ast.get_docstring, constructor)):
            constructor = ()  # a documented constructor has its own section
        fields = list(self._fields(node)) if isinstance(node, ast.ClassDef) else []
        code = [*map(self._header, nodes), *fields, *map(self._header, constructor)]
        traits = _ranking_traits(node, name)
        if len(code) == len(nodes) and not any(map(ast.get_docstring, nodes)):
            traits |= Trait.UNDOCUMENTED
        self.outline.start_section(_DEFINITION_RANK + depth, name, [name], is_definition=True, traits=traits)
        self.outline.add_block(fenced(_truncate("\n".join(code), _MAX_CODE_CHARACTERS), "python"), "code")
        self.write_docstring(next(filter(ast.get_docstring, reversed(nodes)), node))
        for member, member_nodes in members.items():
            is_public = not member.startswith("_") or (member in _SHOWN_SPECIAL_METHODS and member_nodes != constructor)
            if is_public and depth < _MAX_CLASS_DEPTH:
                self.write_definition(member_nodes, f"{name}.{member}", depth + 1)
        self.outline.close_sections(_DEFINITION_RANK + depth)

    def write_statement(self, node: ast.stmt, name: str) -> None:
        """Write a constant, a type, an alias or an import."""
        last = name.rpartition(".")[2]
        is_type = last[:1].isupper() and not last.isupper()  # a CamelCase name is a type or a type alias
        traits = _depth_trait(name) | (Trait.TYPE if is_type else NO_TRAITS)
        self.outline.start_section(_DEFINITION_RANK, name, [name], is_definition=True, traits=traits)
        text = "\n".join(self._lines[node.lineno - 1 : node.end_lineno])
        self.outline.add_block(fenced(_truncate(text, _MAX_VALUE_CHARACTERS), "python"), "code")
        self.outline.close_sections(_DEFINITION_RANK)

    def write_docstring(self, node: ast.Module | Definition) -> None:
        """Write a docstring, and put doctest examples into code fences."""
        for paragraph in (ast.get_docstring(node) or "").split("\n\n"):
            self.outline.add_block(fenced(paragraph) if _DOCTEST_PROMPT.match(paragraph) else paragraph)

    def _header(self, node: Definition) -> str:
        """Return the decorators and the signature of a function, or the header of a class."""
        end = max(_first_line(node.body[0]) - 1, node.lineno)
        return "\n".join(self._lines[_first_line(node) - 1 : end])

    def _fields(self, node: ast.ClassDef) -> Iterator[str]:
        """Yield the source of the public fields of a class, each with the string that describes it."""
        is_after_field = False
        for each in node.body:
            names = defined_names(each) if isinstance(each, ast.Assign | ast.AnnAssign) else []
            is_field = bool(names) and not names[0].startswith("_")
            is_description = isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)
            if is_field or (is_after_field and is_description):
                text = "\n".join(self._lines[each.lineno - 1 : each.end_lineno])
                yield _truncate(text, _MAX_VALUE_CHARACTERS)
            is_after_field = is_field


def _first_line(node: ast.stmt) -> int:
    """Return the number of the first line of a statement, including its decorators."""
    decorators = node.decorator_list if isinstance(node, Definition) else []
    return min((each.lineno for each in decorators), default=node.lineno)


def _ranking_traits(node: Definition, name: str) -> Trait:
    """Return the properties that lower the rank of a function or class in search results."""
    traits = _depth_trait(name)
    decorators = [each.func if isinstance(each, ast.Call) else each for each in node.decorator_list]
    opening = (ast.get_docstring(node) or "")[:_MAX_OPENING_CHARACTERS].lower()
    is_marked = any(last_dotted_part(each) == "deprecated" for each in decorators)
    if is_marked or ".. deprecated::" in opening or opening.startswith("deprecated"):
        traits |= Trait.DEPRECATED
    if isinstance(node, ast.ClassDef):
        bases = [last_dotted_part(base) for base in node.bases]
        if any(each.endswith(("Error", "Exception", "Warning")) for each in (node.name, *bases)):
            traits |= Trait.ERROR
        if any(each in ("TypedDict", "Protocol") for each in bases):
            traits |= Trait.TYPE
    return traits


def _depth_trait(name: str) -> Trait:
    """Return DEEP_IMPORT for a qualified name with many dots, which lowers its rank, or no traits."""
    return Trait.DEEP_IMPORT if name.count(".") > _MAX_DOTS_WITHOUT_PENALTY else NO_TRAITS


def _truncate(text: str, max_characters: int) -> str:
    return text if len(text) <= max_characters else f"{text[:max_characters]} …"
