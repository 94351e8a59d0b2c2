"""Question to units of APIs: matched by words in the store, ordered by how much of it they answer."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from deltos.domains.apis.features import OperationFeatures, describe_operations
from deltos.domains.apis.operations import score_operations
from deltos.domains.apis.prose import index_words, is_parameter_segment, path_segments
from deltos.domains.apis.query import parse_query, stems_of, verb_of
from deltos.meaning import standardised
from deltos.ranking import load_ranker
from deltos.text.identifiers import spaced, split_identifier
from deltos.text.rarity import idf
from deltos.text.words import tokens

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from deltos.domains.apis.query import ApiQuery, Concept
    from deltos.embed.reading import ReadingModel
    from deltos.meaning import Similarities
    from deltos.store.apis import ApiDescriptions, FoundUnit, UnitRow

COLUMN_WEIGHTS = (6.0, 8.0, 2.0, 1.5, 0.5)  # BM25 weights of names, title, tags, description, details
CANDIDATES = 100
NEAREST_UNITS = 80  # candidates by meaning
_NEAREST_LOOKED_AT = 600  # of all APIs and kinds; those that are not asked for are left out
_LEAST_SIMILAR = 0.12  # cosine similarity to a question: to nonsense some unit is nearer than to no question at all
_LEAST_OF_ONE_WORD = 0.25  # to a question of one word: some unit is always a little like it
# Where the best unit lacks more than this share of the question, meaning counts for much more.
_USUALLY_LACKING = 0.3
KINDS_OF_TYPE: Mapping[str, tuple[str, ...]] = {
    "endpoint": ("operation", "webhook"),
    "schema": ("schema", "message"),
    "overview": ("overview", "tag"),
    "reference": ("operation", "webhook", "schema", "message"),
}
TYPE_OF_KIND = {kind: name for name in ("endpoint", "schema", "overview") for kind in KINDS_OF_TYPE[name]}
_SEARCHED_APART = (("operation",), ("webhook", "schema", "message", "tag", "overview"))
WEIGHTS_FILE = Path(__file__).with_name("weights.json")
_ANOTHER_ADDRESS = 0.25  # the confidence in an operation where another one, which is not there, was asked for
_SAID_CONFIDENCE = 0.9  # of a unit whose title, or a text of whose parameters and responses, is the question
_SURER_BY_COSINE = 0.07  # than by chance: asked of the right API, an operation is right for about the rest
_OF_OTHER_KINDS = 0.6  # of the cosine similarity of schemas and the like: the encoder was taught where operations are
_LEAST_QUOTED_WORDS = 3  # of a text that is found word for word
_DESCRIPTION_CHARACTERS = 600  # what comes later in a description is rarely about the unit as a whole

# From this score on a question is about the unit: 95 % of paraphrased operations reach it, and 3 % of questions about
# documentation (docs/decisions.md).
CLEAR_MATCH = 1.7


@dataclass(frozen=True, slots=True)
class RankedUnit:
    """A unit and how well it answers, best 1 or a little above."""

    row: UnitRow
    api_name: str
    score: float
    confidence: float = 1.0
    is_clear: bool = False
    is_near: bool = False
    says_question: bool = False
    called: int = 0


class UnitFeatures(NamedTuple):
    """How surely a question is about a unit. Coverage is the share of the question that a field has words for;
    `…_asked` is the share of the field's own words that were asked for; `meaning` is in standard deviations of
    similarity to the question, `near_alone` the cosine itself, the more the question lacks words of any unit."""

    bm25: float
    title_coverage: float
    names_coverage: float
    near_coverage: float
    coverage: float
    title_asked: float
    is_operation: bool
    is_schema: bool
    exact_title: bool
    path_asked: float
    verb_agrees: bool
    address: bool
    address_of_other_method: bool
    is_deprecated: bool
    meaning: float
    near_alone: float = 0.0


def kinds_of(types: Iterable[str]) -> tuple[str, ...]:
    """The unit kinds behind `types`; types that only documentation has match nothing."""
    return tuple(dict.fromkeys(kind for name in types for kind in KINDS_OF_TYPE.get(name, ())))


def search_units(
    store: ApiDescriptions,
    query: str,
    *,
    api_id: int | None,
    kinds: Sequence[str],
    limit: int,
    similarities: Similarities | None = None,
    model: ReadingModel | None = None,
    without: Sequence[int] = (),
) -> list[RankedUnit]:
    """The units that answer `query` best, `without` those of some APIs, by words and where known by meaning.

    `similarities` are of all that units say, which finds; `model` compares single words, which orders.
    """
    question = parse_query(query)
    if not question.concepts:
        return []
    found = find_units(store, question, similarities, api_id=api_id, kinds=kinds, limit=limit, without=without)
    if not found:
        return []
    cosines = _cosines(found, similarities) if similarities else {}
    near_apis = nearness_of_apis(store, found, similarities)
    rows = describe_operations(
        query, found, [cosines.get(unit.row.id, 0.0) for unit in found], model=model, near_apis=near_apis
    )
    called = np.array(rows[:, OperationFeatures._fields.index("called_cosine")])
    ranked = _ranked(question, found, _described(store, question, found, standardised(called), cosines), cosines)
    return _in_order(ranked, question, score_operations(rows))[:limit]


def _cosines(found: Iterable[FoundUnit], similarities: Similarities) -> dict[int, float]:
    """How near each unit is to the question."""
    kinds = {unit.row.id: unit.row.kind for unit in found}
    return {
        key: cosine * (1.0 if kinds[key] == "operation" else _OF_OTHER_KINDS)
        for key, cosine in similarities.raw([*kinds]).items()
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
) -> list[FoundUnit]:
    """What may answer: units that share words with the question, and those that are nearest in meaning."""
    found = _candidates(store, question, api_id, kinds, max(CANDIDATES, 2 * limit), without)
    if api_id is not None:
        found += _types_called(store, question, api_id, kinds, {unit.row.id for unit in found})
    if similarities:
        known = {unit.row.id for unit in found}
        if api_id is not None:
            similarities = similarities.among(store.unit_ids(api_id))
        is_one_word = len(question.concepts) == 1
        keys = similarities.near(_NEAREST_LOOKED_AT, least=_LEAST_OF_ONE_WORD if is_one_word else _LEAST_SIMILAR)
        near = store.found(keys, api_id=api_id, kinds=kinds, without=without)
        found += [unit for unit in near[:NEAREST_UNITS] if unit.row.id not in known]
    return found


def _types_called(
    store: ApiDescriptions, question: ApiQuery, api_id: int, kinds: Sequence[str], known: Container[int]
) -> list[FoundUnit]:
    """The types that a question calls by name; among hundreds of like words they need not be in what words find."""
    units = [store.unit(api_id, f"schema {name}") for name in question.names]
    keys = [unit.id for unit in units if unit and unit.id not in known]
    return store.found(keys, api_id=api_id, kinds=kinds) if keys else []


def _in_order(ranked: Sequence[RankedUnit], question: ApiQuery, scores: Sequence[float]) -> list[RankedUnit]:
    """Best first. Which operation comes before which was learned; what other units stand between them goes by words."""
    by_words = sorted(
        range(len(ranked)),
        key=lambda place: (
            -ranked[place].called,  # what is called by its very name is meant
            -ranked[place].score,
            ranked[place].row.id,
        ),
    )
    places = [place for place in by_words if ranked[place].row.kind == "operation"]
    learned = sorted(
        places,
        key=lambda place: (-_named(ranked[place], question), -scores[place], len(ranked[place].row.path)),
    )
    instead = dict(zip(places, learned, strict=True))
    shown = [_in_place_of(ranked[place], ranked[instead.get(place, place)]) for place in by_words]
    # What stands lower is never said to be surer: the order goes by more than confidence does.
    chances = accumulate((unit.confidence for unit in shown), min)
    return [replace(unit, confidence=chance) for unit, chance in zip(shown, chances, strict=True)]


def _in_place_of(place: RankedUnit, unit: RankedUnit) -> RankedUnit:
    """A unit in the place of another; as sure as words are of that place, or as it is itself."""
    chance = max(place.confidence, unit.confidence)
    return replace(place, row=unit.row, api_name=unit.api_name, is_near=unit.is_near, confidence=chance)


def _named(unit: RankedUnit, question: ApiQuery) -> int:
    """How exactly a unit is named by the question: by its name, by its address, by that of another method, by
    its title or what it answers word for word."""
    is_named = unit.says_question or tuple(stems_of(unit.row.title)) == question.stems
    return 2 * unit.called or _address(unit.row, question) or -int(not is_named)


def _called(unit: FoundUnit, question: ApiQuery) -> int:
    """2 for what the question calls by its very name, 1 where a name of several words is written in other cases."""
    names = _names_of(unit, question.names)
    if names & question.names:
        return 2
    asked = {name.lower() for name in question.names}
    return int(any(name.lower() in asked and _is_compound(name) for name in names))


def _names_of(unit: FoundUnit, asked: Iterable[str]) -> set[str]:
    """What a type or an operation is called: of a path of names (`shop.Orders/GetOrder`) its end, too; those that are
    `asked` where they are the operation's id, which is kept as words."""
    row = unit.row
    if row.kind in ("schema", "message"):
        return {row.title, row.title.rpartition(".")[2]}
    if row.kind not in ("operation", "webhook"):
        return set()
    names = set() if row.path.startswith("/") else {row.path, row.path.rpartition("/")[2]}
    return names | {name for name in asked if unit.words.names == f"{index_words(row.path)} {index_words(name)}"}


