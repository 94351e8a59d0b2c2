"""What speaks for each of some operations as the answer to a question: a row of numbers, which a learned ranker weighs.

Words are compared softly: each word of the question with the word of a field that is nearest in meaning, and each word
of a field with the nearest of the question. Without a model only the same words and known synonyms are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from deltos.domains.apis.intent import ACT, ACTIONS, DELETE, READS, action_of, wanted_of
from deltos.domains.apis.prose import index_words, is_parameter_segment, path_segments
from deltos.domains.apis.query import MAX_WORDS, synonyms_in_index
from deltos.domains.apis.version import newest_versions, version_of, without_version
from deltos.embed.protocol import TextToEmbed
from deltos.text.words import asked_words, shared_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deltos.embed.protocol import Vectors
    from deltos.embed.reading import ReadingModel
    from deltos.store.apis import FoundUnit

_DESCRIPTION_CHARACTERS = 600  # what comes later in a description is rarely about the operation as a whole
_FIELD_WORDS = 70  # of each field; further ones say little
_UNLIKE = 0.15  # cosine similarity of words that have nothing to do with each other
_UNKNOWN_WEIGHT = 0.8  # of a word that the model does not know: names of products and the like tell much
_SYNONYM_NEARNESS = 0.5  # about what the model gives words such as "abort" and "cancel"
_LONGEST_TITLE = 15


class OperationFeatures(NamedTuple):
    """What speaks for an operation. `covers_…`: how much of the question a field says; `asked_…`: how much of a field
    the question says. `called` is title, path and operation id together, `before` the nouns of the path before the
    last one. `cosine` and `read_…` are of the question as a whole, the other cosines of the sum of its words:
    `action_cosine` of a sentence such as "delete pet". `verb` is of the first words of question and title.

    `likely` is the logarithm of the probability that the question wants done what the operation does. `api_…` say the
    same of its API as a whole. Other fields and the same words alone were tried: they added nothing to these.
    """

    bm25: float
    cosine: float
    cosine_of_best: float
    read_title: float
    read_called: float
    title_cosine: float
    action_cosine: float
    called_cosine: float
    covers_called: float
    covers_all: float
    asked_before: float
    asked_described: float
    verb: float
    likely: float
    destroys_asked: float
    destroys_unasked: float
    reads_unasked: float
    writes_unasked: float
    depth: float
    parameters: float
    title_words: float
    is_deprecated: float
    is_preview: float
    is_outdated: float
    api_near: float
    api_named: float


@dataclass(frozen=True, slots=True)
class _Spoken:
    """An operation in index words, by field, and what it does in those of an interface."""

    title: Sequence[str]
    before: Sequence[str]
    called: Sequence[str]
    described: Sequence[str]
    all: Sequence[str]
    action: Sequence[str]
    does: int
    depth: int
    parameters: int


@dataclass(frozen=True, slots=True)
class _Compared:
    """How near each word of the question is to each word of the operations, and what each of them weighs."""

    columns: Mapping[str, int]
    near: Vectors
    asked_weights: Vectors
    weights: Vectors
    vectors: Vectors | None = None
    asked_vector: Vectors | None = None
    read_vector: Vectors | None = None

    def covers(self, fields: _Columns) -> Vectors:
        """The share of the question that each field says."""
        best: Vectors = np.maximum.reduceat(self.near[:, fields.columns], fields.starts, axis=1)
        share: Vectors = self.asked_weights @ best / max(float(self.asked_weights.sum()), 1e-9)
        return share

    def asked(self, fields: _Columns) -> Vectors:
        """The share of each field that the question says."""
        weights = self.weights[fields.columns]
        said = np.add.reduceat(weights * self.near.max(axis=0, initial=0.0)[fields.columns], fields.starts)
        share = said / np.maximum(np.add.reduceat(weights, fields.starts), 1e-9)
        return share.astype(np.float32)

    def cosines(self, fields: _Columns) -> tuple[Vectors, Vectors]:
        """The cosine similarity of each field, a sum of words, to the sum of the question's and to it as a whole."""
        if self.vectors is None or self.asked_vector is None or self.read_vector is None:
            nothing = np.zeros(len(fields.starts), np.float32)
            return nothing, nothing
        sums = np.add.reduceat(self.vectors[fields.columns], fields.starts, axis=0)
        sums /= np.linalg.norm(sums, axis=1, keepdims=True) + np.float32(1e-9)
        return sums @ self.asked_vector, sums @ self.read_vector


