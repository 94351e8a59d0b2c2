"""Composition of an `explore` answer: selection of the best code blocks, and rendering within the token budget."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from deltos.budget import characters_for
from deltos.domains.code.code_ids import code_location
from deltos.domains.code.paths import is_prose
from deltos.federation.explore.connections import (
    Callers,
    call_edges,
    called_units,
    caller_lines,
    callers,
    implementations,
    shortest_call_chain,
)
from deltos.federation.explore.evidence import Candidate, TermFinder, whole_term
from deltos.federation.explore.shorten import Span, kept_ranges
from deltos.languages.table import detect
from deltos.text.counts import counted
from deltos.text.words import shared_words
from deltos.workspace.file_purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deltos.federation.explore.gather import Gathered, OpenProject
    from deltos.federation.explore.units import Unit
    from deltos.shown_excerpts import ShownBefore

# Default, minimum and maximum token budget of an answer.
DEFAULT_BUDGET, MIN_BUDGET, MAX_BUDGET = 2_500, 500, 8_000
# A code block is shown if its score is at least this value. A budget above the default lowers this value
# proportionally. Chosen on the development repositories of `benchmarks.packs`, for answers of at most 1,800 tokens on
# average.
MIN_SCORE = 0.032
_MAX_UNIT_SHARE = 0.35  # maximum share of the budget for one code block; longer blocks are shortened
# Fractions of the available size, tried one after another for a shortened block. The result may be larger than the
# fraction, because short gaps are shown too.
_SHORTENED_SHARES = (1.0, 0.8, 0.6)
_MIN_UNIT_CHARACTERS = 600  # minimum size of a shortened code block
_CODE_SHARE = 0.8  # share of the budget for code; the rest is for callers, tests and file names
_IMPLEMENTATION_SCORE_FACTOR = 0.9  # score of an implementation, relative to its stub or wrapper
# Maximum number of code blocks whose callers and implementations are shown.
_MAX_CONNECTED_UNITS = 3
# Number of best code blocks whose callees and callers get a higher score, and the weights of this increase. In
# cross-validation on the development repositories, the share of cited lines in answers rose from 0.595 to 0.620.
_MAX_EXPANDED_UNITS, _CALLEE_WEIGHT, _CALLER_WEIGHT = 8, 10.0, 5.0
_NAME_SHARE_WEIGHT = 2.0  # weight of the question's search terms in the name of a callee
_MAX_OTHER_MATCHES = 6  # maximum number of other matches listed with symbols; further files are listed by name
_MAX_TESTS = 8
_MAX_ABSENT_WORDS = 6
_MIN_DECISIVE_WEIGHT = 0.3  # a missing word is reported if it has at least this share of the question's weight
_CONFIGURATION_LANGUAGES = frozenset({"json", "yaml", "toml", "xml", "html", "css", "ini"})


@dataclass(frozen=True, slots=True)
class ShownUnit:
    """A code block in an answer. `code` has line numbers. It is empty if the session has already seen the code."""

    candidate: Candidate
    heading: str
    code: str
    id: str
    is_whole: bool = True

    @property
    def characters(self) -> int:
        """Number of characters of the heading and code, including line ends."""
        return len(self.heading) + len(self.code) + 2


@dataclass(frozen=True, slots=True)
class Pack:
    """Contents of an answer.

    `missing_words` contains words of the question that are in the project, but not in the shown code. `is_truncated` is
    true if code blocks were omitted because of the token budget.
    """

    gathered: Gathered
    units: tuple[ShownUnit, ...]
    callers: tuple[Callers, ...]
    call_chain: str
    other_matches: tuple[str, ...]
    missing_words: tuple[str, ...]
    is_truncated: bool

    def shown_code(self) -> list[tuple[str, str]]:
        """Return the id and the code of each code block whose code is in the answer."""
        return [(each.id, each.code) for each in self.units if each.code]


def compose(gathered: Gathered, *, budget: int, known: ShownBefore) -> Pack:
    """Select and render the code blocks of an answer of at most `budget` tokens."""
    composer = _Composer(gathered, budget, known)
    blocks, is_truncated = composer.select_units()
    main = [each for each in blocks if each.candidate.unit.symbol][:_MAX_CONNECTED_UNITS]
    found = [composer.callers(each.candidate) for each in main]
    first = main[0].candidate if main else None
    return Pack(
        gathered,
        tuple(blocks),
        tuple(each for each in found if each),
        composer.call_chain(first) if first else "",
        tuple(composer.other_matches(blocks)),
        composer.missing_words(blocks),
        is_truncated,
    )


class _Composer:
    """Builder of one answer, which selects and renders code blocks."""

    def __init__(self, gathered: Gathered, budget: int, known: ShownBefore) -> None:
        self._gathered = gathered
        self._budget = budget
        self._characters = characters_for(budget)
        self._known = known
        self._finder = TermFinder(gathered.terms)

    def select_units(self) -> tuple[list[ShownUnit], bool]:
        """Return the code blocks to show, best first, and whether others were omitted because of the token budget."""
        left = int(self._characters * _CODE_SHARE)
        best = max((each.score for each in self._gathered.candidates if self._may_show(each)), default=0.0)
        threshold = min(best, MIN_SCORE * min(1.0, DEFAULT_BUDGET / self._budget))
        blocks: list[ShownUnit] = []
        is_truncated = False
        for candidate in self._ordered_candidates(threshold):
            block = self._render_unit(candidate, min(left, int(self._characters * _MAX_UNIT_SHARE)))
            if block.characters > left or (left < _MIN_UNIT_CHARACTERS and not block.is_whole):
                is_truncated = True
                continue
            blocks.append(block)
            left -= block.characters
        return blocks, is_truncated

    def _ordered_candidates(self, threshold: float) -> Iterator[Candidate]:
        """Yield the code blocks above the threshold. Implementations follow their stubs and wrappers."""
        seen: set[tuple[int, str, int]] = set()
        printed = [each for each in self._gathered.candidates if self._may_show(each)]
        pending = [each for each in self._raise_neighbour_scores(printed) if each.score >= threshold]
        while pending:
            candidate = pending.pop(0)
            key = (candidate.project, *candidate.unit.location)
            if key in seen:
                continue
            seen.add(key)
            yield candidate
            if len(seen) <= _MAX_EXPANDED_UNITS:
                score = candidate.score * _IMPLEMENTATION_SCORE_FACTOR
                pending = [
                    *(
                        replace(candidate, unit=unit, score=score, own_score=0.0)
                        for unit in self._implementations_of(candidate)
                    ),
                    *pending,
                ]

    def _raise_neighbour_scores(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        """Raise the scores of the callees and callers of the best functions. Return the candidates, best first."""
        raised: dict[tuple[int, str, int], float] = {}
        best = candidates[:_MAX_EXPANDED_UNITS]
        for number in dict.fromkeys(each.project for each in best):
            project = self._gathered.projects[number]
            scores = {each.unit: each.score for each in best if each.project == number}
            for unit, location, is_called in call_edges(project, tuple(scores)) if project.is_resolved else ():
                weight = _CALLEE_WEIGHT if is_called else _CALLER_WEIGHT
                raised[number, *location] = raised.get((number, *location), 0.0) + weight * scores[unit]
        again = [
            replace(
                each,
                own_score=each.score,
                score=each.score * (1 + raised.get((each.project, each.unit.path, each.unit.head), 0.0)),
            )
            for each in candidates
        ]
        again += self._named_callees(again)
        return sorted(again, key=lambda each: -each.score)

    def _named_callees(self, candidates: Sequence[Candidate]) -> Iterator[Candidate]:
        """Yield the functions that the best code blocks call and whose names contain search terms of the question."""
        for best in sorted(candidates, key=lambda each: -each.score)[:_MAX_CONNECTED_UNITS]:
            project = self._project_of(best)
            for unit in called_units(project, best.unit) if project.is_resolved else ():
                if share := self._terms_share(unit.symbol.rpartition(".")[2]):
                    yield replace(
                        best, unit=unit, score=best.score * min(1.0, _NAME_SHARE_WEIGHT * share), own_score=0.0
                    )

    def _implementations_of(self, candidate: Candidate) -> Sequence[Unit]:
        project = self._project_of(candidate)
        found = implementations(project, candidate.unit) if project.is_resolved else []
        return sorted(found, key=lambda unit: -self._terms_share(unit.path))[:_MAX_CONNECTED_UNITS]

    def _terms_share(self, text: str) -> float:
        return self._gathered.terms.share(shared_words().of(text).split())

    def _may_show(self, candidate: Candidate) -> bool:
        """Whether a code block may be shown.

        It must be code, or in a file of the category (test or prose) that the question or the best hit has.
        """
        path = candidate.unit.path
        hits = self._gathered.answer.hits
        purpose = _file_category(path)
        if path in self._project_of(candidate).graph.source.generated:
            return False
        about = self._gathered.answer.query
        is_asked = (
            purpose == "code" or (purpose == "test" and about.about_tests) or (purpose == "prose" and about.about_prose)
        )
        return is_asked or purpose == _file_category(hits[0].path)

    def _project_of(self, candidate: Candidate) -> OpenProject:
        return self._gathered.projects[candidate.project]

    def _render_unit(self, candidate: Candidate, characters: int) -> ShownUnit:
        unit, project = candidate.unit, self._project_of(candidate)
        lines = project.lines(unit.path)[unit.start - 1 : unit.end]
        location = f"{_project_prefix(project)}{unit.path}:{unit.start}-{unit.end}"
        heading = f"{location} {unit.symbol}".rstrip()
        identity = code_location(unit.path, unit.symbol, unit.start, unit.end, project.name).id
        whole = _number_lines(lines, [Span(0, len(lines) - 1)], unit.start)
        shown_before = ShownUnit(candidate, f"{heading} (shown before in this session, unchanged)", "", identity)
        if self._known.has(identity, whole):
            return shown_before
        if len(heading) + len(whole) + 2 <= characters:
            return ShownUnit(candidate, heading, whole, identity)
        numbered = [line + " " * (len(str(unit.end)) + 1) for line in lines]

        def share_of(span: Span) -> float:
            return self._question_share(lines, span)

        for share in _SHORTENED_SHARES:
            limit = int((characters - len(heading)) * share)
            ranges = kept_ranges(
                numbered, unit.head - unit.start, limit, lambda span: self._question_share(lines, span)
            )
            code = _number_lines(lines, ranges, unit.start)
            if len(heading) + len(code) + 2 <= characters:
                break
        if self._known.has(identity, code):
            return shown_before
        return ShownUnit(candidate, heading, code, identity, is_whole=False)

    def _question_share(self, lines: Sequence[str], span: Span) -> float:
        terms = [term for line in lines[span.first : span.last + 1] for term in self._finder.find(line)[0]]
        return self._gathered.terms.share(terms)

    def callers(self, candidate: Candidate) -> Callers | None:
        """Return the callers of a shown code block, or None."""
        project = self._project_of(candidate)
        return callers(project, candidate.unit) if project.is_resolved else None

    def call_chain(self, candidate: Candidate) -> str:
        """Return the shortest call chain from an entry point to a shown code block, or an empty string."""
        project = self._project_of(candidate)
        return shortest_call_chain(project, candidate.unit) if project.is_resolved else ""

    def missing_words(self, blocks: Sequence[ShownUnit]) -> tuple[str, ...]:
        """Return the decisive words of the question that are not in the shown blocks."""
        shown = " ".join(f"{each.candidate.unit.path} {each.candidate.unit.symbol} {each.code}" for each in blocks)
        known = set(shared_words().of(shown).split())
        weights = self._gathered.terms.weights_by_word
        least = _MIN_DECISIVE_WEIGHT * sum(weights.values())
        missing = [word for word, weight in weights.items() if weight >= least and whole_term(word) not in known]
        return tuple(missing) if all(each.code for each in blocks) else ()

    def other_matches(self, blocks: Sequence[ShownUnit]) -> Iterator[str]:
        """Yield lines about matching files that are not shown. The first of these lines also contain the best match."""
        shown = {(each.candidate.project, each.candidate.unit.path) for each in blocks}
        named = {project.name: number for number, project in enumerate(self._gathered.projects)}
        first_hits = {(named[hit.repository], hit.path): hit for hit in reversed(self._gathered.answer.hits)}
        others = [
            (f"{_project_prefix(self._gathered.projects[number])}{path}", hit)
            for (number, path), hit in reversed(first_hits.items())
            if (number, path) not in shown
        ]
        for path, hit in others[:_MAX_OTHER_MATCHES]:
            yield f"{path}:{hit.line or hit.head_line or hit.start_line} {hit.symbol}".rstrip()
        if rest := [path for path, hit in others[_MAX_OTHER_MATCHES:] if _file_category(hit.path) != "configuration"]:
            yield ", ".join(rest)


def _file_category(path: str) -> str:
    if is_test(path):
        return "test"
    if is_prose(path):
        return "prose"
    language = detect(path)
    return "configuration" if language is None or language.name in _CONFIGURATION_LANGUAGES else "code"


def _project_prefix(project: OpenProject) -> str:
    return f"[{project.name}] " if project.name else ""


def _number_lines(lines: Sequence[str], ranges: Sequence[Span], start: int) -> str:
    """Return the lines in the ranges with line numbers, and one line for each omitted range."""
    shown: list[str] = []
    following = 0
    for each in ranges:
        if each.first > following:
            shown.append(f"… lines {start + following}-{start + each.first - 1} left out")
        shown += [f"{start + n}\t{lines[n]}" for n in range(each.first, each.last + 1)]
        following = each.last + 1
    if following < len(lines):
        shown.append(f"… lines {start + following}-{start + len(lines) - 1} left out")
    return "\n".join(shown)


def render(pack: Pack, *, files: int, notes: Sequence[str], budget: int, related: Sequence[str] = ()) -> str:
    """Return the text of an answer."""
    characters = characters_for(budget)
    opening = _render_opening(pack, files, notes)
    body = "\n".join([*opening, *_render_code(pack.units)])
    about = [*(["Related (quoted):"] if related else []), *related]
    for section in (_render_connections(pack), about, _render_other_matches(pack), _render_absent_words(pack, files)):
        text = "\n".join(section)
        if text and len(body) + len(text) + 2 <= characters:
            body = f"{body}\n\n{text}"
    return body


def _render_opening(pack: Pack, files: int, notes: Sequence[str]) -> list[str]:
    searched = f"Searched {counted(files, 'file')}."
    if pack.gathered.terms.is_mostly_absent:
        searched += f" {_absent_words_note(pack, files)} This project may not do what the question asks."
    if pack.missing_words:
        searched += f" The code below does not contain: {', '.join(pack.missing_words[:_MAX_ABSENT_WORDS])}."
    more = " Not everything fits: raise budget for more." if pack.is_truncated else ""
    code = " The source below is the current text on disk with line numbers; no need to open these files."
    return [f"{searched}{code if any(each.code for each in pack.units) else ''}{more}", *notes]


def _render_code(blocks: Sequence[ShownUnit]) -> Iterator[str]:
    """Yield the text of the code blocks, grouped by file and sorted by line. The file with the best block is first."""
    order: dict[tuple[int, str], list[ShownUnit]] = {}
    for each in blocks:
        order.setdefault((each.candidate.project, each.candidate.unit.path), []).append(each)
    for group in sorted(order.values(), key=lambda group: -sum(each.candidate.own_score for each in group)):
        for each in sorted(group, key=lambda each: each.candidate.unit.start):
            yield f"\n{each.heading}"
            if each.code:
                yield each.code


def _render_connections(pack: Pack) -> list[str]:
    lines = list(caller_lines(pack.callers))
    if pack.call_chain:
        lines.append(f"Called from: {pack.call_chain}")
    if tests := list(dict.fromkeys(test for each in pack.callers for test in each.tests)):
        lines.append(f"Tests: {', '.join(tests[:_MAX_TESTS])}")
    return lines


def _render_other_matches(pack: Pack) -> list[str]:
    return ["Other matches, not shown:", *pack.other_matches] if pack.other_matches else []


def _render_absent_words(pack: Pack, files: int) -> list[str]:
    terms = pack.gathered.terms
    return [_absent_words_note(pack, files)] if terms.absent and not terms.is_mostly_absent else []


def _absent_words_note(pack: Pack, files: int) -> str:
    words = pack.gathered.terms.absent[:_MAX_ABSENT_WORDS]
    return f"Not in any of {counted(files, 'file')}: {', '.join(words)}."
