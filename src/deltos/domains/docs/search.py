"""Search documentation: find candidates by terms and similarity, rank them, and remove duplicates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import TYPE_CHECKING
from urllib.parse import unquote

from deltos.domains.docs.chunk import JOINED_HEADING
from deltos.domains.docs.missing_terms import absent_names, missing_words
from deltos.domains.docs.model import PACKAGE_ADDRESSES, Passage
from deltos.domains.docs.pages import SECTION_SEPARATOR
from deltos.domains.docs.query import mentioned_names, parse_query, query_terms, terms_to_look_up
from deltos.domains.docs.rank import UNDOCUMENTED_PENALTY, PassageSimilarities, order
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

# With 200, page recall@5 and the number of right sections were lower (benchmarks/RESULTS.md).
MAX_CANDIDATES = 300
# More candidates if types are given, because types are known only after candidates are loaded.
TYPED_CANDIDATES = 3_000
# Additional candidates by similarity, because a passage in other words shares no terms with the question.
MAX_NEAREST_CHUNKS = 60
# If only some sources are searched, this number of most similar chunks is checked before all chunks of the sources.
MAX_CHECKED_CHUNKS = 1_000
# Results that are counted, independent of `limit`, so that the total does not depend on how many are shown.
COUNTED_UNITS = 50  # parts of APIs
COUNTED_CANDIDATES = 100
# Minimum confidence of passages that are shown next to parts of a named API. 90 % of the passages that are unrelated to
# such questions are below it (benchmarks/RESULTS.md).
FAIR_CONFIDENCE = 0.5
_MIN_NAMED_API_PARTS = 3  # parts of a named API that are shown even if they are unlikely to answer
# Below this probability the best passage rarely answers (benchmarks/docs_confidence.py).
WEAK_CHANCE = 0.3
_MAX_NAMES_SHOWN = 3


@dataclass(frozen=True, slots=True)
class DocsRequest:
    """A search request: the query and what to search."""

    query: str
    limit: int = 10
    source: str = ""
    version: str = ""
    api_name: str = ""
    types: tuple[str, ...] = ()
    with_apis: bool = True
    roots: tuple[Path, ...] = ()  # root folders of the projects whose sources are searched; none select all
    without: frozenset[str] = frozenset()  # ids of sources that are searched only by name, found by `search`


@dataclass(frozen=True, slots=True)
class DocsResults:
    """The passages, best first, with notes; without passages, how much was searched.

    `total` is the number of results without a limit, or a lower bound of it.
    """

    passages: tuple[Passage, ...]
    searched: DocsTotals | None = None
    note: str = ""
    total: int = 0
    total_is_least: bool = False
    confidence: float = 1.0  # probability that one of them answers
    is_weak: bool = False  # whether probably none of them answers
    asked: tuple[str, ...] = ()  # ids of the searched sources
    left_out: tuple[str, ...] = ()  # names of sources that are searched only by name
    elsewhere: frozenset[str] = frozenset()  # ids of the sources that only other projects see
    absent: tuple[str, ...] = ()  # words of the question that occur in no searched source
    absent_names: tuple[str, ...] = ()  # code names of the question that occur in no searched source

    @property
    def full_note(self) -> str:
        """The note with all additions: missing names and words, a weak match, and sources that were not searched."""
        lines = [self.note]
        if self.passages and self.absent_names:
            names = ", ".join(f"`{name}`" for name in self.absent_names[:_MAX_NAMES_SHOWN])
            lines.append(f"Note: no passage contains {names}; these are the best matches.")
        if self.passages and not self.is_weak:
            return "\n".join(filter(None, lines))
        if self.passages:
            lines.append(weak_match(self.confidence))
            if others := [word for word in self.absent if word not in self.absent_names]:
                lines.append(f"Note: no passage contains: {', '.join(others[:_MAX_NAMES_SHOWN])}.")
        if self.left_out:
            more = " …" if len(self.left_out) > _MAX_NAMES_SHOWN else ""
            names = f"{', '.join(self.left_out[:_MAX_NAMES_SHOWN])}{more}"
            lines.append(
                f"Note: not searched because they belong to other projects: {names} (search one with source=NAME)."
            )
        return "\n".join(filter(None, lines))


@dataclass(frozen=True, slots=True)
class Candidates:
    """The input of ranking: the query, the candidate chunks, and the scores of their pages."""

    asked: WeightedQuery
    candidates: list[CandidateChunk]
    page_scores: dict[int, float]
    similarities: PassageSimilarities | None  # None if they are not known
    note: str = ""  # reason why similarities are missing


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
        """Return the best passages without duplicates."""
        self._semantic_index()  # load the vectors before the snapshot starts
        elsewhere = self._library.elsewhere(question.roots)
        names_elsewhere = [source.name for source in elsewhere]
        question = replace(question, without=frozenset(source.id for source in elsewhere))
        asked = self._sources(question)
        named = self._apis_named(question)
        # Unfinished sources may contain APIs.
        unfinished = self._library.unfinished_sources() if question.with_apis and not asked else []
        freshness = [*self._library.freshen(asked or unfinished)]
        try:
            freshness += self._freshen_apis(question)
            descriptions = self._search_apis(question)  # before the snapshot too, to see APIs added by this search
        except NotFound as exc:
            names = ", ".join(source.name for source in self._library.unfinished_sources())
            raise NotFound(
                exc.message, hint=f"Still being crawled: {names}. Ask again." if names else exc.hint
            ) from exc
        with self._store.snapshot():
            sources = self._sources(question)
            ids = [source.id for source in sources]
            found = self.candidates(question.query, ids, question.types)
            if question.version and not sources and not self.apis_of(question):
                raise version_not_found("any source", question.version, self._library.sources(), self._apis.versions())
            ranked = _ordered(found)[:COUNTED_CANDIDATES]
            documentation = self._search_passages(question, found, ranked)
            if preferred := self._mentioned_sources(question, sources):
                of_them = self.candidates(question.query, preferred, question.types)
                best = _ordered(of_them)[:COUNTED_CANDIDATES]
                documentation = _prefer(self._search_passages(question, of_them, best), documentation, best)
                ranked = [*best, *ranked]
            every = merge(
                documentation,
                descriptions,
                is_api_named=bool(named),
                named_sources=self._sources_named(question) if descriptions else frozenset(),
            )
            passages = self._with_continuation(every[: question.limit])
            is_least = len(found.candidates) > COUNTED_CANDIDATES or len(descriptions) >= COUNTED_UNITS
            searched = None if passages else self._store.totals(ids)
            note = "\n".join(filter(None, (*freshness, self._note(question, found, sources, named))))
            chance = _best_chance(documentation[: question.limit], ranked)
            confidence = max((passage.confidence for passage in descriptions[: question.limit]), default=0.0)
            is_weak = chance < WEAK_CHANCE and confidence < MIN_API_CONFIDENCE
            return DocsResults(
                passages,
                searched,
                note,
                len(every),
                is_least,
                max(chance, confidence),
                is_weak,
                asked=tuple(ids),
                left_out=() if question.source else (*names_elsewhere, *self.apis_elsewhere(question)),
                elsewhere=question.without,
                absent=(
                    missing_words(question.query, found.asked, found.candidates) if is_weak and not descriptions else ()
                ),
                absent_names=absent_names(question.query, every, self._store, ids) if ids and passages else (),
            )

    def _note(
        self,
        question: DocsRequest,
        found: Candidates,
        sources: Sequence[SourceRow],
        named: Sequence[str],
    ) -> str:
        """Return why the results may be incomplete, and which versions were searched."""
        versions = _versions_note(sources) if question.source else ""
        return " ".join(filter(None, (found.note, _named_apis_note(named), versions)))

    def _apis_named(self, question: DocsRequest) -> tuple[str, ...]:
        """Return the APIs that the question names, if all APIs are searched."""
        if not question.with_apis or question.api_name or question.source:
            return ()
        return self._apis.named_in(question.query, question.roots)

    def _sources_named(self, question: DocsRequest) -> frozenset[str]:
        """Return the names of the sources that the question contains."""
        asked = f" {' '.join(tokens(question.query))} "
        names = (source.name for source in self._library.sources() if source.id not in question.without)
        return frozenset(name for name in names if f" {' '.join(tokens(name))} " in asked)

    def _mentioned_sources(self, question: DocsRequest, sources: Sequence[SourceRow]) -> list[str]:
        """Return the ids of the searched sources whose product the question mentions, unless that is all of them."""
        names = mentioned_names(question.query, {source.name for source in sources})
        found = [source.id for source in sources if source.name in names]
        return found if len(found) < len(sources) else []

    def _sources(self, question: DocsRequest) -> list[SourceRow]:
        """Return the sources to search; raise NotFound for an unknown name or version."""
        if question.api_name or (question.types and DOCUMENTATION_TYPES.isdisjoint(question.types)):
            return []
        if not question.source:
            asked = [source for source in self._library.sources() if source.id not in question.without]
            return select_version(asked, question.version)
        try:
            return self._library.matching_sources(question.source, question.version)
        except NotFound:
            if self._api_from_source(question):  # only an API has that name or version
                return []
            raise

    def _search_passages(
        self, question: DocsRequest, found: Candidates, best: Sequence[RankedPassage]
    ) -> list[Passage]:
        ranked = {each.candidate.chunk_id: each for each in best}
        wanted = set(documentation_query_words(question.query).split())
        texts: dict[str, Passage] = {}
        for chunk in self._store.chunks(list(ranked)):
            cited = _with_matching_heading(chunk, self._best_anchor_first(chunk.anchors, wanted))
            found_as = ranked[chunk.id]
            score = found_as.score - (
                UNDOCUMENTED_PENALTY if _is_bare_declaration(chunk.text, found_as.candidate, found.asked) else 0.0
            )
            passage = _passage(cited, score, found_as.confidence, is_near=found_as.is_near)
            known = texts.get(chunk.text)
            if known is None or _is_older_version(known, passage):  # the same text is cited from the newer version
                texts[chunk.text] = passage
        return sorted(texts.values(), key=lambda passage: -passage.score)

    def _with_continuation(self, passages: Sequence[Passage]) -> tuple[Passage, ...]:
        """Set `goes_on_in` of passages whose section continues in the next chunk."""
        numbers = {passage.id: int(passage.id.removeprefix("doc:")) for passage in passages if _is_chunk(passage)}
        wanted = {each for number in numbers.values() for each in (number, number + 1)}
        chunks = {chunk.id: chunk for chunk in self._store.chunks(sorted(wanted))} if wanted else {}

        def with_continuation(passage: Passage) -> Passage:
            number = numbers.get(passage.id, -1)
            this, following = chunks.get(number), chunks.get(number + 1)
            if this is None or following is None or not _is_same_section(this, following):
                return passage
            return replace(passage, goes_on_in=f"doc:{following.id}")

        return tuple(map(with_continuation, passages))

    def _best_anchor_first(self, anchors: tuple[str, ...], wanted: set[str]) -> tuple[str, ...]:
        """Move the anchor that shares most terms with the question to the front; a chunk may join several sections."""
        if len(anchors) < 2:
            return anchors
        best = max(anchors, key=lambda anchor: len(wanted & set(self._words.of(unquote(anchor)).split())))
        return (best, *(anchor for anchor in anchors if anchor != best))

    def passage(self, chunk_id: int) -> Passage | None:
        """Return the passage with the number in its id, or None if it no longer exists."""
        shown = self._store.chunks([chunk_id])
        if not shown or all(source.id != shown[0].source_id for source in self._library.sources()):
            return None
        return self._with_continuation([_passage(shown[0], 1.0, 1.0)])[0]

    def texts(self, chunk_ids: Sequence[int]) -> list[ShownChunk]:
        """Return chunks by the numbers in their ids."""
        return self._store.chunks(chunk_ids)

    def rank(self, query: str, source_ids: list[str]) -> list[RankedPassage]:
        """Return the ranked candidates for a query, best first."""
        return _ordered(self.candidates(query, source_ids))

    def candidates(self, query: str, source_ids: list[str], types: Collection[str] = ()) -> Candidates:
        """Return the unordered candidates for a query, by terms and by similarity.

        With `types`, only sections of these types.
        """
        query = self._translate(query)
        terms = query_terms(documentation_query_words(query))
        frequencies = self._store.document_frequencies(terms)
        total = self._store.chunk_count()
        asked = parse_query(query, terms, frequencies, total)
        rarest = terms_to_look_up(frequencies, total)
        limit = TYPED_CANDIDATES if types else MAX_CANDIDATES
        matching = self._store.candidates(rarest, source_ids, limit=limit)
        candidates = _filter_types(matching, types)[:MAX_CANDIDATES]
        similarities, note = self._similarities(TextToEmbed(query, query_words(query))) if source_ids else (None, "")
        if similarities:
            known = {candidate.chunk_id for candidate in candidates}
            new = [chunk_id for chunk_id in self._nearest(similarities, source_ids) if chunk_id not in known]
            candidates += _filter_types(self._store.candidates_with(new, source_ids), types)
        if types and len(matching) == limit and len(candidates) < MAX_CANDIDATES:
            sample = f"Only the {limit:,} best matches were checked for these types."
            note = " ".join(filter(None, (note, sample)))
        return Candidates(
            asked=asked,
            candidates=candidates,
            page_scores=self._store.page_scores(rarest, source_ids, limit=MAX_CANDIDATES),
            similarities=_candidate_similarities(similarities, candidates) if similarities and candidates else None,
            note=note,
        )

    def _nearest(self, similarities: Similarities, source_ids: Collection[str]) -> list[int]:
        """Return the chunks of the given sources that are most similar to a question.

        If other sources have more similar chunks, a larger number is checked, then every chunk of the sources.
        """
        nearest = similarities.semantic_matches(MAX_NEAREST_CHUNKS)
        if len(self._store.visible(nearest, source_ids)) == len(nearest):
            return nearest
        among = similarities.nearest(MAX_CHECKED_CHUNKS, at_least=0.0)
        nearest = similarities.among(self._store.visible(among, source_ids)).semantic_matches(MAX_NEAREST_CHUNKS)
        if len(nearest) == MAX_NEAREST_CHUNKS or len(among) < MAX_CHECKED_CHUNKS:
            return nearest
        return similarities.among(self._store.chunk_ids(source_ids)).semantic_matches(MAX_NEAREST_CHUNKS)

    def _translate(self, query: str) -> str:
        """Translate a query into English, keeping its own words if the pages are in its language.

        Otherwise only words that occur in some page but in no English one are kept.
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
            return query  # it occurs as typed; its translation is found by similarity
        return " ".join((english, *present_words))

    def _similarities(self, question: TextToEmbed) -> tuple[Similarities | None, str]:
        """Return the similarities of all chunks to the question, or the reason why they are not known."""
        semantic_index = self._semantic_index()
        try:
            return (semantic_index.similarities(question) if semantic_index else None), ""
        except EmbedderUnavailable as exc:
            return None, f"Searched by terms only ({exc.message})."

    def apis_of(self, question: DocsRequest) -> list[str]:
        """Return the names of the APIs that a request searches."""
        if question.source:
            named = [self._api_from_source(question)]
        else:
            named = [question.api_name] if question.api_name else list(self._apis.names(question.roots))
        versions = self._apis.versions()
        wanted = (name for name in named if name and _is_of_version(versions.get(name, ""), question.version))
        found_apis = (api for source in self._sources_with_apis(question) for api in self._apis.brought_by(source.id))
        return list(dict.fromkeys((*wanted, *found_apis)))

    def apis_elsewhere(self, question: DocsRequest) -> list[str]:
        """Return the names of the APIs that only other projects see, if APIs are searched."""
        if not question.roots or not question.with_apis or question.api_name:
            return []
        visible = self._apis.names(question.roots)
        return [name for name in self._apis.versions() if name not in visible]

    def _freshen_apis(self, question: DocsRequest) -> Sequence[str]:
        """Refresh the searched APIs whose files changed; return notes about stale results."""
        named = self._api_from_source(question) if question.source else question.api_name
        return self._apis.freshen(named) if question.with_apis and (named or not question.source) else ()

    def _search_apis(self, question: DocsRequest) -> list[Passage]:
        """Return parts of the searched APIs in the wanted version."""
        if not question.with_apis:
            return []
        limit = max(COUNTED_UNITS, question.limit)

        def parts_of(api_name: str) -> list[Passage]:
            roots = () if api_name else question.roots
            return self._apis.search(question.query, api_name=api_name, types=question.types, limit=limit, roots=roots)

        found: list[Passage] = []
        named = self._api_from_source(question) if question.source else question.api_name
        if named or not question.source:
            found = [each for each in parts_of(named) if _is_of_version(each.version, question.version)]
        sources_with_apis = self._sources_with_apis(question)
        for source in sources_with_apis:  # these APIs have the version of their source
            found += parts_of(source.id)
        return sorted(found, key=lambda passage: -passage.score) if sources_with_apis else found

    def _api_from_source(self, question: DocsRequest) -> str:
        """Return the API that `source` names, because source lists show both."""
        name = question.source.strip().lower()
        if not name:
            return ""
        names = {api.lower(): api for api in self._apis.names()}
        is_group = any(api.startswith(f"{name}-") for api in names) and not self._library.knows(question.source)
        return names.get(name, question.source.strip() if is_group else "")

    def _sources_with_apis(self, question: DocsRequest) -> list[SourceRow]:
        """Return the searched sources that contain APIs."""
        if not question.source:
            return []
        named = replace(question, api_name="", types=())
        return [source for source in self._sources(named) if self._apis.brought_by(source.id)]


