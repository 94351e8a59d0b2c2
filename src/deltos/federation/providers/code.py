"""Code in the federated search: chunks by meaning, definitions by name, and whole definitions behind ids."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from deltos.domains.code.search import CodeSearch
from deltos.domains.code.source import SourceReader
from deltos.domains.code.spot import Spot, spot_of
from deltos.domains.code.together import search_together
from deltos.domains.graph.search import GraphSearch
from deltos.errors import BadRequest, NotFound
from deltos.federation.intent import intent_of
from deltos.federation.model import Hit, ProviderResults, Whole
from deltos.federation.workspaces import foreign_id, selected
from deltos.model import COMMITS_MARK
from deltos.store.code import FileScope
from deltos.text.counts import counted
from deltos.text.near_names import names_like
from deltos.workspace.registry import exact_name
from deltos.workspace.selection import freshen_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.domains.code.model import CodeHit
    from deltos.federation.model import SearchRequest
    from deltos.store.symbols import Symbol
    from deltos.workspace.project_index import Freshness, ProjectIndex
    from deltos.workspace.projects import Projects
    from deltos.workspace.selection import Selection

_MOST_DEFINITIONS = 5
_MOST_LIKE = 3  # names in a hint


class CodeProvider:
    """The code of the session's project, or of the one that is named."""

    kind = "code"
    toolsets: tuple[str, ...] = ("code", "graph")

    def __init__(self, projects: Projects, *, by_meaning: bool = True) -> None:
        self._projects = projects
        self._by_meaning = by_meaning

    def search(self, asked: SearchRequest, scope: Sequence[str]) -> ProviderResults:
        """Definitions of the name that is asked for, then chunks by meaning."""
        try:
            selection = selected(self._projects, asked)
        except BadRequest as problem:
            return ProviderResults(searched=f"no code ({problem.message})")
        if selection.alone is None:
            return self._search_several(selection, asked, scope)
        index, foreign = selection.alone, foreign_id(selection, asked)

        def work(freshness: Freshness) -> ProviderResults:
            defined = self._definitions(index, asked, foreign) if "graph" in scope else []
            chunks, total, files = self._chunks(index, asked, foreign) if "code" in scope else ([], 0, 0)
            hits = {hit.id: hit for hit in reversed([*defined, *chunks])}
            searched = f"{counted(files or index.store.file_count(), 'file')} of code"
            notes = freshness.notes_about("code")
            return ProviderResults(tuple(reversed(hits.values())), max(total, len(hits)), searched, notes)

        return index.answer(work, progress=asked.progress, files_alone=True)

    def _search_several(self, selection: Selection, asked: SearchRequest, scope: Sequence[str]) -> ProviderResults:
        """The same over several projects; a title says whose it is."""
        if "code" in scope:
            found = search_together(
                selection,
                asked.progress,
                lambda search: search.search(asked.query, limit=asked.limit, every_line=False),
                by_meaning=self._by_meaning,
            )
            fresh, answer = found.fresh, found.answer
            chunks, total = [_found(hit, hit.project_id, hit.repository) for hit in answer.hits], answer.total
        else:
            fresh, chunks, total = freshen_all(selection, asked.progress, files_alone=True), [], 0
        defined = []
        for each in fresh.ready if "graph" in scope else ():
            defined += self._definitions(each.index, asked, exact_name(each.index.project.root), each.name)
        hits = {hit.id: hit for hit in reversed([*defined[:_MOST_DEFINITIONS], *chunks])}
        files = sum(each.index.store.file_count() for each in fresh.ready)
        searched = f"{counted(files, 'file')} of code in {counted(len(fresh.ready), 'project')}"
        notes = fresh.notes_about("code")
        return ProviderResults(tuple(reversed(hits.values())), max(total, len(hits)), searched, notes)

    def fetch(self, identifier: str, asked: SearchRequest) -> Whole:
        """The definition or the lines behind an id, as they are now."""
        spot = Spot.read(identifier)
        index = self._projects.find(spot.project_id, asked.root)
        return index.answer(lambda _freshness: _whole(index, spot), progress=asked.progress)

    @staticmethod
    def _definitions(index: ProjectIndex, asked: SearchRequest, foreign: str, repository: str = "") -> list[Hit]:
        name = intent_of(asked.query).name
        if not name:
            return []
        try:
            rows = GraphSearch(index.store, index.project.root).find(name, suggests=False)
        except BadRequest:  # no such symbol: words may still match
            return []
        rows.sort(key=lambda row: row.key != name)  # a method `A.b` comes before a function `b` of a module `a`
        return [_defined(row, foreign, repository) for row in rows[:_MOST_DEFINITIONS]]

    def _chunks(self, index: ProjectIndex, asked: SearchRequest, foreign: str) -> tuple[list[Hit], int, int]:
        search = CodeSearch(index.store, index.project.root, workers=index.workers, by_meaning=self._by_meaning)
        answer = search.search(asked.query, limit=asked.limit, every_line=False)
        return [_found(hit, foreign) for hit in answer.hits], answer.total, answer.files_searched


