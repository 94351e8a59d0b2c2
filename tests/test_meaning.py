from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from deltos.embed.protocol import TextToEmbed, Vectors
from deltos.errors import EmbedderUnavailable
from deltos.semantic_index import SemanticIndex, standardised
from deltos.store.migration import Migration
from deltos.store.sqlite.database import SqliteDatabase
from deltos.store.sqlite.vectors import SqliteVectorOwner, SqliteVectors, migration

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

NOTES = SqliteVectorOwner("note", "id", "SELECT id, text, text FROM note")
TABLE = Migration("notes", "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL);")


class Letters:
    """Counts the letters a, b and c."""

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
    return SqliteDatabase(tmp_path / "notes.db", (TABLE, migration(NOTES)))


@pytest.fixture
def semantic_index(database: SqliteDatabase) -> SemanticIndex:
    return SemanticIndex(Letters(), SqliteVectors(database, NOTES))


def add(database: SqliteDatabase, *texts: str) -> None:
    with database.write() as connection:
        connection.executemany("INSERT INTO note (text) VALUES (?)", [(text,) for text in texts])


def nearest(semantic_index: SemanticIndex, text: str, count: int = 10) -> list[int]:
    similarities = semantic_index.similarities(TextToEmbed(text, text))
    return similarities.nearest(count) if similarities else []


def test_the_nearest_things_come_first(database: SqliteDatabase, semantic_index: SemanticIndex) -> None:
    add(database, "aaab", "bbb", "abc")
    assert semantic_index.embed_new() == 3
    assert nearest(semantic_index, "a") == [1, 3, 2]
    assert nearest(semantic_index, "b", 1) == [2]


def test_texts_without_a_vector_are_not_found_and_cause_no_error(
    database: SqliteDatabase, semantic_index: SemanticIndex
) -> None:
    add(database, "a", "ab")
    assert semantic_index.similarities(TextToEmbed("a", "a")) is None
    semantic_index.embed_new()
    add(database, "aa")
    similarities = semantic_index.similarities(TextToEmbed("a", "a"))
    assert similarities is not None
    assert similarities.of([1, 2, 3]) == pytest.approx([1, -1, 0])


def test_deleting_a_text_deletes_its_vector(database: SqliteDatabase, semantic_index: SemanticIndex) -> None:
    add(database, "a", "b", "c")
    semantic_index.embed_new()
    assert len(nearest(semantic_index, "abc")) == 3
    with database.write() as connection:
        connection.execute("DELETE FROM note WHERE id = 2")
    add(database, "bb")
    semantic_index.embed_new()
    assert sorted(nearest(semantic_index, "abc")) == [1, 3, 4]


def test_a_different_model_recomputes_all_vectors(database: SqliteDatabase, semantic_index: SemanticIndex) -> None:
    add(database, "a", "b")
    semantic_index.embed_new()
    other = SemanticIndex(Letters("other"), SqliteVectors(database, NOTES))
    assert nearest(other, "a") == []
    assert other.embed_new() == 2
    assert nearest(other, "a")[0] == 1
    assert nearest(semantic_index, "a") == []


def test_it_stops_when_asked_to(database: SqliteDatabase, semantic_index: SemanticIndex) -> None:
    add(database, "a")
    assert semantic_index.embed_new(lambda: True) == 0


def test_an_unavailable_model_is_reported_until_it_is_available_again(database: SqliteDatabase) -> None:
    letters = Letters()
    semantic_index = SemanticIndex(letters, SqliteVectors(database, NOTES))
    add(database, "a", "b")
    semantic_index.embed_new()
    letters.is_down = True
    with pytest.raises(EmbedderUnavailable, match="letters are out"):
        semantic_index.similarities(TextToEmbed("a", "a"))
    letters.is_down = False
    assert nearest(semantic_index, "a")


def test_a_question_that_says_nothing_is_like_nothing(database: SqliteDatabase, semantic_index: SemanticIndex) -> None:
    add(database, "a")
    semantic_index.embed_new()
    assert semantic_index.similarities(TextToEmbed("xyz", "xyz")) is None


def test_values_that_do_not_differ_say_nothing() -> None:
    assert standardised(np.array([0.5, 0.5, np.nan], np.float32)) == [0.0, 0.0, 0.0]
    assert standardised(np.array([0.5], np.float32)) == [0.0]