@dataclass(frozen=True, slots=True)
class _Columns:
    """One field of all operations: the columns of its words, and where each operation's begin."""

    columns: np.ndarray[tuple[int, ...], np.dtype[np.intp]]
    starts: np.ndarray[tuple[int, ...], np.dtype[np.intp]]


def describe_operations(
    question: str,
    found: Sequence[FoundUnit],
    cosines: Sequence[float],
    *,
    model: ReadingModel | None = None,
    near_apis: Mapping[str, float] | None = None,
) -> Vectors:
    """A row of `OperationFeatures` for each operation; `cosines` are of all that they say."""
    spoken = [_spoken(unit) for unit in found]
    asked = list(dict.fromkeys(asked_words(question).split()))[:MAX_WORDS]
    compared = _compare(question, asked, spoken, model)
    named = {
        **_by_words(spoken, compared),
        **_by_intent(spoken, wanted_of(question)),
        **_by_shape(found, spoken),
        "bm25": _of_highest([unit.score for unit in found]),
        "cosine": np.array(cosines, np.float32),
        "cosine_of_best": _of_highest(cosines),
        **_by_api(asked, found, near_apis or {}),
    }
    return np.column_stack([named[name] for name in OperationFeatures._fields]).astype(np.float32)


def _spoken(unit: FoundUnit) -> _Spoken:
    segments = path_segments(unit.row.path.partition("#")[0].removesuffix(".json"))
    fixed = [index_words(segment) for segment in segments if not is_parameter_segment(segment)]
    title = _words(unit.words.title)
    called = list(dict.fromkeys((*title, *_words(unit.words.names))))
    described = _words(unit.words.description[:_DESCRIPTION_CHARACTERS])
    last, before = _words(fixed[-1]) if fixed else [], _words(" ".join(fixed[:-1]))
    does = action_of(unit.row.method, unit.row.path)
    return _Spoken(
        title=title,
        before=before,
        called=called,
        described=described,
        all=list(dict.fromkeys((*called, *described, *_words(unit.words.tags)))),
        action=[*_action_words(does), *last, *last, *before[-2:]],
        does=does,
        depth=len(fixed),
        parameters=len(segments) - len(fixed),
    )


def _words(text: str) -> list[str]:
    return list(dict.fromkeys(shared_words().of(text).split()))[:_FIELD_WORDS]


@lru_cache(maxsize=8)
def _action_words(action: int) -> tuple[str, ...]:
    """What an operation does, in the words of the index."""
    return tuple(shared_words().of("" if action == ACT else ACTIONS[action]).split())


def _compare(question: str, asked: Sequence[str], spoken: Sequence[_Spoken], model: ReadingModel | None) -> _Compared:
    columns: dict[str, int] = {}
    for operation in spoken:
        for word in (*operation.all, *operation.before, *operation.action):
            columns.setdefault(word, len(columns))
    is_same = np.zeros((len(asked), len(columns) + 1), np.float32)  # the last column stands for no word
    for row, word in enumerate(asked):
        if (column := columns.get(word)) is not None:
            is_same[row, column] = 1.0
    if model is None:
        for row, word in enumerate(asked):
            for other in synonyms_in_index(word):
                if (column := columns.get(other)) is not None:
                    is_same[row, column] = max(is_same[row, column], _SYNONYM_NEARNESS)
        weights = np.append(np.ones(len(columns), np.float32), np.float32(0))
        return _Compared(columns, is_same, np.ones(len(asked), np.float32), weights)
    table = model.table
    vectors = np.vstack([table.word_vectors(list(columns)), np.zeros((1, table.dimensions), np.float32)])
    asked_vectors = table.word_vectors(asked)
    lengths, asked_lengths = np.linalg.norm(vectors, axis=1), np.linalg.norm(asked_vectors, axis=1)
    similar = (asked_vectors / (asked_lengths[:, None] + 1e-9)) @ (vectors / (lengths[:, None] + 1e-9)).T
    near = np.maximum(np.maximum(0.0, (similar - _UNLIKE) / (1 - _UNLIKE)), is_same)
    weights = np.where(lengths > 0, lengths, _UNKNOWN_WEIGHT)
    weights[-1] = 0.0
    total = asked_vectors.sum(axis=0)
    asked_weights = np.where(asked_lengths > 0, asked_lengths, _UNKNOWN_WEIGHT)
    read = model.words_of_question(TextToEmbed(question, " ".join(asked)))
    return _Compared(columns, near, asked_weights, weights, vectors, total / (np.linalg.norm(total) + 1e-9), read)


