"""Repository map within a token budget: the most central files and their symbols."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.budget import characters_for, fit
from deltos.text.counts import counted
from deltos.wording import truncated
from deltos.workspace.file_purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deltos.store.graph import Graph, ImportRow
    from deltos.store.symbols import Symbol
    from deltos.workspace.project_index import ProjectIndex

OVERVIEW_TOKENS = 2_000
_MAX_FILES = 60
_MAX_SYMBOLS_PER_FILE = 6
_MAX_CANDIDATES = 2_000  # maximum number of symbols that are ranked, most used first
_MAX_SIGNATURE_CHARACTERS = 110
_MAX_FOLDERS = 12
# The usual damping factor of PageRank. After 20 iterations, the error is below 0.85^20 = 4 %, enough to order files.
_DAMPING_FACTOR = 0.85
_ITERATIONS = 20
_IMPORT_WEIGHT = 0.3  # weight of imports in file ranking; uses of symbols are more informative and have weight 1


@dataclass(frozen=True, slots=True)
class CentralFile:
    """A file with the most used symbols in it. `user_counts` is the number of files that use a symbol, by node id."""

    path: str
    symbols: tuple[Symbol, ...]
    user_counts: Mapping[int, int]


def render_overview(index: ProjectIndex, reader: Graph, *, token_budget: int) -> str:
    """Render the map of a project, most central files first."""
    totals = index.store.totals()
    languages = ", ".join(f"{name} {count}" for name, count in list(totals.languages.items())[:8])
    files, paths = central_files(reader), reader.paths()
    tests = sum(map(is_test, paths))
    tests_clause = f"; {counted(tests, 'test file')} omitted" if tests else ""
    head = [
        f"# {index.project.root.name}: {counted(totals.files, 'file')}, {counted(totals.lines, 'line')}",
        f"Languages: {languages or 'none'}",
        f"Folders: {_summarise_folders(paths)}",
        f"Most central files with their most used symbols (line, signature, number of using files){tests_clause}:",
    ]
    room = characters_for(min(token_budget, OVERVIEW_TOKENS)) - sum(map(len, head)) - 200
    fitted = fit([_render_file(file) for file in files], characters=room)
    if len(fitted.pieces) < (total := len(paths) - tests):
        head.insert(0, truncated(len(fitted.pieces), total, "files", "find_symbol and search_code list the others"))
    return "\n".join([*head, *fitted.pieces])


def central_files(reader: Graph) -> list[CentralFile]:
    """Return the most central files, excluding tests."""
    with reader.snapshot():
        users = reader.referring_file_counts(limit=_MAX_CANDIDATES)
        symbols = reader.symbols(users)
        weights = page_rank([row for row in reader.imports() if not is_test(row.path)])
        paths = [path for path in reader.paths() if not is_test(path)]
        by_file: defaultdict[str, list[Symbol]] = defaultdict(list)
        for node_id in users:
            if (row := symbols.get(node_id)) and not _is_attribute(row):
                by_file[row.path].append(row)
        usage = Counter({path: sum(users[row.node_id] for row in rows) for path, rows in by_file.items()})
        best = _sort_by_centrality(paths, weights, usage)[:_MAX_FILES]
        chosen = {path: by_file[path] or _top_level_definitions(reader, path) for path in best}
        return [CentralFile(path, tuple(rows[:_MAX_SYMBOLS_PER_FILE]), users) for path, rows in chosen.items()]


def page_rank(imports: Sequence[ImportRow]) -> dict[str, float]:
    """Compute the PageRank of each file from the files that import it."""
    imports_by_file: defaultdict[str, set[str]] = defaultdict(set)
    for row in imports:
        if row.path != row.target:
            imports_by_file[row.path].add(row.target)
    files = sorted({*imports_by_file, *(target for targets in imports_by_file.values() for target in targets)})
    weights = dict.fromkeys(files, 1.0)
    for _ in range(_ITERATIONS):
        weights = _spread_rank(weights, imports_by_file)
    return weights


def _spread_rank(weights: Mapping[str, float], imports_by_file: Mapping[str, set[str]]) -> dict[str, float]:
    spread = dict.fromkeys(weights, 1 - _DAMPING_FACTOR)
    for path, targets in imports_by_file.items():
        for target in targets:
            spread[target] += _DAMPING_FACTOR * weights[path] / len(targets)
    return spread


def _sort_by_centrality(paths: Iterable[str], weights: Mapping[str, float], usage: Counter[str]) -> list[str]:
    """Sort files by import rank and by uses of their symbols, each relative to the maximum."""
    max_weight, max_use = max(weights.values(), default=1.0), max(usage.values(), default=1)

    def score(path: str) -> float:
        return weights.get(path, 0.0) / max_weight * _IMPORT_WEIGHT + usage[path] / max_use

    return sorted(paths, key=lambda path: (-score(path), path))


def _is_attribute(row: Symbol) -> bool:
    """Whether a symbol is a variable or property of another symbol."""
    return "." in row.key and row.kind in ("variable", "property")


def _top_level_definitions(reader: Graph, path: str) -> list[Symbol]:
    """Return the top-level definitions of a file, except variables."""
    return [row for row in reader.symbols_in(path) if "." not in row.key and row.kind != "variable"]


def _render_file(file: CentralFile) -> str:
    lines = [file.path]
    for row in sorted(file.symbols, key=lambda row: row.line):
        signature = " ".join((row.signature or f"{row.kind} {row.label}").split())
        used = file.user_counts.get(row.node_id)
        lines.append(f"  {row.line} {_shorten_signature(signature, row.key)}{f' ({used})' if used else ''}")
    return "\n".join(lines)


def _shorten_signature(signature: str, key: str) -> str:
    """Return a signature in one line. The signature of a member is prefixed by the class name."""
    owner = key.rpartition(".")[0]
    text = f"{owner}: {signature}" if owner else signature
    return text if len(text) <= _MAX_SIGNATURE_CHARACTERS else f"{text[: _MAX_SIGNATURE_CHARACTERS - 1]}…"


def _summarise_folders(paths: Sequence[str]) -> str:
    counts = Counter("/".join(path.split("/")[:-1][:2]) or "." for path in paths)
    shown = [f"{folder} {count}" for folder, count in counts.most_common(_MAX_FOLDERS)]
    return ", ".join(shown) + (" …" if len(counts) > len(shown) else "")
