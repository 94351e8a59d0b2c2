"""What speaks for a file, as numbers: lexical and structural features of one candidate. Knows words, never storage."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from deltos.domains.code.paths import is_aside, is_built, is_changelog, is_prose, is_settings, telling_stem
from deltos.languages.table import PROSE_LANGUAGES
from deltos.text.rarity import idf
from deltos.workspace.purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deltos.domains.code.commits import Spoken
    from deltos.domains.code.query import CodeQuery
    from deltos.store.code import CodeChunkWords, DefinitionRecord, FileRow, FileWords
    from deltos.store.history import FileHistoryRow

CONTENT_FEATURES = tuple(
    "bm25_best bm25_second bm25_third chunk_hits chunk_sum chunk_coverage symbol_coverage doc_coverage".split()
)
PATH_FEATURES = tuple("stem_share stem_covered stem_prefix stem_exact folder_share joined_path".split())
NAME_FEATURES = tuple("name_best name_share".split())
DEFINITION_FEATURES = tuple("defined_exact defined_loose defined_top defined_file".split())
PRIORS = tuple(
    "is_test is_aside is_built is_settings is_init is_declaration is_prose is_data is_unknown length depth".split()
)
# A similarity is told as it is, and by how far it stands out among all chunks of the project.
NEAR_FEATURES = tuple("near near_deviations".split())
_OTHER_FEATURES = ("bm25_file", "file_coverage", "rare_coverage", "head_coverage")
# Words of the last commits that touched a file, how often it changes and how lately, and what the commits that resemble
# the question say for it.
HISTORY_FEATURES = tuple(
    "history_coverage history_rare history_changes history_recency history_similar history_similar_sum".split()
)
OWN_FEATURES = (
    *(CONTENT_FEATURES + PATH_FEATURES + NAME_FEATURES + DEFINITION_FEATURES + PRIORS + _OTHER_FEATURES),
    *(NEAR_FEATURES + HISTORY_FEATURES),
)
# These count again relative to the best candidate of the same query (+0.007 NDCG@10),
RELATIVE = tuple(
    "bm25_best bm25_file chunk_coverage stem_share name_best file_coverage chunk_sum rare_coverage near"
    " history_coverage history_similar_sum".split()
)
# and these again in proportion to the query's length (+0.01 on commits): a long one has fewer names and more content.
BY_LENGTH = tuple(
    "stem_covered stem_share folder_share bm25_best chunk_coverage chunk_hits chunk_sum is_test name_best"
    " near_deviations head_coverage history_coverage history_similar_sum".split()
)
# and these in proportion to the share of the query's words that no candidate has: meaning speaks where words do not.
BY_UNANSWERED = tuple("near near_deviations file_coverage".split())
FEATURES = (
    *OWN_FEATURES,
    *(f"{name}_relative" for name in RELATIVE),
    *(f"{name}_by_length" for name in BY_LENGTH),
    *(f"{name}_unanswered" for name in BY_UNANSWERED),
)
BEST_CHUNKS = 3
_RELATIVE_COLUMNS = tuple(OWN_FEATURES.index(name) for name in RELATIVE)
_BY_LENGTH_COLUMNS = tuple(OWN_FEATURES.index(name) for name in BY_LENGTH)
_BY_UNANSWERED_COLUMNS = tuple(OWN_FEATURES.index(name) for name in BY_UNANSWERED)
_COVERAGE_COLUMN = OWN_FEATURES.index("file_coverage")
_CHUNK_COVERAGE_COLUMN, _HEADING_COLUMN = OWN_FEATURES.index("chunk_coverage"), OWN_FEATURES.index("symbol_coverage")
_PROSE_COLUMN, _ASIDE_COLUMN = OWN_FEATURES.index("is_prose"), OWN_FEATURES.index("is_aside")
_LEAST_PROSE_COVERAGE = 0.5  # the share of the question that prose has to have before its penalty is lessened
_MORE_THAN_CODE = 0.5  # with so much more of the question than any code has, prose has no penalty
_LEAST_HEADING_COVERAGE = 0.7  # the share of the question that a heading has to have
_LONG_QUERY_TERMS = 8  # from here on a query counts as long
_PREFIX = 4  # characters that related words share at least
_DATA = frozenset({"json", "yaml", "toml", "xml", "html", "css", "sql"})
_TOP_KINDS = frozenset({"function", "class", "interface", "enum", "type", "component", "module"})
_NAMES_PER_TERM = 100  # a file may define thousands of names with one common word


@dataclass(slots=True)
class CandidateFile:
    """A file that may answer, and what the index said about it; its chunks come best first.

    `lines` are those that the query itself mentions, as stack frames do. `corpus` is the position of its project among
    those that are searched.
    """

    file: FileRow
    corpus: int = 0
    chunk_scores: list[float] = field(default_factory=list)
    chunk_ids: list[int] = field(default_factory=list)
    file_score: float = 0.0
    definitions: list[DefinitionRecord] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    near_chunks: tuple[int, ...] = ()
    similarity: float = 0.0
    deviations: float = 0.0  # by how many standard deviations the similarity is above the project's mean
    history: FileHistoryRow | None = None
    spoken: Spoken | None = None
    recency: float = 0.0  # 1 for a file that was changed with the newest commit, half of it for each half-life before
    is_near: bool = False  # one of the nearest in meaning
    is_spoken_for: bool = False  # one of those that similar commits say most for
    coverage: float = 0.0  # the share of the query's words that the file has, where it was described
    by_words: tuple[float, ...] | None = None  # the features that it has whatever others are candidates, once described
    prose_penalty: float = 1.0  # of prose: 1 where code says the same, 0 where prose alone has the answer


@dataclass(frozen=True, slots=True)
class Texts:
    """The words of the candidates: of files and of their best chunks, by id."""

    files: Mapping[int, FileWords]
    chunks: Mapping[int, CodeChunkWords]


def _raw_weights(query: CodeQuery, frequencies: Mapping[str, int], chunk_count: int) -> dict[str, float]:
    return {
        term: idf(frequencies.get(term, 0), chunk_count, added=0, smoothing=1, against_rest=False)
        for term in query.terms
    }


def total_weight(query: CodeQuery, frequencies: Mapping[str, int], chunk_count: int) -> float:
    """How rare all words of a query are together: what a file that has all of them could score."""
    return sum(_raw_weights(query, frequencies, chunk_count).values()) or 1.0


class Weights:
    """How rare each query word is, as its share of the whole query; finds the words in texts.

    Texts are index words between spaces, one at either end. Which query words a text holds is a set of bits: to look
    for a handful of words in a text is many times cheaper than to take the text apart.
    """

    def __init__(self, query: CodeQuery, frequencies: Mapping[str, int], chunk_count: int) -> None:
        raw = _raw_weights(query, frequencies, chunk_count)
        self.total = sum(raw.values()) or 1.0
        self.by_term = {term: value / self.total for term, value in raw.items()}
        self._needles = tuple((f" {term} ", 1 << n) for n, term in enumerate(self.by_term))
        self._joined = tuple(f" {compound} " for compound in query.joined if frequencies.get(compound))
        self._shares: dict[int, float] = {}
        self._rare_shares: dict[int, float] = {}
        self._found: dict[str, int] = {}
        squares = {term: value * value for term, value in self.by_term.items()}
        self._rare = tuple(value / (sum(squares.values()) or 1.0) for value in squares.values())
        self._by_prefix: dict[str, list[str]] = {}
        for term in self.by_term:
            if len(term) >= _PREFIX:
                self._by_prefix.setdefault(term[:_PREFIX], []).append(term)

    def found(self, text: str) -> int:
        """Which of the query's words occur in the text, as bits."""
        bits = 0
        for needle, bit in self._needles:
            if needle in text:
                bits |= bit
        return bits

    def found_among(self, words: str) -> int:
        """The same for index words without spaces around them, which are looked through once however often they are
        asked for: the chunks of candidates are described, and then chosen among."""
        bits = self._found.get(words)
        if bits is None:
            bits = self._found[words] = self.found(f" {words} ") if words else 0
        return bits

    def share_within(self, text: str) -> float:
        """The share of the query whose words occur in a lower-case text, also inside other words."""
        return sum(weight for term, weight in self.by_term.items() if term in text)

    def share(self, bits: int) -> float:
        """The share of the query's weight that these words have."""
        known = self._shares.get(bits)
        if known is None:
            known = sum(weight for n, weight in enumerate(self.by_term.values()) if bits >> n & 1)
            self._shares[bits] = known
        return known

    def rare_share(self, bits: int) -> float:
        """The same, with rare words counting more: by the square of their weight."""
        known = self._rare_shares.get(bits)
        if known is None:
            known = sum(weight for n, weight in enumerate(self._rare) if bits >> n & 1)
            self._rare_shares[bits] = known
        return known

    def sharing_prefix(self, word: str) -> list[str]:
        """The query's words that begin with this one, or the other way round."""
        alike = self._by_prefix.get(word[:_PREFIX], ()) if len(word) >= _PREFIX else ()
        return [term for term in alike if term.startswith(word) or word.startswith(term)]

    def joined_in(self, text: str) -> float:
        """1 when neighbouring words of the query stand in the text as one word."""
        return float(any(compound in text for compound in self._joined))

    def offsets(self, text: str, bits: int) -> Iterator[int]:
        """Offsets of the words in the text; of a very frequent one only the first."""
        for needle, bit in self._needles:
            at = text.find(needle) if bits & bit else -1
            for _ in range(_NAMES_PER_TERM):
                if at < 0:
                    break
                yield at
                at = text.find(needle, at + 1)


