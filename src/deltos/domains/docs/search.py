"""Search documentation: find candidates by terms and similarity, rank them, and remove duplicates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import TYPE_CHECKING
from urllib.parse import unquote

from deltos.domains.docs.missing_terms import absent_names
from deltos.domains.docs.model import Passage
from deltos.domains.docs.query import mentioned_names, parse_query, query_terms, terms_to_look_up
from deltos.domains.docs.rank import PassageSimilarities, rank_candidates
from deltos.domains.docs.section_types import DOCUMENTATION_TYPES, types_of
from deltos.domains.docs.versions import ALL, LATEST, same_version, select_version, version_key, version_not_found
from deltos.embed.protocol import TextToEmbed
from deltos.errors import EmbedderUnavailable, NotFound
from deltos.model import MIN_API_CONFIDENCE
from deltos.text.translation import foreign_words, should_keep_original_words, translate_to_english
from deltos.text.words import documentation_query_words, query_words, shared_words, tokens
from deltos.wording import weak_match

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from deltos.domains.docs.library import Library
    from deltos.domains.docs.model import ApiCatalog
    from deltos.domains.docs.query import WeightedQuery
    from deltos.domains.docs.rank import RankedPassage
    from deltos.semantic_index import SemanticIndex, Similarities
    from deltos.store.documents import CandidateChunk, DocsTotals, Passages, ShownChunk, SourceRow

# Maximum number of candidates. With 200 instead of 300, the right page is less often among the first five.
MAX_CANDIDATES = 300
# Maximum number of candidates if section types are requested, because types are unknown before candidates are loaded.
MAX_TYPED_CANDIDATES = 3_000
# Maximum number of additional candidates found by similarity.
MAX_NEAREST_CHUNKS = 60
# Number of most similar chunks that are searched for chunks of the requested sources before all chunks are searched.
MAX_CHECKED_CHUNKS = 1_000
# Maximum number of API results that are counted. It is independent of `limit`, and so is the total.
MAX_COUNTED_API_PARTS = 50
MAX_COUNTED_CANDIDATES = 100
# Minimum confidence of passages if the query names an API. It excludes 90 % of the unrelated passages.
MIN_PASSAGE_CONFIDENCE = 0.5
_MIN_NAMED_API_PARTS = 3  # number of operations and schemas of a named API that are shown regardless of confidence

# Passages with a lower answer probability rarely answer the query (benchmarks/docs_confidence.py).
MIN_ANSWER_PROBABILITY = 0.3
_MAX_NAMES_SHOWN = 3


@dataclass(frozen=True, slots=True)
class DocsRequest:
    """A search request: the query, the sources to search, and limits on the results."""

    query: str
    limit: int = 10
    source: str = ""
    version: str = ""
    api_name: str = ""
    types: tuple[str, ...] = ()
    with_apis: bool = True
    roots: tuple[Path, ...] = ()  # root folders of the projects whose sources are searched; if empty, all projects
    excluded_ids: frozenset[str] = frozenset()  # ids of the sources of other projects; set by `search`


@dataclass(frozen=True, slots=True)
class DocsResults:
    """Search results: passages, best first, and notes.

    `searched` is set only if there are no passages. `total` is the number of results regardless of the limit, or a
    lower bound if `total_is_least` is set.
    """

    passages: tuple[Passage, ...]
    searched: DocsTotals | None = None
    note: str = ""
    total: int = 0
    total_is_least: bool = False
    confidence: float = 1.0  # probability that one of the passages answers the query
    is_weak: bool = False  # whether none of the passages is likely to answer the query
    searched_ids: tuple[str, ...] = ()  # ids of the searched sources
    omitted_names: tuple[str, ...] = ()  # names of the sources and APIs of other projects, which were not searched
    excluded_ids: frozenset[str] = frozenset()  # ids of the sources of other projects
    absent_names: tuple[str, ...] = ()  # code names in the query that occur in no searched source

    @property
    def full_note(self) -> str:
        """The note, followed by notes about missing names and words, weak matches and omitted sources."""
        lines = [self.note]
        if self.passages and self.absent_names:
            names = ", ".join(f"`{name}`" for name in self.absent_names[:_MAX_NAMES_SHOWN])
            lines.append(f"Note: no passage contains {names}; these are the best matches.")
        if self.passages and not self.is_weak:
            return "\n".join(filter(None, lines))
        if self.passages:
            lines.append(weak_match(self.confidence))
        if self.omitted_names:
            more = " …" if len(self.omitted_names) > _MAX_NAMES_SHOWN else ""
            names = f"{', '.join(self.omitted_names[:_MAX_NAMES_SHOWN])}{more}"
            lines.append(
                f"Note: not searched because they belong to other projects: {names} (search one with source=NAME)."
            )
        return "\n".join(filter(None, lines))


@dataclass(frozen=True, slots=True)
class Candidates:
    """The data that is ranked: the parsed query, the candidate chunks, and the scores of their pages."""

    query: WeightedQuery
    candidates: list[CandidateChunk]
    page_scores: dict[int, float]
    similarities: PassageSimilarities | None  # similarities of the candidates to the query; None if unknown
    note: str = ""  # reason why the similarities are unknown


class DocsSearch:
    """Searches documentation and, if enabled, API descriptions."""

    def __init__(
        self,
        library: Library,
        store: Passages,
        apis: ApiCatalog,
        semantic_index: Callable[[], SemanticIndex | None] = lambda: None,
    ) -> None:
        self._library = library
        self._semantic_index = semantic_index
        self._store = store
        self._apis = apis
        self._words = shared_words()

    def search(self, question: DocsRequest) -> DocsResults:
        """Return the best passages for a search request, without duplicates."""
        self._semantic_index()  # must be loaded before the database snapshot starts
        excluded = self._library.sources_of_other_projects(question.roots)
        excluded_names = [source.name for source in excluded]
        question = replace(question, excluded_ids=frozenset(source.id for source in excluded))
        asked = self._sources_to_search(question)
        named = self._mentioned_apis(question)
        # Sources whose crawl is unfinished may contain API descriptions that are not indexed yet.
        unfinished = self._library.unfinished_sources() if question.with_apis and not asked else []
        freshness = [*self._library.freshen(asked or unfinished)]
        try:
            freshness += self._freshen_apis(question)
            # APIs are searched before the database snapshot starts, so that the snapshot includes newly added APIs.
            descriptions = self._search_apis(question)
        except NotFound as exc:
            names = ", ".join(source.name for source in self._library.unfinished_sources())
            raise NotFound(
                exc.message, hint=f"Still being crawled: {names}. Ask again." if names else exc.hint
            ) from exc
        with self._store.snapshot():
            sources = self._sources_to_search(question)
            ids = [source.id for source in sources]
            found = self.candidates(question.query, ids, question.types)
            if question.version and not sources and not self.searched_apis(question):
                raise version_not_found("any source", question.version, self._library.sources(), self._apis.versions())
            ranked = _rank_candidates(found)[:MAX_COUNTED_CANDIDATES]
            documentation = self._search_passages(question, ranked)
            if preferred := self._mentioned_source_ids(question, sources):
                of_them = self.candidates(question.query, preferred, question.types)
                best = _rank_candidates(of_them)[:MAX_COUNTED_CANDIDATES]
                documentation = _move_to_front(self._search_passages(question, best), documentation, best)
                ranked = [*best, *ranked]
            every = merge(
                documentation,
                descriptions,
                is_api_named=bool(named),
                named_sources=self._source_names_in_query(question) if descriptions else frozenset(),
            )
            passages = self._with_continuation(every[: question.limit])
            is_least = len(found.candidates) > MAX_COUNTED_CANDIDATES or len(descriptions) >= MAX_COUNTED_API_PARTS
            searched = None if passages else self._store.totals(ids)
            note = "\n".join(filter(None, (*freshness, self._search_notes(question, found, sources, named))))
            answer_probability = _highest_answer_probability(documentation[: question.limit], ranked)
            confidence = max((passage.confidence for passage in descriptions[: question.limit]), default=0.0)
            is_weak = answer_probability < MIN_ANSWER_PROBABILITY and confidence < MIN_API_CONFIDENCE
            return DocsResults(
                passages,
                searched,
                note,
                len(every),
                is_least,
                max(answer_probability, confidence),
                is_weak,
                searched_ids=tuple(ids),
                omitted_names=() if question.source else (*excluded_names, *self.apis_of_other_projects(question)),
                excluded_ids=question.excluded_ids,
                absent_names=absent_names(question.query, every, self._store, ids) if ids and passages else (),
            )

    def _search_notes(
        self,
        question: DocsRequest,
        found: Candidates,
        sources: Sequence[SourceRow],
        named: Sequence[str],
    ) -> str:
        """Return notes about missing similarities, and about the APIs and versions that were searched."""
        versions = _versions_note(sources) if question.source else ""
        return " ".join(filter(None, (found.note, _named_apis_note(named), versions)))

    def _mentioned_apis(self, question: DocsRequest) -> tuple[str, ...]:
        """Return the APIs named in the query; empty if the request already selects an API or a source."""
        if not question.with_apis or question.api_name or question.source:
            return ()
        return self._apis.mentioned_apis(question.query, question.roots)

    def _source_names_in_query(self, question: DocsRequest) -> frozenset[str]:
        """Return the names of visible sources that the query contains."""
        asked = f" {' '.join(tokens(question.query))} "
        names = (source.name for source in self._library.sources() if source.id not in question.excluded_ids)
        return frozenset(name for name in names if f" {' '.join(tokens(name))} " in asked)

    def _mentioned_source_ids(self, question: DocsRequest, sources: Sequence[SourceRow]) -> list[str]:
        """Return the ids of the searched sources named in the query; empty if all of them are named."""
        names = mentioned_names(question.query, {source.name for source in sources})
        found = [source.id for source in sources if source.name in names]
        return found if len(found) < len(sources) else []

    def _sources_to_search(self, question: DocsRequest) -> list[SourceRow]:
        """Return the sources to search; raise NotFound for an unknown name or version."""
        if question.api_name or (question.types and DOCUMENTATION_TYPES.isdisjoint(question.types)):
            return []
        if not question.source:
            asked = [source for source in self._library.sources() if source.id not in question.excluded_ids]
            return select_version(asked, question.version)
        try:
            return self._library.matching_sources(question.source, question.version)
        except NotFound:
            if self._api_from_source(question):  # `source` is the name of an API
                return []
            raise

    def _search_passages(self, question: DocsRequest, best: Sequence[RankedPassage]) -> list[Passage]:
        """Return the passages of the ranked candidates, best first and without duplicate texts."""
        ranked = {each.candidate.chunk_id: each for each in best}
        wanted = set(documentation_query_words(question.query).split())
        texts: dict[str, Passage] = {}
        for chunk in self._store.chunks(list(ranked)):
            cited = replace(chunk, anchors=self._best_anchor_first(chunk.anchors, wanted))
            passage = _to_passage(cited, ranked[chunk.id])
            known = texts.get(chunk.text)
            # Of identical texts, only the newer version is cited.
            if known is None or _is_older_version(known, passage):
                texts[chunk.text] = passage
        return sorted(texts.values(), key=lambda passage: -passage.score)

    def _with_continuation(self, passages: Sequence[Passage]) -> tuple[Passage, ...]:
        """Set `next_passage_id` of each passage whose section continues in the next chunk."""
        numbers = {passage.id: int(passage.id.removeprefix("doc:")) for passage in passages if _is_chunk(passage)}
        wanted = {each for number in numbers.values() for each in (number, number + 1)}
        chunks = {chunk.id: chunk for chunk in self._store.chunks(sorted(wanted))} if wanted else {}

        def with_continuation(passage: Passage) -> Passage:
            number = numbers.get(passage.id, -1)
            this, following = chunks.get(number), chunks.get(number + 1)
            if this is None or following is None or not _is_same_section(this, following):
                return passage
            return replace(passage, next_passage_id=f"doc:{following.id}")

        return tuple(map(with_continuation, passages))

    def _best_anchor_first(self, anchors: tuple[str, ...], wanted: set[str]) -> tuple[str, ...]:
        """Move the anchor that contains the most query terms to the front."""
        # A chunk with several anchors may contain several sections. The section that best matches the query is cited.
        if len(anchors) < 2:
            return anchors
        best = max(anchors, key=lambda anchor: len(wanted & set(self._words.of(unquote(anchor)).split())))
        return (best, *(anchor for anchor in anchors if anchor != best))

    def passage(self, chunk_id: int) -> Passage | None:
        """Return the passage with a chunk id, or None if it no longer exists."""
        shown = self._store.chunks([chunk_id])
        if not shown or all(source.id != shown[0].source_id for source in self._library.sources()):
            return None
        return self._with_continuation([_to_passage(shown[0])])[0]

    def chunks(self, chunk_ids: Sequence[int]) -> list[ShownChunk]:
        """Return the chunks with the given ids."""
        return self._store.chunks(chunk_ids)

    def rank(self, query: str, source_ids: list[str]) -> list[RankedPassage]:
        """Return the ranked candidates for a query, best first."""
        return _rank_candidates(self.candidates(query, source_ids))

    def candidates(self, query: str, source_ids: list[str], types: Collection[str] = ()) -> Candidates:
        """Return the candidates for a query, found by terms and by similarity, in no particular order.

        If `types` are given, only sections of these documentation types are returned.
        """
        query = self._translate(query)
        terms = query_terms(documentation_query_words(query))
        frequencies = self._store.document_frequencies(terms)
        total = self._store.chunk_count()
        asked = parse_query(query, terms, frequencies, total)
        rarest = terms_to_look_up(frequencies, total)
        limit = MAX_TYPED_CANDIDATES if types else MAX_CANDIDATES
        matching = self._store.candidates(rarest, source_ids, limit=limit)
        candidates = _filter_types(matching, types)[:MAX_CANDIDATES]
        similarities, note = self._similarities(TextToEmbed(query, query_words(query))) if source_ids else (None, "")
        if similarities:
            known = {candidate.chunk_id for candidate in candidates}
            new = [chunk_id for chunk_id in self._nearest_chunks(similarities, source_ids) if chunk_id not in known]
            candidates += _filter_types(self._store.candidates_by_id(new, source_ids), types)
        if types and len(matching) == limit and len(candidates) < MAX_CANDIDATES:
            sample = f"Only the {limit:,} best matches were checked for these types."
            note = " ".join(filter(None, (note, sample)))
        return Candidates(
            query=asked,
            candidates=candidates,
            page_scores=self._store.page_scores(rarest, source_ids, limit=MAX_CANDIDATES),
            similarities=_candidate_similarities(similarities, candidates) if similarities and candidates else None,
            note=note,
        )

    def _nearest_chunks(self, similarities: Similarities, source_ids: Collection[str]) -> list[int]:
        """Return the ids of the chunks in the given sources that are most similar to a query.

        If too many of the most similar chunks belong to other sources, more chunks are checked, and finally all chunks.
        """
        nearest = similarities.semantic_matches(MAX_NEAREST_CHUNKS)
        if len(self._store.visible_chunk_ids(nearest, source_ids)) == len(nearest):
            return nearest
        checked = similarities.nearest(MAX_CHECKED_CHUNKS, at_least=0.0)
        nearest = similarities.limited_to(self._store.visible_chunk_ids(checked, source_ids)).semantic_matches(
            MAX_NEAREST_CHUNKS
        )
        if len(nearest) == MAX_NEAREST_CHUNKS or len(checked) < MAX_CHECKED_CHUNKS:
            return nearest
        return similarities.limited_to(self._store.chunk_ids(source_ids)).semantic_matches(MAX_NEAREST_CHUNKS)

    def _translate(self, query: str) -> str:
        """Translate a query into English. The original words are kept if there are pages in the query's language.

        Otherwise, only foreign words that occur in a page are kept.
        """
        english = translate_to_english(query)
        if not english:
            return query
        own, translated = (query_terms(documentation_query_words(text)) for text in (query, english))
        frequencies = self._store.document_frequencies([*own, *translated])
        if should_keep_original_words(own, translated, frequencies):
            return f"{english} {query}"
        distinctive_terms = {word: query_terms(documentation_query_words(word)) for word in foreign_words(query)}
        present_words = [word for word, terms in distinctive_terms.items() if any(map(frequencies.get, terms))]
        if query.split() == present_words:
            return query  # the pages contain all words of the query, so it is not translated
        return " ".join((english, *present_words))

    def _similarities(self, question: TextToEmbed) -> tuple[Similarities | None, str]:
        """Return the similarities of all chunks to the query, or None and the reason why they are unknown."""
        semantic_index = self._semantic_index()
        try:
            return (semantic_index.similarities(question) if semantic_index else None), ""
        except EmbedderUnavailable as exc:
            return None, f"Searched by terms only ({exc.message})."

    def searched_apis(self, question: DocsRequest) -> list[str]:
        """Return the names of the APIs that a request searches."""
        if question.source:
            named = [self._api_from_source(question)]
        else:
            named = [question.api_name] if question.api_name else list(self._apis.description_lines(question.roots))
        versions = self._apis.versions()
        wanted = (name for name in named if name and _matches_version(versions.get(name, ""), question.version))
        found_apis = (
            api for source in self._sources_with_apis(question) for api in self._apis.apis_of_source(source.id)
        )
        return list(dict.fromkeys((*wanted, *found_apis)))

    def apis_of_other_projects(self, question: DocsRequest) -> list[str]:
        """Return the names of APIs that only other projects can see; empty if no APIs are searched."""
        if not question.roots or not question.with_apis or question.api_name:
            return []
        visible = self._apis.description_lines(question.roots)
        return [name for name in self._apis.versions() if name not in visible]

    def _freshen_apis(self, question: DocsRequest) -> Sequence[str]:
        """Read changed API descriptions again, and return notes about stale results."""
        named = self._api_from_source(question) if question.source else question.api_name
        return self._apis.freshen(named) if question.with_apis and (named or not question.source) else ()

    def _search_apis(self, question: DocsRequest) -> list[Passage]:
        """Return the matching operations and schemas of the searched APIs."""
        if not question.with_apis:
            return []
        limit = max(MAX_COUNTED_API_PARTS, question.limit)

        def search_api(api_name: str) -> list[Passage]:
            roots = () if api_name else question.roots
            return self._apis.search(question.query, api_name=api_name, types=question.types, limit=limit, roots=roots)

        found: list[Passage] = []
        named = self._api_from_source(question) if question.source else question.api_name
        if named or not question.source:
            found = [each for each in search_api(named) if _matches_version(each.version, question.version)]
        sources_with_apis = self._sources_with_apis(question)
        # The source has the requested version, so the versions of its APIs need not be compared.
        for source in sources_with_apis:
            found += search_api(source.id)
        return sorted(found, key=lambda passage: -passage.score) if sources_with_apis else found

    def _api_from_source(self, question: DocsRequest) -> str:
        """Return the `source` of the request if it is the name of an API or API group; empty otherwise."""
        # APIs are listed together with sources, so callers may pass an API name as `source`.
        name = question.source.strip().lower()
        if not name:
            return ""
        names = {api.lower(): api for api in self._apis.description_lines()}
        is_group = any(api.startswith(f"{name}-") for api in names) and not self._library.has_source(question.source)
        return names.get(name, question.source.strip() if is_group else "")

    def _sources_with_apis(self, question: DocsRequest) -> list[SourceRow]:
        """Return the sources to search that contain APIs."""
        if not question.source:
            return []
        named = replace(question, api_name="", types=())
        return [source for source in self._sources_to_search(named) if self._apis.apis_of_source(source.id)]


def _is_chunk(passage: Passage) -> bool:
    return passage.id.startswith("doc:") and passage.id.removeprefix("doc:").isdecimal()


def _is_same_section(first: ShownChunk, second: ShownChunk) -> bool:
    return (first.source_id, first.url, first.section) == (second.source_id, second.url, second.section)


def _highest_answer_probability(documentation: Sequence[Passage], ranked: Sequence[RankedPassage]) -> float:
    """Return the highest answer probability among the passages."""
    probabilities = {f"doc:{each.candidate.chunk_id}": each.answer_probability for each in ranked}
    return max((probabilities.get(passage.id, 0.0) for passage in documentation), default=0.0)


def _move_to_front(
    preferred: Sequence[Passage], others: Sequence[Passage], ranked: Sequence[RankedPassage]
) -> list[Passage]:
    """Return the preferred passages that probably answer the query, followed by the other passages.

    The scores of the preferred passages are raised above the scores of the other passages.
    """
    probabilities = {f"doc:{each.candidate.chunk_id}": each.answer_probability for each in ranked}
    first = [passage for passage in preferred if probabilities[passage.id] >= MIN_ANSWER_PROBABILITY]
    best, lowest = max((each.score for each in others), default=0.0), min((each.score for each in first), default=0.0)
    raised = [replace(each, score=each.score + max(0.0, best - lowest)) for each in first]
    known = {passage.id for passage in first}
    return [*raised, *(passage for passage in others if passage.id not in known)]


def _rank_candidates(found: Candidates) -> list[RankedPassage]:
    """Return the ranked candidates, best first."""
    if not found.candidates:
        return []
    return rank_candidates(found.query, found.candidates, found.page_scores, found.similarities)


def _filter_types(candidates: list[CandidateChunk], types: Collection[str]) -> list[CandidateChunk]:
    """Return the candidates that have one of the types, or all candidates if no types are given."""
    wanted = set(types)
    return [each for each in candidates if not wanted or wanted & types_of(each)]


def _candidate_similarities(similarities: Similarities, candidates: Sequence[CandidateChunk]) -> PassageSimilarities:
    """Return the similarities of the candidates to the query."""
    ids = [candidate.chunk_id for candidate in candidates]
    known = similarities.cosines(ids)
    return PassageSimilarities([known.get(chunk_id, 0.0) for chunk_id in ids], similarities.standardised_cosines(ids))


def _matches_version(version: str, wanted: str) -> bool:
    """Whether an API version matches the requested version; "latest" and "all" match every API version."""
    return wanted.lower() in ("", ALL, LATEST) or same_version(version, wanted)


def _is_older_version(known: Passage, other: Passage) -> bool:
    """Whether the first passage is from an older version of the second passage's source."""
    return known.source == other.source and version_key(known.version) < version_key(other.version)


