"""Convert mined pairs to the input of training: packed pairs, the vocabulary of index words, a list of stems.

python -m training.prepare OUT PAIRS_FOLDER... [--glossary FOLDER]
"""

from __future__ import annotations

import argparse
import gzip
import json
import lzma
import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.text.identifiers import split_identifier
from deltos.text.stop_words import STOP_WORDS
from deltos.text.words import Words, plain_words
from training.mine_glossary import glossary_pairs

if TYPE_CHECKING:
    from collections.abc import Iterator

VOCABULARY_SIZE = 65_000
COUNTING_INTERVAL = 5  # one text in 5 is counted, which is enough to find the frequent words
_PART_CHARACTERS = 120_000_000


def distinct_pairs(folders: list[Path], glossary: Path | None) -> Iterator[tuple[str, str, str, str]]:
    """Yield every distinct pair: package, kind, question, text."""
    seen: set[int] = set()
    for folder in folders:
        for part in sorted(folder.glob("*.jsonl.gz")):
            with gzip.open(part, "rt", encoding="utf-8") as lines:
                for line in lines:
                    row = json.loads(line)
                    key = hash((row["query"].lower(), row["text"][:200]))
                    if key not in seen:
                        seen.add(key)
                        yield row["package"], row["kind"], row["query"], row["text"]
    for pair in glossary_pairs(glossary) if glossary else ():
        yield "glossary", pair.kind, pair.query, pair.text


class WordCounter:
    """Counts words as the index splits them, and records the stems of parts of identifiers."""

    def __init__(self) -> None:
        self._words = Words()
        self._seen: set[str] = set()
        self.texts_with: Counter[str] = Counter()
        self.stems: dict[str, str] = {}

    def count(self, text: str) -> None:
        """Count each distinct word of one text once."""
        self.texts_with.update(set(self._words.of(text).split()))

    def learn(self, text: str) -> None:
        """Record the stems of the words of one text."""
        for word in set(plain_words(text)) - self._seen:
            self._seen.add(word)
            for part in split_identifier(word):
                if part not in self.stems:
                    self.stems[part] = self._words.of(part).partition(" ")[0]

    def vocabulary(self) -> list[str]:
        """Return the words that occur in the most texts, most common first."""
        return [word for word, _ in self.texts_with.most_common(VOCABULARY_SIZE)]


def write(out: Path, pairs: list[tuple[str, str, str, str]], counting: WordCounter) -> None:
    """Write all input files of training."""
    out.mkdir(parents=True, exist_ok=True)
    vocabulary = counting.vocabulary()
    known = set(vocabulary)
    stems = {part: stem for part, stem in counting.stems.items() if stem != part and (stem in known or part in known)}
    (out / "vocabulary.txt").write_text("\n".join(vocabulary), "utf-8")
    settings = {"stems": stems, "stop_words": sorted(STOP_WORDS)}
    (out / "words.json.xz").write_bytes(lzma.compress(json.dumps(settings).encode()))
    lines, size, number = [], 0, 0
    for row in pairs:
        lines.append(json.dumps(row, ensure_ascii=False))
        size += len(lines[-1])
        if size > _PART_CHARACTERS:
            _write_part(out / f"pairs-{number}.xz", lines)
            lines, size, number = [], 0, number + 1
    _write_part(out / f"pairs-{number}.xz", lines)


def _write_part(path: Path, lines: list[str]) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 2, "dict_size": 64 << 20}]
    path.write_bytes(lzma.compress("\n".join(lines).encode("utf-8", "replace"), filters=filters))
    print(path.name, len(lines), path.stat().st_size, flush=True)


def prepare(out: Path, folders: list[Path], glossary: Path | None) -> None:
    """Write the pairs in random order of packages, so that texts of one package stay together."""
    counting = WordCounter()
    pairs = []
    for number, row in enumerate(distinct_pairs(folders, glossary)):
        pairs.append(row)
        text = f"{row[2]}\n{row[3]}"
        counting.learn(text)
        if number % COUNTING_INTERVAL == 0:
            counting.count(text)
    packages = sorted({row[0] for row in pairs})
    random.Random(8).shuffle(packages)
    place = {package: number for number, package in enumerate(packages)}
    pairs.sort(key=lambda row: place[row[0]])
    print(len(pairs), "pairs", len(packages), "packages", Counter(row[1] for row in pairs), flush=True)
    write(out, pairs, counting)


def main() -> None:
    """Convert the pairs in the folders that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--glossary", type=Path)
    arguments = parser.parse_args()
    prepare(arguments.out, arguments.folders, arguments.glossary)


if __name__ == "__main__":
    main()
