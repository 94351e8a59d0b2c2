"""The read path of code search: parse the query → match → rank → choose chunks → read the lines as they are now."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.domains.code.features import BEST_CHUNKS, FEATURES
from deltos.domains.code.match import KEPT_FILES, Evidence, describe_candidates
from deltos.domains.code.mentioned import judge_by_issue
from deltos.domains.code.model import CodeAnswer, CodeHit
from deltos.domains.code.paths import is_aside, is_prose
from deltos.domains.code.query import CodeQuery, parse_query
from deltos.domains.code.scan import Finder, LinePattern, Literal, ScanReport, scan
from deltos.domains.code.source import SourceReader
from deltos.ranking import load_ranker
from deltos.store.code import FileScope
from deltos.text.identifiers import dotted
from deltos.text.words import shared_words
from deltos.workspace.purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deltos.domains.code.features import CandidateFile
    from deltos.isolated.process import Workers
    from deltos.ranking import LinearRanker
    from deltos.store.code import Code, CodeChunkRow, DefinitionRecord
    from deltos.store.history import FileHistory
    from deltos.store.project import ProjectFiles, ProjectStore

WEIGHTS_FILE = Path(__file__).with_name("weights.json")
# Results with less than this share of the best confidence are noise; beside a name that was found, the bar is higher.
_LEAST_SHARE, _LEAST_SHARE_BESIDE_NAME = 0.05, 0.1
_LEAST_SHARE_OF_BEST_CHUNK = 0.5
# A file with a smaller share of the query's words was found by its meaning, and is marked so.
_LEAST_COVERAGE = 0.2
# Up to this share, meaning also chooses which of its chunks is shown.
_FEW_WORDS = 0.4
_DEFINITIONS_SHOWN = 2  # of those that a file has of what is asked for
_NEXT_CHUNK = 0.9  # what the confidence in a file is worth for its second chunk and later ones
MAX_RESULTS = 50
_SUGGESTED_FROM = 50_000
_SHOWN_CHARACTERS = 100


@dataclass(frozen=True, slots=True)
class Ranked:
    """A chunk chosen for the answer with its confidence; `line` is the one asked for, if any.

    `is_near` ones were found by their meaning: they have next to none of the query's words.
    """

    chunk: CodeChunkRow
    confidence: float
    line: int = 0
    is_near: bool = False


class CodeSearch:
    """Searches one project's code."""

    def __init__(
        self,
        store: ProjectStore,
        root: Path,
        ranker: LinearRanker | None = None,
        *,
        workers: Workers | None = None,
        by_meaning: bool = True,
    ) -> None:
        self._store = store.code
        self._files: ProjectFiles = store
        self._history = store.history
        self._root = root
        self._workers = workers
        self._by_meaning = by_meaning
        self._ranker = ranker or load_ranker(WEIGHTS_FILE, FEATURES)

    def search(self, text: str, scope: FileScope | None = None, *, limit: int = 10) -> CodeAnswer:
        """The best chunks for a query, one per file first."""
        query = parse_query(text, shared_words())
        with self._store.snapshot():
            exactly = query.kind in ("literal", "pattern")
            search = self._search_exactly if exactly else self._search_by_words
            return search(query, scope or FileScope(), limit=limit)

    def _search_by_words(
        self, query: CodeQuery, scope: FileScope, *, limit: int, notes: tuple[str, ...] = ()
    ) -> CodeAnswer:
        ranked, is_least = self._worth_showing(query, scope)
        chosen = _chosen_chunks(self._store, ranked, query)
        hits, gone = self._read(chosen, query, limit=limit)
        if hits:
            if query.is_name and not any(candidate.definitions for candidate, _ in ranked):
                shown = query.text[:_SHOWN_CHARACTERS]
                notes = (*notes, f"Note: nothing named {shown} is defined here; closest by words:")
            return CodeAnswer(query, tuple(hits), len(chosen) - gone, is_least, notes=notes)
        return CodeAnswer(
            query, (), 0, files_searched=self._store.file_count(scope), notes=notes, suggestions=self._suggest(query)
        )

    def _worth_showing(self, query: CodeQuery, scope: FileScope) -> tuple[list[tuple[CandidateFile, float]], bool]:
        """The files that are worth their tokens, whatever the limit, and whether there may be more of them."""
        ranked: list[tuple[CandidateFile, float]] = []
        evidence = evidence_for(self._store, self._history, query, by_meaning=self._by_meaning)
        for described in (KEPT_FILES, MAX_RESULTS):
            every = rank_files(self._store, query, scope, self._ranker, evidence, at_least=described)
            ranked = _worthwhile(every, query)
            # The likeliest files are described first: where some of them are not worth showing, no other one is.
            if len(every) < described or len(ranked) < len(every):
                return ranked, False
        return ranked, True

    def _search_exactly(self, query: CodeQuery, scope: FileScope, *, limit: int) -> CodeAnswer:
        finder: Finder = Literal(query.text) if query.kind == "literal" else LinePattern(query.text)
        report = ScanReport()
        ids = {path: file_id for file_id, path in self._store.paths(scope)}
        order = sorted(ids, key=lambda path: (is_prose(path), is_test(path), is_aside(path), path))
        found: list[Ranked] = []
        for matches in scan(self._root, order, finder, report):
            found += _covering(self._store.chunks_of_file(ids[matches.path]), matches.lines)
        stopped = f"Note: stopped after {report.files}/{len(ids)} files; narrow by directory."
        note = () if report.complete else (stopped,)
        if not found:
            shown = repr(query.text[:_SHOWN_CHARACTERS])
            missing = (f"No exact match for {query.kind} {shown} in {report.files} files; closest by words:",)
            words = parse_query(" ".join(query.text.split()) + " ", shared_words(), exact=False)
            return self._search_by_words(words, scope, limit=limit, notes=note + missing)
        hits, gone = self._read(_one_per_file_first(found), query, limit=limit)
        return CodeAnswer(query, tuple(hits), len(found) - gone, not report.complete, len(ids), note)

    def _read(self, chosen: Iterable[Ranked], query: CodeQuery, *, limit: int) -> tuple[list[CodeHit], int]:
        """The first of the chosen chunks with their lines from disk, and how many were left out as they are gone."""
        found: list[tuple[Ranked, CodeHit]] = []
        gone = 0
        with SourceReader(self._root, self._files, self._workers) as reader:
            for ranked in chosen:
                if len(found) >= limit:
                    break
                if hit := reader.hit(ranked.chunk, ranked.confidence):
                    found.append((ranked, replace(hit, is_near=ranked.is_near)))
                else:
                    gone += 1
        return (self._named(found, query) if found else []), gone

    def _named(self, found: Sequence[tuple[Ranked, CodeHit]], query: CodeQuery) -> list[CodeHit]:
        """The hits, each named for the definition in it that was asked for; those in changed files keep their names."""
        ranges = [(ranked.chunk.file_id, hit.start_line, hit.end_line) for ranked, hit in found]
        terms = set(query.terms)
        return [
            _named(hit, ranked.line, inside, terms) if hit.start_line == ranked.chunk.start_line else hit
            for (ranked, hit), inside in zip(found, self._store.definitions_in(ranges), strict=True)
        ]

    def _suggest(self, query: CodeQuery) -> tuple[str, ...]:
        from rapidfuzz import process  # deferred: only needed when nothing was found

        names = self._store.defined_names(limit=_SUGGESTED_FROM)
        return tuple(name for name, score, _ in process.extract(query.text, names, limit=3) if score > 60)


