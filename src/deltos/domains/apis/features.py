"""Compute ranking features of operations for a query; a learned linear model weights the features.

Each query term is compared with the most similar term of a field, and each field term with the most similar query term.
Without an embedding model, only equal terms and known synonyms match.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from deltos.domains.apis.intent import ACT, ACTIONS, DELETE, READ_ACTIONS, action_of, requested_actions
from deltos.domains.apis.query import MAX_WORDS, synonyms_in_index, verb_of
from deltos.domains.apis.spec_text import index_words, is_parameter_segment, path_segments
from deltos.embed.protocol import TextToEmbed
from deltos.text.words import query_words, shared_words, tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deltos.embed.embedders import CombinedEmbedder
    from deltos.embed.protocol import Vectors
    from deltos.store.apis import UnitMatch

_MAX_DESCRIPTION_CHARACTERS = 600  # later text is rarely about the operation itself
_MAX_FIELD_WORDS = 70  # maximum number of terms per field; more terms have little effect
_UNRELATED_COSINE = 0.15  # typical cosine similarity of unrelated words
_UNKNOWN_WORD_WEIGHT = 0.8  # weight of words without a vector, often product names
_SYNONYM_SIMILARITY = 0.5  # similarity of synonyms if there is no embedding model
_MAX_TITLE_WORDS = 15
_PATH_VERSION = re.compile(r"^v(\d{1,6})(?:[._]\d{1,6})*(alpha|beta|rc|preview)?")
_PREPOSITIONS = frozenset("with of for in on to from by at as into using via about".split())


class OperationFeatures(NamedTuple):
    """Ranking features of one operation.

    - `question_in_X`: share of the query that field X covers.
    - `X_in_question`: share of field X that the query covers.
    - `names`: title, path and operation id together.
    - `parents`: nouns of the path before the last noun; `extra_parents`: number of parents that are not in the query.
    - `cosine`, `X_encoder_cosine`: similarity to the embedded query.
    - `X_cosine`: similarity to the sum of the query's word vectors.
    - `action_cosine`: similarity of the query to an action phrase such as "delete pet".
    - `object_match`: similarity of the last noun in the path and the object of the query, such as `issue` in "create an
      issue with labels".
    - `log_action_probability`: log probability that the query asks for the operation's action.
    - `api_similarity`: similarity of the operation's API to the query.

    Features of other fields and of exact term matches were tried without a gain.
    """

    bm25: float
    cosine: float
    cosine_of_best: float
    title_encoder_cosine: float
    names_encoder_cosine: float
    action_cosine: float
    names_cosine: float
    question_in_names: float
    question_in_all: float
    parents_in_question: float
    extra_parents: float
    description_in_question: float
    object_match: float
    log_action_probability: float
    delete_requested: float
    delete_unrequested: float
    read_unrequested: float
    write_unrequested: float
    depth: float
    parameters: float
    title_words: float
    is_deprecated: float
    is_preview: float
    is_outdated: float
    api_similarity: float


@dataclass(frozen=True, slots=True)
class _OperationTerms:
    """Index terms of an operation by field, the action that the operation performs, and the depth of the path."""

    title: Sequence[str]
    parents: Sequence[str]
    resource: Sequence[str]  # last noun in the path, such as `refunds` in `/refunds/{id}/cancel`
    names: Sequence[str]
    description: Sequence[str]
    all_terms: Sequence[str]
    action_terms: Sequence[str]
    action: int
    depth: int
    parameter_count: int


@dataclass(frozen=True, slots=True)
class _TermSimilarities:
    """Similarities of query terms to the terms of all operations, and term weights."""

    columns: Mapping[str, int]  # column number of each operation term in `similarities`
    similarities: Vectors  # one row per query term, one column per operation term
    question_weights: Vectors
    weights: Vectors
    vectors: Vectors | None = None  # word vectors of the operation terms
    question_vector: Vectors | None = None  # normalised sum of the query's word vectors
    encoder_vector: Vectors | None = None  # embedding of the query

    def question_share(self, fields: _FieldColumns) -> Vectors:
        """Return the share of the query that each field covers."""
        best: Vectors = np.maximum.reduceat(self.similarities[:, fields.columns], fields.starts, axis=1)
        share: Vectors = self.question_weights @ best / max(float(self.question_weights.sum()), 1e-9)
        return share

    def field_share(self, fields: _FieldColumns) -> Vectors:
        """Return the share of each field that the query covers."""
        weights = self.weights[fields.columns]
        covered_weight = np.add.reduceat(
            weights * self.similarities.max(axis=0, initial=0.0)[fields.columns], fields.starts
        )
        share = covered_weight / np.maximum(np.add.reduceat(weights, fields.starts), 1e-9)
        return share.astype(np.float32)

    def object_match(self, fields: _FieldColumns, rows: Sequence[int]) -> Vectors:
        """Return how well each field matches the query terms in `rows`.

        The result is the product of the similarity of the query terms to the field and of the field to the query terms.
        """
        if not rows:
            return np.zeros(len(fields.starts), np.float32)
        similarities = self.similarities[list(rows)]
        covered: Vectors = np.maximum.reduceat(similarities[:, fields.columns], fields.starts, axis=1).mean(axis=0)
        best = np.add.reduceat(similarities.max(axis=0)[fields.columns], fields.starts)
        sizes = np.diff(np.append(fields.starts, len(fields.columns)))
        match: Vectors = (covered * (best / sizes)).astype(np.float32)
        return match

    def cosines(self, fields: _FieldColumns) -> tuple[Vectors, Vectors]:
        """Return the cosine similarities of each field to the query's summed word vectors and to the embedded query."""
        if self.vectors is None or self.question_vector is None or self.encoder_vector is None:
            zeros = np.zeros(len(fields.starts), np.float32)
            return zeros, zeros
        sums = np.add.reduceat(self.vectors[fields.columns], fields.starts, axis=0)
        sums /= np.linalg.norm(sums, axis=1, keepdims=True) + np.float32(1e-9)
        return sums @ self.question_vector, sums @ self.encoder_vector


