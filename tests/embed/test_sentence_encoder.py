"""A sentence encoder from a folder: its tokens, and its vectors compared with a simple reference implementation."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from deltos.config import Config
from deltos.embed.protocol import TextToEmbed
from deltos.embed.sentence_encoder import SentenceEncoder
from deltos.embed.word_pieces import WordPieces
from deltos.errors import BadArgument

if TYPE_CHECKING:
    from pathlib import Path

VOCABULARY = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "can",
    "##cel",
    "##s",
    "a",
    "request",
    ",",
    "日",
    "naive",
    "re",
    "##quest",
]
WIDTH, HEADS, INNER, LAYERS, PLACES = 4, 2, 6, 2, 12


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small encoder with random weights."""
    random = np.random.default_rng(5)
    shapes = {
        "embeddings.word_embeddings.weight": (len(VOCABULARY), WIDTH),
        "embeddings.position_embeddings.weight": (PLACES, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
        "embeddings.LayerNorm.weight": (WIDTH,),
        "embeddings.LayerNorm.bias": (WIDTH,),
    }
    for layer in range(LAYERS):
        place = f"encoder.layer.{layer}."
        for part in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
            shapes |= {f"{place}{part}.weight": (WIDTH, WIDTH), f"{place}{part}.bias": (WIDTH,)}
        shapes |= {f"{place}intermediate.dense.weight": (INNER, WIDTH), f"{place}intermediate.dense.bias": (INNER,)}
        shapes |= {f"{place}output.dense.weight": (WIDTH, INNER), f"{place}output.dense.bias": (WIDTH,)}
        for part in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes |= {f"{place}{part}.weight": (WIDTH,), f"{place}{part}.bias": (WIDTH,)}
    write_tensors(tmp_path, {name: random.normal(size=shape).astype("<f4") for name, shape in shapes.items()})
    config = {
        "model_type": "bert", "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "hidden_act": "gelu",
        "max_position_embeddings": PLACES, "layer_norm_eps": 1e-12,
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n", "utf-8")
    return tmp_path


def write_tensors(folder: Path, tensors: dict[str, np.ndarray]) -> None:
    head, data = {}, b""
    for name, value in tensors.items():
        head[name] = {"dtype": "F32", "shape": value.shape, "data_offsets": [len(data), len(data) + value.nbytes]}
        data += value.tobytes()
    packed = json.dumps(head).encode()
    (folder / "model.safetensors").write_bytes(len(packed).to_bytes(8, "little") + packed + data)
    np.savez(folder / "plain.npz", **tensors)  # type: ignore[arg-type]


def reference_vector(folder: Path, numbers: list[int]) -> Any:
    """Compute the vector of a token sequence without optimisations."""
    weights = dict(np.load(folder / "plain.npz"))

    def norm(vector: Any, name: str) -> Any:
        centred = vector - vector.mean()
        return centred / math.sqrt((centred**2).mean() + 1e-12) * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def dense(vector: Any, name: str) -> Any:
        return weights[f"{name}.weight"] @ vector + weights[f"{name}.bias"]

    embedded = weights["embeddings.word_embeddings.weight"], weights["embeddings.position_embeddings.weight"]
    kind = weights["embeddings.token_type_embeddings.weight"][0]
    state = [
        norm(embedded[0][number] + embedded[1][place] + kind, "embeddings.LayerNorm")
        for place, number in enumerate(numbers)
    ]
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        parts = {
            part: [dense(each, f"{name}.attention.self.{part}") for each in state] for part in ("query", "key", "value")
        }
        after = []
        for place, each in enumerate(state):
            seen = []
            for head in range(HEADS):
                part = slice(head * 2, head * 2 + 2)
                scores = [float(parts["query"][place][part] @ key[part]) / math.sqrt(2) for key in parts["key"]]
                weights_of_scores = [math.exp(score - max(scores)) for score in scores]
                values = zip(weights_of_scores, parts["value"], strict=True)
                seen.append(sum(weight / sum(weights_of_scores) * value[part] for weight, value in values))
            attended = dense(np.concatenate(seen), f"{name}.attention.output.dense")
            middle = norm(each + attended, f"{name}.attention.output.LayerNorm")
            inner = dense(middle, f"{name}.intermediate.dense")
            inner = np.array([value * 0.5 * (1 + math.erf(value / math.sqrt(2))) for value in inner])
            after.append(norm(middle + dense(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm"))
        state = after
    pooled = np.mean(state, axis=0)
    return pooled / np.linalg.norm(pooled)


def test_texts_of_different_lengths_get_the_vectors_that_each_has_alone(folder: Path) -> None:
    encoder = SentenceEncoder.load(folder)
    pieces = WordPieces(VOCABULARY, lower_cases=True)
    texts = ["cancels a request, a request", "a", "", "Naïve 日 requests"]
    vectors = encoder.texts([TextToEmbed(text, "") for text in texts])
    for text, vector in zip(texts, vectors, strict=True):
        assert np.allclose(vector, reference_vector(folder, pieces.of(text, PLACES)), atol=1e-5)
        assert np.allclose(vector, encoder.question(TextToEmbed(text, "")), atol=1e-6)


def test_words_are_split_into_the_longest_known_pieces() -> None:
    pieces = WordPieces(VOCABULARY, lower_cases=True)

    def shown(text: str, most: int = 20) -> list[str]:
        return [VOCABULARY[number] for number in pieces.of(text, most)]

    assert shown("Cancels a request") == ["[CLS]", "can", "##cel", "##s", "a", "request", "[SEP]"]
    assert shown("naïve,日a") == ["[CLS]", "naive", ",", "日", "a", "[SEP]"]
    assert shown("zebra a") == ["[CLS]", "[UNK]", "a", "[SEP]"]
    assert shown("a" * 101) == ["[CLS]", "[UNK]", "[SEP]"]
    assert shown("a a a a a", 4) == ["[CLS]", "a", "a", "[SEP]"]
    assert shown("a\u200b\x00 a") == ["[CLS]", "a", "a", "[SEP]"]


def test_models_have_different_identities_and_invalid_ones_are_rejected(folder: Path) -> None:
    before = SentenceEncoder.load(folder).identity
    tensors = dict(np.load(folder / "plain.npz"))
    tensors["embeddings.LayerNorm.bias"] += 1
    write_tensors(folder, tensors)
    assert SentenceEncoder.load(folder).identity != before
    for data in (b"", b"\xff" * 8, (5).to_bytes(8, "little") + b"{}", (2).to_bytes(8, "little") + b"{}"):
        (folder / "model.safetensors").write_bytes(data)
        with pytest.raises(BadArgument, match="Cannot read the encoder"):
            SentenceEncoder.load(folder)
    with pytest.raises(BadArgument, match="cannot be read"):
        SentenceEncoder.load(folder / "nothing")


def test_the_environment_selects_a_folder_or_the_package(folder: Path, tmp_path: Path) -> None:
    chosen = Config.from_environment({"DELTOS_HOME": str(tmp_path), "DELTOS_EMBED": str(folder)}).embedding
    assert (chosen.kind, chosen.model) == ("folder", str(folder))
    assert Config.from_environment({"DELTOS_HOME": str(tmp_path), "DELTOS_EMBED": "MiniLM"}).embedding.kind == "minilm"
    with pytest.raises(BadArgument, match="not understood"):
        Config.from_environment({"DELTOS_HOME": str(tmp_path), "DELTOS_EMBED": "bert"})
