"""From `git diff` to changed definitions and their dependants."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from deltos.app import App
from deltos.config import Config
from deltos.errors import BadArgument
from deltos.federation.change_impact import analyse_change, changed_files
from deltos.workspace.changes import ChangedFile, read_diff
from tests.calling import ToolClient
from tests.federation.test_resources_and_prompts import write_prompt
from tests.repositories import git, make_repository, write_files

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool

CODE = """class Basket:
    def add(self, item):
        return item

    def total(self):
        return 1


def checkout(basket: Basket):
    return basket.total()
"""
TEST = """from shop import Basket, checkout


def test_total():
    assert Basket().total() == 1
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "shop", {"shop.py": CODE, "test_shop.py": TEST, "notes.md": "# Notes\n"})


def test_diff_without_context_gives_changed_lines() -> None:
    lines = [
        "diff --git a/a.py b/a.py",
        "--- a/a.py",
        "+++ b/a.py",
        "@@ -1,1 +3,2 @@ def f():",
        "-one",
        "+two",
        "+++ b/spoofed.py",
        "@@ -9,2 +12,0 @@",
        "-@@ -1 +700,5 @@",
        "-gone",
        "--- a/gone.py",
        "+++ /dev/null",
        "@@ -1,1 +0,0 @@",
        "-gone",
    ]
    assert read_diff(lines) == [ChangedFile("a.py", frozenset({3, 4, 12}))]


def test_finds_innermost_definitions_on_changed_lines(tmp_path: Path, root: Path, workers: ProcessPool) -> None:
    write_files(
        root, {"shop.py": CODE.replace("return 1", "return 2"), "new.py": "def fresh():\n    def inner(): ...\n"}
    )
    (root / "notes.md").write_text("# Notes\n\nMore\n")
    files = changed_files(root, "").files
    assert {file.path for file in files} == {"shop.py", "notes.md", "new.py"}
    with closing(App(Config(tmp_path / "home"), workers=workers)) as app:
        index = app.domains.projects.index_of(root)
        index.index()
        touched = analyse_change(app.graph_search(index), files)
    assert [impact.target.first.key for impact in touched.impacts] == ["Basket.total", "fresh"]
    assert touched.files_without_definitions == ("notes.md",)
    assert "test_total" in [row.key for row in touched.impacts[0].tests]


def test_compares_with_another_revision(root: Path) -> None:
    git(root, "checkout", "--quiet", "-b", "work")
    write_files(root, {"shop.py": CODE.replace("return item", "return [item]")})
    git(root, "commit", "--quiet", "--all", "--message=second")
    assert changed_files(root, "HEAD").files == ()
    assert changed_files(root, "main").files == (ChangedFile("shop.py", frozenset({3})),)


@pytest.mark.parametrize("base", ["--output=stolen", "-x", "no such", "missing", "a\nb", "$(touch x)"])
def test_refuses_invalid_revisions(root: Path, base: str) -> None:
    with pytest.raises(BadArgument):
        changed_files(root, base)
    assert not (root / "stolen").exists()


def test_folder_without_git_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BadArgument, match="git cannot compare"):
        changed_files(write_files(tmp_path / "plain", {"a.py": "x = 1\n"}), "")


def test_counts_omitted_definitions(tmp_path: Path, workers: ProcessPool) -> None:
    root = make_repository(tmp_path / "many", {"a.py": ""})
    write_files(root, {"b.py": "".join(f"def f{n}(): ...\n" for n in range(30))})
    with closing(App(Config(tmp_path / "home"), workers=workers)) as app:
        (prompt,) = [each for each in app.prompts() if each.name == "review_impact"]
        text = write_prompt(prompt, ToolClient(app.tools(), root))
    assert "and 5 more definitions" in text


def test_most_used_definitions_come_first_and_tests_last(tmp_path: Path, workers: ProcessPool) -> None:
    root = make_repository(tmp_path / "p", {"README.md": "# P\n"})
    users = "".join(f"def user_{n}():\n    return popular()\n\n\n" for n in range(3))
    write_files(
        root, {"a.py": f"def lonely(): ...\n\n\ndef popular(): ...\n\n\n{users}", "test_a.py": "def test_it(): ...\n"}
    )
    with closing(App(Config(tmp_path / "home"), workers=workers)) as app:
        index = app.domains.projects.index_of(root)
        index.index()
        touched = analyse_change(app.graph_search(index), changed_files(root, "").files)
    keys = [impact.target.first.key for impact in touched.impacts]
    assert (keys[0], keys[-1]) == ("popular", "test_it")


@pytest.mark.parametrize(
    "revision", ["HEAD:other/secret.py", ":/message", "HEAD^{/message}", "HEAD^{tree}", "--output=x"]
)
def test_only_commits_are_accepted_so_that_paths_and_messages_cannot_be_probed(tmp_path: Path, revision: str) -> None:
    root = make_repository(tmp_path / "r", {"own/a.py": "a = 1\n", "other/secret.py": "b = 1\n"})
    with pytest.raises(BadArgument, match="Not a revision"):
        changed_files(root / "own", revision)
