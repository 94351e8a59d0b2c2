"""Training pairs: word ids of questions for the student, texts for the teacher, and a list of held-out packages."""

from __future__ import annotations

import json
import lzma
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from training.wording import ListedWords

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy.typing as npt

HELD_OUT_SHARE = 40  # one package in 40 is held out
MAX_QUERY_WORDS, MAX_TEXT_WORDS = 24, 200
PAIRS_PER_BLOCK = (
    128  # number of pairs of one package in a batch; wrong answers from the same package are hard to distinguish
)
_ROWS_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class Bags:
    """Texts as rows of word ids with different lengths."""

    ids: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]

    @classmethod
    def of(cls, rows: list[list[int]]) -> Bags:
        """Concatenate rows of ids. `starts` then has the position of each row, and the end of the last one."""
        lengths = np.array([0, *map(len, rows)])
        return cls(np.fromiter(chain.from_iterable(rows), np.int64, lengths.sum()), np.cumsum(lengths))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def take(self, rows: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the concatenated ids of some rows, and the start of each row."""
        lengths = self.starts[rows + 1] - self.starts[rows]
        offsets = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        return self.ids[np.repeat(self.starts[rows] - offsets, lengths) + np.arange(lengths.sum())], offsets

    def row(self, number: int) -> list[int]:
        """Return the ids of one row."""
        ids: list[int] = self.ids[self.starts[number] : self.starts[number + 1]].tolist()
        return ids

    def rows_with(self, words: int) -> npt.NDArray[np.int64]:
        """Return how many rows contain each of `words` word ids."""
        counts = np.zeros(words, np.int64)
        for first in range(0, len(self), _ROWS_AT_ONCE):
            ids, offsets = self.take(np.arange(first, min(first + _ROWS_AT_ONCE, len(self))))
            owners = np.repeat(np.arange(len(offsets)), np.diff([*offsets, len(ids)]))
            counts += np.bincount(np.unique(owners * words + ids) % words, minlength=words)
        return counts


@dataclass(frozen=True, slots=True)
class Pairs:
    """Questions and their texts by row, with package and kind."""

    packages: npt.NDArray[np.int64]
    kinds: list[str]
    queries: list[str]
    texts: list[str]
    query_bags: Bags
    text_bags: Bags
    joined: npt.NDArray[np.bool_]  # whether the text of a pair begins with its question

    def __len__(self) -> int:
        return len(self.kinds)

    def with_questions(self, random: np.random.Generator) -> Pairs:
        """Add the question to the beginning of half of the texts, just as a heading precedes its section."""
        joined = random.random(len(self)) < 0.5
        texts = [
            f"{query}\n{text}" if front else text
            for query, text, front in zip(self.queries, self.texts, joined, strict=True)
        ]
        rows = [
            (self.query_bags.row(n) + self.text_bags.row(n))[:MAX_TEXT_WORDS] if front else self.text_bags.row(n)
            for n, front in enumerate(joined)
        ]
        return replace(self, texts=texts, text_bags=Bags.of(rows), joined=joined)


_WORDS: list[ListedWords] = []  # the object that splits texts into words in this worker process


def _start_worker(folder: Path) -> None:
    _WORDS.append(load_word_splitter(folder))


def _pair_ids(pair: tuple[str, str]) -> tuple[list[int], list[int]]:
    """Return the distinct words of a question, and all words of a text in the order in which they occur."""
    return _WORDS[0].distinct(pair[0], MAX_QUERY_WORDS), _WORDS[0].counted(pair[1], MAX_TEXT_WORDS)


def vocabulary(folder: Path) -> list[str]:
    """Return the words that have a vector, in order of their ids."""
    return (folder / "vocabulary.txt").read_text("utf-8").split("\n")


def load_word_splitter(folder: Path) -> ListedWords:
    """Return the object that splits texts into words, with the word lists that prepare.py wrote."""
    settings = json.loads(lzma.decompress((folder / "words.json.xz").read_bytes()))
    numbered = {word: number for number, word in enumerate(vocabulary(folder))}
    return ListedWords(numbered, settings["stems"], frozenset(settings["stop_words"]))


def load_pairs(folder: Path, *, most: int, workers: int) -> tuple[Pairs, Pairs]:
    """Load training pairs and held-out pairs, split by package."""
    lines = [line for part in sorted(folder.glob("pairs-*.xz")) for line in _read_lines(part)][:most]
    rows = [json.loads(line) for line in lines]
    with ProcessPoolExecutor(workers, initializer=_start_worker, initargs=(folder,)) as pool:
        bags = list(pool.map(_pair_ids, [(row[2], row[3]) for row in rows], chunksize=2_000))
    usable = [number for number, (query, text) in enumerate(bags) if len(query) > 1 and len(text) > 2]
    held_out = {number for number in usable if _is_held_out(rows[number][0])}
    training = [number for number in usable if number not in held_out]
    return _select_pairs(rows, bags, training), _select_pairs(rows, bags, sorted(held_out))


def _read_lines(part: Path) -> Iterator[str]:
    yield from lzma.decompress(part.read_bytes()).decode("utf-8", "replace").split("\n")


def _is_held_out(package: str) -> bool:
    return package != "glossary" and blake2b(package.encode(), digest_size=4).digest()[0] % HELD_OUT_SHARE == 0


def _select_pairs(rows: list[list[str]], bags: list[tuple[list[int], list[int]]], chosen: list[int]) -> Pairs:
    numbers: dict[str, int] = {}
    return Pairs(
        packages=np.array([numbers.setdefault(rows[n][0], len(numbers)) for n in chosen], np.int64),
        kinds=[rows[n][1] for n in chosen],
        queries=[rows[n][2] for n in chosen],
        texts=[rows[n][3] for n in chosen],
        query_bags=Bags.of([bags[n][0] for n in chosen]),
        text_bags=Bags.of([bags[n][1] for n in chosen]),
        joined=np.zeros(len(chosen), bool),
    )


def batches(pairs: Pairs, size: int, random: np.random.Generator) -> Iterator[npt.NDArray[np.int64]]:
    """Yield the batches of one pass over the pairs. Each batch has many blocks of pairs, each from one package."""
    order = random.permutation(len(pairs))
    order = order[np.argsort(pairs.packages[order], kind="stable")]
    edges = np.flatnonzero(np.diff(pairs.packages[order])) + 1
    blocks = [
        group[start : start + PAIRS_PER_BLOCK]
        for group in np.split(order, edges)
        for start in range(0, len(group), PAIRS_PER_BLOCK)
    ]
    random.shuffle(blocks)
    held: list[npt.NDArray[np.int64]] = []
    count = 0
    for block in blocks:
        held.append(block)
        count += len(block)
        if count >= size:
            yield np.concatenate(held)[:size]
            held, count = [], 0
