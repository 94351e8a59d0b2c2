"""Formatting of graph answers as compact text: a header with counts, then source lines grouped by file.

Answers are truncated between results, never inside a result.
"""

from __future__ import annotations

import textwrap
from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from deltos import wording
from deltos.domains.graph.budgeted_lines import LINE_WIDTHS, Piece, truncation_line
from deltos.domains.graph.declared.languages import is_declared
from deltos.domains.graph.languages import can_refer_to_files, imports_only_namespaces
from deltos.domains.graph.line_format import (
    MAX_SENTENCE_CHARACTERS,
    UseFormatter,
    call_form,
    definition_line,
    outline_line,
)
from deltos.domains.graph.source_lines import shorten_around
from deltos.domains.graph.text_comparison import is_called_implicitly
from deltos.domains.graph.uses import BROKEN_IMPORT, group_uses, overriding_definitions
from deltos.text.counts import counted, first_names
from deltos.workspace.file_purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from deltos.domains.graph.budgeted_lines import BudgetedLines
    from deltos.domains.graph.cycles import Component
    from deltos.domains.graph.search import Completeness, Context, FoundReferences, Impact, Target
    from deltos.domains.graph.source_lines import SourceLines
    from deltos.domains.graph.uses import UseGroup
    from deltos.store.graph import GraphCounts
    from deltos.store.history import ChangedTogether
    from deltos.store.symbols import Symbol
    from deltos.tool import Answer

_MAX_CONTEXT_ROWS = 12
_MAX_COMPONENT_FILES = 12
_MAX_LISTED_FILES_BEYOND_LIMIT = 8
_MAX_OVERRIDES = 12
_MAX_LISTED_ITEMS = 3
_MAX_LISTED_LOCATIONS = 8
_MAX_SOURCE_LINES = 25  # maximum length of a definition whose source is shown
_VALUE_KINDS = frozenset({"variable", "property"})
_KINDS_WITH_SOURCE = frozenset({"function", "method", "component", "type", *_VALUE_KINDS})
_MAX_SOURCE_CHARACTERS = 200  # per line
_MODE_NAMES = {"runtime": "at run time", "type": "type-only", "deferred": "deferred (function-local)"}


def render_references(
    references: FoundReferences,
    source: SourceLines,
    *,
    limit: int,
    page: BudgetedLines,
    is_complete: bool = False,
    where: str = "code",
    unsearched_importers: str = "",
) -> Answer:
    """Format the references to a target with their source lines, grouped by certainty and file.

    If the index `is_complete`, the header states whether all uses are listed. `where` describes the searched code.
    `unsearched_importers` lists projects that import this project but were not searched.
    """
    groups = group_uses(references)
    total = sum(len(group.uses) for group in groups)
    listed, remaining = [], limit
    for group in groups:
        if remaining > 0:
            listed.append(replace(group, uses=group.uses[:remaining]))
        remaining -= len(group.uses)
    texts = source.lines(use.location for group in listed for use in group.uses)
    lines = UseFormatter(references.target.first, texts, source.changed, references.shared_lines)

    def header(shown: int) -> str:
        summary = _reference_summary(groups, references, where if is_complete else "", unsearched_importers)
        text = f"{_definition_lines(references.target, characters=0)}\n{summary}"
        return f"{truncation_line(shown, min(limit, total), total, 'references')}\n{text}" if shown < total else text

    last = "\n".join(filter(None, (_files_beyond_limit(groups, limit), _override_lines(references))))
    return page.answer_with_widest_lines(
        header, lambda characters: [*lines.format_groups(listed, characters)], last=last
    )


def _definition_lines(target: Target, *, characters: int = MAX_SENTENCE_CHARACTERS) -> str:
    """Return a line with the definition of a target, and a line with the locations of further definitions."""
    line = definition_line(target.first, characters=characters)
    others = target.other_locations
    return f"{line}\nalso defined: {_format_locations(others, _MAX_LISTED_ITEMS)}" if others else line


