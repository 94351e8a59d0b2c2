"""Graph answers as compact text: a header with counts, then lines of source grouped by file, cut between results."""

from __future__ import annotations

import textwrap
from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from deltos.domains.graph.languages import imports_no_files, is_declared, is_included
from deltos.domains.graph.lines import (
    SENTENCE_CHARACTERS,
    UseLines,
    called,
    definition_line,
    first_sentence,
    outline_line,
)
from deltos.domains.graph.page import WIDTHS, Piece, cut_line
from deltos.domains.graph.source import around
from deltos.domains.graph.unlisted import is_called_unnamed
from deltos.domains.graph.uses import BROKEN_IMPORT, grouped_uses, overriding_definitions
from deltos.text.counts import counted
from deltos.tool import Answer
from deltos.workspace.purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from deltos.domains.graph.cycles import Component
    from deltos.domains.graph.page import BudgetedLines
    from deltos.domains.graph.search import Context, FoundReferences, Impact, Target
    from deltos.domains.graph.source import Source
    from deltos.domains.graph.unlisted import TextComparison
    from deltos.domains.graph.uses import UseGroup
    from deltos.store.graph import GraphCounts
    from deltos.store.history import ChangedTogether
    from deltos.store.symbols import Symbol

_CANDIDATES_SHOWN = 30
_ANSWERED_TOGETHER = 5  # definitions that a pattern matches and that one answer is about
_CONTEXT_SHOWN = 12
_FILES_SHOWN = 12
_LEFT_OUT_FILES = 8
_OVERRIDING_SHOWN = 12
_FEW = 6
_NAMED = 3
_UNLISTED_SHOWN = 8
_UNRESOLVED = "of this language only definitions are known: search for the name"
_SOURCE_LINES = 25  # a definition that is longer is not shown whole
_VALUES = frozenset({"variable", "property"})
_SHOWN_WHOLE = frozenset({"function", "method", "component", "type", *_VALUES})
_SOURCE_CHARACTERS = 200  # of each of its lines
_MODE_NAMES = {"runtime": "at run time", "type": "type-only", "deferred": "deferred (function-local)"}


def render_symbols(rows: Sequence[Symbol], symbol: str, *, limit: int, page: BudgetedLines) -> Answer:
    """One line for each definition: where it is and what it says of itself."""
    listed = rows[:limit]

    def header(shown: int) -> str:
        if shown < len(rows):
            return cut_line(shown, len(listed), len(rows), "definitions")
        return f"{counted(len(rows), 'definition')} of '{symbol}'"

    # A long list is there to choose from: it tells less of each.
    most = WIDTHS[0] if len(listed) <= _FEW else WIDTHS[2]
    return page.widest(
        header, lambda width: [Piece(definition_line(row, characters=min(width, most))) for row in listed]
    )


def render_references(
    references: FoundReferences,
    source: Source,
    *,
    limit: int,
    page: BudgetedLines,
    is_complete: bool = False,
    where: str = "code",
    unasked: str = "",
) -> Answer:
    """Uses with their source text by file: certain ones first, then those through others, possible ones apart; says so
    where these are all, which takes an index that `is_complete`, and in how many files of tests none is. `where` names
    what was looked through, `unasked` projects that import it and were not."""
    groups = grouped_uses(references)
    total = sum(len(group.uses) for group in groups)
    listed, room = [], limit
    for group in groups:
        if room > 0:
            listed.append(replace(group, uses=group.uses[:room]))
        room -= len(group.uses)
    texts = source.lines(use.place for group in listed for use in group.uses)
    lines = UseLines(references.target.first, texts, source.changed, references.shared)

    def header(shown: int) -> str:
        told = _summary(groups, references, where if is_complete and shown == total else "", unasked)
        what = f"{_defined(references.target, characters=0)}\n{told}"
        return f"{cut_line(shown, min(limit, total), total, 'references')}\n{what}" if shown < total else what

    last = "\n".join(filter(None, (_left_out(groups, limit), _overridden(references))))
    return page.widest(header, lambda characters: [*lines.grouped(listed, characters)], last=last)


