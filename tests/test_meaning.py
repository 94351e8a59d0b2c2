from __future__ import annotations

import threading
import time
from collections import Counter
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
    assert semantic_index.catch_up() == 3
    assert nearest(semantic_index, "a") == [1, 3, 2]
    assert nearest(semantic_index, "b", 1) == [2]


def test_texts_without_a_vector_are_not_found_and_cause_no_error(
    database: SqliteDatabase, semantic_index: SemanticIndex
) -> None:
    add(database, "a", "ab")
    assert semantic_index.similarities(TextToEmbed("a", "a")) is None
    semantic_index.catch_up()
    add(database, "aa")
    similarities = semantic_index.similarities(TextToEmbed("a", "a"))
    assert similarities is not None
    assert similarities.of([1, 2, 3]) == pytest.approx([1, -1, 0])


def test_deleting_a_text_deletes_its_vector(database: SqliteDatabase, semantic_index: SemanticIndex) -> None:
    add(database, "a", "b", "c")
    semantic_index.catch_up()
    assert len(nearest(semantic_index, "abc")) == 3
    with database.write() as connection:
        connection.execute("DELETE FROM note WHERE id = 2")
    add(database, "bb")
    semantic_index.catch_up()
    assert sorted(nearest(semantic_index, "abc")) == [1, 3, 4]


def test_a_different_model_recomputes_all_vectors(database: SqliteDatabase, semantic_index: SemanticIndex) -> None:
    add(database, "a", "b")
    semantic_index.catch_up()
    other = SemanticIndex(Letters("other"), SqliteVectors(database, NOTES))
    assert nearest(other, "a") == []
    assert other.catch_up() == 2
    assert nearest(other, "a")[0] == 1
    assert nearest(semantic_index, "a") == []


def test_it_stops_when_asked_to(database: SqliteDatabase, semantic_index: SemanticIndex) -> None:
    add(database, "a")
    assert semantic_index.catch_up(lambda: True) == 0


def test_an_unavailable_model_is_reported_until_it_is_available_again(database: SqliteDatabase) -> None:
    letters = Letters()
    semantic_index = SemanticIndex(letters, SqliteVectors(database, NOTES))
    add(database, "a", "b")
    semantic_index.catch_up()
    letters.is_down = True
    with pytest.raises(EmbedderUnavailable, match="letters are out"):
        semantic_index.similarities(TextToEmbed("a", "a"))
    letters.is_down = False
    assert nearest(semantic_index, "a")


def test_a_question_that_says_nothing_is_like_nothing(database: SqliteDatabase, semantic_index: SemanticIndex) -> None:
    add(database, "a")
    semantic_index.catch_up()
    assert semantic_index.similarities(TextToEmbed("xyz", "xyz")) is None


def test_values_that_do_not_differ_say_nothing() -> None:
    assert standardised(np.array([0.5, 0.5, np.nan], np.float32)) == [0.0, 0.0, 0.0]
    assert standardised(np.array([0.5], np.float32)) == [0.0]


class Slow(Letters):
    """The same vectors, computed slowly."""

    def __init__(self) -> None:
        super().__init__("slow")
        self.made: list[str] = []
        self.may_go_on = threading.Event()

    def texts(self, passages: Sequence[TextToEmbed]) -> Vectors:
        self.may_go_on.wait()
        self.made += [each.text for each in passages]
        return super().texts(passages)

    def question(self, passage: TextToEmbed) -> Vectors:
        return Letters().question(passage)


def models(database: SqliteDatabase) -> Counter[str]:
    rows = database.read().execute(f"SELECT model FROM {NOTES.vectors}").fetchall()
    return Counter(row[0] for row in rows)


def test_texts_not_yet_embedded_are_compared_by_a_faster_model(
    database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deltos.semantic_index._SLOW_SECONDS", -1.0)
    slow = Slow()
    semantic_index = SemanticIndex(slow, SqliteVectors(database, NOTES), at_once=Letters("fast"))
    add(database, "aaab", "bbb", "abc")
    found = semantic_index.compare("a")
    assert found is not None
    assert found.nearest(3) == [1, 3, 2]
    assert (models(database), semantic_index.is_behind) == ({"fast": 3}, False)
    semantic_index.stop()


def test_remaining_texts_are_embedded_once_in_the_background(database: SqliteDatabase) -> None:
    slow = Slow()
    slow.may_go_on.set()
    semantic_index = SemanticIndex(slow, SqliteVectors(database, NOTES), at_once=Letters("fast"))
    add(database, *("ab" * number for number in range(1, 101)))
    semantic_index.compare("a")
    deadline = time.monotonic() + 20
    while models(database) != {"slow": 100} and time.monotonic() < deadline:
        time.sleep(0.02)
    assert models(database) == {"slow": 100}
    assert len(slow.made) == len(set(slow.made)) == 100
    found = semantic_index.compare("a")
    assert found is not None
    assert len(found.keys) == len(set(found.keys.tolist())) == 100
    semantic_index.stop()


def test_what_another_process_makes_is_left_to_it(database: SqliteDatabase) -> None:
    slow = Slow()
    slow.may_go_on.set()
    store = SqliteVectors(database, NOTES)
    semantic_index = SemanticIndex(slow, store, at_once=Letters("fast"))
    add(database, "a", "b")
    with store.try_lock() as is_held:
        assert is_held
        assert semantic_index.compare("a") is not None
        assert (models(database), slow.made) == ({"fast": 2}, [])
    semantic_index.compare("a")
    assert models(database) == {"slow": 2}
    semantic_index.stop()
