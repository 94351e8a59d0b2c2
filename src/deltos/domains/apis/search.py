"""Search API operations, schemas, tags and overviews: find candidates by terms and similarity, and rank them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from deltos.domains.apis.features import OperationFeatures, describe_operations
from deltos.domains.apis.query import parse_query, stems_of, verb_of
from deltos.domains.apis.spec_text import index_words, is_parameter_segment, path_segments
from deltos.ranking import load_ranker
from deltos.semantic_index import standardised
from deltos.text.identifiers import spaced, split_identifier
from deltos.text.idf import idf
from deltos.text.words import tokens

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from deltos.domains.apis.query import ApiQuery, Concept
    from deltos.embed.embedders import CombinedEmbedder
    from deltos.semantic_index import Similarities
    from deltos.store.apis import ApiDescriptions, UnitMatch, UnitRow

COLUMN_WEIGHTS = (6.0, 8.0, 2.0, 1.5, 0.5)  # BM25 weights of the fields names, title, tags, description and details
NAME_WEIGHTS = (6.0, 8.0, 0.0, 0.0, 0.0)
MAX_WORD_CANDIDATES = 100
MAX_SEMANTIC_CANDIDATES = 80  # maximum number of candidates added by similarity
_MAX_SIMILARITY_CANDIDATES = 600  # maximum number of similar entries before filtering by API and kind
_MIN_SIMILARITY = 0.12  # minimum similarity of a candidate; meaningless queries reach only lower similarities
_MIN_SIMILARITY_ONE_WORD = 0.25  # minimum similarity for a query of one word, which is always similar to some entry

# The feature `near_alone` is 0 unless every candidate leaves more than this share of the query uncovered.
_EXPECTED_UNCOVERED_SHARE = 0.3
KINDS_OF_TYPE: Mapping[str, tuple[str, ...]] = {
    "endpoint": ("operation", "webhook"),
    "schema": ("schema", "message"),
    "overview": ("overview", "tag"),
    "reference": ("operation", "webhook", "schema", "message"),
}
TYPE_OF_KIND = {kind: name for name in ("endpoint", "schema", "overview") for kind in KINDS_OF_TYPE[name]}
_KIND_GROUPS = (("operation",), ("webhook", "schema", "message", "tag", "overview"))
WEIGHTS_FILE = Path(__file__).with_name("weights.json")
OPERATION_WEIGHTS_FILE = Path(__file__).with_name("operation_weights.json")
_MAX_WRONG_ADDRESS_CONFIDENCE = 0.25  # maximum confidence if no operation has both the method and the path in the query
_MIN_VERBATIM_CONFIDENCE = 0.9  # minimum confidence if a title or description contains the query verbatim

# Subtracted from the cosine similarity to get a confidence.
_COSINE_CONFIDENCE_OFFSET = 0.07
# Factor for similarities of schemas and overviews, because the encoder was trained on operations.
_OTHER_KIND_FACTOR = 0.6
_MIN_QUOTED_WORDS = 3  # minimum number of query words for which a verbatim match counts
_MAX_DESCRIPTION_CHARACTERS = 600  # later text is rarely about the operation or schema itself

# Minimum score of a clear match; 95 % of queries for operations and 3 % of other queries reach it (docs/decisions.md).
MIN_CLEAR_SCORE = 1.7


@dataclass(frozen=True, slots=True)
class RankedUnit:
    """A candidate (operation, schema, tag or overview) with its score and confidence.

    `name_match` is 2 if the query contains the exact name of the candidate, 1 if only the case differs, or 0.
    """

    row: UnitRow
    api_name: str
    score: float
    confidence: float = 1.0
    is_clear: bool = False
    is_semantic_match: bool = False
    is_verbatim: bool = False
    name_match: int = 0


class UnitFeatures(NamedTuple):
    """Features from which the confidence of a candidate operation, schema, tag or overview is computed.

    - `X_coverage`: share of the query that field X covers; `X_in_question`: share of field X that the query covers.
    - `identity_coverage`: coverage by title, names and tags together.
    - `meaning`: similarity to the query, in standard deviations from the mean.
    - `near_alone`: similarity multiplied by the share of the query that no candidate covers.
    """

    bm25: float
    title_coverage: float
    names_coverage: float
    identity_coverage: float
    coverage: float
    title_in_question: float
    is_operation: bool
    is_schema: bool
    exact_title: bool
    path_in_question: float
    verb_agrees: bool
    address: bool
    address_of_other_method: bool
    is_deprecated: bool
    meaning: float
    near_alone: float = 0.0


def kinds_of(types: Iterable[str]) -> tuple[str, ...]:
    """Return the kinds of search results for the `types` argument of a tool; documentation types have no API kinds."""
    return tuple(dict.fromkeys(kind for name in types for kind in KINDS_OF_TYPE.get(name, ())))


def search_units(
    store: ApiDescriptions,
    query: str,
    *,
    api_id: int | None,
    kinds: Sequence[str],
    limit: int,
    similarities: Similarities | None = None,
    model: CombinedEmbedder | None = None,
    without: Sequence[int] = (),
) -> list[RankedUnit]:
    """Return the best operations, schemas, tags and overviews for `query`.

    APIs whose ids are in `without` are skipped. `similarities` adds candidates by embedding similarity; `model`
    compares word vectors for ranking.
    """
    question = parse_query(query)
    if not question.concepts:
        return []
    found = find_units(store, question, similarities, api_id=api_id, kinds=kinds, limit=limit, without=without)
    if not found:
        return []
    cosines = _unit_cosines(found, similarities) if similarities else {}
    api_similarities_by_name = api_similarities(store, found, similarities)
    rows = describe_operations(
        query,
        found,
        [cosines.get(unit.row.id, 0.0) for unit in found],
        model=model,
        api_similarities_by_name=api_similarities_by_name,
    )
    names_cosines = np.array(rows[:, OperationFeatures._fields.index("names_cosine")])
    ranked = _rank_units(
        question, found, _describe_units(store, question, found, standardised(names_cosines), cosines), cosines
    )
    scores = load_ranker(OPERATION_WEIGHTS_FILE, OperationFeatures._fields).scores(rows.tolist())
    return _order_units(ranked, question, scores)[:limit]


def _unit_cosines(found: Iterable[UnitMatch], similarities: Similarities) -> dict[int, float]:
    """Return the embedding similarity of each candidate to the query."""
    kinds = {unit.row.id: unit.row.kind for unit in found}
    return {
        key: cosine * (1.0 if kinds[key] == "operation" else _OTHER_KIND_FACTOR)
        for key, cosine in similarities.cosines([*kinds]).items()
    }


def find_units(
    store: ApiDescriptions,
    question: ApiQuery,
    similarities: Similarities | None,
    *,
    api_id: int | None,
    kinds: Sequence[str],
    limit: int,
    without: Sequence[int],
) -> list[UnitMatch]:
    """Return candidates: entries that share words with the query, and entries that are most similar to the query."""
    found = _word_candidates(store, question, api_id, kinds, max(MAX_WORD_CANDIDATES, 2 * limit), without)
    if api_id is not None:
        found += _find_named_types(store, question, api_id, kinds, {unit.row.id for unit in found})
    if similarities:
        known = {unit.row.id for unit in found}
        if api_id is not None:
            similarities = similarities.limited_to(store.unit_ids(api_id))
        is_one_word = len(question.concepts) == 1
        keys = similarities.semantic_matches(
            _MAX_SIMILARITY_CANDIDATES, min_similarity=_MIN_SIMILARITY_ONE_WORD if is_one_word else _MIN_SIMILARITY
        )
        near = store.units_by_id(keys, api_id=api_id, kinds=kinds, excluded_apis=without)
        found += [unit for unit in near[:MAX_SEMANTIC_CANDIDATES] if unit.row.id not in known]
    return found


def _find_named_types(
    store: ApiDescriptions, question: ApiQuery, api_id: int, kinds: Sequence[str], known: Container[int]
) -> list[UnitMatch]:
    """Return the types whose exact name the query contains."""
    # The full-text index may miss these types among many similar names.
    units = [store.unit(api_id, f"schema {name}") for name in question.names]
    keys = [unit.id for unit in units if unit and unit.id not in known]
    return store.units_by_id(keys, api_id=api_id, kinds=kinds) if keys else []


def _order_units(ranked: Sequence[RankedUnit], question: ApiQuery, scores: Sequence[float]) -> list[RankedUnit]:
    """Return the ranked candidates, best first.

    Candidates are ordered by score; the learned ranker then reorders the operations among themselves.
    """
    by_words = sorted(
        range(len(ranked)),
        key=lambda index: (
            -ranked[index].name_match,  # candidates with an exact name come first
            -ranked[index].score,
            ranked[index].row.id,
        ),
    )
    operations = [index for index in by_words if ranked[index].row.kind == "operation"]
    learned = sorted(
        operations,
        key=lambda index: (-_name_rank(ranked[index], question), -scores[index], len(ranked[index].row.path)),
    )
    replacements = dict(zip(operations, learned, strict=True))
    shown = [_replace_unit(ranked[index], ranked[replacements.get(index, index)]) for index in by_words]
    # Confidences must not increase from one result to the next; ranking uses features that the confidence does not.
    confidences = accumulate((unit.confidence for unit in shown), min)
    return [replace(unit, confidence=confidence) for unit, confidence in zip(shown, confidences, strict=True)]


def _replace_unit(replaced: RankedUnit, unit: RankedUnit) -> RankedUnit:
    """Return `unit` with the score of the candidate that it replaces, and the higher confidence of both."""
    confidence = max(replaced.confidence, unit.confidence)
    return replace(
        replaced, row=unit.row, api_name=unit.api_name, is_semantic_match=unit.is_semantic_match, confidence=confidence
    )


def _name_rank(unit: RankedUnit, question: ApiQuery) -> int:
    """Return how exactly the query identifies a candidate, from its name or method and path down to no match."""
    is_named = unit.is_verbatim or tuple(stems_of(unit.row.title)) == question.stems
    return 2 * unit.name_match or _address_match(unit.row, question) or -int(not is_named)


def _name_match(unit: UnitMatch, question: ApiQuery) -> int:
    """Return 2 if the query contains the candidate's exact name, 1 if only the case differs, or 0.

    Only for compound names, a difference in case is accepted.
    """
    names = _unit_names(unit, question.names)
    if names & question.names:
        return 2
    asked = {name.lower() for name in question.names}
    return int(any(name.lower() in asked and _is_compound(name) for name in names))


def _unit_names(unit: UnitMatch, asked: Iterable[str]) -> set[str]:
    """Return the names of a type or operation, including the last part of a name with dots or slashes.

    Operation ids are stored only as index terms, so the names in `asked` are converted to index terms for comparison.
    """
    row = unit.row
    if row.kind in ("schema", "message"):
        return {row.title, row.title.rpartition(".")[2]}
    if row.kind not in ("operation", "webhook"):
        return set()
    names = set() if row.path.startswith("/") else {row.path, row.path.rpartition("/")[2]}
    return names | {name for name in asked if unit.words.names == f"{index_words(row.path)} {index_words(name)}"}


def _is_compound(name: str) -> bool:
    return len(split_identifier(name)) > 1


def _contains_query_verbatim(unit: UnitMatch, question: ApiQuery) -> bool:
    """Whether the descriptions of an operation's parameters or responses contain the query verbatim."""
    asked = tokens(question.text)
    if unit.row.kind != "operation" or len(asked) < _MIN_QUOTED_WORDS:
        return False
    details = unit.words.details.lower()
    return max(asked, key=len) in details and f" {' '.join(asked)} " in f" {' '.join(tokens(details))} "


