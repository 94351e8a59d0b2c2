"""Collection and scoring of the code blocks (functions, class headers and paragraphs) that may answer a question."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from deltos.domains.code.present.source_reader import SourceReader
from deltos.domains.graph.search import GraphSearch
from deltos.errors import BadRequest
from deltos.federation.explore.evidence import Candidate, QuestionTerms, TermFinder, question_terms, score
from deltos.federation.explore.units import split_units
from deltos.store.code import FileScope
from deltos.text.identifiers import SYMBOL_SIGNS, looks_like_code
from deltos.workspace.file_purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.domains.code.model import CodeAnswer, CodeHit
    from deltos.domains.code.search import CodeSearch
    from deltos.federation.explore.units import Unit
    from deltos.store.symbols import Symbol
    from deltos.workspace.project_index import ProjectIndex

MAX_HITS = 20  # number of code search results whose files are candidates
_MAX_FILES = 12  # maximum number of files whose code blocks are scored
_MAX_PROJECTS = 3  # maximum number of projects whose code blocks are scored
_MAX_DEFINITIONS_PER_NAME = 4  # names with more definitions are common
_COMMON_NAME_FACTOR = 0.02  # score factor for definitions of a common name, unless the question mentions the class
_MIN_NAMED_SCORE = 0.9  # minimum score of a code block whose name or location is in the question


@dataclass
class OpenProject:
    """A project with a cache of file lines and code blocks for one answer."""

    index: ProjectIndex
    name: str = ""
    _lines: dict[str, list[str]] = field(default_factory=dict)
    _units: dict[str, list[Unit]] = field(default_factory=dict)

    @cached_property
    def graph(self) -> GraphSearch:
        """Code graph of the project."""
        return GraphSearch(self.index.store, self.index.project.root)

    @property
    def is_resolved(self) -> bool:
        """Whether references in the entire project have been resolved."""
        return self.index.store.facts().is_complete

    def lines(self, path: str) -> list[str]:
        """Return the current lines of a file, or an empty list if it cannot be read."""
        if path not in self._lines:
            with SourceReader(self.index.project.root, self.index.store, self.index.workers) as reader:
                self._lines[path] = reader.lines(path) or []
        return self._lines[path]

    def units(self, path: str) -> list[Unit]:
        """Return the code blocks of a file, or an empty list if the file is not indexed or cannot be read."""
        if path not in self._units:
            code, lines = self.index.store.code, self.lines(path)
            files = code.files_at([path], FileScope()) if lines else []
            definitions = code.definitions_in([(file.id, 1, len(lines)) for file in files]) if files else [[]]
            self._units[path] = split_units(path, lines, definitions[0])
        return self._units[path]

    def unit_at(self, path: str, line: int) -> Unit | None:
        """Return the code block that contains a line, or None."""
        return next((unit for unit in self.units(path) if unit.start <= line <= unit.end), None)

    def symbols(self, unit: Unit) -> list[Symbol]:
        """Return the symbols that a code block defines, outer symbols before nested ones."""
        every = self.graph.reader.symbols_in(unit.path)
        return [row for row in every if unit.start <= row.line <= unit.end]


@dataclass(frozen=True, slots=True)
class Gathered:
    """Scored code blocks, best first, with the projects, search hits and search terms used for scoring."""

    projects: tuple[OpenProject, ...]
    answer: CodeAnswer
    candidates: tuple[Candidate, ...]
    terms: QuestionTerms


def gather(
    question: str, projects: Sequence[OpenProject], answer: CodeAnswer, searches: Sequence[CodeSearch]
) -> Gathered:
    """Find files by code search, and return the scored code blocks of these files.

    `searches` contains one search per project.
    """
    named = {project.name: number for number, project in enumerate(projects)}
    chosen = list(dict.fromkeys(named[hit.repository] for hit in answer.hits))[:_MAX_PROJECTS]
    frequencies: dict[str, int] = {}
    chunk_count = 0
    for number in range(len(projects)):
        code = projects[number].index.store.code
        for term, count in code.document_frequencies(question_terms(question)).items():
            frequencies[term] = frequencies.get(term, 0) + count
        chunk_count += code.chunk_count()
    terms = QuestionTerms.of(question, frequencies, chunk_count)
    finder = TermFinder(terms)
    ranks: dict[tuple[str, str], int] = {}
    for hit in answer.hits:
        ranks.setdefault((hit.repository, hit.path), len(ranks))
    candidates: list[Candidate] = []
    for number in chosen:
        hits = [hit for hit in answer.hits if named[hit.repository] == number]
        candidates += _collect_candidates(projects[number], number, question, hits, ranks, searches[number], finder)
    score(candidates, terms, about_tests=answer.query.about_tests)
    for number in chosen:
        _adjust_named_scores(projects[number], [each for each in candidates if each.project == number], answer)
    ordered = sorted(candidates, key=lambda each: -each.score)
    return Gathered(tuple(projects), answer, tuple(ordered), terms)


def _collect_candidates(
    project: OpenProject,
    number: int,
    question: str,
    hits: Sequence[CodeHit],
    ranks: dict[tuple[str, str], int],
    search: CodeSearch,
    finder: TermFinder,
) -> list[Candidate]:
    """Return the code blocks of a project's best files as candidates without scores."""
    paths = list(dict.fromkeys(hit.path for hit in hits))[:_MAX_FILES]
    scored = search.score_chunks(question, paths)
    found: list[Candidate] = []
    for path in paths:
        own = [(rank, hit) for rank, hit in enumerate(hits, 1) if hit.path == path]
        chunks = [each for each in scored if each.chunk.path == path]
        lines = [finder.find(line) for line in project.lines(path)]
        for unit in project.units(path):
            inside = lines[unit.start - 1 : unit.end]
            near = [c.deviations for c in chunks if c.chunk.start_line <= unit.end and unit.start <= c.chunk.end_line]
            found.append(
                Candidate(
                    unit,
                    ranks[project.name, path],
                    own[0][1].score,
                    [term for terms, _ in inside for term in terms],
                    sum(words for _, words in inside),
                    max(near, default=0.0),
                    next((rank for rank, hit in own if unit.start <= _hit_line(hit) <= unit.end), 0),
                    number,
                )
            )
    return found