def _is_chunk(passage: Passage) -> bool:
    return passage.id.startswith("doc:") and passage.id.removeprefix("doc:").isdecimal()


def _is_same_section(first: ShownChunk, second: ShownChunk) -> bool:
    return (first.source_id, first.url, first.section) == (second.source_id, second.url, second.section)


def _best_chance(documentation: Sequence[Passage], ranked: Sequence[RankedPassage]) -> float:
    """Return the probability that one of the passages answers."""
    chances = {f"doc:{each.candidate.chunk_id}": each.chance for each in ranked}
    return max((chances.get(passage.id, 0.0) for passage in documentation), default=0.0)


def _prefer(preferred: Sequence[Passage], others: Sequence[Passage], ranked: Sequence[RankedPassage]) -> list[Passage]:
    """Return the preferred passages that may answer with scores above all others, then the other passages."""
    chances = {f"doc:{each.candidate.chunk_id}": each.chance for each in ranked}
    first = [passage for passage in preferred if chances[passage.id] >= WEAK_CHANCE]
    best, lowest = max((each.score for each in others), default=0.0), min((each.score for each in first), default=0.0)
    raised = [replace(each, score=each.score + max(0.0, best - lowest)) for each in first]
    known = {passage.id for passage in first}
    return [*raised, *(passage for passage in others if passage.id not in known)]