def _address_match(row: UnitRow, question: ApiQuery) -> int:
    """Return 2 if the query is the method and path of a candidate, 1 if only the method differs, and 0 otherwise."""
    if not (row.path and question.path) or _path_shape(row.path) != _path_shape(question.path):
        return 0
    return 2 if question.method in ("", row.method) else 1


def _describe_units(
    store: ApiDescriptions,
    question: ApiQuery,
    found: Sequence[UnitMatch],
    meanings: Sequence[float],
    cosines: Mapping[int, float],
) -> list[UnitFeatures]:
    """Return the features of each candidate operation, schema, tag or overview."""
    weights = _concept_weights(store, question)
    best = max(unit.score for unit in found) or 1.0
    rows = [
        _unit_features(unit, question, weights, best, meaning) for unit, meaning in zip(found, meanings, strict=True)
    ]
    uncovered = _uncovered_share(rows)
    return [
        row._replace(near_alone=uncovered * max(0.0, cosines.get(unit.row.id, 0.0)))
        for row, unit in zip(rows, found, strict=True)
    ]


def api_similarities(
    store: ApiDescriptions, found: Sequence[UnitMatch], similarities: Similarities | None
) -> dict[str, float]:
    """Return the similarity of each API's overview to the query, by API name; empty if there is only one API."""
    names = {unit.api_name for unit in found}
    if similarities is None or len(names) < 2:
        return {}
    overviews = {unit_id: name for name, unit_id in store.overview_ids().items() if name in names}
    return {overviews[key]: max(0.0, cosine) for key, cosine in similarities.cosines(list(overviews)).items()}


