"""The encoder in the wheel: questions are put where their answers are, among texts that are sums of words."""

from __future__ import annotations

import numpy as np
import pytest

from deltos.embed.identity import MODEL_FOLDER, QUERIES_FOLDER
from deltos.embed.protocol import TextToEmbed
from deltos.embed.query_encoder import ReadingModel, api_reading_model, shared_encoder
from deltos.embed.static import api_model
from deltos.text.words import Words, asked_words

OPERATIONS = (
    "Create a refund /v1/refunds",
    "Cancel a payment intent /v1/payment_intents/{intent}/cancel",
    "List all disputes /v1/disputes",
    "Update a customer /v1/customers/{customer}",
    "Retrieve balance /v1/balance",
)


def asked(question: str) -> TextToEmbed:
    """A question as it is put to a model."""
    return TextToEmbed(question, asked_words(question))


def nearest(model: ReadingModel, question: str) -> str:
    """The operation that is nearest to a question."""
    words = Words()
    texts = model.texts([TextToEmbed(text, words.of(text)) for text in OPERATIONS])
    return OPERATIONS[int(np.argmax(texts @ model.question(asked(question))))]


@pytest.mark.parametrize(
    ("question", "operation"),
    [
        ("give somebody their money back", "Create a refund /v1/refunds"),
        ("how much do we have left in our account", "Retrieve balance /v1/balance"),
        ("who has complained to their bank about being charged", "List all disputes /v1/disputes"),
    ],
)
def test_what_a_question_says_as_a_whole_is_found(question: str, operation: str) -> None:
    assert nearest(api_reading_model(), question) == operation


def test_a_question_in_a_language_that_it_cannot_read_is_the_sum_of_its_words() -> None:
    question = asked("退款 refund 如何 操作")
    assert shared_encoder().vector(question.text) is None
    assert api_reading_model().question(question) == pytest.approx(api_model().question(question))


@pytest.mark.parametrize("question", ["", "?", "qzxv"])
def test_nothing_is_made_of_nothing(question: str) -> None:
    assert not api_reading_model().question(asked(question)).any()


def test_vectors_have_unit_length_however_long_the_question_is() -> None:
    for question in ("cancel", "cancel the order " * 500):
        vector = api_reading_model().question(asked(question))
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_what_is_stored_does_not_depend_on_how_questions_are_read() -> None:
    assert api_reading_model().identity == api_model().identity


def test_the_encoder_in_the_wheel_is_small() -> None:
    assert sum(file.stat().st_size for file in QUERIES_FOLDER.iterdir()) <= 22_000_000
    assert QUERIES_FOLDER.is_relative_to(MODEL_FOLDER)