def first_guess(candidate: CandidateFile, query: CodeQuery, weights: Weights) -> float:
    """A cheap score that selects the candidates whose words are read; hand-set, as it only decides who is described."""
    path = _path_facts(candidate.file.path)
    guess = candidate.file_score + sum(candidate.chunk_scores[:1]) + math.log(1 + sum(candidate.chunk_scores))
    guess += weights.share_within(path.lowered)
    if any(definition.name in query.names for definition in candidate.definitions):
        guess += 1
    return guess - (path.is_test and not query.about_tests) * 0.4 - path.priors[0] * 0.3


def describe(
    candidates: Sequence[CandidateFile], query: CodeQuery, weights: Weights, texts: Sequence[Texts]
) -> list[list[float]]:
    """The features of all candidates of one query, in the order of FEATURES; `texts` are those of each corpus."""
    spoken = {_squash(word) for word in query.text.split()} | set(query.joined)
    rows = [_own(candidate, query, spoken, weights, texts[candidate.corpus]) for candidate in candidates]
    _lessen_prose_penalties(candidates, rows, query)
    best = [max((row[i] for row in rows), default=0.0) + 1e-9 for i in _RELATIVE_COLUMNS]
    length = min(1.0, len(query.terms) / _LONG_QUERY_TERMS)
    unanswered = 1 - max((row[_COVERAGE_COLUMN] for row in rows), default=0.0)
    for row in rows:
        row += [row[i] / top for i, top in zip(_RELATIVE_COLUMNS, best, strict=True)]
        row += [row[i] * length for i in _BY_LENGTH_COLUMNS]
        row += [row[i] * unanswered for i in _BY_UNANSWERED_COLUMNS]
    return rows


