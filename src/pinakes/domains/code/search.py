"""The read path of code search: understand → match → rank → choose chunks → read the lines as they are now."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pinakes.domains.code.features import FEATURES, Candidate, Weights, describe
from pinakes.domains.code.model import CodeAnswer, CodeHit
from pinakes.domains.code.paths import is_aside, is_test
from pinakes.domains.code.query import CodeQuery, understand
from pinakes.domains.code.scan import Finder, Literal, Pattern, ScanReport, scan
from pinakes.domains.code.source import SourceReader
from pinakes.ranking import LinearRanker
from pinakes.store.code import Scope
from pinakes.text import Words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pinakes.store.code import ChunkMatch, ChunkRow, CodeStore, DefinitionRecord

WEIGHTS_FILE = Path(__file__).with_name("weights.json")
# Only the rarest words find candidates; the ranker counts the others in what was found.
MATCH_TERMS = 8
CHUNK_CANDIDATES = 400
FILE_CANDIDATES = 80
_NAME_CANDIDATES = 200
_SUGGESTED_FROM = 50_000
_SHOWN_CHARACTERS = 100


@dataclass(frozen=True, slots=True)
class Ranked:
    """A chunk chosen for the answer and how much it convinced."""

    chunk: ChunkRow
    confidence: float


class CodeSearch:
    """Searches one project's code."""

    def __init__(self, store: CodeStore, root: Path) -> None:
        self._store = store
        self._root = root

    def search(self, text: str, scope: Scope | None = None, *, limit: int = 10) -> CodeAnswer:
        """The best chunks for a query; one per file first."""
        scope = scope or Scope()
        query = understand(text, shared_words())
        with self._store.database.snapshot():
            files = len(self._store.paths(scope))
            if query.kind in ("literal", "pattern"):
                return self._search_exactly(query, scope, files, limit=limit)
            return self._search_by_words(query, scope, files, limit=limit)

    def _search_by_words(
        self, query: CodeQuery, scope: Scope, files: int, *, limit: int, notes: tuple[str, ...] = ()
    ) -> CodeAnswer:
        ranked = rank_files(self._store, query, scope)
        chosen = _choose_chunks(self._store, ranked, query, limit=limit)
        hits = self._read(chosen, limit=limit)
        suggestions = () if hits else self._suggest(query)
        return CodeAnswer(tuple(hits), len(ranked), files, notes, suggestions)

    def _search_exactly(self, query: CodeQuery, scope: Scope, files: int, *, limit: int) -> CodeAnswer:
        finder: Finder = Literal(query.text) if query.kind == "literal" else Pattern(query.text)
        report = ScanReport()
        ids = {path: file_id for file_id, path in self._store.paths(scope)}
        order = sorted(ids, key=lambda path: (is_test(path), is_aside(path), path))
        chunks: list[ChunkRow] = []
        for found in scan(self._root, order, finder, report):
            chunks += _covering(self._store.chunks_of_file(ids[found.path]), found.lines)
        note = () if report.complete else (f"Note: stopped after {report.files}/{files} files; narrow by directory.",)
        if not chunks:
            shown = repr(query.text[:_SHOWN_CHARACTERS])
            missing = (f"No exact match for {query.kind} {shown} in {report.files} files; closest by words:",)
            words = understand(" ".join(query.text.split()) + " ", shared_words(), exact=False)
            return self._search_by_words(words, scope, files, limit=limit, notes=note + missing)
        hits = self._read([Ranked(chunk, 1.0) for chunk in _one_per_file_first(chunks)], limit=limit)
        return CodeAnswer(tuple(hits), len(chunks), files, note)

    def _read(self, chosen: Iterable[Ranked], *, limit: int) -> list[CodeHit]:
        """The chosen chunks with their lines from disk; what is gone from disk is left out."""
        reader = SourceReader(self._root, self._store)
        hits: list[CodeHit] = []
        for ranked in chosen:
            if len(hits) >= limit:
                break
            if hit := reader.hit(ranked.chunk, ranked.confidence):
                hits.append(hit)
        return hits

    def _suggest(self, query: CodeQuery) -> tuple[str, ...]:
        from rapidfuzz import process  # deferred: only needed when nothing was found

        names = self._store.defined_names(limit=_SUGGESTED_FROM)
        return tuple(name for name, score, _ in process.extract(query.text, names, limit=3) if score > 60)


def rank_files(store: CodeStore, query: CodeQuery, scope: Scope) -> list[tuple[Candidate, float]]:
    """Files that may answer the query, best first, each with its confidence."""
    candidates, rows = describe_candidates(store, query, scope)
    ranker = shared_ranker()
    scored = zip(candidates, ranker.scores(rows), strict=True)
    ordered = sorted(scored, key=lambda pair: (-pair[1], pair[0].file.path))
    return [(candidate, ranker.confidence(score)) for candidate, score in ordered]


