"""Stored observations: positions in sessions, a consistent word index, and projects that keep their memory."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from deltos.model import Clean
from deltos.store.observations import NewObservation, session_of

if TYPE_CHECKING:
    from deltos.store.observations import Observations
    from tests.store.engines import Engine


def new_observation(observation_id: str, text: str, at: int) -> NewObservation:
    return NewObservation(Clean(observation_id), Clean(text), Clean("finding"), Clean(""), at)


def add_observation(
    observations: Observations, text: str, *, session_id: str | None = "s", project_id: str = "p", at: int = 1
) -> int:
    with observations.writing() as writer:
        project = writer.upsert_project(project_id, root="", now=at)
        session = writer.upsert_session(project, session_id, agent="", now=at)
        count = len(list(observations.recent_observations([project], limit=1000)))
        return writer.insert(project, session, new_observation(f"{text[:8]}{count}", text, at))


def test_observations_of_one_session_have_consecutive_positions(observations: Observations) -> None:
    first, second = add_observation(observations, "one"), add_observation(observations, "two")
    assert second == first + 1
    assert session_of(first) == session_of(second)


def test_observations_outside_any_session_are_not_adjacent(observations: Observations) -> None:
    first, second = (
        add_observation(observations, "one", session_id=None),
        add_observation(observations, "two", session_id=None),
    )
    assert second - first > 2


def test_sessions_with_the_same_id_in_two_projects_are_different(observations: Observations) -> None:
    assert session_of(add_observation(observations, "one", project_id="p")) != session_of(
        add_observation(observations, "two", project_id="q")
    )


def test_a_deleted_observation_is_not_found_by_its_words_until_it_is_restored(observations: Observations) -> None:
    place = add_observation(observations, "the parser hangs")
    with observations.writing() as writer:
        writer.update(place, deleted_at=5)
    assert observations.row_numbers_with(["parser"], at_most=9) == []
    with observations.writing() as writer:
        writer.update(place, deleted_at=None, restored_at=6)
    assert observations.row_numbers_with(["parsers"], at_most=9) == [place]


def test_a_rewritten_text_is_found_only_by_its_current_words(observations: Observations) -> None:
    place = add_observation(observations, "the parser hangs")
    with observations.writing() as writer:
        writer.replace(place, new_observation("again", "the parser returns late", 5))
    assert [observations.row_numbers_with([word], at_most=9) for word in ("parser", "late", "hangs")] == [
        [place],
        [place],
        [],
    ]


def test_a_purged_observation_is_gone_with_its_words(observations: Observations) -> None:
    place = add_observation(observations, "the parser hangs")
    with observations.writing() as writer:
        writer.update(place, deleted_at=5)
        assert writer.purge(6) == 1
    assert list(observations.all()) == []


def test_purge_can_be_limited_to_some_projects(observations: Observations) -> None:
    places = [add_observation(observations, "the parser hangs", project_id=project) for project in ("p", "q")]
    with observations.writing() as writer:
        for place in places:
            writer.update(place, deleted_at=5)
        assert writer.purge(6, [next(row.key for row in observations.projects())]) == 1
        assert writer.purge(6, []) == 0
    assert [row.place for row in observations.all()] == [places[1]]


def test_query_words_are_never_parsed_as_query_syntax(observations: Observations) -> None:
    place = add_observation(observations, 'say "hello" AND near')
    assert observations.row_numbers_with(['"', "NEAR", "*", "NOT"], at_most=9) == [place]


def test_a_folder_that_got_a_remote_keeps_its_memory(observations: Observations) -> None:
    with observations.writing() as writer:
        before = writer.upsert_project("path:abc", root="/home/ada/app", now=1)
        after = writer.upsert_project("host/app", root="/home/ada/app", now=2)
    assert after == before
    assert [project.project_id for project in observations.projects()] == ["host/app"]


def test_a_project_known_by_its_commit_is_found_by_its_folder(observations: Observations) -> None:
    with observations.writing() as writer:
        known = writer.upsert_project("git:123", root="/home/ada/app", now=1)
        assert writer.upsert_project("path:abc", root="/home/ada/app", now=2) == known
    assert [project.project_id for project in observations.projects()] == ["git:123"]


def test_observations_of_a_clone_move_to_the_project_of_its_repository(
    observations: Observations,
) -> None:
    with observations.writing() as writer:
        shared = writer.upsert_project("git:123", root="/home/ada/first", now=1)
        writer.upsert_session(shared, "s", agent="", now=1)
        alone = writer.upsert_project("path:abc", root="/home/ada/second", now=2)
        session = writer.upsert_session(alone, "s", agent="", now=2)
        writer.insert(alone, session, new_observation("one", "quokka", 2))
        assert writer.upsert_project("git:123", root="/home/ada/second", now=3) == shared
    assert [project.project_id for project in observations.projects()] == ["git:123"]
    assert [row.project_id for row in observations.all()] == ["git:123"]
    assert observations.session_keys([shared]) == {
        session_of(observations.row_numbers_with(["quokka"], at_most=9)[0]),
        1,
    }


def test_a_different_repository_in_the_same_folder_is_a_different_project(observations: Observations) -> None:
    with observations.writing() as writer:
        first = writer.upsert_project("host/one", root="/home/ada/app", now=1)
        assert writer.upsert_project("host/two", root="/home/ada/app", now=2) != first


def test_a_failed_transaction_is_rolled_back(observations: Observations) -> None:
    add_observation(observations, "kept")

    def fail() -> None:
        with observations.writing() as writer:
            project = writer.upsert_project("p", root="", now=1)
            writer.insert(
                project, writer.upsert_session(project, "s", agent="", now=1), new_observation("other", "lost", 1)
            )
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert [row.text for row in observations.all()] == ["kept"]


def test_a_snapshot_stays_the_same_while_another_process_writes(engine: Engine, observations: Observations) -> None:
    add_observation(observations, "one")
    with closing(engine.observations()) as other, observations.snapshot():
        before = observations.counts().observations
        add_observation(other, "two")
        assert observations.counts().observations == before == 1
    assert observations.counts().observations == 2


def test_timeline_pages_are_complete_and_can_list_deleted_observations(observations: Observations) -> None:
    places = [add_observation(observations, text, at=7) for text in ("one", "two", "three", "four")]
    [key] = [project.key for project in observations.projects()]
    with observations.writing() as writer:
        writer.update(places[1], deleted_at=9)
    first = observations.page([key], 8, 0, limit=2)
    assert [row.text for row in first] == ["four", "three"]
    assert [row.text for row in observations.page([key], 7, first[-1].place, limit=2)] == [
        "one"
    ]  # two observations with the same time
    assert [row.text for row in observations.page([key], 8, 0, limit=9, deleted=True)] == ["two"]
    assert len(observations.page([key], 8, 0, limit=9, kinds=["finding"])) == 3
    assert observations.page([key], 8, 0, limit=9, kinds=["other"]) == []
    assert observations.counts_by_kind([key]) == {"finding": (3, 1)}
    assert observations.counts_by_kind([]) == {}


def test_before_and_after_return_adjacent_observations_oldest_first(observations: Observations) -> None:
    places = [add_observation(observations, text, at=at) for at, text in enumerate(["one", "two", "three", "four"], 1)]
    [key] = [project.key for project in observations.projects()]
    assert [row.text for row in observations.page([key], 3, places[2], limit=2)] == ["two", "one"]
    assert [row.text for row in observations.observations_after([key], 2, places[1], limit=2)] == ["three", "four"]
    assert [row.text for row in observations.recent_observations([key], limit=2)] == ["four", "three"]
    assert observations.row_numbers_between([key], 2, 4, at_most=9) == [places[2], places[1]]
    [kind] = {row.kind for row in observations.recent_observations([key], limit=9)}
    assert observations.row_numbers_between([key], 2, 4, at_most=9, kinds=["other", kind]) == [places[2], places[1]]
    assert observations.row_numbers_between([key], 2, 4, at_most=9, kinds=["other"]) == []


def test_word_frequency_counts_up_to_the_limit(observations: Observations) -> None:
    for number in range(5):
        add_observation(observations, f"quokka {number}")
    assert observations.frequency(["quokka", "wombat"], at_most=3) == 3
    assert observations.frequency(["wombat"], at_most=3) == 0


def test_repair_of_an_undamaged_store_reports_nothing(observations: Observations) -> None:
    add_observation(observations, "one")
    report = observations.repair()
    assert (report.problems, report.set_aside, report.snapshots) == ((), (), ())


def test_a_snapshot_is_taken_once_a_day_and_only_the_newest_are_kept(observations: Observations) -> None:
    assert not observations.keep_snapshot("2025-05-01", kept=2), "an empty memory must not create a snapshot"
    add_observation(observations, "the parser hangs")
    assert not observations.keep_snapshot("2025-05-01", kept=2, max_bytes=1)
    for day in ("2025-05-01", "2025-05-02", "2025-05-03"):
        assert observations.keep_snapshot(day, kept=2)
        assert not observations.keep_snapshot(day, kept=2)
    names = [copy.name for copy in observations.repair().snapshots]
    assert [name[-10:] for name in names] == ["2025-05-03", "2025-05-02"]
    [row] = observations.repair().snapshots[0].readable
    assert row.text == "the parser hangs"
    assert set(names) <= set(observations.copies())
    observations.drop_snapshots()
    assert observations.repair().snapshots == ()


def test_pinned_observations_are_listed_and_superseded_ones_are_not_recent(observations: Observations) -> None:
    first, second, third = (
        add_observation(observations, text, at=at) for at, text in enumerate(("one", "two", "three"), 1)
    )
    with observations.writing() as writer:
        writer.update(first, pinned_at=9)
        writer.update(second, pinned_at=8)
        writer.update(third, superseded_by="two", superseded_at=9)
    keys = [project.key for project in observations.projects()]
    assert [row.place for row in observations.pinned_observations(keys, limit=5)] == [first, second]
    assert [row.place for row in observations.recent_observations(keys, limit=5)] == [second, first]
    assert [row.place for row in observations.recent_observations(keys, limit=5, kinds=("finding",))] == [second, first]
    assert [summary.place for summary in observations.summaries([first, third], head_characters=9)] == [first]
    assert [row.place for row in observations.at_row_numbers([third])] == [third]


def test_note_shown_returns_the_time_of_the_previous_call(observations: Observations) -> None:
    with observations.writing() as writer:
        session = writer.upsert_session(writer.upsert_project("p", root="", now=1), "s", agent="", now=1)
        assert writer.record_shown(session, 5) is None
        assert writer.record_shown(session, 7) == 5


def test_a_record_with_a_vector_of_another_model_is_unembedded(observations: Observations) -> None:
    places = [add_observation(observations, text) for text in ("one", "two", "three")]
    vectors = observations.vectors
    vectors.write("better", [(places[0], b"0")])
    vectors.write("faster", [(places[1], b"1")])
    assert [each.key for each in vectors.unembedded("better", after=0, limit=9)] == places[1:]