def _lessen_prose_penalties(candidates: Sequence[CandidateFile], rows: Sequence[list[float]], query: CodeQuery) -> None:
    """Prose counts less beside code that says the same: not where it alone has the words, where a heading has them, or
    where somebody asks how to do something."""
    in_code = max((row[_CHUNK_COVERAGE_COLUMN] for row in rows if not row[_PROSE_COLUMN]), default=0.0)
    for candidate, row in zip(candidates, rows, strict=True):
        if row[_PROSE_COLUMN] and not is_changelog(candidate.file.path):
            covered = row[_CHUNK_COVERAGE_COLUMN]
            alone = _above(covered, _LEAST_PROSE_COVERAGE) * min(1.0, max(0.0, covered - in_code) / _MORE_THAN_CODE)
            headed = _above(row[_HEADING_COLUMN], _LEAST_HEADING_COVERAGE) if len(query.terms) > 1 else 0.0
            candidate.prose_penalty = 0.0 if query.asks_how else (1 - alone) * (1 - headed)
            row[_PROSE_COLUMN] *= candidate.prose_penalty
            row[_ASIDE_COLUMN] *= candidate.prose_penalty


def _above(share: float, least: float) -> float:
    """How far a share is above the least that counts: 0 there, 1 at the whole."""
    return max(0.0, share - least) / (1 - least)


def _own(candidate: CandidateFile, query: CodeQuery, spoken: set[str], weights: Weights, texts: Texts) -> list[float]:
    """What one candidate shows by itself, in the order of OWN_FEATURES."""
    if candidate.by_words is None:
        candidate.by_words = _by_words(candidate, query, spoken, weights, texts)
    return [*candidate.by_words, candidate.similarity, candidate.deviations, *_history_features(candidate, weights)]


def _by_words(
    candidate: CandidateFile, query: CodeQuery, spoken: set[str], weights: Weights, texts: Texts
) -> tuple[float, ...]:
    """What the words and the structure of a candidate show, whatever others there are: all features but those of
    meaning and history."""
    file = candidate.file
    path = _path_facts(file.path)
    words = texts.files[file.id]
    # One bit per query word and field: unions and differences of fields below are free.
    in_stem, in_folders = weights.found_among(words.stem), weights.found_among(words.folders)
    in_names = weights.found_among(words.names)
    chunks = [texts.chunks[chunk_id] for chunk_id in candidate.chunk_ids[:BEST_CHUNKS]]
    content, in_content = _content_features(candidate.chunk_scores, chunks, weights)
    in_head = weights.found_among(words.head)
    anywhere = in_stem | in_folders | in_names | in_content | in_head
    candidate.coverage = weights.share(anywhere)
    return (
        *content,
        weights.share(in_stem),
        _covered(words.stem, path.subject, weights),
        _prefix_share(words.stem, weights),
        float(path.subject in spoken),
        weights.share(in_folders & ~in_stem),
        weights.joined_in(f" {words.stem}  {words.folders} "),
        _best_name(f" {words.names} ", in_names, weights) if in_names else 0.0,
        weights.share(in_names),
        *_definition_features(candidate, query, path.subject),
        float(path.is_test and not query.about_tests),
        *path.priors,
        *_file_priors(file),
        path.depth,
        candidate.file_score,
        candidate.coverage,
        weights.rare_share(anywhere),
        weights.share(in_head),
    )


