"""Names of code that a misspelt or half-remembered one may have meant; none where nothing is really like it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.text.identifiers import split_identifier

if TYPE_CHECKING:
    from collections.abc import Sequence

# Of 100: letters in common, for a whole name that is misspelt and for a word of it.
_LEAST_SAME_LETTERS = 75
# The share of the letters of both names that is in words that they have in common.
_LEAST_SAME_WORDS = 0.6
_COMPARED = 50  # of the likeliest by either measure


def names_like(wanted: str, names: Sequence[str], *, limit: int) -> list[str]:
    """The names that are like `wanted` in letters, or in most of their words; most alike first. Python's special ones
    (`__and__`) only for a name that is written like one."""
    from rapidfuzz import fuzz, process  # deferred: only needed when nothing was found

    if not _last_part(wanted).startswith("__"):
        names = [name for name in names if not _is_special(name)]
    asked = wanted.lower()
    likely = dict.fromkeys(
        name
        for scorer in (fuzz.ratio, fuzz.WRatio)
        for name, _, _ in process.extract(asked, names, scorer=scorer, processor=str.lower, limit=_COMPARED)
    )
    words = _words(wanted)
    alike = {
        name: max(
            letters / 100 if (letters := fuzz.ratio(asked, name.lower())) >= _LEAST_SAME_LETTERS else 0.0,
            shared if (shared := _shared(words, _words(name))) >= _LEAST_SAME_WORDS else 0.0,
        )
        for name in likely
    }
    near = sorted((name for name, value in alike.items() if value), key=lambda name: -alike[name])
    return near[:limit]


def _is_special(name: str) -> bool:
    """Whether a name is one of those that Python calls by itself."""
    last = _last_part(name)
    return last.startswith("__") and last.endswith("__")


def _last_part(name: str) -> str:
    return name.rpartition(".")[2]


def _words(name: str) -> list[str]:
    return [word.lower() for word in split_identifier(name)]


def _shared(ours: Sequence[str], theirs: Sequence[str]) -> float:
    """The share of the letters of both that is in words of the one that the other has too, perhaps misspelt."""
    total = sum(map(len, ours)) + sum(map(len, theirs))
    common = sum(len(word) for word in ours if _is_among(word, theirs))
    common += sum(len(word) for word in theirs if _is_among(word, ours))
    return common / total if total else 0.0


def _is_among(word: str, others: Sequence[str]) -> bool:
    from rapidfuzz import fuzz  # deferred, as above

    return word in others or any(fuzz.ratio(word, other) >= _LEAST_SAME_LETTERS for other in others)