def describe_candidates(
    store: CodeStore, query: CodeQuery, scope: Scope
) -> tuple[list[Candidate], list[list[float]]]:
    """Everything that may answer the query, with its features: what ranking and training both start from."""
    frequencies = store.document_frequencies([*query.terms, *query.joined])
    chunk_count = store.chunk_count()
    weights = Weights.of(query, frequencies, chunk_count)
    present = sorted((term for term in query.terms if term in frequencies), key=frequencies.__getitem__)[:MATCH_TERMS]
    words = [*present, *weights.joined]
    rarity = sum(math.log(1 + chunk_count / (1 + frequencies.get(term, 0))) for term in query.terms) or 1.0
    candidates = _candidates(
        store,
        store.match_chunks(words, scope, limit=CHUNK_CANDIDATES) if words else [],
        store.match_files([*query.terms, *query.joined], scope, limit=FILE_CANDIDATES),
        _definitions(store, query, scope),
        rarity,
    )
    best = [chunk_id for candidate in candidates for _, chunk_id in candidate.best_chunks()]
    return candidates, describe(candidates, query, weights, store.chunk_texts(best))


def _candidates(
    store: CodeStore,
    chunks: Sequence[ChunkMatch],
    files: Sequence[tuple[int, float]],
    definitions: Sequence[tuple[int, DefinitionRecord]],
    rarity: float,
) -> list[Candidate]:
    ids = dict.fromkeys([file_id for file_id, _ in definitions])
    ids |= dict.fromkeys([match.file_id for match in chunks][:CHUNK_CANDIDATES])
    ids |= dict.fromkeys([file_id for file_id, _ in files])
    found = {file.id: Candidate(file) for file in store.files(list(ids))}
    for match in chunks:
        found[match.file_id].chunk_scores.append((match.score / rarity, match.chunk_id))
    for file_id, score in files:
        found[file_id].file_score = score / rarity
    for file_id, definition in definitions:
        found[file_id].definitions.append(definition)
    return list(found.values())


def _definitions(store: CodeStore, query: CodeQuery, scope: Scope) -> list[tuple[int, DefinitionRecord]]:
    return store.definitions_named(query.names, scope, limit=_NAME_CANDIDATES) if query.names else []


def _choose_chunks(
    store: CodeStore, ranked: Sequence[tuple[Candidate, float]], query: CodeQuery, *, limit: int
) -> list[Ranked]:
    """One chunk of each file in order of rank; then, if there is room, the next best ones of the same files."""
    firsts: list[Ranked] = []
    seconds: list[Ranked] = []
    for candidate, confidence in ranked[: limit * 2]:
        chunks = _chunks_of(store, candidate, query)
        firsts += [Ranked(chunk, confidence) for chunk in chunks[:1]]
        seconds += [Ranked(chunk, confidence * 0.9) for chunk in chunks[1:]]
    return firsts + sorted(seconds, key=lambda item: -item.confidence)


def _chunks_of(store: CodeStore, candidate: Candidate, query: CodeQuery) -> list[ChunkRow]:
    """The chunks of a file worth showing, best first: the definition asked for, then what matches by words."""
    chunks = store.chunks_of_file(candidate.file.id)
    exact = [d.line for d in candidate.definitions if d.name in query.names] or [d.line for d in candidate.definitions]
    scores = {chunk_id: score for score, chunk_id in candidate.chunk_scores}
    defining = _covering(chunks, exact[:2])
    matching = sorted((chunk for chunk in chunks if chunk.id in scores), key=lambda chunk: -scores[chunk.id])
    return list({chunk.id: chunk for chunk in [*defining, *matching[:3]]}.values()) or chunks[:1]


def _covering(chunks: Sequence[ChunkRow], lines: Iterable[int]) -> list[ChunkRow]:
    """The chunks that hold the lines, in order of the lines."""
    found = {}
    for line in lines:
        for chunk in chunks:
            if chunk.start_line <= line <= chunk.end_line:
                found[chunk.id] = chunk
    return list(found.values())


def _one_per_file_first(chunks: Sequence[ChunkRow]) -> list[ChunkRow]:
    seen: dict[str, int] = {}
    order = []
    for position, chunk in enumerate(chunks):
        seen[chunk.path] = nth = seen.get(chunk.path, -1) + 1
        order.append((nth, position, chunk))
    return [chunk for _, _, chunk in sorted(order, key=lambda item: item[:2])]


@cache
def shared_words() -> Words:
    """One memory of analysed words per process."""
    return Words()


@cache
def shared_ranker() -> LinearRanker:
    """The committed weights, read once."""
    return LinearRanker.load(WEIGHTS_FILE, FEATURES)