@dataclass(frozen=True, slots=True)
class _FieldColumns:
    """Column numbers of one field's terms for all operations, and the index at which each operation's columns start."""

    columns: np.ndarray[tuple[int, ...], np.dtype[np.intp]]
    starts: np.ndarray[tuple[int, ...], np.dtype[np.intp]]


def describe_operations(
    question: str,
    found: Sequence[UnitMatch],
    cosines: Sequence[float],
    *,
    model: CombinedEmbedder | None = None,
    api_similarities_by_name: Mapping[str, float] | None = None,
) -> Vectors:
    """Return one row of ranking features (`OperationFeatures`) for each operation.

    `cosines` contains the similarity of each operation to the query.
    """
    operations = [_operation_terms(unit) for unit in found]
    query_terms = list(dict.fromkeys(query_words(question).split()))[:MAX_WORDS]
    compared = _compare_terms(question, query_terms, operations, model)
    named = {
        **_term_features(operations, compared),
        "object_match": compared.object_match(
            _field_columns(compared, [each.resource for each in operations]),
            _object_term_positions(question, query_terms),
        ),
        **_action_features(operations, requested_actions(question)),
        **_shape_features(found, operations),
        "bm25": _relative_to_highest([unit.score for unit in found]),
        "cosine": np.array(cosines, np.float32),
        "cosine_of_best": _relative_to_highest(cosines),
        "api_similarity": _relative_to_highest(
            [(api_similarities_by_name or {}).get(unit.api_name, 0.0) for unit in found]
        ),
    }
    return np.column_stack([named[name] for name in OperationFeatures._fields]).astype(np.float32)


def _object_term_positions(question: str, query_terms: Sequence[str]) -> list[int]:
    """Return the positions of the query terms that name the object of the requested action.

    These are the terms before the first preposition, without verbs.
    """
    words = tokens(question)
    ends = next((at for at, word in enumerate(words) if at and word in _PREPOSITIONS), len(words))
    terms = set(_index_terms(" ".join(word for word in words[:ends] if not verb_of(word))))
    return [row for row, term in enumerate(query_terms) if term in terms]