def _files_beyond_limit(groups: Sequence[UseGroup], limit: int) -> str:
    """Return a line that lists the files with uses beyond the limit and the number of uses in each file."""
    rest = [use.path for group in groups for use in group.uses][limit:]
    counts = Counter(rest).most_common()
    if not counts:
        return ""
    names = [f"{path} {number}" for path, number in counts]
    return f"--- not shown: {first_names(names, _MAX_LISTED_FILES_BEYOND_LIMIT, 'files')} ---"


def _override_lines(found: FoundReferences) -> str:
    """List the definitions that override the target, grouped by file, each with its line number and class."""
    uses = overriding_definitions(found)
    if not uses:
        return ""
    files: dict[str, list[str]] = defaultdict(list)
    for use in uses[:_MAX_OVERRIDES]:
        files[use.path].append(f"{use.line} {use.label.rpartition('.')[0].rpartition('.')[2]}".rstrip())
    names = "\n".join(f"{path} {', '.join(places)}" for path, places in files.items())
    rest = len(uses) - _MAX_OVERRIDES
    more = f"\n… {rest} more (get_impact lists their dependants)" if rest > 0 else ""
    return f"--- overridden by {counted(len(uses), 'definition')} ---\n{names}{more}"


def _reference_summary(groups: Sequence[UseGroup], found: FoundReferences, searched: str, importers: str) -> str:
    """Return a summary: the number of uses, whether more uses may exist, and the number of excluded uses.

    `searched` describes the searched code, or is empty if the code was not searched completely.
    """
    sentences = [f"{_reference_counts(groups, found)}."]
    if found.completeness.dunder_all_locations:
        sentences.append(f"Listed in __all__ at {_format_locations(found.completeness.dunder_all_locations)}.")
    gaps = _gap_sentences(found.target.first, found.completeness)
    if any(row.origin == BROKEN_IMPORT for row in found.possible):
        gaps.append(
            "Some possible references import the name from a module that does not define it; fix those imports."
        )
    if gaps:
        sentences += gaps
    elif searched and found.completeness.text_comparison.is_done:
        sentences.append(_completeness_statement(found, searched))
        sentences += [f"Not searched: {importers}, which may contain more uses."] if importers else []
    return " ".join([*sentences, *_exclusion_sentences(found)])


def _reference_counts(groups: Sequence[UseGroup], found: FoundReferences) -> str:
    """Return the numbers of definite and possible lines with uses, and the total number of such lines in tests."""
    direct = [use for group in groups if not group.reason and not group.related_kind for use in group.uses]
    through: Counter[str] = Counter()
    for group in groups:
        through[group.related_kind] += len(group.uses) if group.related_kind else 0
    possible = sum(len(group.uses) for group in groups if group.reason)
    total = len(direct) + through.total() + possible
    text = f"{counted(len(direct), 'reference')} in {counted(len({use.path for use in direct}), 'file')}"
    text += "".join(f", {number:,} through {kind}" for kind, number in through.items() if number)
    text += f", {possible:,} possible" if possible else ""
    in_tests = sum(is_test(use.path) for group in groups for use in group.uses)
    if in_tests:
        return f"{text}; {in_tests:,} of {total:,} in tests"
    if not found.completeness.is_resolved or found.is_filtered:
        return text
    return (
        f"{text}; none in {counted(found.test_file_count, 'test file')}"
        if found.test_file_count
        else f"{text}; no test files"
    )


def _completeness_statement(found: FoundReferences, searched: str) -> str:
    """Return a statement that all uses are listed and how this was checked, or that it was not checked."""
    where = "the selected files" if found.is_filtered else searched
    if found.completeness.repository_folder:
        scope = "the rest of the repository was not searched"
        return wording.complete_references(scope, f"{where} below {found.completeness.repository_folder}/")
    if not found.completeness.text_comparison.is_compared:
        return wording.NOT_COMPARED
    return wording.complete_references(_check_description(found), where)


def _check_description(found: FoundReferences) -> str:
    """Describe how the list was checked, with the locations of strings that cannot be checked."""
    checked = "checked against every line that contains the name"
    quoted = found.completeness.text_comparison.quoted
    return f"{checked}; strings were not checked: {_format_locations(quoted, _MAX_LISTED_ITEMS)}" if quoted else checked


