"""The lexicon: groups of related terms, one per line (`concept: term, term, …`), read as word ids."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from training.data import Bags

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

FOLDER = Path(__file__).with_name("lexicon")
_MIN_TERMS = 5


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Terms as bags of word ids; group n has the terms from `groups[n]` to `groups[n + 1]`."""

    terms: Bags
    groups: npt.NDArray[np.int64]


def read_lexicon(word_numbers: Callable[[str], list[int]], folder: Path = FOLDER) -> Lexicon:
    """Return all groups with enough known terms; `word_numbers` returns the ids of a term's words."""
    groups = []
    for path in sorted(folder.glob("*.txt")):
        for line in path.read_text("utf-8").splitlines():
            concept, _, rest = line.partition(":")
            terms = [ids for term in (concept, *rest.split(",")) if (ids := word_numbers(term))]
            if len(terms) >= _MIN_TERMS:
                groups.append(terms)
    return Lexicon(Bags.of([term for group in groups for term in group]), np.cumsum([0, *map(len, groups)]))
