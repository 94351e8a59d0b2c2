"""Find definitions by indirect names: re-exports (`flask.url_for`), inherited members, and import aliases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.graph.aliases import aliases_of, imports_with_alias
from deltos.domains.graph.declared.languages import traits_of
from deltos.domains.graph.qualified_names import ends_with
from deltos.store.symbols import bare_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deltos.domains.graph.qualified_names import QualifiedNames
    from deltos.domains.graph.source_lines import SourceLines
    from deltos.store.code import Code
    from deltos.store.graph import Graph, ReferenceRow
    from deltos.store.symbols import Symbol

_TYPE_KINDS = frozenset({"class", "interface", "type", "enum", "module", "component"})
_MAX_BASES = 200  # maximum number of direct and indirect base classes of one class
_MAX_MODULES = 20  # maximum number of modules to which the part before the last dot may refer
_MAX_STEPS = 8  # maximum number of parts of a dotted name and of modules in a chain of re-exports


@dataclass(frozen=True, slots=True)
class IndirectName:
    """Definitions to which an indirect name refers, and a text that explains how the name leads to them."""

    symbols: tuple[Symbol, ...] = ()
    explanation: str = ""


class IndirectNameFinder:
    """Resolves re-exported names, inherited members and import aliases to definitions."""

    def __init__(self, reader: Graph, code: Code, source: SourceLines, names: QualifiedNames) -> None:
        self._reader = reader
        self._code = code
        self._source = source
        self._names = names
        self._aliases: dict[str, IndirectName] = {}

    def find(self, name: str) -> IndirectName:
        """Return the definitions to which an indirect name refers.

        A dotted name may refer to a re-exported definition or an inherited member. A plain name may be an import alias.
        """
        owner, _, last = name.rpartition(".")
        if not owner:
            return self._find_alias(last)
        if owner.count(".") > _MAX_STEPS:
            return IndirectName()
        return self._find_re_exported(owner, last) or self._find_inherited(owner, last) or IndirectName()

    def members(self, owner: str) -> dict[str, Symbol]:
        """Return the members of a type and of its bases by name, nearest first."""
        found: dict[str, Symbol] = {}
        for base in self._with_bases(self._types(owner)):
            for row in self._reader.symbols_in(base.path):
                if row.key.rpartition(".")[0] == base.key:
                    found.setdefault(row.name, row)
        return found

    def _find_alias(self, name: str) -> IndirectName:
        """Return the definitions for which a plain name is an import alias."""
        if name not in self._aliases:
            found = aliases_of(name, self._reader, self._code, self._source)
            through = "; ".join(alias.note for alias in found)
            self._aliases[name] = IndirectName(tuple(alias.symbol for alias in found), through)
        return self._aliases[name]

    # --- inheritance

    def _types(self, name: str) -> list[Symbol]:
        """Return the types to which a direct or indirect name refers."""
        rows = self._reader.symbols_named(name.rpartition(".")[2])
        found = [row for row in rows if row.kind in _TYPE_KINDS and self._names.matches(row, name)]
        return found or [row for row in self.find(name).symbols if row.kind in _TYPE_KINDS]

    def _find_inherited(self, owner: str, last: str) -> IndirectName | None:
        """Return the inherited member called `last` of the type `owner`."""
        named = self._reader.symbols_named(last)
        for base in self._with_bases(self._types(owner)) if named else ():
            found = [row for row in named if _is_member(row, base)]
            if found:
                return IndirectName(tuple(found), f"{owner} inherits it from {base.label} {base.path}:{base.line}")
        return None

    def _with_bases(self, types: Sequence[Symbol]) -> list[Symbol]:
        """Return the given types and all types that they inherit from or embed, nearest types first."""
        found = {row.node_id: row for row in types}
        level = list(types)
        while level and len(found) < _MAX_BASES:
            bases = {row.node_id: row for each in level for row in self._bases(each) if row.node_id not in found}
            found |= bases
            level = list(bases.values())
        return list(found.values())

    def _bases(self, row: Symbol) -> Iterable[Symbol]:
        """Return the direct bases of a type."""
        edges = [edge for edge in self._reader.outgoing_references(row.path, [row.node_id]) if edge.kind == "inherit"]
        return self._reader.symbols(edge.target_id for edge in edges if edge.certain).values()

    # --- modules

    def _find_re_exported(self, owner: str, last: str) -> IndirectName | None:
        """Return the definitions that the module `owner` imports under the name `last`."""
        for path in self._modules(owner):
            if found := self._find_imported(path, last):
                renamed = [row.label for row in found if row.name != last]
                how = f"re-exports {', '.join(renamed)} as {last}" if renamed else "imports it"
                return IndirectName(tuple(found), f"{path} {how}")
        return None

    def _modules(self, name: str) -> list[str]:
        """Return the files of the modules to which a dotted name may refer, shortest paths first."""
        paths = self._reader.paths()
        found = [path for path in paths if any(ends_with(each, name) for each in self._names.modules(path))]
        return sorted(found, key=lambda path: (path.count("/"), path))[:_MAX_MODULES]

    def _find_imported(self, path: str, name: str) -> list[Symbol]:
        """Return the definitions that a file imports under a name at its top level, including star imports."""
        seen, pending = {path}, [path]
        while pending and len(seen) <= _MAX_STEPS:
            node_id = self._reader.module_node(current := pending.pop(0))
            rows = self._reader.outgoing_references(current, [node_id]) if node_id is not None else []
            imports = [row for row in rows if row.kind == "import" and row.certain]
            symbols = self._reader.symbols(row.target_id for row in imports).values()
            if found := [row for row in symbols if row.name == name] or self._definitions_imported_as(
                current, imports, name
            ):
                return found
            for file in [path for path in self._star_imports(rows) if path not in seen]:
                if found := [row for row in self._reader.symbols_in(file) if row.key == name]:
                    return found
                seen.add(file)
                pending.append(file)
        return []

    def _definitions_imported_as(self, path: str, imports: Sequence[ReferenceRow], name: str) -> list[Symbol]:
        """Return the definitions that a file imports under an alias called `name`."""
        texts = self._source.lines((path, row.line) for row in imports)
        lines = {line: text for (_, line), text in texts.items()}
        return [symbol for _, symbol in imports_with_alias(name, imports, lines, self._reader)]

    def _star_imports(self, rows: Sequence[ReferenceRow]) -> list[str]:
        """Return the files from which a star import imports all names: `from .task import *`, `pub use task::*`."""
        files = self._reader.nodes(row.target_id for row in rows if row.kind == "import" and row.certain)
        imports = [(row.path, row.line, files[row.target_id]) for row in rows if row.target_id in files]
        whole = [(path, line, place) for path, line, (place, key) in imports if not key]
        texts = self._source.lines((path, line) for path, line, _ in whole)
        return [place for path, line, place in whole if "*" in texts.get((path, line), "")]


def _is_member(row: Symbol, owner: Symbol) -> bool:
    """Whether a definition is a member of a type. In Go, a member may be in another file of the package."""
    if bare_key(row.key).rpartition(".")[0] != bare_key(owner.key):
        return False
    return row.path == owner.path or (
        traits_of(row.path).has_implicit_interfaces and _folder(row.path) == _folder(owner.path)
    )


def _folder(path: str) -> str:
    return path.rpartition("/")[0]
