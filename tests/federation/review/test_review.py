"""Reviews of changes in real git repositories."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from deltos.app import App
from deltos.cli.main import main
from deltos.config import Config
from deltos.errors import BadArgument
from deltos.federation.review.render_json import review_json
from deltos.federation.review.render_markdown import COMMENT_MARK, render_markdown
from deltos.federation.review.render_sarif import review_sarif
from deltos.federation.review.render_text import render_text
from tests.repositories import git, make_repository, write_files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from deltos.federation.review.model import Review

SHOP = """class Basket:
    def __init__(self, owner):
        self.owner = owner

    def add(self, item, count=1):
        return item

    def total(self):
        return 1


def checkout(basket: Basket, code):
    return basket.total()


def legacy():
    return 1
"""
USE = """from shop import Basket, checkout, legacy


def run():
    basket = Basket("me")
    basket.add("x", 2)
    legacy()
    return checkout(basket, "c")


def loose(b):
    b.add("x", count=2)
"""
TEST = """from shop import Basket


def test_total():
    assert Basket("a").total() == 1
"""
OTHER_TEST = "def test_other():\n    assert 1 + 1 == 2\n"
FILES = {
    "shop.py": SHOP,
    "use.py": USE,
    "tests/test_shop.py": TEST,
    "tests/test_arithmetic.py": OTHER_TEST,
    "guide.md": "Call `checkout(basket, code)` to pay.\n",
}
CHANGED = (
    SHOP.replace("self, owner)", "self, owner, shop)")
    .replace("item, count=1", "item")
    .replace("basket: Basket, code", "basket: Basket, code, method")
    .partition("\n\ndef legacy")[0]
    + "\n"
)


def caller_locations(review: Review, *, certain: bool = True) -> list[str]:
    """Return the location of each caller that no longer fits."""
    return [f"{each.path}:{each.line}" for each in review.callers if each.is_certain == certain]


def test_reports_callers_that_do_not_match_the_new_signature(review_change: Callable[..., Review]) -> None:
    review = review_change(FILES, {"shop.py": CHANGED})
    assert caller_locations(review) == [
        "tests/test_shop.py:5",
        "use.py:1",
        "use.py:5",
        "use.py:6",
        "use.py:7",
        "use.py:8",
    ]
    assert caller_locations(review, certain=False) == ["use.py:12"]
    reasons = {each.line: each.reason for each in review.callers if each.path == "use.py"}
    assert reasons[5] == "missing required argument `shop`"
    assert reasons[7] == "removed"


def test_reports_breaking_changes_of_public_api(review_change: Callable[..., Review]) -> None:
    review = review_change(FILES, {"shop.py": CHANGED})
    assert [(each.label, each.breaks) for each in review.breaking] == [
        ("Basket.__init__", ("new required parameter `shop`",)),
        ("Basket.add", ("parameter `count` removed",)),
        ("checkout", ("new required parameter `method`",)),
        ("legacy", ("function removed",)),
    ]


def test_private_definitions_break_no_api_but_their_callers_are_named(review_change: Callable[..., Review]) -> None:
    review = review_change(
        {"a.py": "def _f(x):\n    return x\n\n\ndef g():\n    return _f(1)\n"},
        {"a.py": "def _f(x, y):\n    return x\n\n\ndef g():\n    return _f(1)\n"},
    )
    assert not review.breaking
    assert caller_locations(review) == ["a.py:6"]
    assert review.is_breaking


def test_selects_tests_that_reach_the_change(review_change: Callable[..., Review]) -> None:
    review = review_change(FILES, {"shop.py": SHOP.replace("return 1\n\n\ndef check", "return 2\n\n\ndef check")})
    assert [each.path for each in review.tests[: review.recommended]] == ["tests/test_shop.py"]
    assert review.test_file_count == 2
    assert [row.label for row in review.tests[0].tests] == ["test_total"]
    assert not review.is_breaking


def test_documentation_that_mentions_a_changed_signature_is_listed(review_change: Callable[..., Review]) -> None:
    review = review_change({**FILES, "CHANGES.md": "Added `checkout()`.\n"}, {"shop.py": CHANGED})
    assert [(each.place, each.label) for each in review.mentions] == [("guide.md:1", "checkout")]


def test_text_states_certain_findings_first_and_fits_the_budget(review_change: Callable[..., Review]) -> None:
    review = review_change(FILES, {"shop.py": CHANGED})
    text = render_text(review)
    assert text.startswith("Review of the working tree against HEAD (")
    assert text.index("Callers that no longer fit:") < text.index("Breaking changes") < text.index("Possible callers")
    assert len(render_text(review, token_budget=200)) <= 200 * 4
    assert render_text(review, token_budget=200).startswith("Showing ")


def test_many_callers_that_fail_for_the_same_reason_are_counted(review_change: Callable[..., Review]) -> None:
    calls = "from shop import legacy\n" + "legacy()\n" * 9
    review = review_change({**FILES, "calls.py": calls}, {"shop.py": CHANGED})
    lines = render_text(review).splitlines()
    assert sum(line.startswith("  calls.py:") and line.endswith("uses legacy: removed") for line in lines) == 3
    assert any(line.endswith("callers of legacy in 2 files: removed") for line in lines)


def test_json_and_sarif_have_the_same_findings(review_change: Callable[..., Review]) -> None:
    review = review_change(FILES, {"shop.py": CHANGED})
    data, (run,) = review_json(review), review_sarif(review)["runs"]
    assert data["breaking"]
    assert len(run["results"]) == len(data["broken_callers"]) + len(review.breaking)
    assert run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "shop.py"


def test_markdown_quotes_text_of_the_repository(review_change: Callable[..., Review]) -> None:
    review = review_change(FILES, {"shop.py": CHANGED, "a`](http://x) @all.py": "def f(): ...\n"})
    text = render_markdown(review, token_budget=5_000)
    assert text.startswith(COMMENT_MARK)
    assert all(line.count("`") in (0, 2) for line in text.split("\n"))


def test_committed_changes_are_compared_with_the_default_branch(
    tmp_path: Path, review_in: Callable[..., Review]
) -> None:
    root = make_repository(tmp_path / "shop", FILES)
    git(root, "checkout", "--quiet", "-b", "work")
    write_files(root, {"shop.py": CHANGED})
    git(root, "commit", "--quiet", "--all", "--message=second")
    review = review_in(root)
    assert review.base.startswith("the merge base with main (")
    assert review.changed_files == ("shop.py",)
    assert review_in(root, "working").changed_files == ()
    assert review_in(root, "main..work").changed_files == ("shop.py",)
    assert review_in(root, "main...work").changed_files == ("shop.py",)


def test_renamed_file_is_followed(tmp_path: Path, review_in: Callable[..., Review]) -> None:
    root = make_repository(tmp_path / "shop", FILES)
    (root / "shop.py").rename(root / "store.py")
    write_files(root, {"store.py": SHOP.replace("count=1", "count")})
    review = review_in(root)
    changed = [each for each in review.changes if each.label]
    assert [(each.path, each.path_before, each.label) for each in changed] == [("store.py", "shop.py", "Basket.add")]


def test_a_definition_moved_to_a_base_class_is_not_reported_as_removed(review_change: Callable[..., Review]) -> None:
    before = "class A:\n    pass\n\n\nclass B(A):\n    def f(self):\n        return 1\n"
    after = "class A:\n    def f(self):\n        return 1\n\n\nclass B(A):\n    pass\n"
    assert not review_change({"a.py": before}, {"a.py": after}).breaking


def test_a_definition_replaced_by_an_import_is_not_reported_as_removed(review_change: Callable[..., Review]) -> None:
    review = review_change(
        {"a.py": "def f():\n    return 1\n"}, {"a.py": "from b import f\n", "b.py": "def f():\n    return 1\n"}
    )
    assert not review.breaking


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("class A(Base): ...", "class A(lib.Base[str]): ..."),
        ("class A(Base): ...", "class Middle(Base): ...\n\n\nclass A(Middle): ..."),
        ("A = 1\n\n\nclass B(namedtuple('B', ['x'])): ...", "A = 1\n\n\nclass B(NamedTuple):\n    x: int"),
        (
            "def f(a=None): ...",
            "@overload\ndef f(a: None): ...\n\n\n@overload\ndef f(a: int): ...\n\n\ndef f(a=None): ...",
        ),
        (
            "class A:\n    @property\n    def debug(self): ...\n\n    @debug.setter\n    def debug(self, value): ...",
            "class A:\n    def __init__(self):\n        self.debug = False",
        ),
        ("def f():\n    def inner(a): ...\n    return inner", "def f():\n    def inner(a, b): ...\n    return inner"),
        ("def f(a, call, b): ...", "def f(a: tuple[int, ...], call: Callable[..., int], b: int): ..."),
        ("__all__ = ['f']\n__version__ = '1'\n\n\ndef f(): ...", "def f(): ..."),
        ("@filter\ndef f(a): ...", "@async_variant(sync_f)  # type: ignore\nasync def f(a): ..."),
    ],
)
def test_rewritten_definition_that_breaks_no_caller_is_not_reported(
    review_change: Callable[..., Review], before: str, after: str
) -> None:
    assert [each.breaks for each in review_change({"a.py": before + "\n"}, {"a.py": after + "\n"}).breaking] == []


def test_module_that_became_a_package_still_provides_its_names(
    tmp_path: Path, review_in: Callable[..., Review]
) -> None:
    root = make_repository(tmp_path / "p", {"shop.py": "def pay(): ...\n\n\ndef gone(): ...\n"})
    (root / "shop.py").unlink()
    write_files(root, {"shop/__init__.py": "from .money import pay\n", "shop/money.py": "def pay(): ...\n"})
    assert [each.label for each in review_in(root).breaking] == ["gone"]


def test_removed_enum_member_breaks_api(review_change: Callable[..., Review]) -> None:
    review = review_change({"a.ts": "export enum Color { Red, Green }\n"}, {"a.ts": "export enum Color { Red }\n"})
    assert [each.breaks for each in review.breaking] == [("member `Green` removed",)]


def test_files_that_usually_change_together_are_listed(tmp_path: Path, review_in: Callable[..., Review]) -> None:
    root = make_repository(tmp_path / "p", {"a.py": "x = 0\n", "schema.sql": "-- 0\n"})
    for number in range(1, 6):
        write_files(root, {"a.py": f"x = {number}\n", "schema.sql": f"-- {number}\n"})
        git(root, "commit", "--quiet", "--all", f"--message=change {number}")
    write_files(root, {"a.py": "x = 9\n"})
    assert [each.path for each in review_in(root).missing] == ["schema.sql"]


def test_removed_file_reports_its_importers(tmp_path: Path, review_in: Callable[..., Review]) -> None:
    root = make_repository(tmp_path / "shop", FILES)
    (root / "shop.py").unlink()
    review = review_in(root)
    assert {each.label for each in review.changes if each.kind == "removed"} == {"Basket", "checkout", "legacy"}
    assert [each.label for each in review.breaking] == ["Basket", "checkout", "legacy"]


@pytest.mark.parametrize(
    "changes", ["--output=stolen", "no such", "HEAD:shop.py", "main..-x", "$(touch x)", "HEAD^{/a}"]
)
def test_refuses_text_that_is_no_revision(tmp_path: Path, review_in: Callable[..., Review], changes: str) -> None:
    root = make_repository(tmp_path / "shop", FILES)
    with pytest.raises(BadArgument):
        review_in(root, changes)
    assert {path.name for path in root.iterdir()} == {".git", "shop.py", "use.py", "tests", "guide.md"}


def test_folder_without_git_is_an_error(tmp_path: Path, review_in: Callable[..., Review]) -> None:
    with pytest.raises(BadArgument, match="not a git repository"):
        review_in(write_files(tmp_path / "plain", {"a.py": "x = 1\n"}))


def test_unchanged_repository_has_nothing_to_review(tmp_path: Path, review_in: Callable[..., Review]) -> None:
    review = review_in(make_repository(tmp_path / "shop", FILES))
    assert render_text(review).startswith("No changes between ")


def test_reports_callers_of_a_renamed_go_function(review_change: Callable[..., Review]) -> None:
    path = "package web\n\nfunc cleanPath(p string) string {\n\treturn p\n}\n"
    use = "package web\n\n// cleanPath is called here.\nfunc Serve(p string) string {\n\treturn cleanPath(p)\n}\n"
    files = {"go.mod": "module example.com/web\n", "path.go": path, "serve.go": use}
    review = review_change(files, {"path.go": path.replace("cleanPath", "tidyPath")})
    assert [(each.path, each.line, each.caller) for each in review.callers] == [("serve.go", 5, "Serve")]
    assert review.is_breaking


def test_a_folder_outside_git_is_refused_before_it_is_indexed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DELTOS_HOME", str(tmp_path / "home"))
    write_files(tmp_path / "folder", {"a.py": "def f(): ...\n"})
    assert main(["review", "--project", str(tmp_path / "folder")]) == 2
    assert "not a git repository" in capsys.readouterr().err
    with closing(App(Config(tmp_path / "home"))) as app:
        assert app.domains.projects.index_of(tmp_path / "folder").store.file_count() == 0
