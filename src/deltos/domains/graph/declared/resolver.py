"""References by declarations: a name means what its imports, its package and its enclosing type let it mean."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.graph.declared.extract import extract
from deltos.domains.graph.declared.facts import CALLABLE, DOCUMENTED, SourceBody, declared_codec
from deltos.domains.graph.declared.macros import TYPE_ALONE
from deltos.domains.graph.declared.members import Members
from deltos.domains.graph.declared.shapes import SHAPES
from deltos.domains.graph.declared.visibility import Lookup, Visibility
from deltos.domains.graph.declared.world import DefinedSymbol, World
from deltos.domains.graph.kernel.dependencies import any_definition, outside_package
from deltos.domains.graph.kernel.resolver import Resolution
from deltos.domains.graph.model import ALIAS, MOST_TARGETS, UNPARSED, UNREAD, Edge, Import
from deltos.store.symbols import bare_key

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from deltos.domains.graph.declared.facts import ImportClause, Occurrence
    from deltos.domains.graph.declared.world import Unit
    from deltos.domains.graph.kernel.resolver import FileFacts, ProjectFacts
    from deltos.domains.graph.model import EdgeKind
    from deltos.workspace.indexer import ParsedFile

_ROLES: dict[str, EdgeKind] = {
    "call": "call",
    "create": "call",
    "construct": "call",
    CALLABLE: "call",
    "type": "type",
    DOCUMENTED: "type",
    TYPE_ALONE: "type",
    "inherit": "inherit",
    "decorate": "decorate",
}


_TYPE_OF_RUST = re.compile(r"[A-Z]\w+")  # a single capital is a type parameter
_STRUCTURES = frozenset({"class", "enum"})
_MOST_PREFIXES = 12
_MOST_EXPANDED = 64
"""Names in the bodies of macros that are looked up for one use."""


def _packages(clause: ImportClause, language: str) -> list[str]:
    """The packages that an import of something outside may be of: each beginning of its name, of a gem the first. A
    header is known by its whole path."""
    if clause.how == "file":
        return [clause.name if language != "ruby" else f"{clause.name.partition('/')[0].removesuffix('.rb')}.rb"]
    separator = "/" if language == "go" else "."
    parts = clause.name.split(separator)[:_MOST_PREFIXES]
    return [separator.join(parts[: count + 1]) for count in range(len(parts))]


class DeclaredTypesResolver:
    """Go, Java, Kotlin, C#, Rust, C, C++, PHP and Ruby."""

    languages = frozenset(SHAPES)
    codec = declared_codec()

    def extract(self, file: ParsedFile) -> FileFacts:
        """Facts about one file, independent of all others."""
        return extract(file)

    def resolve(self, project: ProjectFacts, paths: Collection[str]) -> Iterator[Resolution]:
        """Resolve the named files against the whole project."""
        world = World(project)
        for path in sorted(paths):
            facts, unit = project.facts(path), world.unit(path)
            if facts is not None and isinstance(facts.body, SourceBody) and unit is not None:
                yield FileResolver(world, unit).resolve(facts.body)
            else:
                yield Resolution(path, (), (), frozenset())


class _Reference(NamedTuple):
    """An edge but for its certainty; in the order in which edges are sorted."""

    line: int
    source: str
    path: str
    key: str
    kind: EdgeKind

    def edge(self, *, is_certain: bool, is_aliased: bool) -> Edge:
        """The edge, with the rule that its certainty tells."""
        origin = "name" if not is_certain else ALIAS if is_aliased else "scope"
        return Edge(*self, origin, certain=is_certain)


def _unknown(names: Iterable[Occurrence], edges: Iterable[_Reference]) -> list[_Reference]:
    """Possible uses of the names that no edge has on their lines."""
    known = {(each.line, bare_key(each.key).rpartition(".")[2]) for each in edges} if names else set()
    return [
        _Reference(use.line, use.source, "", use.name, UNPARSED) for use in names if (use.line, use.name) not in known
    ]