def _defined(target: Target, *, characters: int = SENTENCE_CHARACTERS) -> str:
    """The definition of a target, and where else it is defined."""
    line = definition_line(target.first, characters=characters)
    others = target.elsewhere
    named = ", ".join(f"{path}:{number}" for path, number in others[:_NAMED])
    more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
    return f"{line}\nalso defined: {named}{more}" if others else line


def _left_out(groups: Sequence[UseGroup], limit: int) -> str:
    """The files of the uses beyond the limit, each with how many."""
    rest = [use.path for group in groups for use in group.uses][limit:]
    counts = Counter(rest).most_common()
    if not counts:
        return ""
    named = ", ".join(f"{path} {number}" for path, number in counts[:_LEFT_OUT_FILES])
    more = f" and {len(counts) - _LEFT_OUT_FILES} more files" if len(counts) > _LEFT_OUT_FILES else ""
    return f"--- not shown: {named}{more} ---"


def _overridden(found: FoundReferences) -> str:
    """What overrides the target, by file, code first: the classes and their lines."""
    uses = overriding_definitions(found)
    if not uses:
        return ""
    files: dict[str, list[str]] = defaultdict(list)
    for use in uses[:_OVERRIDING_SHOWN]:
        files[use.path].append(f"{use.line} {use.label.rpartition('.')[0].rpartition('.')[2]}".rstrip())
    named = "\n".join(f"{path} {', '.join(places)}" for path, places in files.items())
    rest = len(uses) - _OVERRIDING_SHOWN
    more = f"\n… {rest} more; get_impact lists what depends on it with these" if rest > 0 else ""
    return f"--- overridden by {counted(len(uses), 'definition')} ---\n{named}{more}"


def _summary(groups: Sequence[UseGroup], found: FoundReferences, complete_in: str, unasked: str) -> str:
    """How many uses there are and where not; that nothing else is one, if something was looked through completely; what
    was left out."""
    direct = [use for group in groups if not group.reason and not group.is_through for use in group.uses]
    through = sum(len(group.uses) for group in groups if group.is_through)
    possible = sum(len(group.uses) for group in groups if group.reason)
    text = f"{counted(len(direct), 'reference')} in {counted(len({use.path for use in direct}), 'file')}"
    text += f", {through} through another definition" if through else ""
    text += f", {possible} possible" if possible else ""
    in_tests = sum(is_test(use.path) for group in groups for use in group.uses)
    if in_tests or (found.is_resolved and not found.outside):
        text += f", {_in_tests(in_tests, found.test_files)}"
    text += f"; listed in __all__: {_named_places(found.listed)}" if found.listed else ""
    missing = [reason for reason in (_missing(found),) if reason]
    if any(row.origin == BROKEN_IMPORT for row in found.possible):
        missing.append("imports of it that lead nowhere are among those: mend them to be sure")
    if missing:
        text += f"; {'; '.join(missing)}"
    elif complete_in and found.text.is_done:
        besides = " besides those" if possible and unasked else ""
        text += "; " if unasked else "; complete" + (" with those" if possible else "") + ": "
        text += f"no other uses{besides} in {'what was asked for' if found.outside else complete_in}"
        text += f" of {found.within}; the rest of its repository was not looked at" if found.within else ""
        text += _compared(found.text) if found.text.is_compared and not found.within else ""
        text += f"; {unasked} not asked, which may have more" if unasked else ""
    left_out = {
        f"of other definitions named {found.target.first.name} ({_some(found.namesakes)})": found.elsewhere,
        "with another number of arguments": found.unlike,
        "elsewhere": found.outside,
    }
    told = [f"{number} {what}" for what, number in left_out.items() if number]
    return f"{text}; not listed: {', '.join(told)}" if told else text


def _compared(text: TextComparison) -> str:
    """What a complete answer was compared with; a text in quotes that is the name may be anything."""
    if not text.quoted:
        return ", compared with every line that has the name"
    places = _named_places(text.quoted, _NAMED)
    return f", compared with every line of code that has the name, not with texts in quotes: {places}"


