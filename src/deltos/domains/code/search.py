"""The read path of code search: parse the query → match → rank → choose chunks → read the lines as they are now."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.domains.code.choose import Ranked, chosen_chunks, covering
from deltos.domains.code.excerpt import definition_asked
from deltos.domains.code.features import FEATURES
from deltos.domains.code.match import KEPT_FILES, Evidence, describe_candidates
from deltos.domains.code.mentioned import judge_by_issue, located
from deltos.domains.code.message import message_part
from deltos.domains.code.model import CodeAnswer, CodeHit
from deltos.domains.code.neighbours import with_neighbours
from deltos.domains.code.parts import parts_of
from deltos.domains.code.paths import is_aside, is_prose
from deltos.domains.code.query import CodeQuery, parse_query
from deltos.domains.code.scan import Finder, LinePattern, Literal, ScanReport, scan
from deltos.domains.code.source import SourceReader
from deltos.ranking import load_ranker
from deltos.store.code import FileScope
from deltos.text.counts import counted
from deltos.text.words import plain_words, shared_words, unique
from deltos.workspace.purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deltos.domains.code.features import CandidateFile
    from deltos.isolated.process import Workers
    from deltos.ranking import LinearRanker
    from deltos.store.code import Code, DefinitionRecord
    from deltos.store.history import FileHistory
    from deltos.store.project import ProjectFiles, ProjectStore

WEIGHTS_FILE = Path(__file__).with_name("weights.json")
# Results with less than this share of the best confidence are noise; beside a name that was found, the bar is higher.
_LEAST_SHARE, _LEAST_SHARE_BESIDE_NAME = 0.05, 0.1
# Tests and prose come after code with at least this share of their confidence: 0.9 instead of 1.5 of ten results are
# such, and NDCG@10 of 535 questions is 0.707 instead of 0.705.
_TEST_SHARE, _PROSE_SHARE = 0.4, 0.3
MAX_RESULTS = 50
_SUGGESTED_FROM = 50_000
# Below, the first result is right one time in four: benchmarks/RESULTS.md, "What an answer costs".
WEAK_CONFIDENCE = 0.3
_MOST_UNKNOWN = 6
_SHOWN_CHARACTERS = 100


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
        self._imports = store.graph
        self._root = root
        self._workers = workers
        self._by_meaning = by_meaning
        self._ranker = ranker or load_ranker(WEIGHTS_FILE, FEATURES)

    def search(self, text: str, scope: FileScope | None = None, *, limit: int = 10) -> CodeAnswer:
        """The best chunks for a query, one per file first."""
        query = parse_query(text, shared_words())
        scope = scope or FileScope()
        with self._store.snapshot():
            if query.kind in ("literal", "pattern"):
                return self._search_exactly(query, scope, limit=limit)
            if query.frames and (frames := self._frames(query, scope)):
                return self._search_frames(query, frames, scope, limit=limit)
            answer = self._search_by_words(query, scope, limit=limit)
            if message := self._message(query, answer):
                return replace(self._search_exactly(CodeQuery(message, "literal"), scope, limit=limit), is_message=True)
            parts = parts_of(text) if query.kind == "words" and not query.is_issue else []
            return self._with_parts(answer, parts, scope, limit=limit) if parts else answer

    @staticmethod
    def _message(query: CodeQuery, answer: CodeAnswer) -> str:
        """The part of a message that the code has as text; empty where the query is none."""
        if query.kind != "words" or query.is_issue:
            return ""
        return message_part(query.text, (hit.content for hit in answer.hits if not is_prose(hit.path)))

    def _frames(self, query: CodeQuery, scope: FileScope) -> list[Ranked]:
        """The frames of a stack trace that lie in the project."""
        return [
            Ranked(chunk, 1.0, place.line)
            for file_id, place in located(self._store, query.frames, scope)
            for chunk in self._store.chunks_at(file_id, [place.line])[:1]
        ]

    def _search_frames(self, query: CodeQuery, frames: Sequence[Ranked], scope: FileScope, *, limit: int) -> CodeAnswer:
        """The frames, then what the rest of the query finds elsewhere; of a place alone, nothing else."""
        hits, gone = self._read(frames, query, limit=limit)
        found = CodeAnswer(query, tuple(hits), len(frames) - gone)
        if query.is_place and hits:
            return found
        others = self._search_by_words(query, scope, limit=limit)
        known = {ranked.chunk.id for ranked in frames}
        new = [hit for hit in others.hits if hit.chunk_id not in known]
        total = found.total + others.total - (len(others.hits) - len(new))
        return replace(others, hits=(*hits, *new)[:limit], total=total)

    def _with_parts(self, answer: CodeAnswer, parts: Sequence[str], scope: FileScope, *, limit: int) -> CodeAnswer:
        """The answer to a question of two parts, with the best place for the one that its first hit does not answer."""
        if not answer.hits or limit < len(parts):
            return answer
        first = answer.hits[0]
        for part in reversed(parts):
            query = parse_query(part, shared_words(), exact=False)
            for hit in self._search_by_words(query, scope, limit=1).hits:
                if hit.chunk_id != first.chunk_id and hit.score >= WEAK_CONFIDENCE:
                    others = [other for other in answer.hits[1:] if other.chunk_id != hit.chunk_id]
                    total = answer.total + (len(others) == len(answer.hits) - 1)
                    return replace(answer, hits=(first, hit, *others)[:limit], total=total, leading=2)
        return answer

    def _search_by_words(
        self, query: CodeQuery, scope: FileScope, *, limit: int, notes: tuple[str, ...] = ()
    ) -> CodeAnswer:
        evidence = evidence_for(self._store, self._history, query, by_meaning=self._by_meaning)
        evidence = replace(evidence, imports=self._imports)
        ranked, is_least = self._worth_showing(query, scope, evidence)
        chosen = chosen_chunks(self._store, ranked, query, evidence.near)
        hits, gone = self._read(chosen, query, limit=limit)
        if not hits:
            searched = self._store.file_count(scope)
            return CodeAnswer(query, (), 0, files_searched=searched, notes=notes, suggestions=self._suggest(query))
        is_defined = any(candidate.definitions for candidate, _ in ranked)
        if query.is_name and not is_defined:
            shown = query.text[:_SHOWN_CHARACTERS]
            notes = (*notes, f"Note: nothing named {shown} is defined here; closest by words:")
            if alike := self._suggest(query):
                notes = (*notes, f"Near names: {', '.join(alike)}.")
        return CodeAnswer(
            query,
            tuple(hits),
            len(chosen) - gone,
            is_least,
            notes=notes,
            is_definition=query.kind == "symbol" and bool(ranked) and bool(ranked[0][0].definitions),
            unknown=self._unknown_words(query) if hits[0].score < WEAK_CONFIDENCE else (),
        )

    def _unknown_words(self, query: CodeQuery) -> tuple[str, ...]:
        """The words of a query that stand in no file, as they were written."""
        known = self._store.document_frequencies(query.terms)
        missing = set(query.terms) - known.keys()
        words = shared_words()
        spoken = [word for word in plain_words(query.text) if missing.intersection(words.of(word).split())]
        return tuple(unique(word.lower() for word in spoken)[:_MOST_UNKNOWN])

    def _worth_showing(
        self, query: CodeQuery, scope: FileScope, evidence: Evidence
    ) -> tuple[list[tuple[CandidateFile, float]], bool]:
        """The files that are worth their tokens, whatever the limit, and whether there may be more of them."""
        ranked: list[tuple[CandidateFile, float]] = []
        for described in (KEPT_FILES, MAX_RESULTS):
            every = rank_files(self._store, query, scope, self._ranker, evidence, at_least=described)
            ranked = _code_first(_worthwhile(every, query), query)
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
            found += covering(self._store.chunks_of_file(ids[matches.path]), matches.lines)
        stopped = f"Note: stopped after {report.files}/{len(ids)} files; narrow by directory."
        note = () if report.complete else (stopped,)
        if not found:
            shown = repr(query.text[:_SHOWN_CHARACTERS])
            missing = (
                f"No exact match for {query.kind} {shown} in {counted(report.files, 'file')}; closest by words:",
            )
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
                    found.append((ranked, replace(hit, found_by=ranked.found_by)))
                else:
                    gone += 1
        return (self._named(found, query) if found else []), gone

    def _named(self, found: Sequence[tuple[Ranked, CodeHit]], query: CodeQuery) -> list[CodeHit]:
        """The hits, each named for the definition in it that was asked for; those in changed files keep their names."""
        ranges = [(ranked.chunk.file_id, hit.start_line, hit.end_line) for ranked, hit in found]
        return [
            _named(hit, ranked.line, inside, query) if hit.start_line == ranked.chunk.start_line else hit
            for (ranked, hit), inside in zip(found, self._store.definitions_in(ranges), strict=True)
        ]

    def _suggest(self, query: CodeQuery) -> tuple[str, ...]:
        from rapidfuzz import process  # deferred: only needed when nothing was found

        names = self._store.defined_names(limit=_SUGGESTED_FROM)
        return tuple(name for name, score, _ in process.extract(query.text, names, limit=3) if score > 60)


def _named(hit: CodeHit, line: int, inside: Sequence[DefinitionRecord], query: CodeQuery) -> CodeHit:
    """The hit named for one of the definitions inside: the innermost around a line, or the one that answers."""
    if line:
        around = [definition for definition in inside if definition.line <= line <= definition.end_line]
        if query.frames:  # a field says little of the code around it
            around = [definition for definition in around if definition.kind != "variable"]
        return replace(_called(hit, around[-1]) if around else hit, line=line)
    asked = definition_asked(hit, inside, query)
    if asked is None:
        asked = next((definition for definition in inside if _qualified(definition) == hit.symbol), None)
    return _called(hit, asked) if asked else hit


def _called(hit: CodeHit, definition: DefinitionRecord) -> CodeHit:
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
        judged = judge_by_issue(store, scored, query, scope)
        scored = with_neighbours(judged, evidence.history, evidence.imports)
    ordered = sorted(scored, key=lambda pair: (-pair[1], pair[0].file.path))
    return [(candidate, ranker.confidence(score)) for candidate, score in ordered]


def _worthwhile(ranked: list[tuple[CandidateFile, float]], query: CodeQuery) -> list[tuple[CandidateFile, float]]:
    """The files that are worth their tokens."""
    share = _LEAST_SHARE_BESIDE_NAME if query.kind == "symbol" else _LEAST_SHARE
    best = max((confidence for _, confidence in ranked), default=0.0)
    return [(candidate, confidence) for candidate, confidence in ranked if confidence >= best * share]


def _code_first(ranked: list[tuple[CandidateFile, float]], query: CodeQuery) -> list[tuple[CandidateFile, float]]:
    """Tests after code of similar confidence, and prose after tests, unless the query asks for them."""

    def order(pair: tuple[CandidateFile, float]) -> float:
        path = pair[0].file.path
        if is_prose(path) and not query.about_prose:
            return pair[1] * _PROSE_SHARE
        return pair[1] * (_TEST_SHARE if is_test(path) and not query.about_tests else 1.0)

    return sorted(ranked, key=order, reverse=True)


def _one_per_file_first(found: Sequence[Ranked]) -> list[Ranked]:
    seen: dict[str, int] = {}
    order = []
    for position, ranked in enumerate(found):
        seen[ranked.chunk.path] = nth = seen.get(ranked.chunk.path, -1) + 1
        order.append((nth, position, ranked))
    return [ranked for _, _, ranked in sorted(order, key=lambda item: item[:2])]
