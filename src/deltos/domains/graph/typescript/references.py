"""Resolve the references in a file's body to symbols."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.graph.kernel.resolver import Resolution
from deltos.domains.graph.model import ALIAS, Edge, Import
from deltos.domains.graph.typescript import nodes, types
from deltos.domains.graph.typescript.check.members import bases, find_members
from deltos.domains.graph.typescript.facts import ImportOrigin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.domains.graph.model import EdgeKind
    from deltos.domains.graph.typescript.check.checker import Checker
    from deltos.domains.graph.typescript.facts import Body, ImportSite
    from deltos.domains.graph.typescript.modules.module import Module
    from deltos.domains.graph.typescript.modules.program import LookupResult
    from deltos.domains.graph.typescript.nodes import Term
    from deltos.domains.graph.typescript.types import Type

_TYPE_KINDS = frozenset(("type", "inherit"))
_MISSING_ORIGIN = "missing"
_WHOLE_MODULE_NAMES = (nodes.NAMESPACE, nodes.EXPORTED_VALUE)
_EXPORT_KEY_PREFIXES = ("default.", "module.exports.", "exports.")
"""Key prefixes of the members of an exported value."""
_MAX_REEXPORTS = 8
"""Maximum number of re-exporting modules to follow."""
_NAMES_WITHOUT_SYMBOL = (*_WHOLE_MODULE_NAMES, "default")


class ReferenceTarget(NamedTuple):
    """A symbol to which a reference may refer, with the rule by which the symbol was found."""

    path: str
    key: str
    origin: str
    is_certain: bool = True


def _missing_target(name: str) -> ReferenceTarget:
    """Return a possible target for a name that a module of the project should export but does not define."""
    return ReferenceTarget("", name, _MISSING_ORIGIN, is_certain=False)


class References:
    """Resolves the references in one file."""

    def __init__(self, checker: Checker, module: Module, body: Body) -> None:
        self._checker = checker
        self._program = checker.program
        self._module = module
        self._body = body
        self._uses = body.uses
        self._edges: dict[tuple[int, str, str, str, str], Edge] = {}
        self._names: dict[tuple[str, int], list[ReferenceTarget]] = {}

    def edges(self) -> tuple[Edge, ...]:
        """Return all edges from the file."""
        self._resolve_links()
        self._resolve_names()
        self._resolve_members()
        self._resolve_merges()
        self._resolve_overrides()
        return tuple(self._edges.values())

    def _add_edge(self, line: int, source: str, kind: EdgeKind, target: ReferenceTarget) -> None:
        """Add an edge; a definite edge replaces a possible edge to the same target."""
        key = (line, source, target.path, target.key, kind)
        known = self._edges.get(key)
        if known is None or (target.is_certain and not known.certain):
            self._edges[key] = Edge(line, source, target.path, target.key, kind, target.origin, target.is_certain)

    def _add_edges(self, line: int, source: str, kind: EdgeKind, targets: list[ReferenceTarget]) -> None:
        """Add edges to all targets. A name that is missing in the imported module also gets an import edge."""
        for target in targets:
            self._add_edge(line, source, kind, target)
            if target.origin == _MISSING_ORIGIN:
                self._add_edge(line, source, "import", target)

    # --- references by name

    def _resolve_names(self) -> None:
        for meaning, uses in ((nodes.AS_VALUE, self._uses.names), (nodes.AS_TYPE, self._uses.type_names)):
            for use in uses:
                if use.is_symbol:
                    self._add_edge(
                        use.line, use.source, use.kind, ReferenceTarget(self._module.path, use.name, "scope")
                    )
                else:
                    self._add_edges(use.line, use.source, use.kind, self._cached_name_targets(use.name, meaning))

    def _cached_name_targets(self, name: str, meaning: int) -> list[ReferenceTarget]:
        known = self._names.get((name, meaning))
        if known is None:
            known = self._names[(name, meaning)] = list(self._name_targets(name, meaning))
        return known

    def _name_targets(self, name: str, meaning: int) -> Iterator[ReferenceTarget]:
        """Yield the symbols for a plain name: declarations in the file, imports and globals."""
        own = self._module.declared_entity(name)
        origin = self._module.imports.get(name)
        if own is None and origin is None:
            yield from self._entity_targets(self._program.lookup(self._module, name), meaning, "global")
        key = _symbol_key(own, meaning) if own is not None else None
        if key is not None:
            yield ReferenceTarget(self._module.path, key, "scope")
        if origin is not None:
            found = self._program.imported_entity(self._module, origin)
            is_certain = self._program.is_certain(self._module, origin)
            for target in self._entity_targets(found, meaning, "import", is_certain=is_certain):
                is_aliased = is_certain and target.key.rpartition(".")[2] not in (name, "default")
                yield target._replace(origin=ALIAS) if is_aliased else target
            yield from self._aliased_targets(found)
            if found is None and origin.name != nodes.NAMESPACE and self._should_be_in_project(origin.specifier):
                yield _missing_target(name if origin.name in _NAMES_WITHOUT_SYMBOL else origin.name)

    def _should_be_in_project(self, specifier: str) -> bool:
        """Whether the target of an unresolved import should be in the project: neither external nor a JSON file."""
        located = self._program.locator.locate(self._module.path, specifier)
        return not located.is_external and not (located.path or "").endswith(".json")

    def _entity_targets(
        self, found: LookupResult | None, meaning: int, origin: str, *, is_certain: bool = True
    ) -> Iterator[ReferenceTarget]:
        """Yield the symbols for a name that was looked up."""
        if type(found) is types.DeclaredEntity and not found.module.is_library:
            key = _symbol_key(found, meaning)
            if key is not None:
                yield ReferenceTarget(found.module.path, key, origin, is_certain)
        elif type(found) is types.Property and found.key == nodes.REEXPORTED:
            inner = self._follow_reexports(found)
            if inner is not None:
                yield from self._entity_targets(inner, meaning, origin, is_certain=is_certain)
        elif type(found) is types.Property and found.key and not found.module.is_library:
            yield ReferenceTarget(found.module.path, found.key, origin, is_certain)

    def _follow_reexports(self, member: types.Property) -> LookupResult | None:
        """Return the declaration or module to which a re-exported member refers, following chains of re-exports."""
        found: LookupResult | None = member
        for _ in range(_MAX_REEXPORTS):
            if type(found) is not types.Property or found.key != nodes.REEXPORTED:
                return found
            found = self._program.lookup(found.module, found.term) if isinstance(found.term, str) else None
        return None

    def _aliased_targets(self, found: LookupResult | None) -> Iterator[ReferenceTarget]:
        """Yield the symbols to which an exported or shorthand property refers. Symbols behind an export are certain."""
        term, key = (found.term, found.key) if type(found) is types.Property else (None, "")
        if type(found) is types.DeclaredEntity and found.name.startswith("exports."):
            first = found.parts[0]
            term, key = (first.term, found.name) if isinstance(first, nodes.ValueDeclaration) else (None, "")
        if isinstance(term, str) and found is not None and key != nodes.REEXPORTED:
            inner = self._program.lookup(found.module, term)
            if inner is not None and inner is not found:
                is_exported = key.startswith(_EXPORT_KEY_PREFIXES)
                for target in self._entity_targets(inner, nodes.AS_VALUE, "export", is_certain=is_exported):
                    is_aliased = is_exported and target.key.rpartition(".")[2] != key.rpartition(".")[2]
                    yield target._replace(origin=ALIAS) if is_aliased else target

    # Imports

    def _resolve_links(self) -> None:
        for link in self._uses.links:
            origin = ImportOrigin(link.specifier, link.name)
            found = self._program.imported_entity(self._module, origin)
            if type(found) is types.NamespaceType:
                self._add_edge(link.line, link.source, "import", ReferenceTarget(found.module.path, "", "import"))
            if type(found) is types.NamespaceType or link.name == nodes.NAMESPACE:
                continue
            is_certain = link.is_alias and self._program.is_certain(self._module, origin)
            for meaning in (nodes.AS_VALUE, nodes.AS_TYPE):
                for target in self._entity_targets(found, meaning, "import", is_certain=is_certain):
                    self._add_edge(link.line, link.source, "import", target)
            for target in self._aliased_targets(found):
                self._add_edge(link.line, link.source, "import", target)
            if found is None and link.name not in _NAMES_WITHOUT_SYMBOL and self._should_be_in_project(link.specifier):
                self._add_edge(link.line, link.source, "import", _missing_target(link.name))

    # --- references to members

    def _resolve_members(self) -> None:
        known: dict[tuple[Term | int, str, bool], list[ReferenceTarget]] = {}
        for use, owner in zip(self._uses.members, self._body.owners, strict=True):
            as_type = use.kind in _TYPE_KINDS
            cache_key = (id(owner) if type(owner) in nodes.TERM_KINDS else owner, use.name, as_type)
            targets = known.get(cache_key)
            if targets is None:
                meaning = nodes.AS_TYPE if as_type else nodes.AS_VALUE
                targets = known[cache_key] = self._member_targets(owner, use.name, meaning)
            self._add_edges(use.line, use.source, use.kind, targets)

    def _member_targets(self, owner: Term, name: str, meaning: int) -> list[ReferenceTarget]:
        """Return the symbols for a member, or a possible target if the type of the member's owner is unknown."""
        found = self._checker.type_in_body(self._module, owner)
        if found is None:
            origin = self._module.imports.get(owner) if isinstance(owner, str) else None
            if (
                origin is not None
                and origin.name in _WHOLE_MODULE_NAMES
                and self._should_be_in_project(origin.specifier)
            ):
                return [_missing_target(name)]
            return (
                [] if self._program.is_library_member(name) else [ReferenceTarget("", name, "name", is_certain=False)]
            )
        if type(found) is types.NamespaceType:
            exported = self._program.exported_entity(found.module, name)
            return [*self._entity_targets(exported, meaning, "namespace"), *self._aliased_targets(exported)]
        targets: list[ReferenceTarget] = []
        for member in find_members(self._checker, found, name):
            targets += (
                [*self._entity_targets(member, meaning, "member"), *self._aliased_targets(member)] if member.key else []
            )
        return targets

    # --- references between declarations

    def _resolve_merges(self) -> None:
        for merge in self._uses.merges:
            self._add_edge(merge.line, merge.key, "type", ReferenceTarget(self._module.path, merge.first, "merge"))
        for each in self._uses.augmented:
            found = self._program.imported_entity(self._module, ImportOrigin(each.specifier, each.name))
            for target in self._entity_targets(found, nodes.AS_TYPE, "merge"):
                self._add_edge(self._uses.lines.get(each.key, each.line), each.key, "type", target)

    def _resolve_overrides(self) -> None:
        """Add edges from members to the overridden members of base types."""
        for declared in self._own_types():
            tables = [part.members for part in declared.parts if isinstance(part, nodes.WITH_MEMBERS)]
            for base in dict.fromkeys(bases(self._checker, types.InstanceType(declared))):
                self._add_overrides(tables, base)

    def _add_overrides(self, tables: list[dict[str, nodes.ClassMember]], base: Type) -> None:
        """Add edges from the members in `tables` to the members of a base type which they override."""
        overridden: dict[str, list[ReferenceTarget]] = {}  # overridden members by name
        for name, member in itertools.chain.from_iterable(table.items() for table in tables):
            if name == "constructor" or not member.key:
                continue
            if name not in overridden:
                found = find_members(self._checker, base, name)
                overridden[name] = [
                    ReferenceTarget(each.module.path, each.key, "override")
                    for each in found
                    if each.key and each.key != nodes.REEXPORTED and not each.module.is_library
                ]
            self._add_edges(self._uses.lines.get(member.key, 0), member.key, "inherit", overridden[name])

    def _own_types(self) -> Iterator[types.DeclaredEntity]:
        for name, parts in self._module.declarations.items():
            if any(isinstance(part, nodes.WITH_MEMBERS) for part in parts):
                declared = self._module.declared_entity(name)
                if declared is not None:
                    yield declared
        for term in self._body.locals:
            if isinstance(term, nodes.LocalType):
                yield self._checker.inner_entity(self._module, term)