def _missing(found: FoundReferences | Impact) -> str:
    """Why uses may be missing; empty where all of them are known."""
    if not found.is_resolved:
        return _UNRESOLVED
    told = []
    if found.unresolved:
        files = ", ".join(counted(number, f"{extension} file") for extension, number in found.unresolved.items())
        verb = "is" if sum(found.unresolved.values()) == 1 else "are"
        told.append(f"{files} {verb} not resolved: search for the name")
    if found.unread:
        named = ", ".join(found.unread[:_NAMED]) + (" …" if len(found.unread) > _NAMED else "")
        told.append(f"{counted(len(found.unread), 'file')} that may use it not read: {named}")
    first = found.target.first
    if first.kind == "module" and is_declared(first.path) and not is_included(first.path):
        told.append("files are not what this language refers to: ask for what it defines")
    if found.text.places:
        told.append(_unlisted(found.text.places))
    if is_called_unnamed(first):
        told.append("calls that do not write its name are not known")
    if found.decorators:
        named = ", ".join(f"{each.text} (line {each.line})" for each in found.decorators[:_NAMED])
        told.append(f"{named} may hand it on: what calls it then is not known")
    if found.is_cut:
        told.append("not all definitions of the name were compared, there are too many: others may override it")
    return "; ".join(told)


def _unlisted(places: Sequence[tuple[str, int]]) -> str:
    """Lines that have the name and are known as no use of it."""
    return f"{counted(len(places), 'more line')} with the name, as what is not known: {_named_places(places)}"


def _named_places(places: Sequence[tuple[str, int]], most: int = _UNLISTED_SHOWN) -> str:
    named = ", ".join(f"{path}:{line}" for path, line in places[:most])
    return f"{named} and {len(places) - most} more" if len(places) > most else named


def _in_tests(uses: int, files: int) -> str:
    """How many uses are in tests, and where there are none, how many files of tests were looked at."""
    if uses:
        return f"{uses:,} in tests"
    return f"none in {counted(files, 'test file')}" if files else "no test files"


def _some(rows: Sequence[Symbol]) -> str:
    """Definitions with their places, the first few."""
    named = [f"{row.label} {row.path}:{row.line}" for row in rows[:_NAMED]]
    return ", ".join(named) + (f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else "")


def render_candidates(
    targets: Sequence[Target], counts: Mapping[int, int], symbol: str, *, page: BudgetedLines
) -> Answer:
    """An ambiguous name: what it may mean, most referred to first."""
    ordered = _by_use(targets, counts)
    is_told_by_name = len({target.name for target in targets}) == len(targets)
    place = f"{ordered[0].first.path}:{ordered[0].first.line}"
    how = "a qualified name" if is_told_by_name else f"the place, such as {place}"
    lines = [
        Piece(
            f"{target.name} {_where(target.first)}, "
            f"{counted(_weight(target, counts), 'reference')}{_told(target.first)}"
        )
        for target in ordered[:_CANDIDATES_SHOWN]
    ]

    def header(shown: int) -> str:
        more = f" ({_cut_of(shown, len(lines), 'the most used ones are listed')})" if shown < len(targets) else ""
        return f"'{symbol}' is ambiguous: {len(targets)} definitions{more}. Ask again with {how}:"

    return page.answer(header, lines)


def render_each(
    targets: Sequence[Target],
    counts: Mapping[int, int],
    symbol: str,
    answer: Callable[[Target, BudgetedLines], Answer],
    *,
    page: BudgetedLines,
) -> Answer:
    """One answer for each of several definitions, the most used first; those that there is no room for are named."""
    ordered = _by_use(targets, counts)
    shown, rest = ordered[:_ANSWERED_TOGETHER], ordered[_ANSWERED_TOGETHER:]
    header = f"'{symbol}' means {len(targets)} definitions" + (f", answered for {len(shown)}" if rest else "")
    named = [f"{target.name} {_where(target.first)}" for target in rest[:_CANDIDATES_SHOWN]]
    more = f" and {len(rest) - len(named)} more" if len(rest) > len(named) else ""
    last = f"--- also, not answered here: {', '.join(named)}{more} ---" if rest else ""
    pages = page.parted(len(shown), reserved=len(header) + len(last))
    answers = [answer(target, part) for target, part in zip(shown, pages, strict=True)]
    return Answer(
        "\n\n".join([header, *[each.text for each in answers], *([last] if last else [])]),
        truncated=bool(rest) or any(each.truncated for each in answers),
        original_characters=sum(each.original_characters for each in answers),
    )


def _by_use(targets: Sequence[Target], counts: Mapping[int, int]) -> list[Target]:
    return sorted(targets, key=lambda target: -_weight(target, counts))