def _uncovered_share(rows: Iterable[UnitFeatures]) -> float:
    """Return the share of the query that no candidate covers, reduced by `_EXPECTED_UNCOVERED_SHARE` and rescaled."""
    share = 1 - max(max(row.coverage, float(row.address or row.exact_title)) for row in rows)
    return max(0.0, share - _EXPECTED_UNCOVERED_SHARE) / (1 - _EXPECTED_UNCOVERED_SHARE)


def _rank_units(
    question: ApiQuery, found: Iterable[UnitMatch], rows: Sequence[UnitFeatures], cosines: Mapping[int, float]
) -> list[RankedUnit]:
    """Return the candidates with scores and confidences, in the order in which they were given."""
    is_address_missing = bool(question.method and question.path) and not any(row.address for row in rows)
    is_name = any(map(_is_compound, question.names))  # one ordinary word is often not meant as a name
    ranker = load_ranker(WEIGHTS_FILE, UnitFeatures._fields)
    ranked: list[RankedUnit] = []
    for unit, row in zip(found, rows, strict=True):
        name_match = _name_match(unit, question)
        by_words = ranker.score(row._replace(near_alone=0.0))
        ranked.append(
            RankedUnit(
                unit.row,
                unit.api_name,
                ranker.score(row),
                # For semantic matches, the cosine similarity approximates the confidence.
                confidence=min(
                    max(
                        ranker.confidence(by_words),
                        cosines.get(unit.row.id, 0.0) - _COSINE_CONFIDENCE_OFFSET,
                        _MIN_VERBATIM_CONFIDENCE * (row.exact_title or name_match > 0),
                    ),
                    _MAX_WRONG_ADDRESS_CONFIDENCE if is_address_missing and not row.address_of_other_method else 1.0,
                ),
                is_clear=(by_words >= MIN_CLEAR_SCORE or (name_match > 0 and is_name)) and not is_address_missing,
                is_semantic_match=not (unit.score or row.coverage),
                is_verbatim=row.exact_title,
                name_match=name_match,
            )
        )
    return ranked


