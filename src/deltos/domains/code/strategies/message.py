"""Strategy for error messages: finds the string literals in code that produce a message."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from deltos.domains.code.model import CodeAnswer
from deltos.domains.code.paths import is_prose
from deltos.domains.code.present.hits import read_hits
from deltos.domains.code.present.source_reader import SourceReader
from deltos.domains.code.query.error_messages import (
    find_messages,
    fixed_text,
    is_quotation,
    match_message,
    reads_as_message,
)
from deltos.domains.code.query.parse import CodeQuery, parse_query
from deltos.domains.code.rank.chunk_selection import SelectedChunk
from deltos.domains.code.retrieve.candidates import matching_chunks
from deltos.domains.code.strategies.combine import alternate
from deltos.domains.code.strategies.exact import path_order
from deltos.domains.code.strategies.tuning import STRATEGIES
from deltos.text.words import shared_words
from deltos.workspace.file_purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.domains.code.model import CodeHit
    from deltos.domains.code.query.error_messages import ErrorMessage
    from deltos.domains.code.selection import SearchSelection
    from deltos.domains.code.strategies.words import WordsStrategy


@dataclass(frozen=True, slots=True)
class _ComparedChunk:
    """A chunk that is compared with a message; `corpus` is the position of its project."""

    corpus: int
    hit: CodeHit

    @property
    def is_product_code(self) -> bool:
        """Whether the file is neither prose nor a test."""
        return not is_prose(self.hit.path) and not is_test(self.hit.path)

    def line_of(self, parts: Sequence[str]) -> int:
        """Return the number of the line that contains the longest part. Return 0 if the parts do not occur in order."""
        at = 0
        for part in parts:
            if (at := self.hit.content.find(part, at)) < 0:
                return 0
            at += len(part)
        before = self.hit.content.partition(max(parts, key=len))[0].count("\n")
        return self.hit.end_line - self.hit.content.count("\n") + before


class MessageStrategy:
    """Finds the code that produces an error message."""

    def __init__(self, words: WordsStrategy) -> None:
        self._words = words

    def applies(self, query: CodeQuery) -> bool:
        """Whether the query may contain an error message: it consists of words and is neither a name nor an issue."""
        return query.kind == "words" and not query.is_issue

    def search(self, query: CodeQuery, selection: SearchSelection) -> CodeAnswer:
        """Return the lines that produce the error message in the query, or the answer by words if there are none.

        If the query is a question that quotes the message, the hits for the message and for the question are merged.
        """
        by_words = self._words.search(query, selection)
        numbers = {project.name: number for number, project in enumerate(selection.projects)}
        known = [_ComparedChunk(numbers[hit.repository], hit) for hit in by_words.hits]
        for message in find_messages(query.text):
            exact = self.answer_for(message, selection, known)
            if exact is not None and is_quotation(query.text, message):
                order = [exact, by_words] if reads_as_message(message.text) else [by_words, exact]
                return replace(alternate(by_words.query, order, selection.limit), is_message=False)
            if exact is not None:
                return exact
        return by_words

    def chunks_with_message(self, text: str, selection: SearchSelection) -> list[SelectedChunk]:
        """Return the chunks of code, except tests, that contain the error message of a stack trace."""
        for message in find_messages(text):
            found, _ = _find_message(message, selection, ()) if message.is_certain else ([], ())
            if found:
                return [each for each in found if not any(path_order(each.chunk.path))][
                    : STRATEGIES.max_message_hits_before_frames
                ]
        return []

    def answer_for(
        self, message: ErrorMessage, selection: SearchSelection, known: Sequence[_ComparedChunk] = ()
    ) -> CodeAnswer | None:
        """Return the lines of code that produce a message, or None if there are none.

        The message is compared with the `known` chunks. A text that is definitely a message is also compared with the
        chunks that contain most of its words.
        """
        found, parts = _find_message(message, selection, known)
        if not found:
            return None
        query = CodeQuery(max(parts, key=len), "literal")
        hits, vanished = read_hits(found, query, selection)
        return CodeAnswer(query, tuple(hits), len(found) - vanished, is_message=True)


def _find_message(
    message: ErrorMessage, selection: SearchSelection, known: Sequence[_ComparedChunk]
) -> tuple[list[SelectedChunk], tuple[str, ...]]:
    """Return the chunks with the string literals that produce a message (code first), and the literals."""
    compared = [*known, *(_chunks_with_most_words(message, selection) if message.is_certain else ())]
    parts = match_message(message, [each.hit.content for each in compared if each.is_product_code]).parts
    if parts and not message.is_certain:
        compared += _chunks_with_most_words(message, selection)
    lines = {(each.corpus, each.hit.chunk_id): line for each in compared if parts and (line := each.line_of(parts))}
    found = [
        SelectedChunk(chunk, 1.0, lines[corpus, chunk.id], corpus=corpus)
        for corpus, project in enumerate(selection.projects)
        if (ids := [chunk_id for number, chunk_id in lines if number == corpus])
        for chunk in project.store.code.chunks(ids).values()
    ]
    return sorted(found, key=lambda each: path_order(each.chunk.path)), parts


def _chunks_with_most_words(message: ErrorMessage, selection: SearchSelection) -> list[_ComparedChunk]:
    """Return the chunks that contain most words of a message."""
    query = parse_query(fixed_text(message), shared_words(), exact=False)
    compared: list[_ComparedChunk] = []
    for number in _projects_with_most_terms(selection, query.terms):
        project = selection.projects[number]
        store = project.store.code
        candidates = matching_chunks(store, query, selection.scope, limit=STRATEGIES.message_candidates)
        terms = store.chunk_terms(candidates, query.terms)
        best = sorted(candidates, key=lambda each: -terms[each].anywhere.bit_count())[: STRATEGIES.message_chunks]
        with SourceReader(project.root, project.store, project.workers) as reader:
            hits = (reader.hit(chunk, 1.0) for chunk in store.chunks(best).values())
            compared += [_ComparedChunk(number, hit) for hit in hits if hit]
    return compared


def _projects_with_most_terms(selection: SearchSelection, terms: Sequence[str]) -> Sequence[int]:
    """Return the positions of the projects that contain most of the terms; rare terms count more."""
    if len(selection.projects) <= STRATEGIES.message_projects:
        return range(len(selection.projects))
    known = [frozenset(project.store.code.document_frequencies(terms)) for project in selection.projects]
    matching = Counter(chain.from_iterable(known))
    scores = [math.fsum(math.log(1 + len(known) / matching[term]) for term in words) for words in known]
    return sorted(range(len(known)), key=lambda number: -scores[number])[: STRATEGIES.message_projects]
