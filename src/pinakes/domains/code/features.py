"""What speaks for a file, as numbers: lexical and structural features of one candidate. Knows words, never storage."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from pinakes.domains.code.paths import is_aside, is_built, is_settings, is_test, telling_stem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinakes.domains.code.query import CodeQuery
    from pinakes.store.code import DefinitionRecord, FileRow

OWN_FEATURES = (
    "bm25_best",
    "bm25_second",
    "bm25_third",
    "bm25_file",
    "chunk_hits",
    "chunk_sum",
    "chunk_coverage",
    "file_coverage",
    "symbol_coverage",
    "doc_coverage",
    "stem_share",
    "stem_covered",
    "stem_prefix",
    "stem_exact",
    "folder_share",
    "name_best",
    "name_share",
    "joined_path",
    "joined_name",
    "joined_body",
    "defined_exact",
    "defined_loose",
    "defined_top",
    "defined_file",
    "is_test",
    "is_aside",
    "is_built",
    "is_settings",
    "is_init",
    "is_declaration",
    "is_prose",
    "is_data",
    "is_unknown",
    "length",
    "depth",
)
# These count again relative to the best candidate of the same query,
RELATIVE = ("bm25_best", "bm25_file", "chunk_coverage", "stem_share", "name_best", "file_coverage", "chunk_sum")
# and these again in proportion to the length of the query: a long one speaks less of names and more of content.
BY_LENGTH = (
    "stem_covered", "stem_share", "folder_share", "bm25_best", "chunk_coverage", "chunk_hits", "chunk_sum", "is_test", "name_best",
)
FEATURES = OWN_FEATURES + tuple(f"{name}_relative" for name in RELATIVE) + tuple(f"{name}_by_length" for name in BY_LENGTH)
_RELATIVE_COLUMNS = tuple(OWN_FEATURES.index(name) for name in RELATIVE)
_BY_LENGTH_COLUMNS = tuple(OWN_FEATURES.index(name) for name in BY_LENGTH)
_LONG_QUERY_TERMS = 8
_PREFIX = 4
_PROSE = frozenset({"markdown", "rst", "asciidoc", "text"})
_PROSE_SUFFIXES = (".txt", ".rst", ".adoc", ".md")
_DATA = frozenset({"json", "yaml", "toml", "xml", "html", "css", "sql"})
_TOP_KINDS = frozenset({"function", "class", "interface", "enum", "type", "component", "module"})


@dataclass(slots=True)
class Candidate:
    """A file that may answer, and what the index said about it."""

    file: FileRow
    chunk_scores: list[tuple[float, int]] = field(default_factory=list)
    file_score: float = 0.0
    definitions: list[DefinitionRecord] = field(default_factory=list)

    def best_chunks(self) -> list[tuple[float, int]]:
        """Its three best chunks by words: score and id."""
        return heapq.nlargest(3, self.chunk_scores)


@dataclass(frozen=True, slots=True)
class Weights:
    """How rare each query word is: its share of the whole query."""

    by_term: Mapping[str, float]
    joined: tuple[str, ...]

    @classmethod
    def of(cls, query: CodeQuery, frequencies: Mapping[str, int], chunk_count: int) -> Weights:
        """Inverse document frequency, normalised to a sum of one."""
        raw = {term: math.log(1 + chunk_count / (1 + frequencies.get(term, 0))) for term in query.terms}
        total = sum(raw.values()) or 1.0
        known = tuple(compound for compound in query.joined if frequencies.get(compound))
        return cls({term: value / total for term, value in raw.items()}, known)

    def share(self, words: set[str]) -> float:
        """How much of the query the words cover."""
        return sum(weight for term, weight in self.by_term.items() if term in words)


def describe(
    candidates: Sequence[Candidate], query: CodeQuery, weights: Weights, texts: Mapping[int, tuple[str, str, str]]
) -> list[list[float]]:
    """The features of all candidates of one query, in the order of FEATURES."""
    rows = [_own(candidate, query, weights, texts) for candidate in candidates]
    best = {i: max((row[i] for row in rows), default=0.0) + 1e-9 for i in _RELATIVE_COLUMNS}
    length = min(1.0, len(query.terms) / _LONG_QUERY_TERMS)
    return [
        row + [row[i] / best[i] for i in _RELATIVE_COLUMNS] + [row[i] * length for i in _BY_LENGTH_COLUMNS] for row in rows
    ]


def _own(
    candidate: Candidate, query: CodeQuery, weights: Weights, texts: Mapping[int, tuple[str, str, str]]
) -> list[float]:
    """What one candidate shows by itself, in the order of OWN_FEATURES."""
    file = candidate.file
    stem, folders = set(file.stem.split()), set(file.folders.split())
    best = candidate.best_chunks()
    chunk = [texts[chunk_id] for _, chunk_id in best if chunk_id in texts]
    bodies = [set(f"{symbol} {doc} {body}".split()) for symbol, doc, body in chunk]
    scores = [score for score, _ in best] + [0.0, 0.0, 0.0]
    names, name_words = _names(file.names)
    everything = stem.union(folders, name_words, *bodies)
    return [
        scores[0],
        scores[1],
        scores[2],
        candidate.file_score,
        math.log(1 + len(candidate.chunk_scores)),
        math.log(1 + sum(score for score, _ in candidate.chunk_scores)),
        max((weights.share(body) for body in bodies), default=0.0),
        weights.share(everything),
        max((weights.share(set(symbol.split())) for symbol, _, _ in chunk), default=0.0),
        max((weights.share(set(doc.split())) for _, doc, _ in chunk), default=0.0),
        weights.share(stem),
        _covered(file.path, stem, query),
        _prefix_share(stem, weights),
        float(_squash(telling_stem(file.path)[0]) in _squashed_query(query)),
        weights.share(folders - stem),
        _best_name(names, weights),
        weights.share(name_words),
        float(any(compound in stem or compound in folders for compound in weights.joined)),
        float(any(compound in name_words for compound in weights.joined)),
        float(any(compound in body for compound in weights.joined for body in bodies)),
        *_definition_features(candidate, query),
        *_priors(file, query),
    ]


def _names(text: str) -> tuple[list[list[str]], set[str]]:
    names = [group.split() for group in text.split(" | ")] if text else []
    return names, {word for name in names for word in name}


def _covered(path: str, stem: set[str], query: CodeQuery) -> float:
    """How much of the stem's own words the query speaks of."""
    compound = _squash(telling_stem(path)[0])
    parts = stem - {compound} if len(stem) > 1 else stem
    return sum(part in query.terms for part in parts) / len(parts) if parts else 0.0