def _columns(compared: _Compared, texts: Sequence[Sequence[str]]) -> _Columns:
    none = len(compared.columns)
    columns: list[int] = []
    starts: list[int] = []
    for words in texts:
        starts.append(len(columns))
        columns += [compared.columns[word] for word in words] or [none]
    return _Columns(np.array(columns, np.intp), np.array(starts, np.intp))


def _by_words(spoken: Sequence[_Spoken], compared: _Compared) -> dict[str, Vectors]:
    """How much question and operation say the same, by field."""
    title = _columns(compared, [each.title for each in spoken])
    called = _columns(compared, [each.called for each in spoken])
    verbs = _columns(compared, [each.title[:2] for each in spoken])
    first = compared.near[:1].max(axis=0, initial=0.0)
    title_cosine, read_title = compared.cosines(title)
    called_cosine, read_called = compared.cosines(called)
    action_cosine, _ = compared.cosines(_columns(compared, [each.action for each in spoken]))
    return {
        "read_title": read_title,
        "read_called": read_called,
        "title_cosine": title_cosine,
        "action_cosine": action_cosine,
        "called_cosine": called_cosine,
        "covers_called": compared.covers(called),
        "covers_all": compared.covers(_columns(compared, [each.all for each in spoken])),
        "asked_before": compared.asked(_columns(compared, [each.before for each in spoken])),
        "asked_described": compared.asked(_columns(compared, [each.described for each in spoken])),
        "verb": np.maximum.reduceat(first[verbs.columns], verbs.starts),
    }


def _by_intent(spoken: Sequence[_Spoken], wanted: Sequence[float]) -> dict[str, Vectors]:
    """How what an operation does agrees with what is wanted."""
    does = np.array([each.does for each in spoken], np.intp)
    likely = np.array(wanted, np.float32)
    reads = float(likely[list(READS)].sum())
    destroys, is_read = does == DELETE, np.isin(does, READS)
    return {
        "likely": np.log(likely[does] + 0.02),
        "destroys_asked": destroys * likely[DELETE],
        "destroys_unasked": destroys * (1 - likely[DELETE]),
        "reads_unasked": is_read * (1 - reads),
        "writes_unasked": (~is_read & ~destroys) * reads,
    }


def _by_shape(found: Sequence[FoundUnit], spoken: Sequence[_Spoken]) -> dict[str, Vectors]:
    """What an operation looks like, whatever is asked."""
    newest = newest_versions(found)
    versions = [version_of(unit.row.path) for unit in found]
    return {
        "depth": np.array([each.depth for each in spoken], np.float32),
        "parameters": np.array([each.parameters for each in spoken], np.float32),
        "title_words": np.array([min(len(each.title), _LONGEST_TITLE) for each in spoken], np.float32),
        "is_deprecated": np.array([unit.row.deprecated for unit in found], np.float32),
        "is_preview": np.array([version[0] == 0 for version in versions], np.float32),
        "is_outdated": np.array(
            [version < newest[without_version(unit)] for unit, version in zip(found, versions, strict=True)], np.float32
        ),
    }


def _by_api(asked: Sequence[str], found: Sequence[FoundUnit], near_apis: Mapping[str, float]) -> dict[str, Vectors]:
    """What speaks for the API of an operation among others."""
    names = [unit.api_name for unit in found]
    is_named = {name: not set(asked).isdisjoint(_words(name.replace("-", " "))) for name in set(names)}
    highest = max((*near_apis.values(), 1e-6))
    return {
        "api_near": np.array([near_apis.get(name, 0.0) / highest for name in names], np.float32),
        "api_named": np.array([is_named[name] for name in names], np.float32),
    }


def _of_highest(values: Sequence[float]) -> Vectors:
    """Each value as a share of the highest."""
    highest = max((*values, 0.0)) or 1.0
    return np.array(values, np.float32) / np.float32(highest)