def _hit_line(hit: CodeHit) -> int:
    return hit.line or hit.head_line or hit.start_line


def _adjust_named_scores(project: OpenProject, candidates: Sequence[Candidate], answer: CodeAnswer) -> None:
    """Raise the scores of code blocks whose name or location is in the question, and lower scores of common names."""
    has_locations = bool(answer.query.frames) or answer.is_message or answer.query.kind in ("literal", "pattern")
    hits = [hit for hit in answer.hits if hit.line and hit.repository == project.name] if has_locations else []
    locations = {(hit.path, hit.line) for hit in hits}
    common: set[str] = set()
    for name in answer.query.names:
        if answer.query.kind == "symbol" or looks_like_code(name, SYMBOL_SIGNS) or "." in name:
            found = _definition_locations(project, name)
            locations |= found if len(found) <= _MAX_DEFINITIONS_PER_NAME else set()
            common |= {name} if len(found) > _MAX_DEFINITIONS_PER_NAME else set()
    for each in candidates:
        unit = each.unit
        if any(path == unit.path and unit.start <= line <= unit.end for path, line in locations):
            each.score = max(each.score, _MIN_NAMED_SCORE)
        elif unit.symbol.rpartition(".")[2] in common and not each.features["container_share"]:
            each.score *= _COMMON_NAME_FACTOR


def _definition_locations(project: OpenProject, name: str) -> set[tuple[str, int]]:
    """Return the locations of all definitions of a name. Definitions in tests are used only if there are no others."""
    try:
        found = project.graph.find(name, suggests=False)
    except BadRequest:
        return set()
    rows = [row for row in found if not is_test(row.path)] or found
    return {(row.path, row.line) for row in rows}