def _weight(target: Target, counts: Mapping[int, int]) -> int:
    return sum(counts.get(node_id, 0) for node_id in target.node_ids)


def render_impact(
    impact: Impact, source: Source, together: Sequence[ChangedTogether] = (), *, limit: int, page: BudgetedLines
) -> Answer:
    """Dependants by distance, the direct ones with the line that depends; then tests, then what history connects."""
    sections = [(f"--- distance {impact.distances[rows[0].node_id]} ---", rows) for rows in impact.levels]
    sections.append(("--- tests ---", impact.tests))
    affected = [row for level in impact.levels for row in level]
    total = len(affected) + len(impact.tests)
    listed = list(_limited(sections, limit))
    direct = [uses[0].place for _, rows in listed for row in rows if (uses := impact.lines.get(row.node_id))]
    lines = UseLines(impact.target.first, source.lines(direct), source.changed)

    def results(characters: int) -> list[Piece]:
        pieces = [piece for title, rows in listed for piece in _dependants(title, rows, impact, lines, characters)]
        return [*pieces, *_together_section(impact, together)]

    def header(shown: int) -> str:
        what = f"{_defined(impact.target)}\n{_affected(impact)}"
        what += "".join(f"\n{line}" for line in _unsure(impact, total))
        return f"{cut_line(shown, min(limit, total), total, 'dependants')}\n{what}" if shown < total else what

    return page.widest(header, results)


def _affected(impact: Impact) -> str:
    """How much a change affects; what is counted by sort adds up to the number of dependants."""
    affected = [row for level in impact.levels for row in level]
    whole = sum(row.kind == "file" for row in affected)
    parts = [counted(len(affected) - whole, "symbol")]
    parts += [f"the top level of {counted(whole, 'file')}"] if whole else []
    parts += [counted(len(impact.tests), "test")] if impact.tests or not whole else []
    files = len({row.path for row in (*affected, *impact.tests)})
    distance = max(impact.distances.values(), default=0)
    far = f", up to distance {distance}" if distance else ""
    return f"affects {', '.join(parts[:-1])} and {parts[-1]} in {counted(files, 'file')}{far}"


def _unsure(impact: Impact, total: int) -> Iterator[str]:
    """What the numbers of an impact do not say: a zero is explained."""
    if impact.through:
        yield f"{len(impact.through):,} of the direct ones through what it implements or overrides, or by overriding it"
    if impact.possible:
        files = counted(len({use.path for use in impact.possible}), "file")
        places = ", ".join(f"{use.path}:{use.line}" for use in impact.possible[:_NAMED])
        more = " …" if len(impact.possible) > _NAMED else ""
        unsure = counted(len(impact.possible), "possible use")
        yield f"and perhaps more: {unsure} in {files}, not followed ({places}{more}; find_references lists them)"
    if impact.listed:
        yield f"listed in __all__: {_named_places(impact.listed)}"
    is_unused = impact.is_resolved and not total and not impact.possible
    if missing := _missing(impact):
        yield f"no use of it is known; {missing}" if is_unused else missing
    elif is_unused and not impact.text.is_done:
        yield "no use of it is known; its name stands in too many places to compare all of them"
    elif is_unused:
        where = f"{impact.within}, the part of the repository that was looked at," if impact.within else "the project"
        quoted = impact.text.quoted
        besides = f", except perhaps texts in quotes: {_named_places(quoted, _NAMED)}" if quoted else ""
        yield f"no use of it is known: nothing in {where} refers to it by this name{besides}"


def _limited(sections: Iterable[tuple[str, Sequence[Symbol]]], limit: int) -> Iterator[tuple[str, Sequence[Symbol]]]:
    for title, rows in sections:
        if limit > 0 and rows:
            yield title, rows[:limit]
        limit -= len(rows)