def _exclusion_sentences(found: FoundReferences) -> Iterator[str]:
    """Yield a sentence with the number of omitted uses for each reason why uses were omitted."""
    name = found.target.first.name
    if found.other_definition_use_count:
        uses = counted(found.other_definition_use_count, "reference")
        verb = _is_or_are(found.other_definition_use_count)
        definitions = [f"{row.label} {row.path}:{row.line}" for row in found.other_definitions]
        listed = first_names(definitions, _MAX_LISTED_ITEMS)
        yield f"{uses} to other definitions named {name} {verb} not listed ({listed})."
    if found.arity_mismatch_count:
        calls = counted(found.arity_mismatch_count, "possible call")
        verb = _is_or_are(found.arity_mismatch_count)
        yield f"{calls} with a different number of arguments {verb} not listed."
    if found.excluded_in_tests:
        yield wording.more(found.excluded_in_tests, "in tests", "pass tests=include to list them")
    if found.excluded_outside_tests:
        yield wording.more(found.excluded_outside_tests, "outside tests", "pass tests=include to list them")
    if found.excluded_by_path:
        yield wording.more(found.excluded_by_path, "outside the given path", "omit path to list them")


def _gap_sentences(first: Symbol, found: Completeness) -> list[str]:
    """Return the reasons why uses may be missing, as sentences, or an empty list if no use can be missing."""
    if not found.is_resolved:
        return ["Only definitions are indexed in this language, not references; search for the name."]
    sentences = []
    if found.unresolved_counts:
        files = ", ".join(counted(number, f"{extension} file") for extension, number in found.unresolved_counts.items())
        sentences.append(
            f"{files} {_is_or_are(sum(found.unresolved_counts.values()))} not resolved; search for the name."
        )
    if found.unread_files:
        verb = "was" if len(found.unread_files) == 1 else "were"
        names = ", ".join(found.unread_files[:_MAX_LISTED_ITEMS]) + (
            " …" if len(found.unread_files) > _MAX_LISTED_ITEMS else ""
        )
        sentences.append(
            f"{counted(len(found.unread_files), 'file')} that may contain uses {verb} not indexed completely: {names}."
        )
    if first.kind == "module" and is_declared(first.path) and not can_refer_to_files(first.path):
        sentences.append("Code in this language refers to definitions, not to files; ask for a definition in the file.")
    if locations := found.text_comparison.locations:
        verb = "contains" if len(locations) == 1 else "contain"
        sentences.append(
            f"{counted(len(locations), 'more line')} {verb} the name but could not be resolved: "
            f"{_format_locations(locations)}."
        )
    if is_called_implicitly(first):
        sentences.append("Implicit calls, which do not contain the name, are not tracked.")
    if found.decorators:
        names = ", ".join(f"{each.text} (line {each.line})" for each in found.decorators[:_MAX_LISTED_ITEMS])
        sentences.append(f"{names} may register it with a framework, whose calls are not known.")
    if found.is_truncated:
        sentences.append("Too many definitions have this name to compare all of them; some overrides may be missing.")
    return sentences


def _format_locations(locations: Sequence[tuple[str, int]], limit: int = _MAX_LISTED_LOCATIONS) -> str:
    """Format the first locations as `path:line`, followed by the number of further locations."""
    return first_names([f"{path}:{line}" for path, line in locations], limit)


def _is_or_are(number: int) -> str:
    return "is" if number == 1 else "are"


def render_impact(
    impact: Impact, source: SourceLines, together: Sequence[ChangedTogether] = (), *, limit: int, page: BudgetedLines
) -> Answer:
    """Format the symbols that depend on a target: symbols by distance, tests, and files that often change with it."""
    sections = [(f"--- distance {impact.distances[rows[0].node_id]} ---", rows) for rows in impact.levels]
    sections.append(("--- tests ---", impact.tests))
    affected = [row for level in impact.levels for row in level]
    total = len(affected) + len(impact.tests)
    listed = list(_limit_rows(sections, limit))
    direct = [uses[0].location for _, rows in listed for row in rows if (uses := impact.lines.get(row.node_id))]
    lines = UseFormatter(impact.target.first, source.lines(direct), source.changed)

    def results(characters: int) -> list[Piece]:
        pieces = [
            piece for title, rows in listed for piece in _dependant_pieces(title, rows, impact, lines, characters)
        ]
        return [*pieces, *_changed_together_section(impact, together)]

    def header(shown: int) -> str:
        text = f"{_definition_lines(impact.target)}\n{_impact_summary(impact)}"
        text += "".join(f"\n{line}" for line in _impact_notes(impact, total))
        return f"{truncation_line(shown, min(limit, total), total, 'dependants')}\n{text}" if shown < total else text

    return page.answer_with_widest_lines(header, results)


