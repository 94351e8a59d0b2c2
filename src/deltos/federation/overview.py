"""A map of the repository within a token budget: the files that most others depend on, and their symbols."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.budget import characters_for, fit
from deltos.text.counts import counted
from deltos.workspace.purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deltos.store.graph import Graph, ImportRow
    from deltos.store.symbols import Symbol
    from deltos.workspace.project_index import ProjectIndex

OVERVIEW_TOKENS = 2_000
_MOST_FILES = 60
_SYMBOLS_PER_FILE = 6
_CANDIDATES = 2_000  # symbols, most used first
_SIGNATURE_CHARACTERS = 110
_FOLDERS_SHOWN = 12
# PageRank's usual damping; after twenty rounds what is left is below 0.85^20, 4 %: enough to order files.
_DAMPING = 0.85
_ROUNDS = 20
_IMPORTS_SHARE = 0.3  # of imports beside the use of symbols, which tells more


@dataclass(frozen=True, slots=True)
class CentralFile:
    """A file with its most used symbols; `users` counts the files that refer to each."""

    path: str
    symbols: tuple[Symbol, ...]
    users: Mapping[int, int]


def render_overview(index: ProjectIndex, reader: Graph, *, token_budget: int) -> str:
    """What a newcomer should know about a project's shape, most central files first."""
    totals = index.store.totals()
    languages = ", ".join(f"{name} {count}" for name, count in list(totals.languages.items())[:8])
    files, paths = central_files(reader), reader.paths()
    tests = sum(map(is_test, paths))
    apart = f"; {counted(tests, 'file')} of tests left out" if tests else ""
    head = [
        f"# {index.project.root.name}: {counted(totals.files, 'file')}, {counted(totals.lines, 'line')}",
        f"Languages: {languages or 'none'}",
        f"Folders: {_folders(paths)}",
        f"Most central files, each with its most used symbols (line, signature, number of files that use it){apart}:",
    ]
    room = characters_for(min(token_budget, OVERVIEW_TOKENS)) - sum(map(len, head)) - 200
    fitted = fit([_block(file) for file in files], characters=room)
    if len(fitted.pieces) < (total := len(paths) - tests):
        shown = f"showing {len(fitted.pieces)}/{total:,} files"
        head.insert(0, f"{shown} (find_symbol and search_code find the rest)")
    return "\n".join([*head, *fitted.pieces])


def central_files(reader: Graph) -> list[CentralFile]:
    """The files that most others depend on, tests left out."""
    with reader.snapshot():
        users = reader.users(limit=_CANDIDATES)
        symbols = reader.symbols(users)
        weights = page_rank([row for row in reader.imports() if not is_test(row.path)])
        paths = [path for path in reader.paths() if not is_test(path)]
        by_file: defaultdict[str, list[Symbol]] = defaultdict(list)
        for node_id in users:
            if (row := symbols.get(node_id)) and not _is_detail(row):
                by_file[row.path].append(row)
        use = Counter({path: sum(users[row.node_id] for row in rows) for path, rows in by_file.items()})
        best = _by_weight(paths, weights, use)[:_MOST_FILES]
        chosen = {path: by_file[path] or _outermost(reader, path) for path in best}
        return [CentralFile(path, tuple(rows[:_SYMBOLS_PER_FILE]), users) for path, rows in chosen.items()]


def page_rank(imports: Sequence[ImportRow]) -> dict[str, float]:
    """PageRank over imports: a file counts by the rank of the files that import it."""
    leads: defaultdict[str, set[str]] = defaultdict(set)
    for row in imports:
        if row.path != row.target:
            leads[row.path].add(row.target)
    files = sorted({*leads, *(target for targets in leads.values() for target in targets)})
    weights = dict.fromkeys(files, 1.0)
    for _ in range(_ROUNDS):
        weights = _spread(weights, leads)
    return weights


def _spread(weights: Mapping[str, float], leads: Mapping[str, set[str]]) -> dict[str, float]:
    spread = dict.fromkeys(weights, 1 - _DAMPING)
    for path, targets in leads.items():
        for target in targets:
            spread[target] += _DAMPING * weights[path] / len(targets)
    return spread


def _by_weight(paths: Iterable[str], weights: Mapping[str, float], use: Counter[str]) -> list[str]:
    """Files by their weight among imports and by how much their symbols are used; each counts relative to the best."""
    most_weight, most_use = max(weights.values(), default=1.0), max(use.values(), default=1)

    def score(path: str) -> float:
        return weights.get(path, 0.0) / most_weight * _IMPORTS_SHARE + use[path] / most_use

    return sorted(paths, key=lambda path: (-score(path), path))


def _is_detail(row: Symbol) -> bool:
    """Whether a symbol is only an attribute of another."""
    return "." in row.key and row.kind in ("variable", "property")


def _outermost(reader: Graph, path: str) -> list[Symbol]:
    """What a file defines at its top level, where no other file refers to any of it."""
    return [row for row in reader.symbols_in(path) if "." not in row.key and row.kind != "variable"]


def _block(file: CentralFile) -> str:
    lines = [file.path]
    for row in sorted(file.symbols, key=lambda row: row.line):
        signature = " ".join((row.signature or f"{row.kind} {row.label}").split())
        used = file.users.get(row.node_id)
        lines.append(f"  {row.line} {_shortened(signature, row.key)}{f' ({used})' if used else ''}")
    return "\n".join(lines)


def _shortened(signature: str, key: str) -> str:
    """One line; a member is named with its class."""
    owner = key.rpartition(".")[0]
    text = f"{owner}: {signature}" if owner else signature
    return text if len(text) <= _SIGNATURE_CHARACTERS else f"{text[: _SIGNATURE_CHARACTERS - 1]}…"


def _folders(paths: Sequence[str]) -> str:
    counts = Counter("/".join(path.split("/")[:-1][:2]) or "." for path in paths)
    shown = [f"{folder} {count}" for folder, count in counts.most_common(_FOLDERS_SHOWN)]
    return ", ".join(shown) + (" …" if len(counts) > len(shown) else "")
