from __future__ import annotations

import threading
import time
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest

from deltos.embed.protocol import TextToEmbed, Vectors
from deltos.errors import EmbedderUnavailable
from deltos.meaning import Meaning, standardised
from deltos.store.sqlite.database import SqliteDatabase, SqliteMigration
from deltos.store.sqlite.vectors import SqliteVectorOwner, SqliteVectors, migration

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

NOTES = SqliteVectorOwner("note", "id", "SELECT id, text, text FROM note")
TABLE = SqliteMigration("notes", "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL);")


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
def meaning(database: SqliteDatabase) -> Meaning:
    return Meaning(Letters(), SqliteVectors(database, NOTES))


def add(database: SqliteDatabase, *texts: str) -> None:
    with database.write() as connection:
        connection.executemany("INSERT INTO note (text) VALUES (?)", [(text,) for text in texts])


def nearest(meaning: Meaning, text: str, count: int = 10) -> list[int]:
    similarities = meaning.similarities(TextToEmbed(text, text))
    return similarities.nearest(count) if similarities else []


def test_the_nearest_things_come_first(database: SqliteDatabase, meaning: Meaning) -> None:
    add(database, "aaab", "bbb", "abc")
    assert meaning.catch_up() == 3
    assert nearest(meaning, "a") == [1, 3, 2]
    assert nearest(meaning, "b", 1) == [2]


def test_what_has_no_vector_yet_is_not_found_and_does_no_harm(database: SqliteDatabase, meaning: Meaning) -> None:
    add(database, "a", "ab")
    assert meaning.similarities(TextToEmbed("a", "a")) is None
    meaning.catch_up()
    add(database, "aa")
    similarities = meaning.similarities(TextToEmbed("a", "a"))
    assert similarities is not None
    assert similarities.of([1, 2, 3]) == pytest.approx([1, -1, 0])


def test_a_thing_that_goes_takes_its_vector_along(database: SqliteDatabase, meaning: Meaning) -> None:
    add(database, "a", "b", "c")
    meaning.catch_up()
    assert len(nearest(meaning, "abc")) == 3
    with database.write() as connection:
        connection.execute("DELETE FROM note WHERE id = 2")
    add(database, "bb")
    meaning.catch_up()
    assert sorted(nearest(meaning, "abc")) == [1, 3, 4]


def test_another_model_makes_all_vectors_anew(database: SqliteDatabase, meaning: Meaning) -> None:
    add(database, "a", "b")
    meaning.catch_up()
    other = Meaning(Letters("other"), SqliteVectors(database, NOTES))
    assert nearest(other, "a") == []
    assert other.catch_up() == 2
    assert nearest(other, "a")[0] == 1
    assert nearest(meaning, "a") == []


def test_it_stops_when_asked_to(database: SqliteDatabase, meaning: Meaning) -> None:
    add(database, "a")
    assert meaning.catch_up(lambda: True) == 0


def test_a_model_that_is_down_is_said_and_forgotten_when_it_is_back(database: SqliteDatabase) -> None:
    letters = Letters()
    meaning = Meaning(letters, SqliteVectors(database, NOTES))
    add(database, "a", "b")
    meaning.catch_up()
    letters.is_down = True
    with pytest.raises(EmbedderUnavailable, match="letters are out"):
        meaning.similarities(TextToEmbed("a", "a"))
    letters.is_down = False
    assert nearest(meaning, "a")


def test_a_question_that_says_nothing_is_like_nothing(database: SqliteDatabase, meaning: Meaning) -> None:
    add(database, "a")
    meaning.catch_up()
    assert meaning.similarities(TextToEmbed("xyz", "xyz")) is None


def test_values_that_do_not_differ_say_nothing() -> None:
    assert standardised(np.array([0.5, 0.5, np.nan], np.float32)) == [0.0, 0.0, 0.0]
    assert standardised(np.array([0.5], np.float32)) == [0.0]


class Slow(Letters):
    """The same vectors, made while somebody waits."""

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


def test_what_waits_for_a_slow_model_is_compared_by_a_faster_one(
    database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deltos.meaning._SLOW_SECONDS", -1.0)
    slow = Slow()
    meaning = Meaning(slow, SqliteVectors(database, NOTES), at_once=Letters("fast"))
    add(database, "aaab", "bbb", "abc")
    found = meaning.compare("a")
    assert found is not None
    assert found.nearest(3) == [1, 3, 2]
    assert (models(database), meaning.is_behind) == ({"fast": 3}, False)
    meaning.stop()


def test_the_rest_is_made_in_the_background_and_each_text_once(database: SqliteDatabase) -> None:
    slow = Slow()
    slow.may_go_on.set()
    meaning = Meaning(slow, SqliteVectors(database, NOTES), at_once=Letters("fast"))
    add(database, *("ab" * number for number in range(1, 101)))
    meaning.compare("a")
    deadline = time.monotonic() + 20
    while models(database) != {"slow": 100} and time.monotonic() < deadline:
        time.sleep(0.02)
    assert models(database) == {"slow": 100}
    assert len(slow.made) == len(set(slow.made)) == 100
    found = meaning.compare("a")
    assert found is not None
    assert len(found.keys) == len(set(found.keys.tolist())) == 100
    meaning.stop()


def test_what_another_process_makes_is_left_to_it(database: SqliteDatabase) -> None:
    slow = Slow()
    slow.may_go_on.set()
    store = SqliteVectors(database, NOTES)
    meaning = Meaning(slow, store, at_once=Letters("fast"))
    add(database, "a", "b")
    with store.try_lock() as is_held:
        assert is_held
        assert meaning.compare("a") is not None
        assert (models(database), slow.made) == ({"fast": 2}, [])
    meaning.compare("a")
    assert models(database) == {"slow": 2}
    meaning.stop()
