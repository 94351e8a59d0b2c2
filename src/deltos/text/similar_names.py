"""Search for names that are similar to a misspelt or incomplete name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.text.identifiers import split_identifier

if TYPE_CHECKING:
    from collections.abc import Sequence

# Minimum similarity (in percent) of a misspelt name or word to the correct one.
_MIN_LETTER_SIMILARITY = 75
# Minimum share of the letters of two names that belong to common words.
_MIN_SHARED_LETTER_SHARE = 0.6
_MAX_COMPARED_NAMES = 50  # number of best candidates by each of two similarity measures


def similar_names(wanted: str, names: Sequence[str], *, limit: int) -> list[str]:
    """Return the names similar to `wanted` by letters or by words, most similar first.

    Special Python names such as `__and__` are returned only if `wanted` is a special name.
    """
    from rapidfuzz import fuzz, process  # imported here, because it is needed only if an exact search fails

    if not _last_part(wanted).startswith("__"):
        names = [name for name in names if not _is_special(name)]
    lowered = wanted.lower()
    candidates = dict.fromkeys(
        name
        for scorer in (fuzz.ratio, fuzz.WRatio)
        for name, _, _ in process.extract(lowered, names, scorer=scorer, processor=str.lower, limit=_MAX_COMPARED_NAMES)
    )
    words = _words(wanted)
    scores = {
        name: max(
            letters / 100 if (letters := fuzz.ratio(lowered, name.lower())) >= _MIN_LETTER_SIMILARITY else 0.0,
            shared if (shared := _shared_letter_share(words, _words(name))) >= _MIN_SHARED_LETTER_SHARE else 0.0,
        )
        for name in candidates
    }
    ranked = sorted((name for name, value in scores.items() if value), key=lambda name: -scores[name])
    return ranked[:limit]


def _is_special(name: str) -> bool:
    """Whether a name is a special Python method."""
    last = _last_part(name)
    return last.startswith("__") and last.endswith("__")


def _last_part(name: str) -> str:
    return name.rpartition(".")[2]


def _words(name: str) -> list[str]:
    return [word.lower() for word in split_identifier(name)]


def _shared_letter_share(ours: Sequence[str], theirs: Sequence[str]) -> float:
    """Return the share of the letters of two names that belong to common words. Misspelt words are tolerated."""
    total = sum(map(len, ours)) + sum(map(len, theirs))
    common = sum(len(word) for word in ours if _is_similar_to_any(word, theirs))
    common += sum(len(word) for word in theirs if _is_similar_to_any(word, ours))
    return common / total if total else 0.0


def _is_similar_to_any(word: str, others: Sequence[str]) -> bool:
    """Whether a word is equal or similar to one of the other words."""
    from rapidfuzz import fuzz  # imported here, because it is needed only if an exact search fails

    return word in others or any(fuzz.ratio(word, other) >= _MIN_LETTER_SIMILARITY for other in others)
