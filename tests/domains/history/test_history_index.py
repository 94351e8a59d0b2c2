"""The indexed history always equals the repository's history."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltos.domains.history.index import HistoryIndexer
from deltos.model import Project
from deltos.progress import Silent
from deltos.store.history import HISTORY_SUMMARY
from deltos.workspace.commits import parse_log
from deltos.workspace.git import GitFailed
from tests.domains.history.repositories import START, commit, create_repository, open_store, read_history, subjects
from tests.repositories import git, write_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.store.project import ProjectStore


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return create_repository(tmp_path / "shop")


@pytest.fixture
def store(tmp_path: Path, root: Path) -> Iterator[ProjectStore]:
    with open_store(tmp_path / "home", root) as store:
        yield store


def test_stores_commits_with_message_author_time_and_files(root: Path, store: ProjectStore) -> None:
    commit(root, "Begin\n", {"a.py": "1"})
    made = commit(root, "Retry payments twice\n\nThe bank drops the first call.\n", {"pay.py": "1", "a.py": "2"}, day=3)
    read_history(store, root)
    row = store.history.commits_in([], limit=1)[0]
    assert (row.hash, row.subject, row.body) == (made, "Retry payments twice", "The bank drops the first call.")
    assert (row.author, row.time, row.file_count, row.is_merge) == ("Ada", START + 3 * 86_400, 2, False)
    assert store.history.file_histories(["pay.py", "a.py", "gone.py"]) == {
        "pay.py": type(store.history.file_histories(["pay.py"])["pay.py"])(
            "retri payment twice", 1, START + 3 * 86_400
        ),
        "a.py": store.history.file_histories(["a.py"])["a.py"],
    }
    assert store.history.file_histories(["a.py"])["a.py"].changes == 2


def test_indexes_only_new_commits(root: Path, store: ProjectStore) -> None:
    commit(root, "one", {"a.py": "1"})
    read_history(store, root)
    first = store.history.commits_in([], limit=1)[0]
    commit(root, "two", {"a.py": "2"}, day=1)
    read_history(store, root)
    assert subjects(store) == ["two", "one"]
    assert store.history.commits_by_hash(first.hash, limit=2) == [
        first
    ]  # an unchanged row id shows that the commit was not rewritten
    assert store.history.file_histories(["a.py"])["a.py"].words == "two one"


def test_amended_commit_replaces_the_original(root: Path, store: ProjectStore) -> None:
    commit(root, "one", {"a.py": "1"})
    commit(root, "wrong words", {"a.py": "2"}, day=1)
    read_history(store, root)
    git(root, "commit", "--quiet", "--amend", "--message=right words")
    read_history(store, root)
    assert subjects(store) == ["right words", "one"]
    assert store.history.match_commits(["wrong"], limit=5) == []
    assert store.history.match_files(["wrong"], limit=5) == []
    assert store.history.file_histories(["a.py"])["a.py"].words == "right word one"


def test_many_removed_commits_trigger_a_rebuild(root: Path, store: ProjectStore) -> None:
    commit(root, "one", {"a.py": "1"})
    commit(root, "two", {"a.py": "2"}, day=1)
    read_history(store, root)
    for words, removed in (("three", "1"), ("four", "")):
        git(root, "commit", "--quiet", "--amend", f"--message={words}")
        read_history(store, root)
        assert (subjects(store), store.meta("history/removed")) == ([words, "one"], removed)
        with store.writing() as writer:
            writer.set_metadata({"history/removed": "200"})


def test_rewritten_history_triggers_a_rebuild(root: Path, store: ProjectStore) -> None:
    commit(root, "one", {"a.py": "1"})
    commit(root, "two", {"a.py": "2"}, day=1)
    read_history(store, root)
    git(root, "checkout", "--quiet", "--orphan", "other")
    commit(root, "anew", {"a.py": "3"}, day=2)
    git(root, "branch", "--quiet", "-D", "main")
    git(root, "reflog", "expire", "--expire=now", "--all")
    git(root, "gc", "--quiet", "--prune=now")
    read_history(store, root)
    assert subjects(store) == ["anew"]
    assert store.history.totals().commits == 1


def test_checkout_of_another_branch_switches_the_history(root: Path, store: ProjectStore) -> None:
    commit(root, "one", {"a.py": "1"})
    git(root, "checkout", "--quiet", "-b", "side")
    commit(root, "aside", {"b.py": "1"}, day=1)
    read_history(store, root)
    git(root, "checkout", "--quiet", "main")
    commit(root, "ahead", {"c.py": "1"}, day=2)
    read_history(store, root)
    assert subjects(store) == ["ahead", "one"]
    assert set(store.history.file_histories(["a.py", "b.py", "c.py"])) == {"a.py", "c.py"}


def test_finds_merge_by_its_subject(root: Path, store: ProjectStore) -> None:
    commit(root, "one", {"a.py": "1"})
    git(root, "checkout", "--quiet", "-b", "side")
    commit(root, "aside", {"b.py": "1"}, day=1)
    git(root, "checkout", "--quiet", "main")
    commit(root, "ahead", {"c.py": "1"}, day=2)
    git(root, "merge", "--quiet", "--no-ff", "--message=Merge the side", "side")
    read_history(store, root)
    merge = store.history.match_commits(["merg"], limit=5)[0].commit
    assert (merge.subject, merge.is_merge, merge.file_count) == ("Merge the side", True, 0)
    assert sorted(subjects(store)) == ["Merge the side", "ahead", "aside", "one"]


def test_shallow_clone_is_reported_and_its_boundary_commit_has_no_files(
    root: Path, store: ProjectStore, tmp_path: Path
) -> None:
    for number in range(4):
        commit(root, f"step {number}", {"a.py": str(number), f"{number}.py": ""}, day=number)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--depth=2", f"file://{root}", str(clone))
    with open_store(tmp_path / "home", clone) as kept:
        read_history(kept, clone)
        assert subjects(kept) == ["step 3", "step 2"]
        assert "shallow clone" in kept.meta(HISTORY_SUMMARY)
        assert set(kept.history.file_histories(["a.py", "0.py", "2.py", "3.py"])) == {"a.py", "3.py"}
        git(clone, "fetch", "--quiet", "--unshallow")
        read_history(kept, clone)
        assert len(subjects(kept)) == 4
        assert "shallow" not in kept.meta(HISTORY_SUMMARY)


def test_repository_without_commits_has_no_history(root: Path, store: ProjectStore) -> None:
    read_history(store, root)
    assert subjects(store) == []
    commit(root, "one", {"a.py": "1"})
    read_history(store, root)
    assert subjects(store) == ["one"]


def test_folder_that_lost_its_repository_loses_its_history(root: Path, store: ProjectStore) -> None:
    commit(root, "one", {"a.py": "1"})
    read_history(store, root)
    (root / ".git").rename(root.parent / "elsewhere")
    read_history(store, root)
    assert (subjects(store), store.meta(HISTORY_SUMMARY)) == ([], "")


def test_missing_git_program_is_recorded(root: Path, store: ProjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(root, "one", {"a.py": "1"})
    monkeypatch.setenv("PATH", "")
    with pytest.raises(GitFailed, match="not installed"):
        read_history(store, root)
    assert "git is not installed" in store.meta(HISTORY_SUMMARY)


def test_indexing_resumes_when_git_is_available_again(
    root: Path, store: ProjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(root, "one", {"a.py": "1"})
    read_history(store, root)
    indexer, project = HistoryIndexer(), Project(root.resolve(), "test")
    for reader in (indexer, HistoryIndexer()):
        with monkeypatch.context() as without:
            without.setenv("PATH", "")
            with pytest.raises(GitFailed, match="not installed"):
                indexer.catch_up(project, store, Silent())
        summary = store.meta(HISTORY_SUMMARY)
        assert "Recent commits may be missing: git is not installed." in summary
        assert reader.is_behind(project, store, at_once=True)
        reader.catch_up(project, store, Silent())
        assert "git is not installed" not in store.meta(HISTORY_SUMMARY)
        assert not reader.is_behind(project, store, at_once=True)


def test_huge_message_is_truncated_and_indexing_continues(root: Path, store: ProjectStore) -> None:
    commit(root, "before", {"a.py": "1"})
    commit(root, "x" * 500_000 + "\n\n" + "many words " * 50_000, {"a.py": "2"}, day=1)
    commit(root, "after", {"a.py": "3"}, day=2)
    read_history(store, root)
    rows = store.history.commits_in([], limit=5)
    assert [row.subject[:6] for row in rows] == ["after", "xxxxxx", "before"]
    assert len(rows[1].subject) <= 300
    assert len(rows[1].body) <= 2_000


def test_message_content_is_treated_as_text(root: Path, store: ProjectStore) -> None:
    hostile = "\x1b[2J\x1b]0;owned\x07 M\tx.py \u202eevil\n\nM\nx.py\n\x9b31m ${HOME} $(touch owned) %H%x00 \ufffd"
    commit(root, "one", {"a.py": "1"})
    commit(root, hostile.encode() + b"\xff\xfe", {"a.py": "2"}, day=1, author="Eve \x1b[31m")
    read_history(store, root)
    rows = store.history.commits_in([], limit=5)
    assert len(rows) == 2
    assert all(
        character == "\n" or character.isprintable()
        for row in rows
        for character in row.subject + row.body + row.author
    )
    assert rows[0].file_count == 1


def test_indexes_commits_with_any_file_name(root: Path, store: ProjectStore) -> None:
    names = ["M", "R100", "a b\tc.py", "new\nline.py", "-rf", ":(top)x", 'quo"te.py', "ünï.py", "a" * 40]
    commit(root, "odd names", dict.fromkeys(names, "1"))
    (root / "more.py").write_text("1")
    bad = root.joinpath(b"\xff.py".decode("utf-8", "surrogateescape"))
    bad.write_text("1")
    commit(root, "not unicode", day=1)
    read_history(store, root)
    assert set(store.history.file_histories(names)) == set(names)
    assert set(store.history.file_histories(["more.py"])) == {"more.py"}
    assert store.history.commits_in([], limit=1)[0].file_count == 2


def test_commit_that_touches_very_many_files_is_not_linked_to_them(root: Path, store: ProjectStore) -> None:
    commit(root, "everything", {f"many/{number}.py": str(number) for number in range(5_000)})
    commit(root, "one of them", {"many/7.py": "other"}, day=1)
    read_history(store, root)
    assert store.history.file_histories(["many/7.py", "many/8.py"])["many/7.py"].changes == 1
    assert store.history.file_histories(["many/8.py"]) == {}
    assert store.history.match_commits(["everyth"], limit=5)[0].commit.file_count == 5_000
    assert "1 of them changed more than 30 files" in store.meta(HISTORY_SUMMARY)


def test_renamed_file_keeps_its_history(root: Path, store: ProjectStore, tmp_path: Path) -> None:
    commit(root, "invent billing", {"bill.py": "one\ntwo\nthree\n"})
    read_history(store, root)
    git(root, "mv", "bill.py", "invoice.py")
    commit(root, "move it", day=1)
    git(root, "mv", "invoice.py", "money.py")
    commit(root, "move again", day=2)
    read_history(store, root)
    with open_store(tmp_path / "other", root) as fresh:
        read_history(fresh, root)
        for kept in (store, fresh):
            assert kept.history.file_histories(["money.py"])["money.py"].words == "move again move invent bill"
            assert kept.history.file_histories(["bill.py", "invoice.py"]) == {}


def test_deleted_file_is_removed(root: Path, store: ProjectStore) -> None:
    commit(root, "two", {"a.py": "1", "b.py": "1"})
    read_history(store, root)
    commit(root, "less", removed=("b.py",), day=1)
    read_history(store, root)
    assert set(store.history.file_histories(["a.py", "b.py"])) == {"a.py"}


def test_subfolder_project_has_only_its_own_commits(root: Path, tmp_path: Path) -> None:
    commit(root, "both", {"api/a.py": "1", "web/b.py": "1"})
    commit(root, "web alone", {"web/b.py": "2"}, day=1)
    commit(root, "api alone", {"api/a.py": "2"}, day=2)
    with open_store(tmp_path / "home", root / "api") as store:
        read_history(store, root / "api")
        assert subjects(store) == ["api alone", "both"]
        assert [row.file_count for row in store.history.commits_in([], limit=5)] == [1, 1]
        assert set(store.history.file_histories(["a.py", "api/a.py", "web/b.py", "b.py"])) == {"a.py"}
        assert store.history.match_commits(["web"], limit=5) == []


def test_commits_beyond_the_limit_are_omitted_and_counted(root: Path, store: ProjectStore) -> None:
    for number in range(7):
        commit(root, f"step {number}", {"a.py": str(number)}, day=number)
    read_history(store, root, HistoryIndexer(max_commits=5))
    assert subjects(store) == [f"step {number}" for number in (6, 5, 4, 3, 2)]
    assert "2 commits older" in store.meta(HISTORY_SUMMARY)


def test_interrupted_indexing_resumes(root: Path, store: ProjectStore) -> None:
    for number in range(6):
        # Longer than one chunk of git output, so that commits arrive in several chunks.
        commit(root, f"step {number}\n\n{'word ' * 40_000}", {"a.py": str(number)}, day=number)

    class CancelledAfterThreeChecks:
        calls = 0

        def report(self, done: int, total: int, what: str) -> None: ...

        def cancelled(self) -> bool:
            self.calls += 1
            return self.calls > 3

    indexer = HistoryIndexer(chunk_bytes=300)
    with pytest.raises(Exception, match="cancelled"):
        indexer.catch_up(Project(root.resolve(), "test"), store, CancelledAfterThreeChecks())
    assert 0 < len(subjects(store)) < 6
    assert "still being read" in store.meta(HISTORY_SUMMARY) or not store.meta(HISTORY_SUMMARY)
    commit(root, "step 6", {"a.py": "6"}, day=6)
    read_history(store, root, HistoryIndexer(chunk_bytes=300))
    assert subjects(store) == [f"step {number}" for number in range(6, -1, -1)]


def test_indexed_checkout_is_not_checked_again_until_head_moves(root: Path, store: ProjectStore) -> None:
    commit(root, "one", {"a.py": "1"})
    indexer, project = HistoryIndexer(), Project(root.resolve(), "test")
    assert indexer.is_behind(project, store, at_once=True)
    read_history(store, root, indexer)
    assert not indexer.is_behind(project, store, at_once=True)
    write_files(root, {"a.py": "2"})
    assert not indexer.is_behind(project, store, at_once=True)
    commit(root, "two", day=1)
    assert indexer.is_behind(project, store, at_once=True)


def test_finds_files_that_change_together(root: Path, store: ProjectStore) -> None:
    for number in range(4):
        commit(root, f"pair {number}", {"a.py": str(number), "b.py": str(number)}, day=number)
    commit(root, "alone", {"a.py": "x"}, day=5)
    commit(root, "sweep", {"a.py": "y", **{f"s{number}.py": "" for number in range(40)}}, day=6)
    read_history(store, root)
    found = store.history.files_changed_with("a.py", limit=5)
    assert [(each.path, each.together, each.changes) for each in found] == [("b.py", 4, 5)]


def test_commits_after_a_damaged_one_are_reported_as_missing(root: Path, store: ProjectStore) -> None:
    for number in range(8):
        commit(root, f"step {number}", {"a.py": str(number)}, day=number)
    tree = git(root, "rev-parse", "HEAD~5^{tree}")
    (root / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    read_history(store, root)
    assert subjects(store)[:3] == ["step 7", "step 6", "step 5"]
    assert "step 1" not in subjects(store)
    assert "could be read: git failed with exit status" in store.meta(HISTORY_SUMMARY)


@given(st.lists(st.binary(max_size=60), max_size=40))
def test_parses_any_git_output_without_an_error(fields: list[bytes]) -> None:
    for found in parse_log(b"marker", (), "src/", b"\0marker\0".join(fields)):
        assert len(found.files) <= found.file_count


def test_other_process_skips_an_indexed_checkout_until_the_next_commit(root: Path, store: ProjectStore) -> None:
    commit(root, "one", {"a.py": "1"})
    read_history(store, root)
    project = Project(root.resolve(), "test")
    assert not HistoryIndexer().is_behind(project, store, at_once=True)
    commit(root, "two", {"a.py": "2"}, day=1)
    assert HistoryIndexer().is_behind(project, store, at_once=True)
    read_history(store, root)
    assert not HistoryIndexer().is_behind(project, store, at_once=True)
    assert HistoryIndexer(max_commits=1).is_behind(project, store, at_once=True)