def _word_candidates(
    store: ApiDescriptions,
    question: ApiQuery,
    api_id: int | None,
    kinds: Sequence[str],
    limit: int,
    without: Sequence[int],
) -> list[UnitMatch]:
    """Return the operations, schemas and other entries that share words with the query."""
    # Operations are searched separately, so that schemas do not displace them from the results.
    groups = [[kind for kind in group if not kinds or kind in kinds] for group in _KIND_GROUPS]
    found: list[UnitMatch] = []
    for position, wanted in enumerate(filter(None, groups)):
        max_units = limit // 3 if position else limit
        search = partial(store.search, api_id=api_id, kinds=wanted, limit=max_units, excluded_apis=without)
        matches = search(question.match_words(), COLUMN_WEIGHTS)
        if position == 0:  # otherwise, matches in other fields may displace the operation with exactly this name
            known, lowest = {unit.row.id for unit in matches}, min((unit.score for unit in matches), default=0.0)
            named = (unit for unit in search(question.asked_words(), NAME_WEIGHTS) if unit.row.id not in known)
            matches += [replace(unit, score=lowest) for unit in named]
        found += matches
    return found


def _concept_weights(store: ApiDescriptions, question: ApiQuery) -> dict[str, float]:
    """Return the weight of each query word with its synonyms; rarer words have more weight."""
    stems = [next(iter(concept.stems)) for concept in question.concepts]
    frequencies = store.document_frequencies(stems)
    total = max(1, store.count_searchable())
    return {
        concept.word: idf(frequencies.get(stem, 0), total, against_rest=False)
        for concept, stem in zip(question.concepts, stems, strict=True)
    }