def _symbol_key(declared: types.DeclaredEntity, meaning: int) -> str | None:
    """Return the symbol key of a declaration as a type or as a value, depending on `meaning`."""
    values = {part.key for part in declared.parts if isinstance(part, nodes.ValueDeclaration)}
    for part in declared.parts:
        # A value whose members are assigned outside its declaration is not a type.
        is_object = isinstance(part, nodes.ClassDeclaration) and part.key in values and not part.members
        if (nodes.AS_VALUE if is_object else nodes.MEANINGS[type(part)]) & meaning:
            return part.key
    return None


def resolve_file(checker: Checker, path: str, body: Body) -> Resolution:
    """Resolve the references and imports of one file, given the project's modules."""
    memo = checker.memo
    memo.dependencies = set()
    module = checker.program.module(path)
    if module is None:
        return Resolution(path, (), (), frozenset())
    module.locals = body.locals
    checker.begin(module)
    edges = References(checker, module, body).edges()
    imports, external, unresolved = _imports(checker, module, body.uses.imports)
    checker.begin(None)
    module.locals = []
    return Resolution(path, edges, imports, frozenset(memo.dependencies - {path, ""}), external, unresolved)


def _imports(checker: Checker, module: Module, sites: list[ImportSite]) -> tuple[tuple[Import, ...], int, int]:
    """Return the imported files, the number of external imports, and the number of unresolved imports."""
    found: list[Import] = []
    external = unresolved = 0
    for site in sites:
        located = checker.program.locator.locate(module.path, site.specifier)
        if located.path is not None:
            if located.path != module.path:
                found.append(Import(site.line, located.path, site.mode))
        elif located.is_external:
            external += 1
        else:
            unresolved += 1
    return tuple(found), external, unresolved
