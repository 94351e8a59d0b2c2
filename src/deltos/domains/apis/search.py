"""Question to units of APIs: matched by words in the store, ordered by how much of it they answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.apis.intent import CREATE, DELETE, READ, UPDATE, intent_of
from deltos.domains.apis.prose import is_parameter_segment, path_segments
from deltos.domains.apis.query import parse_query, stems_of, verb_of
from deltos.ranking import load_ranker
from deltos.text.identifiers import spaced
from deltos.text.rarity import idf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from deltos.domains.apis.query import ApiQuery, Concept
    from deltos.meaning import Similarities
    from deltos.store.apis import ApiDescriptions, FoundUnit, UnitRow

    Compare = Callable[[str, Sequence[str]], list[float]]

COLUMN_WEIGHTS = (6.0, 8.0, 2.0, 1.5, 0.5)  # BM25 weights of names, title, tags, description, details
CANDIDATES = 120
NEAREST_UNITS = 40  # candidates by meaning
_NEAREST_LOOKED_AT = 600  # of all APIs and kinds; those that are not asked for are left out
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
_DESCRIPTION_CHARACTERS = 600  # what comes later in a description is rarely about the unit as a whole

# From this score on a question is about the unit: 95 % of paraphrased operations reach it, and 3 % of questions about
# documentation (ARCHITECTURE.md, decisions).
CLEAR_MATCH = 1.7
_VERSION = re.compile(r"^v(\d{1,6})(?:[._]\d{1,6})*(alpha|beta|rc|preview)?")


@dataclass(frozen=True, slots=True)
class RankedUnit:
    """A unit and how well it answers, best 1 or a little above."""

    row: UnitRow
    api_name: str
    score: float
    confidence: float = 1.0
    is_clear: bool = False
    is_near: bool = False


class UnitFeatures(NamedTuple):
    """What speaks for a unit. Coverage is the share of the question that a field has words for; `…_asked` is the share
    of the field's own words that were asked for; `meaning` is in standard deviations of similarity to the question,
    `near_alone` is the cosine similarity itself, the more the question lacks words of any unit, and `near` its share of
    the best. `api_near` and `api_named` say the same of the API as a whole. `…_unasked`: the operation does something
    else than the question wants done."""

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
    near: float = 0.0
    api_near: float = 0.0
    api_named: float = 0.0
    intent_agrees: float = 0.0
    destroys_unasked: float = 0.0
    reads_unasked: float = 0.0
    keeps_unasked: float = 0.0
    is_preview: float = 0.0
    is_outdated: float = 0.0


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
    compare: Compare | None = None,
    without: Sequence[int] = (),
) -> list[RankedUnit]:
    """The units that answer `query` best, `without` those of some APIs, by words and where known by meaning.

    `similarities` are of all that units say, which finds; `compare` is asked about what they are called, which orders.
    """
    question = parse_query(query)
    if not question.concepts:
        return []
    found = _candidates(store, question, api_id, kinds, max(CANDIDATES, 2 * limit), without)
    if similarities:
        known = {unit.row.id for unit in found}
        near = _near(store, similarities, api_id, kinds, without)
        found += [unit for unit in near[:NEAREST_UNITS] if unit.row.id not in known]
    if not found:
        return []
    meanings = compare(query, list(map(_called, found))) if compare else [0.0] * len(found)
    ranked = _ranked(found, _described(store, question, found, meanings, similarities))
    ranked.sort(key=lambda unit: (-unit.score, len(unit.row.path), unit.row.id))
    return ranked[:limit]


def _near(
    store: ApiDescriptions, similarities: Similarities, api_id: int | None, kinds: Sequence[str], without: Sequence[int]
) -> list[FoundUnit]:
    """The units nearest in meaning, of one API where one is asked for."""
    if api_id is not None:
        similarities = similarities.among(store.unit_ids(api_id))
    return store.found(similarities.near(_NEAREST_LOOKED_AT), api_id=api_id, kinds=kinds, without=without)


def _called(unit: FoundUnit) -> str:
    """What a unit is called, in short."""
    return f"{unit.row.method} {unit.row.path} {unit.words.title} {unit.words.names}"


def _described(
    store: ApiDescriptions,
    question: ApiQuery,
    found: Sequence[FoundUnit],
    meanings: Sequence[float],
    similarities: Similarities | None,
) -> list[UnitFeatures]:
    """The features of each candidate."""
    weights = _concept_weights(store, question)
    best = max(unit.score for unit in found) or 1.0
    ids = [unit.row.id for unit in found]
    cosines = similarities.raw(ids) if similarities else {}
    rows = [_features(unit, question, weights, best, meaning) for unit, meaning in zip(found, meanings, strict=True)]
    lacking = _lacking(rows)
    nearest = max((*cosines.values(), 0.0)) or 1.0
    of_apis = _nearness_of_apis(store, found, similarities)
    newest = _newest_versions(found)
    return [
        row._replace(
            near_alone=lacking * max(0.0, cosines.get(unit.row.id, 0.0)),
            near=max(0.0, cosines.get(unit.row.id, 0.0)) / nearest,
            api_near=of_apis.get(unit.api_name, 0.0),
            is_outdated=float(_version_of(unit.row.path) < newest.get(_without_version(unit), (0, 0))),
        )
        for row, unit in zip(rows, found, strict=True)
    ]


def _nearness_of_apis(
    store: ApiDescriptions, found: Sequence[FoundUnit], similarities: Similarities | None
) -> dict[str, float]:
    """How near each API as a whole is to the question, 1 for the nearest; nothing where there is only one."""
    names = {unit.api_name for unit in found}
    if similarities is None or len(names) < 2:
        return {}
    overviews: dict[int, str] = {}
    for name in names:
        api = store.api(name)
        overviews |= {unit.id: name for unit in store.units(api.id, ("overview",))} if api else {}
    known = {overviews[key]: max(0.0, cosine) for key, cosine in similarities.raw(list(overviews)).items()}
    nearest = max((*known.values(), 0.0)) or 1.0
    return {name: cosine / nearest for name, cosine in known.items()}


def _newest_versions(found: Iterable[FoundUnit]) -> dict[tuple[str, str, str], tuple[int, int]]:
    """The newest stable version of each operation that there are several of."""
    newest: dict[tuple[str, str, str], tuple[int, int]] = {}
    for unit in found:
        if unit.row.path:
            key = _without_version(unit)
            newest[key] = max(newest.get(key, (0, 0)), _version_of(unit.row.path))
    return newest


def _without_version(unit: FoundUnit) -> tuple[str, str, str]:
    segments = (part for part in unit.row.path.lower().split("/") if not _VERSION.match(part))
    return unit.api_name, unit.row.method, "/".join("{}" if is_parameter_segment(part) else part for part in segments)


def _version_of(path: str) -> tuple[int, int]:
    """The version in a path; previews come before every stable one."""
    for part in path.lower().split("/"):
        if match := _VERSION.match(part):
            return (0 if match[2] else 1, int(match[1]))
    return (1, 0)


def _lacking(rows: Iterable[UnitFeatures]) -> float:
    """How much of the question even the best unit has no words for: 0 for as much as usual, 1 for all."""
    share = 1 - max(max(row.coverage, float(row.address or row.exact_title)) for row in rows)
    return max(0.0, share - _USUALLY_LACKING) / (1 - _USUALLY_LACKING)


def _ranked(found: Iterable[FoundUnit], rows: Iterable[UnitFeatures]) -> list[RankedUnit]:
    ranker = load_ranker(WEIGHTS_FILE, UnitFeatures._fields)
    ranked: list[RankedUnit] = []
    for unit, row in zip(found, rows, strict=True):
        by_words = ranker.score(row._replace(near_alone=0.0))
        ranked.append(
            RankedUnit(
                unit.row,
                unit.api_name,
                ranker.score(row),
                # A cosine similarity is a fair guess of how sure meaning is; its weight is for the order alone.
                confidence=max(ranker.confidence(by_words), row.near_alone),
                is_clear=by_words >= CLEAR_MATCH,
                is_near=not (unit.score or row.coverage),
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
    is_address = bool(row.path and question.path) and _shape(row.path) == _shape(question.path)
    has_method = question.method in ("", row.method)
    return UnitFeatures(
        bm25=unit.score / best,
        title_coverage=_coverage(question.concepts, title, weights),
        names_coverage=_coverage(question.concepts, names, weights),
        near_coverage=_coverage(question.concepts, near, weights),
        coverage=_coverage(question.concepts, anywhere, weights),
        title_asked=_share(title, asked),
        is_operation=row.kind == "operation",
        is_schema=row.kind in ("schema", "message"),
        exact_title=tuple(spoken) == question.stems,
        path_asked=_share(_path_stems(row.path), asked) if row.path else 0.0,
        verb_agrees=bool(row.path and question.verb) and question.verb in _verbs(row),
        address=is_address and has_method,
        address_of_other_method=is_address and not has_method,
        is_deprecated=row.deprecated,
        meaning=meaning,
        api_named=float(bool(set(stems_of(spaced(unit.api_name.replace("-", " "), after_acronyms=False))) & asked)),
        is_preview=float(bool(row.path) and _version_of(row.path)[0] == 0),
        **_intents(row, question.wanted),
    )


def _intents(row: UnitRow, wanted: str) -> dict[str, float]:
    """How what an operation does agrees with what is wanted."""
    does = intent_of(row)
    if not does:
        return {}
    writes = does in (CREATE, UPDATE)
    nearly = writes and wanted in (CREATE, UPDATE)
    return {
        "intent_agrees": 1.0 if does == wanted else 0.5 if nearly else 0.0,
        "destroys_unasked": float(does == DELETE and wanted != DELETE),
        "reads_unasked": float(does == READ and wanted in (CREATE, UPDATE, DELETE)),
        "keeps_unasked": float(writes and wanted == DELETE),
    }


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
