"""Choose what is shown of the files that were found: the chunk of each that answers, and a second that may."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from deltos.domains.code.features import BEST_CHUNKS
from deltos.domains.code.match import usual_similarity, weights_across
from deltos.text.identifiers import dotted
from deltos.text.words import shared_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deltos.domains.code.features import CandidateFile, Weights
    from deltos.domains.code.match import Corpus
    from deltos.domains.code.model import FoundBy
    from deltos.domains.code.query import CodeQuery
    from deltos.domains.code.usual import Usual
    from deltos.store.code import Code, CodeChunkRow, CodeChunkWords, DefinitionRecord

# A file with a smaller share of the query's words was found by its meaning or by its commits, and is marked so.
_LEAST_COVERAGE = 0.2
_LEAST_DEVIATIONS = 1.0  # no nearer in meaning than chunks of the project usually are: its commits brought it
_DEFINITIONS_SHOWN = 2  # of those that a file has of what is asked for
_NEXT_CHUNK = 0.9  # what the confidence in a file is worth for its second chunk
# How far a second chunk may score below the best one of its file. Of the file that comes first it is asked for more
# often: 9 % of 300 first files have their answer there (benchmarks/RESULTS.md, "What an answer costs").
_SECOND_OF_FIRST, _SECOND_OF_OTHERS = 1.2, 0.4
_FILES_BEFORE_SECOND = 3
# Fitted to 476 questions with the lines that answer them, by repository-wise cross-validation: of the files that come
# first, 0.73 show a line of the answer; 0.67 by words with meaning where words are few.
_BM25, _COVERAGE, _RARE, _SYMBOL, _DOC, _DEVIATION, _UNNAMED, _LENGTH = 1.0, 2.0, 1.5, 1.3, 0.75, 0.6, -1.0, 0.35


@dataclass(frozen=True, slots=True)
class Ranked:
    """A chunk chosen for the answer with its confidence; `line` is the one asked for, if any.

    What was found by its meaning or by its commits has next to none of the query's words. `corpus` is the position of
    its project among those that are searched.
    """

    chunk: CodeChunkRow
    confidence: float
    line: int = 0
    found_by: FoundBy = "words"
    corpus: int = 0


def chosen_chunks(
    corpora: Sequence[Corpus], ranked: Sequence[tuple[CandidateFile, float]], query: CodeQuery
) -> list[Ranked]:
    """One chunk of each file in order of rank, a second of the first file among them, those of others at the end."""
    firsts: list[Ranked] = []
    seconds: list[Ranked] = []
    of_first: list[Ranked] = []
    judges = _judges(corpora, [candidate for candidate, _ in ranked], query)
    for candidate, confidence in ranked:
        after = seconds if firsts else of_first
        chunks = judges[candidate.corpus].chunks_of(candidate, _SECOND_OF_OTHERS if firsts else _SECOND_OF_FIRST)
        found_by, corpus = _found_by(candidate), candidate.corpus
        firsts += [Ranked(first.chunk, confidence, first.line, found_by, corpus) for first in chunks[:1]]
        worth = confidence * _NEXT_CHUNK
        after += [Ranked(second.chunk, worth, second.line, found_by, corpus) for second in chunks[1:2]]
    # A definition that was asked for follows at once; what only scores well leaves the first places to other files.
    place = 1 if of_first and of_first[0].line else _FILES_BEFORE_SECOND
    above = min((each.confidence for each in firsts[:place]), default=1.0)
    of_first = [replace(each, confidence=min(each.confidence, above)) for each in of_first]
    return firsts[:place] + of_first + firsts[place:] + seconds


def _found_by(candidate: CandidateFile) -> FoundBy:
    """What brought a file into the answer: its words, where it has enough of them."""
    if not candidate.near_chunks or candidate.coverage >= _LEAST_COVERAGE:
        return "words"
    is_usual = not candidate.is_near or candidate.deviations < _LEAST_DEVIATIONS
    return "commits" if candidate.is_spoken_for and is_usual else "meaning"


def covering(chunks: Sequence[CodeChunkRow], lines: Iterable[int]) -> list[Ranked]:
    """The chunks that hold the lines, in order of the lines, each with the first that it holds."""
    found: dict[int, Ranked] = {}
    for line in lines:
        for chunk in chunks:
            if chunk.start_line <= line <= chunk.end_line:
                found.setdefault(chunk.id, Ranked(chunk, 1.0, line))
    return list(found.values())


def lines_held(chunks: Sequence[CodeChunkRow], lines: Sequence[int], *, one_per_chunk: bool = False) -> list[int]:
    """Those of the ascending lines that one of the chunks of a file holds, or the first that each chunk holds."""
    held: list[int] = []
    position, last = 0, -1
    for line in lines:
        while position < len(chunks) and chunks[position].end_line < line:
            position += 1
        if position < len(chunks) and chunks[position].start_line <= line and not (one_per_chunk and position == last):
            held.append(line)
            last = position
    return held


def _judges(corpora: Sequence[Corpus], candidates: Sequence[CandidateFile], query: CodeQuery) -> dict[int, _Judge]:
    """Who judges the chunks of each project that has candidates; all compare with all projects."""
    if not candidates:
        return {}
    weights = weights_across(corpora, query)
    usual = usual_similarity(corpora)
    return {
        number: _Judge(corpora[number], [each for each in candidates if each.corpus == number], query, weights, usual)
        for number in dict.fromkeys(candidate.corpus for candidate in candidates)
    }


class _Judge:
    """Tells the chunks of one answer's files apart: all that it needs of them is read at once."""

    def __init__(
        self,
        corpus: Corpus,
        candidates: Sequence[CandidateFile],
        query: CodeQuery,
        weights: Weights,
        usual: Usual,
    ) -> None:
        store, near = corpus.store, corpus.evidence.near
        self._store = store
        self._query = query
        pools = [(*candidate.chunk_ids[:BEST_CHUNKS], *candidate.near_chunks) for candidate in candidates]
        ids = list(dict.fromkeys(chunk_id for pool in pools for chunk_id in pool))
        self._chunks: Mapping[int, CodeChunkRow] = store.chunks(ids)
        self._words: Mapping[int, CodeChunkWords] = corpus.chunk_words(ids)
        self._deviations: dict[int, float] = {}
        if near:
            for candidate, pool in zip(candidates, pools, strict=True):
                self._deviations |= near.deviations_of(candidate.file.id, pool, usual)
        self._weights = weights

    def chunks_of(self, candidate: CandidateFile, margin: float) -> list[Ranked]:
        """The chunks of a file worth showing, best first: the definition asked for, then what scores like the best.

        There are none where a file holds nothing but blank lines.
        """
        file_id = candidate.file.id
        lines = [*candidate.lines, *_asked_lines(self._store, candidate, self._query)][:_DEFINITIONS_SHOWN]
        defining = covering(self._store.chunks_at(file_id, lines), lines) if lines else []
        shown: dict[int, Ranked] = {}
        for ranked in [*defining, *([] if defining else self._best(candidate, margin))]:
            shown.setdefault(ranked.chunk.id, ranked)
        return list(shown.values()) or [Ranked(chunk, 1.0) for chunk in self._store.first_chunk(file_id)]

    def _best(self, candidate: CandidateFile, margin: float) -> list[Ranked]:
        bm25 = dict(zip(candidate.chunk_ids[:BEST_CHUNKS], candidate.chunk_scores, strict=False))
        best_bm25 = max(bm25.values(), default=0.0) or 1.0
        pool = [chunk_id for chunk_id in dict.fromkeys((*bm25, *candidate.near_chunks)) if chunk_id in self._chunks]
        scores = {chunk_id: _BM25 * bm25.get(chunk_id, 0.0) / best_bm25 + self._score(chunk_id) for chunk_id in pool}
        order = sorted(pool, key=lambda chunk_id: -scores[chunk_id])
        return [Ranked(self._chunks[each], 1.0) for each in order if scores[each] >= scores[order[0]] - margin]

    def _score(self, chunk_id: int) -> float:
        """What a chunk's words, its name, its documentation and its meaning say for it."""
        words = self._words[chunk_id]
        in_symbol = self._weights.found_among(words.symbol)
        in_doc = self._weights.found_among(words.doc)
        anywhere = self._weights.found_among(words.body) | in_symbol | in_doc
        return (
            _COVERAGE * self._weights.share(anywhere)
            + _RARE * self._weights.rare_share(anywhere)
            + _SYMBOL * self._weights.share(in_symbol)
            + _DOC * self._weights.share(in_doc)
            + _DEVIATION * self._deviations.get(chunk_id, 0.0)
            + _UNNAMED * (not self._chunks[chunk_id].symbol)
            + _LENGTH * math.log(1 + words.body.count(" "))
        )


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
