"""Mine pairs from dictionaries, for everyday words: synonyms and their gloss from WordNet, terms of FOLDOC."""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING

from training.pairs import TEXT_CHARACTERS, Pair

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_ENTRY = re.compile(r"^(\S[^\n]{1,60})\n\n((?:   [^\n]*\n|\n)+)", re.MULTILINE)


def glossary_pairs(folder: Path) -> Iterator[Pair]:
    """Yield the pairs of the unpacked packages `wordnet-base` and `dict-foldoc`."""
    for file in sorted((folder / "usr/share/wordnet").glob("data.*")):
        yield from _wordnet_pairs(file.read_text("utf-8", "replace"))
    yield from _foldoc_pairs(gzip.decompress((folder / "usr/share/dictd/foldoc.dict.dz").read_bytes()).decode("utf-8"))


def _wordnet_pairs(data: str) -> Iterator[Pair]:
    """Yield the words of a WordNet sense with its gloss, and the first example with the words."""
    for line in data.splitlines():
        if line.startswith(" "):
            continue
        fields, _, gloss = line.partition(" | ")
        parts = fields.split()
        words = [parts[4 + 2 * n].replace("_", " ") for n in range(int(parts[3], 16))]
        meaning, *examples = (piece.strip(' "') for piece in gloss.split('; "'))
        yield Pair("gloss", " ".join(words), meaning)
        for example in examples[:1]:
            yield Pair("gloss", example, f"{' '.join(words)} {meaning}")


def _foldoc_pairs(text: str) -> Iterator[Pair]:
    for match in _ENTRY.finditer(text):
        yield Pair("gloss", match[1], " ".join(match[2].split())[:TEXT_CHARACTERS])
