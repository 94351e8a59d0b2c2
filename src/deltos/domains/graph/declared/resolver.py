"""Resolve the references and imports of files by looking up names in imports, packages and enclosing types."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.graph.declared.extract import extract
from deltos.domains.graph.declared.facts import CALLABLE, DOCUMENTED, TYPE_SIGN, SourceBody, declared_codec
from deltos.domains.graph.declared.languages import TRAITS
from deltos.domains.graph.declared.macros import TYPE_ONLY
from deltos.domains.graph.declared.members import CALLABLE_KINDS, UseResolver
from deltos.domains.graph.declared.name_lookup import LookupResult, NameLookup
from deltos.domains.graph.declared.source_files import DefinedSymbol, SourceFiles
from deltos.domains.graph.declared.types import parse_type
from deltos.domains.graph.kernel.dependencies import all_definitions, external_package
from deltos.domains.graph.kernel.resolver import Resolution
from deltos.domains.graph.model import ALIAS, MAX_TARGETS, THROUGH, UNPARSED_MACRO, Edge, Import
from deltos.store.symbols import bare_key

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from deltos.domains.graph.declared.facts import ImportClause, Occurrence
    from deltos.domains.graph.declared.languages.traits import LanguageTraits
    from deltos.domains.graph.declared.source_files import SourceFile
    from deltos.domains.graph.kernel.resolver import FileFacts, ProjectFacts
    from deltos.domains.graph.model import EdgeKind
    from deltos.workspace.indexer import ParsedFile

_EDGE_KIND_BY_ROLE: dict[str, EdgeKind] = {
    "call": "call",
    "create": "call",
    "construct": "call",
    CALLABLE: "call",
    "type": "type",
    DOCUMENTED: "type",
    TYPE_ONLY: "type",
    "inherit": "inherit",
    "decorate": "decorate",
}


# At least two characters, because a single capital letter is a type parameter
_RUST_TYPE_NAME = re.compile(r"[A-Z]\w+")
_STRUCT_KINDS = frozenset({"class", "enum"})
_MAX_PREFIXES = 12
_MAX_EXPANDED_NAMES = 64
"""Maximum number of names in macro bodies to look up for one use."""


def _possible_packages(clause: ImportClause, traits: LanguageTraits) -> list[str]:
    """Return the external packages to which an unresolved import may refer: all prefixes of the imported name.

    A Ruby `require` refers to the first part of its name, and a C `#include` to its entire path.
    """
    if clause.form == "file":
        return [traits.external_file_name(clause)]
    separator = traits.import_separator
    parts = clause.name.split(separator)[:_MAX_PREFIXES]
    return [separator.join(parts[: count + 1]) for count in range(len(parts))]


class DeclaredTypesResolver:
    """Resolves names in Go, Java, Kotlin, C#, Rust, C, C++, PHP, Ruby and Swift."""

    languages = frozenset(TRAITS)
    codec = declared_codec()

    def extract(self, file: ParsedFile) -> FileFacts:
        """Return the facts of one file, independent of all other files."""
        return extract(file)

    def resolve(self, project: ProjectFacts, paths: Collection[str]) -> Iterator[Resolution]:
        """Resolve the references in the given files against the facts of the entire project."""
        sources = SourceFiles(project)
        for path in sorted(paths):
            facts, file = project.facts(path), sources.file(path)
            if facts is not None and isinstance(facts.body, SourceBody) and file is not None:
                yield FileResolver(sources, file).resolve(facts.body)
            else:
                yield Resolution(path, (), (), frozenset())


class _EdgeTarget(NamedTuple):
    """Fields of an edge except whether it is certain, in the sort order of edges."""

    line: int
    source: str
    path: str
    key: str
    kind: EdgeKind

    def to_edge(self, *, is_certain: bool, is_aliased: bool) -> Edge:
        """Return the edge; its `origin` shows how the edge was resolved."""
        origin = "name" if not is_certain else ALIAS if is_aliased else "scope"
        return Edge(*self, origin, certain=is_certain)


