"""Search for definitions by an import alias, as in `from .basket import Basket as Cart`.

The graph stores the imported definition but not its alias. The alias is therefore read from the source line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.graph.model import ALIAS
from deltos.domains.graph.source_lines import occurrences
from deltos.domains.graph.text_comparison import chunk_spans_with
from deltos.text.counts import first_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deltos.domains.graph.source_lines import SourceLines
    from deltos.store.code import Code
    from deltos.store.graph import Graph, ReferenceRow
    from deltos.store.symbols import Symbol

_MAX_FILES = 50  # maximum number of files that are searched for imports with an alias
_MAX_LISTED_LOCATIONS = 3
_PACKAGE_FILES = ("__init__.py", "__init__.pyi")
_EXPORT_PREFIXES = ("export ", "export{", "pub use ", "pub(")
_AS_KEYWORD = "as"


@dataclass(frozen=True, slots=True)
class Alias:
    """An import alias of a definition, with the locations of the imports that introduce it.

    `is_exported` means that other files can import the alias.
    """

    symbol: Symbol
    name: str
    locations: tuple[tuple[str, int], ...]
    is_exported: bool

    @property
    def note(self) -> str:
        """Description of the alias for an answer: the definition, the alias, and the locations of the imports."""
        named = first_names([f"{path}:{line}" for path, line in self.locations], _MAX_LISTED_LOCATIONS)
        verb = "re-exported" if self.is_exported else "imported"
        defined = f"{self.symbol.label} {self.symbol.path}:{self.symbol.line}"
        return f"{defined}, {verb} as {self.name} in {named}"


def aliases_of(name: str, reader: Graph, code: Code, source: SourceLines) -> list[Alias]:
    """Return the re-exported import aliases with this name or, if there are none, all aliases with this name."""
    found: dict[tuple[int, bool], list[tuple[str, int]]] = {}
    symbols: dict[int, Symbol] = {}
    for path, lines in _alias_lines(name, code, source).items():
        for row, symbol in imports_with_alias(name, _top_level_imports(path, reader), lines, reader):
            symbols[symbol.node_id] = symbol
            found.setdefault((symbol.node_id, _is_re_exported(path, lines[row.line])), []).append((path, row.line))
    any_exported = any(is_exported for _, is_exported in found)
    return [
        Alias(symbols[node_id], name, tuple(dict.fromkeys(locations)), is_exported)
        for (node_id, is_exported), locations in found.items()
        if is_exported or not any_exported
    ]


def imports_with_alias(
    name: str, imports: Iterable[ReferenceRow], lines: dict[int, str], reader: Graph
) -> list[tuple[ReferenceRow, Symbol]]:
    """Return the imports of one file that introduce `name` as an alias, each with the imported definition."""
    rows: dict[int, list[ReferenceRow]] = {}
    for row in imports:
        if _original_name(lines.get(row.line, ""), name):
            rows.setdefault(row.line, []).append(row)
    symbols = reader.symbols(row.target_id for here in rows.values() for row in here)
    return [
        (row, symbols[row.target_id])
        for line, here in rows.items()
        for row in _matching_imports(
            [row for row in here if row.target_id in symbols], _original_name(lines[line], name), symbols
        )
    ]


def _matching_imports(rows: Sequence[ReferenceRow], written: str, symbols: dict[int, Symbol]) -> Sequence[ReferenceRow]:
    """Return the imports of a definition called `written` from the imports on one line.

    If there are none, return the only import that uses an alias.
    """
    named = [row for row in rows if symbols[row.target_id].name == written]
    renamed = [row for row in rows if row.origin == ALIAS]
    return named or (renamed if len(renamed) == 1 else ())


def _top_level_imports(path: str, reader: Graph) -> list[ReferenceRow]:
    """Return the imports at the top level of a file that were resolved with certainty."""
    node_id = reader.module_node(path)
    rows = reader.outgoing_references(path, [node_id]) if node_id is not None else []
    return [row for row in rows if row.kind == "import" and row.certain]


def _alias_lines(name: str, code: Code, source: SourceLines) -> dict[str, dict[int, str]]:
    """Return the lines that introduce `name` as an alias (`… as name`), by path and line number."""
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
    """Return the name before `as` in a line, or an empty string if the line does not introduce an alias."""
    for at in occurrences(line, name):
        words = line[:at].split()
        if len(words) > 1 and words[-1] == _AS_KEYWORD and line[at - 1].isspace():
            return _last_name(words[-2])
    return ""


def _last_name(text: str) -> str:
    r"""Return the last identifier in a text: `Basket` in `{Basket`, `shop::Basket` and `Shop\\Basket`."""
    end = len(text)
    start = end
    while start and (text[start - 1].isalnum() or text[start - 1] in "_$"):
        start -= 1
    return text[start:end]


def _is_re_exported(path: str, line: str) -> bool:
    """Whether other files can import the alias that the import on this line introduces."""
    return path.endswith(_PACKAGE_FILES) or line.lstrip().startswith(_EXPORT_PREFIXES)