def _ordered(found: Candidates) -> list[RankedPassage]:
    if not found.candidates:
        return []
    return order(found.asked, found.candidates, found.page_scores, found.similarities)


def _filter_types(candidates: list[CandidateChunk], types: Collection[str]) -> list[CandidateChunk]:
    """Return the candidates of one of the types, or all if no types are given."""
    wanted = set(types)
    return [each for each in candidates if not wanted or wanted & types_of(each)]


def _candidate_similarities(similarities: Similarities, candidates: Sequence[CandidateChunk]) -> PassageSimilarities:
    ids = [candidate.chunk_id for candidate in candidates]
    known = similarities.raw(ids)
    return PassageSimilarities([known.get(chunk_id, 0.0) for chunk_id in ids], similarities.of(ids))


def _is_of_version(version: str, wanted: str) -> bool:
    """Whether an API has the wanted version; an API has only one, which counts as the latest."""
    return wanted.lower() in ("", ALL, LATEST) or same_version(version, wanted)


def _is_older_version(known: Passage, other: Passage) -> bool:
    return known.source == other.source and version_key(known.version) < version_key(other.version)


def _versions_note(sources: Sequence[SourceRow]) -> str:
    """Return a note if several versions were searched together."""
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
    """Merge the two ranked lists without duplicates.

    If the question names an API, its parts come first, alternating with named sources, then other passages that
    probably answer. Otherwise clear API matches alternate with such passages, followed by the remaining documentation
    and the remaining API parts; a source that the question names comes first.
    """
    # The scores of the two lists are not comparable; `is_clear` was decided with a separate threshold.
    fair = [passage for passage in documentation if passage.confidence >= FAIR_CONFIDENCE]
    lists: tuple[Iterable[Passage], ...]
    if is_api_named and descriptions:
        api_parts = [
            each for place, each in enumerate(descriptions) if place < _MIN_NAMED_API_PARTS or not _is_unlikely(each)
        ]
        named_passages = [passage for passage in documentation if passage.source in named_sources]
        lists = (_in_turns(api_parts, named_passages), fair, descriptions)
    else:
        clear = [passage for passage in descriptions if passage.is_clear]
        named_passages = [passage for passage in fair if passage.source in named_sources]
        in_turns = _in_turns(named_passages, clear) if named_passages else _in_turns(clear, fair if clear else ())
        lists = (in_turns, documentation, descriptions)
    merged: dict[str, Passage] = {}
    for passage in chain.from_iterable(lists):
        merged.setdefault(passage.text, passage)
    return list(merged.values())