class FileResolver:
    """Resolves the uses and imports of one file."""

    def __init__(self, sources: SourceFiles, file: SourceFile) -> None:
        self._sources = sources
        self._file = file
        self._names = NameLookup(sources, file)
        self._members = UseResolver(self._names, file)
        self._known_owners: dict[str, tuple[frozenset[str], bool]] = {}
        self._expansions: dict[
            tuple[str, tuple[DefinedSymbol, ...], str], tuple[tuple[DefinedSymbol, EdgeKind], ...]
        ] = {}

    def resolve(self, body: SourceBody) -> Resolution:
        """Return all edges and imports of the file."""
        edges: dict[_EdgeTarget, bool] = {}
        named: set[_EdgeTarget] = set()  # references by the target's own name, not by an alias
        for use in dict.fromkeys(body.uses):  # Duplicates are removed, because a line may repeat a use many times.
            kind = _EDGE_KIND_BY_ROLE.get(use.role, "read")
            found = self._members.use_targets(use.source, use.name, use.role, use.receiver)
            if (
                not (found.targets and found.is_certain)
                and (type_members := self._members_of_named_type(use)) is not None
            ):
                found = LookupResult(tuple(type_members), is_certain=False)
                if not type_members:
                    continue
            if len(found.targets) > MAX_TARGETS:
                edges.setdefault(_EdgeTarget(use.line, use.source, "", use.name, kind), False)
                continue
            for path, key in found.targets:
                reference = _EdgeTarget(use.line, use.source, path, key, kind)
                edges[reference] = edges.get(reference, False) or found.is_certain
                if use.role == "construct" or bare_key(key).rpartition(".")[2] == use.name:
                    named.add(reference)
            if (
                found.is_certain and use.source not in self._file.macros
            ):  # Macros are expanded where code uses them, not inside other macros.
                for target, expanded in self._macro_targets(use.source, found.targets, use.role):
                    edges[_EdgeTarget(use.line, use.source, *target, expanded)] = True
            if not found.targets and (possible_kind := self._possible_kind(use, kind)):
                edges.setdefault(_EdgeTarget(use.line, use.source, "", use.name, possible_kind), False)
        imports, external, unresolved = self._resolve_imports(body.import_lines)
        for item, key in imports:
            edges[reference := _EdgeTarget(item.line, "", item.target_path, key, "import")] = True
            named.add(reference)
        return Resolution(
            self._file.path,
            tuple(
                [
                    reference.to_edge(is_certain=certain, is_aliased=reference not in named)
                    for reference, certain in sorted(edges.items())
                ]
            ),
            tuple(dict.fromkeys(item for item, _ in imports if item.target_path != self._file.path)),
            frozenset(self._names.dependencies - {self._file.path}),
            external,
            unresolved,
        )

    def _possible_kind(self, use: Occurrence, kind: EdgeKind) -> EdgeKind:
        """Return the kind of the possible reference for an unresolved use, or an empty string if there is none."""
        if use.receiver is None:
            return UNPARSED_MACRO if use.role == UNPARSED_MACRO else ""
        if self._may_be_member(use):
            return kind
        type_name = self._external_interface(use)
        return THROUGH + type_name if type_name else ""

    def _may_be_member(self, use: Occurrence) -> bool:
        """Whether an unresolved use may be a member of a value of unknown type."""
        if use.receiver is None or not use.receiver[0] or use.role in (DOCUMENTED, CALLABLE):
            return False
        if self._members.has_external_type(use.receiver):
            return False
        return not self._is_external(use.source, use.receiver[0]) and not self._is_in_other_crate(use)

    def _external_interface(self, use: Occurrence) -> str:
        """Return the type of another package through which a member is used, or an empty string if there is none.

        The member must have the name of a function in the project, because a type of the project may implement the
        other package's type.
        """
        if use.receiver is None or len(use.receiver) != 1 or not use.receiver[0].startswith(TYPE_SIGN):
            return ""
        self._names.dependencies.add(all_definitions(use.name))
        if all(each.kind not in CALLABLE_KINDS for each in self._sources.named(use.name)):
            return ""
        name = parse_type(use.receiver[0][1:]).name
        return self._file.traits.external_interface(self._file, use.source, name)

    def _is_in_other_crate(self, use: Occurrence) -> bool:
        """Whether the first name in a Rust path is a crate outside the project."""
        external = self._file.traits.external_packages(self._sources) if use.receiver else ()
        first = use.receiver[0] if use.receiver else ""
        return first in external and self._file.module(use.source, first) is None

    def _macro_targets(
        self, source: str, targets: tuple[DefinedSymbol, ...], role: str
    ) -> tuple[tuple[DefinedSymbol, EdgeKind], ...]:
        """Return the targets of the names in the bodies of used macros, including macros inside macros."""
        if not self._file.traits.links_by_name:
            return ()
        memo = (source, targets, role)
        if memo not in self._expansions:
            self._expansions[memo] = tuple(dict.fromkeys(self._follow_macros(source, targets, role)))
        return self._expansions[memo]

    def _follow_macros(
        self, source: str, targets: tuple[DefinedSymbol, ...], role: str
    ) -> Iterator[tuple[DefinedSymbol, EdgeKind]]:
        """Yield the definitions that names in the bodies of macros refer to, including macros used in these bodies."""
        pending, seen, left = [*targets], set(targets), _MAX_EXPANDED_NAMES
        while pending and left:
            macro = pending.pop()
            file = self._names.read(macro.path)
            names = file.macros.get(macro.key, ())[:left] if file is not None else ()
            for each in names:
                left -= 1
                own_role = (
                    role if len(names) == 1 and each.role == "read" else each.role
                )  # `#define a b`: a use of `a` is a use of `b`
                found = self._members.use_targets(source, each.name, own_role, None)
                for target in found.targets if found.is_certain else ():
                    yield target, _EDGE_KIND_BY_ROLE.get(own_role, "read")
                    if target not in seen:
                        seen.add(target)
                        pending.append(target)

    def _members_of_named_type(self, use: Occurrence) -> list[DefinedSymbol] | None:
        """Return the members to which Rust's `Builder::new` may refer if the type `Builder` is unknown.

        These are the members `new` of all types called `Builder`. The list is empty if the path leads to an external
        crate. If `Builder` may be a trait or an alias, return None, because the member may then belong to any type.
        """
        owner = use.receiver[-1] if use.receiver else ""
        if not self._file.traits.has_module_tree or not _RUST_TYPE_NAME.fullmatch(owner) or owner == "Self":
            return None
        self._names.dependencies.update((all_definitions(owner), all_definitions(use.name)))
        if self._is_in_other_crate(use):
            return []
        visible_definitions = self._names.visible_definitions(self._file, owner, use.source).targets
        kinds = {each.kind for each in self._sources.named(owner)}
        if kinds - _STRUCT_KINDS or any(
            bare_key(target.key).rpartition(".")[2] != owner for target in visible_definitions
        ):
            return None
        owners, is_of_trait = self._owners(use.name)
        if is_of_trait:
            return None
        ending = f".{owner}.{use.name}"
        named = self._sources.named(use.name) if owner in owners else ()
        return [DefinedSymbol(each.path, each.key) for each in named if f".{bare_key(each.key)}".endswith(ending)]

    def _owners(self, name: str) -> tuple[frozenset[str], bool]:
        """Return the names of the types that have a member of this name, and whether one of the types is a trait."""
        if name not in self._known_owners:
            locations = {(each.path, each.key.rpartition(".")[0]) for each in self._sources.named(name)}
            owners = frozenset(key.rpartition(".")[2] for _, key in locations if key)
            traits = [each for owner in owners for each in self._sources.named(owner) if each.kind == "interface"]
            self._known_owners[name] = (owners, any((each.path, each.key) in locations for each in traits))
        return self._known_owners[name]

    def _is_external(self, source: str, first: str) -> bool:
        """Whether the first step of an access path was imported from outside the project."""
        name = first.removeprefix(":").partition("<")[0].partition(".")[0].removesuffix("()")
        module = self._file.module(source, name)
        if module is None:
            return False
        names = self._names
        return not names.visible_definitions(self._file, name, source).targets and not names.package_files(module)

    # --- imports

    def _resolve_imports(self, lines: tuple[int, ...]) -> tuple[list[tuple[Import, str]], int, int]:
        """Return the imports with the keys of their targets, and the numbers of external and unresolved imports."""
        found: list[tuple[Import, str]] = []
        external = unresolved = 0
        for line, clause in zip(lines, self._file.imports, strict=True):
            targets = list(dict.fromkeys(self._import_targets(clause)))
            # In Rust, an inner module may import a name from its own file. This is a reference, not an import of a
            # file.
            others = [target for target in targets if target.key or target.path != self._file.path]
            found.extend((Import(line, path, "runtime"), key) for path, key in others)
            if not targets:
                is_internal = clause.form == "file" and clause.alias != "system"
                external += not is_internal
                self._names.dependencies.update(map(external_package, _possible_packages(clause, self._file.traits)))
                unresolved += is_internal
        return found, external, unresolved

    def _import_targets(self, clause: ImportClause) -> Iterable[DefinedSymbol]:
        """Return the definitions or files to which an import refers."""
        names = self._names
        if clause.form == "file":
            target = names.included_path(self._file, clause.name)
            return [] if target is None else [DefinedSymbol(target, "")]
        full = self._sources.absolute_name(self._file, clause.name, clause.within)
        if clause.form in ("name", "member"):
            return names.definitions_by_full_name(full) or names.package_files(full)
        return names.package_files(full)