def _is_compound(name: str) -> bool:
    return len(split_identifier(name)) > 1


def _says_question(unit: FoundUnit, question: ApiQuery) -> bool:
    """Whether the question stands word for word among what an operation says of its parameters and responses."""
    asked = tokens(question.text)
    if unit.row.kind != "operation" or len(asked) < _LEAST_QUOTED_WORDS:
        return False
    details = unit.words.details.lower()
    return max(asked, key=len) in details and f" {' '.join(asked)} " in f" {' '.join(tokens(details))} "


def _address(row: UnitRow, question: ApiQuery) -> int:
    """2 for the very address that was asked for, 1 for it with another method."""
    if not (row.path and question.path) or _shape(row.path) != _shape(question.path):
        return 0
    return 2 if question.method in ("", row.method) else 1


def _described(
    store: ApiDescriptions,
    question: ApiQuery,
    found: Sequence[FoundUnit],
    meanings: Sequence[float],
    cosines: Mapping[int, float],
) -> list[UnitFeatures]:
    """The features of each candidate."""
    weights = _concept_weights(store, question)
    best = max(unit.score for unit in found) or 1.0
    rows = [_features(unit, question, weights, best, meaning) for unit, meaning in zip(found, meanings, strict=True)]
    lacking = _lacking(rows)
    return [
        row._replace(near_alone=lacking * max(0.0, cosines.get(unit.row.id, 0.0)))
        for row, unit in zip(rows, found, strict=True)
    ]


