from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from deltos.embed.identity import ADAPTER_FILE, ENCODER_FOLDER, MODEL_FOLDER, READER_FILE
from deltos.embed.protocol import TextToEmbed
from deltos.embed.static import MOST_WORDS, StaticModel, api_model, shared_model
from deltos.text.words import Words

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def tiny() -> StaticModel:
    rows = np.array([[127, 0, 0], [0, 127, 0], [0, 0, 127]], np.int8)
    return StaticModel("tiny", ["red", "green", "blue"], rows, np.array([1, 1, 2], np.float32))


def test_a_text_is_the_direction_of_its_words(tiny: StaticModel) -> None:
    (vector,) = tiny.texts([TextToEmbed("", "red green")])
    assert vector == pytest.approx([0.7071, 0.7071, 0], abs=1e-3)


def test_a_word_counts_as_often_as_it_stands_there_and_by_its_scale(tiny: StaticModel) -> None:
    once, often = tiny.of_words(["red blue", "red blue red red red mauve"])
    assert once[2] == pytest.approx(2 * once[0])
    assert often[0] == pytest.approx(2 * often[2])


def test_a_text_without_known_words_is_zeros_also_among_others(tiny: StaticModel) -> None:
    vectors = tiny.of_words(["", "red", "mauve", "blue"])
    assert vectors.any(axis=1).tolist() == [False, True, False, True]
    assert not tiny.of_words(["", "mauve"]).any()
    assert tiny.of_words([]).shape == (0, 3)


def test_a_word_alone_is_as_long_as_it_weighs(tiny: StaticModel) -> None:
    assert tiny.word_vectors(["blue", "mauve", "red"]).tolist() == [[0, 0, 254], [0, 0, 0], [127, 0, 0]]
    assert tiny.word_vectors([]).shape == (0, 3)


def test_many_texts_come_out_as_each_would_alone(tiny: StaticModel) -> None:
    texts = [("red", "green blue", "")[number % 3] for number in range(200)]
    assert tiny.of_words(texts) == pytest.approx(np.concatenate([tiny.of_words([text]) for text in texts]))


def test_some_words_may_mean_something_else_where_one_kind_of_text_is_compared(
    tiny: StaticModel, tmp_path: Path
) -> None:
    np.save(tmp_path / "numbers.npy", np.array([1], np.int32))
    np.save(tmp_path / "rows.npy", np.array([[127, 0, 0]], np.int8))
    np.save(tmp_path / "scales.npy", np.array([2], np.float32))
    (tmp_path / "model.json").write_text('{"identity": "tiny/other"}')
    other = tiny.changed_by(tmp_path)
    assert other.identity == "tiny/other"
    assert other.word_vectors(["green", "blue", "mauve"]).tolist() == [[254, 0, 0], [0, 0, 254], [0, 0, 0]]
    assert other.of_words(["red green"])[0] == pytest.approx([1, 0, 0])
    assert tiny.identity == "tiny"
    assert tiny.word_vectors(["green"]).tolist() == [[0, 127, 0]]


def test_who_asks_for_an_operation_is_understood_better() -> None:
    words = Words()
    question = TextToEmbed("", words.of("kill a server for good"))
    right, wrong = (TextToEmbed("", words.of(text)) for text in ("delete instance", "create instance"))

    def lead(model: StaticModel) -> float:
        near, far = model.texts([right, wrong]) @ model.question(question)
        return float(near - far)

    assert lead(api_model()) > lead(shared_model())
    assert api_model().identity != shared_model().identity


def test_only_the_first_words_of_a_very_long_text_count() -> None:
    words = [f"w{number}" for number in range(MOST_WORDS + 1)]
    model = StaticModel("long", words, np.eye(len(words), dtype=np.int8), np.ones(len(words), np.float32))
    (vector,) = model.of_words([" ".join(words)])
    assert vector[MOST_WORDS] == 0
    assert vector[MOST_WORDS - 1] > 0


def test_the_model_in_the_wheel_is_small_and_knows_what_is_alike() -> None:
    model, words = shared_model(), Words()
    table = (
        file
        for file in MODEL_FOLDER.rglob("*")
        if ENCODER_FOLDER not in file.parents and file.name not in (READER_FILE, ADAPTER_FILE)
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


@pytest.mark.parametrize("own_words", [0, 5, MOST_WORDS, 2 * MOST_WORDS])
@pytest.mark.parametrize("common_words", [0, 5, MOST_WORDS - 3, MOST_WORDS + 7])
def test_what_texts_begin_with_counts_as_if_it_stood_in_each(own_words: int, common_words: int) -> None:
    names = [f"w{number}" for number in range(3 * MOST_WORDS)]
    rows = np.random.default_rng(1).integers(-127, 127, (len(names), 16), np.int8)
    model = StaticModel("made", names, rows, np.ones(len(names), np.float32))
    common = " ".join(names[:common_words])
    overlapping = " ".join(names[max(0, common_words - 4) :][:own_words])
    texts = [overlapping, "w0 w0 w1", "", "mauve"]
    whole = model.of_words([f"{common} {text}" for text in texts])
    assert model.of_words(texts, after=common) == pytest.approx(whole, abs=1e-5)
