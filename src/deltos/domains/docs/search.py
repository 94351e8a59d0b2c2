"""Find the passages that answer a question: match words, order, drop repeats."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import TYPE_CHECKING
from urllib.parse import unquote

from deltos.domains.docs.absent import absent_names, absent_words
from deltos.domains.docs.chunk import JOINED_HEADING, has_text
from deltos.domains.docs.model import PACKAGE_ADDRESSES, Passage
from deltos.domains.docs.pages import SECTION_SEPARATOR
from deltos.domains.docs.query import asked_terms, choose_terms, parse_query
from deltos.domains.docs.rank import BARE, ChunkSimilarities, order
from deltos.domains.docs.types import DOCUMENTATION_TYPES, types_of
from deltos.domains.docs.versions import ALL, LATEST, no_such_version, of_version, same_version, version_key
from deltos.embed.protocol import TextToEmbed as Spoken
from deltos.errors import EmbedderUnavailable, NotFound
from deltos.model import BEHIND_NOTE, WEAK_API_CONFIDENCE, WEAK_NOTE
from deltos.text.english import in_english, own_words_count, telling_words
from deltos.text.words import asked_words, documentation_question, shared_words, tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from deltos.domains.docs.library import Library
    from deltos.domains.docs.model import ApiCatalog
    from deltos.domains.docs.query import WeightedQuery
    from deltos.domains.docs.rank import RankedChunk
    from deltos.meaning import Meaning, Similarities
    from deltos.store.documents import CandidateChunk, DocsTotals, Passages, ShownChunk, SourceRow

# With 200, page recall@5 and sections shown were lower: benchmarks/RESULTS.md.
MOST_CANDIDATES = 300
# Those that match are looked through for the types that are wanted, which their words alone tell.
TYPED_CANDIDATES = 3_000
# Candidates by meaning alone: a passage in other words shares no term with the question.
NEAREST_CHUNKS = 60
# For these where some sources alone are asked, more and more; the last takes some 100 ms.
LOOKED_THROUGH_CHUNKS = (1_000, 4_000, 20_000)
# Candidates that are read to count distinct passages: as many as the highest limit may show, and their repeats.
COUNTED_UNITS = 50  # of APIs, whatever the limit: how many results there are must not depend on how many are shown
COUNTED_CANDIDATES = 100
# From here on a passage is worth reading beside an API that is meant: of those that have nothing to do with a question
# that names an API, nine of ten are below (benchmarks/RESULTS.md).
FAIR_CONFIDENCE = 0.5
_OF_NAMED_API = 3  # parts of an API that the question names, however unlikely
# Below, the best passage rarely answers (benchmarks/docs_confidence.py).
WEAK_CHANCE = 0.3
# Passages that are read by the model and looked at to tell how many of some sources are; with more, it is estimated.
_LOOKED_AT_READ = 4_000
_NAMES_SHOWN = 3


@dataclass(frozen=True, slots=True)
class DocsRequest:
    """What is asked, and of what."""

    query: str
    limit: int = 10
    source: str = ""
    version: str = ""
    api_name: str = ""
    types: tuple[str, ...] = ()
    with_apis: bool = True
    without: frozenset[str] = frozenset()  # ids of sources that are asked only by their name


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
    confidence: float = 1.0  # that one of them answers
    is_weak: bool = False  # perhaps none does
    asked: tuple[str, ...] = ()  # the ids of the sources that were asked
    left_out: tuple[str, ...] = ()  # the names of sources that are asked only by these
    absent: tuple[str, ...] = ()  # words of the question that none of the sources has
    absent_names: tuple[str, ...] = ()  # the same of names of code, as they are written

    @property
    def full_note(self) -> str:
        """The note, names that are nowhere, and where none of the passages is likely to answer, that, and what was not
        asked."""
        lines = [self.note]
        if self.passages and self.absent_names:
            names = ", ".join(f"`{name}`" for name in self.absent_names[:_NAMES_SHOWN])
            lines.append(f"Note: no passage has {names} as written; what follows are the nearest.")
        if self.passages and not self.is_weak:
            return "\n".join(filter(None, lines))
        if self.passages:
            lines.append(WEAK_NOTE.format(self.confidence))
            if others := [word for word in self.absent if word not in self.absent_names]:
                lines.append(f"Note: no passage has: {', '.join(others[:_NAMES_SHOWN])}.")
        if self.left_out:
            more = " …" if len(self.left_out) > _NAMES_SHOWN else ""
            names = f"{', '.join(self.left_out[:_NAMES_SHOWN])}{more}"
            lines.append(f"Note: not searched, as of other projects: {names} (source=NAME asks one).")
        return "\n".join(filter(None, lines))


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
        asked = self._sources(question)
        named = self._apis_named(question)
        reading = self._library.unread() if question.with_apis and not asked else []  # they may bring APIs
        freshness = [*self._library.freshen(asked or reading)]
        try:
            freshness += self._fresh_descriptions(question)
            descriptions = self._descriptions(question)  # likewise: those that a search itself makes would not be seen
        except NotFound as exc:
            names = ", ".join(source.name for source in self._library.unread())
            raise NotFound(exc.message, hint=f"Still being read: {names}. Ask again." if names else exc.hint) from exc
        with self._store.snapshot():
            sources = self._sources(question)
            ids = [source.id for source in sources]
            found = self.candidates(question.query, ids, question.types)
            if question.version and not sources and not self.apis_of(question):
                raise no_such_version("any source", question.version, self._library.sources(), self._apis.versions())
            ranked = _ordered(found)[:COUNTED_CANDIDATES]
            documentation = self._documentation(question, found, ranked)
            every = merge(
                documentation,
                descriptions,
                is_api_named=bool(named),
                named_sources=self._sources_named(question) if descriptions else frozenset(),
            )
            passages = self._with_what_follows(every[: question.limit])
            is_least = len(found.candidates) > COUNTED_CANDIDATES or len(descriptions) >= COUNTED_UNITS
            searched = None if passages else self._store.totals(ids)
            note = "\n".join(filter(None, (*freshness, self._note(question, found, sources, named, passages))))
            chance = _chance_of(documentation[: question.limit], ranked)
            confidence = max((passage.confidence for passage in descriptions[: question.limit]), default=0.0)
            is_weak = chance < WEAK_CHANCE and confidence < WEAK_API_CONFIDENCE
            return DocsResults(
                passages,
                searched,
                note,
                len(every),
                is_least,
                max(chance, confidence),
                is_weak,
                asked=tuple(ids),
                left_out=() if question.source else self._names(question.without),
                absent=(
                    absent_words(question.query, found.asked, found.candidates) if is_weak and not descriptions else ()
                ),
                absent_names=absent_names(question.query, every, self._store, ids) if ids and passages else (),
            )

    def _names(self, source_ids: Collection[str]) -> tuple[str, ...]:
        return tuple(source.name for source in self._library.sources() if source.id in source_ids)

    def _note(
        self,
        question: DocsRequest,
        found: Candidates,
        sources: Sequence[SourceRow],
        named: Sequence[str],
        passages: Sequence[Passage],
    ) -> str:
        """Why less may have been found than there is, and which versions were searched."""
        is_behind = self._apis.is_behind and bool(self.apis_of(question))
        behind = BEHIND_NOTE.format("parts of APIs") if is_behind else ""
        versions = _versions_note(sources) if question.source else ""
        is_by_words_alone = found.similarities is None and bool(found.note)  # which the note says
        reading = "" if is_by_words_alone else self._reading_note([source.id for source in sources], passages)
        return " ".join(filter(None, (found.note, reading, behind, _naming_note(named), versions)))

    def _reading_note(self, source_ids: Collection[str], passages: Sequence[Passage]) -> str:
        """That most passages of some sources wait to be read by meaning, with how many are; not above passages that
        are all read, or parts of APIs alone."""
        meaning = self._meaning() if source_ids else None
        if meaning is None or meaning.count >= self._store.chunk_count():
            return ""
        read = meaning.read_keys()
        shown = {int(passage.id.removeprefix("doc:")) for passage in passages if _is_chunk(passage)}
        if passages and shown.issubset(read):
            return ""
        looked_at = read[:: len(read) // _LOOKED_AT_READ + 1]
        total = self._store.totals(source_ids).chunks
        share = len(self._store.visible(looked_at, source_ids)) / max(1, len(looked_at)) * len(read) / max(1, total)
        if not total or share >= 0.5:
            return ""
        return (
            f"Only {share:.0%} of the passages that were searched are read by meaning so far, the others were found by"
            " their words: ask again later."
        )

    def _apis_named(self, question: DocsRequest) -> tuple[str, ...]:
        """The APIs that a question over all of them names."""
        if not question.with_apis or question.api_name or question.source:
            return ()
        return self._apis.named_in(question.query)

    def _sources_named(self, question: DocsRequest) -> frozenset[str]:
        """The names of the sources that a question names."""
        asked = f" {' '.join(tokens(question.query))} "
        names = (source.name for source in self._library.sources() if source.id not in question.without)
        return frozenset(name for name in names if f" {' '.join(tokens(name))} " in asked)

    def _sources(self, question: DocsRequest) -> list[SourceRow]:
        """The sources that the question is about; a name or version that does not exist is an error that says so."""
        if question.api_name or (question.types and DOCUMENTATION_TYPES.isdisjoint(question.types)):
            return []
        if not question.source:
            asked = [source for source in self._library.sources() if source.id not in question.without]
            return of_version(asked, question.version)
        try:
            return self._library.meant(question.source, question.version)
        except NotFound:
            if self._api_meant(question):  # it alone is called so, or has that version
                return []
            raise

    def _documentation(self, question: DocsRequest, found: Candidates, best: Sequence[RankedChunk]) -> list[Passage]:
        ranked = {each.candidate.chunk_id: each for each in best}
        shown = [chunk for chunk in self._store.chunks(list(ranked)) if has_text(chunk.text)]  # as older indexes have
        wanted = set(documentation_question(question.query).split())
        texts: dict[str, Passage] = {}
        for chunk in shown:
            cited = _agreeing(chunk, self._best_first(chunk.anchors, wanted))
            found_as = ranked[chunk.id]
            score = found_as.score - (BARE if _only_declares(chunk.text, found_as.candidate, found.asked) else 0.0)
            passage = _passage(cited, score, found_as.confidence, is_near=found_as.is_near)
            known = texts.get(chunk.text)
            if known is None or _is_older(known, passage):  # what two versions say is cited from the newer one
                texts[chunk.text] = passage
        return sorted(texts.values(), key=lambda passage: -passage.score)

    def _with_what_follows(self, passages: Sequence[Passage]) -> tuple[Passage, ...]:
        """Passages with where their sections go on; those that were cut off before a list say nothing of it."""
        numbers = {passage.id: int(passage.id.removeprefix("doc:")) for passage in passages if _is_chunk(passage)}
        wanted = {each for number in numbers.values() for each in (number, number + 1)}
        chunks = {chunk.id: chunk for chunk in self._store.chunks(sorted(wanted))} if wanted else {}

        def with_following(passage: Passage) -> Passage:
            number = numbers.get(passage.id, -1)
            this, following = chunks.get(number), chunks.get(number + 1)
            if this is None or following is None or not _is_same_section(this, following):
                return passage
            return replace(passage, goes_on_in=f"doc:{following.id}")

        return tuple(map(with_following, passages))

    def _best_first(self, anchors: tuple[str, ...], wanted: set[str]) -> tuple[str, ...]:
        """The anchors with the one in front that shares most with the question: a chunk may hold several sections."""
        if len(anchors) < 2:
            return anchors
        best = max(anchors, key=lambda anchor: len(wanted & set(self._words.of(unquote(anchor)).split())))
        return (best, *(anchor for anchor in anchors if anchor != best))

    def passage(self, chunk_id: int) -> Passage | None:
        """One passage by the number in its id; None when it is gone."""
        shown = self._store.chunks([chunk_id])
        if not shown or all(source.id != shown[0].source_id for source in self._library.sources()):
            return None
        return self._with_what_follows([_passage(shown[0], 1.0, 1.0)])[0]

    def texts(self, chunk_ids: Sequence[int]) -> list[ShownChunk]:
        """What passages say, by the numbers in their ids."""
        return self._store.chunks(chunk_ids)

    def rank(self, query: str, source_ids: list[str]) -> list[RankedChunk]:
        """Candidates for a query, best first."""
        return _ordered(self.candidates(query, source_ids))

    def candidates(self, query: str, source_ids: list[str], types: Collection[str] = ()) -> Candidates:
        """What may answer a query, not yet ordered; empty when nothing shares a word or the meaning with it.

        With `types`, only sections of one of these.
        """
        query = self._as_pages_are(query)
        terms = asked_terms(documentation_question(query))
        frequencies = self._store.document_frequencies(terms)
        total = self._store.chunk_count()
        asked = parse_query(query, terms, frequencies, total)
        rarest = choose_terms(frequencies, total)
        limit = TYPED_CANDIDATES if types else MOST_CANDIDATES
        matching = self._store.candidates(rarest, source_ids, limit=limit)
        candidates = _of_types(matching, types)[:MOST_CANDIDATES]
        similarities, note = self._similarities(Spoken(query, asked_words(query))) if source_ids else (None, "")
        if similarities:
            known = {candidate.chunk_id for candidate in candidates}
            new = [chunk_id for chunk_id in self._nearest(similarities, source_ids) if chunk_id not in known]
            candidates += _of_types(self._store.candidates_with(new, source_ids), types)
        if types and len(matching) == limit and len(candidates) < MOST_CANDIDATES:
            looked_at = f"Of these types, only what is among the {limit:,} best matches was found."
            note = " ".join(filter(None, (note, looked_at)))
        return Candidates(
            asked=asked,
            candidates=candidates,
            page_scores=self._store.page_scores(rarest, source_ids, limit=MOST_CANDIDATES),
            similarities=_of_candidates(similarities, candidates) if similarities and candidates else None,
            note=note,
        )

    def _nearest(self, similarities: Similarities, source_ids: Collection[str]) -> list[int]:
        """The chunks of some sources that are nearest to a question. Where those of other sources are among the nearest
        of all, more are looked through: one source of a large library may have none of these."""
        nearest = similarities.near(NEAREST_CHUNKS)
        if len(self._store.visible(nearest, source_ids)) == len(nearest):
            return nearest
        for most in LOOKED_THROUGH_CHUNKS:
            among = similarities.nearest(most, at_least=0.0)
            nearest = similarities.among(self._store.visible(among, source_ids)).near(NEAREST_CHUNKS)
            if len(nearest) == NEAREST_CHUNKS or len(among) < most:
                break
        return nearest

    def _as_pages_are(self, query: str) -> str:
        """A question of another language in English, and in its own words where pages are of that language; elsewhere
        in those that stand in some page and in no English one."""
        english = in_english(query)
        if not english:
            return query
        own, translated = (asked_terms(documentation_question(text)) for text in (query, english))
        frequencies = self._store.document_frequencies([*own, *translated])
        if own_words_count(own, translated, frequencies):
            return f"{english} {query}"
        telling = {word: asked_terms(documentation_question(word)) for word in telling_words(query)}
        standing = [word for word, terms in telling.items() if any(map(frequencies.get, terms))]
        if query.split() == standing:
            return query  # a word that is typed as it stands; its translation is found by meaning
        return " ".join((english, *standing))

    def _similarities(self, question: Spoken) -> tuple[Similarities | None, str]:
        """The similarity of all chunks to the question, or why it is not known."""
        meaning = self._meaning()
        try:
            return (meaning.similarities(question) if meaning else None), ""
        except EmbedderUnavailable as exc:
            return None, f"Searched by words alone ({exc.message})."

    def apis_of(self, question: DocsRequest) -> list[str]:
        """The names of the API descriptions that a question is asked of."""
        if question.source:
            named = [self._api_meant(question)]
        else:
            named = [question.api_name] if question.api_name else list(self._apis.names())
        versions = self._apis.versions()
        wanted = (name for name in named if name and _is_of_version(versions.get(name, ""), question.version))
        brought = (api for source in self._bringing(question) for api in self._apis.brought_by(source.id))
        return list(dict.fromkeys((*wanted, *brought)))

    def _fresh_descriptions(self, question: DocsRequest) -> Sequence[str]:
        """Have the APIs that the question is asked of read again where they changed; what it may lack."""
        named = self._api_meant(question) if question.source else question.api_name
        return self._apis.freshen(named) if question.with_apis and (named or not question.source) else ()

    def _descriptions(self, question: DocsRequest) -> list[Passage]:
        """Parts of the APIs that the question is asked of, of the version that it wants."""
        if not question.with_apis:
            return []
        limit = max(COUNTED_UNITS, question.limit)

        def parts_of(api_name: str) -> list[Passage]:
            return self._apis.search(question.query, api_name=api_name, types=question.types, limit=limit)

        found: list[Passage] = []
        named = self._api_meant(question) if question.source else question.api_name
        if named or not question.source:
            found = [each for each in parts_of(named) if _is_of_version(each.version, question.version)]
        bringing = self._bringing(question)
        for source in bringing:  # what a source brought is of the source's version
            found += parts_of(source.id)
        return sorted(found, key=lambda passage: -passage.score) if bringing else found

    def _api_meant(self, question: DocsRequest) -> str:
        """The API that `source` names: lists of sources show both."""
        name = question.source.strip().lower()
        if not name:
            return ""
        names = {api.lower(): api for api in self._apis.names()}
        is_group = any(api.startswith(f"{name}-") for api in names) and not self._library.knows(question.source)
        return names.get(name, question.source.strip() if is_group else "")

    def _bringing(self, question: DocsRequest) -> list[SourceRow]:
        """The sources of the question that brought APIs."""
        if not question.source:
            return []
        named = replace(question, api_name="", types=())
        return [source for source in self._sources(named) if self._apis.brought_by(source.id)]


def _is_chunk(passage: Passage) -> bool:
    return passage.id.startswith("doc:") and passage.id.removeprefix("doc:").isdecimal()


def _is_same_section(first: ShownChunk, second: ShownChunk) -> bool:
    return (first.source_id, first.url, first.section) == (second.source_id, second.url, second.section)


def _chance_of(documentation: Sequence[Passage], ranked: Sequence[RankedChunk]) -> float:
    """How likely one of some passages answers."""
    chances = {f"doc:{each.candidate.chunk_id}": each.chance for each in ranked}
    return max((chances.get(passage.id, 0.0) for passage in documentation), default=0.0)


def _ordered(found: Candidates) -> list[RankedChunk]:
    if not found.candidates:
        return []
    return order(found.asked, found.candidates, found.page_scores, found.similarities)


def _of_types(candidates: list[CandidateChunk], types: Collection[str]) -> list[CandidateChunk]:
    """The sections that are of one of the types; all where none is wanted."""
    wanted = set(types)
    return [each for each in candidates if not wanted or wanted & types_of(each)]


def _of_candidates(similarities: Similarities, candidates: Sequence[CandidateChunk]) -> ChunkSimilarities:
    ids = [candidate.chunk_id for candidate in candidates]
    known = similarities.raw(ids)
    return ChunkSimilarities([known.get(chunk_id, 0.0) for chunk_id in ids], similarities.of(ids))


def _is_of_version(version: str, wanted: str) -> bool:
    """Whether an API's version is the one wanted; of an API there is one, which is the latest."""
    return wanted.lower() in ("", ALL, LATEST) or same_version(version, wanted)