def nearness_of_apis(
    store: ApiDescriptions, found: Sequence[FoundUnit], similarities: Similarities | None
) -> dict[str, float]:
    """How near what each API says of itself is to the question; nothing where there is only one."""
    names = {unit.api_name for unit in found}
    if similarities is None or len(names) < 2:
        return {}
    overviews = {unit_id: name for name, unit_id in store.overview_ids().items() if name in names}
    return {overviews[key]: max(0.0, cosine) for key, cosine in similarities.raw(list(overviews)).items()}


def _lacking(rows: Iterable[UnitFeatures]) -> float:
    """How much of the question even the best unit has no words for: 0 for as much as usual, 1 for all."""
    share = 1 - max(max(row.coverage, float(row.address or row.exact_title)) for row in rows)
    return max(0.0, share - _USUALLY_LACKING) / (1 - _USUALLY_LACKING)


def _ranked(
    question: ApiQuery, found: Iterable[FoundUnit], rows: Sequence[UnitFeatures], cosines: Mapping[int, float]
) -> list[RankedUnit]:
    is_missing = bool(question.method and question.path) and not any(row.address for row in rows)
    is_name = any(map(_is_compound, question.names))  # no ordinary word, which may be about anything
    ranker = load_ranker(WEIGHTS_FILE, UnitFeatures._fields)
    ranked: list[RankedUnit] = []
    for unit, row in zip(found, rows, strict=True):
        called = _called(unit, question)
        by_words = ranker.score(row._replace(near_alone=0.0))
        ranked.append(
            RankedUnit(
                unit.row,
                unit.api_name,
                ranker.score(row),
                # A cosine similarity is a fair guess of how sure meaning is; its weight is for the order alone.
                confidence=min(
                    max(
                        ranker.confidence(by_words),
                        cosines.get(unit.row.id, 0.0) - _SURER_BY_COSINE,
                        _SAID_CONFIDENCE * (row.exact_title or called > 0),
                    ),
                    _ANOTHER_ADDRESS if is_missing and not row.address_of_other_method else 1.0,
                ),
                is_clear=(by_words >= CLEAR_MATCH or (called > 0 and is_name)) and not is_missing,
                is_near=not (unit.score or row.coverage),
                says_question=row.exact_title,
                called=called,
            )
        )
    return ranked


