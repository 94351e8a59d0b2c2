"""Find the names that imports give to definitions: `from .basket import Basket as Cart`.

The graph stores the definition that an import refers to but not the alias, which is read from the source line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.graph.model import ALIAS
from deltos.domains.graph.source_lines import occurrences
from deltos.domains.graph.text_comparison import chunk_spans_with

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deltos.domains.graph.source_lines import SourceLines
    from deltos.store.code import Code
    from deltos.store.graph import Graph, ReferenceRow
    from deltos.store.symbols import Symbol

_MAX_FILES = 50  # files with an import that gives the alias
_MAX_NAMED_PLACES = 3
_PACKAGE_FILES = ("__init__.py", "__init__.pyi")
_EXPORT_PREFIXES = ("export ", "export{", "pub use ", "pub(")
_AS = "as"


@dataclass(frozen=True, slots=True)
class Alias:
    """A definition and the imports (path and line) that give it another name; `is_exported` if other files can import
    that name."""

    symbol: Symbol
    name: str
    places: tuple[tuple[str, int], ...]
    is_exported: bool

    @property
    def note(self) -> str:
        """What the alias refers to, and where it is introduced."""
        named = ", ".join(f"{path}:{line}" for path, line in self.places[:_MAX_NAMED_PLACES])
        more = f" and {len(self.places) - _MAX_NAMED_PLACES} more" if len(self.places) > _MAX_NAMED_PLACES else ""
        verb = "re-exported" if self.is_exported else "imported"
        defined = f"{self.symbol.label} {self.symbol.path}:{self.symbol.line}"
        return f"{defined}, {verb} as {self.name} in {named}{more}"


def aliases_of(name: str, reader: Graph, code: Code, source: SourceLines) -> list[Alias]:
    """Return the definitions that imports give a name to; if any import re-exports the name, only those."""
    found: dict[tuple[int, bool], list[tuple[str, int]]] = {}
    symbols: dict[int, Symbol] = {}
    for path, lines in _alias_lines(name, code, source).items():
        for row, symbol in imported_as(name, _imports(path, reader), lines, reader):
            symbols[symbol.node_id] = symbol
            found.setdefault((symbol.node_id, _exports(path, lines[row.line])), []).append((path, row.line))
    any_exported = any(is_exported for _, is_exported in found)
    return [
        Alias(symbols[node_id], name, tuple(dict.fromkeys(places)), is_exported)
        for (node_id, is_exported), places in found.items()
        if is_exported or not any_exported
    ]


def imported_as(
    name: str, imports: Iterable[ReferenceRow], lines: dict[int, str], reader: Graph
) -> list[tuple[ReferenceRow, Symbol]]:
    """Return the imports of one file, with their definitions, that introduce a name according to the text of their
    lines."""
    rows: dict[int, list[ReferenceRow]] = {}
    for row in imports:
        if _original_name(lines.get(row.line, ""), name):
            rows.setdefault(row.line, []).append(row)
    symbols = reader.symbols(row.target_id for here in rows.values() for row in here)
    return [
        (row, symbols[row.target_id])
        for line, here in rows.items()
        for row in _rows_of_definition(
            [row for row in here if row.target_id in symbols], _original_name(lines[line], name), symbols
        )
    ]


def _rows_of_definition(
    rows: Sequence[ReferenceRow], written: str, symbols: dict[int, Symbol]
) -> Sequence[ReferenceRow]:
    """Of the imports on one line, return the one whose definition is called `written`, or else the only import by
    alias."""
    named = [row for row in rows if symbols[row.target_id].name == written]
    renamed = [row for row in rows if row.origin == ALIAS]
    return named or (renamed if len(renamed) == 1 else ())


def _imports(path: str, reader: Graph) -> list[ReferenceRow]:
    """Return the certain imports at the top level of a file."""
    node_id = reader.module_node(path)
    rows = reader.outgoing(path, [node_id]) if node_id is not None else []
    return [row for row in rows if row.kind == "import" and row.certain]


def _alias_lines(name: str, code: Code, source: SourceLines) -> dict[str, dict[int, str]]:
    """Return the lines that introduce a name with `as`, by path and line number."""
    found: dict[str, dict[int, str]] = {}
    for path, spans in sorted((chunk_spans_with(name, code) or {}).items()):
        text = source.text(path)
        if name not in text:
            continue
        lines = text.split("\n")
        inside = {number for first, last in spans for number in range(first, min(last, len(lines)) + 1)}
        if aliasing := {
            number: lines[number - 1] for number in sorted(inside) if _original_name(lines[number - 1], name)
        }:
            found[path] = aliasing
        if len(found) >= _MAX_FILES:
            break
    return found


def _original_name(line: str, name: str) -> str:
    """Return the name before `as` in a line that introduces an alias; empty if it introduces none."""
    for at in occurrences(line, name):
        words = line[:at].split()
        if len(words) > 1 and words[-1] == _AS and line[at - 1].isspace():
            return _last_name(words[-2])
    return ""


def _last_name(text: str) -> str:
    r"""Return the last identifier of a text: `Basket` of `{Basket`, `shop::Basket` and `Shop\\Basket`."""
    end = len(text)
    start = end
    while start and (text[start - 1].isalnum() or text[start - 1] in "_$"):
        start -= 1
    return text[start:end]


def _exports(path: str, line: str) -> bool:
    """Whether an import makes the name importable from its file."""
    return path.endswith(_PACKAGE_FILES) or line.lstrip().startswith(_EXPORT_PREFIXES)
