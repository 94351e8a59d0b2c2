"""A search in a project covers its own sources, the sources of its dependencies, and shared sources."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from deltos.domains.docs.library import NewSource
from deltos.domains.docs.lock_files import locked_versions
from deltos.domains.docs.project_packages import ProjectPackages
from deltos.domains.docs.query import mentioned_names
from deltos.domains.docs.render import render_nothing
from deltos.domains.docs.search import DocsRequest
from deltos.errors import BadArgument
from deltos.store.documents import DocsTotals, SourceRow
from tests.repositories import git, make_repository

if TYPE_CHECKING:
    from pathlib import Path

    from tests.domains.docs.conftest import DocsClient


def write_pages(folder: Path, **pages: str) -> Path:
    """Write Markdown pages into a folder."""
    folder.mkdir(parents=True)
    for name, text in pages.items():
        (folder / f"{name}.md").write_text(text)
    return folder


def add_folder(docs_client: DocsClient, folder: Path, project: Path, name: str = "", **options: object) -> str:
    """Add a folder as a source of a project and crawl it."""
    project.mkdir(parents=True, exist_ok=True)
    request = NewSource(str(folder), name, project, (folder.parent,), **options)  # type: ignore[arg-type]
    added = docs_client.docs.library.add(request)
    for source in added.sources:
        docs_client.crawl(source.id)
    return (*added.sources, *added.shared_sources)[0].id


def found_source_names(docs_client: DocsClient, query: str, *roots: Path) -> list[str]:
    """Return the names of the sources of the results, best first."""
    return [each.source for each in docs_client.docs.search.search(DocsRequest(query, roots=roots)).passages]


def test_source_of_another_project_is_found_only_by_name(docs_client: DocsClient, tmp_path: Path) -> None:
    place = write_pages(tmp_path / "manual", limits="# Limits\n\nA quokka is fed twice.")
    add_folder(docs_client, place, tmp_path / "one", "manual")
    assert found_source_names(docs_client, "quokka", tmp_path / "one") == ["manual"]
    assert found_source_names(docs_client, "quokka", tmp_path / "two") == []
    assert found_source_names(docs_client, "quokka") == ["manual"], "a search without a project must cover all sources"
    named = docs_client.docs.search.search(DocsRequest("quokka", source="manual", roots=(tmp_path / "two",)))
    assert [each.source for each in named.passages] == ["manual"]
    empty = docs_client.docs.search.search(DocsRequest("quokka", roots=(tmp_path / "two",)))
    assert empty.omitted_names == ("manual",)
    shown = render_nothing("quokka", DocsTotals(0, 0, 0), (), note=empty.full_note)
    assert "belong to other projects: manual" in shown
    assert "No documentation sources configured" not in shown


def test_shared_source_is_found_in_every_project(docs_client: DocsClient, tmp_path: Path) -> None:
    place = write_pages(tmp_path / "manual", limits="# Limits\n\nA quokka is fed twice.")
    add_folder(docs_client, place, tmp_path / "one", "manual", shared=True)
    assert found_source_names(docs_client, "quokka", tmp_path / "two") == ["manual"]


def test_adding_a_known_source_in_another_project_makes_it_visible_there(
    docs_client: DocsClient, tmp_path: Path
) -> None:
    place = write_pages(tmp_path / "manual", limits="# Limits\n\nA quokka is fed twice.")
    known = add_folder(docs_client, place, tmp_path / "one", "manual")
    assert add_folder(docs_client, place, tmp_path / "two", "manual") == known
    assert found_source_names(docs_client, "quokka", tmp_path / "two") == ["manual"]
    assert found_source_names(docs_client, "quokka", tmp_path / "three") == []
    with pytest.raises(BadArgument, match="already a source"):
        add_folder(docs_client, place, tmp_path / "two", "manual")
    add_folder(docs_client, place, tmp_path / "two", "manual", shared=True)
    assert found_source_names(docs_client, "quokka", tmp_path / "three") == ["manual"]


def test_sources_of_a_project_are_found_in_its_subfolders_and_worktrees(
    docs_client: DocsClient, tmp_path: Path
) -> None:
    top, work_tree = make_repository(tmp_path / "repository", {"a.txt": "a"}), tmp_path / "other"
    git(top, "worktree", "add", "-q", str(work_tree))
    place = write_pages(tmp_path / "manual", limits="# Limits\n\nA quokka is fed twice.")
    add_folder(docs_client, place, top / "packages", "manual")
    for root in (top, top / "packages", work_tree):
        assert found_source_names(docs_client, "quokka", root) == ["manual"]


def test_api_of_another_project_is_not_searched(docs_client: DocsClient, tmp_path: Path) -> None:
    place = write_pages(tmp_path / "specs")
    (place / "payments.json").write_text('{"openapi": "3.1.0"}')
    add_folder(docs_client, place, tmp_path / "one", "specs")
    found = [docs_client.docs.search.search(DocsRequest("pay", roots=(tmp_path / name,))) for name in ("one", "two")]
    assert [[each.source for each in results.passages] for results in found] == [["payments"], []]
    add_folder(docs_client, place, tmp_path / "two", "specs")
    shared = docs_client.docs.search.search(DocsRequest("pay", roots=(tmp_path / "two",)))
    assert [each.source for each in shared.passages] == ["payments"], (
        "APIs of a source must be visible in the same projects"
    )


LOCK_FILES = {
    "uv.lock": '[[package]]\nname = "httpx"\nversion = "0.28.1"\n\n[[package]]\nname = "My_Package"\nversion = "1.0"\n',
    "poetry.lock": '[[package]]\nname = "flask"\nversion = "3.1.0"\ndescription = "x"\n',
    "requirements.txt": "rich==14.0.0 ; python_version > '3'\nclick>=8\nhttpcore[http2]==1.0.7\n",
    "Pipfile.lock": json.dumps({"default": {"attrs": {"version": "==25.1.0"}}, "develop": {}}),
    "package-lock.json": json.dumps({"packages": {"": {}, "node_modules/@a/b": {"version": "2.0.0"}}}),
    "pnpm-lock.yaml": "packages:\n\n  zod@4.6.7:\n    resolution: {}\n\n  '@vue/core@3.5.0(x@1.0.0)':\n    y: z\n",
    "yarn.lock": '"left-pad@^1.0.0", left-pad@~1.3:\n  version "1.3.0"\n\n"is@npm:^3":\n  version: 3.3.0\n',
    "Cargo.lock": '[[package]]\nname = "serde"\nversion = "1.0.219"\nsource = "registry+x"\n',
    "pom.xml": "<dependency>\n<groupId>a.b</groupId>\n<artifactId>c</artifactId>\n<version>1.2</version>\n</dependency>"
    "<dependency><groupId>a.b</groupId><artifactId>d</artifactId><version>${v}</version></dependency>",
    "go.mod": "module x\n\nrequire (\n\tgithub.com/gin-gonic/gin v1.9.1\n\tgolang.org/x/net v0.30.0 // indirect\n)\n",
}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("uv.lock", {"pypi:httpx": {"0.28.1"}, "pypi:my-package": {"1.0"}}),
        ("poetry.lock", {"pypi:flask": {"3.1.0"}}),
        ("requirements.txt", {"pypi:rich": {"14.0.0"}, "pypi:httpcore": {"1.0.7"}}),
        ("Pipfile.lock", {"pypi:attrs": {"25.1.0"}}),
        ("package-lock.json", {"npm:@a/b": {"2.0.0"}}),
        ("pnpm-lock.yaml", {"npm:zod": {"4.6.7"}, "npm:@vue/core": {"3.5.0"}}),
        ("yarn.lock", {"npm:left-pad": {"1.3.0"}, "npm:is": {"3.3.0"}}),
        ("Cargo.lock", {"https://docs.rs/serde": {"1.0.219"}}),
        ("pom.xml", {"https://javadoc.io/doc/a.b/c": {"1.2"}}),
        ("go.mod", {"https://github.com/gin-gonic/gin": {"v1.9.1"}, "https://golang.org/x/net": {"v0.30.0"}}),
    ],
)
def test_dependency_versions_are_read_from_lock_files(name: str, expected: dict[str, set[str]], tmp_path: Path) -> None:
    (tmp_path / name).write_text(LOCK_FILES[name])
    assert locked_versions(tmp_path) == expected


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"packages": {"node_modules/a": 1}}', "\x00" * 100])
def test_damaged_lock_files_are_ignored(text: str, tmp_path: Path) -> None:
    for name in LOCK_FILES:
        (tmp_path / name).write_text(text)
    assert locked_versions(tmp_path) == {}


def test_package_in_the_locked_version_is_searched_in_projects_that_do_not_have_it_installed(
    docs_client: DocsClient, tmp_path: Path
) -> None:
    one, two, three = (tmp_path / name for name in ("one", "two", "three"))
    site = one / ".venv" / "lib" / "python3.11" / "site-packages"
    (site / "quokka-2.0.dist-info").mkdir(parents=True)
    (site / "quokka-2.0.dist-info" / "METADATA").write_text("Name: quokka\nVersion: 2.0\n\n# Feeding\n\nTwice a day.\n")
    (site / "quokka-2.0.dist-info" / "RECORD").write_text("")
    (one / ".venv" / "pyvenv.cfg").write_text("")
    added = docs_client.docs.library.add(NewSource("pypi:quokka", "", one, (one,)))
    docs_client.crawl(added.sources[0].id)
    for project, version in ((two, "2.0"), (three, "1.9")):
        project.mkdir()
        (project / "uv.lock").write_text(f'[[package]]\nname = "quokka"\nversion = "{version}"\n')
    assert found_source_names(docs_client, "feeding", two) == ["quokka"]
    assert found_source_names(docs_client, "feeding", three) == [], "that project locks another version"


def test_documentation_of_a_locked_crate_is_found_in_the_locked_version_only(
    docs_client: DocsClient, tmp_path: Path
) -> None:
    (tmp_path / "Cargo.lock").write_text(LOCK_FILES["Cargo.lock"])
    used = ProjectPackages(tmp_path, (), lambda: docs_client.parser)
    url = "https://docs.rs/serde"
    rows = [SourceRow("", "serde", "website", f"{url}/1.0.{patch}/serde/") for patch in (219, 218)]
    rows.append(SourceRow("", "serde", "website", f"{url}/latest/serde/", "1.0.219"))
    rows.append(SourceRow("", "serde_json", "website", "https://docs.rs/serde_json/1.0.219/serde_json/"))
    assert [used.uses(row) for row in rows] == [True, False, True, False]


EXPRESS = """# Error handling