def _content_features(
    scores: Sequence[float], chunks: Sequence[CodeChunkWords], weights: Weights
) -> tuple[list[float], int]:
    """What its best chunks show, in the order of CONTENT_FEATURES, and all query words in them."""
    coverage = symbol_coverage = doc_coverage = 0.0
    in_any = 0
    for chunk in chunks:
        in_symbol, in_doc = weights.found_among(chunk.symbol), weights.found_among(chunk.doc)
        in_chunk = weights.found_among(chunk.body) | in_symbol | in_doc
        in_any |= in_chunk
        coverage = max(coverage, weights.share(in_chunk))
        symbol_coverage = max(symbol_coverage, weights.share(in_symbol))
        doc_coverage = max(doc_coverage, weights.share(in_doc))
    best = [*scores[:BEST_CHUNKS], *[0.0] * (BEST_CHUNKS - len(scores))]
    amount = (math.log(1 + len(scores)), math.log(1 + sum(scores)))
    return [*best, *amount, coverage, symbol_coverage, doc_coverage], in_any


def _history_features(candidate: CandidateFile, weights: Weights) -> tuple[float, ...]:
    """What its commits say of a file, in the order of HISTORY_FEATURES."""
    if candidate.history is None:
        return (0.0,) * len(HISTORY_FEATURES)
    found = weights.found_among(candidate.history.words)
    changes = math.log(1 + candidate.history.changes) / 5
    similar = (candidate.spoken.best, candidate.spoken.total) if candidate.spoken else (0.0, 0.0)
    return weights.share(found), weights.rare_share(found), changes, candidate.recency, *similar


def _covered(stem: str, subject: str, weights: Weights) -> float:
    """The share of the stem's own words that the query has."""
    words = set(stem.split())
    parts = words - {subject} if len(words) > 1 else words
    return sum(part in weights.by_term for part in parts) / len(parts) if parts else 0.0


def _prefix_share(stem: str, weights: Weights) -> float:
    """How much of the query matches the stem by a common beginning only: `serialize` and `serializer`."""
    words = stem.split()
    akin = {term for word in words for term in weights.sharing_prefix(word)}
    return sum(weights.by_term[term] for term in akin.difference(words)) if akin else 0.0


def _best_name(names: str, in_names: int, weights: Weights) -> float:
    """The best defined name: share of the query it covers times share of itself that the query covers."""
    best = 0.0
    by_term = weights.by_term
    seen = set()
    for at in weights.offsets(names, in_names):
        start = names.rfind("|", 0, at) + 1
        if start in seen:
            continue
        seen.add(start)
        end = names.find("|", at)
        words = names[start : end if end >= 0 else None].split()
        hits = [by_term[word] for word in words if word in by_term]
        parts = len(words) - 1 if len(words) > 2 else len(words)
        best = max(best, sum(hits) * min(1.0, len(hits) / parts))
    return best


def _definition_features(candidate: CandidateFile, query: CodeQuery, subject: str) -> tuple[float, float, float, float]:
    """Whether the file defines a name of the query: exactly, in another case, at the top level, as its own subject."""
    exact = loose = top = own = 0.0
    for definition in candidate.definitions:
        if definition.name in query.names:
            exact = 1.0
        else:
            loose = 1.0
        if not definition.container and definition.kind in _TOP_KINDS:
            top = 1.0
        if _squash(definition.name) == subject:
            own = 1.0
    return exact, loose, top, own


@dataclass(frozen=True, slots=True)
class _PathFacts:
    lowered: str
    subject: str
    is_test: bool
    priors: tuple[float, ...]
    depth: float


@lru_cache(maxsize=20_000)
def _path_facts(path: str) -> _PathFacts:
    priors = (
        is_aside(path),
        is_built(path),
        is_settings(path),
        path.endswith("__init__.py"),
        path.endswith((".d.ts", ".d.mts", ".d.cts")),
    )
    return _PathFacts(
        path.lower(), _squash(telling_stem(path)[0]), is_test(path), tuple(map(float, priors)), path.count("/") / 10
    )


def _file_priors(file: FileRow) -> tuple[float, float, float, float]:
    return (
        float(file.language in PROSE_LANGUAGES or is_prose(file.path)),
        float(file.language in _DATA),
        float(not file.language),
        math.log(1 + file.lines) / 10,
    )


@lru_cache(maxsize=8192)
def _squash(name: str) -> str:
    return "".join(char for char in name.lower() if char.isalnum())