def _versions_note(sources: Sequence[SourceRow]) -> str:
    """Return a note about the searched versions if there are several; empty otherwise."""
    versions = [source.version for source in sources if source.version]
    if len(versions) < 2:
        return ""
    return (
        f"Searched {sources[0].name} in versions {', '.join(versions)}; use version={versions[0]} or {LATEST} for one."
    )


def merge(
    documentation: Sequence[Passage],
    descriptions: Sequence[Passage],
    *,
    is_api_named: bool = False,
    named_sources: Collection[str] = (),
) -> list[Passage]:
    """Merge ranked documentation passages and API results, without duplicates.

    If the query names an API, its results come first, alternating with passages of named sources. For other queries,
    clear API matches alternate with passages that are likely to answer the query. The remaining results follow.
    """
    # The scores of passages and API results cannot be compared, so `confidence` and `is_clear` decide.
    fair = [passage for passage in documentation if passage.confidence >= MIN_PASSAGE_CONFIDENCE]
    lists: tuple[Iterable[Passage], ...]
    if is_api_named and descriptions:
        api_parts = [
            each for index, each in enumerate(descriptions) if index < _MIN_NAMED_API_PARTS or not _is_unlikely(each)
        ]
        named_passages = [passage for passage in documentation if passage.source in named_sources]
        lists = (_alternate(api_parts, named_passages), fair, descriptions)
    else:
        clear = [passage for passage in descriptions if passage.is_clear]
        named_passages = [passage for passage in fair if passage.source in named_sources]
        in_turns = _alternate(named_passages, clear) if named_passages else _alternate(clear, fair if clear else ())
        lists = (in_turns, documentation, descriptions)
    merged: dict[str, Passage] = {}
    for passage in chain.from_iterable(lists):
        merged.setdefault(passage.text, passage)
    return list(merged.values())


