"""Find earlier statements that may contradict a statement, so that the caller can decide which one is valid.

Two statements may conflict if they share most of their rare words and differ in a value. Natural language is not
interpreted here: the agent sees both statements with the dates and supersedes one statement.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.memory.core.model import RECORD_PREFIXES
from deltos.text.language_table import has_marker, stop_words
from deltos.text.stop_words import PROSE_STOP_WORDS
from deltos.text.unspaced_scripts import unspaced_words
from deltos.text.words import tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deltos.store.observations import Observation

STATEMENT_KINDS = ("decision", "preference", "note", "request", "finding")
MAX_STATEMENTS_COMPARED = 400  # number of newest statements of a project that are compared
MAX_CONFLICTS = 3
_MAX_STATEMENT_CHARACTERS = 500  # longer texts usually contain several statements
_MAX_STEM_CHARACTERS = 5
_MIN_SHARED_STEMS = 2
_MIN_SHARED_STEM_SHARE = 0.5  # share, by weight, of the shorter statement's stems that the other one contains
_FREQUENCY_SMOOTHING = 10  # added to the number of statements, so that rare stems count in a small memory too


class _Statement(NamedTuple):
    """A parsed statement: weights of its stems, its numbers, and whether it negates or replaces a value."""

    weights: Mapping[str, float]
    numbers: frozenset[str]
    is_change: bool


def find_conflicts(text: str, older: Iterable[Observation]) -> list[Observation]:
    """Return the statements that may contradict a text, closest in topic first."""
    rows = [row for row in older if is_statement(row)]
    first, *others = _parse_statements([text, *(row.text for row in rows)])
    scored = [(_overlap(first, other), row) for other, row in zip(others, rows, strict=True)]
    return [row for share, row in sorted(scored, key=lambda pair: -pair[0])[:MAX_CONFLICTS] if share]


def conflicting_pairs(newest_first: Iterable[Observation]) -> list[tuple[Observation, Observation]]:
    """Return pairs of statements that may contradict each other; the newer statement of each pair is first."""
    found: list[tuple[Observation, Observation]] = []
    rows = [row for row in newest_first if is_statement(row)]
    statements = _parse_statements([row.text for row in rows])
    for at, newer in enumerate(rows):
        others = [
            (share, other)
            for other in range(at + 1, len(rows))
            if (share := _overlap(statements[at], statements[other]))
        ]
        if others:
            found.append((newer, rows[max(others)[1]]))
    return found


def is_statement(row: Observation) -> bool:
    """Whether an observation is a single statement that a later statement may replace."""
    is_short = len(row.text) <= _MAX_STATEMENT_CHARACTERS and not row.text.rstrip().endswith(("?", "？"))
    return (
        is_short and row.kind in STATEMENT_KINDS and row.source != "agent" and not row.text.startswith(RECORD_PREFIXES)
    )


def topic_stems(text: str) -> frozenset[str]:
    """Return the stems of the content words in a text; for scripts without spaces, return letter pairs (bigrams)."""
    small = PROSE_STOP_WORDS | stop_words("de", "es", "fr")
    words = (word for token in tokens(text) for word in unspaced_words(token) or (token,))
    kept = (word for word in words if word not in small and not all("\u3040" <= letter <= "\u309f" for letter in word))
    return frozenset(word if word.isdecimal() else word[:_MAX_STEM_CHARACTERS].removesuffix("s") for word in kept)


def _parse_statements(texts: Sequence[str]) -> list[_Statement]:
    """Return the words of each text; a stem is weighted by how few of the texts contain it."""
    all_stems = [topic_stems(text) for text in texts]
    frequency = Counter(stem for stems in all_stems for stem in stems)
    weight = {stem: math.log((len(texts) + _FREQUENCY_SMOOTHING) / (count + 0.5)) for stem, count in frequency.items()}
    return [
        _Statement(
            {stem: weight[stem] for stem in stems if not _has_digit(stem)},
            frozenset(filter(_has_digit, stems)),
            has_marker("changes a value", text if not text.isascii() else " ".join(tokens(text))),
        )
        for text, stems in zip(texts, all_stems, strict=True)
    ]


def _has_digit(stem: str) -> bool:
    """Whether a stem contains a digit."""
    return any(map(str.isdecimal, stem))


def _overlap(one: _Statement, other: _Statement) -> float:
    """Return the weighted share of the shorter statement's stems that both contain, or 0 if they cannot conflict."""
    shared = one.weights.keys() & other.weights.keys()
    if len(shared) < _MIN_SHARED_STEMS or not _have_different_values(one, other):
        return 0.0
    shortest = min(sum(statement.weights.values()) for statement in (one, other))
    share = sum(one.weights[stem] for stem in shared) / shortest
    return share if share >= _MIN_SHARED_STEM_SHARE else 0.0


def _have_different_values(one: _Statement, other: _Statement) -> bool:
    """Whether two statements about the same topic differ in a number, in a negation, or in other words."""
    if one.numbers and other.numbers and one.numbers != other.numbers:
        return True
    return one.is_change != other.is_change or not (
        one.weights.keys() <= other.weights.keys() or other.weights.keys() <= one.weights.keys()
    )
