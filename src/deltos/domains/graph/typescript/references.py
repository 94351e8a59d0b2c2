"""Edges: every reference noted in a file's body, resolved to the symbols it means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltos.domains.graph.model import Edge, Import, Resolution
from deltos.domains.graph.typescript.terms import (
    AS_TYPE,
    AS_VALUE,
    CLASS,
    CLASS_DECLARATION,
    INTERFACE_DECLARATION,
    MEANINGS,
    NAMESPACE,
    VALUE_DECLARATION,
)
from deltos.domains.graph.typescript.typing.types import Declared, Instance, Namespace, Property

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deltos.domains.graph.model import FileFacts
    from deltos.domains.graph.typescript.project.module import Module
    from deltos.domains.graph.typescript.project.program import Program
    from deltos.domains.graph.typescript.terms import Term
    from deltos.domains.graph.typescript.typing.checker import Checker

    Target = tuple[str, str]

_TYPE_KINDS = frozenset(("type", "inherit"))


class References:
    """Resolves the references of one file."""

    def __init__(self, checker: Checker, module: Module, body: dict[str, Any]) -> None:
        self._checker = checker
        self._program: Program = checker.program
        self._module = module
        self._body = body
        self._edges: dict[tuple[int, str, str, str, str], Edge] = {}
        self._names: dict[tuple[str, int], list[tuple[str, str, str, bool]]] = {}

    def edges(self) -> tuple[Edge, ...]:
        """All edges out of the file."""
        self._resolve_links()
        self._resolve_names()
        self._resolve_members()
        self._resolve_merges()
        self._resolve_overrides()
        return tuple(self._edges.values())

    def _add(self, line: int, source: str, target: Target, kind: str, origin: str, *, certain: bool = True) -> None:
        key = (line, source, target[0], target[1], kind)
        known = self._edges.get(key)
        if known is None or (certain and not known.certain):
            self._edges[key] = Edge(line, source, target[0], target[1], kind, origin, certain)  # type: ignore[arg-type]

    # By name

    def _resolve_names(self) -> None:
        for meaning, table in ((AS_VALUE, "names"), (AS_TYPE, "type_names")):
            for line, source, kind, binding in self._body[table]:
                if type(binding) is tuple:
                    self._add(line, source, (self._module.path, binding[0]), kind, "scope")
                elif binding is not None:
                    for target_path, target_key, origin, certain in self._named(binding, meaning):
                        self._add(line, source, (target_path, target_key), kind, origin, certain=certain)

    def _named(self, name: str, meaning: int) -> list[tuple[str, str, str, bool]]:
        known = self._names.get((name, meaning))
        if known is None:
            known = self._names[(name, meaning)] = list(self._name_targets(name, meaning))
        return known

    def _name_targets(self, name: str, meaning: int) -> Iterator[tuple[str, str, str, bool]]:
        own = self._module.declared(name)
        if own is None and name not in self._module.imports:
            for target in self._targets(self._program.lookup(self._module, name), meaning):
                yield (*target, "global", True)
        key = _key(own, meaning) if own is not None else None
        if key is not None:
            yield (self._module.path, key, "scope", True)
        origin = self._module.imports.get(name)
        if origin is not None:
            found = self._program.imported(self._module, *origin)
            certain = self._program.is_certain(self._module, *origin)
            for target in self._targets(found, meaning):
                yield (*target, "import", certain)
            for target in self._behind(found):
                yield (*target, "export", False)

    def _targets(self, found: Declared | Namespace | Property | None, meaning: int) -> Iterator[Target]:
        """The symbols that a looked-up name stands for."""
        if type(found) is Declared and not found.module.is_library:
            key = _key(found, meaning)
            if key is not None:
                yield (found.module.path, key)
        elif type(found) is Property and found.key and not found.module.is_library:
            yield (found.module.path, found.key)

    def _behind(self, found: Declared | Namespace | Property | None) -> Iterator[Target]:
        """The symbol that an exported or shorthand property passes on under another name."""
        term = found.term if type(found) is Property else None
        if type(found) is Declared and found.name.startswith("exports."):
            term = found.parts[0][2] if found.parts[0][0] == VALUE_DECLARATION else None
        if type(term) is str and found is not None:
            inner = self._program.lookup(found.module, term)
            if inner is not None and inner is not found:
                yield from self._targets(inner, AS_VALUE)

    # Imports

    def _resolve_links(self) -> None:
        for line, source, specifier, name, is_alias in self._body["links"]:
            kind = "import"
            found = self._program.imported(self._module, specifier, name)
            certain = is_alias and self._program.is_certain(self._module, specifier, name)
            if name == NAMESPACE or type(found) is Namespace:
                if type(found) is Namespace:
                    self._add(line, source, (found.module.path, ""), kind, "import")
                continue
            for meaning in (AS_VALUE, AS_TYPE):
                for target in self._targets(found, meaning):
                    self._add(line, source, target, kind, "import", certain=certain)
            for target in self._behind(found):
                self._add(line, source, target, kind, "export", certain=False)

    # By type

    def _resolve_members(self) -> None:
        known: dict[tuple[Any, str, bool], list[tuple[str, str, str, bool]] | None] = {}
        for line, source, kind, owner, name in self._body["members"]:
            as_type = kind in _TYPE_KINDS
            question = (id(owner) if type(owner) is tuple else owner, name, as_type)
            if question not in known:
                known[question] = self._member_targets(owner, name, AS_TYPE if as_type else AS_VALUE)
            targets = known[question]
            if targets is None:
                self._mention(line, source, kind, name)
                continue
            for path, key, origin, certain in targets:
                self._add(line, source, (path, key), kind, origin, certain=certain)

    def _member_targets(self, owner: Term, name: str, meaning: int) -> list[tuple[str, str, str, bool]] | None:
        """What a member may mean: path, key, origin, certainty; None where its owner is unknown."""
        found = self._checker.question(self._module, owner)
        if found is None:
            return None
        targets: list[tuple[str, str, str, bool]] = []
        if type(found) is Namespace:
            exported = self._program.exported(found.module, name)
            targets += [(*target, "namespace", True) for target in self._targets(exported, meaning)]
            return targets + [(*target, "export", False) for target in self._behind(exported)]
        for member in self._checker.members(found, name):
            if member.key and not member.module.is_library:
                targets.append((member.module.path, member.key, "member", True))
                targets += [(*target, "export", False) for target in self._behind(member)]
        return targets

    def _mention(self, line: int, source: str, kind: str, name: str) -> None:
        """A member of a value of unknown type: any symbol of that name may be meant."""
        if not self._program.is_of_library(name):
            self._add(line, source, ("", name), kind, "name", certain=False)

    # Between declarations

    def _resolve_merges(self) -> None:
        path = self._module.path
        for line, key, first in self._body["merges"]:
            self._add(line, key, (path, first), "type", "merge")
        for specifier, name, line, key in self._body["augmented"]:
            found = self._program.imported(self._module, specifier, name)
            for target in self._targets(found, AS_TYPE):
                self._add(self._body["lines"].get(key, line), key, target, "type", "merge")

    def _resolve_overrides(self) -> None:
        """Members that stand for a member of a base type: their references are references to each other."""
        for declared in self._own_types():
            bases = list(self._checker.bases(Instance(declared)))
            for part in declared.parts:
                tables = list(_member_tables(part))
                for base in bases if tables else ():
                    self._override(tables[0], base)

    def _override(self, table: dict[str, Any], base: Any) -> None:
        lines = self._body["lines"]
        for name, member in table.items():
            if name == "constructor" or not member[0]:
                continue
            for found in self._checker.members(base, name):
                if found.key and not found.module.is_library:
                    target = (found.module.path, found.key)
                    self._add(lines.get(member[0], 0), member[0], target, "inherit", "override")

    def _own_types(self) -> Iterator[Declared]:
        for name, parts in self._module.declarations.items():
            if any(part[0] in (CLASS_DECLARATION, INTERFACE_DECLARATION) for part in parts):
                declared = self._module.declared(name)
                if declared is not None:
                    yield declared
        for term in self._body["locals"]:
            if type(term) is tuple and term and term[0] == CLASS:
                yield self._checker.inner_declared(self._module, term)


def _member_tables(part: tuple[Any, ...]) -> Iterable[dict[str, Any]]:
    if part[0] == CLASS_DECLARATION:
        return (part[6], part[7])
    return (part[4],) if part[0] == INTERFACE_DECLARATION else ()


def _key(declared: Declared, meaning: int) -> str | None:
    """The symbol of a declaration that a use means: the type or the value of that name."""
    values = {part[1] for part in declared.parts if part[0] == VALUE_DECLARATION}
    for part in declared.parts:
        is_object = part[0] == CLASS_DECLARATION and part[1] in values and not part[6]  # statics only
        if (AS_VALUE if is_object else MEANINGS[part[0]]) & meaning:
            return str(part[1])
    return None


def resolve_file(checker: Checker, path: str, facts: FileFacts) -> Resolution:
    """Resolve one file against the program."""
    memo = checker.memo
    memo.dependencies = set()
    module = checker.program.module(path)
    if module is None:
        return Resolution(path, (), (), frozenset())
    module.locals = facts.body["locals"]
    checker.begin(module)
    edges = References(checker, module, facts.body).edges()
    imports, external, unresolved = _imports(checker, module, facts.body["specifiers"])
    checker.begin(None)
    module.locals = []
    return Resolution(path, edges, imports, frozenset(memo.dependencies - {path, ""}), external, unresolved)


def _imports(
    checker: Checker, module: Module, specifiers: list[tuple[int, str, str]]
) -> tuple[tuple[Import, ...], int, int]:
    found: list[Import] = []
    external = unresolved = 0
    for line, specifier, mode in specifiers:
        located = checker.program.locator.locate(module.path, specifier)
        if located.path is not None:
            if located.path != module.path:
                found.append(Import(line, located.path, mode))  # type: ignore[arg-type]
        elif located.is_external:
            external += 1
        else:
            unresolved += 1
    return tuple(found), external, unresolved
