"""Question to units of APIs: matched by words in the store, ordered by how much of it they answer."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.apis.prose import is_parameter_segment, path_segments
from deltos.domains.apis.query import analyse, stems_of, verb_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from deltos.domains.apis.query import ApiQuery, Concept
    from deltos.store.apis import ApiDescriptions, FoundUnit, UnitRow

    Compare = Callable[[str, Sequence[str]], list[float]]

COLUMN_WEIGHTS = (6.0, 8.0, 2.0, 1.5, 0.5)
CANDIDATES = 120
KINDS_OF_TYPE: Mapping[str, tuple[str, ...]] = {
    "endpoint": ("operation", "webhook"),
    "schema": ("schema", "message"),
    "overview": ("overview", "tag"),
    "reference": ("operation", "webhook", "schema", "message"),
}
TYPE_OF_KIND = {
    "operation": "endpoint",
    "webhook": "endpoint",
    "schema": "schema",
    "message": "schema",
    "overview": "overview",
    "tag": "overview",
}
# What a standard deviation of likeness to the question is worth.
MEANING_WEIGHT = 0.1
_SEARCHED_APART = (("operation",), ("webhook", "schema", "message", "tag", "overview"))
_KIND_PRIOR = {
    "operation": 0.25,
    "webhook": 0.0,
    "schema": 0.05,
    "message": 0.05,
    "tag": 0.0,
    "overview": 0.0,
}

# From here on a question is about the unit and not about something else that shares its words: 95 % of paraphrased
# operations reach it, 3 % of questions about documentation do.
CLEAR_MATCH = 1.7


@dataclass(frozen=True, slots=True)
class RankedUnit:
    """A unit and how well it answers, best 1 or a little above."""

    row: UnitRow
    api_name: str
    score: float


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
    compare: Compare | None = None,
    without: Sequence[int] = (),
) -> list[RankedUnit]:
    """The units that answer `query` best, `without` those of some APIs; `compare` says how alike texts are in
    meaning."""
    question = analyse(query)
    if not question.concepts:
        return []
    found = _candidates(store, question, api_id, kinds, max(CANDIDATES, 2 * limit), without)
    if not found:
        return []
    weights = _concept_weights(store, question)
    best = max(unit.score for unit in found)
    meanings = compare(query, [_spoken(unit) for unit in found]) if compare else [0.0] * len(found)
    ranked = [
        RankedUnit(unit.row, unit.api_name, _score(unit, question, weights, best) + MEANING_WEIGHT * meaning)
        for unit, meaning in zip(found, meanings, strict=True)
    ]
    ranked.sort(key=lambda unit: (-unit.score, len(unit.row.path), unit.row.id))
    return ranked[:limit]


def _spoken(unit: FoundUnit) -> str:
    """What a unit says of itself, in short."""
    return f"{unit.row.method} {unit.row.path} {unit.words.title} {unit.words.names}"


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
        concept.word: math.log(1 + (total + 0.5) / (frequencies.get(stem, 0) + 0.5))
        for concept, stem in zip(question.concepts, stems, strict=True)
    }


def _score(unit: FoundUnit, question: ApiQuery, weights: Mapping[str, float], best: float) -> float:
    spoken = stems_of(unit.words.title)
    title, names = set(spoken), set(stems_of(unit.words.names))
    near = title | names | set(stems_of(unit.words.tags))
    anywhere = near | set(stems_of(unit.words.description[:600]))
    asked = {
        stem for concept in question.concepts for stem in (concept.stems if not concept.verb else [*concept.stems][:1])
    }
    score = 0.35 * unit.score / best
    score += 0.45 * _coverage(question.concepts, title, weights)
    score += 0.30 * _coverage(question.concepts, names, weights)
    score += 0.45 * _coverage(question.concepts, near, weights)
    score += 0.20 * _coverage(question.concepts, anywhere, weights)
    score += 0.25 * _share(title, asked)
    score += _KIND_PRIOR[unit.row.kind]
    score += 0.50 * (tuple(spoken) == question.stems)
    if unit.row.path:
        score += 0.35 * _share(_path_stems(unit.row.path), asked)
        score += 0.20 * _verb_agreement(unit.row, question.verb)
        score += _address_bonus(unit.row, question)
    return score - 0.05 * unit.row.deprecated


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
    return set(stems_of(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", fixed)))


def _verb_agreement(row: UnitRow, verb: str) -> float:
    """Whether an operation does what the question wants done."""
    if not verb:
        return 0.0
    return 1.0 if verb in _verbs(row) else 0.0


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


def _address_bonus(row: UnitRow, question: ApiQuery) -> float:
    """A question that is an address means the operation that lives there."""
    if not question.path or _shape(row.path) != _shape(question.path):
        return 0.0
    return 2.0 if question.method in ("", row.method) else 0.5


def _shape(path: str) -> str:
    return "/".join("{}" if is_parameter_segment(part) else part.lower() for part in path.strip("/").split("/"))