Define error handling middleware as a function with four arguments instead of three.
"""
STARLETTE = """# Error handling middleware

Error handling middleware: handle errors with error handling middleware. The middleware handles every error.
"""


def test_documentation_of_the_product_that_the_query_names_comes_first(docs_client: DocsClient, tmp_path: Path) -> None:
    for name, text in (("express", EXPRESS), ("starlette", STARLETTE)):
        others = {
            f"topic{number}": f"# Topic {number}\n\nAbout quokka number {number} of {name}." for number in range(9)
        }
        add_folder(docs_client, write_pages(tmp_path / name, guide=text, **others), tmp_path / "one", name)
    first, second, *_ = found_source_names(docs_client, "express error handling middleware", tmp_path / "one")
    assert (first, second) == ("express", "starlette")
    assert found_source_names(docs_client, "error handling middleware", tmp_path / "one")[0] == "starlette"
    assert found_source_names(docs_client, "How are errors handled in Express?", tmp_path / "one")[0] == "express"


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("express error handling", {"express"}),
        ("error handling with express", {"express"}),
        ("Does Express support async?", {"express"}),
        ("how to express a limit", set()),
        ("set a timeout in httpx", {"httpx"}),
        ("httpx timeout", {"httpx"}),
        ("what is a react native module", {"react native"}),
    ],
)
def test_ordinary_words_are_product_names_only_if_used_as_names(query: str, names: set[str]) -> None:
    assert mentioned_names(query, ("express", "httpx", "react native")) == names