def _operation_terms(unit: UnitMatch) -> _OperationTerms:
    """Return the index terms of an operation, grouped by field, with the action and the path depth."""
    segments = path_segments(unit.row.path.partition("#")[0].removesuffix(".json"))
    fixed = [index_words(segment) for segment in segments if not is_parameter_segment(segment)]
    title = _index_terms(unit.words.title)
    names = list(dict.fromkeys((*title, *_index_terms(unit.words.names))))
    description = _index_terms(unit.words.description[:_MAX_DESCRIPTION_CHARACTERS])
    last, parents = _index_terms(fixed[-1]) if fixed else [], _index_terms(" ".join(fixed[:-1]))
    nouns = [each for each in fixed if not all(map(verb_of, tokens(each)))]
    resource = _index_terms(nouns[-1]) if nouns else last
    action = action_of(unit.row.method, unit.row.path)
    return _OperationTerms(
        title=title,
        parents=parents,
        resource=resource,
        names=names,
        description=description,
        all_terms=list(dict.fromkeys((*names, *description, *_index_terms(unit.words.tags)))),
        action_terms=[*_action_terms(action), *last, *last, *parents[-2:]],
        action=action,
        depth=len(fixed),
        parameter_count=len(segments) - len(fixed),
    )


def _index_terms(text: str) -> list[str]:
    """Return the distinct index terms of a text, at most `_MAX_FIELD_WORDS`."""
    return list(dict.fromkeys(shared_words().of(text).split()))[:_MAX_FIELD_WORDS]


@lru_cache(maxsize=8)
def _action_terms(action: int) -> tuple[str, ...]:
    """Return the index terms of the name of an action."""
    return tuple(shared_words().of("" if action == ACT else ACTIONS[action]).split())


def _compare_terms(
    question: str, query_terms: Sequence[str], operations: Sequence[_OperationTerms], model: CombinedEmbedder | None
) -> _TermSimilarities:
    """Return the similarities of the query terms to all terms of the operations."""
    columns: dict[str, int] = {}
    for operation in operations:
        for word in (*operation.all_terms, *operation.parents, *operation.resource, *operation.action_terms):
            columns.setdefault(word, len(columns))
    term_matches = np.zeros((len(query_terms), len(columns) + 1), np.float32)  # the last column is for empty fields
    for row, word in enumerate(query_terms):
        if (column := columns.get(word)) is not None:
            term_matches[row, column] = 1.0
    if model is None:
        for row, word in enumerate(query_terms):
            for other in synonyms_in_index(word):
                if (column := columns.get(other)) is not None:
                    term_matches[row, column] = max(term_matches[row, column], _SYNONYM_SIMILARITY)
        weights = np.append(np.ones(len(columns), np.float32), np.float32(0))
        return _TermSimilarities(columns, term_matches, np.ones(len(query_terms), np.float32), weights)
    table = model.table
    vectors = np.vstack([table.word_vectors(list(columns)), np.zeros((1, table.dimensions), np.float32)])
    asked_vectors = table.word_vectors(query_terms)
    lengths, asked_lengths = np.linalg.norm(vectors, axis=1), np.linalg.norm(asked_vectors, axis=1)
    similar = (asked_vectors / (asked_lengths[:, None] + 1e-9)) @ (vectors / (lengths[:, None] + 1e-9)).T
    similarities = np.maximum(np.maximum(0.0, (similar - _UNRELATED_COSINE) / (1 - _UNRELATED_COSINE)), term_matches)
    weights = np.where(lengths > 0, lengths, _UNKNOWN_WORD_WEIGHT)
    weights[-1] = 0.0
    total = asked_vectors.sum(axis=0)
    question_weights = np.where(asked_lengths > 0, asked_lengths, _UNKNOWN_WORD_WEIGHT)
    encoder_vector = model.question_in_word_space(TextToEmbed(question, " ".join(query_terms)))
    return _TermSimilarities(
        columns,
        similarities,
        question_weights,
        weights,
        vectors,
        total / (np.linalg.norm(total) + 1e-9),
        encoder_vector,
    )


def _field_columns(compared: _TermSimilarities, texts: Sequence[Sequence[str]]) -> _FieldColumns:
    """Return the columns of one field; `texts` contains the terms in the field for each operation."""
    no_term = len(compared.columns)
    columns: list[int] = []
    starts: list[int] = []
    for words in texts:
        starts.append(len(columns))
        columns += [compared.columns[word] for word in words] or [no_term]
    return _FieldColumns(np.array(columns, np.intp), np.array(starts, np.intp))


