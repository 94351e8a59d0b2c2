"""Searches over several projects: selection of projects, merged results, and their project names."""

from __future__ import annotations

import shutil
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import pytest

from deltos.app import App
from deltos.config import Config
from deltos.confinement import Confinement, confined
from deltos.domains.code.retrieve.tuning import RETRIEVAL
from deltos.errors import Forbidden, NotFound
from deltos.workspace.identity import memory_scopes
from deltos.workspace.project_selection import select
from tests.calling import ToolClient
from tests.files_of import project_database
from tests.repositories import git, write_files
from tests.workspaces.shop import build_shop

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool


class Shop(NamedTuple):
    """The application with the workspace `shop`, and a session in the API."""

    app: App
    roots: dict[str, Path]
    client: ToolClient

    def selected_names(self, text: str) -> list[str]:
        """Return the names of the selected projects."""
        chosen = select(self.app.domains.projects, text, self.client.project_roots())
        return [each.name or each.index.project.root.name for each in chosen.repositories]


@pytest.fixture
def shop(tmp_path: Path, workers: ProcessPool) -> Iterator[Shop]:
    roots = build_shop(tmp_path)
    with closing(App(Config(tmp_path / "home"), workers=workers)) as app:
        records = app.domains.projects.workspaces
        assert records
        records.add("shop", [str(root) for root in roots.values()])
        yield Shop(app, roots, ToolClient(app.tools(), roots["api"]))


def result_locations(client: ToolClient, query: str, **more: object) -> list[tuple[str, str]]:
    data = client.data("search_code", query=query, **more)
    return [(hit["repository"], hit["file_path"]) for hit in data["results"]]


def test_projects_are_selected_by_workspace_names_star_or_session(shop: Shop) -> None:
    assert shop.selected_names("") == ["api"]
    assert shop.selected_names("shop") == shop.selected_names("workspace:shop") == ["lib", "api", "web"]
    shop.client.call("index_repository", project_id="shop")
    assert shop.selected_names("web, lib") == ["web", "lib"]
    assert sorted(shop.selected_names("*")) == ["api", "lib", "web"]
    with pytest.raises(NotFound, match=r"No indexed project is called 'nope'. Known: api, lib, web. Workspaces: shop."):
        shop.selected_names("lib,nope")


def test_the_roots_of_a_client_are_the_sessions_projects(shop: Shop) -> None:
    shop.client.set_project_roots([shop.roots["web"], shop.roots["lib"]])
    assert shop.selected_names("") == ["web", "lib"]
    assert result_locations(shop.client, "apply_voucher") == [("lib", "src/shoplib/cart.py")]
    shop.client.call("set_working_directory", directory=str(shop.roots["api"]))
    assert shop.selected_names("") == ["api"]
    note = shop.client.call("set_working_directory", directory="shop").text
    assert note.startswith("Workspace shop: 3 projects\n- lib ")
    assert shop.selected_names("") == ["lib", "api", "web"]


def test_a_common_word_in_another_project_does_not_displace_the_answer(shop: Shop) -> None:
    """Use a query in which `cart` occurs in every file of web, while only lib rounds prices."""
    answer = shop.client.call("search_code", query="how are cart prices rounded", project_id="shop")
    assert answer.structured is not None
    first = answer.structured["results"][0]
    assert (first["repository"], first["symbol"]) == ("lib", "Cart.total")
    assert "\n[lib] src/shoplib/cart.py:" in answer.text
    assert answer.text.startswith(f"Searched 3 projects; hits in [lib] {shop.roots['lib']}")
    assert result_locations(shop.client, "remind customers of their cart", project_id="shop")[0] == (
        "api",
        "app/mailer.py",
    )


def test_scores_are_comparable_between_one_and_several_projects(shop: Shop) -> None:
    """Check that the best hit of a project that is unrelated to the query has a low score."""
    scores = {
        (hit["repository"], hit["file_path"]): hit["similarity_score"]
        for hit in shop.client.data("search_code", query="voucher that reduces what is paid", project_id="shop")[
            "results"
        ]
    }
    best = max(scores, key=lambda place: scores[place])
    assert best == ("lib", "src/shoplib/cart.py")
    assert all(score < scores[best] / 2 for (name, _), score in scores.items() if name == "web")


def test_counts_and_limits_cover_all_projects(shop: Shop) -> None:
    data = shop.client.data("search_code", query='"cart"', project_id="shop", limit=2)
    assert len(data["results"]) == 2
    alone = [shop.client.data("search_code", query='"cart"', project_id=name) for name in ("lib", "api", "web")]
    assert data["total_count"] == sum(each["total_count"] for each in alone)
    assert data["project_id"] == "shop"