def _is_older(known: Passage, other: Passage) -> bool:
    return known.source == other.source and version_key(known.version) < version_key(other.version)


def _versions_note(sources: Sequence[SourceRow]) -> str:
    """That several versions answered together, and how to ask one of them."""
    versions = [source.version for source in sources if source.version]
    if len(versions) < 2:
        return ""
    return f"{sources[0].name} has versions {', '.join(versions)}: version={versions[0]} (or {LATEST}) asks one."


def merge(
    documentation: Sequence[Passage],
    descriptions: Sequence[Passage],
    *,
    is_api_named: bool = False,
    named_sources: Collection[str] = (),
) -> list[Passage]:
    """Both ranked lists as one, no text twice.

    Where the question names an API, its parts come first, in turns with sources that are named as well; then passages
    of other documentation that likely answer. Elsewhere what is clearly meant of APIs and such passages take turns, and
    the other documentation comes before what is left of APIs; a source that the question names begins.
    """
    # Scores of the two lists are not comparable; whether a unit is clearly meant was decided by its own threshold.
    fair = [passage for passage in documentation if passage.confidence >= FAIR_CONFIDENCE]
    lists: tuple[Iterable[Passage], ...]
    if is_api_named and descriptions:
        likely = [each for place, each in enumerate(descriptions) if place < _OF_NAMED_API or not _is_unlikely(each)]
        beside = [passage for passage in documentation if passage.source in named_sources]
        lists = (_in_turns(likely, beside), fair, descriptions)
    else:
        clear = [passage for passage in descriptions if passage.is_clear]
        meant = [passage for passage in fair if passage.source in named_sources]
        in_turns = _in_turns(meant, clear) if meant else _in_turns(clear, fair if clear else ())
        lists = (in_turns, documentation, descriptions)
    merged: dict[str, Passage] = {}
    for passage in chain.from_iterable(lists):
        merged.setdefault(passage.text, passage)
    return list(merged.values())


