"""Graph answers as compact text: a header with counts, then lines grouped by file, cut between results."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from deltos.budget import characters_for, fit, shown_of
from deltos.store.symbols import bare_key
from deltos.tool import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from deltos.domains.graph.cycles import Component
    from deltos.domains.graph.search import Context, FoundReferences, Impact, Target
    from deltos.store.graph import GraphCounts, ReferenceRow
    from deltos.store.history import ChangedTogether
    from deltos.store.symbols import Symbol

_HEADER_CHARACTERS = 400
_CANDIDATES_SHOWN = 30
_CONTEXT_SHOWN = 12
_FILES_SHOWN = 12
_MODE_NAMES = {"runtime": "at run time", "type": "type-only", "deferred": "deferred (function-local)"}


class BudgetedLines:
    """Lines of an answer on their way into the budget."""

    def __init__(self, *, token_budget: int, notes: Sequence[str] = ()) -> None:
        self._characters = characters_for(token_budget) - _HEADER_CHARACTERS
        self._notes = tuple(notes)

    def answer(self, header: Callable[[int], str], results: Sequence[str], *, always: Sequence[str] = ()) -> Answer:
        """As many results as fit, under a header that is told how many those are."""
        fitted = fit(results, characters=self._characters - sum(map(len, always)))
        text = "\n".join([header(len(fitted.pieces)), *self._notes, *always, *fitted.pieces])
        return Answer(text, truncated=fitted.truncated, original_characters=fitted.original_characters)


def _cut_line(shown: int, listed: int, total: int, noun: str) -> str:
    """How much is shown of how much, and why not all: what the limit lists may not fit the budget."""
    how = "the token budget is full: narrow the question" if shown < listed else "increase limit for more"
    return shown_of(shown, total, noun, how)


def render_symbols(rows: Sequence[Symbol], symbol: str, *, limit: int, page: BudgetedLines) -> Answer:
    """`def name file:line kind`, one line each."""
    lines = [f"def {row.label} {row.path}:{row.line} {row.kind}" for row in rows[:limit]]

    def header(shown: int) -> str:
        if shown < len(rows):
            return _cut_line(shown, len(lines), len(rows), "definitions")
        return f"{_count(len(rows), 'definition')} of '{symbol}'"

    return page.answer(header, lines)


def render_references(references: FoundReferences, *, limit: int, page: BudgetedLines) -> Answer:
    """References by file, certain ones first, possible ones apart."""
    sections = (
        ("", references.certain),
        ("--- under another name (import … as) ---", references.aliased),
        (f"--- possible: receiver unknown, {_namesakes(references.namesakes)} ---", references.possible),
    )
    total = sum(len(rows) for _, rows in sections)
    lines: list[str] = []
    counts: list[int] = []
    room = limit
    for title, rows in sections:
        for index, (block, size) in enumerate(_by_file(rows[:room])):
            lines.append(f"{title}\n{block}" if title and index == 0 else block)
            counts.append(size)
        room = max(0, room - len(rows))

    def header(shown: int) -> str:
        placed = sum(counts[:shown])
        what = f"{_head(references.target)}: {_summary(references)}"
        return f"{_cut_line(placed, sum(counts), total, 'references')}\n{what}" if placed < total else what

    return page.answer(header, lines)


def _summary(references: FoundReferences) -> str:
    certain = [*references.certain, *references.aliased]
    files = len({row.path for row in certain})
    text = f"{_count(len(certain), 'reference')} in {_count(files, 'file')}"
    return f"{text}, {len(references.possible)} possible" if references.possible else text


def _namesakes(count: int) -> str:
    return "any of this name" if count <= 1 else f"{count} definitions share the name"


def render_candidates(targets: Sequence[Target], counts: dict[int, int], symbol: str, *, page: BudgetedLines) -> Answer:
    """An ambiguous name: what it may mean, most referred to first."""

    def weight(target: Target) -> int:
        return sum(counts.get(node_id, 0) for node_id in target.node_ids)

    ordered = sorted(targets, key=lambda target: -weight(target))
    lines = [
        f"{target.name} {_where(target.first)}, {_count(weight(target), 'reference')}"
        for target in ordered[:_CANDIDATES_SHOWN]
    ]

    def header(shown: int) -> str:
        more = f" (showing {shown})" if shown < len(targets) else ""
        return f"'{symbol}' is ambiguous: {len(targets)} definitions{more}. Ask again with a qualified name:"

    return page.answer(header, lines)


def render_impact(
    impact: Impact, together: Sequence[ChangedTogether] = (), *, limit: int, page: BudgetedLines
) -> Answer:
    """Dependants by distance, then the tests among them, then files that only history connects."""
    sections = [(f"--- distance {number} ---", rows) for number, rows in enumerate(impact.levels, 1)]
    sections.append(("--- tests ---", impact.tests))
    lines: list[str] = []
    counts: list[int] = []
    room = limit
    for title, rows in sections:
        for index, (block, size) in enumerate(_symbols_by_file(rows[:room])):
            lines.append(f"{title}\n{block}" if index == 0 else block)
            counts.append(size)
        room = max(0, room - len(rows))
    affected = [row for level in impact.levels for row in level]
    files = len({row.path for row in (*affected, *impact.tests)})
    total = len(affected) + len(impact.tests)
    lines += _together_section(impact, together)
    counts += [0] * (len(lines) - len(counts))

    def header(shown: int) -> str:
        placed = sum(counts[:shown])
        symbols = sum(row.kind != "file" for row in affected)
        what = (
            f"{_head(impact.target)}: affects {_count(symbols, 'symbol')} in {_count(files, 'file')}, "
            f"{_count(len(impact.tests), 'test')}, up to distance {len(impact.levels)}"
        )
        return f"{_cut_line(placed, sum(counts), total, 'dependants')}\n{what}" if placed < total else what

    return page.answer(header, lines)


def _together_section(impact: Impact, together: Sequence[ChangedTogether]) -> list[str]:
    """Files that usually change with the target's and that no reference leads to, as one block."""
    reached = {row.path for level in impact.levels for row in level} | {row.path for row in impact.tests}
    others = [each for each in together if each.path not in reached]
    if not others:
        return []
    title = f"--- possible: changed together with {impact.target.first.path}, no reference known ---"
    lines = [f"{each.path} changed together {each.together} of {each.changes} times" for each in others]
    return ["\n".join([title, *lines])]


