"""The bundled encoder: texts and queries about them have similar vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from deltos.embed.bundled_encoder import shared_encoder
from deltos.embed.embedders import (
    CombinedEmbedder,
    api_embedder,
    code_embedder,
    docs_embedder,
    memory_embedder,
)
from deltos.embed.identity import ENCODER_FOLDER, MEMORY_FOLDER, MODEL_FOLDER
from deltos.embed.mixer import FourBitRows, Mixer
from deltos.embed.observation_encoder import observation_encoder
from deltos.embed.protocol import TextToEmbed
from deltos.text.words import Words, query_words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from deltos.embed.protocol import Vectors

OPERATIONS = (
    "Create a refund /v1/refunds",
    "Cancel a payment intent /v1/payment_intents/{intent}/cancel",
    "List all disputes /v1/disputes",
    "Update a customer /v1/customers/{customer}",
    "Retrieve balance /v1/balance",
)
OBSERVATIONS = (
    "Amounts are bigint cents; floats were rejected after the drift in the interest run",
    "`cargo test` failed: thread 'main' panicked at src/ring.rs:40: index out of bounds",
    "We only deploy on Tuesdays and Thursdays, the on-call rota is thin on the other days",
    "The thumbnail worker was killed because ffmpeg decodes the whole cover picture",
)
SECTIONS = (
    "Backups > Restoring\nGive the name of a snapshot and a folder that is empty. Files are written there with their owners.",
    "Backups > Speed\nUploads share one connection; --limit-upload sets how many KiB go out a second.",
    "Backups > Forgetting\nSnapshots that no rule keeps are let go of; what only they referred to is removed by prune.",
)
MODELS = pytest.mark.parametrize("model", [api_embedder, docs_embedder, memory_embedder])


def passage_text(text: str) -> TextToEmbed:
    """Return a passage in the form that the model embeds."""
    return TextToEmbed(text, Words().of(text))


def query_text(question: str) -> TextToEmbed:
    """Return a query in the form that the model embeds."""
    return TextToEmbed(question, query_words(question))


def most_similar(model: CombinedEmbedder, question: str, texts: tuple[str, ...]) -> str:
    """Return the text that is most similar to a query."""
    vectors = model.texts([passage_text(text) for text in texts])
    return texts[int(np.argmax(vectors @ model.question(query_text(question))))]


@pytest.mark.parametrize(
    ("question", "operation"),
    [
        ("give somebody their money back", OPERATIONS[0]),
        ("how much do we have left in our account", OPERATIONS[4]),
        ("who has complained to their bank about being charged", OPERATIONS[2]),
    ],
)
def test_an_api_question_without_common_words_is_answered(question: str, operation: str) -> None:
    assert most_similar(api_embedder(), question, OPERATIONS) == operation


@pytest.mark.parametrize(
    ("question", "observation"),
    [
        ("how do we keep money exact without rounding surprises", OBSERVATIONS[0]),
        ("can I roll something out at the end of the week", OBSERVATIONS[2]),
        ("what ate all the memory when converting videos", OBSERVATIONS[3]),
    ],
)
def test_a_memory_question_without_common_words_is_answered(question: str, observation: str) -> None:
    assert most_similar(memory_embedder(), question, OBSERVATIONS) == observation


@MODELS
def test_unsupported_text_is_embedded_by_its_words(model: Callable[[], CombinedEmbedder]) -> None:
    text = "退款 refund 如何 操作"
    assert shared_encoder().question(text, "docs") is None
    opened = model()
    question, expected = opened.question(query_text(text)), opened.table.question(query_text(text))
    assert not question[0::2].any()  # number of dimensions of the encoder
    assert question[1::2] == pytest.approx(expected, abs=1e-6)
    japanese = passage_text("夜間にメモリが増える原因は、終了しないプロセスです")
    assert not shared_encoder().texts([japanese], "docs").any()
    assert not observation_encoder().texts([japanese]).any()


@MODELS
@pytest.mark.parametrize("question", ["", "?", "qzxv"])
def test_the_vector_of_an_empty_text_is_zero(model: Callable[[], CombinedEmbedder], question: str) -> None:
    assert not model().question(query_text(question)).any()
    assert not api_embedder().texts([passage_text("")]).any()


@pytest.mark.parametrize(
    ("question", "section"),
    [
        ("my nightly copy eats all the bandwidth of the office", SECTIONS[1]),
        ("get my files back", SECTIONS[0]),
        ("free the disk from old versions", SECTIONS[2]),
    ],
)
def test_a_passage_is_found_without_its_terms(question: str, section: str) -> None:
    assert most_similar(docs_embedder(), question, SECTIONS) == section


def test_the_end_of_a_passage_is_encoded_too() -> None:
    opening = "Settings > Files\n" + "The file is read when the program starts, and whatever is unknown is told. " * 2
    late = opening + "Passwords of the registry are asked from the keyring of the desktop."
    question = docs_embedder().question(query_text("where do the credentials come from"))
    of_late, of_opening = docs_embedder().texts([passage_text(late), passage_text(opening)]) @ question
    assert of_late > of_opening + 0.05


@MODELS
def test_vectors_have_unit_length_for_any_text_length(model: Callable[[], CombinedEmbedder]) -> None:
    texts = ["cancel", "cancel the order " * 500]
    for vector in (
        *(model().question(query_text(text)) for text in texts),
        *model().texts([*map(passage_text, texts)]),
    ):
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_a_text_has_the_same_vector_alone_and_in_a_batch() -> None:
    texts = [*map(passage_text, (*OPERATIONS, *OBSERVATIONS))]
    for model in (api_embedder(), code_embedder(), docs_embedder(), memory_embedder()):
        alone = np.vstack([model.texts([text]) for text in texts])
        assert model.texts(texts) == pytest.approx(alone, abs=1e-4)


def test_a_question_is_encoded_once_for_all_kinds_of_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[Sequence[int]] = []
    encode = Mixer.encode

    def recorded(mixer: Mixer, rows: Sequence[Sequence[int]]) -> Vectors:
        encoded.extend(rows)
        return encode(mixer, rows)

    monkeypatch.setattr(Mixer, "encode", recorded)
    question = query_text("which embedders share one pass through the transformer")
    for model in (api_embedder(), code_embedder(), docs_embedder(), memory_embedder()):
        assert model.question(question).any()
    assert len(encoded) == 1


def test_vectors_of_four_bits_are_unpacked_in_order(tmp_path: Path) -> None:
    vectors = np.array([[-8, 7, 0, 3, -1, 2], [1, -7, 5, -4, 6, 0]], np.float32)
    shifted = (vectors + 8).astype(np.uint8)
    np.save(tmp_path / "pieces.npy", shifted[:, :3] | (shifted[:, 3:] << 4))
    np.save(tmp_path / "piece_scales.npy", np.array([0.5, 2.0], np.float32))
    rows = FourBitRows.load(tmp_path)
    assert len(rows) == 2
    assert (rows[np.array([[1, 0]])] == [[vectors[1] * 2, vectors[0] * 0.5]]).all()


def test_the_bundled_encoders_are_small() -> None:
    for folder, max_bytes in ((ENCODER_FOLDER, 7_000_000), (MEMORY_FOLDER, 17_000_000)):
        assert sum(file.stat().st_size for file in folder.iterdir()) <= max_bytes
    assert sum(file.stat().st_size for file in MODEL_FOLDER.rglob("*") if file.is_file()) <= 45_000_000
