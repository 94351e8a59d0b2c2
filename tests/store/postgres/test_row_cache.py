"""Cached rows belong to one version, stay within the budget, and are returned only to callers with rights to the
project.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from deltos.confinement import Confinement, confined
from deltos.store.code import FileScope
from deltos.store.postgres.database import PostgresDatabase
from deltos.store.postgres.projects import PostgresProjects
from deltos.store.postgres.row_cache import RowCache
from tests.postgres_server import empty_database, role_url
from tests.store.test_project import add_code

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deltos.store.project import ProjectStore

OURS, THEIRS = Path("/src/ours"), Path("/src/theirs")


@pytest.fixture
def database() -> Iterator[PostgresDatabase]:
    """A connection as the role of the servers, to which row-level security applies."""
    empty_database()
    with closing(PostgresDatabase(role_url(), migrations=None)) as opened:
        yield opened


def _store_with_code(database: PostgresDatabase, root: Path, words: str) -> ProjectStore:
    store = PostgresProjects(lambda: database).store_of(root)
    with store.writing() as writer:
        add_code(writer, "a.py", "Walrus", words)
        writer.set_metadata({"complete": "1", "synced_at": "1.0"})
    return store


_VOCABULARY = ("flipper", "secret", "tusk")


def _bodies(store: ProjectStore, words: Sequence[str]) -> list[str]:
    with store.code.snapshot():
        found = store.code.match_chunks(words, [], FileScope(), limit=5)
        terms = store.code.chunk_terms([match.chunk_id for match in found], _VOCABULARY).values()
        return [" ".join(word for n, word in enumerate(_VOCABULARY) if each.anywhere >> n & 1) for each in terms]


def _record_statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    statements: list[str] = []
    real = PostgresDatabase.query

    def query(self: PostgresDatabase, sql: str, values: Sequence[object] = ()) -> list[tuple[object, ...]]:
        statements.append(sql)
        return real(self, sql, values)

    monkeypatch.setattr(PostgresDatabase, "query", query)
    return statements


def test_a_second_query_reads_only_the_version(database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    store = _store_with_code(database, OURS, "tusk")
    assert _bodies(store, ["tusk"]) == ["tusk"]
    statements = _record_statements(monkeypatch)
    assert _bodies(store, ["tusk"]) == ["tusk"]
    assert ["version" in sql for sql in statements] == [True]  # one query for the version and none for rows


def test_rows_of_an_earlier_version_are_not_returned(database: PostgresDatabase) -> None:
    store = _store_with_code(database, OURS, "tusk")
    assert _bodies(store, ["tusk"]) == ["tusk"]
    assert _bodies(store, ["flipper"]) == []  # an empty result is cached too
    with store.writing() as writer:
        add_code(writer, "b.py", "Seal", "flipper tusk")
    assert sorted(_bodies(store, ["tusk"])) == ["flipper tusk", "tusk"]
    assert _bodies(store, ["flipper"]) == ["flipper tusk"]


def test_a_snapshot_of_an_earlier_version_still_returns_the_rows_of_that_version(database: PostgresDatabase) -> None:
    store = _store_with_code(database, OURS, "tusk")

    def write_and_ask() -> list[str]:
        with store.writing() as writer:
            add_code(writer, "b.py", "Seal", "flipper")
        return _bodies(store, ["flipper"])

    with ThreadPoolExecutor(1) as other_thread, store.code.snapshot():
        assert store.code.file_count(FileScope()) == 1
        assert other_thread.submit(write_and_ask).result() == ["flipper"]
        assert store.code.file_count(FileScope()) == 1
        assert _bodies(store, ["flipper"]) == []
    assert store.code.file_count(FileScope()) == 2
    assert _bodies(store, ["flipper"]) == ["flipper"]


def test_cached_rows_are_not_returned_to_a_caller_without_rights(database: PostgresDatabase) -> None:
    ours, theirs = _store_with_code(database, OURS, "tusk"), _store_with_code(database, THEIRS, "secret")
    assert _bodies(theirs, ["secret"]) == ["secret"]
    assert theirs.facts().is_complete
    with confined(Confinement((OURS,))):  # the application's own checks would reject this call earlier
        assert _bodies(ours, ["tusk"]) == ["tusk"]
        assert _bodies(theirs, ["secret"]) == []
        assert not theirs.facts().is_complete
        with ours.code.snapshot(), theirs.code.snapshot():
            assert theirs.code.chunk_count() == 0
            assert theirs.code.document_frequencies(["secret"]) == {}
    with confined(Confinement((THEIRS,))):
        assert _bodies(theirs, ["secret"]) == ["secret"]
    assert _bodies(theirs, ["secret"]) == ["secret"]


def test_cached_facts_are_dropped_after_a_write(database: PostgresDatabase) -> None:
    ours, theirs = _store_with_code(database, OURS, "tusk"), _store_with_code(database, THEIRS, "secret")
    assert theirs.facts().is_complete
    with theirs.writing() as writer:
        writer.set_metadata({"complete": ""})
    assert not theirs.facts().is_complete
    assert ours.facts().is_complete


def test_the_cache_stays_within_its_limit() -> None:
    cache = RowCache(max_bytes=100_000)
    for number in range(100):
        cache.put(number, [("x" * 5_000,)])
        assert cache.used_bytes <= 100_000
    assert cache.get(99) == [("x" * 5_000,)]
    assert cache.get(0) is None


def test_the_least_recently_used_rows_are_dropped() -> None:
    cache = RowCache(max_bytes=15_000)
    cache.put("a", [("x" * 5_000,)])
    cache.put("b", [("x" * 5_000,)])
    assert cache.get("a")
    cache.put("c", [("x" * 5_000,)])
    assert [bool(cache.get(key)) for key in "abc"] == [True, False, True]


def test_rows_larger_than_the_limit_are_not_cached() -> None:
    cache = RowCache(max_bytes=1_000)
    cache.put("a", [("x" * 5_000,)])
    assert cache.get("a") is None
    assert cache.used_bytes == 0
