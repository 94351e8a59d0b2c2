from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from deltos.embed.identity import ADAPTER_FILE, DISTILLED_WEIGHTS_FILE, ENCODER_FOLDER, MODEL_FOLDER, PASSAGES_FOLDER
from deltos.embed.protocol import TextToEmbed
from deltos.embed.static import MAX_WORDS, StaticModel, api_model, shared_model
from deltos.text.words import Words

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def tiny() -> StaticModel:
    rows = np.array([[127, 0, 0], [0, 127, 0], [0, 0, 127]], np.int8)
    return StaticModel("tiny", ["red", "green", "blue"], rows, np.array([1, 1, 2], np.float32))


def test_a_text_is_the_normalised_sum_of_its_words(tiny: StaticModel) -> None:
    (vector,) = tiny.texts([TextToEmbed("", "red green")])
    assert vector == pytest.approx([0.7071, 0.7071, 0], abs=1e-3)


def test_a_word_counts_by_its_frequency_and_scale(tiny: StaticModel) -> None:
    once, often = tiny.of_words(["red blue", "red blue red red red mauve"])
    assert once[2] == pytest.approx(2 * once[0])
    assert often[0] == pytest.approx(2 * often[2])


def test_a_text_without_known_words_is_zeros_in_a_batch_too(tiny: StaticModel) -> None:
    vectors = tiny.of_words(["", "red", "mauve", "blue"])
    assert vectors.any(axis=1).tolist() == [False, True, False, True]
    assert not tiny.of_words(["", "mauve"]).any()
    assert tiny.of_words([]).shape == (0, 3)


def test_the_length_of_a_word_vector_is_its_weight(tiny: StaticModel) -> None:
    assert tiny.word_vectors(["blue", "mauve", "red"]).tolist() == [[0, 0, 254], [0, 0, 0], [127, 0, 0]]
    assert tiny.word_vectors([]).shape == (0, 3)


def test_texts_in_a_batch_have_the_same_vectors_as_alone(tiny: StaticModel) -> None:
    texts = [("red", "green blue", "")[number % 3] for number in range(200)]
    assert tiny.of_words(texts) == pytest.approx(np.concatenate([tiny.of_words([text]) for text in texts]))


def test_word_overrides_replace_some_vectors(tiny: StaticModel, tmp_path: Path) -> None:
    np.save(tmp_path / "numbers.npy", np.array([1], np.int32))
    np.save(tmp_path / "rows.npy", np.array([[127, 0, 0]], np.int8))
    np.save(tmp_path / "scales.npy", np.array([2], np.float32))
    (tmp_path / "model.json").write_text('{"identity": "tiny/other"}')
    other = tiny.with_overrides(tmp_path)
    assert other.identity == "tiny/other"
    assert other.word_vectors(["green", "blue", "mauve"]).tolist() == [[254, 0, 0], [0, 0, 254], [0, 0, 0]]
    assert other.of_words(["red green"])[0] == pytest.approx([1, 0, 0])
    assert tiny.identity == "tiny"
    assert tiny.word_vectors(["green"]).tolist() == [[0, 127, 0]]


def test_overrides_improve_queries_for_operations() -> None:
    words = Words()
    question = TextToEmbed("", words.of("kill a server for good"))
    right, wrong = (TextToEmbed("", words.of(text)) for text in ("delete instance", "create instance"))

    def lead(model: StaticModel) -> float:
        near, far = model.texts([right, wrong]) @ model.question(question)
        return float(near - far)

    assert lead(api_model()) > lead(shared_model())
    assert api_model().identity != shared_model().identity


def test_only_the_first_words_of_a_very_long_text_count() -> None:
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
        if not {ENCODER_FOLDER, PASSAGES_FOLDER} & {*file.parents}
        and file.name not in (DISTILLED_WEIGHTS_FILE, ADAPTER_FILE)
    )
    assert sum(file.stat().st_size for file in table) <= 20_000_000
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


@pytest.mark.parametrize("own_words", [0, 5, MAX_WORDS, 2 * MAX_WORDS])
@pytest.mark.parametrize("common_words", [0, 5, MAX_WORDS - 3, MAX_WORDS + 7])
def test_a_common_prefix_counts_in_each_text(own_words: int, common_words: int) -> None:
    names = [f"w{number}" for number in range(3 * MAX_WORDS)]
    rows = np.random.default_rng(1).integers(-127, 127, (len(names), 16), np.int8)
    model = StaticModel("made", names, rows, np.ones(len(names), np.float32))
    common = " ".join(names[:common_words])
    overlapping = " ".join(names[max(0, common_words - 4) :][:own_words])
    texts = [overlapping, "w0 w0 w1", "", "mauve"]
    whole = model.of_words([f"{common} {text}" for text in texts])
    assert model.of_words(texts, after=common) == pytest.approx(whole, abs=1e-5)
