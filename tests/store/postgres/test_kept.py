"""Rows that are kept in memory: of one state, within bounds, and only for whom the database shows the project."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from deltos.confinement import Confinement, confined
from deltos.store.code import FileScope
from deltos.store.postgres.database import Database
from deltos.store.postgres.kept import Budget, KeptProject, KeptState
from deltos.store.postgres.projects import PostgresProjects
from tests.postgres_server import empty_database, role_url
from tests.store.test_project import add_code

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deltos.store.project import ProjectStore

OURS, THEIRS = Path("/src/ours"), Path("/src/theirs")


@pytest.fixture
def database() -> Iterator[Database]:
    """As the role of servers, which row-level security holds."""
    empty_database()
    with closing(Database(role_url(), migrations=None)) as opened:
        yield opened


def _with_code(database: Database, root: Path, words: str) -> ProjectStore:
    store = PostgresProjects(lambda: database).store_of(root)
    with store.writing() as writer:
        add_code(writer, "a.py", "Walrus", words)
        writer.set_meta({"complete": "1"})
    return store


def _bodies(store: ProjectStore, words: Sequence[str]) -> list[str]:
    with store.code.snapshot():
        found = store.code.match_chunks(words, [], FileScope(), limit=5)
        return [each.body for each in store.code.chunk_words([match.chunk_id for match in found]).values()]


def _statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    asked: list[str] = []
    real = Database.query

    def query(self: Database, sql: str, values: Sequence[object] = ()) -> list[tuple[object, ...]]:
        asked.append(sql)
        return real(self, sql, values)

    monkeypatch.setattr(Database, "query", query)
    return asked


def test_what_one_question_read_the_next_one_has(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    store = _with_code(database, OURS, "tusk")
    assert _bodies(store, ["tusk"]) == ["tusk"]
    asked = _statements(monkeypatch)
    assert _bodies(store, ["tusk"]) == ["tusk"]
    assert ["version" in sql for sql in asked] == [True]  # nothing else


def test_rows_of_an_earlier_state_are_not_handed_out(database: Database) -> None:
    store = _with_code(database, OURS, "tusk")
    assert _bodies(store, ["tusk"]) == ["tusk"]
    assert _bodies(store, ["flipper"]) == []  # that there is none is kept too
    with store.writing() as writer:
        add_code(writer, "b.py", "Seal", "flipper tusk")
    assert sorted(_bodies(store, ["tusk"])) == ["flipper tusk", "tusk"]
    assert _bodies(store, ["flipper"]) == ["flipper tusk"]


def test_a_snapshot_of_an_earlier_state_goes_on_seeing_it(database: Database) -> None:
    store = _with_code(database, OURS, "tusk")

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


def test_what_was_kept_for_one_caller_is_not_handed_to_another_who_may_not_see_it(database: Database) -> None:
    ours, theirs = _with_code(database, OURS, "tusk"), _with_code(database, THEIRS, "secret")
    assert _bodies(theirs, ["secret"]) == ["secret"]
    assert theirs.facts().is_complete
    with confined(Confinement((OURS,))):  # the application's checks would not let him come so far
        assert _bodies(ours, ["tusk"]) == ["tusk"]
        assert _bodies(theirs, ["secret"]) == []
        assert not theirs.facts().is_complete
        ours.look_ahead([theirs])
        assert not theirs.facts().is_complete
        with ours.code.snapshot(), theirs.code.snapshot():
            assert theirs.code.chunk_count() == 0
            assert theirs.code.document_frequencies(["secret"]) == {}
    with confined(Confinement((THEIRS,))):
        assert _bodies(theirs, ["secret"]) == ["secret"]
    assert _bodies(theirs, ["secret"]) == ["secret"]


def test_what_was_read_ahead_for_one_caller_tells_another_nothing(database: Database) -> None:
    ours, theirs = _with_code(database, OURS, "tusk"), _with_code(database, THEIRS, "secret")
    assert theirs.facts().is_complete
    ours.look_ahead([theirs])
    with confined(Confinement((OURS,))):
        assert not theirs.facts().is_complete


def test_several_projects_are_asked_at_once_and_each_shows_what_its_caller_may_see(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = _with_code(database, OURS, "tusk secret"), _with_code(database, THEIRS, "secret")

    def asked_ahead() -> list[list[int]]:
        with ours.code.snapshot(), theirs.code.snapshot():
            ours.code.look_ahead([theirs.code], ["secret"], ["walrus"], limit=5)
            asked = _statements(monkeypatch)
            found = [
                [
                    len(store.code.match_chunks(["secret"], [], FileScope(), limit=5)),
                    len(store.code.definitions_named(["walrus"], FileScope(), limit=5)),
                ]
                for store in (ours, theirs)
            ]
            assert not [sql for sql in asked if "FROM definition" in sql or "FROM word " in sql] or found[1] == [0, 0]
            return found

    with confined(Confinement((OURS,))):
        assert asked_ahead() == [[1, 1], [0, 0]]
    assert asked_ahead() == [[1, 1], [1, 1]]
    with confined(Confinement((OURS,))):
        assert asked_ahead() == [[1, 1], [0, 0]]


def test_what_was_read_ahead_does_not_outlive_a_write(database: Database) -> None:
    ours, theirs = _with_code(database, OURS, "tusk"), _with_code(database, THEIRS, "secret")
    ours.look_ahead([theirs])
    with theirs.writing() as writer:
        writer.set_meta({"complete": ""})
    assert not theirs.facts().is_complete
    assert ours.facts().is_complete


def test_no_more_is_kept_than_the_budget_allows() -> None:
    budget = Budget(most_bytes=100_000)
    states = [KeptState(version, budget) for version in range(10)]
    for state in states:
        for first in range(0, 100, 10):
            state.rows("text", range(first, first + 10), lambda keys: dict.fromkeys(keys, "x" * 500), len)
            assert budget.used_bytes <= 100_000
    assert states[-1].has("text", 99)
    assert not states[0].has("text", 0)
    for state in states:
        budget.forget(state)
    assert budget.used_bytes == 0


def test_rows_that_exceed_the_budget_alone_are_handed_out_and_not_kept() -> None:
    budget = Budget(most_bytes=1_000)
    state = KeptState(1, budget)
    assert state.rows("text", [1], lambda _: {1: "x" * 5_000}, len) == {1: "x" * 5_000}
    assert not state.has("text", 1)
    assert budget.used_bytes == 0


def test_a_newer_version_takes_the_place_of_an_older_one_and_never_the_other_way_round() -> None:
    budget = Budget()
    kept = KeptProject(budget)
    first = kept.at(1)
    assert first is not None
    assert kept.at(1) is first
    first.put("text", {1: "a"}, len)
    used = budget.used_bytes
    first.put("text", {1: "a"}, len)
    assert budget.used_bytes == used  # known already
    assert kept.at(2) is not first
    assert budget.used_bytes == 0
    assert kept.at(1) is None