def _term_features(operations: Sequence[_OperationTerms], compared: _TermSimilarities) -> dict[str, Vectors]:
    """Return features that compare the terms of the query and of each operation, by feature name."""
    title = _field_columns(compared, [each.title for each in operations])
    names = _field_columns(compared, [each.names for each in operations])
    _, title_encoder_cosine = compared.cosines(title)
    names_cosine, names_encoder_cosine = compared.cosines(names)
    parents_in_question = compared.field_share(_field_columns(compared, [each.parents for each in operations]))
    action_cosine, _ = compared.cosines(_field_columns(compared, [each.action_terms for each in operations]))
    return {
        "title_encoder_cosine": title_encoder_cosine,
        "names_encoder_cosine": names_encoder_cosine,
        "action_cosine": action_cosine,
        "names_cosine": names_cosine,
        "question_in_names": compared.question_share(names),
        "question_in_all": compared.question_share(_field_columns(compared, [each.all_terms for each in operations])),
        "parents_in_question": parents_in_question,
        "extra_parents": (1 - parents_in_question) * np.array([len(each.parents) for each in operations], np.float32),
        "description_in_question": compared.field_share(
            _field_columns(compared, [each.description for each in operations])
        ),
    }


def _action_features(operations: Sequence[_OperationTerms], wanted: Sequence[float]) -> dict[str, Vectors]:
    """Return features that compare the action of each operation with the requested action, by feature name."""
    action = np.array([each.action for each in operations], np.intp)
    requested_probabilities = np.array(wanted, np.float32)
    reads = float(requested_probabilities[list(READ_ACTIONS)].sum())
    destroys, is_read = action == DELETE, np.isin(action, READ_ACTIONS)
    return {
        "log_action_probability": np.log(requested_probabilities[action] + 0.02),
        "delete_requested": destroys * requested_probabilities[DELETE],
        "delete_unrequested": destroys * (1 - requested_probabilities[DELETE]),
        "read_unrequested": is_read * (1 - reads),
        "write_unrequested": (~is_read & ~destroys) * reads,
    }


def _shape_features(found: Sequence[UnitMatch], operations: Sequence[_OperationTerms]) -> dict[str, Vectors]:
    """Return features that do not depend on the query, by feature name."""
    newest = _newest_versions(found)
    versions = [_version_of(unit.row.path) for unit in found]
    return {
        "depth": np.array([each.depth for each in operations], np.float32),
        "parameters": np.array([each.parameter_count for each in operations], np.float32),
        "title_words": np.array([min(len(each.title), _MAX_TITLE_WORDS) for each in operations], np.float32),
        "is_deprecated": np.array([unit.row.deprecated for unit in found], np.float32),
        "is_preview": np.array([version[0] == 0 for version in versions], np.float32),
        "is_outdated": np.array(
            [version < newest[_version_independent_key(unit)] for unit, version in zip(found, versions, strict=True)],
            np.float32,
        ),
    }


def _relative_to_highest(values: Sequence[float]) -> Vectors:
    """Return the values, each divided by the highest value."""
    highest = max((*values, 0.0)) or 1.0
    return np.array(values, np.float32) / np.float32(highest)


def _version_of(path: str) -> tuple[int, int]:
    """Return the API version in a path as a sort key; previews come before stable versions."""
    for part in path.lower().split("/"):
        if match := _PATH_VERSION.match(part):
            return (0 if match[2] else 1, int(match[1]))
    return (1, 0)


def _version_independent_key(unit: UnitMatch) -> tuple[str, str, str]:
    """Return a key that is equal for all versions of the same operation."""
    segments = (part for part in unit.row.path.lower().split("/") if not _PATH_VERSION.match(part))
    return unit.api_name, unit.row.method, "/".join("{}" if is_parameter_segment(part) else part for part in segments)


def _newest_versions(found: Iterable[UnitMatch]) -> dict[tuple[str, str, str], tuple[int, int]]:
    """Return the newest stable version of each operation, by version-independent key."""
    newest: dict[tuple[str, str, str], tuple[int, int]] = {}
    for unit in found:
        key = _version_independent_key(unit)
        newest[key] = max(newest.get(key, (0, 0)), _version_of(unit.row.path))
    return newest