def _prefix_share(stem: set[str], weights: Weights) -> float:
    """How much of the query matches the stem by a common beginning only: `serialize` and `serializer`."""
    return sum(
        weight
        for term, weight in weights.by_term.items()
        if term not in stem and len(term) >= _PREFIX and any(_akin(term, word) for word in stem)
    )


def _akin(left: str, right: str) -> bool:
    shorter, longer = sorted((left, right), key=len)
    return len(shorter) >= _PREFIX and longer.startswith(shorter)


def _best_name(names: Sequence[Sequence[str]], weights: Weights) -> float:
    """The best defined name: share of the query it covers times share of itself that the query covers."""
    best = 0.0
    by_term = weights.by_term
    for name in names:
        hits = [by_term[word] for word in name if word in by_term]
        if hits:
            parts = len(name) - 1 if len(name) > 2 else len(name)
            best = max(best, sum(hits) * min(1.0, len(hits) / parts))
    return best


def _definition_features(candidate: Candidate, query: CodeQuery) -> tuple[float, float, float, float]:
    """Whether the file defines a name of the query: exactly, in another case, at the top level, and as its own subject."""
    exact = loose = top = own = 0.0
    subject = _squash(telling_stem(candidate.file.path)[0])
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


def _priors(file: FileRow, query: CodeQuery) -> tuple[float, ...]:
    path = file.path
    return (
        float(is_test(path) and not query.about_tests),
        float(is_aside(path)),
        float(is_built(path)),
        float(is_settings(path)),
        float(path.endswith("__init__.py")),
        float(path.endswith((".d.ts", ".d.mts", ".d.cts"))),
        float(file.language in _PROSE or path.endswith(_PROSE_SUFFIXES)),
        float(file.language in _DATA),
        float(not file.language),
        math.log(1 + file.lines) / 10,
        path.count("/") / 10,
    )


@lru_cache(maxsize=8192)
def _squash(name: str) -> str:
    return "".join(char for char in name.lower() if char.isalnum())


def _squashed_query(query: CodeQuery) -> set[str]:
    return {_squash(word) for word in query.text.split()} | set(query.joined)
