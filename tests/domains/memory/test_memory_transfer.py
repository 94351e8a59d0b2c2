"""Export of memory as JSON Lines, and import of such files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from deltos.domains.memory.core.memory import Memory
from deltos.domains.memory.core.model import Draft, ObservationOrigin
from deltos.domains.memory.core.transfer import export, import_lines
from deltos.model import Clean
from deltos.store.observations import NewObservation
from deltos.store.sqlite.memory.reader import SqliteObservations
from deltos.text.times import micros

if TYPE_CHECKING:
    from pathlib import Path

    from tests.domains.memory.conftest import Clock, Notes


def test_a_round_trip_is_exact(memory: Memory, notes: Notes, clock: Clock, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def first(): ...")
    memory.remember(
        Draft("`first` in a.py is cheap\nand “quoted” 🙂", "decision", "Ada", ("a.py",)),
        ObservationOrigin("p", tmp_path, "s", "claude"),
    )
    clock.pass_time(seconds=3.000001)
    hidden_id = notes.remember("forgotten thing", session="s")
    memory.forget([hidden_id])
    loose = notes.remember("loose one", project="q")
    memory.pin([loose])
    memory.supersede(notes.remember("loose two of them", project="q"), loose)
    with memory.store.writing() as writer:
        project, session = memory.origin_keys(writer, ObservationOrigin("p", None, "s"))
        writer.update_session(session, agent="", started_at=7, ended_at=7)
        writer.insert(
            project,
            session,
            NewObservation(
                Clean("e1"),
                Clean("embedded"),
                Clean("finding"),
                Clean(""),
                5,
                embedding=b"\0\1\xff",
                embedding_model="static-1",
            ),
        )
    lines = list(export(memory))

    other = Memory(SqliteObservations(tmp_path / "other" / "memory.db"), clock=clock)
    done = import_lines(other, lines, project_id="unused")
    assert (done.added, done.failed) == (5, 0)
    assert list(export(other)) == lines
    assert import_lines(other, lines, project_id="unused").unchanged == 5
    assert list(export(other)) == lines
    other.store.close()


def test_a_time_in_the_future_is_replaced_by_the_current_time(memory: Memory, clock: Clock) -> None:
    ahead = clock.now.replace(year=2099).isoformat()
    import_lines(memory, [json.dumps({"text": "from the future", "created_at": ahead})], project_id="p")
    [row] = memory.store.all()
    assert row.created_at == micros(clock.now)


def test_given_fields_are_kept_and_missing_ones_are_filled_in(memory: Memory, notes: Notes) -> None:
    lines = [
        json.dumps(
            {
                "id": "D1:3",
                "text": "Ada: I went sailing",
                "session_id": 1,
                "project_id": "conv",
                "source": "chat",
                "created_at": "2023-05-08T13:56:00",
            }
        ),
        json.dumps({"text": "only a text"}),
        "",
    ]
    assert import_lines(memory, lines, project_id="here").added == 2
    [first] = memory.search("who went sailing", "conv", limit=5).hits
    assert (first.observation.id, first.observation.session_id, first.observation.source) == (
        "D1:3",
        "1",
        "chat",
    )
    assert notes.search("a text", project="here") == ["only a text"]


def test_the_same_id_in_two_projects_is_two_observations(memory: Memory) -> None:
    lines = [json.dumps({"id": "D1:1", "project_id": project, "text": f"hello {project}"}) for project in ("a", "b")]
    assert import_lines(memory, lines, project_id="").added == 2


def test_a_repeated_import_updates_changed_observations(memory: Memory, notes: Notes) -> None:
    import_lines(memory, [json.dumps({"id": "x", "text": "old words"})], project_id="p")
    done = import_lines(memory, [json.dumps({"id": "x", "text": "new phrase"})], project_id="p")
    assert done.updated == 1
    assert notes.search("old words") == []
    assert notes.search("new phrase") == ["new phrase"]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "Expecting"),
        ("[1]", "not a JSON object"),
        ('{"text": ""}', "no text"),
        ('{"text": ["x"]}', "'text' is not a text"),
        ('{"text": "x", "created_at": "soon"}', "'created_at' is not an ISO 8601 time"),
        ('{"text": "x", "created_at": 5}', "'created_at' is not an ISO 8601 time"),
        ('{"text": "x", "files": "a.py"}', "'files' is not a list"),
        ('{"text": "x", "embedding": "%"}', "base64"),
        ('{"text": "x", "anchors": [1]}', "anchor is not an object"),
        ('{"text": "x", "anchors": [{"path": "a", "digest": "zz"}]}', "hexadecimal"),
        ('{"type": "planet"}', "unknown type 'planet'"),
        (json.dumps({"text": "x" * 100_001}), "longer than"),
        ("[" * 100_000, "recursion"),
    ],
)
def test_a_bad_line_is_reported_and_the_import_continues(memory: Memory, notes: Notes, line: str, why: str) -> None:
    done = import_lines(memory, [line, '{"text": "a good line"}'], project_id="p")
    assert (done.added, done.failed) == (1, 1)
    assert done.problems[0].startswith("line 1: ")
    assert why in done.problems[0]
    assert notes.texts() == ["a good line"]


def test_many_bad_lines_are_counted_and_the_first_ones_listed(memory: Memory) -> None:
    done = import_lines(memory, ["nonsense"] * 300, project_id="p")
    assert done.failed == 300
    assert len(done.problems) == 20


def test_secrets_in_an_import_never_reach_the_disk(memory: Memory, notes: Notes) -> None:
    import_lines(
        memory,
        [json.dumps({"text": "DB_PASSWORD=hunter2", "source": "AKIAIOSFODNN7EXAMPLE"})],
        project_id="p",
    )
    [row] = memory.store.all()
    assert row.text == "DB_PASSWORD=[redacted:password]"
    assert row.source == "[redacted:aws-access-key]"