def _dependants(
    title: str, rows: Sequence[Symbol], impact: Impact, lines: UseLines, characters: int
) -> Iterator[Piece]:
    """One piece per file: direct dependants a line each, with where they depend; those further off in one line."""
    files: dict[str, list[Symbol]] = defaultdict(list)
    for row in rows:
        files[row.path].append(row)
    for path, inside in files.items():
        apart = [row for row in inside if row.key] or inside  # that a file imports what it uses goes without saying
        named = [f"{row.line} {row.label}" for row in inside if row.key and row.node_id not in impact.lines]
        block = [f"{path} {', '.join(named)}".rstrip()]
        for row in apart:
            if uses := impact.lines.get(row.node_id):
                more = f" (+{counted(len(uses) - 1, 'line')})" if len(uses) > 1 else ""
                block.append(f" {lines.of(uses[0], characters)}{more}")
        yield Piece("\n".join([*([title] if title else []), *block]), len(inside))
        title = ""


def _together_section(impact: Impact, together: Sequence[ChangedTogether]) -> list[Piece]:
    """Files that usually change with the target's and that no reference leads to, as one block."""
    reached = {row.path for level in impact.levels for row in level} | {row.path for row in impact.tests}
    others = [each for each in together if each.path not in reached]
    if not others:
        return []
    title = f"--- possible: changed together with {impact.target.first.path}, no reference known ---"
    lines = [f"{each.path} changed together {each.together} of {each.changes} times" for each in others]
    return [Piece("\n".join([title, *lines]), 0)]


def render_outside(symbol: str, sections: Sequence[str], *, page: BudgetedLines, is_complete: bool = True) -> Answer:
    """A symbol of an installed package: what its documentation says, and where its name is used."""
    if is_complete:
        head = f"'{symbol}' is not defined in this project but in an installed package:"
    else:
        head = f"'{symbol}' is not in the index of this project so far; an installed package has it:"
    return page.answer(lambda _shown: head, [*map(Piece, sections)])


def render_cycles(found: Sequence[Component], paths: Collection[str], *, page: BudgetedLines) -> Answer:
    """Components with one shortest cycle each, by when they take effect; files that no import can name are counted."""
    unknown = sum(imports_no_files(path) for path in paths)
    apart_from = (
        f" Those of {counted(unknown, 'file')} of C# are not known: its imports name no files." if unknown else ""
    )
    lines = [Piece(_component(component)) for component in found]
    apart = [component for component in found if not component.known]
    by_mode = [f"{sum(component.mode == mode for component in apart)} {name}" for mode, name in _MODE_NAMES.items()]
    growing = len(found) - len(apart)

    def header(shown: int) -> str:
        if not found:
            known = counted(len(paths) - unknown, "file")
            return f"No circular imports among {known} (at run time, type-only, deferred).{apart_from}"
        cut = f"{cut_line(shown, len(found), len(found), 'components')}\n" if shown < len(found) else ""
        grown = f"; larger with imports of another mode: {growing}" if growing else ""
        told = f"{cut}{counted(len(apart), 'circular component')}: {', '.join(by_mode)}{grown}"
        return f"{told}.{apart_from}" if unknown else told

    return page.answer(header, lines)


def _component(component: Component) -> str:
    way = " -> ".join([*component.cycle, component.cycle[0]])
    rest = [path for path in component.files if path not in component.cycle and path not in component.known]
    known = f", {len(component.known)} of them above" if component.known else ""
    lines = [f"{_MODE_NAMES[component.mode]}, {len(component.files)} files{known}: {way}"]
    if rest:
        more = f" and {len(rest) - _FILES_SHOWN} more" if len(rest) > _FILES_SHOWN else ""
        lines.append(f"  also: {', '.join(rest[:_FILES_SHOWN])}{more}")
    return "\n".join(lines)


def render_context(context: Context, source: Source, extras: Sequence[str], *, page: BudgetedLines) -> Answer:
    """Definition first, then each kind of neighbour under its own heading."""
    first = context.target.first
    whole = _whole(first, source)
    uses = [use for group in (*context.callers, *context.other_references) for use in group.uses[:_CONTEXT_SHOWN]]
    lines = UseLines(first, source.lines(use.place for use in uses), source.changed)
    definition = definition_line(first, characters=0 if whole else WIDTHS[0])

    def sections(characters: int) -> list[Piece]:
        told = [
            whole,
            *[_use_section(group, lines, characters) for group in context.callers],
            _symbol_section("callees", context.callees),
            _symbol_section("overrides", context.overridden),
            _symbol_section("bases", context.bases),
            _symbol_section("subclasses", context.subclasses),
            _member_section(context.members),
            *[_use_section(group, lines, characters) for group in context.other_references],
            *extras,
        ]
        return [Piece(section) for section in told if section]

    total = len(sections(0))

    def header(shown: int) -> str:
        return f"{cut_line(shown, total, total, 'sections')}\n{definition}" if shown < total else definition

    return page.widest(header, sections)


