"""Find the passages that answer a question: match words, order, drop repeats."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import TYPE_CHECKING

from deltos.domains.docs.model import Passage
from deltos.domains.docs.query import asked_terms, choose_terms, parse_query
from deltos.domains.docs.rank import ChunkSimilarities, order
from deltos.embed.protocol import TextToEmbed as Spoken
from deltos.errors import EmbedderUnavailable
from deltos.model import BEHIND_NOTE
from deltos.text.words import asked_words, shared_words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deltos.domains.docs.library import Library
    from deltos.domains.docs.model import ApiCatalog
    from deltos.domains.docs.query import WeightedQuery
    from deltos.domains.docs.rank import RankedChunk
    from deltos.meaning import Meaning, Similarities
    from deltos.store.documents import CandidateChunk, DocsTotals, Passages, ShownChunk, SourceRow

# With 200, page recall@5 and sections shown were lower: benchmarks/RESULTS.md.
MOST_CANDIDATES = 300
# Candidates by meaning alone: a passage in other words shares no term with the question.
NEAREST_CHUNKS = 60
# Candidates that are read to count distinct passages: as many as the highest limit may show, and their repeats.
COUNTED_UNITS = 50  # of APIs, whatever the limit: how many results there are must not depend on how many are shown
COUNTED_CANDIDATES = 100
_DOCUMENTATION_TYPES = frozenset(("overview", "guide", "glossary", "use-case", "reference"))


@dataclass(frozen=True, slots=True)
class DocsRequest:
    """What is asked, and of what."""

    query: str
    limit: int = 10
    source: str = ""
    version: str = ""
    api_name: str = ""
    types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DocsResults:
    """The passages, best first; when there are none, how much was searched; what went wrong, if anything.

    `total` is how many there would be without a limit, or at least that many.
    """

    passages: tuple[Passage, ...]
    searched: DocsTotals | None = None
    note: str = ""
    total: int = 0
    total_is_least: bool = False


@dataclass(frozen=True, slots=True)
class Candidates:
    """What ranking needs: the question, the chunks that may answer it, how well their pages fit."""

    asked: WeightedQuery
    candidates: list[CandidateChunk]
    page_scores: dict[int, float]
    similarities: ChunkSimilarities | None  # None when they are not known
    note: str = ""  # why it is not known, where the model could not be asked


class DocsSearch:
    """Searches documentation and, where they are enabled, API descriptions."""

    def __init__(
        self,
        library: Library,
        store: Passages,
        apis: ApiCatalog,
        meaning: Callable[[], Meaning | None] = lambda: None,
    ) -> None:
        self._library = library
        self._meaning = meaning
        self._store = store
        self._apis = apis
        self._words = shared_words()

    def search(self, question: DocsRequest) -> DocsResults:
        """Passages that answer, best first, no text twice."""
        self._meaning()  # reads its vectors before the snapshot begins, not inside it
        descriptions = self._descriptions(question)  # likewise: those that a search itself makes would not be seen
        with self._store.snapshot():
            ids = [source.id for source in self._sources(question)]
            found = self.candidates(question.query, ids)
            every = merge(self._documentation(question, found), descriptions)
            passages = tuple(every[: question.limit])
            is_least = len(found.candidates) > COUNTED_CANDIDATES or len(descriptions) >= COUNTED_UNITS
            searched = None if passages else self._store.totals(ids)
            return DocsResults(passages, searched, self._note(question, found), len(every), is_least)

    def _note(self, question: DocsRequest, found: Candidates) -> str:
        """Why less may have been found than there is."""
        is_behind = self._apis.is_behind and bool(self.apis_of(question))
        behind = BEHIND_NOTE.format("parts of APIs") if is_behind else ""
        return " ".join(filter(None, (found.note, behind)))

    def _sources(self, question: DocsRequest) -> list[SourceRow]:
        """The sources that the question is about; a name that does not exist is an error that says so."""
        if question.api_name or (question.types and _DOCUMENTATION_TYPES.isdisjoint(question.types)):
            return []
        if question.source:
            return [] if self._api_meant(question) else [self._library.find(question.source)]
        sources = self._library.sources()
        if not question.version:
            return sources
        return [source for source in sources if same_version(source.version, question.version)]

    def _documentation(self, question: DocsRequest, found: Candidates) -> list[Passage]:
        ranked = {each.candidate.chunk_id: each for each in _ordered(found)[:COUNTED_CANDIDATES]}
        shown = self._store.chunks(list(ranked))
        wanted = set(self._words.of(question.query).split())
        texts: dict[str, Passage] = {}
        for chunk in shown:
            anchors = self._best_first(chunk.anchors, wanted)
            found_as = ranked[chunk.id]
            passage = _passage(chunk, anchors, found_as.score, found_as.confidence, is_near=found_as.is_near)
            texts.setdefault(chunk.text, passage)
        return list(texts.values())

    def _best_first(self, anchors: tuple[str, ...], wanted: set[str]) -> tuple[str, ...]:
        """The anchors with the one in front that shares most with the question: a chunk may hold several sections."""
        if len(anchors) < 2:
            return anchors
        best = max(anchors, key=lambda anchor: len(wanted & set(self._words.of(anchor).split())))
        return (best, *(anchor for anchor in anchors if anchor != best))

    def passage(self, chunk_id: int) -> Passage | None:
        """One passage by the number in its id; None when it is gone."""
        shown = self._store.chunks([chunk_id])
        return (
            _passage(shown[0], shown[0].anchors, 1.0, 1.0) if shown and self._library.knows(shown[0].source) else None
        )

    def rank(self, query: str, source_ids: list[str]) -> list[RankedChunk]:
        """Candidates for a query, best first."""
        return _ordered(self.candidates(query, source_ids))

    def candidates(self, query: str, source_ids: list[str]) -> Candidates:
        """What may answer a query, not yet ordered; empty when nothing shares a word or the meaning with it."""
        words = self._words.of(query)
        terms = asked_terms(words)
        frequencies = self._store.document_frequencies(terms)
        total = self._store.chunk_count()
        asked = parse_query(query, terms, frequencies, total)
        rarest = choose_terms(frequencies, total)
        candidates = self._store.candidates(rarest, source_ids, limit=MOST_CANDIDATES)
        similarities, note = self._similarities(Spoken(query, asked_words(query))) if source_ids else (None, "")
        if similarities:
            known = {candidate.chunk_id for candidate in candidates}
            new = [chunk_id for chunk_id in similarities.near(NEAREST_CHUNKS) if chunk_id not in known]
            candidates += self._store.candidates_with(new, source_ids)
        return Candidates(
            asked=asked,
            candidates=candidates,
            page_scores=self._store.page_scores(rarest, source_ids, limit=MOST_CANDIDATES),
            similarities=_of_candidates(similarities, candidates) if similarities and candidates else None,
            note=note,
        )

    def _similarities(self, question: Spoken) -> tuple[Similarities | None, str]:
        """The similarity of all chunks to the question, or why it is not known."""
        meaning = self._meaning()
        try:
            return (meaning.similarities(question) if meaning else None), ""
        except EmbedderUnavailable as exc:
            return None, f"Searched by words alone ({exc.message})."

    def apis_of(self, question: DocsRequest) -> list[str]:
        """The names of the API descriptions that a question is asked of."""
        if question.version:
            return []
        if question.source:
            return [api] if (api := self._api_meant(question)) else list(self._brought(question))
        return [question.api_name] if question.api_name else list(self._apis.names())

    def _descriptions(self, question: DocsRequest) -> list[Passage]:
        api_name = question.api_name
        if question.source:
            api_name = self._api_meant(question)
            if not api_name and self._brought(question):
                api_name = self._library.find(question.source).id
        if question.version or (question.source and not api_name):
            return []
        limit = max(COUNTED_UNITS, question.limit)
        return self._apis.search(question.query, api_name=api_name, types=question.types, limit=limit)

    def _api_meant(self, question: DocsRequest) -> str:
        """The API that `source` names where no documentation is called so: lists of sources show both."""
        name = question.source.strip().lower()
        if not name or self._library.knows(question.source):
            return ""
        return next((api for api in self._apis.names() if api.lower() == name), "")

    def _brought(self, question: DocsRequest) -> tuple[str, ...]:
        """The APIs that the source of the question brought."""
        known = self._library.knows(question.source)
        return self._apis.brought_by(self._library.find(question.source).id) if known else ()


def _ordered(found: Candidates) -> list[RankedChunk]:
    if not found.candidates:
        return []
    return order(found.asked, found.candidates, found.page_scores, found.similarities)


def _of_candidates(similarities: Similarities, candidates: Sequence[CandidateChunk]) -> ChunkSimilarities:
    ids = [candidate.chunk_id for candidate in candidates]
    known = similarities.raw(ids)
    return ChunkSimilarities([known.get(chunk_id, 0.0) for chunk_id in ids], similarities.of(ids))


def same_version(have: str, wanted: str) -> bool:
    """Whether a version is the wanted one or a release of it: `3.11.4` is a `3.11`."""
    have, wanted = have.lstrip("vV"), wanted.lstrip("vV")
    return have == wanted or have.startswith(f"{wanted}.")


def merge(documentation: Sequence[Passage], descriptions: Sequence[Passage]) -> list[Passage]:
    """Both ranked lists as one, no text twice: in turns while APIs are clearly meant, then documentation first."""
    # Scores of the two lists are not comparable; whether a unit is clearly meant was decided by its own threshold.
    clear = [passage for passage in descriptions if passage.is_clear]
    in_turns = chain.from_iterable(zip_longest(clear, documentation))
    merged: dict[str, Passage] = {}
    for passage in chain(in_turns, descriptions):
        if passage is not None:
            merged.setdefault(passage.text, passage)
    return list(merged.values())


def _passage(
    chunk: ShownChunk, anchors: tuple[str, ...], score: float, confidence: float, *, is_near: bool = False
) -> Passage:
    return Passage(
        id=f"doc:{chunk.id}",
        url=chunk.url,
        anchors=anchors,
        title=chunk.title,
        section=chunk.section,
        source=chunk.source,
        version=chunk.version,
        text=chunk.text,
        score=score,
        confidence=confidence,
        is_near=is_near,
    )