def _impact_summary(impact: Impact) -> str:
    """Return the numbers of affected symbols, files and tests."""
    affected = [row for level in impact.levels for row in level]
    whole_files = sum(row.kind == "file" for row in affected)
    parts = [counted(len(affected) - whole_files, "symbol")]
    parts += [f"the top level of {counted(whole_files, 'file')}"] if whole_files else []
    parts += [counted(len(impact.tests), "test")] if impact.tests or not whole_files else []
    files = len({row.path for row in (*affected, *impact.tests)})
    distance = max(impact.distances.values(), default=0)
    far = f", up to distance {distance}" if distance else ""
    return f"affects {', '.join(parts[:-1])} and {parts[-1]} in {counted(files, 'file')}{far}"


def _impact_notes(impact: Impact, total: int) -> Iterator[str]:
    """Yield notes about uses that are not counted, and about possible reasons if no use was found."""
    if impact.indirect_ids:
        yield f"{counted(len(impact.indirect_ids), 'direct dependant')} through a base or override"
    if impact.possible:
        files = counted(len({use.path for use in impact.possible}), "file")
        places = ", ".join(f"{use.path}:{use.line}" for use in impact.possible[:_MAX_LISTED_ITEMS])
        more = " …" if len(impact.possible) > _MAX_LISTED_ITEMS else ""
        uses = counted(len(impact.possible), "possible reference")
        yield f"Not followed: {uses} in {files} ({places}{more}; find_references lists them)."
    if impact.completeness.dunder_all_locations:
        yield f"Listed in __all__ at {_format_locations(impact.completeness.dunder_all_locations)}."
    is_unused = impact.completeness.is_resolved and not total and not impact.possible
    comparison = impact.completeness.text_comparison
    if gaps := _gap_sentences(impact.target.first, impact.completeness):
        yield " ".join(["No use found.", *gaps] if is_unused else gaps)
    elif is_unused and not comparison.is_done:
        yield "No use found. The name occurs in too many places to check all of them."
    elif is_unused:
        where = f"{impact.completeness.repository_folder}/" if impact.completeness.repository_folder else "the project"
        limits = ["the rest of the repository was not searched"] if impact.completeness.repository_folder else []
        limits += (
            [f"strings were not checked: {_format_locations(comparison.quoted, _MAX_LISTED_ITEMS)}"]
            if comparison.quoted
            else []
        )
        exceptions = f" ({'; '.join(limits)})" if limits else ""
        yield f"No use found: nothing in {where} refers to it by this name{exceptions}."


def _limit_rows(sections: Iterable[tuple[str, Sequence[Symbol]]], limit: int) -> Iterator[tuple[str, Sequence[Symbol]]]:
    """Yield the sections with at most `limit` rows in total."""
    for title, rows in sections:
        if limit > 0 and rows:
            yield title, rows[:limit]
        limit -= len(rows)


def _dependant_pieces(
    title: str, rows: Sequence[Symbol], impact: Impact, lines: UseFormatter, characters: int
) -> Iterator[Piece]:
    """Yield the dependants in each file: one source line per direct dependant, one line for all indirect dependants."""
    files: dict[str, list[Symbol]] = defaultdict(list)
    for row in rows:
        files[row.path].append(row)
    for path, inside in files.items():
        symbols = [
            row
            for row in inside
            if row.key
            # The file itself is omitted if its symbols are listed, because it imports everything that they use.
        ] or inside
        names = [f"{row.line} {row.label}" for row in inside if row.key and row.node_id not in impact.lines]
        block = [f"{path} {', '.join(names)}".rstrip()]
        for row in symbols:
            if uses := impact.lines.get(row.node_id):
                more = f" (+{counted(len(uses) - 1, 'line')})" if len(uses) > 1 else ""
                block.append(f" {lines.format_use(uses[0], characters)}{more}")
        yield Piece("\n".join([*([title] if title else []), *block]), len(inside))
        title = ""