def _whole(row: Symbol, source: Source) -> str:
    """The source of a definition that is short enough; a class is told by its members."""
    if row.end_line - row.line >= _SOURCE_LINES or row.kind not in _SHOWN_WHOLE:
        return ""
    lines = [around(line, 0, _SOURCE_CHARACTERS) for line in source.block(row.path, row.line, row.end_line)]
    return textwrap.dedent("\n".join(lines))


def _use_section(group: UseGroup, lines: UseLines, characters: int) -> str:
    shown = group.uses[:_CONTEXT_SHOWN]
    pieces = lines.grouped([replace(group, title="", uses=shown)], characters)
    return "\n".join([_title(group.title, len(group.uses), len(shown)), *[piece.text for piece in pieces]])


def _symbol_section(title: str, rows: Sequence[Symbol]) -> str:
    """Definitions by file, as one would call them."""
    if not rows:
        return ""
    shown = rows[:_CONTEXT_SHOWN]
    lines = [_title(title, len(rows), len(shown))]
    path = ""
    for row in sorted(shown, key=lambda row: row.path):
        if row.path != path:
            path = row.path
            lines.append(path)
        lines.append(f" {row.line} {called(row)}")
    return "\n".join(lines)


def _member_section(rows: Sequence[Symbol]) -> str:
    """Functions a line each with their signatures, variables in one line."""
    if not rows:
        return ""
    shown = rows[: 3 * _CONTEXT_SHOWN]
    lines = [_title("members", len(rows), len(shown))]
    files = dict.fromkeys(row.path for row in shown)
    for path in files:
        here = [row for row in shown if row.path == path]
        lines += [path] if len(files) > 1 else []  # of a module of Ruby that is opened in several
        lines += [f" {outline_line(row)}" for row in here if row.kind not in _VALUES]
        if values := [f"{row.name}:{row.line}" for row in here if row.kind in _VALUES]:
            lines.append(f" {', '.join(values)}")
    return "\n".join(lines)


def _title(title: str, total: int, shown: int) -> str:
    return f"--- {title} ({total}{f', the first {shown}' if shown < total else ''}) ---"


def _cut_of(shown: int, listed: int, otherwise: str) -> str:
    """How many are shown, and whether the budget or a list's own length is why."""
    return f"showing {shown}: {'the token budget is full' if shown < listed else otherwise}"


def render_stats(counts: GraphCounts, freshness: str, *, page: BudgetedLines) -> Answer:
    """Sizes, and how much of what code refers to is resolved."""
    files = sum(number for number, _ in counts.files_by_language.values())
    lines = sum(number for _, number in counts.files_by_language.values())
    edges = sum(counts.edges_by_kind.values())
    share = f" ({edges / (edges + counts.possible):.0%})" if edges + counts.possible else ""
    told = [
        "languages: "
        + ", ".join(
            f"{name} {counted(n, 'file')} {counted(size, 'line')}"
            for name, (n, size) in counts.files_by_language.items()
        ),
        f"symbols: {sum(counts.symbols_by_kind.values()):,} ({_pairs(counts.symbols_by_kind)})",
        f"references resolved: {edges:,}{share} ({_pairs(counts.edges_by_kind)}); possible: {counts.possible:,}",
        _imports(counts),
        freshness,
    ]
    return page.answer(lambda _shown: f"{counted(files, 'file')}, {counted(lines, 'line')}", [*map(Piece, told)])


def _imports(counts: GraphCounts) -> str:
    outside = f"{counts.external_imports:,} external, {counts.unresolved_imports:,} unresolved"
    return f"imports: {counts.imports:,} of project files, {outside}"


# --- pieces


def _where(row: Symbol) -> str:
    return f"{row.path}:{row.line} {row.kind}"


def _told(row: Symbol) -> str:
    sentence = first_sentence(row.doc)
    return f" — {sentence}" if sentence else ""


def _pairs(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in counts.items())