def render_outside(symbol: str, sections: Sequence[str], *, page: BudgetedLines) -> Answer:
    """A symbol of an installed package: what its documentation says, and where its name is used."""
    head = f"'{symbol}' is not defined in this project but in an installed package:"
    return page.answer(lambda _shown: head, sections)


def render_cycles(found: Sequence[Component], files: int, *, page: BudgetedLines) -> Answer:
    """Components with one shortest cycle each, by when they take effect."""
    lines = [_component(component) for component in found]
    by_mode = [f"{sum(component.mode == mode for component in found)} {name}" for mode, name in _MODE_NAMES.items()]

    def header(shown: int) -> str:
        if not found:
            return f"No circular imports among {files:,} files (at run time, type-only, deferred)."
        cut = f"showing {shown}/{len(found)} components\n" if shown < len(found) else ""
        return f"{cut}{_count(len(found), 'circular component')}: {', '.join(by_mode)}"

    return page.answer(header, lines)


def _component(component: Component) -> str:
    way = " -> ".join([*component.cycle, component.cycle[0]])
    rest = [path for path in component.files if path not in component.cycle]
    lines = [f"{_MODE_NAMES[component.mode]}, {len(component.files)} files: {way}"]
    if rest:
        more = f" and {len(rest) - _FILES_SHOWN} more" if len(rest) > _FILES_SHOWN else ""
        lines.append(f"  also: {', '.join(rest[:_FILES_SHOWN])}{more}")
    return "\n".join(lines)


