"""Read path of code search: parse the query, select candidates, rank, choose chunks, and read their current lines."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.domains.code.candidates import (
    KEPT_FILES,
    MAX_PROJECTS_BY_WORDS,
    NAME_CANDIDATES,
    Corpus,
    Evidence,
    extract_features,
    gather_candidates,
    matching_chunks,
    searches_only_some_projects,
)
from deltos.domains.code.chunk_selection import ScoredChunk, SelectedChunk, covered_lines, score_chunks, select_chunks
from deltos.domains.code.compound_questions import split_question
from deltos.domains.code.error_messages import (
    ErrorMessage,
    adjacent_stems,
    certain_message,
    find_messages,
    fixed_text,
    match_message,
    word_windows,
)
from deltos.domains.code.exact_search import AnyOf, Finder, InOrder, LinePattern, Literal, ScanReport, scan
from deltos.domains.code.excerpt import answering_definition
from deltos.domains.code.features import FEATURES
from deltos.domains.code.mentioned_files import locate_mentions, rescore_for_issue
from deltos.domains.code.model import CodeAnswer, CodeHit
from deltos.domains.code.paths import is_aside, is_changelog, is_prose
from deltos.domains.code.query import MAX_TERMS, CodeQuery, parse_query
from deltos.domains.code.related_files import boost_related_files
from deltos.domains.code.source_reader import SourceReader
from deltos.ranking import load_ranker
from deltos.store.code import FileScope
from deltos.text.counts import counted
from deltos.text.similar_names import similar_names
from deltos.text.translation import should_keep_original_words
from deltos.text.words import plain_words, shared_words, unique
from deltos.workspace.file_purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from deltos.domains.code.candidates import CandidatePool
    from deltos.domains.code.features import CandidateFile
    from deltos.isolated.process_pool import ProcessPool
    from deltos.ranking import LinearRanker
    from deltos.store.code import Code, DefinitionRecord
    from deltos.store.history import FileHistory
    from deltos.store.project import ProjectStore

WEIGHTS_FILE = Path(__file__).with_name("weights.json")
# Results below this share of the best confidence are dropped; the threshold is higher if the query is a name.
_MIN_SHARE_OF_BEST, _MIN_SHARE_OF_BEST_FOR_NAMES = 0.05, 0.1
# Factors on the confidence of tests and prose, so that code comes first: 0.9 instead of 1.5 of ten results are tests or
# prose, and NDCG@10 of 535 questions is 0.707 instead of 0.705.
_TEST_FACTOR, _PROSE_FACTOR = 0.4, 0.3
MAX_RESULTS = 50
_MAX_COMPARED_NAMES = 50_000
_MAX_SUGGESTIONS = 3
# Below this, the first result is right one time in four: benchmarks/RESULTS.md, "What an answer costs".
WEAK_CONFIDENCE = 0.3
_TRANSLATION_CHARACTERS = 160
_MAX_UNKNOWN_WORDS = 6
_SHOWN_CHARACTERS = 100
_TEXTLESS_REASONS = frozenset(("binary", "empty"))
_MAX_SKIPPED_NAMES = 3
_MAX_NAMED_FILES = 3  # files listed for a query that is a file name
# For a message: chunks that are compared with it, and chunks with most of its terms that are tested for adjacent words.
_MESSAGE_CHUNKS, _MESSAGE_CANDIDATES = 40, 200
_UNCERTAIN_MESSAGE_CHUNKS, _UNCERTAIN_MESSAGE_CANDIDATES = 10, 80  # if the text may not be a message
_MESSAGE_PROJECTS = 12  # maximum number of projects searched for a message
_MAX_CHUNKS_WITH_WORD = 200  # per project; a more common word does not narrow the scan
_MAX_STATEMENT_LINES, _STATEMENT_CONTEXT_LINES = 500, 5  # lines compared with a message, and context lines around each
_STATEMENT_SECONDS = 1.0  # timeout for all files
_SUBQUESTION_HITS = 5  # hits requested for each part of a compound question
_MAX_MESSAGE_HITS_BEFORE_FRAMES = 2  # locations of a message shown before stack frames


@dataclass(frozen=True, slots=True)
class SearchedProject:
    """A project whose code is searched.

    `name` is its name in one answer, `project_id` its globally unique name. Both are empty if one project is searched.
    """

    store: ProjectStore
    root: Path
    workers: ProcessPool | None = None
    name: str = ""
    project_id: str = ""


@dataclass(frozen=True, slots=True)
class _MatchedFile:
    """A file with lines that match exactly; `corpus` is the index of its project among the searched projects."""

    corpus: int
    file_id: int
    path: str
    lines: Sequence[int]


@dataclass(slots=True)
class _ScanResult:
    """Result of an exact search: matches, notes, and the numbers of files searched and known."""

    files: list[_MatchedFile] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    read: int = 0
    known: int = 0
    timed_out: bool = False


def _files_with(code: Code, words: Sequence[str], scope: FileScope) -> set[int] | None:
    """Return the files that contain the rarest of the words.

    Empty if a word does not occur; None if too many chunks contain the rarest word.
    """
    counts = code.document_frequencies(words)
    if len(counts) < len(words):
        return set()
    rarest = min(counts, key=counts.__getitem__)
    found = code.match_chunks([rarest], [], scope, limit=_MAX_CHUNKS_WITH_WORD)
    return {match.file_id for match in found} if len(found) < _MAX_CHUNKS_WITH_WORD else None


def _inner_words(texts: Iterable[str]) -> list[str]:
    """Return the index words of texts without the first and last word of each, which may continue in the code."""
    return unique(word for text in texts for word in shared_words().of(" ".join(text.split()[1:-1])).split())


def _is_product_code(path: str) -> bool:
    """Whether a string in the file may be a message that users see; prose and tests only repeat messages."""
    return not is_prose(path) and not is_test(path)


class CodeSearch:
    """Searches the code of one project, or of several as if they were one."""

    def __init__(
        self,
        store: ProjectStore,
        root: Path,
        ranker: LinearRanker | None = None,
        *,
        workers: ProcessPool | None = None,
        by_meaning: bool = True,
    ) -> None:
        self._projects: Sequence[SearchedProject] = (SearchedProject(store, root, workers),)
        self._by_meaning = by_meaning
        self._ranker = ranker or load_ranker(WEIGHTS_FILE, FEATURES)

    @classmethod
    def over(cls, projects: Sequence[SearchedProject], *, by_meaning: bool = True) -> CodeSearch:
        """Return a search over several projects, at least one."""
        first = projects[0]
        search = cls(first.store, first.root, workers=first.workers, by_meaning=by_meaning)
        search._projects = tuple(projects)
        return search

    def search(
        self, text: str, scope: FileScope | None = None, *, limit: int = 10, every_line: bool = True
    ) -> CodeAnswer:
        """Return the best chunks for a query, one per file first.

        Exact queries return one hit per matching line, or one per chunk if not `every_line`.
        """
        query = parse_query(text, shared_words())
        scope = scope or FileScope()
        with ExitStack() as snapshots:
            for project in self._projects:
                snapshots.enter_context(project.store.code.snapshot())
            if query.kind in ("literal", "pattern"):
                return self._search_exactly(query, scope, limit=limit, every_line=every_line)
            if query.frames and (frames := self._locate_frames(query, scope)):
                return self._search_frames(query, frames, scope, text, limit=limit)
            answer = self._search_by_words(query, scope, limit=limit)
            found = self._message_parts(text, query, scope, answer)
            if message_hits := self._search_message_parts(found, scope, limit=limit, every_line=every_line):
                return message_hits
            parts = split_question(text) if query.kind == "words" and not query.is_issue else []
            return self._with_subquestion(answer, parts, scope, limit=limit) if parts else answer

    def score_chunks(self, text: str, paths: Sequence[str]) -> list[ScoredChunk]:
        """Return all chunks of some files of the (first) project with their similarity to a query."""
        query = parse_query(text, shared_words(), exact=False)
        with self._projects[0].store.code.snapshot():
            return score_chunks(self._corpora(self._in_language_of_code(query))[0], paths)

    def _message_parts(self, text: str, query: CodeQuery, scope: FileScope, answer: CodeAnswer) -> tuple[str, ...]:
        """Return the string literals in code that match an error message in the query; empty if there is none."""
        if query.kind != "words" or query.is_issue:
            return ()
        found = [hit.content for hit in answer.hits if _is_product_code(hit.path)]
        return next(
            filter(None, (self._matched_parts(message, scope, found) for message in find_messages(text.strip()))), ()
        )

    def _matched_parts(self, message: ErrorMessage, scope: FileScope, contents: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the string literals in code that match the message.

        Compares `contents`, then chunks with adjacent words of the message, then, for a certain message with values,
        files.
        """
        message_hits = match_message(
            message, itertools.chain(contents, self._contents_with_message_words(message, scope))
        )
        if message.is_certain and not message_hits.is_complete:
            from_files = match_message(message, self._lines_containing(word_windows(message), scope))
            message_hits = max(message_hits, from_files, key=lambda each: each.score)
        return message_hits.parts

    def _lines_containing(self, texts: Sequence[str], scope: FileScope) -> Iterator[str]:
        """Yield lines of code that contain one of the texts, with context lines."""
        remaining = _MAX_STATEMENT_LINES
        for project in (
            self._projects if texts and len(self._projects) == 1 else ()
        ):  # scanning several would take too long
            paths = [path for _, path in project.store.code.paths(scope) if _is_product_code(path)]
            with SourceReader(project.root, project.store, project.workers) as reader:
                for matches in scan(
                    project.root, paths, AnyOf(texts), ScanReport(), project.store, seconds=_STATEMENT_SECONDS
                ):
                    lines = reader.lines(matches.path) or []
                    for number in matches.lines[:remaining]:
                        yield "\n".join(
                            lines[max(0, number - 1 - _STATEMENT_CONTEXT_LINES) : number + _STATEMENT_CONTEXT_LINES]
                        )
                    remaining -= len(matches.lines)
                    if remaining <= 0:
                        return

    def _contents_with_message_words(self, message: ErrorMessage, scope: FileScope) -> Iterator[str]:
        """Yield the content of product-code chunks that contain adjacent words of the message."""
        query = parse_query(fixed_text(message), shared_words(), exact=False)
        adjacent = adjacent_stems(message)
        max_chunks, max_candidates = (
            (_MESSAGE_CHUNKS, _MESSAGE_CANDIDATES)
            if message.is_certain
            else (_UNCERTAIN_MESSAGE_CHUNKS, _UNCERTAIN_MESSAGE_CANDIDATES)
        )
        max_candidates //= min(len(self._projects), _MESSAGE_PROJECTS)
        is_affordable = bool(adjacent) and (
            message.is_certain or len(self._projects) == 1
        )  # too expensive for several projects
        for project in self._projects_with_most_terms(query.terms) if is_affordable else ():
            store = project.store.code
            candidates = matching_chunks(store, query, scope, limit=max_candidates)
            bodies = {each: f" {words.body} " for each, words in store.chunk_words(candidates).items()}
            matching = [each for each in candidates if any(stems in bodies.get(each, "") for stems in adjacent)]
            chunks = store.chunks(matching) if matching else {}
            product_code = [chunks[each] for each in matching if each in chunks and _is_product_code(chunks[each].path)]
            with SourceReader(project.root, project.store, project.workers) as reader:
                yield from (hit.content for chunk in product_code[:max_chunks] if (hit := reader.hit(chunk, 1.0)))

    def _projects_with_most_terms(self, terms: Sequence[str]) -> Sequence[SearchedProject]:
        """Return the projects that contain most of the terms, weighted by rarity among projects."""
        if len(self._projects) <= _MESSAGE_PROJECTS:
            return self._projects
        known = [frozenset(project.store.code.document_frequencies(terms)) for project in self._projects]
        matching = Counter(itertools.chain.from_iterable(known))
        scores = [math.fsum(math.log(1 + len(known) / matching[term]) for term in words) for words in known]
        best = sorted(range(len(known)), key=lambda number: -scores[number])[:_MESSAGE_PROJECTS]
        return [self._projects[number] for number in best]

    def _search_message_parts(
        self, parts: tuple[str, ...], scope: FileScope, *, limit: int, every_line: bool
    ) -> CodeAnswer | None:
        """Search the parts of a message in order; None if they do not occur together."""
        words = _inner_words(parts)
        if not parts or (
            len(self._projects) > _MESSAGE_PROJECTS and not words
        ):  # every file of all projects would be scanned
            return None
        query = CodeQuery(max(parts, key=len), "literal")
        scanned = self._scan(InOrder(parts), scope, every_line=every_line, words=words)
        return replace(self._by_lines(query, scanned, limit=limit), is_message=True) if scanned.files else None

    def _locate_frames(self, query: CodeQuery, scope: FileScope) -> list[SelectedChunk]:
        """Return the chunks of the stack frames that lie in the projects."""
        found: list[SelectedChunk] = []
        for number, project in enumerate(self._projects):
            with SourceReader(project.root, project.store, project.workers) as reader:
                places = locate_mentions(project.store.code, query.frames, scope, reader.lines)
            for file_id, place in places:
                chunks = project.store.code.chunks_at(file_id, [place.line])[:1]
                found += [SelectedChunk(chunk, 1.0, place.line, corpus=number) for chunk in chunks]
        return list(dict.fromkeys(found))

    def _search_frames(
        self, query: CodeQuery, frames: list[SelectedChunk], scope: FileScope, text: str, *, limit: int
    ) -> CodeAnswer:
        """Return the message and the stack frames first, then other results.

        A `file:line` query returns only that location.
        """
        message_hits = [] if query.is_place else self._message_hits(text, scope)
        frames = [
            *message_hits,
            *(each for each in frames if each.chunk not in [first.chunk for first in message_hits]),
        ]
        hits, vanished = self._read(frames, query, limit=limit)
        found = CodeAnswer(query, tuple(hits), len(frames) - vanished)
        if query.is_place and hits:
            return found
        others = self._search_by_words(query, scope, limit=limit)
        known = {(self._projects[ranked.corpus].name, ranked.chunk.id) for ranked in frames}
        new = [hit for hit in others.hits if _key(hit) not in known]
        total = found.total + others.total - (len(others.hits) - len(new))
        return replace(others, hits=(*hits, *new)[:limit], total=total)

    def _message_hits(self, text: str, scope: FileScope) -> list[SelectedChunk]:
        """Return the chunks of product code that contain the message printed with a stack trace."""
        for message in find_messages(text.strip()):
            if parts := self._matched_parts(message, scope) if message.is_certain else ():
                files = self._scan(InOrder(parts), scope, every_line=False, words=_inner_words(parts)).files
                product_code = [file for file in files if not any(_path_order(file.path))]
                return [*itertools.islice(self._by_round(product_code), _MAX_MESSAGE_HITS_BEFORE_FRAMES)]
        return []

    def _with_subquestion(
        self, answer: CodeAnswer, parts: Sequence[str], scope: FileScope, *, limit: int
    ) -> CodeAnswer:
        """Add the best hit for the part of a compound question that the first hit does not answer.

        That is the part in whose own results the first hit's file comes last or not at all.
        """
        if not answer.hits or limit < len(parts):
            return answer
        first = answer.hits[0]
        subanswers = [
            self._search_by_words(parse_query(part, shared_words(), exact=False), scope, limit=_SUBQUESTION_HITS).hits
            for part in parts
        ]

        def place(hits: Sequence[CodeHit]) -> int:
            return next((number for number, hit in enumerate(hits) if hit.path == first.path), _SUBQUESTION_HITS)

        # In a tie, the first hit is taken as the answer to the first part.
        for hit in max(reversed(subanswers), key=place)[:1]:
            if _key(hit) != _key(first) and hit.score >= WEAK_CONFIDENCE:
                others = [other for other in answer.hits[1:] if _key(other) != _key(hit)]
                total = answer.total + (len(others) == len(answer.hits) - 1)
                return replace(answer, hits=(first, hit, *others)[:limit], total=total, leading=2)
        return answer

    def _search_by_words(
        self,
        query: CodeQuery,
        scope: FileScope,
        *,
        limit: int,
        notes: tuple[str, ...] = (),
        missing_is_noted: bool = False,
    ) -> CodeAnswer:
        """Search by terms, similarity and history; `missing_is_noted`: the notes already say that there is no exact
        match."""
        query = self._in_language_of_code(query)
        if query.in_english:
            notes = (*notes, f"Translated to English as: {query.in_english[:_TRANSLATION_CHARACTERS]}")
        corpora = self._corpora(query)
        if searches_only_some_projects(corpora, query):
            some = f"{MAX_PROJECTS_BY_WORDS} of {len(corpora)} projects that contain most query words"
            notes = (*notes, f"Note: only the {some} were searched by words; name a project to search it completely.")
        ranked, is_least = self._ranked_files(query, scope, corpora)
        chosen = self._named_files_first(select_chunks(corpora, ranked, query), query, scope)
        hits, vanished = self._read(chosen, query, limit=limit)
        if not hits:
            searched = sum(project.store.code.file_count(scope) for project in self._projects)
            if not searched and all(project.store.facts().is_complete for project in self._projects):
                notes = (*notes, self._empty_index_note(scope))
            return CodeAnswer(
                query,
                (),
                0,
                files_searched=searched,
                notes=notes,
                suggestions=self._suggest(query),
                skipped_note=self._skipped_note(scope),
            )
        is_defined = any(candidate.definitions for candidate, _ in ranked)
        if query.is_name and not is_defined:
            notes = (*notes, *self._undefined_notes(query, scope, missing_is_noted=missing_is_noted))
        unknown = self._unknown_words(query, corpora) if hits[0].score < WEAK_CONFIDENCE else ()
        return CodeAnswer(
            query,
            tuple(hits),
            len(chosen) - vanished,
            is_least,
            notes=notes,
            is_definition=query.kind == "symbol" and bool(ranked) and bool(ranked[0][0].definitions),
            unknown=unknown,
            skipped_note=self._skipped_note(scope) if unknown else "",
        )

    def _in_language_of_code(self, query: CodeQuery) -> CodeQuery:
        """Return a translated query with its original words added or restored, if the code uses that language."""
        if not query.original_terms:
            return query
        if query.kind == "symbol" and any(
            project.store.code.definitions_named(query.names, FileScope(), limit=1) for project in self._projects
        ):
            return replace(
                query, terms=query.original_terms, in_english="", original_terms=()
            )  # a name in the code is not translated
        frequencies: Counter[str] = Counter()
        for project in self._projects:
            frequencies.update(project.store.code.document_frequencies([*query.original_terms, *query.terms]))
        if not should_keep_original_words(query.original_terms, query.terms, frequencies):
            return query
        return replace(query, terms=tuple(unique([*query.terms, *query.original_terms])[:MAX_TERMS]))

    def _named_files_first(
        self, chosen: list[SelectedChunk], query: CodeQuery, scope: FileScope
    ) -> list[SelectedChunk]:
        """Put the beginnings of files that the query names before the chosen chunks."""
        if not query.is_name or "." not in query.text:
            return chosen
        named = [
            SelectedChunk(chunk, 1.0, corpus=number)
            for number, file_id, _ in self._files_matching_name(query.text, scope)[:_MAX_NAMED_FILES]
            for chunk in self._projects[number].store.code.first_chunk(file_id)
        ]
        known = {(each.corpus, each.chunk.id) for each in named}
        return [*named, *(each for each in chosen if (each.corpus, each.chunk.id) not in known)]

    def _undefined_notes(self, query: CodeQuery, scope: FileScope, *, missing_is_noted: bool) -> list[str]:
        """Return notes for a name without a definition in scope: it is a file, is defined elsewhere, or has similar
        names.

        `missing_is_noted`: another note already says that there is no definition.
        """
        shown = query.text[:_SHOWN_CHARACTERS]
        if files := self._files_matching_name(query.text, scope):
            paths = ", ".join(path for _, _, path in files[:_MAX_NAMED_FILES])
            return [f"Note: {shown} is a file: {paths}{' …' if len(files) > _MAX_NAMED_FILES else ''}"]
        inside = f" below {scope.folder}" if scope.folder else ""
        inside += f" in {' or '.join(scope.suffixes)}" if scope.suffixes else ""
        elsewhere = self._definition_places(query) if inside else []
        near = [] if elsewhere else [name for name in self._suggest(query) if name != query.text]
        nothing = f"Note: no definition is named {shown}{inside}; closest by words:"
        notes = [] if missing_is_noted else [nothing]
        if elsewhere:
            notes.append(f"Defined elsewhere: {', '.join(elsewhere)}.")
        return [*notes, f"Similar names: {', '.join(near)}."] if near else notes

    def _definition_places(self, query: CodeQuery) -> list[str]:
        """Return the locations where the projects define a name, ignoring the scope."""
        places: list[str] = []
        for project in self._projects:
            found = project.store.code.definitions_named(query.names, FileScope(), limit=_MAX_NAMED_FILES)
            paths = {file.id: file.path for file in project.store.code.files([file_id for file_id, _ in found])}
            places += [f"{paths[file_id]}:{definition.line}" for file_id, definition in found if file_id in paths]
        return places[:_MAX_NAMED_FILES]

    def _files_matching_name(self, name: str, scope: FileScope) -> list[tuple[int, int, str]]:
        """Return the files whose path ends with the name: index of the project, id and path."""
        path_end = f"/{name.strip('/')}"
        return [
            (number, file_id, path)
            for number, project in enumerate(self._projects)
            for file_id, path in project.store.code.paths(scope)
            if f"/{path}".endswith(path_end)
        ]

    def _corpora(self, query: CodeQuery) -> list[Corpus]:
        """Return the searched projects with their evidence; similarity is not used for a defined name."""
        is_named = query.kind == "symbol" and any(
            project.store.code.definitions_named(
                query.names, FileScope(), limit=NAME_CANDIDATES
            )  # the same query as below, so that it is cached
            for project in self._projects
        )
        found = []
        for project in self._projects:
            store, history = project.store.code, project.store.history
            evidence = Evidence(history=history)
            if self._by_meaning and not is_named:
                evidence = _evidence_by_meaning(store, history, query)
            found.append(Corpus(store, replace(evidence, imports=project.store.graph)))
        return found

    @staticmethod
    def _unknown_words(query: CodeQuery, corpora: Sequence[Corpus]) -> tuple[str, ...]:
        """Return the query words that occur in no file, as written."""
        missing = set(query.terms).difference(*(corpus.statistics(query).frequencies for corpus in corpora))
        words = shared_words()
        words_in_query = plain_words(query.in_english or query.text)
        missing_words = [word for word in words_in_query if missing.intersection(words.of(word).split())]
        return tuple(unique(word.lower() for word in missing_words)[:_MAX_UNKNOWN_WORDS])

    def _ranked_files(
        self, query: CodeQuery, scope: FileScope, corpora: Sequence[Corpus]
    ) -> tuple[list[tuple[CandidateFile, float]], bool]:
        """Return the files above the cutoff, and whether there may be more of them."""
        ranked: list[tuple[CandidateFile, float]] = []
        pool = gather_candidates(corpora, query, scope)
        for file_count in (KEPT_FILES, MAX_RESULTS):
            files = rank_files(pool, corpora, query, scope, self._ranker, at_least=file_count)
            ranked = _code_first(_above_cutoff(files, query), query)
            # Files are sorted by preliminary score: if some of the first are below the cutoff, so are all others.
            if len(files) < file_count or len(ranked) < len(files):
                return ranked, False
        return ranked, True

    def _search_exactly(self, query: CodeQuery, scope: FileScope, *, limit: int, every_line: bool) -> CodeAnswer:
        """Return the lines that match a literal or pattern: code first, and one line of each file first."""
        finder: Finder = Literal(query.text) if query.kind == "literal" else LinePattern(query.text)
        scanned = self._scan(finder, scope, every_line=every_line)
        if scanned.files:
            return self._by_lines(query, scanned, limit=limit)
        shown = repr(query.text[:_SHOWN_CHARACTERS])
        where = f"{counted(scanned.read, 'file')}{self._skipped_note(scope)}"
        missing = f"No exact match for {query.kind} {shown} in {where};"
        flat = " ".join(query.text.split())
        if query.kind == "literal" and len(flat.split()) > 1:
            parts = self._matched_parts(certain_message(flat), scope)
            if message_hits := self._search_message_parts(parts, scope, limit=limit, every_line=every_line):
                return message_hits.with_notes((*scanned.notes, f"{missing} matches with placeholders filled in:"))
        words = parse_query(flat + " ", shared_words(), exact=False)
        notes = (*scanned.notes, f"{missing} closest by words:")
        return self._search_by_words(words, scope, limit=limit, notes=notes, missing_is_noted=True)

    def _by_lines(self, query: CodeQuery, scanned: _ScanResult, *, limit: int) -> CodeAnswer:
        """Return the answer for matching lines."""
        hits, vanished = self._read(self._by_round(scanned.files), query, limit=limit)
        total = sum(len(file.lines) for file in scanned.files) - vanished
        return CodeAnswer(query, tuple(hits), total, scanned.timed_out, scanned.known, tuple(scanned.notes))

    def _scan(self, finder: Finder, scope: FileScope, *, every_line: bool, words: Sequence[str] = ()) -> _ScanResult:
        """Return the files with a match, code first: every matching line, or the first of each chunk.

        With several projects, only files that may contain all index words in `words` are scanned.
        """
        scanned = _ScanResult()
        hidden = 0
        for number, project in enumerate(self._projects):
            report, code = ScanReport(), project.store.code
            scanned.known += (known := code.file_count(scope))
            files_with_words = _files_with(code, words, scope) if len(self._projects) > 1 and words else None
            if not known or files_with_words == set():
                continue
            ids = {path: file_id for file_id, path in code.paths(scope)}
            paths_to_scan = (
                ids
                if files_with_words is None
                else {path: each for path, each in ids.items() if each in files_with_words}
            )
            order = sorted(paths_to_scan, key=lambda path: (*_path_order(path), path))
            for matches in scan(project.root, order, finder, report, project.store):
                chunks = code.chunks_of_file(ids[matches.path])
                lines = covered_lines(chunks, matches.lines, one_per_chunk=not every_line)
                hidden += len(matches.lines) - len(lines) if every_line else 0
                scanned.files += [_MatchedFile(number, ids[matches.path], matches.path, lines)] if lines else []
            scanned.read += report.files
            if not report.complete:
                scanned.timed_out = True
                where = f" of {project.name}" if project.name else ""
                scanned.notes.append(
                    f"Note: timeout after {report.files} of {known} files{where}; narrow by directory."
                )
        if hidden:
            count_text = counted(hidden, "more matching line")
            scanned.notes.append(f"Note: {count_text} not shown: blank, or written after the file was indexed.")
        if len(self._projects) > 1:
            scanned.files.sort(key=lambda file: _path_order(file.path))
        return scanned

    def _by_round(self, found: Sequence[_MatchedFile]) -> Iterator[SelectedChunk]:
        """Yield the chunk of the first matching line of each file, then of the second line of each, and so on."""
        for turn in itertools.count():
            found = [file for file in found if len(file.lines) > turn]
            if not found:
                return
            for file in found:
                line = file.lines[turn]
                for chunk in self._projects[file.corpus].store.code.chunks_at(file.file_id, [line])[:1]:
                    yield SelectedChunk(chunk, 1.0, line, corpus=file.corpus)

    def _skipped_note(self, scope: FileScope) -> str:
        """Return how many files of the scope that may contain text are not indexed, with reasons; empty if none."""
        skipped = [
            file
            for project in self._projects
            for file in project.store.skipped().values()
            if file.reason not in _TEXTLESS_REASONS and scope.includes(file.path)
        ]
        if not skipped:
            return ""
        reasons = ", ".join(f"{count} {reason}" for reason, count in Counter(file.reason for file in skipped).items())
        large = [file.path for file in skipped if file.reason == "too large"][:_MAX_SKIPPED_NAMES]
        named = f": {', '.join(large)}" if large else ""
        return f" (not searched: {reasons}{named})"

    def _read(self, chosen: Iterable[SelectedChunk], query: CodeQuery, *, limit: int) -> tuple[list[CodeHit], int]:
        """Return hits with current lines for the first `limit` chunks, and the number of chunks that are gone."""
        found: list[tuple[SelectedChunk, CodeHit]] = []
        vanished = 0
        with ExitStack() as opened:
            readers: dict[int, SourceReader] = {}
            for ranked in chosen:
                if len(found) >= limit:
                    break
                project = self._projects[ranked.corpus]
                if ranked.corpus not in readers:
                    reader = SourceReader(project.root, project.store, project.workers)
                    readers[ranked.corpus] = opened.enter_context(reader)
                if hit := readers[ranked.corpus].hit(ranked.chunk, ranked.confidence):
                    own, by = project.project_id, ranked.found_by
                    found.append((ranked, replace(hit, repository=project.name, project_id=own, found_by=by)))
                else:
                    vanished += 1
        return self._name_after_definition(found, query), vanished

    def _name_after_definition(self, found: Sequence[tuple[SelectedChunk, CodeHit]], query: CodeQuery) -> list[CodeHit]:
        """Set the symbol of each hit to the definition that answers; hits in changed files keep their symbols."""
        named: dict[int, CodeHit] = {}
        for number in dict.fromkeys(ranked.corpus for ranked, _ in found):
            here = [(place, *pair) for place, pair in enumerate(found) if pair[0].corpus == number]
            ranges = [(ranked.chunk.file_id, hit.start_line, hit.end_line) for _, ranked, hit in here]
            inside_each = self._projects[number].store.code.definitions_in(ranges)
            for (place, ranked, hit), inside in zip(here, inside_each, strict=True):
                is_same = hit.start_line == ranked.chunk.start_line
                named[place] = _name_after_definition(hit, ranked.line, inside, query) if is_same else hit
        return [named[place] for place in range(len(found))]

    def _suggest(self, query: CodeQuery) -> tuple[str, ...]:
        """Return defined names similar to the query."""
        names = [
            name
            for project in self._projects
            for name in project.store.code.defined_names(limit=_MAX_COMPARED_NAMES // len(self._projects))
        ]
        return tuple(similar_names(query.text, list(dict.fromkeys(names)), limit=_MAX_SUGGESTIONS))

    def _empty_index_note(self, scope: FileScope) -> str:
        """Return the note that there are no files to search, and why."""
        totals = [project.store.totals() for project in self._projects]
        if scope.folder or scope.suffixes:
            where = f" below {scope.folder}" if scope.folder else ""
            kind = f" that ends in {' or '.join(scope.suffixes)}" if scope.suffixes else ""
            known = _format_counts(each.languages for each in totals) or "no source"
            whose = "the project has" if len(self._projects) == 1 else "the projects have"
            return f"Note: no indexed file{where}{kind}; {whose} {known}."
        skipped = _format_counts(each.skipped for each in totals) or "nothing"
        return f"Note: nothing in this project could be indexed; skipped: {skipped}."


def _format_counts(numbers: Iterable[Mapping[str, int]]) -> str:
    """Format the sum of several counters, largest first."""
    total: Counter[str] = Counter()
    for each in numbers:
        total.update(each)
    return ", ".join(f"{name} {count}" for name, count in total.most_common())


def _key(hit: CodeHit) -> tuple[str, int]:
    """Return a key of the chunk that is unique over all projects."""
    return hit.repository, hit.chunk_id


def _path_order(path: str) -> tuple[bool, bool, bool]:
    """Return a sort key: code first, then auxiliary code, tests and prose."""
    return is_prose(path) or is_changelog(path), is_test(path), is_aside(path)


def _name_after_definition(hit: CodeHit, line: int, inside: Sequence[DefinitionRecord], query: CodeQuery) -> CodeHit:
    """Return the hit named after the innermost definition around a line, or the definition that answers."""
    if line:
        around = [definition for definition in inside if definition.line <= line <= definition.end_line]
        if query.frames:  # a frame is in a function, not in a variable
            around = [definition for definition in around if definition.kind != "variable"]
        return replace(_with_definition(hit, around[-1]) if around else hit, line=line)
    subanswers = answering_definition(hit, inside, query)
    if subanswers is None:
        subanswers = next((definition for definition in inside if _qualified(definition) == hit.symbol), None)
    return _with_definition(hit, subanswers) if subanswers else hit


def _with_definition(hit: CodeHit, definition: DefinitionRecord) -> CodeHit:
    return replace(
        hit,
        symbol=_qualified(definition),
        kind=definition.kind,
        head_line=definition.line,
        tail_line=definition.end_line,
    )


def _qualified(definition: DefinitionRecord) -> str:
    return f"{definition.container}.{definition.name}" if definition.container else definition.name


def evidence_for(store: Code, history: FileHistory | None, query: CodeQuery, *, by_meaning: bool = True) -> Evidence:
    """Return the evidence for files of one project besides terms; without similarity for a name that is defined."""
    if not by_meaning or (query.kind == "symbol" and store.definitions_named(query.names, FileScope(), limit=1)):
        return Evidence(history=history)
    return _evidence_by_meaning(store, history, query)


def _evidence_by_meaning(store: Code, history: FileHistory | None, query: CodeQuery) -> Evidence:
    """Return similarities and similar commits."""
    from deltos.domains.code.semantic_candidates import project_vectors
    from deltos.domains.code.similar_commits import (
        find_similar_commits,  # deferred: numpy and the model take a while to open
    )

    near = project_vectors(store).similarities(store, query.terms, query.in_english or query.text)
    return Evidence(near, history, find_similar_commits(history, query.terms) if history else None)


def rank_files(
    pool: CandidatePool,
    corpora: Sequence[Corpus],
    query: CodeQuery,
    scope: FileScope,
    ranker: LinearRanker,
    *,
    at_least: int,
) -> list[tuple[CandidateFile, float]]:
    """Return the files that may answer the query, best first, each with its confidence."""
    candidates, rows = extract_features(pool, corpora, query, at_least=at_least)
    scored = list(zip(candidates, ranker.scores(rows), strict=True))
    if query.is_issue:
        scored = [
            pair
            for number, corpus in enumerate(corpora)
            for pair in _rescored(corpus, number, [pair for pair in scored if pair[0].corpus == number], query, scope)
        ]
    ordered = sorted(scored, key=lambda pair: (-pair[1], pair[0].file.path))
    return [(candidate, ranker.confidence(score)) for candidate, score in ordered]


def _rescored(
    corpus: Corpus, number: int, scored: list[tuple[CandidateFile, float]], query: CodeQuery, scope: FileScope
) -> list[tuple[CandidateFile, float]]:
    """Return the candidates of one project with scores adjusted to the issue and to related files."""
    judged = rescore_for_issue(corpus.store, scored, query, scope)
    for candidate, _ in judged:
        candidate.corpus = number
    return boost_related_files(judged, corpus.evidence.history, corpus.evidence.imports) if judged else []


def _above_cutoff(ranked: list[tuple[CandidateFile, float]], query: CodeQuery) -> list[tuple[CandidateFile, float]]:
    """Return the files whose confidence is above the cutoff."""
    share = _MIN_SHARE_OF_BEST_FOR_NAMES if query.kind == "symbol" else _MIN_SHARE_OF_BEST
    best = max((confidence for _, confidence in ranked), default=0.0)
    return [(candidate, confidence) for candidate, confidence in ranked if confidence >= best * share]


def _code_first(ranked: list[tuple[CandidateFile, float]], query: CodeQuery) -> list[tuple[CandidateFile, float]]:
    """Sort tests and prose after code of similar confidence, unless the query asks for them.

    Prose that covers more of the query than code keeps its rank. For a name, headings come after definitions. For
    how-to questions, code comes after prose.
    """

    def order(pair: tuple[CandidateFile, float]) -> tuple[bool, float]:
        candidate, confidence = pair
        path = candidate.file.path
        if is_prose(path):
            share = 1.0 if query.about_prose else 1 - (1 - _PROSE_FACTOR) * candidate.prose_penalty
            return False, confidence * share
        share = _TEST_FACTOR if is_test(path) and not query.about_tests else 1.0
        is_defined = query.kind == "symbol" and any(each.name in query.names for each in candidate.definitions)
        return is_defined, confidence * share * (_PROSE_FACTOR if query.is_how_to else 1.0)

    return sorted(ranked, key=order, reverse=True)