def _in_turns(one: Sequence[Passage], other: Sequence[Passage]) -> Iterator[Passage]:
    return (passage for pair in zip_longest(one, other) for passage in pair if passage is not None)


def _named_apis_note(named: Sequence[str]) -> str:
    """Return a note that only the APIs named in the question were searched."""
    if not named:
        return ""
    more = " …" if len(named) > _MAX_NAMES_SHOWN else ""
    return (
        f"Only the {'API' if len(named) == 1 else 'APIs'} {', '.join(named[:_MAX_NAMES_SHOWN])}{more}"
        f" {'was' if len(named) == 1 else 'were'} searched, because the query names"
        f" {'it' if len(named) == 1 else 'them'} (search another with api_name=NAME)."
    )


def _is_unlikely(part: Passage) -> bool:
    return part.confidence < MIN_API_CONFIDENCE


def _is_bare_declaration(text: str, candidate: CandidateChunk, asked: WeightedQuery) -> bool:
    """Whether a passage is an undocumented declaration and the question asks for more than its name.

    Definitions of packages are excluded, because their trait says so already.
    """
    is_known = candidate.url.startswith(PACKAGE_ADDRESSES)
    if not candidate.is_definition or is_known or asked.identifiers or not _is_code_only(text):
        return False
    return not asked.weights.keys() <= {*candidate.heading_words.split(), *candidate.anchor_words.split()}


