from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from deltos.embed.identity import ENCODER_FOLDER, MEMORY_FOLDER, MODEL_FOLDER, PASSAGES_FOLDER
from deltos.embed.protocol import TextToEmbed
from deltos.embed.static import MAX_WORDS, StaticModel, api_model, shared_model
from deltos.text.words import Words

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def tiny_model() -> StaticModel:
    rows = np.array([[127, 0, 0], [0, 127, 0], [0, 0, 127]], np.int8)
    return StaticModel("tiny", ["red", "green", "blue"], rows, np.array([1, 1, 2], np.float32))


def test_a_text_is_the_normalised_sum_of_its_words(tiny_model: StaticModel) -> None:
    (vector,) = tiny_model.texts([TextToEmbed("", "red green")])
    assert vector == pytest.approx([0.7071, 0.7071, 0], abs=1e-3)


def test_the_weight_of_a_word_depends_on_its_frequency_and_scale(tiny_model: StaticModel) -> None:
    once, often = tiny_model.of_words(["red blue", "red blue red red red mauve"])
    assert once[2] == pytest.approx(2 * once[0])
    assert often[0] == pytest.approx(2 * often[2])


def test_the_vector_of_a_text_without_known_words_is_zero_even_in_a_batch(tiny_model: StaticModel) -> None:
    vectors = tiny_model.of_words(["", "red", "mauve", "blue"])
    assert vectors.any(axis=1).tolist() == [False, True, False, True]
    assert not tiny_model.of_words(["", "mauve"]).any()
    assert tiny_model.of_words([]).shape == (0, 3)


def test_the_length_of_a_word_vector_is_its_weight(tiny_model: StaticModel) -> None:
    assert tiny_model.word_vectors(["blue", "mauve", "red"]).tolist() == [[0, 0, 254], [0, 0, 0], [127, 0, 0]]
    assert tiny_model.word_vectors([]).shape == (0, 3)


def test_texts_have_the_same_vectors_in_a_batch_as_alone(tiny_model: StaticModel) -> None:
    texts = [("red", "green blue", "")[number % 3] for number in range(200)]
    assert tiny_model.of_words(texts) == pytest.approx(np.concatenate([tiny_model.of_words([text]) for text in texts]))


def test_word_overrides_replace_some_vectors(tiny_model: StaticModel, tmp_path: Path) -> None:
    np.save(tmp_path / "numbers.npy", np.array([1], np.int32))
    np.save(tmp_path / "rows.npy", np.array([[127, 0, 0]], np.int8))
    np.save(tmp_path / "scales.npy", np.array([2], np.float32))
    (tmp_path / "model.json").write_text('{"identity": "tiny/other"}')
    other = tiny_model.with_overrides(tmp_path)
    assert other.identity == "tiny/other"
    assert other.word_vectors(["green", "blue", "mauve"]).tolist() == [[254, 0, 0], [0, 0, 254], [0, 0, 0]]
    assert other.of_words(["red green"])[0] == pytest.approx([1, 0, 0])
    assert tiny_model.identity == "tiny"
    assert tiny_model.word_vectors(["green"]).tolist() == [[0, 127, 0]]


def test_word_overrides_improve_queries_for_operations() -> None:
    words = Words()
    question = TextToEmbed("", words.of("kill a server for good"))
    right, wrong = (TextToEmbed("", words.of(text)) for text in ("delete instance", "create instance"))

    def similarity_margin(model: StaticModel) -> float:
        near, far = model.texts([right, wrong]) @ model.question(question)
        return float(near - far)

    assert similarity_margin(api_model()) > similarity_margin(shared_model())
    assert api_model().identity != shared_model().identity


def test_only_the_first_words_of_a_very_long_text_affect_its_vector() -> None:
    words = [f"w{number}" for number in range(MAX_WORDS + 1)]
    model = StaticModel("long", words, np.eye(len(words), dtype=np.int8), np.ones(len(words), np.float32))
    (vector,) = model.of_words([" ".join(words)])
    assert vector[MAX_WORDS] == 0
    assert vector[MAX_WORDS - 1] > 0


def test_the_bundled_model_is_small_and_knows_similar_words() -> None:
    model, words = shared_model(), Words()
    table = (
        file
        for file in MODEL_FOLDER.rglob("*")
        if not {ENCODER_FOLDER, MEMORY_FOLDER, PASSAGES_FOLDER} & {*file.parents}
    )
    assert sum(file.stat().st_size for file in table) <= 22_000_000
    assert model.identity
    question = model.question(TextToEmbed("", words.of("how do I delete a user account")))
    near, far = model.texts(
        [
            TextToEmbed("", words.of("def remove_member(login)")),
            TextToEmbed("", words.of("draw a circle with antialiasing")),
        ]
    )
    assert question @ near > question @ far
    assert question.shape == (model.dimensions,)