def render_context(context: Context, extras: Sequence[str], *, page: BudgetedLines) -> Answer:
    """Definition first, then each kind of neighbour under its own heading."""
    first = context.target.first
    definition = [line for line in (first.signature, f'"{first.doc}"' if first.doc else "") if line]
    sections = [
        _reference_section("callers", context.callers),
        _symbol_section("callees", context.callees),
        _symbol_section("bases", context.bases),
        _symbol_section("subclasses", context.subclasses),
        _member_section(context.members),
        _reference_section("other references", context.other_references),
        *extras,
    ]

    def header(shown: int) -> str:
        kept = [section for section in sections if section]
        cut = f"showing {shown}/{len(kept)} sections\n" if shown < len(kept) else ""
        return f"{cut}{first.label or context.target.name} {first.path}:{first.line}-{first.end_line} {first.kind}"

    return page.answer(header, [section for section in sections if section], always=definition)


def _reference_section(title: str, rows: Sequence[ReferenceRow]) -> str:
    if not rows:
        return ""
    blocks = [block for block, _ in _by_file(rows[:_CONTEXT_SHOWN])]
    return "\n".join([_title(title, len(rows), min(len(rows), _CONTEXT_SHOWN)), *blocks])


def _symbol_section(title: str, rows: Sequence[Symbol]) -> str:
    if not rows:
        return ""
    lines = [f"{row.label} {row.path}:{row.line}" for row in rows[:_CONTEXT_SHOWN]]
    return "\n".join([_title(title, len(rows), len(lines)), *lines])


def _member_section(rows: Sequence[Symbol]) -> str:
    if not rows:
        return ""
    shown = rows[: 3 * _CONTEXT_SHOWN]
    return "\n".join([_title("members", len(rows), len(shown)), ", ".join(f"{row.name}:{row.line}" for row in shown)])


def _title(title: str, total: int, shown: int) -> str:
    return f"--- {title} ({total}{f', showing {shown}' if shown < total else ''}) ---"


def render_stats(counts: GraphCounts, freshness: str, *, page: BudgetedLines) -> Answer:
    """Sizes, and how much of what code refers to is resolved."""
    files = sum(number for number, _ in counts.files_by_language.values())
    lines = sum(number for _, number in counts.files_by_language.values())
    edges = sum(counts.edges_by_kind.values())
    share = f" ({edges / (edges + counts.possible):.0%})" if edges + counts.possible else ""
    results = [
        "languages: "
        + ", ".join(f"{name} {n} files {size:,} lines" for name, (n, size) in counts.files_by_language.items()),
        f"symbols: {sum(counts.symbols_by_kind.values()):,} ({_pairs(counts.symbols_by_kind)})",
        f"references resolved: {edges:,}{share} ({_pairs(counts.edges_by_kind)}); possible: {counts.possible:,}",
        _imports(counts),
        freshness,
    ]
    return page.answer(lambda _shown: f"{files:,} files, {lines:,} lines", results)


def _imports(counts: GraphCounts) -> str:
    outside = f"{counts.external_imports:,} external, {counts.unresolved_imports:,} unresolved"
    return f"imports: {counts.imports:,} of project files, {outside}"


# --- pieces


def _head(target: Target) -> str:
    return f"{target.first.label or target.name} {_where(target.first)}"


def _where(row: Symbol) -> str:
    return f"{row.path}:{row.line} {row.kind}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _pairs(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in counts.items())


def _by_file(rows: Sequence[ReferenceRow]) -> Iterator[tuple[str, int]]:
    """One block per file: its path, then `lines kind in definition`; with it, how many references that are."""
    files: dict[str, dict[tuple[str, str], list[int]]] = defaultdict(lambda: defaultdict(list))
    sizes: dict[str, int] = defaultdict(int)
    for row in rows:
        files[row.path][(row.kind, bare_key(row.source_key))].append(row.line)
        sizes[row.path] += 1
    for path, groups in files.items():
        lines = [path]
        for (kind, source), numbers in groups.items():
            places = ",".join(map(str, dict.fromkeys(numbers)))
            lines.append(f" {places} {kind}{f' {source}' if source else ''}")
        yield "\n".join(lines), sizes[path]


def _symbols_by_file(rows: Iterable[Symbol]) -> Iterator[tuple[str, int]]:
    files: dict[str, list[Symbol]] = defaultdict(list)
    for row in rows:
        files[row.path].append(row)
    for path, inside in files.items():
        named = [f" {row.line} {row.label}" for row in inside if row.key]
        yield "\n".join([path, *named]), len(inside)
