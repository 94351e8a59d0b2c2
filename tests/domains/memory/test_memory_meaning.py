"""Semantic matches: they are found, marked, and their vectors are deleted with the observations."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from deltos.domains.memory.core.memory import Memory
from deltos.embed.embedders import memory_embedder
from deltos.semantic_index import SemanticIndex
from deltos.store.sqlite.memory.reader import SqliteObservations
from tests.files_of import memory_file

from .conftest import Clock, Notes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOGIN = "Users sign in with OAuth; the session token lives in a cookie"
INVOICES = "Invoices are rendered to PDF by a nightly job"
RETRIES = "The payment client waits twice as long after every failed attempt"


@pytest.fixture
def memory(tmp_path: Path, clock: Clock) -> Iterator[Memory]:
    store = SqliteObservations(tmp_path / "home" / "memory.db")
    compared = SemanticIndex(memory_embedder(), store.vectors)
    yield Memory(store, clock=clock, semantic_index=lambda: compared)
    store.close()


@pytest.fixture
def notes(memory: Memory) -> Notes:
    notes = Notes(memory)
    for text in (LOGIN, INVOICES, RETRIES):
        notes.remember(text)
    return notes


def stored_vectors(memory: Memory) -> list[tuple[str, int]]:
    """Return model and size of each stored vector."""
    with closing(sqlite3.connect(memory_file(memory))) as connection:
        return connection.execute("SELECT model, length(data) FROM observation_vector").fetchall()


def test_a_semantic_match_is_found_and_marked(memory: Memory, notes: Notes) -> None:
    hit = memory.search("exponential backoff", "p", limit=3).hits[0]
    assert hit.observation.text == RETRIES
    assert hit.is_near


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Wie melden sich Benutzer an?", LOGIN),
        ("¿cómo inician sesión los usuarios?", LOGIN),
        ("发票是怎么生成的", INVOICES),
        ("請求書はいつ作成されますか", INVOICES),
        ("combien de temps attend le client après un échec", RETRIES),
    ],
)
def test_a_query_in_another_language_finds_english_observations(
    memory: Memory, notes: Notes, question: str, text: str
) -> None:
    assert memory.search(question, "p", limit=3).hits[0].observation.text == text


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Die Sicherung läuft jede Nacht um drei und wird auf Band geschrieben.", "when do backups run"),
        (
            "El pago se reintenta tres veces antes de avisar al cliente.",
            "when is the customer told that the charge did not work",
        ),
        ("部署只在周二上午进行，周五不发布。", "on which day do we release"),
        ("画像はアップロード時に縮小して保存する。", "are pictures resized"),
    ],
)
def test_an_english_query_finds_observations_in_another_language(
    memory: Memory, notes: Notes, text: str, question: str
) -> None:
    notes.remember(text)
    assert memory.search(question, "p", limit=3).hits[0].observation.text == text


def test_an_abbreviation_is_found_by_its_long_form(memory: Memory, notes: Notes) -> None:
    hit = memory.search("authentication", "p", limit=3).hits[0]
    assert hit.observation.text == LOGIN  # OAuth
    assert not hit.is_near


def test_a_term_match_comes_first_and_is_not_marked(memory: Memory, notes: Notes) -> None:
    hit = memory.search("which job makes invoices", "p", limit=3).hits[0]
    assert hit.observation.text == INVOICES
    assert not hit.is_near


def test_semantic_matches_are_limited_to_the_project(notes: Notes) -> None:
    assert notes.search("authentication", project="another") == []


def test_an_unrelated_query_finds_nothing(notes: Notes) -> None:
    assert notes.search("xylophone zebra") == []


def test_an_unknown_word_does_not_find_unrelated_observations(notes: Notes) -> None:
    for name in ("redis", "elasticsearch", "kubernetes"):
        assert notes.search(name) == []


def test_a_forgotten_observation_loses_its_vector_until_it_is_restored(memory: Memory, notes: Notes) -> None:
    before = notes.search("authentication")
    assert len(stored_vectors(memory)) == 3
    ids = [row.id for row in memory.store.all() if row.text == LOGIN]
    memory.forget(ids)
    assert len(stored_vectors(memory)) == 2
    assert LOGIN not in notes.search("authentication")
    memory.forget(ids, restore=True)
    assert notes.search("authentication") == before


def test_a_purged_observation_leaves_no_vector_in_any_file(memory: Memory, notes: Notes) -> None:
    notes.search("authentication")
    row = next(row for row in memory.store.all() if row.text == LOGIN)
    with closing(sqlite3.connect(memory_file(memory))) as connection:
        sql = "SELECT data FROM observation_vector WHERE key = ?"
        vector: bytes = connection.execute(sql, (row.place,)).fetchone()[0]
    memory.forget([row.id])
    assert memory.purge().is_traceless
    raw = b"".join(path.read_bytes() for path in memory_file(memory).parent.rglob("*") if path.is_file())
    assert vector[:64] not in raw


def test_vectors_are_computed_from_redacted_text(memory: Memory, notes: Notes) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    notes.remember(f"The deploy token is {secret}")
    assert all(secret not in thing.text for thing in memory.store.vectors.unembedded("none", after=-1, limit=10))


def test_vectors_of_another_model_are_replaced(memory: Memory, notes: Notes) -> None:
    with closing(sqlite3.connect(memory_file(memory))) as connection:
        connection.execute("UPDATE observation_vector SET model = 'older', data = x'00'")
        connection.commit()
    assert notes.search("authentication")[0] == LOGIN
    assert stored_vectors(memory) == [(memory_embedder().identity, 512)] * 3


def test_a_changed_text_is_embedded_again(memory: Memory, notes: Notes) -> None:
    notes.search("authentication")
    notes.remember(f"{INVOICES}, and the mail that carries them is sent by Sendgrid")
    assert stored_vectors(memory).count(("", 0)) == 1
    notes.search("authentication")
    assert ("", 0) not in stored_vectors(memory)


def test_an_explained_cause_is_found_by_the_complaint_that_it_answers(memory: Memory) -> None:
    notes = Notes(memory)
    for text in ("Fonts are served from our own host", "Mail goes out in batches of eighty", "Buttons are 48 px high"):
        notes.remember(text, session="before")
    notes.remember(
        "three visitors saw a white page when they reserved a wheelbarrow", kind="request", source="user", session="a"
    )
    cause = "A read transaction that turns into a write one holds a stale snapshot, and SQLite refuses to wait for it"
    notes.remember(cause, source="agent", session="a")
    for text in (
        "the wheelbarrow wants a new wheel by Saturday",
        "who reserves the wheelbarrow brings it back",
        "the wheelbarrow is green",
    ):
        notes.remember(text, kind="request", source="user", session=text)
    assert cause in notes.search("why did reserving the wheelbarrow crash", limit=3)
