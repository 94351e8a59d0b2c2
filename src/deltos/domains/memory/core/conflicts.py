"""Find earlier statements that may contradict a statement, so that the caller can decide which one is valid.

Natural language is not interpreted here: the agent sees both statements with the dates and supersedes one statement.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.text.language_table import stop_words
from deltos.text.stop_words import PROSE_STOP_WORDS
from deltos.text.unspaced_scripts import unspaced_words
from deltos.text.words import tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deltos.store.observations import Observation

STATEMENT_KINDS = ("decision", "preference", "note", "request", "finding")
MAX_STATEMENTS_COMPARED = 400  # newest statements of a project that are compared
MAX_CONFLICTS = 3
_MAX_STATEMENT_CHARACTERS = 500  # longer texts usually contain several statements
_RECORD_PREFIXES = ("Fixed: ", "Measured with ")  # these report past events, so they stay valid
_STEM_CHARACTERS = 5
_MIN_SHARED_STEMS = 2
_MIN_SHARED_STEM_SHARE = 0.4  # share of the shorter statement's stems in the other one


def find_conflicts(text: str, older: Iterable[Observation]) -> list[Observation]:
    """Return the statements that may contradict a text, closest in topic first."""
    stems = topic_stems(text)
    scored = [
        (share, row) for row in older if is_statement(row) and (share := _topic_overlap(stems, topic_stems(row.text)))
    ]
    return [row for _, row in sorted(scored, key=lambda pair: -pair[0])[:MAX_CONFLICTS]]


def conflicting_pairs(newest_first: Sequence[Observation]) -> list[tuple[Observation, Observation]]:
    """Return pairs of statements that may contradict each other; the newer statement of each pair is first."""
    found: list[tuple[Observation, Observation]] = []
    stems = [topic_stems(row.text) if is_statement(row) else frozenset[str]() for row in newest_first]
    for at, newer in enumerate(newest_first):
        others = [
            (share, other) for other in range(at + 1, len(stems)) if (share := _topic_overlap(stems[at], stems[other]))
        ]
        if others:
            found.append((newer, newest_first[max(others)[1]]))
    return found


def is_statement(row: Observation) -> bool:
    """Whether an observation is a single statement that a later statement may replace."""
    is_short = len(row.text) <= _MAX_STATEMENT_CHARACTERS and not row.text.rstrip().endswith(("?", "？"))
    return (
        is_short and row.kind in STATEMENT_KINDS and row.source != "agent" and not row.text.startswith(_RECORD_PREFIXES)
    )


def topic_stems(text: str) -> frozenset[str]:
    """Return the stems of the content words in a text; for scripts without spaces, return letter pairs (bigrams)."""
    small = PROSE_STOP_WORDS | stop_words("de", "es", "fr")
    words = (word for token in tokens(text) for word in unspaced_words(token) or (token,))
    kept = (word for word in words if word not in small and not all("\u3040" <= letter <= "\u309f" for letter in word))
    return frozenset(word if word.isdecimal() else word[:_STEM_CHARACTERS].removesuffix("s") for word in kept)


def _topic_overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of the shorter statement's stems that both statements contain, or 0 if they cannot conflict.

    If one statement contains all stems of the other, they cannot conflict, because they do not differ in a value.
    """
    if one <= other or other <= one:
        return 0.0
    shared = {stem for stem in one & other if not stem.isdecimal()}
    if len(shared) < _MIN_SHARED_STEMS:
        return 0.0
    shortest = min(sum(not stem.isdecimal() for stem in stems) for stems in (one, other))
    share = len(shared) / shortest
    return share if share >= _MIN_SHARED_STEM_SHARE else 0.0
