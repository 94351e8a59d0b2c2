"""Strategy for words, names and issues: ranks files by terms, similarity and commit history."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from deltos.domains.code.model import CodeAnswer
from deltos.domains.code.present.hits import read_hits
from deltos.domains.code.present.notes import (
    empty_index_note,
    similar_defined_names,
    skipped_note,
    undefined_name_notes,
    unknown_words,
)
from deltos.domains.code.query.parse import MAX_TERMS
from deltos.domains.code.rank.chunk_selection import SelectedChunk, select_chunks
from deltos.domains.code.rank.ranked_files import ranked_files
from deltos.domains.code.retrieve.candidates import searches_only_some_projects
from deltos.domains.code.retrieve.evidence import open_corpora
from deltos.domains.code.retrieve.mentioned_files import MAX_NAMED_FILES, files_matching_name
from deltos.domains.code.retrieve.tuning import RETRIEVAL
from deltos.domains.code.strategies.tuning import STRATEGIES
from deltos.store.code import FileScope
from deltos.text.translation import should_keep_original_words
from deltos.text.words import unique

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.domains.code.model import CodeHit
    from deltos.domains.code.query.parse import CodeQuery
    from deltos.domains.code.selection import SearchedProject, SearchSelection
    from deltos.ranking import LinearRanker

_TRANSLATION_CHARACTERS = 160


@dataclass(frozen=True, slots=True)
class WordsStrategy:
    """Ranks files by learned weights."""

    ranker: LinearRanker
    by_meaning: bool = True

    def search(
        self,
        query: CodeQuery,
        selection: SearchSelection,
        *,
        notes: tuple[str, ...] = (),
        missing_is_noted: bool = False,
    ) -> CodeAnswer:
        """Return the best chunks; the best chunk of each file comes before second chunks.

        `missing_is_noted` is set if the notes already say that there is no exact match.
        """
        query = adapt_to_code_language(query, selection.projects)
        corpora = open_corpora(selection.projects, query, by_meaning=self.by_meaning)
        notes = (*notes, *_translation_note(query))
        if searches_only_some_projects(corpora, query):
            some = f"{RETRIEVAL.max_projects_by_words} of {len(corpora)} projects that contain most query words"
            notes = (*notes, f"Note: only the {some} were searched by words; name a project to search it completely.")
        ranked, is_least = ranked_files(query, selection.scope, corpora, self.ranker, limit=selection.limit)
        selected = select_chunks(corpora, ranked[: selection.limit], query)
        chosen = _put_named_files_first(selected, query, selection)
        hits, _ = read_hits(chosen, query, selection)
        if not hits:
            return _empty_answer(query, selection, notes)
        if query.is_name and not any(candidate.definitions for candidate, _ in ranked):
            notes = (*notes, *undefined_name_notes(query, selection, missing_is_noted=missing_is_noted))
        is_weak = _is_weak_match(hits)
        unknown = unknown_words(query, corpora) if is_weak else ()
        return CodeAnswer(
            query,
            tuple(hits),
            max(len(ranked), len(hits)),
            is_least,
            notes=notes,
            is_definition=query.kind == "symbol" and bool(ranked[0][0].definitions),
            is_weak=is_weak,
            unknown_words=unknown,
            skipped_note=skipped_note(selection) if unknown else "",
        )


def adapt_to_code_language(query: CodeQuery, projects: Sequence[SearchedProject]) -> CodeQuery:
    """Add the original words to a translated query if the code contains words of the original language."""
    if not query.original_terms:
        return query
    if query.kind == "symbol" and any(
        project.store.code.definitions_named(query.names, FileScope(), limit=1) for project in projects
    ):  # names that occur in the code are not translated
        return replace(query, terms=query.original_terms, in_english="", original_terms=())
    frequencies: Counter[str] = Counter()
    for project in projects:
        frequencies.update(project.store.code.document_frequencies([*query.original_terms, *query.terms]))
    if not should_keep_original_words(query.original_terms, query.terms, frequencies):
        return query
    return replace(query, terms=tuple(unique([*query.terms, *query.original_terms])[:MAX_TERMS]))


def _is_weak_match(hits: Sequence[CodeHit]) -> bool:
    """Whether the first hit is probably wrong: its confidence is very low, or low and close to the second hit's."""
    first, second = hits[0].score, hits[1].score if len(hits) > 1 else hits[0].score
    if first < STRATEGIES.very_weak_confidence:
        return True
    return first < STRATEGIES.weak_confidence and second >= first * (1 - STRATEGIES.max_weak_lead)


def _translation_note(query: CodeQuery) -> tuple[str, ...]:
    """Return a note with the English translation of the query, if it was translated."""
    return (f"Translated to English as: {query.in_english[:_TRANSLATION_CHARACTERS]}",) if query.in_english else ()


def _put_named_files_first(
    chosen: list[SelectedChunk], query: CodeQuery, selection: SearchSelection
) -> list[SelectedChunk]:
    """If the query is a file name, place the first chunks of the files with this name before the chosen chunks."""
    if not query.is_name or "." not in query.text:
        return chosen
    named = [
        SelectedChunk(chunk, 1.0, corpus=number)
        for number, file_id, _ in files_matching_name(query.text, selection)[:MAX_NAMED_FILES]
        for chunk in selection.projects[number].store.code.chunks_of_file(file_id)[:1]
    ]
    known = {(each.corpus, each.chunk.id) for each in named}
    return [*named, *(each for each in chosen if (each.corpus, each.chunk.id) not in known)]


def _empty_answer(query: CodeQuery, selection: SearchSelection, notes: tuple[str, ...]) -> CodeAnswer:
    """Return an answer without hits; it contains the number of searched files, similar names, and skipped files."""
    searched = sum(project.store.code.file_count(selection.scope) for project in selection.projects)
    if not searched and all(project.store.facts().is_complete for project in selection.projects):
        notes = (*notes, empty_index_note(selection))
    return CodeAnswer(
        query,
        (),
        0,
        files_searched=searched,
        notes=notes,
        suggestions=similar_defined_names(query, selection),
        skipped_note=skipped_note(selection),
    )