def _changed_together_section(impact: Impact, together: Sequence[ChangedTogether]) -> list[Piece]:
    """List the files that often change together with the target's file but have no known reference to it."""
    reached = {row.path for level in impact.levels for row in level} | {row.path for row in impact.tests}
    others = [each for each in together if each.path not in reached]
    if not others:
        return []
    title = f"--- possible: changed together with {impact.target.first.path}, no known reference ---"
    lines = [f"{each.path} changed together {each.together} of {each.changes} times" for each in others]
    return [Piece("\n".join([title, *lines]), 0)]


def render_external_symbol(
    symbol: str, sections: Sequence[str], *, page: BudgetedLines, is_complete: bool = True
) -> Answer:
    """Format sections about a symbol that an installed package defines."""
    if is_complete:
        head = f"'{symbol}' is not defined in this project but in an installed package:"
    else:
        head = f"'{symbol}' is not in the index of this project yet; an installed package defines it:"
    return page.answer(lambda _shown: head, [*map(Piece, sections)])


def render_cycles(found: Sequence[Component], paths: Collection[str], *, page: BudgetedLines) -> Answer:
    """Format circular imports: groups of files by import mode, each with one shortest cycle."""
    unknown = sum(imports_only_namespaces(path) for path in paths)
    exception = (
        f" {counted(unknown, 'C# file')} not checked: C# imports refer to namespaces, not files." if unknown else ""
    )
    lines = [Piece(_format_component(component)) for component in found]
    distinct = [component for component in found if not component.known]
    by_mode = [f"{sum(component.mode == mode for component in distinct)} {name}" for mode, name in _MODE_NAMES.items()]
    growing = len(found) - len(distinct)

    def header(shown: int) -> str:
        if not found:
            known = counted(len(paths) - unknown, "file")
            return f"No circular imports among {known} (at run time, type-only, deferred).{exception}"
        cut = f"{truncation_line(shown, len(found), len(found), 'components')}\n" if shown < len(found) else ""
        grown = f"; {growing} of them are larger if imports of another mode are included" if growing else ""
        text = f"{cut}{counted(len(distinct), 'circular component')}: {', '.join(by_mode)}{grown}"
        return f"{text}.{exception}" if unknown else text

    return page.answer(header, lines)


def _format_component(component: Component) -> str:
    """Format a group of files with circular imports: import mode, number of files, shortest cycle, and other files."""
    cycle = " -> ".join([*component.cycle, component.cycle[0]])
    rest = [path for path in component.files if path not in component.cycle and path not in component.known]
    known = f", {len(component.known)} of them above" if component.known else ""
    lines = [f"{_MODE_NAMES[component.mode]}, {len(component.files)} files{known}: {cycle}"]
    if rest:
        lines.append(f"  also: {first_names(rest, _MAX_COMPONENT_FILES)}")
    return "\n".join(lines)


def render_context(context: Context, source: SourceLines, extras: Sequence[str], *, page: BudgetedLines) -> Answer:
    """Format the context of a symbol: its definition, then callers, callees, bases, subclasses and members."""
    first = context.target.first
    whole = _short_source(first, source)
    uses = [use for group in (*context.callers, *context.other_references) for use in group.uses[:_MAX_CONTEXT_ROWS]]
    lines = UseFormatter(first, source.lines(use.location for use in uses), source.changed)
    definition = definition_line(first, characters=0 if whole else LINE_WIDTHS[0])

    def sections(characters: int) -> list[Piece]:
        texts = [
            whole,
            *[_use_section(group, lines, characters) for group in context.callers],
            _symbol_section("callees", context.callees),
            _symbol_section("overrides", context.overridden),
            _symbol_section("bases", context.bases),
            _symbol_section("subclasses", context.subclasses),
            _symbol_section("implementations", context.implementations),
            _member_section(context.members),
            *[_use_section(group, lines, characters) for group in context.other_references],
            *extras,
        ]
        return [Piece(section) for section in texts if section]

    total = len(sections(0))

    def header(shown: int) -> str:
        return f"{truncation_line(shown, total, total, 'sections')}\n{definition}" if shown < total else definition

    return page.answer_with_widest_lines(header, sections)


