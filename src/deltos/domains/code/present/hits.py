"""Convert chunks to hits, which contain the current lines and the best matching definition."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from deltos.domains.code.present.excerpt import answering_definition
from deltos.domains.code.present.source_reader import SourceReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deltos.domains.code.model import CodeHit
    from deltos.domains.code.query.parse import CodeQuery
    from deltos.domains.code.rank.chunk_selection import SelectedChunk
    from deltos.domains.code.selection import SearchSelection
    from deltos.store.code import DefinitionRecord


def read_hits(
    chosen: Iterable[SelectedChunk], query: CodeQuery, selection: SearchSelection
) -> tuple[list[CodeHit], int]:
    """Return hits for the existing chunks (up to the limit), and the number of chunks that no longer exist."""
    found: list[tuple[SelectedChunk, CodeHit]] = []
    vanished = 0
    with ExitStack() as opened:
        readers: dict[int, SourceReader] = {}
        for selected in chosen:
            if len(found) >= selection.limit:
                break
            project = selection.projects[selected.corpus]
            if selected.corpus not in readers:
                reader = SourceReader(project.root, project.store, project.workers)
                readers[selected.corpus] = opened.enter_context(reader)
            if hit := readers[selected.corpus].hit(selected.chunk, selected.confidence):
                own, by = project.project_id, selected.found_by
                found.append((selected, replace(hit, repository=project.name, project_id=own, found_by=by)))
            else:
                vanished += 1
    return _name_after_definitions(found, query, selection), vanished


def _name_after_definitions(
    found: Sequence[tuple[SelectedChunk, CodeHit]], query: CodeQuery, selection: SearchSelection
) -> list[CodeHit]:
    """Set the symbol of each hit to the best matching definition; hits in changed files keep their symbols."""
    named: dict[int, CodeHit] = {}
    for number in dict.fromkeys(selected.corpus for selected, _ in found):
        here = [(place, *pair) for place, pair in enumerate(found) if pair[0].corpus == number]
        ranges = [(selected.chunk.file_id, hit.start_line, hit.end_line) for _, selected, hit in here]
        inside_each = selection.projects[number].store.code.definitions_in(ranges)
        for (place, selected, hit), inside in zip(here, inside_each, strict=True):
            is_same = hit.start_line == selected.chunk.start_line
            named[place] = _name_after_definition(hit, selected.line, inside, query) if is_same else hit
    return [named[place] for place in range(len(found))]


def _name_after_definition(hit: CodeHit, line: int, inside: Sequence[DefinitionRecord], query: CodeQuery) -> CodeHit:
    """Name a hit after the innermost definition that contains `line`, or after the best match if `line` is 0."""
    if line:
        around = [definition for definition in inside if definition.line <= line <= definition.end_line]
        if query.frames:  # a stack frame refers to a function, not to a variable
            around = [definition for definition in around if definition.kind != "variable"]
        return replace(_set_definition(hit, around[-1]) if around else _drop_distant_symbol(hit, inside), line=line)
    answering = answering_definition(hit, inside, query)
    if answering is None:
        answering = next((definition for definition in inside if _qualified_name(definition) == hit.symbol), None)
    return _set_definition(hit, answering) if answering else hit


def _drop_distant_symbol(hit: CodeHit, inside: Sequence[DefinitionRecord]) -> CodeHit:
    """Remove the symbol of a hit if its definition does not contain the requested line."""
    is_elsewhere = any(_qualified_name(definition) == hit.symbol for definition in inside)
    return replace(hit, symbol="", kind="") if is_elsewhere else hit


def _set_definition(hit: CodeHit, definition: DefinitionRecord) -> CodeHit:
    """Return the hit with the symbol and line range of a definition."""
    symbol = _qualified_name(definition)
    return replace(hit, symbol=symbol, kind=definition.kind, head_line=definition.line, tail_line=definition.end_line)


def _qualified_name(definition: DefinitionRecord) -> str:
    return f"{definition.container}.{definition.name}" if definition.container else definition.name
