"""Stored history: commits in order, their words, and the history of each file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from deltos.store.history import ChangedTogether, CommitRecord, FileHistoryRow, HistoryTotals
from deltos.store.project import FileRecord, SeenStamp

if TYPE_CHECKING:
    from deltos.store.project import ProjectStore


def commit_record(name: str, time: int, words: str, *paths: str, body: str = "", file_count: int = 0) -> CommitRecord:
    count = file_count or len(paths)
    return CommitRecord(
        name * 40, time, "Ada", words, body, count, False, paths, words, body, " ".join(paths).replace(".", " ")
    )  # fmt: skip


def settle_history(project: ProjectStore) -> None:
    with project.writing() as writer:
        while writer.history.update_changed_files(limit=1):
            pass


def test_commits_added_at_either_end_stay_in_order(project: ProjectStore) -> None:
    with project.writing() as writer:
        writer.history.add_older([commit_record("c", 30, "three"), commit_record("b", 20, "two")])
        writer.history.add_newer([commit_record("e", 50, "five"), commit_record("d", 40, "four")])
        writer.history.add_older([commit_record("a", 10, "one")])
        writer.history.add_newer([commit_record("e", 50, "five")])  # a known commit is ignored
    assert [row.subject for row in project.history.commits_in([], limit=9)] == ["five", "four", "three", "two", "one"]
    assert [row.subject for row in project.history.commits_in([(20, 40)], limit=9)] == ["three", "two"]
    assert project.history.totals() == HistoryTotals(5, 10, 50, 0)


def test_subjects_outrank_bodies_and_file_names(project: ProjectStore) -> None:
    with project.writing() as writer:
        writer.history.add_older(
            [
                commit_record("a", 1, "retri", "x.py"),
                commit_record("b", 2, "other", "retri.py"),
                commit_record("c", 3, "more", body="retri"),
            ]
        )
    found = project.history.match_commits(["retri"], limit=5)
    assert found[0].commit.subject == "retri"
    assert {match.commit.subject for match in found} == {"retri", "other", "more"}
    assert [match.commit.subject for match in project.history.match_commits(["retri"], [(3, 4)], limit=5)] == ["more"]
    assert project.history.match_commits([], limit=5) == []
    assert project.history.match_commits(['"', "NEAR(", "*"], limit=5) == []


def test_commits_are_filtered_by_author(project: ProjectStore) -> None:
    by_grace = replace(commit_record("b", 20, "retri"), author="Grace O'Hara")
    with project.writing() as writer:
        writer.history.add_older([commit_record("c", 30, "retri"), by_grace, commit_record("a", 10, "other")])
    history = project.history
    assert sorted(history.authors()) == ["Ada", "Grace O'Hara"]
    assert [row.time for row in history.commits_in([], ["Grace O'Hara"], limit=5)] == [20]
    assert [row.time for row in history.commits_in([(25, 40)], ["Ada"], limit=5)] == [30]
    assert history.commits_in([(25, 40)], ["Grace O'Hara"], limit=5) == []
    assert [match.commit.time for match in history.match_commits(["retri"], (), ["Grace O'Hara"], limit=5)] == [20]
    assert len(history.match_commits(["retri"], (), ["Grace O'Hara", "Ada"], limit=5)) == 2
    assert history.match_commits(["retri"], (), ["Nobody"], limit=5) == []


def test_commits_are_found_by_a_subject_term_of_each_group(project: ProjectStore) -> None:
    long = commit_record("d", 40, "remov guava", *(f"{number}.py" for number in range(200)), body="much more " * 200)
    with project.writing() as writer:
        writer.history.add_older(
            [
                long,
                commit_record("c", 30, "drop guava support"),
                commit_record("b", 20, "guava", body="remov"),
                commit_record("a", 10, "remov log4j", "guava.py"),
            ]
        )
    history = project.history
    groups = [("guava",), ("drop", "remov")]
    assert [row.time for row in history.commits_with_subject_terms(groups, limit=5)] == [40, 30]
    assert [row.time for row in history.commits_with_subject_terms(groups, [(0, 35)], ["Ada"], limit=5)] == [30]
    assert [row.time for row in history.commits_with_subject_terms(groups, limit=1)] == [40]
    assert history.commits_with_subject_terms(groups, (), ["Nobody"], limit=5) == []
    assert history.commits_with_subject_terms([*groups, ("absent",)], limit=5) == []
    assert history.commits_with_subject_terms([], limit=5) == []
    assert history.commits_with_subject_terms([()], limit=5) == []
    assert history.commits_with_subject_terms([('"', ") OR ("), ("*",)], limit=5) == []


def test_a_file_has_the_words_of_its_commits_except_commits_of_very_many_files(project: ProjectStore) -> None:
    with project.writing() as writer:
        writer.add_file(FileRecord("a.py", "python", 1, b"", SeenStamp(1, 2, 3)))
        writer.history.add_older(
            [
                commit_record("c", 30, "late", "a.py", "b.py"),
                commit_record("b", 20, "reformat", "a.py", file_count=31),
                commit_record("a", 10, "earli", "a.py"),
            ]
        )
    assert project.history.file_histories(["a.py"]) == {}  # files have no history before it is settled
    settle_history(project)
    assert project.history.file_histories(["a.py", "x.py"]) == {"a.py": FileHistoryRow("late earli", 3, 30)}
    assert [path for path, _ in project.history.match_files(["late"], limit=5)] == ["a.py"]  # b.py is not indexed
    assert project.history.match_files(["reformat"], limit=5) == []


def test_removed_commits_are_not_found_and_their_ids_are_not_reused(project: ProjectStore) -> None:
    with project.writing() as writer:
        writer.add_file(FileRecord("a.py", "python", 1, b"", SeenStamp(1, 2, 3)))
        writer.history.add_older([commit_record("b", 20, "wrong", "a.py"), commit_record("a", 10, "one", "a.py")])
    settle_history(project)
    with project.writing() as writer:
        writer.history.remove(["b" * 40, "f" * 40])
        writer.history.add_newer([commit_record("c", 30, "right", "a.py")])
    settle_history(project)
    assert project.history.match_commits(["wrong"], limit=5) == []
    assert project.history.match_files(["wrong"], limit=5) == []
    assert project.history.file_histories(["a.py"])["a.py"].words == "right one"
    with project.writing() as writer:
        writer.history.clear()
    assert (project.history.totals(), project.history.file_histories(["a.py"])) == (HistoryTotals(), {})


def test_files_change_together_after_three_common_commits(project: ProjectStore) -> None:
    with project.writing() as writer:
        writer.history.add_older(
            [
                *(commit_record(name, 1, "x", "a.py", "b.py", "c.py") for name in "ab"),
                commit_record("c", 1, "x", "a.py", "b.py"),
                commit_record("d", 1, "x", "a.py"),
            ]
        )
    settle_history(project)
    assert project.history.files_changed_with("a.py", limit=5) == [ChangedTogether("b.py", 3, 4)]
    assert project.history.files_changed_with("b.py", limit=5) == [ChangedTogether("a.py", 3, 3)]
    assert project.history.files_changed_with("none.py", limit=5) == []


def test_a_renamed_file_keeps_its_history(project: ProjectStore) -> None:
    with project.writing() as writer:
        writer.history.add_older([commit_record("a", 1, "one", "old.py", "gone.py")])
    settle_history(project)
    with project.writing() as writer:
        writer.history.rename("old.py", "new.py")
        writer.history.add_renames({"old.py": "new.py"})
        writer.history.add_newer([commit_record("b", 2, "two", "new.py")])
        writer.history.keep_files({"new.py"})
    settle_history(project)
    assert project.history.file_histories(["old.py", "new.py", "gone.py"]) == {
        "new.py": FileHistoryRow("two one", 2, 2)
    }
    assert project.history.renamed_files() == {"old.py": "new.py"}
    assert [row.subject for row in project.history.commits_of("new.py", limit=5)] == ["two", "one"]
    assert [row.subject for row in project.history.commits_by_hash("aaa", limit=5)] == ["one"]


def test_vectors_of_commits_about_files_are_stored_in_the_order_of_writing(project: ProjectStore) -> None:
    with project.writing() as writer:
        sweep = replace(commit_record("c", 30, "reformat", "a.py", file_count=31), vector=b"\3")
        nothing = replace(commit_record("b", 20, "notes"), vector=b"\2")
        writer.history.add_older([sweep, nothing, replace(commit_record("a", 10, "earli", "a.py"), vector=b"\1")], "m")
    first = project.history.vectors_since("m", 0)
    assert [each.data for each in first] == [b"\1"]
    with project.writing() as writer:
        writer.history.add_newer([replace(commit_record("d", 40, "late", "a.py"), vector=b"\4")], "m")
    (later,) = project.history.vectors_since("m", first[0].number)
    assert later.data == b"\4"
    assert later.ids > first[0].ids
    assert project.history.commit_words([*later.ids, *first[0].ids, 7]) == {
        later.ids[0]: "late",
        first[0].ids[0]: "earli",
    }
    assert project.history.vector_count("m") == 2
    assert project.history.vector_numbers("m") == [first[0].number, later.number]
    assert (project.history.vector_count("other"), project.history.vectors_since("other", 0)) == (0, [])


def test_words_of_removed_commits_are_deleted_and_vector_numbers_are_not_reused(project: ProjectStore) -> None:
    with project.writing() as writer:
        writer.history.add_older([replace(commit_record("a", 10, "earli", "a.py"), vector=b"\1")], "m")
    (before,) = project.history.vectors_since("m", 0)
    with project.writing() as writer:
        writer.history.remove(["a" * 40])
    assert project.history.commit_words(before.ids) == {}
    with project.writing() as writer:
        writer.history.clear()
        writer.history.add_older([replace(commit_record("b", 10, "other", "a.py"), vector=b"\2")], "m")
    (after,) = project.history.vectors_since("m", 0)
    assert after.number > before.number
    assert after.data == b"\2"