def _named(hit: CodeHit, line: int, inside: Sequence[DefinitionRecord], terms: set[str]) -> CodeHit:
    """The hit named for one of the definitions inside: the innermost around a line, or by the words of its name."""
    if line:
        around = [definition for definition in inside if definition.line <= line <= definition.end_line]
        return replace(_called(hit, around[-1]) if around else hit, line=line)
    if len(inside) < 2:
        return hit
    spoken = [len(terms.intersection(shared_words().of(definition.name).split())) for definition in inside]
    if max(spoken) <= len(terms.intersection(shared_words().of(hit.symbol).split())):
        return hit
    return _called(hit, inside[spoken.index(max(spoken))])


def _called(hit: CodeHit, definition: DefinitionRecord) -> CodeHit:
    name = f"{definition.container}.{definition.name}" if definition.container else definition.name
    return replace(hit, symbol=name, kind=definition.kind)


def evidence_for(store: Code, history: FileHistory | None, query: CodeQuery, *, by_meaning: bool = True) -> Evidence:
    """What speaks for files beside their words. Meaning is not asked where a name is meant that there is."""
    if not by_meaning or (query.kind == "symbol" and store.definitions_named(query.names, FileScope(), limit=1)):
        return Evidence(history=history)
    from deltos.domains.code.commits import commits_like  # deferred: numpy and the model take a while to open
    from deltos.domains.code.near import near_chunks

    near = near_chunks(store).similarities(store, query.terms)
    return Evidence(near, history, commits_like(history, query.terms) if history else None)


