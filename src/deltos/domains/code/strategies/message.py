"""Strategy for error messages: finds the string literals in code that produce a message."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from deltos.domains.code.paths import is_prose
from deltos.domains.code.present.source_reader import SourceReader
from deltos.domains.code.query.error_messages import (
    find_messages,
    fixed_text,
    is_quotation,
    match_message,
    reads_as_message,
    word_windows,
)
from deltos.domains.code.query.parse import CodeQuery, parse_query
from deltos.domains.code.retrieve.candidates import matching_chunks
from deltos.domains.code.retrieve.line_scan import AnyTextFinder, ScanReport, SequenceFinder, scan
from deltos.domains.code.strategies.combine import merge_quotation
from deltos.domains.code.strategies.exact import answer_by_lines, chunks_by_round, path_order, scan_lines
from deltos.domains.code.strategies.tuning import STRATEGIES
from deltos.text.words import shared_words, unique
from deltos.workspace.file_purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from deltos.domains.code.model import CodeAnswer
    from deltos.domains.code.query.error_messages import ErrorMessage
    from deltos.domains.code.rank.chunk_selection import SelectedChunk
    from deltos.domains.code.selection import SearchedProject, SearchSelection
    from deltos.domains.code.strategies.words import WordsStrategy


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
        contents = [hit.content for hit in by_words.hits if _is_product_code(hit.path)]
        for message in find_messages(query.text):
            if parts := self.matched_parts(message, selection, contents):
                exact = self.search_parts(parts, selection)
                if exact is not None and is_quotation(query.text, message):
                    return merge_quotation(exact, by_words, selection.limit, exact_first=reads_as_message(message.text))
                return exact or by_words
        return by_words

    def chunks_with_message(self, text: str, selection: SearchSelection) -> list[SelectedChunk]:
        """Return the chunks of code (without tests) that contain the error message of a stack trace."""
        for message in find_messages(text):
            if parts := self.matched_parts(message, selection) if message.is_certain else ():
                chunk_selection = replace(selection, every_line=False)
                files = scan_lines(SequenceFinder(parts), chunk_selection, _inner_words(parts)).files
                product_code = [file for file in files if not any(path_order(file.path))]
                rounds = chunks_by_round(product_code, selection)
                return [*itertools.islice(rounds, STRATEGIES.max_message_hits_before_frames)]
        return []

    def matched_parts(
        self, message: ErrorMessage, selection: SearchSelection, contents: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """Return the string literals in code that match the message.

        The message is compared with `contents`. A text that is definitely a message is also compared with chunks that
        contain adjacent words of the message, and with lines of files.
        """
        if not message.is_certain:
            return match_message(message, contents).parts
        found = match_message(message, itertools.chain(contents, _contents_with_message_words(message, selection)))
        if not found.is_complete:
            from_files = match_message(message, _lines_containing(word_windows(message), selection))
            found = max(found, from_files, key=lambda each: each.score)
        return found.parts

    def search_parts(self, parts: tuple[str, ...], selection: SearchSelection) -> CodeAnswer | None:
        """Return the lines of code that contain the parts of an error message in order, or None if there are none."""
        words = _inner_words(parts)
        scans_everything = len(selection.projects) > STRATEGIES.message_projects and not words
        if not parts or scans_everything:
            return None
        matches = scan_lines(SequenceFinder(parts), selection, words)
        query = CodeQuery(max(parts, key=len), "literal")
        return replace(answer_by_lines(query, matches, selection), is_message=True) if matches.files else None


def _lines_containing(texts: Sequence[str], selection: SearchSelection) -> Iterator[str]:
    """Yield lines of code that contain one of the texts, with context lines.

    If several projects are searched, nothing is yielded, because scanning all of them would take too long.
    """
    if not texts or len(selection.projects) > 1:
        return
    [project] = selection.projects
    remaining, context = STRATEGIES.max_statement_lines, STRATEGIES.statement_context_lines
    paths = [path for _, path in project.store.code.paths(selection.scope) if _is_product_code(path)]
    seconds = STRATEGIES.statement_seconds
    with SourceReader(project.root, project.store, project.workers) as reader:
        for matches in scan(project.root, paths, AnyTextFinder(texts), ScanReport(), project.store, seconds=seconds):
            lines = reader.lines(matches.path) or []
            for number in matches.lines[:remaining]:
                yield "\n".join(lines[max(0, number - 1 - context) : number + context])
            remaining -= len(matches.lines)
            if remaining <= 0:
                return


def _contents_with_message_words(message: ErrorMessage, selection: SearchSelection) -> Iterator[str]:
    """Yield the content of chunks of code (without tests) that contain adjacent words of the error message."""
    query = parse_query(fixed_text(message), shared_words(), exact=False)
    max_candidates = STRATEGIES.message_candidates // min(len(selection.projects), STRATEGIES.message_projects)
    for project in _projects_with_most_terms(selection.projects, query.terms):
        store = project.store.code
        candidates = matching_chunks(store, query, selection.scope, limit=max_candidates)
        terms = store.chunk_terms(candidates, query.terms)
        matching = sorted(candidates, key=lambda each: -terms[each].anywhere.bit_count())
        chunks = store.chunks(matching) if matching else {}
        product_code = [chunks[each] for each in matching if each in chunks and _is_product_code(chunks[each].path)]
        compared = product_code[: STRATEGIES.message_chunks]
        with SourceReader(project.root, project.store, project.workers) as reader:
            yield from (hit.content for chunk in compared if (hit := reader.hit(chunk, 1.0)))


def _projects_with_most_terms(projects: Sequence[SearchedProject], terms: Sequence[str]) -> Sequence[SearchedProject]:
    """Return the projects that contain most of the terms; a term counts more if fewer projects contain it."""
    limit = STRATEGIES.message_projects
    if len(projects) <= limit:
        return projects
    known = [frozenset(project.store.code.document_frequencies(terms)) for project in projects]
    matching = Counter(itertools.chain.from_iterable(known))
    scores = [math.fsum(math.log(1 + len(known) / matching[term]) for term in words) for words in known]
    best = sorted(range(len(known)), key=lambda number: -scores[number])[:limit]
    return [projects[number] for number in best]


def _inner_words(texts: Iterable[str]) -> list[str]:
    """Return the index terms of texts, without the first and last word of each text, which may be incomplete."""
    return unique(word for text in texts for word in shared_words().of(" ".join(text.split()[1:-1])).split())


def _is_product_code(path: str) -> bool:
    """Whether a file is neither prose nor a test."""
    return not is_prose(path) and not is_test(path)
