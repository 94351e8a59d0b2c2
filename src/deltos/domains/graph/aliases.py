"""Names that imports give to definitions: `from .basket import Basket as Cart`, `export { Basket as Cart } from …`.

The graph knows what an import means, not under which name; the text of its line tells that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.graph.model import ALIAS
from deltos.domains.graph.source import occurrences
from deltos.domains.graph.unlisted import spans_with

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deltos.domains.graph.source import Source
    from deltos.store.code import Code
    from deltos.store.graph import Graph, ReferenceRow
    from deltos.store.symbols import Symbol

_MOST_FILES = 50  # with an import that gives the name
_PLACES_NAMED = 3
_PACKAGES = ("__init__.py", "__init__.pyi")
_EXPORTING = ("export ", "export{", "pub use ", "pub(")
_AS = "as"


@dataclass(frozen=True, slots=True)
class Alias:
    """A definition and the places (path and line) of imports that give it another name. `is_exported`: so that others
    import it by that name."""

    symbol: Symbol
    name: str
    places: tuple[tuple[str, int], ...]
    is_exported: bool

    @property
    def note(self) -> str:
        """What the name means, and where it is given."""
        named = ", ".join(f"{path}:{line}" for path, line in self.places[:_PLACES_NAMED])
        more = f" and {len(self.places) - _PLACES_NAMED} more" if len(self.places) > _PLACES_NAMED else ""
        verb = "re-exported" if self.is_exported else "imported"
        defined = f"{self.symbol.label} {self.symbol.path}:{self.symbol.line}"
        return f"{defined}, {verb} as {self.name} in {named}{more}"


def aliases_of(name: str, reader: Graph, code: Code, source: Source) -> list[Alias]:
    """What imports give a name to, those that re-export it alone where there are any."""
    found: dict[tuple[int, bool], list[tuple[str, int]]] = {}
    symbols: dict[int, Symbol] = {}
    for path, lines in _giving_lines(name, code, source).items():
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
    """The imports of one file that give a name to a definition, told by the text of their lines."""
    rows: dict[int, list[ReferenceRow]] = {}
    for row in imports:
        if _given_for(lines.get(row.line, ""), name):
            rows.setdefault(row.line, []).append(row)
    symbols = reader.symbols(row.target_id for here in rows.values() for row in here)
    return [
        (row, symbols[row.target_id])
        for line, here in rows.items()
        for row in _meant([row for row in here if row.target_id in symbols], _given_for(lines[line], name), symbols)
    ]


def _meant(rows: Sequence[ReferenceRow], written: str, symbols: dict[int, Symbol]) -> Sequence[ReferenceRow]:
    """Of the imports on one line those of the definition that is written there, maybe by a name it has from others."""
    named = [row for row in rows if symbols[row.target_id].name == written]
    renamed = [row for row in rows if row.origin == ALIAS]
    return named or (renamed if len(renamed) == 1 else ())


def _imports(path: str, reader: Graph) -> list[ReferenceRow]:
    """What the top of a file imports."""
    node_id = reader.module_node(path)
    rows = reader.outgoing(path, [node_id]) if node_id is not None else []
    return [row for row in rows if row.kind == "import" and row.certain]


def _giving_lines(name: str, code: Code, source: Source) -> dict[str, dict[int, str]]:
    """The lines that give something a name, by path and number."""
    found: dict[str, dict[int, str]] = {}
    for path, spans in sorted((spans_with(name, code) or {}).items()):
        text = source.text(path)
        if name not in text:
            continue
        lines = text.split("\n")
        inside = {number for first, last in spans for number in range(first, min(last, len(lines)) + 1)}
        if given := {number: lines[number - 1] for number in sorted(inside) if _given_for(lines[number - 1], name)}:
            found[path] = given
        if len(found) >= _MOST_FILES:
            break
    return found


def _given_for(line: str, name: str) -> str:
    """The name before `as` that a line gives another one for; empty where it gives none."""
    for at in occurrences(line, name):
        words = line[:at].split()
        if len(words) > 1 and words[-1] == _AS and line[at - 1].isspace():
            return _last_name(words[-2])
    return ""


def _last_name(text: str) -> str:
    """`Basket` of `{Basket`, `shop::Basket`, `Shop\\Basket`."""
    end = len(text)
    start = end
    while start and (text[start - 1].isalnum() or text[start - 1] in "_$"):
        start -= 1
    return text[start:end]


def _exports(path: str, line: str) -> bool:
    """Whether an import is written so that others may import the name from its file."""
    return path.endswith(_PACKAGES) or line.lstrip().startswith(_EXPORTING)