class FileResolver:
    """Resolves the uses of one file."""

    def __init__(self, world: World, unit: Unit) -> None:
        self._world = world
        self._unit = unit
        self._names = Visibility(world, unit)
        self._members = Members(self._names, unit)
        self._known_owners: dict[str, tuple[frozenset[str], bool]] = {}
        self._expansions: dict[tuple[str, tuple[DefinedSymbol, ...]], tuple[tuple[DefinedSymbol, EdgeKind], ...]] = {}

    def resolve(self, body: SourceBody) -> Resolution:
        """All edges and imports of the file."""
        edges: dict[_Reference, bool] = {}
        named: set[_Reference] = set()  # those whose line has the name of what it refers to
        for use in dict.fromkeys(body.uses):  # a line may say the same a thousand times
            kind = _ROLES.get(use.role, "read")
            found = self._members.meant(use.source, use.name, use.role, use.receiver)
            if not (found.targets and found.is_certain) and (alike := self._of_named_type(use)) is not None:
                found = Lookup(tuple(alike), is_certain=False)
                if not alike:
                    continue
            if len(found.targets) > MOST_TARGETS:
                edges.setdefault(_Reference(use.line, use.source, "", use.name, kind), False)
                continue
            for path, key in found.targets:
                reference = _Reference(use.line, use.source, path, key, kind)
                edges[reference] = edges.get(reference, False) or found.is_certain
                if use.role == "construct" or bare_key(key).rpartition(".")[2] == use.name:
                    named.add(reference)
            if found.is_certain and use.source not in self._unit.macros:  # where they are used, not where they are made
                for target, expanded in self._expanded(use.source, found.targets):
                    edges[_Reference(use.line, use.source, *target, expanded)] = True
            if not found.targets and use.receiver is None and use.role == UNREAD:
                edges.setdefault(_Reference(use.line, use.source, "", use.name, UNREAD), False)
            elif not found.targets and self._may_be_member(use):
                edges.setdefault(_Reference(use.line, use.source, "", use.name, kind), False)
        edges |= dict.fromkeys(_unknown(body.unparsed, edges), False)
        imports, external, unresolved = self._resolve_imports(body.import_lines)
        for item, key in imports:
            edges[reference := _Reference(item.line, "", item.target_path, key, "import")] = True
            named.add(reference)
        return Resolution(
            self._unit.path,
            tuple(
                [
                    reference.edge(is_certain=certain, is_aliased=reference not in named)
                    for reference, certain in sorted(edges.items())
                ]
            ),
            tuple(dict.fromkeys(item for item, _ in imports if item.target_path != self._unit.path)),
            frozenset(self._names.dependencies - {self._unit.path}),
            external,
            unresolved,
        )

    def _may_be_member(self, use: Occurrence) -> bool:
        """Whether a use that leads nowhere known goes through a value that may be anything."""
        if use.receiver is None or not use.receiver[0] or use.role in (DOCUMENTED, CALLABLE):
            return False
        return not self._is_external(use.source, use.receiver[0]) and not self._is_of_other_crate(use)

    def _is_of_other_crate(self, use: Occurrence) -> bool:
        """Whether a path of Rust begins with a crate that is not of the project."""
        if self._unit.language != "rust" or not use.receiver:
            return False
        first = use.receiver[0]
        return first in self._world.outside_crates and self._unit.module(use.source, first) is None

    def _expanded(self, source: str, targets: tuple[DefinedSymbol, ...]) -> tuple[tuple[DefinedSymbol, EdgeKind], ...]:
        """What the bodies of macros refer to where the macros are used; macros in them are replaced too."""
        if self._unit.language not in ("c", "cpp"):
            return ()
        memo = (source, targets)
        if memo not in self._expansions:
            self._expansions[memo] = tuple(dict.fromkeys(self._expand(source, targets)))
        return self._expansions[memo]

    def _expand(self, source: str, targets: tuple[DefinedSymbol, ...]) -> Iterator[tuple[DefinedSymbol, EdgeKind]]:
        pending, seen, left = [*targets], set(targets), _MOST_EXPANDED
        while pending and left:
            macro = pending.pop()
            unit = self._names.read(macro.path)
            for each in unit.macros.get(macro.key, ())[:left] if unit is not None else ():
                left -= 1
                found = self._members.meant(source, each.name, each.role, None)
                for target in found.targets if found.is_certain else ():
                    yield target, _ROLES.get(each.role, "read")
                    if target not in seen:
                        seen.add(target)
                        pending.append(target)

    def _of_named_type(self, use: Occurrence) -> list[DefinedSymbol] | None:
        """What Rust's `Builder::new` may mean where it is not known which Builder: members of the types of that name,
        nothing where the path is of another library. None where it may be any member: by a trait, or by another name
        of a type (`type Rt = Runtime`, `use Runtime as Rt`)."""
        owner = use.receiver[-1] if use.receiver else ""
        if self._unit.language != "rust" or not _TYPE_OF_RUST.fullmatch(owner) or owner == "Self":
            return None
        self._names.dependencies.update((any_definition(owner), any_definition(use.name)))
        if self._is_of_other_crate(use):
            return []
        visible = self._names.visible(self._unit, owner, use.source).targets
        kinds = {each.kind for each in self._world.named(owner)}
        if kinds - _STRUCTURES or any(bare_key(target.key).rpartition(".")[2] != owner for target in visible):
            return None
        owners, is_of_trait = self._owners(use.name)
        if is_of_trait:
            return None
        ending = f".{owner}.{use.name}"
        named = self._world.named(use.name) if owner in owners else ()
        return [DefinedSymbol(each.path, each.key) for each in named if f".{bare_key(each.key)}".endswith(ending)]

    def _owners(self, name: str) -> tuple[frozenset[str], bool]:
        """The names of the types that have a member of a name, and whether one of them is a trait."""
        if name not in self._known_owners:
            places = {(each.path, each.key.rpartition(".")[0]) for each in self._world.named(name)}
            owners = frozenset(key.rpartition(".")[2] for _, key in places if key)
            traits = [each for owner in owners for each in self._world.named(owner) if each.kind == "interface"]
            self._known_owners[name] = (owners, any((each.path, each.key) in places for each in traits))
        return self._known_owners[name]

    def _is_external(self, source: str, first: str) -> bool:
        """Whether a path starts at something that was imported and is not of the project."""
        name = first.removeprefix(":").partition("<")[0].partition(".")[0].removesuffix("()")
        module = self._unit.module(source, name)
        if module is None:
            return False
        names = self._names
        return not names.visible(self._unit, name, source).targets and not names.files_of(module)

    # --- imports

    def _resolve_imports(self, lines: tuple[int, ...]) -> tuple[list[tuple[Import, str]], int, int]:
        found: list[tuple[Import, str]] = []
        external = unresolved = 0
        for line, clause in zip(lines, self._unit.imports, strict=True):
            targets = list(dict.fromkeys(self._imported(clause)))
            # A module inside a file imports from the file itself: a reference, but no import of a file.
            others = [target for target in targets if target.key or target.path != self._unit.path]
            found.extend((Import(line, path, "runtime"), key) for path, key in others)
            if not targets:
                is_ours = clause.how == "file" and clause.alias != "system"
                external += not is_ours
                self._names.dependencies.update(map(outside_package, _packages(clause, self._unit.language)))
                unresolved += is_ours
        return found, external, unresolved

    def _imported(self, clause: ImportClause) -> Iterable[DefinedSymbol]:
        names = self._names
        if clause.how == "file":
            target = names.included(self._unit, clause.name)
            return [] if target is None else [DefinedSymbol(target, "")]
        full = self._world.absolute(self._unit, clause.name, clause.within)
        if clause.how in ("name", "member"):
            return names.named_fully(full) or names.files_of(full)
        return names.files_of(full)