def _in_turns(one: Sequence[Passage], other: Sequence[Passage]) -> Iterator[Passage]:
    return (passage for pair in zip_longest(one, other) for passage in pair if passage is not None)


def _naming_note(named: Sequence[str]) -> str:
    """That other APIs were not asked, where the question names some."""
    if not named:
        return ""
    more = " …" if len(named) > _NAMES_SHOWN else ""
    return (
        f"Of APIs only {', '.join(named[:_NAMES_SHOWN])}{more} {'was' if len(named) == 1 else 'were'} asked, "
        "as the question names it (api_name=NAME asks another)."
    )


def _is_unlikely(part: Passage) -> bool:
    return part.confidence < WEAK_API_CONFIDENCE


def _only_declares(text: str, candidate: CandidateChunk, asked: WeightedQuery) -> bool:
    """Whether a passage is a declaration without a word about it, and the question more than its name. Definitions of
    packages are known to be bare before."""
    is_known = candidate.url.startswith(PACKAGE_ADDRESSES)
    if not candidate.is_definition or is_known or asked.identifiers or not _is_code_alone(text):
        return False
    return not asked.weights.keys() <= {*candidate.heading_words.split(), *candidate.anchor_words.split()}


def _is_code_alone(text: str) -> bool:
    """Whether a text has nothing but listings, and headings between them."""
    is_inside = False
    for line in text.split("\n"):
        if line.startswith("```"):
            is_inside = not is_inside
        elif not is_inside and line and not line.startswith("#"):
            return False
    return text.startswith("```")


def _agreeing(chunk: ShownChunk, anchors: tuple[str, ...]) -> ShownChunk:
    """A chunk opened at the first of `anchors`, under the heading which that is: a chunk may join several entries."""
    trail, separator, first = chunk.section.rpartition(SECTION_SEPARATOR)
    joined = [line.removeprefix(JOINED_HEADING) for line in chunk.text.split("\n") if line.startswith(JOINED_HEADING)]
    if not joined or anchors[:1] == chunk.anchors[:1]:
        return replace(chunk, anchors=anchors)
    for heading in (first, *joined):
        if _is_of(anchors[0], heading):
            return replace(chunk, anchors=anchors, section=f"{trail}{separator}{heading}")
    return chunk


def _is_of(anchor: str, heading: str) -> bool:
    """Whether an anchor was made of a heading, or of the name that opens it."""
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
