"""Search provider for code: definitions by name, chunks by similarity, and full definitions by id."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from deltos.domains.code.code_ids import CodeLocation, code_location
from deltos.domains.code.present.source_reader import SourceReader
from deltos.domains.code.project_search import search_projects
from deltos.domains.code.search import CodeSearch
from deltos.domains.graph.search import GraphSearch
from deltos.errors import BadRequest, NotFound
from deltos.federation.intent import intent_of
from deltos.federation.model import FullText, Hit, ProviderResults
from deltos.federation.selected_projects import foreign_project_id, select_projects
from deltos.store.code import FileScope
from deltos.text.counts import counted
from deltos.text.similar_names import similar_names
from deltos.wording import COMMITS_MARK
from deltos.workspace.project_lookup import unique_project_name
from deltos.workspace.project_selection import freshen_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.domains.code.model import CodeAnswer, CodeHit
    from deltos.federation.model import SearchRequest
    from deltos.store.symbols import Symbol
    from deltos.workspace.project_index import Freshness, ProjectIndex
    from deltos.workspace.project_selection import Selection
    from deltos.workspace.projects import Projects

_MAX_DEFINITIONS = 5
_MAX_SUGGESTIONS = 3


class CodeProvider:
    """Provider of code search results from the session's project or the selected projects."""

    kind = "code"
    toolsets: tuple[str, ...] = ("code", "graph")

    def __init__(self, projects: Projects, *, by_meaning: bool = True) -> None:
        self._projects = projects
        self._by_meaning = by_meaning

    def search(self, asked: SearchRequest, scope: Sequence[str]) -> ProviderResults:
        """Return definitions of the queried name, then matching chunks."""
        try:
            selection = select_projects(self._projects, asked)
        except BadRequest as problem:  # the project may exist only in memory
            if "memory" not in scope:
                raise
            return ProviderResults(searched=f"no code ({problem.message})")
        if selection.single_index is None:
            return self._search_several(selection, asked, scope)
        index, foreign = selection.single_index, foreign_project_id(selection, asked)

        def work(freshness: Freshness) -> ProviderResults:
            defined = self._find_definitions(index, asked, foreign) if "graph" in scope else []
            chunks, total, files = self._find_chunks(index, asked, foreign) if "code" in scope else ([], 0, 0)
            hits = {hit.id: hit for hit in reversed([*defined, *chunks])}
            searched = f"{counted(files or index.store.file_count(), 'file')} of code"
            notes = freshness.notes_about("code")
            return ProviderResults(tuple(reversed(hits.values())), max(total, len(hits)), searched, notes)

        return index.answer(work, progress=asked.progress, files_only=True)

    def _search_several(self, selection: Selection, asked: SearchRequest, scope: Sequence[str]) -> ProviderResults:
        """Search several projects. Titles contain the project name."""
        if "code" in scope:
            found = search_projects(
                selection,
                asked.progress,
                lambda search: search.search(asked.query, limit=asked.limit, every_line=False),
                by_meaning=self._by_meaning,
            )
            fresh, answer = found.fresh, found.answer
            chunks, total = [_chunk_hit(hit, hit.project_id, hit.repository) for hit in answer.hits], _total(answer)
        else:
            fresh, chunks, total = freshen_all(selection, asked.progress, files_only=True), [], 0
        defined = []
        for each in fresh.ready if "graph" in scope else ():
            defined += self._find_definitions(
                each.index, asked, unique_project_name(each.index.project.root), each.name
            )
        hits = {hit.id: hit for hit in reversed([*defined[:_MAX_DEFINITIONS], *chunks])}
        files = sum(each.index.store.file_count() for each in fresh.ready)
        searched = f"{counted(files, 'file')} of code in {counted(len(fresh.ready), 'project')}"
        notes = fresh.notes_about("code")
        return ProviderResults(tuple(reversed(hits.values())), max(total, len(hits)), searched, notes)

    def fetch(self, identifier: str, asked: SearchRequest) -> FullText:
        """Return the current text of the definition or lines with this id."""
        location = CodeLocation.parse(identifier)
        index = self._projects.find(location.project_id, asked.root)
        return index.answer(lambda _freshness: _full_text(index, location), progress=asked.progress)

    @staticmethod
    def _find_definitions(index: ProjectIndex, asked: SearchRequest, foreign: str, repository: str = "") -> list[Hit]:
        """Return the definitions of the name that the query consists of, or an empty list."""
        name = intent_of(asked.query).name
        if not name:
            return []
        try:
            rows = GraphSearch(index.store, index.project.root).find(name, suggests=False)
        except BadRequest:  # no such symbol, but chunks may still match
            return []
        # For the query `A.b`, the method `A.b` comes before a function `b` of a module `a`.
        rows.sort(key=lambda row: row.key != name)
        return [_definition_hit(row, foreign, repository) for row in rows[:_MAX_DEFINITIONS]]

    def _find_chunks(self, index: ProjectIndex, asked: SearchRequest, foreign: str) -> tuple[list[Hit], int, int]:
        """Return the matching chunks, the total number of matches, and the number of searched files."""
        search = CodeSearch(index.store, index.project.root, workers=index.workers, by_meaning=self._by_meaning)
        answer = search.search(asked.query, limit=asked.limit, every_line=False)
        return [_chunk_hit(hit, foreign) for hit in answer.hits], _total(answer), answer.files_searched


