from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from deltos.embed.protocol import TextToEmbed, Vectors
from deltos.errors import EmbedderUnavailable
from deltos.semantic_index import SemanticIndex, standardised
from deltos.store.migration import Migration
from deltos.store.sqlite.database import SqliteDatabase
from deltos.store.sqlite.vectors import SqliteVectorOwner, SqliteVectors, create_migration

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

NOTES = SqliteVectorOwner("note", "id", "SELECT id, text, text FROM note")
TABLE = Migration("notes", "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL);")


class LetterCounter:
    """Embedding model that counts the letters a, b and c."""

    def __init__(self, identity: str = "letters") -> None:
        self.identity = identity
        self.is_down = False

    def texts(self, passages: Sequence[TextToEmbed]) -> Vectors:
        counts = np.array([[p.text.count(letter) for letter in "abc"] for p in passages], np.float32)
        vectors: Vectors = counts / (np.linalg.norm(counts, axis=1, keepdims=True) + np.float32(1e-9))
        return vectors

    def question(self, passage: TextToEmbed) -> Vectors:
        if self.is_down:
            raise EmbedderUnavailable("letters are out")
        vector: Vectors = self.texts([passage])[0]
        return vector


@pytest.fixture
def database(tmp_path: Path) -> SqliteDatabase:
    return SqliteDatabase(tmp_path / "notes.db", (TABLE, create_migration(NOTES)))


@pytest.fixture
def semantic_index(database: SqliteDatabase) -> SemanticIndex:
    return SemanticIndex(LetterCounter(), SqliteVectors(database, NOTES))


def add_notes(database: SqliteDatabase, *texts: str) -> None:
    with database.write() as connection:
        connection.executemany("INSERT INTO note (text) VALUES (?)", [(text,) for text in texts])


def most_similar_notes(semantic_index: SemanticIndex, text: str, count: int = 10) -> list[int]:
    similarities = semantic_index.similarities(TextToEmbed(text, text))
    return similarities.nearest(count) if similarities else []


def test_the_most_similar_texts_come_first(database: SqliteDatabase, semantic_index: SemanticIndex) -> None:
    add_notes(database, "aaab", "bbb", "abc")
    assert semantic_index.embed_new() == 3
    assert most_similar_notes(semantic_index, "a") == [1, 3, 2]
    assert most_similar_notes(semantic_index, "b", 1) == [2]


def test_texts_without_a_vector_are_not_found_and_cause_no_error(
    database: SqliteDatabase, semantic_index: SemanticIndex
) -> None:
    add_notes(database, "a", "ab")
    assert semantic_index.similarities(TextToEmbed("a", "a")) is None
    semantic_index.embed_new()
    add_notes(database, "aa")
    similarities = semantic_index.similarities(TextToEmbed("a", "a"))
    assert similarities is not None
    assert similarities.standardised_cosines([1, 2, 3]) == pytest.approx([1, -1, 0])


def test_deleting_a_text_deletes_its_vector(database: SqliteDatabase, semantic_index: SemanticIndex) -> None:
    add_notes(database, "a", "b", "c")
    semantic_index.embed_new()
    assert len(most_similar_notes(semantic_index, "abc")) == 3
    with database.write() as connection:
        connection.execute("DELETE FROM note WHERE id = 2")
    add_notes(database, "bb")
    semantic_index.embed_new()
    assert sorted(most_similar_notes(semantic_index, "abc")) == [1, 3, 4]


def test_a_different_model_recomputes_all_vectors(database: SqliteDatabase, semantic_index: SemanticIndex) -> None:
    add_notes(database, "a", "b")
    semantic_index.embed_new()
    other = SemanticIndex(LetterCounter("other"), SqliteVectors(database, NOTES))
    assert most_similar_notes(other, "a") == []
    assert other.embed_new() == 2
    assert most_similar_notes(other, "a")[0] == 1
    assert most_similar_notes(semantic_index, "a") == []


def test_embedding_stops_if_it_is_cancelled(database: SqliteDatabase, semantic_index: SemanticIndex) -> None:
    add_notes(database, "a")
    assert semantic_index.embed_new(lambda: True) == 0


def test_an_unavailable_model_is_reported_until_it_is_available_again(database: SqliteDatabase) -> None:
    letters = LetterCounter()
    semantic_index = SemanticIndex(letters, SqliteVectors(database, NOTES))
    add_notes(database, "a", "b")
    semantic_index.embed_new()
    letters.is_down = True
    with pytest.raises(EmbedderUnavailable, match="letters are out"):
        semantic_index.similarities(TextToEmbed("a", "a"))
    letters.is_down = False
    assert most_similar_notes(semantic_index, "a")


def test_a_query_without_known_words_has_no_similarities(
    database: SqliteDatabase, semantic_index: SemanticIndex
) -> None:
    add_notes(database, "a")
    semantic_index.embed_new()
    assert semantic_index.similarities(TextToEmbed("xyz", "xyz")) is None


def test_standardised_values_are_zero_if_all_values_are_equal() -> None:
    assert standardised(np.array([0.5, 0.5, np.nan], np.float32)) == [0.0, 0.0, 0.0]
    assert standardised(np.array([0.5], np.float32)) == [0.0]