def rank_files(
    store: Code,
    query: CodeQuery,
    scope: FileScope,
    ranker: LinearRanker,
    evidence: Evidence,
    *,
    at_least: int,
) -> list[tuple[CandidateFile, float]]:
    """Files that may answer the query, best first, each with its confidence."""
    candidates, rows = describe_candidates(store, query, scope, evidence, at_least=at_least)
    scored = list(zip(candidates, ranker.scores(rows), strict=True))
    if query.is_issue:
        scored = judge_by_issue(store, scored, query, scope)
    ordered = sorted(scored, key=lambda pair: (-pair[1], pair[0].file.path))
    return [(candidate, ranker.confidence(score)) for candidate, score in ordered]


def _worthwhile(ranked: list[tuple[CandidateFile, float]], query: CodeQuery) -> list[tuple[CandidateFile, float]]:
    """The files that are worth their tokens."""
    share = _LEAST_SHARE_BESIDE_NAME if query.kind == "symbol" else _LEAST_SHARE
    best = max((confidence for _, confidence in ranked), default=0.0)
    return [(candidate, confidence) for candidate, confidence in ranked if confidence >= best * share]


def _chosen_chunks(store: Code, ranked: Sequence[tuple[CandidateFile, float]], query: CodeQuery) -> list[Ranked]:
    """All that is worth showing: one chunk of each file in order of rank; then the next best ones of the same files."""
    firsts: list[Ranked] = []
    others: list[Ranked] = []
    ids = [[*candidate.chunk_ids[:BEST_CHUNKS], *candidate.near_chunks] for candidate, _ in ranked]
    matching = store.chunks([chunk_id for some in ids for chunk_id in some])
    for candidate, confidence in ranked:
        chunks = _chunks_of(store, candidate, query, matching)
        is_near = bool(candidate.near_chunks) and candidate.coverage < _LEAST_COVERAGE
        firsts += [Ranked(first.chunk, confidence, first.line, is_near) for first in chunks[:1]]
        others += [Ranked(other.chunk, confidence * _NEXT_CHUNK, other.line, is_near) for other in chunks[1:]]
    return firsts + others