def test_an_empty_result_states_how_much_was_searched(shop: Shop) -> None:
    text = shop.client.call("search_code", query='"zzqqzz"', project_id="shop", file_type="go").text
    assert "No results found" in text
    assert "of 3 projects" in text


def test_a_directory_selects_the_projects_that_contain_it_or_the_one_it_names(shop: Shop) -> None:
    assert {name for name, _ in result_locations(shop.client, "cart", project_id="shop", directory="app")} == {"api"}
    assert {name for name, _ in result_locations(shop.client, "cart", project_id="shop", directory="web/src")} == {
        "web"
    }
    with pytest.raises(NotFound):
        shop.client.call("search_code", query="cart", project_id="shop", directory="missing")


def test_the_number_of_references_names_its_project(shop: Shop) -> None:
    note = shop.client.call("search_code", query="Cart", project_id="shop").text
    assert "Cart in lib alone: used in " in note


def test_a_workspace_does_not_change_the_answer_for_a_single_project(shop: Shop) -> None:
    data = shop.client.data("search_code", query="checkout")
    assert "repository" not in data["results"][0]
    assert "Searched" not in shop.client.call("search_code", query="checkout").text


def test_a_missing_project_is_reported_and_the_others_are_searched(shop: Shop) -> None:
    shutil.rmtree(shop.roots["web"])
    text = shop.client.call("search_code", query="apply_voucher", project_id="shop").text
    assert "[lib] src/shoplib/cart.py" in text
    assert "Note: not searched: web: No such folder" in text


def test_a_project_with_no_indexable_files_is_reported_and_the_others_are_searched(shop: Shop) -> None:
    for path in ("src", "package.json"):
        target = shop.roots["web"] / path
        shutil.rmtree(target) if target.is_dir() else target.unlink()
    text = shop.client.call("search_code", query="apply_voucher", project_id="shop").text
    assert "[lib] src/shoplib/cart.py" in text
    assert "Note: not searched: web: " in text


def test_a_damaged_index_is_rebuilt_and_the_other_projects_are_searched(shop: Shop) -> None:
    shop.client.call("index_repository", project_id="shop")
    database = project_database(shop.app.domains.projects.index_of(shop.roots["web"]))
    with database.write() as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("DELETE FROM sqlite_schema WHERE name = 'definition'")
    database.close()
    answer = shop.client.call("search_code", query="renderCart", project_id="shop")
    assert answer.structured is not None
    found = [(hit["repository"], hit["file_path"]) for hit in answer.structured["results"]]
    assert ("web", "src/cart.ts") in found or "Note: not searched: web: " in answer.text, answer.text
    assert result_locations(shop.client, "apply_voucher", project_id="shop")[0] == ("lib", "src/shoplib/cart.py")