def _short_source(row: Symbol, source: SourceLines) -> str:
    """Return the source of a definition, or an empty string if it is too long or has members to show instead."""
    if row.end_line - row.line >= _MAX_SOURCE_LINES or row.kind not in _KINDS_WITH_SOURCE:
        return ""
    lines = [shorten_around(line, 0, _MAX_SOURCE_CHARACTERS) for line in source.block(row.path, row.line, row.end_line)]
    return textwrap.dedent("\n".join(lines))


def _use_section(group: UseGroup, lines: UseFormatter, characters: int) -> str:
    """List the uses of a group under the title of the group."""
    shown = group.uses[:_MAX_CONTEXT_ROWS]
    pieces = lines.format_groups([replace(group, title="", uses=shown)], characters)
    return "\n".join([_section_title(group.title, len(group.uses), len(shown)), *[piece.text for piece in pieces]])


def _symbol_section(title: str, rows: Sequence[Symbol]) -> str:
    """List definitions by file, each with its parameters."""
    if not rows:
        return ""
    shown = rows[:_MAX_CONTEXT_ROWS]
    lines = [_section_title(title, len(rows), len(shown))]
    path = ""
    for row in sorted(shown, key=lambda row: row.path):
        if row.path != path:
            path = row.path
            lines.append(path)
        lines.append(f" {row.line} {call_form(row)}")
    return "\n".join(lines)


def _member_section(rows: Sequence[Symbol]) -> str:
    """List members: functions and types with signatures, one per line, then all variables on one line."""
    if not rows:
        return ""
    shown = rows[: 3 * _MAX_CONTEXT_ROWS]
    lines = [_section_title("members", len(rows), len(shown))]
    files = dict.fromkeys(row.path for row in shown)
    for path in files:
        here = [row for row in shown if row.path == path]
        lines += [path] if len(files) > 1 else []  # the members of a reopened Ruby module may be in several files
        lines += [f" {outline_line(row)}" for row in here if row.kind not in _VALUE_KINDS]
        if values := [f"{row.name}:{row.line}" for row in here if row.kind in _VALUE_KINDS]:
            lines.append(f" {', '.join(values)}")
    return "\n".join(lines)


def _section_title(title: str, total: int, shown: int) -> str:
    return f"--- {title} ({total}{f', the first {shown}' if shown < total else ''}) ---"


def render_stats(counts: GraphCounts, freshness: str, *, page: BudgetedLines) -> Answer:
    """Show the size of the graph and the share of references whose target was resolved."""
    files = sum(number for number, _ in counts.files_by_language.values())
    lines = sum(number for _, number in counts.files_by_language.values())
    # Some languages import packages, which refer to several files; such an import counts once.
    edges_by_kind = {
        kind: counts.imports if kind == "import" else number for kind, number in counts.edges_by_kind.items()
    }
    edges = sum(edges_by_kind.values())
    share = f" ({edges / (edges + counts.possible):.0%})" if edges + counts.possible else ""
    kinds = _format_counts(edges_by_kind)
    lines_shown = [
        "languages: "
        + ", ".join(
            f"{name} {counted(n, 'file')} {counted(size, 'line')}"
            for name, (n, size) in counts.files_by_language.items()
        ),
        f"symbols: {sum(counts.symbols_by_kind.values()):,} ({_format_counts(counts.symbols_by_kind)})",
        f"references resolved: {edges:,}{share} ({kinds}); possible: {counts.possible:,}",
        _import_counts(counts),
        freshness,
    ]
    return page.answer(lambda _shown: f"{counted(files, 'file')}, {counted(lines, 'line')}", [*map(Piece, lines_shown)])


def _import_counts(counts: GraphCounts) -> str:
    outside = f"{counts.external_imports:,} external, {counts.unresolved_imports:,} unresolved"
    return f"imports: {counts.imports:,} of project files, {outside}"


def _format_counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in counts.items())