def _total(answer: CodeAnswer) -> int:
    """Return the number of matches, plus one if there may be more."""
    return answer.total + answer.total_is_least


def _chunk_hit(hit: CodeHit, foreign: str, repository: str = "") -> Hit:
    location = code_location(hit.path, hit.symbol, hit.start_line, hit.end_line, foreign)
    found = _build_hit(location, hit.start_line, hit.end_line, hit.content, hit.score, repository)
    mark = COMMITS_MARK if hit.found_by == "commits" else ""
    return replace(found, mark=mark, is_semantic_match=hit.found_by == "meaning")


def _definition_hit(row: Symbol, foreign: str, repository: str) -> Hit:
    location = CodeLocation(row.path, row.key, project_id=foreign)
    return _build_hit(location, row.line, row.end_line, f"{row.signature}\n{row.doc}".strip(), 1.0, repository)


def _build_hit(location: CodeLocation, start: int, end: int, text: str, score: float, repository: str) -> Hit:
    name = f"{location.symbol} " if location.symbol else ""
    whose = f"[{repository}] " if repository else ""
    return Hit(
        id=location.id,
        title=f"{whose}{name}{location.path}:{start}-{end}",
        url=_line_url(location.path, start, end),
        text=text,
        source="code",
        own_score=score,
        names=(location.symbol,) if location.symbol else (),
        path=location.path,
    )


def _line_url(path: str, start: int, end: int) -> str:
    return f"{path}#L{start}-L{end}"


def _full_text(index: ProjectIndex, location: CodeLocation) -> FullText:
    """Return the current text of a code location."""
    # Only indexed files are read, so that an id cannot refer to a file outside the project.
    if not index.store.file(location.path):
        raise NotFound(f"No file '{location.path}' in the index of this project", hint=_path_hint(index, location.path))
    with SourceReader(index.project.root, index.store) as reader:
        lines = reader.lines(location.path)
    if lines is None:
        raise NotFound(f"'{location.path}' can no longer be read", hint="It was removed or changed. Search again.")
    found = _find_lines(index, location)
    if found is None:
        raise NotFound(f"'{location.path}' defines no '{location.symbol}'", hint=_symbol_hint(index, location))
    if found[0] > len(lines):
        raise NotFound(
            f"'{location.path}' has only {counted(len(lines), 'line')}", hint="Search again for the current lines."
        )
    start, end, kind = found
    end = min(end, len(lines))
    return FullText(
        id=location.id,
        title=f"{location.symbol} {location.path}:{start}-{end}".strip(),
        text="\n".join(lines[start - 1 : end]),
        url=_line_url(location.path, start, end),
        metadata={
            "kind": kind,
            "path": location.path,
            "start_line": start,
            "end_line": end,
            "project_id": index.project.project_id,
        },
    )


def _path_hint(index: ProjectIndex, path: str) -> str:
    """Return a hint that suggests indexed files of the same name."""
    name = path.rpartition("/")[2]
    every = (each for _, each in index.store.code.paths(FileScope()))
    same = list(islice((each for each in every if each.rpartition("/")[2] == name), _MAX_SUGGESTIONS))
    return f"Did you mean: {', '.join(same)}?" if same else "It may have been removed; search for it."


def _symbol_hint(index: ProjectIndex, location: CodeLocation) -> str:
    """Return a hint that suggests similar symbols of the file."""
    known = {row.key: None for row in index.store.graph.symbols_in(location.path)}
    near = similar_names(location.symbol, list(known), limit=_MAX_SUGGESTIONS)
    return f"Did you mean: {', '.join(near)}?" if near else "It may have been moved; search for it."


def _find_lines(index: ProjectIndex, location: CodeLocation) -> tuple[int, int, str] | None:
    """Return the first line, last line and symbol kind of a code location, or None if the symbol is unknown."""
    if not location.symbol:
        return location.start, location.end, "lines"
    for row in index.store.graph.symbols_in(location.path):
        if row.key == location.symbol:
            return row.line, row.end_line, row.kind
    file = index.store.file(location.path)
    chunks = index.store.code.chunks_of_file(file.id) if file else []
    same = [chunk for chunk in chunks if chunk.symbol == location.symbol]
    return (same[0].start_line, same[-1].end_line, same[0].kind) if same else None