def test_two_clones_of_one_repository_have_different_names(shop: Shop, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", str(shop.roots["lib"]), str(tmp_path / "fork" / "lib"))
    write_files(tmp_path / "fork" / "lib", {"src/shoplib/fork.py": "def only_in_the_fork():\n    return 1\n"})
    both = f"{shop.roots['lib']},{tmp_path / 'fork' / 'lib'}"
    found = shop.client.data("search_code", query="apply_voucher", project_id=both)["results"]
    assert len({hit["repository"] for hit in found}) == 2
    (hit,) = [
        hit
        for hit in shop.client.data("search", query="only_in_the_fork", project_id=both, scope=["code"])["results"]
        if "fork.py" in hit["id"]
    ]
    assert "return 1" in shop.client.data("fetch", id=hit["id"])["text"]


def test_ids_of_other_repositories_can_be_fetched(shop: Shop) -> None:
    results = shop.client.data("search", query="apply_voucher", project_id="shop")["results"]
    (hit,) = [hit for hit in results if hit["id"].startswith("code:") and "#apply_voucher" in hit["id"]]
    assert hit["title"].startswith("[lib] apply_voucher src/shoplib/cart.py:")
    whole = shop.client.data("fetch", id=hit["id"])
    assert "cart.total() - len(code)" in whole["text"]
    assert whole["metadata"]["path"] == "src/shoplib/cart.py"


def test_commits_and_memories_of_all_projects_are_found(shop: Shop) -> None:
    write_files(shop.roots["web"], {"src/cart.ts": "export const x = 1;\n"})
    git(shop.roots["web"], "commit", "--quiet", "--all", "--message=Tidy up the frobnicator")
    shop.client.set_project_root(shop.roots["lib"])
    shop.client.call("remember", text="We decided that vouchers never make a cart cost less than nothing")
    shop.client.set_project_root(shop.roots["api"])
    for name in ("lib", "api", "web"):
        shop.app.domains.projects.index_of(shop.roots[name]).index()
        shop.app.domains.projects.index_of(shop.roots[name]).catch_up(wait_seconds=20.0)
    found = shop.client.data("search", query="which commit tidied the frobnicator", project_id="shop")["results"]
    (commit,) = [hit for hit in found if hit["id"].startswith("commit:") and "frobnicator" in hit["title"]]
    assert commit["title"].startswith("[web] ")
    assert "export const x" in shop.client.data("fetch", id=commit["id"])["text"]
    found = shop.client.data("search", query="vouchers never make a cart cost less", project_id="shop")["results"]
    assert any(hit["id"].startswith("obs:") for hit in found)


# --- confinement


def test_a_confined_call_neither_sees_nor_counts_other_projects(shop: Shop) -> None:
    shop.client.call("index_repository", project_id="shop")
    only_web = Confinement((shop.roots["web"],), memory_scopes([shop.roots["web"]]))
    shop.client.set_project_root(shop.roots["web"])
    with confined(only_web):
        assert shop.selected_names("shop") == shop.selected_names("*") == ["web"]
        for text in ("shop", "*"):
            answer = shop.client.call("search_code", query="apply_voucher", project_id=text).text
            assert "lib" not in answer
            assert "api" not in answer
            assert "2 projects" not in answer
            assert "3 projects" not in answer
            assert "lib" not in shop.client.call("search", query="apply_voucher", project_id=text).text
        for word in ("lib", str(shop.roots["lib"]), "lib,web"):
            with pytest.raises((NotFound, Forbidden)) as refused:
                shop.client.call("search_code", query="x", project_id=word)
            assert "api" not in str(refused.value)


def test_a_workspace_without_readable_projects_is_unknown(shop: Shop, tmp_path: Path) -> None:
    other = write_files(tmp_path / "other", {"a.py": "def other(): pass\n"}).resolve()
    shop.client.call("index_repository", project_id="shop")
    shop.client.set_project_root(other)
    with confined(Confinement((other,), memory_scopes([other]))):
        messages = set()
        for name in ("shop", "workspace:shop"):
            with pytest.raises(NotFound) as refused:
                shop.client.call("search_code", query="x", project_id=name)
            messages.add(str(refused.value).replace("workspace:", ""))
        with pytest.raises(NotFound) as refused:
            shop.client.call("search_code", query="x", project_id="none")
        assert messages == {str(refused.value).replace("'none'", "'shop'")}


def test_an_id_of_an_inaccessible_project_is_not_fetched(shop: Shop) -> None:
    results = shop.client.data("search", query="apply_voucher", project_id="shop", scope=["code"])["results"]
    shop.client.set_project_root(shop.roots["web"])
    with confined(Confinement((shop.roots["web"],), memory_scopes([shop.roots["web"]]))):
        for hit in results:
            if "lib~" in hit["id"]:
                with pytest.raises(NotFound):
                    shop.client.call("fetch", id=hit["id"])


def test_among_many_projects_only_those_with_most_query_words_are_searched(
    tmp_path: Path, workers: ProcessPool
) -> None:
    roots = [
        write_files(tmp_path / f"p{number:02}", {"lamp.py": f"def lamp_{number}():\n    '''Switch a lamp on.'''\n"})
        for number in range(RETRIEVAL.max_projects_by_words + 2)
    ]
    write_files(roots[-1], {"dim.py": "def fade():\n    '''Dim a lamp slowly until the moth has gone.'''\n"})
    with closing(App(Config(tmp_path / "home"), workers=workers)) as app:
        client = ToolClient(app.tools(), roots[0])
        found = client.call(
            "search_code", query="dim the lamp slowly for the moth", project_id=",".join(map(str, roots))
        )
        alone = client.call("search_code", query="dim the lamp slowly for the moth", project_id=str(roots[-1]))
    assert found.structured is not None
    assert found.structured["results"][0]["file_path"] == "dim.py"
    note = f"Note: only the {RETRIEVAL.max_projects_by_words} of {len(roots)} projects that contain most query words were searched by words"
    assert note in found.text
    assert "were searched by words" not in alone.text