def _is_code_only(text: str) -> bool:
    """Whether a text contains only code blocks and headings."""
    is_inside = False
    for line in text.split("\n"):
        if line.startswith("```"):
            is_inside = not is_inside
        elif not is_inside and line and not line.startswith("#"):
            return False
    return text.startswith("```")


def _with_matching_heading(chunk: ShownChunk, anchors: tuple[str, ...]) -> ShownChunk:
    """Return a chunk with these anchors and the section heading that the first anchor belongs to.

    A chunk may contain several merged entries.
    """
    trail, separator, first = chunk.section.rpartition(SECTION_SEPARATOR)
    joined = [line.removeprefix(JOINED_HEADING) for line in chunk.text.split("\n") if line.startswith(JOINED_HEADING)]
    if not joined or anchors[:1] == chunk.anchors[:1]:
        return replace(chunk, anchors=anchors)
    for heading in (first, *joined):
        if _is_anchor_of(anchors[0], heading):
            return replace(chunk, anchors=anchors, section=f"{trail}{separator}{heading}")
    return chunk


def _is_anchor_of(anchor: str, heading: str) -> bool:
    """Whether an anchor was generated from a heading or from the name at its beginning."""
    made_of, name = (
        "".join(sign for sign in text.lower() if sign.isalnum())
        for text in (unquote(anchor), heading.partition("(")[0])
    )
    return bool(name) and (made_of.endswith(name) or name.endswith(made_of))


def _passage(chunk: ShownChunk, score: float, confidence: float, *, is_near: bool = False) -> Passage:
    return Passage(
        id=f"doc:{chunk.id}",
        url=chunk.url,
        anchors=chunk.anchors,
        title=chunk.title,
        section=chunk.section,
        source=chunk.source,
        version=chunk.version,
        text=chunk.text,
        score=score,
        confidence=confidence,
        is_near=is_near,
    )