def _candidates(
    store: ApiDescriptions,
    question: ApiQuery,
    api_id: int | None,
    kinds: Sequence[str],
    limit: int,
    without: Sequence[int],
) -> list[FoundUnit]:
    """Units that share words with the question: operations apart, or hundreds of schemas would crowd them out."""
    groups = [[kind for kind in group if not kinds or kind in kinds] for group in _SEARCHED_APART]
    found: list[FoundUnit] = []
    for position, wanted in enumerate(filter(None, groups)):
        most = limit // 3 if position else limit
        found += store.search(
            question.match_words(), COLUMN_WEIGHTS, api_id=api_id, kinds=wanted, limit=most, without=without
        )
    return found


def _concept_weights(store: ApiDescriptions, question: ApiQuery) -> dict[str, float]:
    """How telling each word of the question is: rare ones weigh more."""
    stems = [next(iter(concept.stems)) for concept in question.concepts]
    frequencies = store.document_frequencies(stems)
    total = max(1, store.count_searchable())
    return {
        concept.word: idf(frequencies.get(stem, 0), total, against_rest=False)
        for concept, stem in zip(question.concepts, stems, strict=True)
    }


def _features(
    unit: FoundUnit, question: ApiQuery, weights: Mapping[str, float], best: float, meaning: float
) -> UnitFeatures:
    row = unit.row
    spoken = stems_of(unit.words.title)
    title, names = set(spoken), set(stems_of(unit.words.names))
    near = title | names | set(stems_of(unit.words.tags))
    anywhere = near | set(stems_of(unit.words.description[:_DESCRIPTION_CHARACTERS]))
    asked = {
        stem for concept in question.concepts for stem in (concept.stems if not concept.verb else [*concept.stems][:1])
    }
    address = _address(row, question)
    return UnitFeatures(
        bm25=unit.score / best,
        title_coverage=_coverage(question.concepts, title, weights),
        names_coverage=_coverage(question.concepts, names, weights),
        near_coverage=_coverage(question.concepts, near, weights),
        coverage=_coverage(question.concepts, anywhere, weights),
        title_asked=_share(title, asked),
        is_operation=row.kind == "operation",
        is_schema=row.kind in ("schema", "message"),
        exact_title=tuple(spoken) == question.stems or _says_question(unit, question),
        path_asked=_share(_path_stems(row.path), asked) if row.path else 0.0,
        verb_agrees=bool(row.path and question.verb) and question.verb in _verbs(row),
        address=address == 2,
        address_of_other_method=address == 1,
        is_deprecated=row.deprecated,
        meaning=meaning,
    )


def _coverage(concepts: Iterable[Concept], stems: set[str], weights: Mapping[str, float]) -> float:
    """The share of the question that `stems` cover, telling words counting more."""
    total = covered = 0.0
    for concept in concepts:
        weight = weights[concept.word]
        total += weight
        covered += weight * max((sure for stem, sure in concept.stems.items() if stem in stems), default=0.0)
    return covered / total if total else 0.0


def _share(stems: set[str], asked: set[str]) -> float:
    """How much of what a unit says of itself was asked for."""
    return len(stems & asked) / len(stems) if stems else 0.0


def _path_stems(path: str) -> set[str]:
    fixed = " ".join(segment for segment in path_segments(path) if not is_parameter_segment(segment))
    return set(stems_of(spaced(fixed, after_acronyms=False)))  # as the weights were set


def _verbs(row: UnitRow) -> set[str]:
    """The verbs that a method, a path's shape and a title mean."""
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
    spoken = {verb_of(word.lower()) for word in re.findall(r"[A-Za-z]+", row.title)[:2]}
    return by_method.get(row.method, set()) | spoken


def _shape(path: str) -> str:
    return "/".join("{}" if is_parameter_segment(part) else part.lower() for part in path.strip("/").split("/"))