def _alternate(first: Sequence[Passage], second: Sequence[Passage]) -> Iterator[Passage]:
    return (passage for pair in zip_longest(first, second) for passage in pair if passage is not None)


def _named_apis_note(named: Sequence[str]) -> str:
    """Return a note that only the APIs named in the query were searched; empty if no API is named."""
    if not named:
        return ""
    more = " …" if len(named) > _MAX_NAMES_SHOWN else ""
    return (
        f"Only the {'API' if len(named) == 1 else 'APIs'} {', '.join(named[:_MAX_NAMES_SHOWN])}{more}"
        f" {'was' if len(named) == 1 else 'were'} searched, because the query mentions"
        f" {'it' if len(named) == 1 else 'them'} (search another with api_name=NAME)."
    )


def _is_unlikely(part: Passage) -> bool:
    """Whether an API result is unlikely to answer the query."""
    return part.confidence < MIN_API_CONFIDENCE


def _to_passage(chunk: ShownChunk, ranked: RankedPassage | None = None) -> Passage:
    """Return a chunk as a search result; if the chunk was not ranked, its score and confidence are 1."""
    return Passage(
        id=f"doc:{chunk.id}",
        url=chunk.url,
        anchors=chunk.anchors,
        title=chunk.title,
        section=chunk.section,
        source=chunk.source,
        version=chunk.version,
        text=chunk.text,
        score=ranked.score if ranked else 1.0,
        confidence=ranked.confidence if ranked else 1.0,
        is_semantic_match=ranked is not None and ranked.is_semantic_match,
    )
