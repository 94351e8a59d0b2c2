"""Load the data by which the files of a project are ranked: terms, similarities, commits and imports."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from deltos.domains.code.retrieve.candidates import Corpus, Evidence
from deltos.domains.code.retrieve.tuning import RETRIEVAL
from deltos.store.code import FileScope

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deltos.domains.code.query.parse import CodeQuery
    from deltos.domains.code.selection import SearchedProject
    from deltos.store.code import Code
    from deltos.store.history import FileHistory


def open_corpora(projects: Sequence[SearchedProject], query: CodeQuery, *, by_meaning: bool) -> list[Corpus]:
    """Load the ranking data of the searched projects. Similarities are omitted if the query is a defined name."""
    by_meaning = by_meaning and not _is_defined((project.store.code for project in projects), query)
    found = []
    for project in projects:
        store, history = project.store.code, project.store.history
        evidence = _evidence_by_meaning(store, history, query) if by_meaning else Evidence(history=history)
        found.append(Corpus(store, replace(evidence, imports=project.store.graph)))
    return found


def evidence_for(store: Code, history: FileHistory | None, query: CodeQuery, *, by_meaning: bool = True) -> Evidence:
    """Load the ranking data of one project. Similarities are omitted if the query is a defined name."""
    if not by_meaning or _is_defined([store], query):
        return Evidence(history=history)
    return _evidence_by_meaning(store, history, query)


def _is_defined(stores: Iterable[Code], query: CodeQuery) -> bool:
    """Whether the query is a name that one of the projects defines."""
    if query.kind != "symbol":
        return False
    limit = RETRIEVAL.name_candidates  # the same limit as in candidate retrieval, so that the cached result can be used
    return any(store.definitions_named(query.names, FileScope(), limit=limit) for store in stores)


def _evidence_by_meaning(store: Code, history: FileHistory | None, query: CodeQuery) -> Evidence:
    """Return the similarities of chunks to the query, and the commits similar to the query."""
    # Imported here, because numpy and the model load slowly.
    from deltos.domains.code.retrieve.chunk_similarity import project_vectors
    from deltos.domains.code.retrieve.similar_commits import find_similar_commits

    similarities = project_vectors(store).similarities(store, query.terms, query.in_english or query.text)
    return Evidence(similarities, history, find_similar_commits(history, query.terms) if history else None)