def _unit_features(
    unit: UnitMatch, question: ApiQuery, weights: Mapping[str, float], best: float, meaning: float
) -> UnitFeatures:
    """Return the features of one candidate; `best` is the highest BM25 score of all candidates."""
    row = unit.row
    title_stems = stems_of(unit.words.title)
    title, names = set(title_stems), set(stems_of(unit.words.names))
    identity = title | names | set(stems_of(unit.words.tags))
    anywhere = identity | set(stems_of(unit.words.description[:_MAX_DESCRIPTION_CHARACTERS]))
    asked = {
        stem for concept in question.concepts for stem in (concept.stems if not concept.verb else [*concept.stems][:1])
    }
    address = _address_match(row, question)
    return UnitFeatures(
        bm25=unit.score / best,
        title_coverage=_query_coverage(question.concepts, title, weights),
        names_coverage=_query_coverage(question.concepts, names, weights),
        identity_coverage=_query_coverage(question.concepts, identity, weights),
        coverage=_query_coverage(question.concepts, anywhere, weights),
        title_in_question=_matched_stem_share(title, asked),
        is_operation=row.kind == "operation",
        is_schema=row.kind in ("schema", "message"),
        exact_title=tuple(title_stems) == question.stems or _contains_query_verbatim(unit, question),
        path_in_question=_matched_stem_share(_path_stems(row.path), asked) if row.path else 0.0,
        verb_agrees=bool(row.path and question.verb) and question.verb in _implied_verbs(row),
        address=address == 2,
        address_of_other_method=address == 1,
        is_deprecated=row.deprecated,
        meaning=meaning,
    )


def _query_coverage(concepts: Iterable[Concept], stems: set[str], weights: Mapping[str, float]) -> float:
    """Return the share of the query's weight that belongs to words with a stem in `stems`."""
    total = covered = 0.0
    for concept in concepts:
        weight = weights[concept.word]
        total += weight
        covered += weight * max((share for stem, share in concept.stems.items() if stem in stems), default=0.0)
    return covered / total if total else 0.0


def _matched_stem_share(stems: set[str], asked: set[str]) -> float:
    """Return the share of a candidate's word stems that occur in the query."""
    return len(stems & asked) / len(stems) if stems else 0.0


def _path_stems(path: str) -> set[str]:
    """Return the word stems of the fixed segments of a path."""
    fixed = " ".join(segment for segment in path_segments(path) if not is_parameter_segment(segment))
    # The ranking weights were learned with after_acronyms=False.
    return set(stems_of(spaced(fixed, after_acronyms=False)))


def _implied_verbs(row: UnitRow) -> set[str]:
    """Return the verbs that a method, path and title imply, such as "create" for POST."""
    segments = path_segments(row.path)
    keyed = bool(segments) and is_parameter_segment(segments[-1])
    by_method = {
        "GET": {"get"} if keyed else {"list", "get", "search"},
        "POST": {"update"} if keyed else {"create", "send"},
        "PUT": {"update", "create"},
        "PATCH": {"update"},
        "DELETE": {"delete"},
        "QUERY": {"get", "list", "search"},
    }
    title_stems = {verb_of(word.lower()) for word in re.findall(r"[A-Za-z]+", row.title)[:2]}
    return by_method.get(row.method, set()) | title_stems


def _path_shape(path: str) -> str:
    """Return a path in lower case with `{}` in place of every parameter."""
    return "/".join("{}" if is_parameter_segment(part) else part.lower() for part in path.strip("/").split("/"))