def _found(hit: CodeHit, foreign: str, repository: str = "") -> Hit:
    spot = spot_of(hit.path, hit.symbol, hit.start_line, hit.end_line, foreign)
    found = _hit(spot, hit.start_line, hit.end_line, hit.content, hit.score, repository)
    mark = COMMITS_MARK if hit.found_by == "commits" else ""
    return replace(found, mark=mark, is_near=hit.found_by == "meaning")


def _defined(row: Symbol, foreign: str, repository: str) -> Hit:
    spot = Spot(row.path, row.key, project_id=foreign)
    return _hit(spot, row.line, row.end_line, f"{row.signature}\n{row.doc}".strip(), 1.0, repository)


def _hit(spot: Spot, start: int, end: int, text: str, score: float, repository: str) -> Hit:
    name = f"{spot.symbol} " if spot.symbol else ""
    whose = f"[{repository}] " if repository else ""
    return Hit(
        id=spot.id,
        title=f"{whose}{name}{spot.path}:{start}-{end}",
        url=_url(spot.path, start, end),
        text=text,
        source="code",
        own_score=score,
        names=(spot.symbol,) if spot.symbol else (),
        path=spot.path,
    )


def _url(path: str, start: int, end: int) -> str:
    return f"{path}#L{start}-L{end}"


def _whole(index: ProjectIndex, spot: Spot) -> Whole:
    """The lines of a spot; only files of the index are read, so no id leads out of the project."""
    if not index.store.file(spot.path):
        raise NotFound(f"No file '{spot.path}' in the index of this project", hint=_like_path(index, spot.path))
    with SourceReader(index.project.root, index.store) as reader:
        lines = reader.lines(spot.path)
    if lines is None:
        raise NotFound(f"'{spot.path}' cannot be read any more", hint="It was removed or changed: search again.")
    place = _lines_of(index, spot)
    if place is None:
        raise NotFound(f"'{spot.path}' defines no '{spot.symbol}'", hint=_like_symbol(index, spot))
    if place[0] > len(lines):
        raise NotFound(f"'{spot.path}' has only {counted(len(lines), 'line')}", hint="Search again for what is meant.")
    start, end, kind = place
    end = min(end, len(lines))
    return Whole(
        id=spot.id,
        title=f"{spot.symbol} {spot.path}:{start}-{end}".strip(),
        text="\n".join(lines[start - 1 : end]),
        url=_url(spot.path, start, end),
        metadata={
            "kind": kind,
            "path": spot.path,
            "start_line": start,
            "end_line": end,
            "project_id": index.project.project_id,
        },
    )


def _like_path(index: ProjectIndex, path: str) -> str:
    """The indexed files of the same name, as a hint."""
    name = path.rpartition("/")[2]
    every = (each for _, each in index.store.code.paths(FileScope()))
    same = list(islice((each for each in every if each.rpartition("/")[2] == name), _MOST_LIKE))
    return f"There is {', '.join(same)}." if same else "It never was, is gone, or is not indexed: search for it."


def _like_symbol(index: ProjectIndex, spot: Spot) -> str:
    """What a file defines that is called alike, as a hint."""
    known = {row.key: None for row in index.store.graph.symbols_in(spot.path)}
    near = names_like(spot.symbol, list(known), limit=_MOST_LIKE)
    return f"Did you mean: {', '.join(near)}?" if near else "Search for it: it never was there, or has moved."


def _lines_of(index: ProjectIndex, spot: Spot) -> tuple[int, int, str] | None:
    if not spot.symbol:
        return spot.start, spot.end, "lines"
    for row in index.store.graph.symbols_in(spot.path):
        if row.key == spot.symbol:
            return row.line, row.end_line, row.kind
    file = index.store.file(spot.path)
    chunks = index.store.code.chunks_of_file(file.id) if file else []
    same = [chunk for chunk in chunks if chunk.symbol == spot.symbol]
    return (same[0].start_line, same[-1].end_line, same[0].kind) if same else None