def _chunks_of(
    store: Code, candidate: CandidateFile, query: CodeQuery, matching: Mapping[int, CodeChunkRow]
) -> list[Ranked]:
    """The chunks of a file worth showing, best first: the definition asked for, then what matches by words.

    Where few of the words are in the file, the chunk that is nearest in meaning comes before those that match by words.
    There are none where a file holds nothing but blank lines.
    """
    file_id = candidate.file.id
    lines = [*candidate.lines, *_asked_lines(store, candidate, query)][:_DEFINITIONS_SHOWN]
    defining = _covering(store.chunks_at(file_id, lines), lines) if lines else []
    wanted = _best_chunks(candidate)
    if not wanted or candidate.coverage < _FEW_WORDS:
        wanted = [*_nearest_chunk(candidate, matching), *wanted]
    best = [Ranked(matching[chunk_id], 1.0) for chunk_id in wanted if chunk_id in matching]
    shown: dict[int, Ranked] = {}
    for ranked in [*defining, *best]:
        shown.setdefault(ranked.chunk.id, ranked)
    return list(shown.values()) or [Ranked(chunk, 1.0) for chunk in store.first_chunk(file_id)]


def _nearest_chunk(candidate: CandidateFile, matching: Mapping[int, CodeChunkRow]) -> list[int]:
    """The chunk of a file that is nearest in meaning; of two, one that defines something: the other is its header."""
    near = [chunk_id for chunk_id in candidate.near_chunks if chunk_id in matching]
    return sorted(near, key=lambda chunk_id: not matching[chunk_id].symbol)[:1]


def _asked_lines(store: Code, candidate: CandidateFile, query: CodeQuery) -> list[int]:
    """Where the definitions stand that the query asks for, the likeliest first: a member before the class it names.

    `A.b` asks for the `b` of `A`; "the b of A" too, which names the class and has the words of the member.
    """
    named = [each for each in candidate.definitions if each.name in query.names] or candidate.definitions
    named = sorted(named, key=lambda each: -_container_asked(each, query))
    members = _members_asked(store, candidate.file.id, named, query) if query.kind == "words" else []
    return [each.line for each in (*members, *named)]


def _container_asked(definition: DefinitionRecord, query: CodeQuery) -> bool:
    """Whether the query names the definition together with what it stands in."""
    qualified = f"{definition.container}.{definition.name}"
    return any("." in name and f".{qualified}".endswith(f".{name}") for name in map(dotted, query.names))


def _members_asked(
    store: Code, file_id: int, named: Sequence[DefinitionRecord], query: CodeQuery
) -> list[DefinitionRecord]:
    """The members of a named class whose names the query spells out in words, those with most words first."""
    places = [(file_id, each.line, each.end_line) for each in named[:_DEFINITIONS_SHOWN] if each.end_line > each.line]
    words = shared_words()
    own = {word for each in named for word in words.of(each.name).split()}
    asked = set(query.terms) - own
    found: dict[DefinitionRecord, int] = {}
    for inside in store.definitions_in(places) if places and asked else ():
        for member in inside:
            spoken = set(words.of(member.name).split())
            if member not in named and spoken and spoken <= asked:
                found[member] = len(spoken)
    return sorted(found, key=lambda member: -found[member])


def _best_chunks(candidate: CandidateFile) -> list[int]:
    """The chunks that match about as well as the best one of the file."""
    scored = zip(candidate.chunk_ids[:BEST_CHUNKS], candidate.chunk_scores, strict=False)
    return [chunk_id for chunk_id, score in scored if score >= candidate.chunk_scores[0] * _LEAST_SHARE_OF_BEST_CHUNK]


def _covering(chunks: Sequence[CodeChunkRow], lines: Iterable[int]) -> list[Ranked]:
    """The chunks that hold the lines, in order of the lines, each with the first that it holds."""
    found: dict[int, Ranked] = {}
    for line in lines:
        for chunk in chunks:
            if chunk.start_line <= line <= chunk.end_line:
                found.setdefault(chunk.id, Ranked(chunk, 1.0, line))
    return list(found.values())


def _one_per_file_first(found: Sequence[Ranked]) -> list[Ranked]:
    seen: dict[str, int] = {}
    order = []
    for position, ranked in enumerate(found):
        seen[ranked.chunk.path] = nth = seen.get(ranked.chunk.path, -1) + 1
        order.append((nth, position, ranked))
    return [ranked for _, _, ranked in sorted(order, key=lambda item: item[:2])]
